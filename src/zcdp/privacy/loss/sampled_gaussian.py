"""The loss of Gaussian noise on a Poisson sample, in one order of the neighbours or the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any, Self

from flint import acb, arb, ctx

from zcdp.numeric.balls import lift
from zcdp.privacy.loss.decay import MonotoneShare, Share
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.panels import BaseLoss
from zcdp.privacy.loss.sampled_decay import SampledDecay
from zcdp.privacy.loss.sampled_density import Facing, SampledDensityLaw
from zcdp.privacy.loss.sampled_normal import SampledNormal
from zcdp.privacy.loss.tilted import Exponentials, Tilted
from zcdp.privacy.loss.transform import Factor, Points, Taylor
from zcdp.privacy.relation import Relation

__all__ = ["SampledGaussianLaw", "replaced_gaussian_law", "sampled_gaussian_law"]

SIZE = 34.0  # e-folds to which one value on the real line is known: the size of 10^12 uses then to two digits
ENOUGH = 44.0  # the same where it is a factor of the answer


@dataclass(frozen=True, eq=False)
class SampledGaussianLaw(LossLaw):
    """The pair (A, Q), A = (1-q) Q + q P, of a Gaussian pair (P, Q) of parameter mu; or, reversed, (Q, A).

    Theorem: docs/theorems/sampling.md.
    """

    cancels = True

    rate: Fraction
    """q < 1."""
    curvature: Callable[[], arb]
    """mu^2, at the working precision."""
    removed: bool = True
    """Whether P has the record and Q has not; else the other order."""

    def ready(self) -> SampledGaussianFactor:
        """See `LossLaw`."""
        return SampledGaussianFactor(self.noise(), removed=self.removed)

    def noise(self) -> SampledNormal:
        """The noise, at the working precision."""
        return SampledNormal(lift(self.rate), self.curvature())

    def largest(self) -> arb:
        """See `LossLaw`: w > 1 - q, so without the record the loss stays below -log(1 - q)."""
        return arb.pos_inf() if self.removed else -lift(-self.rate).log1p()

    def reverse(self) -> LossLaw:
        """See `LossLaw`."""
        return replace(self, removed=not self.removed, **self.claims_reversed())

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """See `LossLaw`: a sample of a sample."""
        return sampled_gaussian_law(self.rate * rate, self.curvature) if self.removed else None

    def alone(self) -> Callable[[arb], arb]:
        """See `LossLaw`: q d(log(1 + (x-1)/q)), or (1 - (1-q)x) d(log(qx/(1 - (1-q)x))), x = e^epsilon."""
        q = lift(self.rate)
        mu = self.curvature().sqrt()

        def delta(epsilon: arb) -> arb:
            more = epsilon.expm1()
            front = q if self.removed else q - (1 - q) * more
            point = (more / front).log1p()
            return front * _profile(mu, point)

        return delta


def _profile(mu: arb, epsilon: arb) -> arb:
    """delta of a Gaussian pair: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    place, root = epsilon / mu, arb(2).sqrt()
    return (((place - mu / 2) / root).erfc() - epsilon.exp() * ((place + mu / 2) / root).erfc()) / 2


class SampledGaussianFactor(Factor):
    """F(1 + z), or F(-z)."""

    weight = 1.4
    quick = True

    def __init__(self, noise: SampledNormal, *, removed: bool) -> None:
        self.noise, self.removed = noise, removed

    def _order(self, z: Any) -> Any:
        return 1 + z if self.removed else -z

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        s = self._order(z)
        if isinstance(s, arb):
            return self.noise.real(s, _working())
        upper = bool(s.imag >= 0)
        height = s.imag if upper else -s.imag
        [value] = self.noise.progression(s.real, height, [1], _working())
        return value if upper else value.conjugate()

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """See `Factor`; on the real line only to SIZE e-folds."""
        return self.noise.real(self._order(z), SIZE) if isinstance(z, arb) else self.moment(z)

    def moments(self, points: Points) -> Sequence[acb]:
        """See `Factor`."""
        fall = min(points.needed, _working())
        values = self.noise.progression(self._order(points.c), points.step, points.kept, fall)
        return values if self.removed else [value.conjugate() for value in values]

    def along(self, z: Any, w: Any, u: Any) -> Taylor:  # noqa: ARG002
        """See `Factor`; slope and variance are proposals."""
        c = z[0]
        moment = self.noise.real(self._order(c), SIZE)
        _, slope, bend = self.estimate(float(c))
        return Taylor(moment, moment.log(), arb(slope), arb(bend))

    def estimate(self, c: float) -> tuple[float, float, float]:
        """See `Factor`."""
        return self.estimates([self], c)[0]

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[tuple[float, float, float]]:
        """See `Factor`; all of one composition face one way."""
        found = SampledNormal.estimates([factor.noise for factor in factors], factors[0]._order(c))
        return found if factors[0].removed else [(value, -slope, bend) for value, slope, bend in found]

    def tilted(self, c: arb) -> Tilted:
        """See `Factor`; F(s + iy) on the rotated line, and F(-c - iy) as the conjugate of F(-c + iy)."""
        order = self._order(c)
        values, logs, error = self.noise.rotated(order, ENOUGH)
        whole = self.noise.real(order, ENOUGH)
        weights = [x / whole for x in values]
        if not self.removed:
            weights, logs = [x.conjugate() for x in weights], [-x.conjugate() for x in logs]
        return Tilted((), arb(0), arb(0), exponentials=Exponentials(weights, logs, arb(error) / whole))

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """See `Factor`."""
        return MonotoneShare(count, SampledDecay(self.noise, self._order(c), taylor.moment, max(count, self.uses)))


def _working() -> float:
    """The working precision in e-folds."""
    return ctx.prec * log(2)


def replaced_gaussian_law(rate: Fraction, curvature: Callable[[], arb]) -> SampledDensityLaw:
    """The same for neighbours by replacement: the envelope of both orders."""

    def base() -> BaseLoss:
        v = curvature()
        constant = -(2 * arb.pi() * v).log() / 2 - v / 8
        return BaseLoss(-1 / (2 * v), arb(-1) / 2, constant, arb.neg_inf(), arb.pos_inf())

    def once(epsilon: arb) -> arb:
        return _profile(curvature().sqrt(), epsilon)

    return SampledDensityLaw(rate, base, once, Facing.EITHER)


def sampled_gaussian_law(rate: Fraction, curvature: Callable[[], arb]) -> SampledGaussianLaw:
    """Gaussian noise shifted by mu standard deviations, on a Poisson sample of rate q < 1."""
    return SampledGaussianLaw(rate, curvature, symmetric=False, relation=Relation.ADD_REMOVE)
