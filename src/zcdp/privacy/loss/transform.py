"""A tilted law as finitely many terms: what the contour in doubles multiplies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from flint import acb, arb, arb_series

from zcdp.numeric.balls import Undecided, above, below
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss.decay import MonotoneShare, Share

if TYPE_CHECKING:
    from zcdp.privacy.loss.law import Parts

__all__ = ["MOST_TERMS", "Exponentials", "Factor", "Points", "Polynomial", "Taylor", "Tilt", "Tilted", "Transform"]


MOST_TERMS = 1000  # exponentials that a contour in doubles may sum up at each node


@dataclass(frozen=True)
class Polynomial:
    """The terms e^{-iy offset} sum over k of (q_k0 + q_k1 x/w) e^{-iky gap}, x = c + 1/2, w = x + iy."""

    rows: Sequence[Sequence[arb]]
    """The q_kj, at most two for each k."""
    gap: arb
    offset: arb


@dataclass(frozen=True)
class Exponentials:
    """For 0 <= y <= highest, within `error` of the sum of g_j e^{iy l_j}, with Im l_j >= 0."""

    weights: Sequence[acb]
    """The g_j."""
    rates: Sequence[acb]
    """The l_j."""
    error: arb
    highest: float = inf


@dataclass(frozen=True)
class Tilted:
    """M(c + iy)/M(c) is e^{iy top} times the sum of the polynomials, or the exponentials; or that of a Gaussian law.

    Theorem: docs/theorems/doubles.md.
    """

    polynomials: Sequence[Polynomial]
    top: arb
    unlisted: arb
    """Not below the tilted mass of terms that are not listed."""
    curvature: arb = arb(0)  # noqa: RUF009 - balls are immutable
    """mu^2 of a Gaussian law, which is left to the sum over all nodes."""
    exponentials: Exponentials | None = None


# The transform M(z) of the privacy loss: of one use of a law, and of a composition, with the ends of its profile.

NODE, SERIES = 12, 30  # elementary functions that a plain law takes at one point, and with derivatives
SAMPLE = 100  # Of many more parts than this proposals look at so many.
NEAR_ONE = 12  # The least order that is tried is 0.7 * 2^-12.
NEXT, NEARLY = arb(2) ** -55, arb(2) ** -60  # parts of the largest loss that no float, or hardly any, tells apart


class Points(NamedTuple):
    """The points z = c + ikh of a vertical line, for some k; with w = z + 1/2 and u = 1/w."""

    c: arb
    step: arb
    kept: Sequence[int]
    """The k, in increasing order, from 0 on."""
    z: Sequence[acb]
    w: Sequence[acb]
    u: Sequence[acb]
    needed: float = inf
    """e-folds below M(c) at which an error of M does no harm; a law may know it better."""


class Taylor(NamedTuple):
    """On the real line: M(c), and K = log M with its first two derivatives."""

    moment: arb
    value: arb
    slope: arb
    variance: arb


class Factor(ABC):
    """One use of a law: its transform, constants ready at the working precision."""

    weight: float = 1.0
    """What one transform costs, in transforms of a plain law."""

    atomic: bool = False
    """Whether all of the loss is atoms: then M does not decay, and the plain contour has nothing to gain."""

    revealed: arb = arb(0)
    """P(L = +inf): of outcomes that only P can produce. `LossLaw.check` sees whether M(0) leaves room for them."""

    quick: bool = False
    """Whether `estimate` is much cheaper than `moment`: proposals are then made by it."""

    uses: int = 1
    """How many uses the whole composition has, of all laws: how far each of them must decay, for proposals."""

    @abstractmethod
    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite] on real balls, complex balls, and real series z_0 + z_1 t."""

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """The same, for one who can use w = z + 1/2 and u = 1/w."""
        return self.moment(z)

    def mass(self) -> arb:
        """P(L finite) = M(0)."""
        return self.real_moment(arb(0))

    def real_moment(self, s: arb) -> arb:
        """M(s) on the real line, to as many digits as a check or a first look needs."""
        w = s + arb(1) / 2
        value: arb = self.once(s, w, 1 / w)
        return value

    def moments(self, points: Points) -> Sequence[acb]:
        """M at all points of a line at once."""
        return [self.once(z, w, u) for z, w, u in zip(points.z, points.w, points.u, strict=True)]

    def along(self, z: Any, w: Any, u: Any) -> Taylor:
        """M(c), K(c), K'(c), K''(c) from the series z = c + t; of the last two only what `share` uses must be right."""
        try:
            moment = self.once(z, w, u)
        except ValueError as error:  # flint cannot tell a power of e^{-loss w} from 0.
            raise Undecided from error
        taylor = moment.log()
        return Taylor(moment[0], taylor[0], taylor[1], 2 * taylor[2])

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough: for proposals."""
        x, step = arb(c), arb(c) * arb(2) ** -24
        left, here, right = (self.moment(point).log() for point in (x - step, x, x + step))
        slope, bend = (right - left) / (2 * step), (right + left - 2 * here) / (step * step)
        return float(here.mid()), float(slope.mid()), float(bend.mid())

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[tuple[float, float, float]]:
        """The same of several of one kind, for one who can make them together."""
        return [factor.estimate(c) for factor in factors]

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:  # noqa: ARG002
        """Bounds on the decay along Re z = c; unless a law knows better, none."""
        return MonotoneShare(count, _nothing)

    def split(self, w: acb) -> tuple[acb, acb]:
        """A and B with M = A + B/w, exponents of both on the lattice: needed of a law on one that is not atomic."""
        raise NotImplementedError(f"{type(self).__name__} has a lattice, and densities: it must be split")

    def tilted(self, c: arb) -> Tilted | None:
        """The tilted law as finitely many terms, for the contour in doubles; None where it is none."""
        del c
        return None

    def near_top(self, s: arb) -> tuple[arb, arb]:
        """Lower bounds on P(L = largest) and, for laws without that atom, on P(L >= largest - s)."""
        del s
        return arb(0), arb(0)


def _nothing(heights: Any) -> Any:
    return 0 * heights


class Tilt(NamedTuple):
    """A composition on the line Re z = c: K(c), K'(c), K''(c), and what each law knows of its decay.

    Theorem: docs/theorems/decay.md.
    """

    value: arb
    slope: arb
    variance: arb
    shares: list[Share]


class Transform:
    """M(z) = product of M_i(z)^{n_i}, at the working precision. Theorem, of the ends: docs/theorems/ends.md."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.factors = [(law.factor(), count) for law, count in parts]
        self.largest = sum([law.largest() * count for law, count in parts], arb(0))
        """The largest finite loss of the composition; +inf where it is unbounded."""
        self.weight = sum([factor.weight for factor, _ in self.factors])
        """What one transform costs, in transforms of a plain law."""
        self.quick = any(factor.quick for factor, _ in self.factors)
        """Whether some law's estimates are much cheaper than its balls."""
        uses = sum([count for _, count in parts])
        for factor, _ in self.factors:
            factor.uses = uses
        self._log_count = log(uses)
        self._stride = len(parts) // SAMPLE | 1 if len(parts) > 2 * SAMPLE else 1

    def moment(self, z: acb) -> acb:
        """M(z)."""
        return self.moments(z.real, z.imag, [1])[0]

    def moments(self, c: arb, step: arb, kept: Sequence[int], needed: float = inf) -> list[acb]:
        """M at the points c + ik step, for the k that are kept; see `Points` for `needed`."""
        count_functions(NODE * self.weight * len(kept))
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

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough, of very many parts only from a sample of them: for proposals."""
        some = self.factors[:: self._stride]
        scale = len(self.factors) / len(some)
        value = slope = bend = 0.0
        kinds: dict[type[Factor], list[tuple[Factor, int]]] = {}
        for factor, count in some:
            kinds.setdefault(type(factor), []).append((factor, count))
        for kind, alike in kinds.items():
            found = kind.estimates([factor for factor, _ in alike], c)
            for one, (_, count) in zip(found, alike, strict=True):
                value, slope, bend = value + count * one[0], slope + count * one[1], bend + count * one[2]
        return value * scale, slope * scale, bend * scale

    def log_moment(self, c: arb, *, sample: bool = False) -> arb:
        """K(c) = log M(c) on the real line; `sample`: of very many parts only from some of them, for proposals."""
        w = c + arb(1) / 2
        u, stride = 1 / w, self._stride if sample else 1
        some = self.factors[::stride] if stride > 1 else self.factors
        count_functions(NODE * len(some))
        whole = sum((factor.once(c, w, u).log() * count for factor, count in some), arb(0))
        return whole * len(self.factors) / len(some) if stride > 1 else whole

    @property
    def revealed(self) -> arb:
        """P(L = +inf) of the composition: that some part gives the input away."""
        masses = [(factor.revealed, count) for factor, count in self.factors if not factor.revealed.is_zero()]
        if not masses:
            return arb(0)
        if not all(mass < 1 for mass, _ in masses):  # Balls that reach 1 have no logarithm of what is left.
            hidden = arb(1)
            for mass, count in masses:
                hidden *= (1 - mass.min(arb(1))) ** count
            return 1 - hidden
        return -sum(((-mass).log1p() * count for mass, count in masses), arb(0)).expm1()

    def tilt(self, c: arb) -> Tilt:
        """What all factors know of the line Re z = c."""
        count_functions(SERIES * len(self.factors))
        value = slope = variance = arb(0)
        shares = []
        z = arb_series([c, 1], prec=3)
        w = z + arb(1) / 2
        u = 1 / w
        for factor, count in self.factors:
            taylor = factor.along(z, w, u)
            value += taylor.value * count
            slope += taylor.slope * count
            variance += taylor.variance * count
            shares.append(factor.share(count, c, taylor))
        return Tilt(value, slope, variance, shares)

    def tilted(self, c: arb) -> list[tuple[Tilted, int]] | None:
        """The tilted laws as finitely many terms, with how often; None where one of them is none."""
        found = [(factor.tilted(c), count) for factor, count in self.factors]
        known = [(tilted, count) for tilted, count in found if tilted is not None]
        return known if len(known) == len(found) else None

    def near_one(self, epsilon: arb) -> arb | None:
        """A lower bound on delta(epsilon) where it is 1 to the last bit: 1 - M(-s) e^{s epsilon}, 0 < s <= 1."""
        part = arb("0.7")
        for n in range(NEAR_ONE, 0, -1):
            s = arb(2) ** (-n) * part
            bound = self.log_moment(-s) + s * epsilon
            if bound < -40:
                return 1 - bound.exp()
            if not bound < 0:  # The bound is convex in s, and 0 at 0.
                return None
        return None

    def at_top(self, target: arb) -> tuple[float, float] | None:
        """Floats next to the largest loss, where delta is above the target up to there."""
        top = self.largest
        gap = top * NEXT
        if not (top.is_finite() and target < gap):
            return None
        atoms = [factor.near_top(gap)[0] for factor, _ in self.factors]
        densities = sum(count for (_, count), atom in zip(self.factors, atoms, strict=True) if not atom > 0)
        share, weight = gap / (2 * max(densities, 1)), 1 - (-gap / 2).exp()
        for (factor, count), atom in zip(self.factors, atoms, strict=True):
            weight *= (atom if atom > 0 else factor.near_top(share)[1]) ** count
        return (below(top - gap), above(top)) if weight >= target else None

    def loss_that_occurs(self) -> arb:
        """A number that the loss exceeds, or nearly: 2^-60 of it is given away where there is no atom at the top."""
        total = arb(0)
        for (law, count), (factor, _) in zip(self.parts, self.factors, strict=True):
            top = law.largest()
            if not (top.is_finite() and top > 0):
                continue  # Its largest loss, whatever it is, is not negative.
            gap = top * NEARLY
            atom, near = factor.near_top(gap)
            total += (top if atom > 0 else top - gap if near > 0 else arb(0)) * count
        return total
