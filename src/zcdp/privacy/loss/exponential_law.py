"""Laws whose transform is a sum of equally spaced exponentials: Laplace, logistic and randomized-response pairs.

With w = z + 1/2 the transform is a sum of e^{a_k w} (c_k0 + c_k1/w): c_k0 stands for an atom at the loss a_k, c_k1 for
a density between the a_k. `EdgedDensity` is the special case of one density between two atoms, in the form that
sampling and discretisation need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeAlias

from flint import acb, arb, ctx

from zcdp.numeric.balls import above, below, lift, root_below, trusted
from zcdp.numeric.exact import Exact, Log
from zcdp.numeric.functions import exp
from zcdp.privacy.loss.decay import Share, WaveShare
from zcdp.privacy.loss.exponential_terms import EqualRows
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import LossLaw, Outcomes
from zcdp.privacy.loss.sampled_density_law import Facing, SampledDensityLaw
from zcdp.privacy.loss.sampled_quadrature import BaseLoss
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted

__all__ = [
    "EdgedDensity",
    "ExponentialSum",
    "ExponentialSumFactor",
    "MirroredSum",
    "Terms",
    "laplace_pair",
    "logistic_pair",
    "three_point_pair",
    "three_point_pair_of_ball",
]


# A density of the loss between two atoms at its ends, as Laplace noise has it.

DENSITY_CELLS = 64  # cells of a discretised density


@dataclass(frozen=True)
class EdgedDensity:
    """A loss l with density D e^{l/2} under P and D e^{-l/2} under Q from -top to top, and with atoms at both ends.

    An atom has the mass C e^{l/2} under P and C e^{-l/2} under Q. All numbers are at the working precision.
    """

    top: arb
    upper: arb
    """C of the atom at the top."""
    lower: arb
    """C of the atom at -top."""
    density: arb
    """D."""

    def base(self) -> BaseLoss:
        """The distribution of the loss under Q, for the quadrature of sampled laws."""
        ends = [(self.top, self.upper * (-self.top / 2).exp()), (-self.top, self.lower * (self.top / 2).exp())]
        atoms = [(place, mass) for place, mass in ends if not mass.is_zero()]
        return BaseLoss(arb(0), arb(-1) / 2, self.density.log(), -self.top, self.top, atoms)

    def delta(self, epsilon: arb) -> arb:
        """delta(epsilon) of one use for 0 <= epsilon <= top: the mean of (1 - e^{epsilon - l})_+ in closed form."""
        high, here = (self.top / 2).exp(), (epsilon / 2).exp()
        between = 2 * (high - here) - 2 * (here - here * here / high)
        return self.upper * (high - here * here / high) + self.density * between

    def cells(self, *, inward: bool) -> list[tuple[arb, arb]]:
        """P- and Q-masses of finitely many outcomes: the atoms, and the cells of a discretised density.

        With `inward` each cell is one outcome: the pair is dominated. Else the masses p and q of a cell with ratios
        from g to h are moved to its two ends, (p - gq)/(h - g) of the Q-mass to h: the pair dominates.
        """
        # e^{l/2} at the ends of the cells, from the top
        roots = [(self.top / 2 * (DENSITY_CELLS - 2 * k) / DENSITY_CELLS).exp() for k in range(DENSITY_CELLS + 1)]
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


# The law itself: atoms and simple densities whose ends are equally spaced.

Terms: TypeAlias = list[list[arb]]
"""The coefficients c_kj: a list over k of lists over j."""
ROWS_AS_COSTLY_AS_REST = 8  # so many rows take as long to add up as everything else in one evaluation of M
ZERO, HALF, TWO = arb(0), arb(0.5), arb(2)


@dataclass(frozen=True, eq=False)
class ExponentialSum(LossLaw):
    """The law with M(z) = sum over k of e^{a_k w} (c_k0 + c_k1/w), w = z + 1/2, a_k = loss (1 - k ratio).

    c_k0 is the coefficient of an atom at the loss a_k, of P-mass c_k0 e^{a_k/2}; the c_k1 describe the density.
    Theorem: docs/theorems/profile.md.
    """

    loss: Exact
    """The largest loss."""

    terms: Callable[[], Terms]
    """A function that returns the c_kj at the working precision."""

    ratio: Fraction = Fraction(2)
    """The distance of neighbouring exponents a_k, divided by the largest loss."""

    at: Callable[[Fraction], LossLaw] | None = None
    """The same family at another largest loss; a larger one must dominate (docs/theorems/calibration.md)."""

    def ready(self) -> ExponentialSumFactor:
        """The transform of one use, with constants at the working precision."""
        return ExponentialSumFactor(self.loss, self.ratio, self.terms())

    def factor(self) -> Factor:
        """The result of `ready`, kept for the last precision.

        It is stored with its precision as one tuple, so that threads see both or neither, and past the frozen fields.
        """
        last = self.__dict__.get("_kept")
        if last is None or last[0] != ctx.prec:
            last = self.__dict__["_kept"] = ctx.prec, self.ready()
        found: Factor = last[1]
        return found

    def largest(self) -> arb:
        """The supremum of the finite losses, at the working precision."""
        return lift(self.loss)

    def lattice(self) -> Lattice:
        """The lattice on which all exponents of the transform lie."""
        if isinstance(self.loss, Log):
            return Lattice(Fraction(1), self.ratio, self.loss)
        return Lattice(self.loss, self.loss * self.ratio)

    def expansion(self) -> EqualRows:
        """M(z) as a finite sum of terms C e^{aw} w^{-j}, w = z + 1/2, at the working precision."""
        return EqualRows(self.loss, self.ratio, self.terms())

    def family(self) -> tuple[Exact, Callable[[Fraction], LossLaw]] | None:
        """The largest loss, and a constructor of the same kind of law at another largest loss; None: no such family."""
        return None if self.at is None else (self.loss, self.at)

    @property
    def few(self) -> bool:
        """Whether `outcomes` lists this law's own outcomes, all of them."""
        return all(len(row) == 1 for row in self.terms())

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """P- and Q-masses of all atoms, as balls; a density between two atoms is discretised, any other gives None."""
        rows = self.terms()
        if any(len(row) > 1 for row in rows):
            return Outcomes(self._edged().cells(inward=inward)) if len(rows) == 2 else None
        top, part = lift(self.loss), lift(self.ratio)
        halves = [(top * (1 - k * part) / 2).exp() for k in range(len(rows))]
        return Outcomes([(row[0] * half, row[0] / half) for row, half in zip(rows, halves, strict=True)])

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of ((1-q) Q + q P, Q), Poisson sampling at rate q, of a density between two atoms; else None."""
        return self._mixed(rate, Facing.WITH)

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """The envelope of ((1-q) Q + q P, Q) in both directions, q the rate: samples of a fixed size."""
        return self._mixed(rate, Facing.EITHER)

    def _mixed(self, rate: Fraction, facing: Facing) -> LossLaw | None:
        if self.few or len(self.terms()) != 2:
            return None
        return SampledDensityLaw(rate, self._base, self._delta, facing)

    def _base(self) -> BaseLoss:
        return self._edged().base()

    def _delta(self, epsilon: arb) -> arb:
        return self._edged().delta(epsilon)

    def _edged(self) -> EdgedDensity:
        (upper, density), (lower, _) = self.terms()
        return EdgedDensity(lift(self.loss), upper, lower, density)

    def _looks_symmetric(self) -> bool:
        """Whether e^{aw} and e^{-aw} have the same c_k0 and opposite c_k1, as M(-1-z) = M(z) requires."""
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
    """An `ExponentialSum` that is symmetric by its formula, so that the symmetry need not be checked."""

    def _looks_symmetric(self) -> bool:
        return True


class ExponentialSumFactor(Factor):
    """The transform of an `ExponentialSum`. For ratio = p/q all its exponentials are powers of e^{-loss w/q}."""

    def __init__(self, loss: Exact, ratio: Fraction, terms: Terms) -> None:
        self.loss, self.terms, self.ratio = lift(loss), terms, lift(ratio)
        self.rise, self.run = ratio.numerator, ratio.denominator
        self.unit = -self.loss / self.run
        self.atomic = all(len(row) == 1 for row in terms)
        self.weight = 1 + len(terms) / ROWS_AS_COSTLY_AS_REST
        span = self.rise * (len(terms) - 1)
        self.extent = 2 * self.loss if span == 2 * self.run else self.loss * (arb(span) / self.run)
        """The distance of the least and the largest loss."""

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        w = z + arb(1) / 2
        return self.once(z, w, 1 / w)

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z), for a caller that has w = z + 1/2 and u = 1/w at hand."""
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
        """P(L finite) = M(0), where w = 1/2 and u = 2."""
        value: arb = self.once(ZERO, HALF, TWO)
        return value

    def split(self, w: acb) -> tuple[acb, acb]:
        """A and B with M = A + B/w: the part of the atoms, and that of the density."""
        base = (w * self.unit).exp()
        step: acb = base**self.rise
        atoms = density = acb(0)
        for row in reversed(self.terms):
            atoms = atoms * step + row[0]
            density = density * step + (row[1] if len(row) > 1 else 0)
        whole = 1 / base**self.run
        return atoms * whole, density * whole

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        return WaveShare(count, **self.bounds(self.growth(c, taylor), taylor))

    def growth(self, c: arb, taylor: Taylor) -> list[arb]:
        """The numbers e^{a_k x}/M(c), x = c + 1/2: c_k0 times them is a tilted mass."""
        x = c + arb(1) / 2
        fall = (-self.loss * self.ratio * x).exp()
        growth = [(self.loss * x).exp() / taylor.moment]
        for _ in self.terms[1:]:
            growth.append(growth[-1] * fall)
        return growth

    def bounds(self, growth: list[arb], taylor: Taylor) -> dict[str, Any]:
        """The fields of a `WaveShare`, by name."""
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
        """The tilted law as finitely many terms, for the contour integral in doubles."""
        x, gap = c + arb(1) / 2, self.loss * self.ratio
        grown, fall = (self.loss * x).exp() / self.once(c, x, 1 / x), (-gap * x).exp()
        rows = []
        for row in self.terms:
            rows.append([coefficient * grown / x**j for j, coefficient in enumerate(row)])
            grown *= fall
        return Tilted([Polynomial(rows, gap, arb(0))], self.loss, arb(0))

    def near_top(self, s: arb) -> tuple[arb, arb]:
        """Lower bounds on P(L = largest) and, without that atom, on P(L >= largest - s).

        Up to the next exponent the density is that of the first term.
        """
        row, half = self.terms[0], self.loss / 2
        if row[0] > 0:
            return row[0] * half.exp(), arb(0)
        near = s.min(2 * half * self.ratio)
        return arb(0), row[1] * near * (half - near / 2).exp() if len(row) > 1 else arb(0)


# Laws of pure parameters. The same object is returned for the same ones, so that its masses are checked once for all
# plans; the last few are kept.
KEPT_LAWS = 256


@lru_cache(maxsize=KEPT_LAWS)
def three_point_pair(epsilon: Exact, kappa: int = 2) -> ExponentialSum:
    """The law with losses epsilon, 0, -epsilon of P-masses (e^epsilon, kappa - 2, 1)/(e^epsilon + kappa - 1).

    kappa = k is k-ary randomized response. kappa = 2, binary randomized response, dominates every epsilon-DP mechanism.
    """
    if kappa > 2:
        return three_point_pair_of_ball(epsilon, lambda: arb(kappa), at=partial(three_point_pair, kappa=kappa))

    def terms() -> Terms:
        e = lift(epsilon)
        edge = 1 / (exp(e / 2) + exp(-e / 2))
        return [[edge], [edge]]

    return MirroredSum(epsilon, terms, at=three_point_pair)


def three_point_pair_of_ball(
    epsilon: Exact, kappa: Callable[[], arb], *, at: Callable[[Fraction], LossLaw] | None = None
) -> ExponentialSum:
    """The law of `three_point_pair` for a kappa that need not be an integer: a function that returns it as a ball.

    `at` makes the law of the same mechanism at another epsilon.
    """

    def terms() -> Terms:
        e, size = lift(epsilon), kappa()
        whole = exp(e) + size - 1
        return [[exp(e / 2) / whole], [(size - 2) / whole], [exp(e / 2) / whole]]

    return MirroredSum(epsilon, terms, Fraction(1), at)


@lru_cache(maxsize=KEPT_LAWS)
def laplace_pair(epsilon: Exact) -> ExponentialSum:
    """Laplace noise moved by epsilon scales: M = e^{-epsilon/2} (cosh(epsilon w) + sinh(epsilon w)/(2 w))."""

    def terms() -> Terms:
        edge = exp(-lift(epsilon) / 2)
        return [[edge / 2, edge / 4], [edge / 2, -edge / 4]]

    return MirroredSum(epsilon, terms, at=laplace_pair)


@lru_cache(maxsize=KEPT_LAWS)
def logistic_pair(eta: Exact) -> ExponentialSum:
    """Logistic noise moved by eta scales: M = sinh(eta w)/(2 w sinh(eta/2)).

    It dominates every mechanism of eta-bounded range. Theorem: docs/theorems/logistic-pair.md.
    """

    def terms() -> Terms:
        edge = 1 / (4 * (lift(eta) / 2).sinh())
        return [[arb(0), edge], [arb(0), -edge]]

    return MirroredSum(eta, terms, at=logistic_pair)
