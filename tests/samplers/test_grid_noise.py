"""Noise in bins: their masses, which places in them are kept, and what is drawn when one is not."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from fractions import Fraction
from functools import cache
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from samplers.output_laws import exact, logistic_cdf, real
from samplers.scripted import Fixed, then

from zcdp.numeric.balls import at_precision
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid

Source = Callable[[int], bytes]
SCALE, STEP = Fraction(2), Fraction(3, 10)
NOISES: dict[str, Callable[[], Any]] = {
    "gaussian": lambda: gaussian_on_grid(SCALE**2, STEP),
    "logistic": lambda: logistic_on_grid(real(1 / SCALE), STEP),
}
CDFS = {"gaussian": mp.ncdf, "logistic": logistic_cdf}
DENSITIES = {"gaussian": lambda x: mp.exp(-(x**2) / 2), "logistic": lambda x: mp.sech(x / 2) ** 2}


@cache
def noise_of(name: str) -> Any:
    return NOISES[name]()


def coarse(name: str) -> Any:
    """A copy, whose stages a test may replace."""
    return copy(noise_of(name)._coarse)


def width(bins: Any) -> Fraction:
    """Of a bin, in scales."""
    return Fraction(2) ** (bins._place - bins._grid.refine) * STEP / SCALE


def asked(*numbers: tuple[int, int]) -> Source:
    """Numbers of so many bytes, each of just the length that is asked for, and nothing after them."""
    answers = iter(numbers)

    def source(count: int) -> bytes:
        number, size = next(answers)
        assert size == count
        return number.to_bytes(size, "little")

    return source


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("depth", ["_coarse", "_fine"])
def test_the_steps_of_bins_are_those_of_the_law_one_by_one_and_all_at_once(name: str, depth: str) -> None:
    """P(bin <= n) = F((n+1) width): what the table is made of, and what further bits ask for, also beyond the table."""
    bins = getattr(noise_of(name), depth)
    law, reach = bins._table._law, bins._reached
    some = [-reach, 1 - reach, -100, -2, -1, 0, 1, 2, 77, reach - 2, reach - 1]
    run = at_precision(120, lambda: law.steps(law.window))
    with mp.workdps(60):
        for n in [*some, -reach - 3, reach + 3]:
            truth = CDFS[name](exact(width(bins)) * (n + 1))
            found = at_precision(120, lambda n=n: law.cdf(n))
            balls = [found] if abs(n + 0.5) > reach else [found, run[n - law.window.start]]
            for ball in balls:
                assert abs(mpf(ball.str(35, radius=False)) - truth) < mpf(10) ** -30


def edge(name: str, bins: Any, drawn: int, word: int, known: int) -> Any:
    """f(place)/f(inner edge) in the middle of the cell of a place."""
    size, inner = exact(width(bins)), drawn if drawn >= 0 else drawn + 1
    place = mpf(2 * word + 1) / mpf(2) ** (known + 1)
    return DENSITIES[name](size * (drawn + place)) / DENSITIES[name](size * inner)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("drawn", [-90, -3, 2, 90])
def test_a_place_that_is_not_kept_is_drawn_anew_with_its_coin(name: str, drawn: int) -> None:
    """64 bits of a place and 16 of a coin, as often as it takes; nothing of a place that is rejected is used again."""
    bins = coarse(name)
    far = 2**64 - 5 if drawn >= 0 else 5  # at the outer edge of the bin: not kept by the last cells of a coin
    again = (far, 8), (65535, 2)
    assert bins._kept(drawn, far, 0, asked()) == (far, 64)
    assert bins._kept(drawn, far, 65535, asked((77, 8), (0, 2))) == (77, 64)
    assert bins._kept(drawn, far, 65535, asked(*again, *again, (2**63 + 9, 8), (100, 2))) == (2**63 + 9, 64)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("drawn", [-90, -3, 2, 90])
@pytest.mark.parametrize("more", [0, 2**63, 2**64 - 1])
def test_a_coin_in_doubt_gets_bits_for_itself_and_for_its_place(name: str, drawn: int, more: int) -> None:
    """U agrees with the chance to 16 bits: 64 more of the place, then 64 more of the coin, decide."""
    bins = coarse(name)
    word = 2**63 + 2**61
    with mp.workdps(80):
        cell = int(edge(name, bins, drawn, word, 64) * 2**16)
        longer = word << 64 | more
        chance = int(edge(name, bins, drawn, longer, 128) * 2**80)
    assert chance >> 64 == cell
    for nudge, kept in ((-(2**20), True), (2**20, False)):
        coin = (chance + nudge) & (2**64 - 1)
        after = () if kept else ((123, 8), (0, 2))
        found = bins._kept(drawn, word, cell, asked((more, 8), (coin, 8), *after))
        assert found == ((longer, 128) if kept else (123, 64))


class Bin:
    """A table that gives one bin."""

    def __init__(self, drawn: int) -> None:
        self.drawn = drawn

    def draw(self, count: int, source: Source) -> Any:
        return np.full(count, self.drawn, dtype=np.int64)

    def draw_from(self, cell: int, source: Source) -> int:
        return self.drawn


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("beyond", [0, 1, 5, 1000])
@pytest.mark.parametrize("side", [-1, 1])
def test_beyond_the_table_no_place_is_kept_unseen(name: str, beyond: int, side: int) -> None:
    """The falls of those bins are not in the table: the coin of every place is looked at, whatever its first bits."""
    bins = coarse(name)
    drawn = bins._reached + beyond if side > 0 else -bins._reached - 1 - beyond
    bins._table = Bin(drawn)
    seen: list[tuple[int, int]] = []

    def finish(drawn: int, word: int, cell: int, position: Fraction, source: Source) -> int:
        seen.append((drawn, cell))
        return 0

    bins._finish = finish
    for cell in (0, 1, 60000):
        zeros = asked((0, 8), (cell, 2))
        bins.release(np.array([0.3]), zeros)
        bins.release_one(0.3, asked((cell << 16, 12)))
        assert seen[-2:] == [(drawn, cell)] * 2
    assert len(seen) == 6


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("value", [0.3, -41.77, 1e5 / 7, 2.0**-60, -(2.0**-60)])
@pytest.mark.parametrize("edge", [-37, -1, 0, 1, 60])
def test_a_sum_next_to_an_edge_of_the_grid_gets_more_bits_of_its_place(name: str, value: float, edge: int) -> None:
    """64 bits of the place agree with the edge, all of the value counted: the next 64 say on which side the sum is."""
    bins = coarse(name)
    size, offset = Fraction(2) ** (bins._place - bins._grid.refine), Fraction(value) / STEP + Fraction(1, 2)
    line = floor(offset) + edge
    drawn, place = divmod((line - offset) / size, 1)
    word, inside = divmod(place * 2**64, 1)
    assert inside  # the line lies within the cell of the 64 bits
    bins._table = Bin(int(drawn))
    for nudge in (-(2**30), 2**30):
        more = int(inside * 2**64) + nudge
        if not 0 <= more < 2**64:
            continue
        wanted = float(floor(offset + size * (drawn + (word + Fraction(2 * more + 1, 2**65)) / 2**64)) * STEP)
        assert wanted == float((line - (nudge < 0)) * STEP)
        assert bins.release(np.array([value]), asked((int(word), 8), (0, 2), (more, 8))).tolist() == [wanted]
        assert bins.release_one(value, asked((int(word) << 32, 12), (more, 8))) == wanted
        assert bins.release_one(Fraction(value), asked((int(word) << 32, 12), (more, 8))) == wanted


PLACES = 200


GRID_NOISES = {
    "gaussian": (gaussian_on_grid(Fraction(4), Fraction(1, 1000)), lambda x: mp.exp(-(x**2) / 2)),
    "logistic": (logistic_on_grid(real(Fraction(1, 2)), Fraction(1, 1000)), lambda x: mp.sech(x / 2) ** 2),
}


@pytest.mark.parametrize("name", GRID_NOISES)
@given(
    drawn=st.integers(-4000, 4000),
    word=st.integers(0, 2**128 - 1),
    extra=st.sampled_from([0, 64]),
    where=st.integers(-3, 3),
)
def test_a_place_is_kept_with_the_ratio_of_densities(name: str, drawn: int, word: int, extra: int, where: int) -> None:
    """The coin is decided only where all of its cell and all of the place's cell agree, and then rightly."""
    noise, density = GRID_NOISES[name]
    bins, known = noise._fine, 64 + extra
    word >>= 64 - extra
    width = Fraction(2) ** (bins._place - bins._grid.refine) / 2000  # a bin in scales
    with mp.workdps(PLACES):
        inner = drawn if drawn >= 0 else drawn + 1
        ends = [Fraction(drawn) + Fraction(word + end, 1 << known) for end in (0, 1)]
        low, high = sorted(density(exact(width * end)) / density(exact(width * inner)) for end in ends)
        cell = min(max(int(low * 2 ** (known - 48)) + where, 0), 2 ** (known - 48) - 1)
        first, last = (mpf(cell + end) / 2 ** (known - 48) for end in (0, 1))
    kept = at_precision(known + 64, lambda: bins._keeps(drawn, word, known, cell))
    assert kept is (True if last <= low else False if first >= high else None)


@pytest.mark.parametrize("name", GRID_NOISES)
@given(raw=st.binary(min_size=12, max_size=12), value=st.floats(-1e6, 1e6))
def test_grid_noise_adds_the_place_in_its_bin_and_rounds(name: str, raw: bytes, value: float) -> None:
    noise, _ = GRID_NOISES[name]
    bins = noise._coarse
    raw = raw[:2] + b"\0\0" + raw[4:]  # a coin that keeps the place
    first = int.from_bytes(raw, "little")
    drawn = bins._table._list[first & 0xFFFF]
    if drawn == bins._table._law.window.stop:
        return  # an open cell of the table: it would ask for more
    point = noise.release_one(value, lambda count: raw if count == 12 else bytes(count))
    place = Fraction((drawn << 64) + (first >> 32), 1 << 64) * Fraction(2) ** (bins._place - bins._grid.refine)
    assert point == float(((Fraction(value) * 1000 + place + Fraction(1, 2)) // 1) * Fraction(1, 1000))


@pytest.mark.parametrize(("name", "law"), [("gaussian", mp.npdf), ("logistic", lambda x: mp.sech(x / 2) ** 2)])
@pytest.mark.parametrize("step", [Fraction(1, 1024), Fraction(8), Fraction(1, 2**40)], ids=str)
def test_a_place_that_is_surely_kept_is_below_the_fall_of_its_bin(name: str, law: Any, step: Fraction) -> None:
    noise = gaussian_on_grid(Fraction(4), step) if name == "gaussian" else logistic_on_grid(real(Fraction(1, 2)), step)
    for bins in (noise._coarse, noise._fine):
        width = exact(Fraction(2) ** (bins._place - bins._grid.refine) * step) / 2
        sure = bins._sures[1:-1]
        assert bins._sures[0] == bins._sures[-1] == 0
        assert len(sure) == 2 * bins._reached
        with mp.workdps(60):
            edges = [law(width * n) for n in range(bins._reached + 1)]
            for n in range(bins._reached):
                fall = 65536 * edges[n + 1] / edges[n]
                assert sure[bins._reached + n] == sure[bins._reached - 1 - n] <= fall
                assert fall - sure[bins._reached + n] < 65536 * 32 * float(width) ** 2 + 2


@given(
    values=st.lists(st.floats(-3, 3), min_size=1, max_size=3),
    near=st.integers(-3, 3),
    drawn=st.integers(-40, 40),
    step=st.sampled_from([Fraction(1, 1024), Fraction(1, 1000), Fraction(1)]),
)
def test_binned_noise_carries_what_lies_below_the_fine_grid(
    values: list[float], near: int, drawn: int, step: Fraction
) -> None:
    """The place in the bin brings the sum to the edge of a grid cell, to within a few of its last bits."""
    bins = gaussian_on_grid(Fraction(4), step)._coarse
    place, refine = bins._place, bins._grid.refine
    for value in values:
        position = Fraction(value) / step * 2**refine + 2 ** (refine - 1)
        start = position + (drawn << place)
        edge = (start // 2**refine + 1) * 2**refine
        word = int((edge - start) * 2**64 / 2**place) + near
        if not 0 <= word < 2**64:
            continue
        low = (start + Fraction(word << place, 2**64)) / 2**refine
        if (low + Fraction(2**place, 2**64 << refine)) // 1 != low // 1:
            continue  # more bits would be asked for
        bins._table = Fixed(drawn, np.array([drawn]))  # type: ignore[assignment]
        bins._table.draw_from = lambda cell, source: drawn  # type: ignore[method-assign, attr-defined]
        kept = then(word.to_bytes(8, "little"), b"\0\0")  # a coin that keeps any place
        assert bins.release(np.array([value]), kept)[0] == float(low // 1 * step)
        assert bins.release_one(value, then((word << 32).to_bytes(12, "little"))) == float(low // 1 * step)
