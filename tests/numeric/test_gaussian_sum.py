"""The second moment of a discrete Gaussian against plain sums, also of noise that is hardly ever there."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from zcdp import DiscreteGaussian
from zcdp.numeric.theta import second_moment


@pytest.mark.parametrize("variance", ["1/5000", "1/50", "3/20", "1/6", "1/5", "1", "30"])
def test_the_second_moment_is_that_of_the_sum(variance: str) -> None:
    exact = Fraction(variance)
    with mpmath.workdps(60):
        v = mpmath.mpf(exact.numerator) / exact.denominator
        masses = [mpmath.exp(-(x * x) / (2 * v)) for x in range(1, 120)]
        truth = 2 * sum(x * x * mass for x, mass in enumerate(masses, 1)) / (1 + 2 * sum(masses))
        found = second_moment(exact)
        middle, radius = (mpmath.mpf(part.str(25, radius=False)) for part in (found.mid(), found.rad()))
        assert abs(middle - truth) <= radius + truth * mpmath.mpf(10) ** -12


def test_noise_that_is_hardly_ever_there_has_a_deviation() -> None:
    """2 e^{-5000}, and 2 e^{-10^9}, are beyond floats: they are rounded up, at once."""
    assert DiscreteGaussian(rho=5000).accuracy().standard_deviation == 5e-324
    narrowest = DiscreteGaussian(rho="1e9").accuracy()
    assert (narrowest.standard_deviation, narrowest.half_width) == (5e-324, 0)
