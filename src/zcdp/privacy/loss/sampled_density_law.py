"""How fast the transform of a sampled density decays: from values along the line, and from its variation far away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Any, Protocol

from flint import acb, arb, ctx

from zcdp.numeric.balls import NotCertified, above, lift
from zcdp.numeric.doubles import product, wave_table
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.decay import UP, MonotoneShare, Share, minus_log
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.panels import BaseLoss, Mixture, Rule, progression
from zcdp.privacy.loss.transform import MOST_TERMS, Exponentials, Factor, Points, Taylor, Tilted

__all__ = ["DensityDecay", "Facing", "SampledDensityLaw"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]


BEGIN = 1.0  # e-folds of the whole composition from which bounds are sought
FALL = 4.0  # e-folds below the drop of |M| to which its values are known
FAR = 1.6  # the density's part has fallen to 1/FAR of itself where values end
LEVEL = 4.0  # heights that share one quadrature
RARE = 0.1  # of the drop: losses so rare are not followed
MOST_CELLS = 20_000
MOST_WORK = 3e5  # waves in one table: each next level takes up to sixteen times as many
LARGEST_LEVEL = 5_000_000  # waves
BALLS = 100  # waves that take as long as one point in balls
TOGETHER = 64  # angles
ROUNDING = 1e-12  # more than all errors of doubles
UNIT, LARGEST_INDEX = 4, 2.0**24  # multiples of the least spacing in half of the first cell, and at most


class Tilting(Protocol):
    """What is asked of a sampled density, on the line Re z = c."""

    mixture: Mixture

    def exponents(self, c: arb) -> list[arb]:
        """Of w, at z = c."""

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
        """A quadrature up to a height, to about e^-fall of M(c)."""

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        """Losses with their tilted masses."""

    def atomic_mass(self, c: arb) -> arb:
        """The tilted mass of all atoms."""

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough."""


class DensityDecay:
    """Lower bounds on log(M(c)/|M(c + iy)|) for all y >= Y, as a function of Y.

    Up to a height |M| is known at points, but for rare losses, and between them it changes by at most E|L - mean| times
    the distance; from there on the density's part is at most its variation over y.
    Theorem: docs/theorems/sampled-density.md.
    """

    def __init__(self, factor: Tilting, c: arb, whole: arb, count: int) -> None:
        self.factor, self.c, self.whole, self.count = factor, c, whole, count
        self.atoms = above(factor.atomic_mass(c) / whole)
        """Not below their part of the tilted mass: |M(c + iy)|/M(c) comes back to it however large y is."""

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Heights, and a bound for all y from each of them on."""
        import numpy as np

        factor, c = self.factor, self.c
        level, mean, variance = factor.estimate(float(c.mid()))
        moving = 1 - min(self.atoms, 1.0)
        if moving < 1e-9 or not variance > 0:  # Floats lose a variance among losses that hardly differ.
            return np.array([0.0]), np.array([0.0])
        self.mean, self.variance, self.moving = mean, variance, moving
        error = level - FALL + log(moving) - 3
        exponents = factor.exponents(c)
        variation = above(sum((factor.mixture.variation(e, error) for e in exponents), arb(0)) / self.whole)
        height = sqrt(2 * BEGIN / (self.count * variance))
        last = max(FAR * variation / moving, 2 * height)
        starts, bounds = [np.array([0.0])], [np.array([0.0])]
        work = 0.0
        while height < last and work < MOST_WORK:  # What is not followed has the bound of what is far away.
            try:
                edges, found, waves = self._level(height, min(LEVEL * height, last))
            except NotCertified:
                break
            work += waves
            starts.append(edges[:-1])
            bounds.append(minus_log(np, found))
            height = float(edges[-1])
        starts.append(np.array([height]))
        bounds.append(minus_log(np, np.array([min((self.atoms + variation / height) * UP, 1.0)])))
        least = np.minimum.accumulate(np.concatenate(bounds)[:0:-1])[::-1]
        return np.concatenate(starts) * UP, np.concatenate([[0.0], least])

    def _drop(self, height: float) -> float:
        """About 1 - |M(c + iy)|/M(c)."""
        return min(self.variance * height * height / 2, self.moving / 2)

    def _level(self, low: float, high: float) -> tuple[Floats, Floats, int]:
        """Edges of cells, a bound on |M(c + iy)|/M(c) in each, and what that took, in waves."""
        import numpy as np

        drop = self._drop(low)
        rule = self.factor.rule(self.c, high, FALL - log(drop), real=True)
        shift = arb(self.mean)
        terms = [(loss.real - shift, mass.real / self.whole) for loss, mass in self.factor.terms(self.c, rule)]
        sizes = np.array([float(mass.mid()) for _, mass in terms])
        order = np.argsort([-abs(float(loss.mid())) for loss, _ in terms])
        rare = int(np.searchsorted(np.cumsum(sizes[order]), drop * RARE))
        slip = rule.error / self.whole + sum((terms[n][1] for n in order[:rare]), arb(0))
        terms = [terms[n] for n in order[rare:]]
        steepest = above(sum((abs(loss) * mass for loss, mass in terms), arb(0)))
        edges = [low]
        while edges[-1] < high and len(edges) < MOST_CELLS:
            edges.append(edges[-1] + self._drop(edges[-1]) / (2 * steepest))
        if len(terms) * len(edges) > LARGEST_LEVEL:
            raise NotCertified(f"a level takes more than {LARGEST_LEVEL} waves")
        unit = max((edges[1] - edges[0]) / (2 * UNIT), edges[-1] / LARGEST_INDEX)
        ends = np.array(edges)
        indices = np.round((ends[1:] + ends[:-1]) / (2 * unit)).astype(np.int64)
        places = indices * unit
        half = np.maximum(np.abs(ends[1:] - places), np.abs(ends[:-1] - places)) * UP
        values = _sums([loss * arb(unit) for loss, _ in terms], sizes[order[rare:]], indices)
        rest = above(slip) + ROUNDING + float(indices[-1]) * 2.0**-61
        found = np.minimum((np.abs(values) + steepest * half + rest) * UP, 1.0)
        return ends, found, len(terms) * len(indices) + len(sizes) * BALLS

    def __call__(self, heights: Floats) -> Floats:
        """For an array of Y."""
        import numpy as np

        known, bounds = self._table
        answer: Floats = bounds[np.searchsorted(known, heights, side="right") - 1]
        return answer


def _sums(angles: Sequence[arb], masses: Floats, indices: NDArray[np.int64]) -> Complexes:
    """The sums over j of mass_j e^{ik angle_j}, for many k; they err by at most ROUNDING + k 2^-61."""
    import numpy as np

    total: Complexes = np.zeros(len(indices), dtype=complex)
    for n in range(0, len(angles), TOGETHER):
        total += product(wave_table(angles[n : n + TOGETHER], indices).T, masses[n : n + TOGETHER])
    return total


# The loss of noise with a density on a sample of the records: in one order, the other, or facing either way.

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
