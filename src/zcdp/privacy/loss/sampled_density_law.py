"""The privacy loss of noise with a density, such as Laplace noise, on a random sample of the records.

Sampling at rate q turns the pair (P, Q) into (A, Q), A = (1-q) Q + q P. The transform of its loss is computed by the
Gauss-Legendre quadrature of sampled_quadrature.py. The first part of this file bounds how fast the transform decays
along a vertical line, the second part is the law: in either direction, or the envelope of both for replace-one
neighbours.
Theorem: docs/theorems/sampled-density.md.
"""

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
from zcdp.privacy.loss.sampled_quadrature import BaseLoss, Mixture, Rule, progression
from zcdp.privacy.loss.transform import MOST_TERMS, Estimate, Exponentials, Factor, Points, Taylor, Tilted

__all__ = ["DensityDecay", "Facing", "SampledDensityLaw"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]


# How fast the transform decays: from values of |M| up to some height, and from the variation of the density beyond it.

FIRST_DECAY = 1.0  # -log of the decay of the whole composition at the height from which bounds are sought
EXTRA_FALL = 4.0  # Values of |M| have an error of e^-EXTRA_FALL times 1 - |M|/M(c).
LAST_DENSITY_RATIO = 1.6  # Values end at the height where the density's part is bounded by 1/1.6 of its mass.
LEVEL_RATIO = 4.0  # ratio of the last and the first height of a level, that is of the heights that share a quadrature
RARE_PART = 0.1  # Losses whose mass is at most this part of 1 - |M|/M(c) are left out, and their mass is charged.
MOST_CELLS = 20_000  # of one level
MOST_WAVES_OF_TABLE = 3e5  # terms of all sums: each further level takes up to sixteen times as many
MOST_WAVES_OF_LEVEL = 5_000_000
WAVES_OF_BALL_POINT = 100  # terms in doubles that cost as much as one quadrature point in balls
ANGLES_TOGETHER = 64  # angles of which one table of waves is made
ROUNDING = 1e-12  # an upper bound on all rounding errors of a sum in doubles
# Heights y = Im z are rounded to multiples of a unit: a quarter of half of the first cell, or more where the number
# of units would exceed LARGEST_INDEX.
UNITS_OF_HALF_CELL, LARGEST_INDEX = 4, 2.0**24


class Tilting(Protocol):
    """The members of `SampledDensityFactor` that `DensityDecay` uses, at a real c."""

    mixture: Mixture

    def exponents(self, c: arb) -> list[arb]:
        """The exponents of w in the transform at z = c."""

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
        """A quadrature for heights 0 <= y <= height, with an error of about e^-fall M(c)."""

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        """Losses with their masses times e^{c loss}."""

    def atomic_mass(self, c: arb) -> arb:
        """The part of M(c) that is due to atoms."""

    def estimate(self, c: float) -> tuple[float, float, float]:
        """Heuristic values of K(c), K'(c), K''(c)."""


class DensityDecay:
    """Certified lower bounds on log(M(c)/|M(c + iy)|) for all y >= Y, as a function of Y.

    Up to some height |M| is computed at points, rare losses left out and charged; between two points it changes by at
    most E|L - mean| times their distance. Beyond that height the density's part of M is at most its variation over y.
    Theorem: docs/theorems/sampled-density.md.
    """

    def __init__(self, factor: Tilting, c: arb, whole: arb, count: int) -> None:
        """`whole` is M(c); `count` uses are composed, which decides from which height on bounds are of interest."""
        self.factor, self.c, self.whole, self.count = factor, c, whole, count
        self.atoms = above(factor.atomic_mass(c) / whole)
        """An upper bound on the tilted mass of the atoms: |M(c + iy)|/M(c) may return to it at any height."""

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Heights, and for each of them a bound that is valid for all y from it on."""
        import numpy as np

        factor, c = self.factor, self.c
        level, mean, variance = factor.estimate(float(c.mid()))
        moving = 1 - min(self.atoms, 1.0)
        if moving < 1e-9 or not variance > 0:  # Floats may lose the variance of losses that hardly differ.
            return np.array([0.0]), np.array([0.0])
        self.mean, self.variance, self.moving = mean, variance, moving
        error = level - EXTRA_FALL + log(moving) - 3
        exponents = factor.exponents(c)
        variation = above(sum((factor.mixture.variation(e, error) for e in exponents), arb(0)) / self.whole)
        height = sqrt(2 * FIRST_DECAY / (self.count * variance))
        last = max(LAST_DENSITY_RATIO * variation / moving, 2 * height)
        starts, bounds = [np.array([0.0])], [np.array([0.0])]
        work = 0.0
        while height < last and work < MOST_WAVES_OF_TABLE:  # Heights that are not reached get the bound by variation.
            try:
                edges, found, waves = self._level(height, min(LEVEL_RATIO * height, last))
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
        """A heuristic value of 1 - |M(c + iy)|/M(c) at y = height."""
        return min(self.variance * height * height / 2, self.moving / 2)

    def _level(self, low: float, high: float) -> tuple[Floats, Floats, int]:
        """The edges of cells, a certified upper bound on |M(c + iy)|/M(c) in each, and the cost in waves."""
        import numpy as np

        drop = self._drop(low)
        rule = self.factor.rule(self.c, high, EXTRA_FALL - log(drop), real=True)
        shift = arb(self.mean)
        terms = [(loss.real - shift, mass.real / self.whole) for loss, mass in self.factor.terms(self.c, rule)]
        sizes = np.array([float(mass.mid()) for _, mass in terms])
        farthest = np.argsort([-abs(float(loss.mid())) for loss, _ in terms])
        rare = int(np.searchsorted(np.cumsum(sizes[farthest]), drop * RARE_PART))
        slip = rule.error / self.whole + sum((terms[n][1] for n in farthest[:rare]), arb(0))
        terms = [terms[n] for n in farthest[rare:]]
        steepest = above(sum((abs(loss) * mass for loss, mass in terms), arb(0)))
        edges = [low]
        while edges[-1] < high and len(edges) < MOST_CELLS:
            edges.append(edges[-1] + self._drop(edges[-1]) / (2 * steepest))
        if len(terms) * len(edges) > MOST_WAVES_OF_LEVEL:
            raise NotCertified(f"a level takes more than {MOST_WAVES_OF_LEVEL} waves")
        unit = max((edges[1] - edges[0]) / (2 * UNITS_OF_HALF_CELL), edges[-1] / LARGEST_INDEX)
        ends = np.array(edges)
        indices = np.round((ends[1:] + ends[:-1]) / (2 * unit)).astype(np.int64)
        places = indices * unit
        half = np.maximum(np.abs(ends[1:] - places), np.abs(ends[:-1] - places)) * UP
        values = _sums([loss * arb(unit) for loss, _ in terms], sizes[farthest[rare:]], indices)
        rest = above(slip) + ROUNDING + float(indices[-1]) * 2.0**-61
        found = np.minimum((np.abs(values) + steepest * half + rest) * UP, 1.0)
        return ends, found, len(terms) * len(indices) + len(sizes) * WAVES_OF_BALL_POINT

    def __call__(self, heights: Floats) -> Floats:
        """The bounds for an array of heights Y."""
        import numpy as np

        known, bounds = self._table
        answer: Floats = bounds[np.searchsorted(known, heights, side="right") - 1]
        return answer


def _sums(angles: Sequence[arb], masses: Floats, indices: NDArray[np.int64]) -> Complexes:
    """The sums over j of mass_j e^{ik angle_j} for all k in `indices`, with errors of at most ROUNDING + k 2^-61."""
    import numpy as np

    total: Complexes = np.zeros(len(indices), dtype=complex)
    for n in range(0, len(angles), ANGLES_TOGETHER):
        total += product(wave_table(angles[n : n + ANGLES_TOGETHER], indices).T, masses[n : n + ANGLES_TOGETHER])
    return total


# The law of the sampled loss, in either direction or as the envelope of both.

REAL_FALL = 44.0  # Values of M on the real line have a relative error of about e^-44.
SAMPLES = 2_001  # losses of the heuristic estimates
# The contour integral in doubles gets M up to the height HIGHEST_TILTED (1 + c), with an error of e^-TILTED_FALL M(c).
HIGHEST_TILTED, TILTED_FALL = 5e5, 36.0
LARGEST_LOSS = 1e100  # whose square floats can hold
SHIFTED_FROM = 1.0  # The path of a quadrature is shifted if its height times the deviation of the loss exceeds this.


class Facing(Enum):
    """The direction of a sampled pair: which of the two data sets is P."""

    WITH = 1
    """P is the data set with the record."""
    WITHOUT = -1
    """P is the data set without the record."""
    EITHER = 0
    """At each epsilon the worse direction: a symmetric envelope, for replace-one neighbours."""


@dataclass(frozen=True, eq=False)
class SampledDensityLaw(LossLaw):
    """The law of (A, Q), A = (1-q) Q + q P, for a symmetric pair (P, Q); or of (Q, A); or of the envelope of both.

    Theorem: docs/theorems/sampled-density.md.
    """

    rate: Fraction
    """q < 1."""
    base: Callable[[], BaseLoss]
    """A function that returns the distribution under Q of the loss of (P, Q), at the working precision."""
    once: Callable[[arb], arb]
    """delta(epsilon) of one use of (P, Q), for epsilon from 0 to its largest loss, at the working precision."""
    facing: Facing

    @property
    def symmetric(self) -> bool:
        """Whether the law is the envelope of both directions."""
        return self.facing is Facing.EITHER

    def ready(self) -> SampledDensityFactor:
        """The transform of one use, with constants at the working precision."""
        base = self.base()
        if self.facing is Facing.EITHER:
            base = replace(base, low=arb(0), atoms=[(place, mass) for place, mass in base.atoms if place > 0])
        return SampledDensityFactor(Mixture(lift(self.rate), base), self.facing)

    def largest(self) -> arb:
        """The supremum of the finite losses, at the working precision."""
        base, q = self.base(), lift(self.rate)
        if self.facing is Facing.WITHOUT:
            return -(1 - q + q * base.low.exp()).log()
        return (1 - q + q * base.high.exp()).log() if base.high.is_finite() else arb.pos_inf()

    def reverse(self) -> LossLaw:
        """The law of the reversed pair; an envelope is its own reverse."""
        if self.symmetric:
            return self
        return replace(self, facing=Facing(-self.facing.value))

    def _looks_symmetric(self) -> bool:
        """True: the formula of the envelope is symmetric."""
        return True

    def alone(self) -> Callable[[arb], arb]:
        """delta(epsilon) of one use, from that of (P, Q); for epsilon >= 0 the envelope is the direction `WITH`."""
        q, top = lift(self.rate), self.base().high

        def delta(epsilon: arb) -> arb:
            more = epsilon.expm1()
            front = q - (1 - q) * more if self.facing is Facing.WITHOUT else q
            return front * self.once((more / front).log1p().min(top))

        return delta


class SampledDensityFactor(Factor):
    """The transform of the sampled loss log w, w = 1 - q + q e^l.

    It is the Q-mean of w^{1+z} in the direction `WITH`, and that of w^{-z} in the direction `WITHOUT`. For the envelope
    it is the sum of both over the losses above 0, plus the remaining mass, which is an atom at 0.
    """

    weight = 4.0
    quick = True

    def __init__(self, mixture: Mixture, facing: Facing) -> None:
        self.mixture, self.facing = mixture, facing
        self.atoms = [(mixture.weight(place).log(), mass) for place, mass in mixture.base.atoms]

    def exponents(self, c: arb) -> list[arb]:
        """The exponents of w in the transform at z = c."""
        both = {Facing.WITH: (1 + c,), Facing.WITHOUT: (-c,), Facing.EITHER: (1 + c, -c)}
        return list(both[self.facing])

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False, most: float = inf) -> Rule:
        """A quadrature for heights 0 <= y <= height, with an error of about e^-fall M(c).

        With `real` all points are on the real axis. Raises `TooManyNodes` if it needs more than `most` points.
        """
        size, _, variance = self.estimate(float(c.mid()))
        shifted = not real and height * variance**0.5 > SHIFTED_FROM
        return self.mixture.rule(self.exponents(c), height, size - fall, shifted=shifted, most=most)

    @cached_property
    def _middle(self) -> arb:
        """The mass of the envelope's atom at the loss 0: 1 - A(L > 0) - Q(L > 0); 0 for a single direction."""
        if self.facing is not Facing.EITHER:
            return arb(0)
        rule = self.mixture.rule([arb(1), arb(0)], 0.0, -_working())
        masses = [(x.exp() + 1) * mass for x, mass in zip(rule.logs, rule.masses, strict=True)]
        atoms = [(x.exp() + 1) * mass for x, mass in self.atoms]
        return (1 - sum(masses + atoms, acb(0))).real - arb(0, rule.error)

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        """Losses with their masses times e^{c loss}, atoms last.

        M(c + iy) is the sum of mass e^{iy loss} over them, up to the error of the rule. Without a rule only atoms.
        """
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
        """The part of M(c) that is due to atoms."""
        return sum((mass for _, mass in self.terms(c, None)), acb(0)).real

    def real(self, c: arb, fall: float) -> arb:
        """M(c) at a real c, with a relative error of about e^-fall."""
        rule = self.rule(c, 0.0, fall)
        return sum((mass for _, mass in self.terms(c, rule)), acb(0)).real + arb(0, rule.error)

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        if isinstance(z, arb):
            return self.real(z, _working())
        upper = bool(z.imag >= 0)
        y = z.imag if upper else -z.imag
        rule = self.rule(z.real, above(y), _working())
        value = sum((mass * (loss * acb(0, y)).exp() for loss, mass in self.terms(z.real, rule)), _slip(rule))
        return value if upper else value.conjugate()

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z); at a real z with a relative error of about e^-44."""
        return self.real(z, REAL_FALL) if isinstance(z, arb) else self.moment(z)

    def moments(self, points: Points) -> Sequence[acb]:
        """M at all points of a vertical line, each with its error."""
        last = points.kept[-1]
        rule = self.rule(points.c, above(points.step * last), min(points.needed, _working()))
        terms = self.terms(points.c, rule)
        slip = _slip(rule)
        masses, losses = [mass for _, mass in terms], [loss for loss, _ in terms]
        return [value + slip for value in progression(masses, losses, points.step, points.kept)]

    def along(self, z: Any, w: Any, u: Any, estimate: Estimate | None = None) -> Taylor:  # noqa: ARG002
        """M(c) and K(c), certified; K'(c) and K''(c) are heuristic."""
        c = z[0]
        moment = self.real(c, REAL_FALL)
        _, slope, bend = estimate or self.estimate(float(c.mid()))
        return Taylor(moment, moment.log(), arb(slope), arb(bend))

    def estimate(self, c: float) -> tuple[float, float, float]:
        """Heuristic values of K(c), K'(c) and K''(c), in floats."""
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
        """Losses log w and the logarithms of their Q-masses, in floats, for heuristic estimates."""
        import numpy as np

        q, second, first, constant, low = self.mixture.floats
        base = self.mixture.base
        atoms = [(float(loss.mid()), float(mass.mid())) for loss, mass in self.atoms]
        if base.high.is_finite():
            high = float(base.high.mid())
        else:
            deviation = (-2 * second) ** -0.5 if second else inf
            high = max(low, 0.0) + 40 * deviation + 2_000 * min(deviation**2, 0.01)
        large = max(abs(low), abs(high), *(abs(loss) for loss, _ in atoms), 0.0) > LARGEST_LOSS
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
        """M(c + iy)/M(c) as finitely many exponentials, for the contour integral in doubles; or `TooManyNodes`.

        They are valid up to the greatest height that such a contour needs.
        """
        highest = HIGHEST_TILTED * (1 + float(c.mid()))
        rule = self.rule(c, highest, TILTED_FALL, most=MOST_TERMS)
        terms, whole = self.terms(c, rule), self.real(c, REAL_FALL)
        weights, rates = [mass / whole for _, mass in terms], [loss for loss, _ in terms]
        return Tilted((), arb(0), arb(0), exponentials=Exponentials(weights, rates, rule.error / whole, highest))

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        decay = DensityDecay(self, c, taylor.moment, count)
        return MonotoneShare(count, decay, most=-log(decay.atoms) if decay.atoms > 0 else inf)


def _slip(rule: Rule) -> acb:
    """The error of a rule as a complex ball around 0."""
    error = arb(0, rule.error)
    return acb(error, error)


def _working() -> float:
    """The working precision as a natural logarithm: relative errors of about e^-_working() are rounding errors."""
    return ctx.prec * log(2)
