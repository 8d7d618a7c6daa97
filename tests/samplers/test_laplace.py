"""Laplace noise on a grid: fine steps so short that one cell decides, and sums rounded to the nearest point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

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
