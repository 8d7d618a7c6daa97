"""The transform M(z) = E_P[e^{zL}; L finite] of the privacy loss: of one use of a law, and of a composition.

M is the moment generating function of the loss and, along a vertical line, its tilted characteristic function. `Factor`
is M of one use, `Transform` the product over a composition, `Tilted` a description of M(c + iy)/M(c) by finitely many
terms that the contour integral in doubles evaluates quickly. K = log M is the cumulant.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from flint import acb, arb, arb_series

from zcdp.numeric.balls import Undecided, above, below
from zcdp.numeric.work import NODE_FUNCTIONS, count_functions
from zcdp.privacy.loss.decay import MonotoneShare, Share

if TYPE_CHECKING:
    from zcdp.privacy.loss.law import Parts

__all__ = [
    "MOST_TERMS",
    "Estimate",
    "Exponentials",
    "Factor",
    "Points",
    "Polynomial",
    "Taylor",
    "Tilt",
    "Tilted",
    "Transform",
]


MOST_TERMS = 1000  # the most exponentials that the contour integral in doubles sums up at each node


@dataclass(frozen=True)
class Polynomial:
    """The sum e^{-iy offset} sum over k of (q_k0 + q_k1 x/w) e^{-iky gap}, x = c + 1/2, w = x + iy."""

    rows: Sequence[Sequence[arb]]
    """The coefficients q_kj, at most two for each k."""
    gap: arb
    offset: arb


@dataclass(frozen=True)
class Exponentials:
    """The sum of g_j e^{iy l_j}, Im l_j >= 0, which is within `error` of M(c + iy)/M(c) for 0 <= y <= highest."""

    weights: Sequence[acb]
    """The g_j."""
    rates: Sequence[acb]
    """The l_j."""
    error: arb
    highest: float = inf


@dataclass(frozen=True)
class Tilted:
    """M(c + iy)/M(c) as finitely many terms, in one of three forms.

    It is e^{iy top} times the sum of the polynomials; or, if they are given, the sum of the exponentials; or, if
    `curvature` is positive, the transform of a Gaussian law. Theorem: docs/theorems/doubles.md.
    """

    polynomials: Sequence[Polynomial]
    top: arb
    unlisted: arb
    """An upper bound on the tilted mass of the terms that are left out of the polynomials."""
    curvature: arb = arb(0)  # noqa: RUF009 - balls are immutable
    """mu^2 of a Gaussian law; its factor is multiplied in where all nodes are summed up."""
    exponentials: Exponentials | None = None


# The transform itself, of one use and of a composition; and bounds on delta close to 1 and close to the largest loss.

SERIES_FUNCTIONS = 30  # elementary functions in the transform of a plain law with two derivatives
SAMPLED_PARTS = 100  # Heuristic values of compositions with many more parts than this use about so many of them.
HALVINGS_OF_S = 12  # `near_one` tries s = 0.7 * 2^-n for n from this number down to 1.
# Losses that differ from the largest one by less than these relative amounts round to the same float, or nearly always.
TOP_GAP, SMALLER_TOP_GAP = arb(2) ** -55, arb(2) ** -60


class Points(NamedTuple):
    """Some points z = c + ikh of a vertical line, h the step, with w = z + 1/2 and u = 1/w."""

    c: arb
    step: arb
    kept: Sequence[int]
    """The integers k >= 0 of these points, increasing."""
    z: Sequence[acb]
    w: Sequence[acb]
    u: Sequence[acb]
    needed: float = inf
    """The relative accuracy that is needed, as -log(error/M(c)). A law may return more accurate values."""


class Taylor(NamedTuple):
    """M(c) at a real c, and K = log M at c with its first two derivatives."""

    moment: arb
    value: arb
    slope: arb
    variance: arb


Estimate: TypeAlias = tuple[float, float, float]
"""Heuristic K(c), K'(c), K''(c)."""


class Factor(ABC):
    """The transform M of one use of a law, with constants at the working precision."""

    weight: float = 1.0
    """What evaluating M once costs, in units of a simple law."""

    atomic: bool = False
    """Whether the loss has atoms only. M does not decay then, so that the plain contour integral is of no use."""

    revealed: arb = arb(0)
    """P(L = +inf), the mass of outcomes that only P can produce. `LossLaw.check` verifies that M(0) + revealed is 1."""

    quick: bool = False
    """Whether `estimate` is much cheaper than `moment`, so that heuristic searches should use it."""

    uses: int = 1
    """Heuristic: the number of uses in the whole composition, of all laws, which says how far each one must decay."""

    @abstractmethod
    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite] on real balls, complex balls, and real series z_0 + z_1 t."""

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z), for a caller that has w = z + 1/2 and u = 1/w at hand; override it if they save work."""
        return self.moment(z)

    def mass(self) -> arb:
        """P(L finite) = M(0)."""
        return self.real_moment(arb(0))

    def real_moment(self, s: arb) -> arb:
        """M(s) at a real s, with the accuracy that a check needs, which may be less than the working precision."""
        w = s + arb(1) / 2
        value: arb = self.once(s, w, 1 / w)
        return value

    def moments(self, points: Points) -> Sequence[acb]:
        """M at all given points of a vertical line."""
        return [self.once(z, w, u) for z, w, u in zip(points.z, points.w, points.u, strict=True)]

    def along(self, z: Any, w: Any, u: Any, estimate: Estimate | None = None) -> Taylor:  # noqa: ARG002
        """M(c), K(c), K'(c), K''(c) from the series z = c + t.

        M(c) and K(c) are certified; K' and K'' need to be only if the law's own `share` relies on them. Where
        `quick`, the caller hands in the `estimate` at c, which it has computed for many laws at once.
        """
        try:
            moment = self.once(z, w, u)
        except ValueError as error:  # flint cannot tell a power of e^{-loss w} from 0.
            raise Undecided from error
        taylor = moment.log()
        return Taylor(moment[0], taylor[0], taylor[1], 2 * taylor[2])

    def estimate(self, c: float) -> Estimate:
        """Heuristic values of K(c), K'(c), K''(c), here by difference quotients."""
        x, step = arb(c), arb(c) * arb(2) ** -24
        left, here, right = (self.moment(point).log() for point in (x - step, x, x + step))
        slope, bend = (right - left) / (2 * step), (right + left - 2 * here) / (step * step)
        return float(here.mid()), float(slope.mid()), float(bend.mid())

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[Estimate]:
        """`estimate` of several factors of this class; override it if they can be computed together."""
        return [factor.estimate(c) for factor in factors]

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:  # noqa: ARG002
        """Certified lower bounds on the decay of |M| along Re z = c; the default is the trivial bound 0."""
        return MonotoneShare(count, _no_decay)

    def split(self, w: acb) -> tuple[acb, acb]:
        """A and B with M = A + B/w, both with exponents on the law's lattice; needed if the law also has a density."""
        raise NotImplementedError(f"{type(self).__name__} has a lattice, and densities: it must be split")

    def tilted(self, c: arb) -> Tilted | None:
        """M(c + iy)/M(c) as finitely many terms, for the contour integral in doubles; None if there is no such form."""
        del c
        return None

    @classmethod
    def turned(cls, factors: Sequence[Self], c: float, step: float) -> Iterator[Any] | None:
        """Heuristic M(c + ik step)/M(c) of all factors in floats, k = 0, 1, 2, ...; None if there is no quick way."""
        del factors, c, step
        return None

    def near_top(self, s: arb) -> tuple[arb, arb]:
        """Certified lower bounds on P(L = largest) and, for laws without that atom, on P(L >= largest - s)."""
        del s
        return arb(0), arb(0)


def _no_decay(heights: Any) -> Any:
    return 0 * heights


def _estimates(factors: Sequence[Factor], c: float) -> list[Estimate]:
    """Heuristic values of K(c), K'(c), K''(c) of several factors; those of one class are computed together."""
    kinds: dict[type[Factor], list[int]] = {}
    for n, factor in enumerate(factors):
        kinds.setdefault(type(factor), []).append(n)
    found: dict[int, Estimate] = {}
    for kind, places in kinds.items():
        found |= zip(places, kind.estimates([factors[n] for n in places], c), strict=True)
    return [found[n] for n in range(len(factors))]


class Tilt(NamedTuple):
    """A composition at a real c: K(c), K'(c), K''(c), and each law's bounds on the decay along Re z = c.

    Theorem: docs/theorems/decay.md.
    """

    value: arb
    slope: arb
    variance: arb
    shares: list[Share]


class Transform:
    """M(z) = product of M_i(z)^{n_i} of a composition, at the working precision.

    Theorem for delta close to 1 and close to the largest loss: docs/theorems/ends.md.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.factors = [(law.factor(), count) for law, count in parts]
        self.largest = sum([law.largest() * count for law, count in parts], arb(0))
        """The largest finite loss of the composition; +inf where it is unbounded."""
        self.weight = sum([factor.weight for factor, _ in self.factors])
        """What evaluating M once costs, in units of a simple law."""
        self.quick = any(factor.quick for factor, _ in self.factors)
        """Whether the heuristic estimates of some law are much cheaper than its certified values."""
        uses = sum([count for _, count in parts])
        for factor, _ in self.factors:
            factor.uses = uses
        self._log_count = log(uses)
        self._stride = len(parts) // SAMPLED_PARTS | 1 if len(parts) > 2 * SAMPLED_PARTS else 1

    def moment(self, z: acb) -> acb:
        """M(z)."""
        return self.moments(z.real, z.imag, [1])[0]

    def moments(self, c: arb, step: arb, kept: Sequence[int], needed: float = inf) -> list[acb]:
        """M at the points c + ik step for the k in `kept`, each with an error of about e^-needed M(c) or less."""
        count_functions(NODE_FUNCTIONS * self.weight * len(kept))
        z = [acb(c, step * k) for k in kept]
        w = [point + arb(1) / 2 for point in z]
        points = Points(c, step, kept, z, w, [1 / point for point in w], needed + self._log_count)
        product = [acb(1)] * len(kept)
        for factor, count in self.factors:
            once = factor.moments(points)
            powers = once if count == 1 else [value**count for value in once]
            product = [whole * power for whole, power in zip(product, powers, strict=True)]
        if not all(value.is_finite() for value in product):
            raise Undecided
        return product

    def estimate(self, c: float) -> Estimate:
        """Heuristic values of K(c), K'(c), K''(c); if the parts are very many, extrapolated from some of them."""
        some = self.factors[:: self._stride]
        scale = len(self.factors) / len(some)
        value = slope = bend = 0.0
        for one, (_, count) in zip(_estimates([factor for factor, _ in some], c), some, strict=True):
            value, slope, bend = value + count * one[0], slope + count * one[1], bend + count * one[2]
        return value * scale, slope * scale, bend * scale

    def turned(self, c: float, step: float) -> tuple[float, Iterator[complex]] | None:
        """Heuristic log M(c), and M(c + ik step)/M(c) for k = 0, 1, ..., in floats; None if a law has no quick way."""
        import numpy as np

        factors, counts = [factor for factor, _ in self.factors], np.array([count for _, count in self.factors])
        kinds = {type(factor) for factor in factors}
        found = next(iter(kinds)).turned(factors, c, step) if len(kinds) == 1 else None
        if found is None:
            return None
        value = sum(int(n) * one[0] for one, n in zip(_estimates(factors, c), counts, strict=True))
        return value, (complex(np.prod(row ** counts.astype(float))) for row in found)

    def log_moment(self, c: arb, *, sample: bool = False) -> arb:
        """K(c) = log M(c) at a real c, certified; with `sample` heuristic: from some of the parts if they are many."""
        w = c + arb(1) / 2
        u, stride = 1 / w, self._stride if sample else 1
        some = self.factors[::stride] if stride > 1 else self.factors
        count_functions(NODE_FUNCTIONS * len(some))
        whole = sum((factor.once(c, w, u).log() * count for factor, count in some), arb(0))
        return whole * len(self.factors) / len(some) if stride > 1 else whole

    @property
    def revealed(self) -> arb:
        """P(L = +inf) of the composition: the probability that at least one use has an infinite loss."""
        masses = [(factor.revealed, count) for factor, count in self.factors if not factor.revealed.is_zero()]
        if not masses:
            return arb(0)
        if not all(mass < 1 for mass, _ in masses):  # log(1 - mass) does not exist for balls that reach 1.
            hidden = arb(1)
            for mass, count in masses:
                hidden *= (1 - mass.min(arb(1))) ** count
            return 1 - hidden
        return -sum(((-mass).log1p() * count for mass, count in masses), arb(0)).expm1()

    def tilt(self, c: arb) -> Tilt:
        """K with two derivatives at c, and the bounds of all factors on the decay along Re z = c."""
        count_functions(SERIES_FUNCTIONS * len(self.factors))
        value = slope = variance = arb(0)
        shares = []
        z = arb_series([c, 1], prec=3)
        w = z + arb(1) / 2
        u = 1 / w
        quick = [factor for factor, _ in self.factors if factor.quick]
        known = dict(zip(map(id, quick), _estimates(quick, float(c)), strict=True)) if len(quick) > 1 else {}
        for factor, count in self.factors:
            taylor = factor.along(z, w, u, known.get(id(factor)))
            value += taylor.value * count
            slope += taylor.slope * count
            variance += taylor.variance * count
            shares.append(factor.share(count, c, taylor))
        return Tilt(value, slope, variance, shares)

    def tilted(self, c: arb) -> list[tuple[Tilted, int]] | None:
        """M(c + iy)/M(c) of each law as finitely many terms, and its number of uses; None if a law has no such form."""
        found = [(factor.tilted(c), count) for factor, count in self.factors]
        known = [(tilted, count) for tilted, count in found if tilted is not None]
        return known if len(known) == len(found) else None

    def near_one(self, epsilon: arb) -> arb | None:
        """A lower bound on delta(epsilon), 1 - M(-s) e^{s epsilon} with 0 < s <= 1, if it exceeds 1 - e^-40; else None.

        It serves where delta is 1 to the last bit.
        """
        part = arb("0.7")
        for n in range(HALVINGS_OF_S, 0, -1):
            s = arb(2) ** (-n) * part
            bound = self.log_moment(-s) + s * epsilon
            if bound < -40:
                return 1 - bound.exp()
            if not bound < 0:  # The exponent is convex in s, and 0 at s = 0: it stays positive for larger s.
                return None
        return None

    def at_top(self, target: arb) -> tuple[float, float] | None:
        """Floats just below and above the largest loss, if delta at the lower one is at least `target`; else None.

        The epsilon at which delta is `target` lies between them.
        """
        top = self.largest
        gap = top * TOP_GAP
        if not (top.is_finite() and target < gap):
            return None
        atoms = [factor.near_top(gap)[0] for factor, _ in self.factors]
        densities = sum(count for (_, count), atom in zip(self.factors, atoms, strict=True) if not atom > 0)
        share, weight = gap / (2 * max(densities, 1)), 1 - (-gap / 2).exp()
        for (factor, count), atom in zip(self.factors, atoms, strict=True):
            weight *= (atom if atom > 0 else factor.near_top(share)[1]) ** count
        return (below(top - gap), above(top)) if weight >= target else None

    def loss_that_occurs(self) -> arb:
        """A number t such that delta(epsilon) > 0 for all epsilon < t: a lower bound on the largest loss that occurs.

        Where a law has no atom at its largest loss, it counts with (1 - 2^-60) times that loss.
        """
        total = arb(0)
        for (law, count), (factor, _) in zip(self.parts, self.factors, strict=True):
            top = law.largest()
            if not (top.is_finite() and top > 0):
                continue  # Its largest loss is unknown here, but it is not negative.
            gap = top * SMALLER_TOP_GAP
            atom, near = factor.near_top(gap)
            total += (top if atom > 0 else top - gap if near > 0 else arb(0)) * count
        return total
