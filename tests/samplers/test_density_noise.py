"""Noise of a density on a grid: draws against its distribution function, in bins, in the tails and at its ends."""

from __future__ import annotations

from fractions import Fraction
from math import atan, pi

import numpy as np
from flint import arb

from zcdp import Cauchy, Noise
from zcdp.samplers.density_noise import DensityNoiseOnGrid


def test_draws_of_a_cauchy_law_have_its_distribution() -> None:
    drawn = np.sort(Cauchy(scale=2).sample(1000))
    told = np.array([0.5 + atan(x / 2) / pi for x in drawn])
    assert np.abs(told - np.arange(1, 1001) / 1000).max() < 0.064  # Kolmogorov and Smirnov, beyond once in 2000 runs


def test_a_coarse_grid_rounds_the_sum() -> None:
    noise = Noise("exp(-abs(x))")
    drawn = np.array([noise.release(0.25, grid=1) for _ in range(1500)])
    assert set(np.unique(drawn % 1)) == {0.0}
    assert abs(np.mean(drawn == 0) - (2 - np.exp(-0.25) - np.exp(-0.75)) / 2) < 0.06


def test_the_rejection_bound_is_above_the_density() -> None:
    pair = Noise("exp(-max(2*x, -x))")._pairs[0]
    sampler = DensityNoiseOnGrid(pair, Fraction(1, 64))
    for n in (-20, -1, 0, 3):
        for part in np.linspace(0, 1, 23):
            x = arb(float(sampler._edge(n)) + float(sampler._bin) * part)
            assert pair.density.f(x) <= sampler._bound(n) * (1 + arb(10) ** -15)
