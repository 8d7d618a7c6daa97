"""Gaussian losses: charged as often as they run, in doubles too."""

from __future__ import annotations

from fractions import Fraction

import pytest

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import gaussian_pair, laplace_pair
from zcdp.privacy.profile.float_contour import FloatContour
from zcdp.privacy.profile.profile import Profile


@pytest.mark.parametrize("count", [1, 7])
def test_gaussian_noise_in_doubles_is_charged_as_often_as_it_runs(count: int) -> None:
    """Two Laplace mechanisms and `count` Gaussians of mu = 1/5: as one Gaussian of the same mu^2, in balls."""
    noise, epsilon = Fraction(1, 25), Fraction(1, 2)
    parts = ((laplace_pair(Fraction(3, 10)), 2), (gaussian_pair(lambda: lift(noise)), count))
    once = ((laplace_pair(Fraction(3, 10)), 2), (gaussian_pair(lambda: lift(count * noise)), 1))

    def in_doubles() -> tuple[float, float, Fraction]:
        contour = FloatContour(parts, 3.5, epsilon, 3e7)
        lower, upper = contour.delta(epsilon)
        return below(lower), above(upper), contour.mu

    lower, upper, mu = at_precision(128, in_doubles)
    smoothed = (*once, (gaussian_pair(lambda: lift(mu * mu)), 1))
    low, high = Profile(smoothed).delta_bounds(epsilon)
    assert lower <= high
    assert low <= upper <= high * (1 + 1e-8)
