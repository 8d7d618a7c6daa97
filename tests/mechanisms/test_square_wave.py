"""Windows for numbers: costs between what explicit inputs have and what any channel of the same rows has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import zcdp
from zcdp import Channel, HybridResponse, SquareWave
from zcdp.numeric.exact import Log

SHAPES = [(1, 1), (4, 2), (3, 3), (2, 5), (6, 1)]


def channel(steps: int, width: int, ratio: Fraction) -> Channel:
    """All rows on grid points in fractions, e^epsilon being `ratio`, and the middle of two as a mixture of them."""
    rows = [[ratio if i <= y < i + width else Fraction(1) for y in range(steps + width)] for i in range(steps + 1)]
    rows = [[one / sum(row) for one in row] for row in rows]
    return Channel([*rows, [(a + b) / 2 for a, b in zip(rows[0], rows[-1], strict=True)]])


@pytest.mark.parametrize(("steps", "width"), SHAPES)
@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(20)])
def test_the_cost_is_that_of_its_worst_two_rows(steps: int, width: int, ratio: Fraction) -> None:
    own, rows = SquareWave(epsilon=Log(ratio), steps=steps, width=width), channel(steps, width, ratio)
    assert own.rho == pytest.approx(rows.rho, rel=1e-9)
    assert own.rho >= rows.rho_bounds[0]
    for uses in (1, 4):
        for epsilon in ("0.1", "1"):
            lower, upper = (uses * rows).delta_bounds(epsilon=epsilon)
            told = (uses * own).delta_at(epsilon=epsilon)
            assert lower <= told <= upper * (1 + 1e-9)


def test_widths_are_those_of_the_literature() -> None:
    """Against the closed forms of the papers, on the range from -1 to 1; the rounding to the grid is small."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        half = np.exp(epsilon / 2)
        piecewise = 1 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        found = SquareWave.piecewise(epsilon=epsilon, steps=2000).standard_error(clients=1, low=-1, high=1) ** 2
        assert found == pytest.approx(piecewise, rel=2e-3)
        e = np.exp(epsilon)
        bit = SquareWave.one_bit(epsilon=epsilon).standard_error(clients=1, low=-1, high=1) ** 2
        assert bit == pytest.approx(((e + 1) / (e - 1)) ** 2, rel=1e-9)
        both = (half + 3) / (3 * half * (half - 1)) + (e + 1) ** 2 / (half * (e - 1) ** 2)
        hybrid = HybridResponse.best(epsilon=epsilon, steps=2000).standard_error(clients=1, low=-1, high=1) ** 2
        assert hybrid == pytest.approx(both if epsilon > 0.61 else bit, rel=3e-3)
        b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
        assert SquareWave.of_densities(epsilon=epsilon, steps=2000).width == pytest.approx(4000 * b, abs=1)


def test_what_makes_no_sense_is_refused() -> None:
    for wrong in ({"steps": 0, "width": 1}, {"steps": 1, "width": 0}):
        with pytest.raises(ValueError, match=r"\(0\) must be at least 1"):
            SquareWave(epsilon=1, **wrong)
    m = SquareWave(epsilon=1, steps=4, width=2)
    with pytest.raises(ValueError, match=r"numbers must lie between low \(0\) and high \(1\): clip them first"):
        m.release([0.5, 1.5])
    with pytest.raises(ValueError, match="numbers must lie between"):
        m.release([float("nan")])
    with pytest.raises(TypeError, match="support no values"):
        _ = m.support
    with pytest.raises(ValueError, match=r"mean \(2\) must lie between low \(0\) and high \(1\)"):
        m.standard_error(clients=1, mean=2)


def test_reports_are_drawn_as_their_rows_say() -> None:
    """Chi square of 100000 draws on each of three inputs, one of them between grid points."""
    m = SquareWave(epsilon=1, steps=3, width=2)
    rows = {0.0: m._row(0), 1 / 3: m._row(1), 0.5: [(a + b) / 2 for a, b in zip(m._row(1), m._row(2), strict=True)]}
    for number, row in rows.items():
        n = 100_000
        seen = np.bincount(m.release(np.full(n, number)), minlength=5)
        expected = np.array([float(one) for one in row]) * n
        assert ((seen - expected) ** 2 / expected).sum() < 30  # 4 degrees of freedom: 5e-6
    assert zcdp.Plan.parse(repr(3 * m)).rho == (3 * m).rho
