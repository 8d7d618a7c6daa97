"""Sampled Gaussian noise beside an ordered pair that costs most in the other order: no false lower end of rho."""

from __future__ import annotations

import numpy as np

from zcdp import Gaussian, LossPair, Subsampled


def test_a_sample_beside_a_pair_that_costs_most_the_other_way() -> None:
    """Both face the same way: 1.9234 is the largest D(alpha)/alpha of either order, by plain quadrature."""
    rate, x = 0.5, np.linspace(-14, 16, 30_001)
    without = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    with_it = (1 - rate) * without + rate * without * np.exp(x - 0.5)
    true = 0.0
    for s in np.geomspace(1e-3, 5, 300):
        p, q = np.array([0.01, 0.99]), np.array([0.5, 0.5])
        forward = np.log((with_it * (with_it / without) ** s).sum()) + np.log((p * (p / q) ** s).sum())
        backward = np.log((without * (without / with_it) ** s).sum()) + np.log((q * (q / p) ** s).sum())
        true = max(true, max(forward, backward) / (s * (1 + s)))
    plan = Subsampled(Gaussian(sigma=1), rate="1/2") + LossPair(["0.01", "0.99"], ["1/2", "1/2"], ordered=True)
    lower, upper = plan.rho_bounds
    assert lower <= true * (1 + 1e-6)
    assert upper >= true * (1 - 1e-6)
    assert not plan.is_tight
