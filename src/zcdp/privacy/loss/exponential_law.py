"""A density of the loss between two atoms at its ends, as Laplace noise has it: for sampling, and in cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from flint import acb, arb, ctx

from zcdp.numeric.balls import above, below, lift, root_below, trusted
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import exp
from zcdp.privacy.loss.decay import Share, WaveShare
from zcdp.privacy.loss.expansion import EqualRows
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import LossLaw, Outcomes
from zcdp.privacy.loss.panels import BaseLoss
from zcdp.privacy.loss.sampled_density_law import Facing, SampledDensityLaw
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted
from zcdp.privacy.relation import Relation

__all__ = [
    "EdgedDensity",
    "ExponentialSum",
    "ExponentialSumFactor",
    "MirroredSum",
    "Terms",
    "laplace_pair",
    "logistic_pair",
    "three_point_pair",
]


CELLS = 64  # in which the density is put, where only outcomes will do


@dataclass(frozen=True)
class EdgedDensity:
    """The density D e^{l/2} of the loss l under P, and D e^{-l/2} under Q, from -top to top; and atoms at both ends.

    An atom of mass C e^{l/2} under P has C e^{-l/2} under Q. All at the working precision.
    """

    top: arb
    upper: arb
    """C of the atom at the top."""
    lower: arb
    """C of the atom at -top."""
    density: arb
    """D."""

    def base(self) -> BaseLoss:
        """Under Q."""
        ends = [(self.top, self.upper * (-self.top / 2).exp()), (-self.top, self.lower * (self.top / 2).exp())]
        atoms = [(place, mass) for place, mass in ends if not mass.is_zero()]
        return BaseLoss(arb(0), arb(-1) / 2, self.density.log(), -self.top, self.top, atoms)

    def delta(self, epsilon: arb) -> arb:
        """delta(epsilon) of one use, 0 <= epsilon <= top: the means of 1 - e^{epsilon - l} over l > epsilon."""
        high, here = (self.top / 2).exp(), (epsilon / 2).exp()
        between = 2 * (high - here) - 2 * (here - here * here / high)
        return self.upper * (high - here * here / high) + self.density * between

    def cells(self, *, inward: bool) -> list[tuple[arb, arb]]:
        """P- and Q-masses of the atoms, and of cells of the density, each one outcome or the two at its ends.

        Masses p and q of a cell with ratios from g to h are moved to its ends: (p - gq)/(h - g) of the Q-mass to h.
        """
        roots = [(self.top / 2 * (CELLS - 2 * k) / CELLS).exp() for k in range(CELLS + 1)]  # e^{l/2}, from the top
        found = [(self.upper * roots[0], self.upper / roots[0])]
        for high, low in pairwise(roots):
            p, q = 2 * self.density * (high - low), 2 * self.density * (1 / low - 1 / high)
            if inward:
                found.append((p, q))
                continue
            g, h = low * low, high * high
            right = (p - g * q) / (h - g)
            found += [(h * right, right), (g * (q - right), q - right)]
        return [*found, (self.lower * roots[-1], self.lower / roots[-1])]


# Laws whose transform is a sum of exponentials at equal distances: atoms and simple densities.

Terms: TypeAlias = list[list[arb]]
ROWS = 8  # rows of a law that take as long as all the rest of one transform
ZERO, HALF, TWO = arb(0), arb(0.5), arb(2)


@dataclass(frozen=True, eq=False)
class ExponentialSum(LossLaw):
    """With w = z + 1/2: M(z) = sum over k of e^{a_k w} (c_k0 + c_k1/w), a_k = loss (1 - k ratio).

    c_k0 is an atom of the loss, of mass c_k0 e^{a_k/2}, and the rest its density. Theorem: docs/theorems/profile.md.
    """

    loss: Exact
    """The largest loss."""

    terms: Callable[[], Terms]
    """The c_kj at the working precision, a list over k of lists over j."""

    ratio: Fraction = Fraction(2)
    """Distance of neighbouring exponents a_k, as a part of the largest loss."""

    at: Callable[[Fraction], LossLaw] | None = None
    """The same family at another largest loss; a larger one must dominate (docs/theorems/calibration.md)."""

    def ready(self) -> ExponentialSumFactor:
        """See `LossLaw`."""
        return ExponentialSumFactor(self.loss, self.ratio, self.terms())

    def factor(self) -> Factor:
        """See `LossLaw`: kept for the last precision, whole at once and past the frozen fields."""
        last = self.__dict__.get("_kept")
        if last is None or last[0] != ctx.prec:
            last = self.__dict__["_kept"] = ctx.prec, self.ready()
        found: Factor = last[1]
        return found

    def largest(self) -> arb:
        """See `LossLaw`."""
        return lift(self.loss)

    def lattice(self) -> Lattice:
        """See `LossLaw`."""
        if isinstance(self.loss, Log):
            return Lattice(Fraction(1), self.ratio, self.loss)
        return Lattice(self.loss, self.loss * self.ratio)

    def expansion(self) -> EqualRows:
        """See `LossLaw`."""
        return EqualRows(self.loss, self.ratio, self.terms())

    def family(self) -> tuple[Exact, Callable[[Fraction], LossLaw]] | None:
        """See `LossLaw`."""
        return None if self.at is None else (self.loss, self.at)

    @property
    def few(self) -> bool:
        """See `LossLaw`."""
        return all(len(row) == 1 for row in self.terms())

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """See `LossLaw`; a density is put into cells."""
        rows = self.terms()
        if any(len(row) > 1 for row in rows):
            return Outcomes(self._edged().cells(inward=inward)) if len(rows) == 2 else None
        top, part = lift(self.loss), lift(self.ratio)
        halves = [(top * (1 - k * part) / 2).exp() for k in range(len(rows))]
        return Outcomes([(row[0] * half, row[0] / half) for row, half in zip(rows, halves, strict=True)])

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """See `LossLaw`; of a density between two atoms."""
        return self._mixed(rate, Facing.WITH, symmetric=False, relation=Relation.ADD_REMOVE)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """See `LossLaw`."""
        return self._mixed(rate, Facing.EITHER)

    def _mixed(self, rate: Fraction, facing: Facing, **options: Any) -> LossLaw | None:
        if self.few or len(self.terms()) != 2:
            return None
        return SampledDensityLaw(rate, self._base, self._delta, facing, **options)

    def _base(self) -> BaseLoss:
        return self._edged().base()

    def _delta(self, epsilon: arb) -> arb:
        return self._edged().delta(epsilon)

    def _edged(self) -> EdgedDensity:
        (upper, density), (lower, _) = self.terms()
        return EdgedDensity(lift(self.loss), upper, lower, density)

    def _looks_symmetric(self) -> bool:
        """M(-1-z) = M(z) says that e^{aw} and e^{-aw} have the same atoms, and densities of opposite signs."""
        rows = self.terms()
        if self.ratio * (len(rows) - 1) != 2:
            return False
        for row, mirrored in zip(rows, reversed(rows), strict=True):
            if len(row) != len(mirrored):
                return False
            for j, (one, other) in enumerate(zip(row, mirrored, strict=True)):
                if not (one - other if j % 2 == 0 else one + other).contains(0):
                    return False
        return True


class MirroredSum(ExponentialSum):
    """One whose formula writes both halves of its terms alike, so that it is symmetric without a look."""

    def _looks_symmetric(self) -> bool:
        return True


class ExponentialSumFactor(Factor):
    """The sum, with one exponential: for ratio = p/q all exponents are powers of e^{-loss w/q}."""

    def __init__(self, loss: Exact, ratio: Fraction, terms: Terms) -> None:
        self.loss, self.terms, self.ratio = lift(loss), terms, lift(ratio)
        self.rise, self.run = ratio.numerator, ratio.denominator
        self.unit = -self.loss / self.run
        self.atomic = all(len(row) == 1 for row in terms)
        self.weight = 1 + len(terms) / ROWS
        span = self.rise * (len(terms) - 1)
        self.extent = 2 * self.loss if span == 2 * self.run else self.loss * (arb(span) / self.run)
        """The distance of the least and the largest loss."""

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        w = z + arb(1) / 2
        return self.once(z, w, 1 / w)

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """See `Factor`."""
        base = (w * self.unit).exp()
        step: Any = base**self.rise
        total: Any = None
        for row in reversed(self.terms):
            inner: Any = row[-1]
            for coefficient in row[-2::-1]:
                inner = inner * u + coefficient
            total = inner if total is None else total * step + inner
        return total / base**self.run

    def mass(self) -> arb:
        """See `Factor`: w = 1/2 and u = 2."""
        value: arb = self.once(ZERO, HALF, TWO)
        return value

    def split(self, w: acb) -> tuple[acb, acb]:
        """See `Factor`."""
        base = (w * self.unit).exp()
        step: acb = base**self.rise
        atoms = density = acb(0)
        for row in reversed(self.terms):
            atoms = atoms * step + row[0]
            density = density * step + (row[1] if len(row) > 1 else 0)
        whole = 1 / base**self.run
        return atoms * whole, density * whole

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """See `Factor`."""
        return WaveShare(count, **self.bounds(self.growth(c, taylor), taylor))

    def growth(self, c: arb, taylor: Taylor) -> list[arb]:
        """e^{a_k x}/M(c), x = c + 1/2."""
        x = c + arb(1) / 2
        fall = (-self.loss * self.ratio * x).exp()
        growth = [(self.loss * x).exp() / taylor.moment]
        for _ in self.terms[1:]:
            growth.append(growth[-1] * fall)
        return growth

    def bounds(self, growth: list[arb], taylor: Taylor) -> dict[str, Any]:
        """What a `WaveShare` holds."""
        rows = self.terms
        assert max(map(len, rows)) <= 2
        atoms = [row[0] * g for row, g in zip(rows, growth, strict=True)]
        density = sum((abs(row[1]) * g for row, g in zip(rows, growth, strict=True) if len(row) > 1), arb(0))
        waves = []
        for distance in sorted({1, len(rows) - 1}):
            weight = below(2 * sum((atoms[k] * atoms[k + distance] for k in range(len(rows) - distance)), arb(0)))
            if weight > 0:
                waves.append((weight, trusted(self.loss * self.ratio * distance / (2 * arb.pi()))))
        return {
            "deviation": root_below(taylor.variance),
            "near_end": below(arb.pi() / self.extent),
            "atoms": above(sum(atoms, arb(0))),
            "density": above(density),
            "waves": tuple(waves),
        }

    def tilted(self, c: arb) -> Tilted:
        """See `Factor`."""
        x, gap = c + arb(1) / 2, self.loss * self.ratio
        grown, fall = (self.loss * x).exp() / self.once(c, x, 1 / x), (-gap * x).exp()
        rows = []
        for row in self.terms:
            rows.append([coefficient * grown / x**j for j, coefficient in enumerate(row)])
            grown *= fall
        return Tilted([Polynomial(rows, gap, arb(0))], self.loss, arb(0))

    def near_top(self, s: arb) -> tuple[arb, arb]:
        """See `Factor`; the density is that of the first term up to the next exponent."""
        row, half = self.terms[0], self.loss / 2
        if row[0] > 0:
            return row[0] * half.exp(), arb(0)
        near = s.min(2 * half * self.ratio)
        return arb(0), row[1] * near * (half - near / 2).exp() if len(row) > 1 else arb(0)


def three_point_pair(
    epsilon: Exact,
    kappa: Callable[[], arb] | int = 2,
    *,
    exact: bool = False,
    at: Callable[[Fraction], LossLaw] | None = None,
) -> ExponentialSum:
    """Losses epsilon, 0, -epsilon with P-masses (e^epsilon, kappa - 2, 1)/(e^epsilon + kappa - 1).

    Binary randomized response is kappa = 2 and dominates every epsilon-DP mechanism.
    """

    def terms() -> Terms:
        e = lift(epsilon)
        if kappa == 2:
            edge = 1 / (exp(e / 2) + exp(-e / 2))
            return [[edge], [edge]]
        size = arb(kappa) if isinstance(kappa, int) else kappa()
        whole = exp(e) + size - 1
        return [[exp(e / 2) / whole], [(size - 2) / whole], [exp(e / 2) / whole]]

    if at is None and isinstance(kappa, int):
        at = partial(three_point_pair, kappa=kappa, exact=exact)
    return MirroredSum(epsilon, terms, Fraction(2 if kappa == 2 else 1), at, exact=exact)


def laplace_pair(epsilon: Exact, *, exact: bool = False, witness: LossLaw | None = None) -> ExponentialSum:
    """Laplace noise shifted by epsilon scales: M = e^{-epsilon/2} (cosh(epsilon w) + sinh(epsilon w)/(2 w))."""

    def terms() -> Terms:
        edge = exp(-lift(epsilon) / 2)
        return [[edge / 2, edge / 4], [edge / 2, -edge / 4]]

    return MirroredSum(epsilon, terms, at=laplace_pair, exact=exact, witness=witness)


def logistic_pair(eta: Exact, *, exact: bool = False, witness: LossLaw | None = None) -> ExponentialSum:
    """Logistic noise shifted by eta scales: M = sinh(eta w)/(2 w sinh(eta/2)); dominates all of eta-bounded range.

    Theorem: docs/theorems/logistic-pair.md.
    """

    def terms() -> Terms:
        edge = 1 / (4 * (lift(eta) / 2).sinh())
        return [[arb(0), edge], [arb(0), -edge]]

    return MirroredSum(eta, terms, at=logistic_pair, exact=exact, witness=witness)
