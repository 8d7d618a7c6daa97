"""The transform of Gaussian noise on a sample encloses the integral however coarse its grid; samples of samples."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb
from mpmath import mp, mpf, nstr, workdps

from zcdp import Gaussian, Subsampled
from zcdp.numeric.balls import Undecided, at_precision, lift
from zcdp.privacy.loss.sampled_gaussian_law import SampledNormal
from zcdp.privacy.loss.sampled_gaussian_proposals import Grid


def integral(rate: Fraction, variance: Fraction, s: int) -> mpf:
    """E w^s over normal u of this variance, w = 1 - q + q e^{u - variance/2}: by Gauss and Legendre, piece by piece."""
    q, v = mpf(rate.numerator) / rate.denominator, mpf(variance.numerator) / variance.denominator

    def density(u: mpf) -> mpf:
        weight = (1 - q + q * mp.exp(u - v / 2)) ** s
        return weight * mp.exp(-u * u / (2 * v)) / mp.sqrt(2 * mp.pi * v)

    deviation = mp.sqrt(v)
    ends = [deviation * n + max(s, 0) * v * mpf(part) / 4 for n in (-12, 12) for part in range(5)]
    return mp.quad(density, sorted([*ends, 0]))


class Narrow(SampledNormal):
    """On a grid that leaves out so many points at each end as make a difference."""

    cut = 0

    def grid(self, s: float, fall: float, *, rotated: bool) -> Grid:
        found = super().grid(s, fall, rotated=rotated)
        return replace(found, first=found.first + self.cut, last=found.last - self.cut)


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("fall", [0.5, 2.0, 8.0, 30.0])
@pytest.mark.parametrize(("rate", "variance"), [("0.1", "1"), ("0.5", "0.25"), ("0.9", "4")])
def test_the_error_of_a_coarse_grid_is_charged(rate: str, variance: str, fall: float, cut: int) -> None:
    for s in (2, 7, -1, -4):
        with workdps(25):
            truth = arb(nstr(integral(Fraction(rate), Fraction(variance), s), 22))

        def ball(s: int = s) -> arb:
            noise = Narrow(lift(Fraction(rate)), lift(Fraction(variance)))
            noise.cut = cut
            return noise.real(arb(s), fall)

        try:
            found = at_precision(128, ball)
        except Undecided:  # so much is left out that nothing is known of it
            assert cut
            continue
        assert found.lower() <= truth <= found.upper(), (s, found)
        assert cut or fall < 30 or found.rel_accuracy_bits() > 40


def test_a_sample_of_a_sample_is_a_smaller_sample() -> None:
    twice = Subsampled(Subsampled(Gaussian(sigma=1), rate="0.5"), rate="0.2")
    once = Subsampled(Gaussian(sigma=1), rate="0.1")
    for times in (1, 5):
        assert (times * twice).delta_at(epsilon="0.1") == pytest.approx((times * once).delta_at(epsilon="0.1"))
