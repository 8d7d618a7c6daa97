"""Decay along a line and the nodes that are kept: bounds are lower ones, and what is left out is paid for."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp, mpf
from privacy.by_engine import HALF

from zcdp import Gaussian, Logistic
from zcdp.numeric.balls import above, at_precision
from zcdp.numeric.quadrature import TooManyNodes, charge, choose, octaves
from zcdp.privacy.loss import discrete_laplace_pair, laplace_pair, three_point_pair
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.transform import Transform


@pytest.mark.parametrize(
    "pair",
    [
        laplace_pair(HALF),
        three_point_pair(HALF, 5),
        three_point_pair(HALF),
        laplace_pair(Fraction(4)),
        discrete_laplace_pair(Fraction(4), 9),
        discrete_laplace_pair(Fraction(30), 60),
        discrete_laplace_pair(HALF, 60),
    ],
)
def test_decay_is_a_lower_bound(pair: object) -> None:

    def run() -> None:
        transform = Transform(((pair, 3),))  # type: ignore[arg-type]
        for c in (arb("0.1"), arb(2), arb(30)):
            decay = Decay(transform.tilt(c).shares, c)
            size = transform.log_moment(c)
            for low in (0.01, 0.5, 2.0, 3.1, 6.2, 12.5, 50.0, 1000.0):
                for width in (0.0, 0.3, 2.0, inf):
                    bound = decay.bound(np.array([low]), np.array([low + width]))[0]
                    for step in range(40):
                        y = low + (width if width < inf else 3 * low) * step / 40
                        true = float(size - abs(transform.moment(c + arb(y) * acb(0, 1))).log())
                        assert bound <= true + 1e-12

    at_precision(128, run)


def test_nodes_and_cells_are_counted() -> None:
    def nothing(i: Any, j: Any) -> Any:
        return i < 0

    with pytest.raises(TooManyNodes):
        choose(octaves(1 << 40), nothing, most=1000, work=10**9)
    with pytest.raises(TooManyNodes):
        choose(octaves(1 << 40), lambda i, j: i % 3 == 0, most=10**9, work=1000)
    nodes = choose(octaves(1 << 20), lambda i, j: i >= 64, most=1000, work=1000)
    assert nodes.kept == list(range(65))
    assert sum((nodes.end - nodes.begin).tolist()) == (1 << 20) - 64


def test_what_is_charged_covers_what_is_left_out() -> None:
    weights, decays = np.array([0.5, 2.0, 1e-3, 3.0]), np.array([0.3, 7.77, 0.31, 1e12])
    exact = sum(w * np.exp(-d) for w, d in zip(weights, decays, strict=True))
    assert exact <= above(charge(weights, decays)) <= exact * 1.2


@pytest.mark.parametrize("power", [100, 154, 156, 200, 290])
def test_tiny_losses_have_decays_whose_squares_overflow(power: int) -> None:
    """delta(0) is 2 Phi(mu/2) - 1, nearly mu/sqrt(2 pi), however small mu is."""
    truth = mp.erf(mpf(10) ** -power / (2 * mp.sqrt(2)))
    lower, upper = Gaussian(sigma=f"1e{power}").delta_bounds(epsilon=0)
    assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -9)


def test_many_tiny_densities_have_decays_whose_squares_overflow() -> None:
    """4000 logistic losses of 1e-156: nearly uniform on (-eta, eta), so delta(0) is half of their mean absolute sum."""
    small, large = ((4000 * Logistic(epsilon=f"1e-{power}")).delta_bounds(epsilon=0) for power in (156, 100))
    assert small[1] * 1e56 == pytest.approx(large[1], rel=1e-9)
    assert small[0] <= small[1]
