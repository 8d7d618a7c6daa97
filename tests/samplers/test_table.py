"""The lazy table draws the least k with U < F(k), whatever its window and whichever stage decides."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from samplers.laws import real

from zcdp.samplers.lazy_inversion import Law, LazyTable

Source = Callable[[int], bytes]
END = {"zeros": b"\0", "ones": b"\xff"}
ALMOST = 1 - Fraction(1, 2**300)
"""How far into its cell a U goes whose further bits are all ones."""


def two_sided(k: int) -> Fraction:
    """P(X = k) = 3^-|k|/2."""
    return Fraction(3, 4) * Fraction(3) ** k if k < 0 else 1 - Fraction(1, 4) / Fraction(3) ** k


def sevenths(k: int) -> Fraction:
    """Uniform on 0 .. 6."""
    return Fraction(min(max(k + 1, 0), 7), 7)


def law(cdf: Callable[[int], Fraction], window: range, least: int | None = None, most: int | None = None) -> LazyTable:
    return LazyTable(Law(lambda k: real(cdf(k))(), window, least, most))


WINDOWS = [range(-30, 30), range(-1, 1), range(1), range(3, 6), range(-5, -2), range(-2, 40)]
TABLES: dict[str, tuple[LazyTable, Callable[[int], Fraction]]] = {
    **{f"two-sided in {window}": (law(two_sided, window), two_sided) for window in WINDOWS},
    **{
        f"sevenths in {window}": (law(sevenths, window, 0, 6), sevenths)
        for window in (range(7), range(2, 5), range(3), range(4, 7), range(6, 7), range(1))
    },
}


def quantile(cdf: Callable[[int], Fraction], u: Fraction) -> int:
    return next(k for k in range(-250, 250) if u < cdf(k))


def told(*given: bytes, rest: bytes) -> Source:
    """These answers, each of just the length that is asked for, then one byte for ever."""
    answers = iter(given)

    def source(count: int) -> bytes:
        one = next(answers, rest * count)
        assert len(one) == count
        return one

    return source


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("name", TABLES)
def test_the_window_of_a_table_is_a_matter_of_speed_alone(name: str, end: str) -> None:
    """Cells around every step and in both tails, those that lie beyond the window too."""
    table, cdf = TABLES[name]
    steps = {int(cdf(k) * 65536) + near for k, near in product(range(-12, 13), (-1, 0, 1))}
    cells = sorted(cell for cell in steps | {1, 2, 3, 65533, 65534, 30000} if 0 < cell < 65535)
    more = 0 if end == "zeros" else ALMOST
    wanted = [quantile(cdf, Fraction(cell + more) / 65536) for cell in cells]
    many = table.draw(len(cells), told(np.array(cells, dtype=np.uint16).tobytes(), rest=END[end]))
    assert many.tolist() == wanted
    assert [table.draw_from(cell, told(rest=END[end])) for cell in cells[::3]] == wanted[::3]
    assert [table.draw_one(told(cell.to_bytes(2, "little"), rest=END[end])) for cell in cells[1::3]] == wanted[1::3]
    assert table.draw_few(cells[2::3], told(rest=END[end])) == wanted[2::3]


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("near", [-2, -1, 0, 1, 2])
def test_bits_of_the_second_stage_are_those_that_follow_the_first(near: int, end: str) -> None:
    """U agrees with a step to 61 bits: 16 of its cell, 46 that are asked for next, and then all zeros or ones."""
    more: Any = 0 if end == "zeros" else ALMOST
    for name in ("two-sided in range(-30, 30)", "two-sided in range(-1, 1)", "sevenths in range(0, 7)"):
        table, cdf = TABLES[name]
        for k in (-3, -1, 1, 2, 4):
            u = int(cdf(k) * 2**62) + near
            if not 0 < u < 2**62 or cdf(k).denominator & (cdf(k).denominator - 1) == 0:
                continue
            cell, rest = u >> 46, u & (1 << 46) - 1
            wanted = quantile(cdf, Fraction(u + more) / 2**62)
            first, word = cell.to_bytes(2, "little"), ((rest << 18) + (1 << 18) - 1).to_bytes(8, "little")
            assert table.draw(1, told(first, word, rest=END[end])).tolist() == [wanted]
            six = ((rest << 2) + 3).to_bytes(6, "little")
            assert table.draw_from(cell, told(six, rest=END[end])) == wanted


def test_a_run_of_steps_is_asked_for_where_there_is_one() -> None:
    """The steps of a table may come all at once; further bits ask one by one, and both are the same law."""
    asked: list[range] = []

    def cdfs(outcomes: range) -> list[Any]:
        asked.append(outcomes)
        return [real(two_sided(k))() for k in outcomes]

    whole = LazyTable(Law(lambda k: real(two_sided(k))(), range(-4, 5), cdfs=cdfs))
    single = law(two_sided, range(-4, 5))
    assert set(asked) == {range(-4, 5)}
    cells = np.arange(1, 65535, 7, dtype=np.uint16)
    for end in END.values():
        drawn = [table.draw(cells.size, told(cells.tobytes(), rest=end)).tolist() for table in (whole, single)]
        assert drawn[0] == drawn[1]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_open_cells_of_an_array_each_have_bits_of_their_own(dtype: Any) -> None:
    """One cell, open at 2/7, thrice: with other bits each goes its own way, in the order in which they are read."""
    table, cdf = TABLES["sevenths in range(0, 7)"]
    cell = int(cdf(1) * 65536)
    inside = int((cdf(1) * 65536 - cell) * 2**64)
    words = np.array([inside // 2, inside + (2**64 - inside) // 2, inside // 3], dtype=np.uint64)
    source = told(np.full(3, cell, dtype=np.uint16).tobytes(), words.tobytes(), rest=b"\0")
    drawn = table.draw(3, source, dtype)
    assert drawn.tolist() == [1, 2, 1]
    assert drawn.dtype == dtype
