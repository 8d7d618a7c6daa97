"""Laplace noise on a grid: fine steps so short that one cell decides, and sums rounded to the nearest point."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb
from independent.bits import scripted
from mpmath import mp, mpf
from samplers.output_laws import exact, laplace_cdf, real
from samplers.scripted import Fixed, then

from zcdp.numeric.balls import at_precision, lift
from zcdp.samplers import grid_laplace as laplace
from zcdp.samplers.grid_laplace import CELLS, GridLaplace


@pytest.fixture(autouse=True)
def no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signed part is not drawn here."""
    monkeypatch.setattr(laplace, "TwoSided", lambda *_, **__: None)


def noise(scale: Fraction, step: Fraction = Fraction(1)) -> GridLaplace:
    return GridLaplace(lambda: 1 / lift(scale), step)


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 100), Fraction(3)])
@pytest.mark.parametrize("exponent", [-40, -20, -17, -6, -1, 0, 1, 5, 15, 16, 17, 18, 19, 30, 50])
def test_no_cell_below_the_last_ever_keeps_a_value_in_its_place(exponent: int, step: Fraction) -> None:
    """floor(r + Z) = floor(r) with a probability of at most 1 - e^{-lambda}: it must fit into the cells in doubt."""
    for part in (Fraction(1), Fraction(3, 2), Fraction(65535, 32768)):
        one = noise(part * step * Fraction(2) ** exponent, step)
        fine = Fraction(1, 1 << one._grid.refine) / part / Fraction(2) ** exponent  # a fine step over the scale
        leaves = at_precision(128, lambda fine=fine: (-lift(fine)).exp())
        assert leaves >= arb(one._doubt) / CELLS
        assert at_precision(128, lambda one=one, fine=fine: abs(one._rate() - lift(fine)) <= lift(fine) * arb(2) ** -90)


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(20), Fraction(2**18)])
@pytest.mark.parametrize("value", [0.0, 3.0, -2.0, 0.5, -0.5])
def test_a_sum_is_rounded_to_the_nearest_point_and_halves_up(scale: Fraction, value: float) -> None:
    """In fine steps, for arrays and for one value alike: also exactly between two points, and next to there."""
    one = noise(scale)
    whole = 1 << one._grid.refine
    half = whole // 2
    moves = [0, 1, -1, half - 1, half, half + 1, -half - 1, -half, -half + 1, whole, -whole, 3 * half, -3 * half]
    one._floors = lambda count, rest, source: np.array(moves)  # type: ignore[method-assign]
    found = one.release(np.full(len(moves), value))
    for move, place in zip(moves, found.tolist(), strict=True):
        exact = Fraction(value) + Fraction(move, whole)
        nearest = (2 * exact + 1) // 2
        assert place == nearest
        assert one._grid.round_one(one._grid.locate_one(value)[0] + move) == nearest


PLACES = 200


def near(value: object, bits: int, ulps: int) -> int:
    """The numerator of value + ulps/2^bits over 2^bits."""
    with mp.workdps(PLACES):
        return int(mp.floor(value * mpf(2) ** bits)) + ulps


@pytest.mark.parametrize("value", [0.7, -0.3, 41.3, 2.0**-60, -(2.0**-60)])
@pytest.mark.parametrize("ulps", [-1, 1])
@pytest.mark.parametrize("noise", [-6, 5])
def test_the_grid_laplace_stays_with_the_exact_probability(value: float, ulps: int, noise: int) -> None:
    """P(floor(r + Z) < 0) = F(-r) and P(floor(r + Z) > 0) = 1 - F(1 - r), each half of what a fair sign gives."""
    laplace = GridLaplace(real(Fraction(1)), Fraction(1, 2**20))
    fine, rest = laplace._grid.locate_one(value)
    r, rate = rest(), exact(Fraction(1, 2**21))
    assert 0 <= r < 1
    assert (fine + r) / 2**21 == Fraction(value)
    with mp.workdps(PLACES):
        leaves = 2 * (laplace_cdf(-exact(r) * rate) if noise < 0 else 1 - laplace_cdf(exact(1 - r) * rate))
    if leaves == 1:
        return
    numerator = near(leaves, 300, ulps)
    assert numerator >> 284 == 0xFFFF
    rest_of_it = scripted(numerator & ((1 << 284) - 1), 284)
    assert laplace._stays(noise, r, 0xFFFF, rest_of_it) == (ulps > 0)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 40), Fraction(300)], ids=str)
@pytest.mark.parametrize("value", [0.0, 0.3, -0.7, 2.0**-60, 41.9])
def test_the_rounded_laplace_law_adds_up(scale: Fraction, value: float) -> None:
    """The law of the signed part, moved as the sampler moves it, is that of floor(r + Z), for one value and many."""
    noise = GridLaplace(real(1 / scale), Fraction(1))
    refine, fine = noise._grid.refine, noise._grid.locate_one(value)[0]
    left = noise._grid.locate_one(value)[1]()
    moved: dict[str, dict[tuple[int, bool], int]] = {"one": {}, "many": {}}
    for signed, stays in product(range(-4, 4), (False, True)):
        noise._signed = Fixed(signed, np.array([signed]))
        noise._stays = lambda *_, stays=stays: stays  # type: ignore[method-assign]
        cell = b"\xff\xff" if stays else b"\0\0"
        places = []
        noise._grid.round_one = places.append  # type: ignore[method-assign]
        noise.release_one(value, then(cell))
        moved["one"][signed, stays] = places[0] - fine
        moved["many"][signed, stays] = int(noise._floors(1, lambda n: left, then(cell))[0])
    with mp.workdps(60):
        rate, r = 1 / (exact(scale) * 2**refine), exact(left)
        for where in moved.values():
            law: Counter[int] = Counter()
            for (signed, stays), place in where.items():
                size = signed if signed >= 0 else -1 - signed
                mass = (1 - mp.exp(-rate)) * mp.exp(-rate * size) / 2
                leaves = mp.exp(-rate * (r if signed < 0 else 1 - r))
                law[place] += mass * (1 - leaves if stays else leaves)
            for place in (-3, -2, -1, 1, 2, 3):
                truth = laplace_cdf((place + 1 - r) * rate) - laplace_cdf((place - r) * rate)
                assert abs(law[place] - truth) < mpf(10) ** -40
            listed = sum(law.values(), mpf(0)) - law[0]
            assert set(law) <= set(range(-4, 5))
            assert listed > 0


def test_only_the_last_cell_of_a_laplace_coin_looks_at_the_value() -> None:
    """All others are below exp(-rate), the least chance of leaving."""
    for scale, step in ((Fraction(1), Fraction(1)), (Fraction(5), Fraction(1, 100)), (Fraction(1, 1000), Fraction(3))):
        noise = GridLaplace(real(1 / scale), step)
        with mp.workdps(60):
            assert mp.exp(-exact(step / scale) / 2**noise._grid.refine) * 65536 >= noise._doubt
