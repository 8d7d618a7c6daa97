"""The distribution function of the discrete Gaussian: at every outcome that may ever be asked for, and one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf
from samplers.laws import exact

from zcdp.numeric.balls import at_precision
from zcdp.samplers.discrete_gaussian import DiscreteGaussianNoise


@pytest.mark.parametrize("bits", [100, 126, 190])
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(19, 3), Fraction(100)], ids=str)
def test_sums_of_the_mass_on_either_side_and_far_out(variance: Fraction, bits: int) -> None:
    """P(X <= k), also beyond where all but 2^-bits of the mass lies: as a ball that holds it, and no wide one."""
    noise = DiscreteGaussianNoise(variance)
    with mp.workdps(120):
        far = int(mp.sqrt(exact(variance)) * 25) + 10
        masses = {x: mp.exp(-(mpf(x) ** 2) / (2 * exact(variance))) for x in range(-2 * far, 2 * far + 1)}
        whole = sum(masses.values())
        run = at_precision(bits, lambda: noise._cdfs(range(-far, far)))
        for k in {-far, -far // 2, -7, -2, -1, 0, 1, 2, 7, far // 2, far - 1}:
            truth = sum(masses[x] for x in range(-2 * far, k + 1)) / whole
            for ball in (run[k + far], at_precision(bits, lambda k=k: noise._cdf(k))):
                middle, radius = (mpf(part.str(80, radius=False)) for part in (ball.mid(), ball.rad()))
                assert abs(middle - truth) <= radius * (1 + mpf(10) ** -9) + mpf(10) ** -75
                assert radius < mpf(2) ** (10 - bits)
