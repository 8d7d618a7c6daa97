"""The hybrid of windows and one bit: its cost against its rows in fractions, and what it draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from zcdp import Channel, HybridResponse, SquareWave
from zcdp.numeric.exact import Log


@pytest.mark.parametrize(("steps", "width", "share"), [(1, 1, "1/2"), (4, 2, "2/3"), (3, 3, "1/10")])
@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(20)])
def test_the_cost_is_that_of_its_worst_two_rows(steps: int, width: int, share: str, ratio: Fraction) -> None:
    t, rows = Fraction(share), []
    for i in range(steps + 1):
        window = [ratio if i <= y < i + width else Fraction(1) for y in range(steps + width)]
        up = (1 + (ratio - 1) * Fraction(i, steps)) / (1 + ratio)
        rows.append([*(t * one / sum(window) for one in window), (1 - t) * (1 - up), (1 - t) * up])
    own, truth = HybridResponse(epsilon=Log(ratio), steps=steps, width=width, share=share), Channel(rows)
    assert own.rho == pytest.approx(truth.rho, rel=1e-9)
    assert own.rho >= truth.rho_bounds[0]
    for uses in (1, 4):
        lower, upper = (uses * truth).delta_bounds(epsilon="0.3")
        assert lower <= (uses * own).delta_at(epsilon="0.3") <= upper * (1 + 1e-9)


def test_reports_are_drawn_as_their_rows_say() -> None:
    m = HybridResponse(epsilon=1, steps=3, width=2, share="0.4")
    for i in range(4):
        n = 100_000
        seen = np.bincount(m.release(np.full(n, i / 3)), minlength=7)
        expected = np.array([float(one) for one in m._row(i)]) * n
        assert ((seen - expected) ** 2 / expected).sum() < 36  # 6 degrees of freedom: 3e-6


def test_a_small_epsilon_is_for_one_bit_alone_and_a_wide_window_for_none() -> None:
    assert HybridResponse.best(epsilon="0.5") == SquareWave.one_bit(epsilon="0.5")
    with pytest.raises(ValueError, match=r"width \(5\) must be at most steps \(4\)"):
        HybridResponse(epsilon=1, steps=4, width=5, share="1/2")
