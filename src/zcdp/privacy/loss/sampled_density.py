"""The loss of noise with a density on a sample of the records: in one order, the other, or facing either way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import inf, log
from typing import Any

from flint import acb, arb, ctx

from zcdp.numeric.balls import above, lift
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.once import cached_property
from zcdp.privacy.loss.decay import MonotoneShare, Share
from zcdp.privacy.loss.density_decay import DensityDecay
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.panels import BaseLoss, Mixture, Rule
from zcdp.privacy.loss.progression import progression
from zcdp.privacy.loss.tilted import MOST_TERMS, Exponentials, Tilted
from zcdp.privacy.loss.transform import Factor, Points, Taylor

__all__ = ["Facing", "SampledDensityLaw"]

ENOUGH = 44.0  # e-folds to which one value on the real line is known
SAMPLES = 2_001
HIGHEST, DOUBLE = 5e5, 36.0  # heights over 1 + c, and e-folds, to which a contour in doubles knows the transform
LARGEST = 1e100  # loss that floats may square
SHIFTED = 1.0  # heights, over the deviation of the loss, from which the path is shifted


class Facing(Enum):
    """Which of the two data sets is P."""

    WITH = 1
    """The one with the record."""
    WITHOUT = -1
    """The one without it."""
    EITHER = 0
    """Whichever is worse at each epsilon: a symmetric law, for neighbours by replacement."""


@dataclass(frozen=True, eq=False)
class SampledDensityLaw(LossLaw):
    """The pair (A, Q), A = (1-q) Q + q P, of a symmetric (P, Q); the pair (Q, A); or the envelope of both.

    Theorem: docs/theorems/sampled-density.md.
    """

    rate: Fraction
    """q < 1."""
    base: Callable[[], BaseLoss]
    """The loss of (P, Q) under Q, at the working precision."""
    once: Callable[[arb], arb]
    """delta(epsilon) of one use of (P, Q), for 0 <= epsilon up to its largest loss, at the working precision."""
    facing: Facing

    def ready(self) -> SampledDensityFactor:
        """See `LossLaw`."""
        base = self.base()
        if self.facing is Facing.EITHER:
            base = replace(base, low=arb(0), atoms=[(place, mass) for place, mass in base.atoms if place > 0])
        return SampledDensityFactor(Mixture(lift(self.rate), base), self.facing)

    def largest(self) -> arb:
        """See `LossLaw`."""
        base, q = self.base(), lift(self.rate)
        if self.facing is Facing.WITHOUT:
            return -(1 - q + q * base.low.exp()).log()
        return (1 - q + q * base.high.exp()).log() if base.high.is_finite() else arb.pos_inf()

    def reverse(self) -> LossLaw:
        """See `LossLaw`."""
        if self.symmetric:
            return self
        return replace(self, facing=Facing(-self.facing.value), **self.claims_reversed())

    def _looks_symmetric(self) -> bool:
        """Both halves of the envelope are written alike: the formula shows it."""
        return True

    def alone(self) -> Callable[[arb], arb]:
        """See `LossLaw`; the envelope of both orders is the first, at every epsilon >= 0."""
        q, top = lift(self.rate), self.base().high

        def delta(epsilon: arb) -> arb:
            more = epsilon.expm1()
            front = q - (1 - q) * more if self.facing is Facing.WITHOUT else q
            return front * self.once((more / front).log1p().min(top))

        return delta


class SampledDensityFactor(Factor):
    """Integrals of w^{1+z}, of w^{-z}, or of both over the losses above 0 with what is left at 0."""

    weight = 4.0
    quick = True

    def __init__(self, mixture: Mixture, facing: Facing) -> None:
        self.mixture, self.facing = mixture, facing
        self.atoms = [(mixture.weight(place).log(), mass) for place, mass in mixture.base.atoms]

    def exponents(self, c: arb) -> list[arb]:
        """Of w, at z = c."""
        both = {Facing.WITH: (1 + c,), Facing.WITHOUT: (-c,), Facing.EITHER: (1 + c, -c)}
        return list(both[self.facing])

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False, most: float = inf) -> Rule:
        """A quadrature up to a height, to about e^-fall of M(c); `real`: with all points on the real axis."""
        size, _, variance = self.estimate(float(c.mid()))
        shifted = not real and height * variance**0.5 > SHIFTED
        return self.mixture.rule(self.exponents(c), height, size - fall, shifted=shifted, most=most)

    @cached_property
    def _middle(self) -> arb:
        """What the envelope leaves at 0: 1 - A(L > 0) - Q(L > 0)."""
        if self.facing is not Facing.EITHER:
            return arb(0)
        rule = self.mixture.rule([arb(1), arb(0)], 0.0, -_working())
        masses = [(x.exp() + 1) * mass for x, mass in zip(rule.logs, rule.masses, strict=True)]
        atoms = [(x.exp() + 1) * mass for x, mass in self.atoms]
        return (1 - sum(masses + atoms, acb(0))).real - arb(0, rule.error)

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        """Losses with their tilted masses, atoms last: M(c + iy) is the sum of mass e^{iy loss}, up to its error."""
        listed = [(acb(x), acb(mass)) for x, mass in self.atoms]
        if rule is not None:
            listed = list(zip(rule.logs, rule.masses, strict=True)) + listed
        found = []
        for x, mass in listed:
            if self.facing is not Facing.WITHOUT:
                found.append((x, (x * (1 + c)).exp() * mass))
            if self.facing is not Facing.WITH:
                found.append((-x.conjugate(), ((-x * c).exp() * mass).conjugate()))
        if self.facing is Facing.EITHER:
            found.append((acb(0), acb(self._middle)))
        return found

    def atomic_mass(self, c: arb) -> arb:
        """The tilted mass of all atoms."""
        return sum((mass for _, mass in self.terms(c, None)), acb(0)).real

    def real(self, c: arb, fall: float) -> arb:
        """M(c) to about e^-fall of itself."""
        rule = self.rule(c, 0.0, fall)
        return sum((mass for _, mass in self.terms(c, rule)), acb(0)).real + arb(0, rule.error)

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        if isinstance(z, arb):
            return self.real(z, _working())
        upper = bool(z.imag >= 0)
        y = z.imag if upper else -z.imag
        rule = self.rule(z.real, above(y), _working())
        value = sum((mass * (loss * acb(0, y)).exp() for loss, mass in self.terms(z.real, rule)), _slip(rule))
        return value if upper else value.conjugate()

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """See `Factor`; on the real line only to ENOUGH e-folds."""
        return self.real(z, ENOUGH) if isinstance(z, arb) else self.moment(z)

    def moments(self, points: Points) -> Sequence[acb]:
        """See `Factor`."""
        last = points.kept[-1]
        rule = self.rule(points.c, above(points.step * last), min(points.needed, _working()))
        terms = self.terms(points.c, rule)
        slip = _slip(rule)
        masses, losses = [mass for _, mass in terms], [loss for loss, _ in terms]
        return [value + slip for value in progression(masses, losses, points.step, points.kept)]

    def along(self, z: Any, w: Any, u: Any) -> Taylor:  # noqa: ARG002
        """See `Factor`; slope and variance are proposals."""
        c = z[0]
        moment = self.real(c, ENOUGH)
        _, slope, bend = self.estimate(float(c.mid()))
        return Taylor(moment, moment.log(), arb(slope), arb(bend))

    def estimate(self, c: float) -> tuple[float, float, float]:
        """See `Factor`."""
        import numpy as np

        losses, masses = self._sample
        size = (1 + c) * losses if self.facing is not Facing.WITHOUT else -c * losses
        parts = [(losses if self.facing is not Facing.WITHOUT else -losses, size)]
        if self.facing is Facing.EITHER:
            middle = max(float(self._middle.mid()), 1e-300)
            parts.append((-losses, -c * losses))
        top = max(float((size + masses).max()) for _, size in parts)
        tilted = [(loss, np.exp(size + masses - top)) for loss, size in parts]
        if self.facing is Facing.EITHER:
            tilted.append((np.zeros(1), np.array([middle * np.exp(min(-top, 700.0))])))
        level = sum(float(mass.sum()) for _, mass in tilted)
        mean = sum(float((mass * loss).sum()) for loss, mass in tilted) / level
        bend = sum(float((mass * (loss - mean) ** 2).sum()) for loss, mass in tilted) / level
        return top + log(level), mean, bend

    @cached_property
    def _sample(self) -> tuple[Any, Any]:
        """Losses log w and logarithms of their Q-masses, near enough: for proposals."""
        import numpy as np

        q, second, first, constant, low = self.mixture.floats
        base = self.mixture.base
        atoms = [(float(loss.mid()), float(mass.mid())) for loss, mass in self.atoms]
        if base.high.is_finite():
            high = float(base.high.mid())
        else:
            deviation = (-2 * second) ** -0.5 if second else inf
            high = max(low, 0.0) + 40 * deviation + 2_000 * min(deviation**2, 0.01)
        large = max(abs(low), abs(high), *(abs(loss) for loss, _ in atoms), 0.0) > LARGEST
        if large or not all(m for _, m in atoms) or not q > 0:
            raise NotCertified("the losses of a sample are beyond what floats can propose")
        nodes, weights = np.polynomial.legendre.leggauss(16)
        edges = np.linspace(low, high, SAMPLES // 16 + 1)
        half = (edges[1:] - edges[:-1])[:, None] / 2
        base_loss = (edges[:-1, None] + half * (nodes + 1)).ravel()
        mass = np.log((half * weights).ravel()) + (second * base_loss + first) * base_loss + constant
        losses, sizes = [loss for loss, _ in atoms], [log(mass) for _, mass in atoms]
        near = np.log1p(q * np.expm1(np.minimum(base_loss, 30.0)))
        log_weight = np.where(base_loss < 30, near, base_loss + log(q))
        return np.concatenate([log_weight, losses]), np.concatenate([mass, sizes])

    def tilted(self, c: arb) -> Tilted:
        """See `Factor`; up to the height that a contour in doubles may reach, or `TooManyNodes`."""
        highest = HIGHEST * (1 + float(c.mid()))
        rule = self.rule(c, highest, DOUBLE, most=MOST_TERMS)
        terms, whole = self.terms(c, rule), self.real(c, ENOUGH)
        weights, rates = [mass / whole for _, mass in terms], [loss for loss, _ in terms]
        return Tilted((), arb(0), arb(0), exponentials=Exponentials(weights, rates, rule.error / whole, highest))

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """See `Factor`."""
        decay = DensityDecay(self, c, taylor.moment, count)
        return MonotoneShare(count, decay, most=-log(decay.atoms) if decay.atoms > 0 else inf)


def _slip(rule: Rule) -> acb:
    error = arb(0, rule.error)
    return acb(error, error)


def _working() -> float:
    """The working precision in e-folds."""
    return ctx.prec * log(2)
