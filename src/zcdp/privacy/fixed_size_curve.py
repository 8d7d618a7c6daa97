"""The Renyi curve of Gaussian noise on a sum over a sample of a fixed size, of records of bounded norm."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianLaw
from zcdp.privacy.sampled_curve import SampledGaussian

__all__ = ["FixedSizeGaussian"]


class FixedSizeGaussian(Curve):
    """An upper bound for samples of q n of n records of norm at most C, of which one is replaced; D = (2C/sigma)^2.

    With F(a) = E (1 - q + q e^l)^a, l the loss of Gaussian noise moved by 2C, as where all records but one are alike
    and opposite to it: for s >= 1,

        e^{K(s)} <= F(1+s) + q^3 ( (e^D - 1) s(1+s)/2 + (s^3 - s)/6 )/(1 - q),

    and K(s) <= s K(1) for s <= 1. Other records in the place of that one may tell more at some losses, but the
    chi-squared divergence of all of them is at most q^2 (e^D - 1)/(1-q). K is never more than the bound by convexity,
    log(1 - q + q e^{D s(1+s)/2}). Theorem: docs/theorems/fixed-size.md.
    """

    is_envelope = True

    def __init__(self, rate: Fraction, curvature: Callable[[], arb]) -> None:
        """`curvature` returns D at the working precision; 0 < rate < 1."""
        self.rate, self.curvature = rate, curvature
        self.alike = SampledGaussian(SampledGaussianLaw(rate, curvature))

    @property
    def largest_loss(self) -> None:
        """None: losses are unbounded."""
        return

    @property
    def is_tight(self) -> bool:
        """False: the curve is an upper bound."""
        return False

    def cumulant(self, s: Number) -> Number:
        """The least of the bounds on K(s), at real s = alpha - 1."""
        excess = real_s(s)
        q, growth = lift(self.rate), excess * (1 + excess) / 2 * self.curvature()
        by_convexity = growth + (q + (1 - q) * (-growth).exp()).log()
        own = self._own(excess) if excess >= 1 else excess * self._own(arb(1))
        return own.min(by_convexity)  # type: ignore[return-value]

    def _own(self, s: arb) -> arb:
        """The bound at s >= 1 by the second moment."""
        q, alike = lift(self.rate), self.alike.cumulant(s)
        more = (self.curvature().expm1() * s * (1 + s) / 2 + (s**3 - s) / 6) * q**3 / (1 - q)
        found: arb = alike + (more * (-alike).exp()).log1p()
        return found

    def kl(self) -> arb:
        """A bound on the divergence of order 1: K(s)/s at s = 1, or that by convexity."""
        return self._own(arb(1)).min(lift(self.rate) * self.curvature() / 2)

    def peak(self) -> Peak:
        """rho = D/2, in the limit of infinite order: that of the noise without sampling."""
        return Peak(self.curvature() / 2, arb.pos_inf())

    def witness(self) -> arb:
        """rho is D/2: records that are alike and opposite to one approach it."""
        return self.curvature() / 2

    @property
    def rho_order(self) -> float:
        """inf: rho is the limit of D(alpha)/alpha as alpha grows."""
        return inf
