"""Discrete Gaussian noise of Euclidean sensitivity 2: one coordinate may move by 2, not only four by 1."""

from __future__ import annotations

from math import exp, log

import pytest

from zcdp import L2, DiscreteGaussian


def divergence(sigma: float, move: int, order: float) -> float:
    """Of one coordinate, by a plain sum."""
    weights = {x: exp(-(x**2) / (2 * sigma**2)) for x in range(-15, 16)}
    whole = sum(weights.values())
    total = sum(w**order * weights.get(x - move, 0.0) ** (1 - order) for x, w in weights.items() if x - move >= -15)
    return log(total / whole) / (order - 1)


@pytest.mark.parametrize("sigma", ["1/2", "2/5"])
def test_one_far_move_costs_more_than_four_short_ones_at_half_orders(sigma: str) -> None:
    """At order 3/2 a move by 2 costs 3/2 rho: theta has the period 1."""
    m = DiscreteGaussian(sigma=sigma, sensitivity=L2(2))
    top, bottom = map(int, sigma.split("/"))
    far = divergence(top / bottom, 2, 1.5)
    short = 4 * divergence(top / bottom, 1, 1.5)
    assert far > short * 1.0001  # else this says nothing
    assert m.rdp("3/2") >= far * (1 - 1e-12)
    assert m.rdp("3/2") >= short * (1 - 1e-12)
