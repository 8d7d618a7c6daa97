"""Lazy inversion at its ends: what lies outside of a law's range is never asked for, and never drawn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import scripted
from mpmath import mp, mpf
from samplers.output_laws import discrete_laplace_cdf, real
from samplers.scripted import then as then_rest

from zcdp.numeric.balls import NotCertified, lift
from zcdp.samplers.geometric import DiscreteLaplaceNoise
from zcdp.samplers.lazy_inversion import Law, LazyTable, invert, rank


def then(bits: int, size: int) -> bytes:
    return bits.to_bytes(size, "little")


@pytest.mark.parametrize(("least", "most"), [(0, 5), (-3, 2), (7, 7), (-1, 0)])
@pytest.mark.parametrize("start", [None, -50, 0, 3, 50])
def test_draws_stay_within_the_range_of_the_law(least: int, most: int, start: int | None) -> None:
    """Uniform on least .. most: U at the middle of each part, and at both ends of [0, 1), from any proposal."""
    count = most - least + 1

    def cdf(k: int) -> arb:
        assert least <= k < most  # below it is 0 and from the last outcome on 1: that needs no number
        return lift(Fraction(k - least + 1, count))

    guess = None if start is None else (lambda u: start)
    for part in range(count):
        word = (2 * part + 1) * 2**64 // (2 * count)
        assert invert(cdf, lambda size, w=word: then(w, size), guess=guess, least=least, most=most) == least + part
    for byte, end in ((b"\0", least), (b"\xff", most)):
        assert invert(cdf, lambda size, b=byte: b * size, guess=guess, least=least, most=most) == end


def test_an_outcome_begins_exactly_where_the_one_before_ends() -> None:
    """P(X <= 0) = 1/2: at U = 1/2 it is 1, just below it is 0."""

    def cdf(k: int) -> arb:
        return arb(0) if k < 0 else arb(1) / 2 if k == 0 else arb(1)

    assert invert(cdf, lambda size: then(1 << 63, size)) == 1
    assert invert(cdf, lambda size: then((1 << 63) - 1, size)) == 0
    assert rank(lambda: [arb(1) / 2], lambda size: then(1 << 63, size)) == 1
    assert rank(lambda: [arb(1) / 2], lambda size: then((1 << 63) - 1, size)) == 0


def test_bits_that_are_known_come_first() -> None:
    """U begins with 101 in binary, whatever follows: it is in [5/8, 6/8)."""
    cuts = [Fraction(n, 8) for n in range(1, 8)]
    for byte in (b"\0", b"\xff", b"\x5a"):
        assert rank(lambda: [lift(cut) for cut in cuts], lambda size, b=byte: b * size, 0b101, 3) == 5
        assert invert(lambda k: lift(Fraction(k + 1, 8)), lambda size, b=byte: b * size, 5, 3, least=0, most=7) == 5


def test_what_no_bits_settle_is_an_error() -> None:
    blurred = arb(0.5, 0.25)
    for draw in (lambda source: rank(lambda: [blurred], source), lambda source: invert(lambda k: blurred, source)):
        with pytest.raises(NotCertified, match="not settled"):
            draw(lambda size: then(1 << 63, size) if size == 8 else bytes(size))


# The lazy table draws the least k with U < F(k), whatever its window and whichever stage decides.


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


PLACES = 200
NOISE = DiscreteLaplaceNoise(real(Fraction(1, 2)))


def near(value: object, bits: int, ulps: int) -> int:
    """The numerator of value + ulps/2^bits over 2^bits."""
    with mp.workdps(PLACES):
        return int(mp.floor(value * mpf(2) ** bits)) + ulps


@given(k=st.integers(-40, 40), ulps=st.sampled_from([-2, -1, 1, 2]), bits=st.sampled_from([20, 64, 150, 400]))
def test_one_bit_on_either_side_of_a_step(k: int, ulps: int, bits: int) -> None:
    """U agrees with F(k) to up to 400 bits: below it the draw is k, above it k + 1."""
    with mp.workdps(PLACES):
        step = discrete_laplace_cdf(Fraction(2))(k, mpf(1))
    numerator = near(step, bits, ulps)
    low = NOISE.high._law
    if not 0 < numerator < 1 << bits:  # U = 0 is the one point where a law without a least outcome has no quantile
        return
    with mp.workdps(PLACES):
        u = mpf(numerator) / mpf(2) ** bits
        cdf = discrete_laplace_cdf(Fraction(2))
        expected = next(n for n in range(k - 60, k + 60) if u < cdf(n, mpf(1)))
    assert invert(low.cdf, scripted(numerator, bits)) == expected
    noise = NOISE
    if bits >= 64:  # the table's stages take 16, 46 and 64 bits: in whole bytes, 46 bits lose two
        assert noise.high._invert(
            numerator >> (bits - 62), 62, scripted(numerator & ((1 << bits - 62) - 1), bits - 62)
        ) == (expected)


def test_forced_stages_round_cuts_outward() -> None:
    """With six bits in the second stage the thirds of 64 lie between 21 and 22, and between 42 and 43."""
    table = LazyTable(Law(lambda k: arb(k + 1) / 3, range(3), 0, 2), first=2, second=6)
    assert table._lower[:2].tolist() == [21, 42]
    assert table._upper[:2].tolist() == [22, 43]


CELLS = np.arange(65536, dtype=np.uint16).tobytes()
ENDS = {"zeros": b"\0", "ones": b"\xff"}


@pytest.mark.parametrize("name", ENDS)
def test_both_ends_of_every_cell_of_a_table(name: str) -> None:
    """The outcome is the least k with U < F(k)."""
    table, law = DiscreteLaplaceNoise(real(Fraction(1, 2))).high, discrete_laplace_cdf(Fraction(2))
    drawn = table.draw(65534, then_rest(CELLS[2:-2], rest=ENDS[name])).tolist()  # U = 0 and U = 1 have no quantile
    with mp.workdps(60):  # the cell that holds F(k), which is irrational
        cuts = {k: int(law(k, mpf(1)) * 65536) for k in range(-60, 60)}
    for cell, k in enumerate(drawn, 1):
        assert cuts[k - 1] < cell <= cuts[k] if name == "zeros" else cuts[k - 1] <= cell < cuts[k]
    some = list(range(1, 65535, 251))
    assert [table.draw_from(cell, then_rest(rest=ENDS[name])) for cell in some] == [drawn[cell - 1] for cell in some]
    assert table.draw_few(some, then_rest(rest=ENDS[name])) == [drawn[cell - 1] for cell in some]
