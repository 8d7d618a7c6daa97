"""Grids for a sampled Gaussian's transform: cones, terms beyond a grid and trapezoidal sums against what they bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import arb

from zcdp.numeric.balls import Undecided, above, at_precision
from zcdp.privacy.loss.sampled_gaussian_heuristics import Grid
from zcdp.privacy.loss.sampled_gaussian_law import SampledNormal

NOISES = [(0.1, 1.0), (0.5, 0.25), (0.9, 4.0), (0.02, 9.0)]
ORDERS = [2.0, 7.5, -1.0, -4.0, -12.0]


def noise(rate: float, variance: float) -> SampledNormal:
    return SampledNormal(arb(rate), arb(variance))


def line(variance: float, s: float) -> tuple[np.ndarray, np.ndarray]:
    """Places across both modes, and the logarithm of the normal density there times their distance."""
    deviation = variance**0.5
    u = np.arange(-12 * deviation - 2 * max(-s, 0), 12 * deviation + max(s, 0) * variance, deviation / 40)
    return u, -(u**2) / (2 * variance) - np.log((2 * np.pi * variance) ** 0.5 / (deviation / 40))


def weight(rate: float, variance: float, u: np.ndarray) -> np.ndarray:
    """w = 1 - q + q e^{u - v/2}."""
    return 1 - rate + rate * np.exp(u - variance / 2)


def transform(rate: float, variance: float, s: complex) -> complex:
    """F(s) = E w^s."""
    u, size = line(variance, s.real if isinstance(s, complex) else s)
    return complex(np.exp(s * np.log(weight(rate, variance, u)) + size).sum())


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_cone_is_not_below_the_mean_off_the_real_line(rate: float, variance: float) -> None:
    """The mean of |w(u + it)|^s over F(s): for s >= 0 at most 1, else more, up to angles near pi."""
    for s, angle in product(ORDERS, (0.1, 0.6, 1.2, 1.5, 1.6, 2.2, 2.9)):
        u, size = line(variance, s)
        mean = np.exp(s * np.log(abs(weight(rate, variance, u + 1j * angle))) + size).sum()
        mean /= transform(rate, variance, s).real
        found = at_precision(128, lambda s=s, angle=angle: noise(rate, variance).cone(arb(angle), arb(s)))
        assert mean <= above(found) * (1 + 1e-9), (s, angle)
        assert at_precision(128, lambda f=found, s=s, a=angle: f <= (arb(a) / 2).cos() ** min(s, 0) + arb(2) ** -60)


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_terms_beyond_a_grid_weigh_no_more_than_is_said(rate: float, variance: float) -> None:
    """The sum of step |g(j step + i angle)| over all j before the first and after the last."""
    seen = 0
    for s, angle in product(ORDERS, (0.0, 0.5, 1.3)):
        for first, last, step in (
            (-30, 30, 0.2),
            (-4, 9, 0.5),
            (-9, 40, 0.3),
            (-2, 25, 1.0),
            (-60, 3, 0.25),
            (2, 30, 0.4),
        ):
            scale = variance**0.5
            grid = Grid(step * scale, angle, 3.0, first, last)
            j = np.concatenate([np.arange(first - 400, first), np.arange(last + 1, last + 400)])
            u = j * step * scale
            u = u[(u > -40 * scale - 10) & (u < 40 * scale + max(s, 0) * variance)]
            log_size = s * np.log(abs(weight(rate, variance, u + 1j * angle))) + (angle**2 - u**2) / (2 * variance)
            left_out = np.exp(log_size).sum() * step * scale / (2 * np.pi * variance) ** 0.5
            try:
                found = at_precision(128, lambda g=grid, s=s: noise(rate, variance).beyond(g, arb(s)))
            except Undecided:  # from here on the terms do not surely fall
                continue
            seen += 1
            assert left_out <= above(found) * (1 + 1e-9) + 1e-290, (s, grid)
    assert seen > 25


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_whole_trapezoidal_sum_is_off_by_no_more_than_is_said(rate: float, variance: float) -> None:
    """Wide steps, on the real line for F(s), and on a rotated one for F(s + iy) at every height."""
    for s, step in product(ORDERS, (0.3, 1.0, 2.0, 4.0)):
        whole = transform(rate, variance, s).real
        for angle, strip in ((0.0, 1.0), (0.0, 2.8), (0.4, 1.4), (1.2, 2.6), (0.9, 3.0)):
            far = int((16 * variance**0.5 + max(s, 0) * variance + 20) / step) + 2
            u = np.arange(-far, far + 1) * step
            grid = Grid(step, angle, strip, -far, far)
            allowed = above(at_precision(128, lambda g=grid, s=s: noise(rate, variance)._slip(g, arb(s)))) * whole
            for y in (0.0,) if not angle else (0.0, 1.5, 6.0):
                place = u + 1j * angle
                with np.errstate(over="ignore"):
                    terms = np.exp((s + 1j * y) * np.log(weight(rate, variance, place)) - place**2 / (2 * variance))
                found = terms.sum() * step / (2 * np.pi * variance) ** 0.5
                assert abs(found - transform(rate, variance, complex(s, y))) <= allowed + 1e-10 * whole, (s, grid, y)
