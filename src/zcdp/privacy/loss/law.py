"""The interface of a privacy loss distribution, `LossLaw`, and what the laws are made of.

For a pair (P, Q) of distributions of an output the privacy loss is L = log dP/dQ, and its *law* is its distribution
under P: what the literature calls a privacy loss distribution (PLD). The hockey-stick divergence delta(epsilon) of the
pair is its *profile*. Profiles of compositions are computed from the moment generating function
M(z) = E_P[e^{zL}; L finite], which transform.py holds. Whether a law dominates a mechanism, in the sense of Zhu, Dong
and Wang (2022), or is dominated by it, is not said here: it is what a mechanism claims of it (claim.py).

*Directions.* The pair (Q, P) is another one in general. For add-remove neighbours P is the data set with the record in
one direction ("remove") and the one without it in the other ("add"); all uses of a composition have the same direction,
so that two compositions are computed, and the larger delta counts. For replace-one neighbours each use may have its
own direction, so that only symmetric laws are admitted: of several pairs, or of a pair that is not symmetric, the
envelope (envelope_law.py).

*Infinite losses.* Outcomes that only P can produce ("distinguishing events") have the loss +inf; their mass is called
`revealed`. Outcomes that only Q can produce have the loss -inf; their Q-mass is called `hidden`.

This file also has `Outcomes`, the explicit list of masses that sampling and rounding work on, and `Game`, the two
distributions of which an adaptive adversary chooses the direction in each use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from flint import acb, arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import FIRST_BITS, NotCertified, Undecided, growing_precision
from zcdp.numeric.exact import Exact

if TYPE_CHECKING:
    from zcdp.privacy.loss.exponential_terms import Expansion
    from zcdp.privacy.loss.lattice import Lattice
    from zcdp.privacy.loss.transform import Factor

__all__ = ["LARGEST_MASS_RADIUS", "Ends", "Game", "LossLaw", "Outcomes", "Parts", "refuse"]


LARGEST_MASS_RADIUS = 2.0**-20  # A wider ball for a total mass cannot show that mass is missing: more bits are needed.


class Outcomes:
    """The list of (P-mass, Q-mass) of every outcome, the largest ratio P/Q first, as balls at the working precision.

    Outcomes with infinite loss are part of the list, so that sampling, mixing and rounding a pair keep all of its mass.
    The constructor raises `BadValue` if the P-masses or the Q-masses do not add up to 1. Outcomes whose masses are both
    0 are dropped, because rounding outward would give them a positive mass.
    """

    def __init__(self, masses: Sequence[tuple[arb, arb]]) -> None:
        self.masses = [(p, q) for p, q in masses if not (p.is_zero() and q.is_zero())]
        for name, side in (("P", 0), ("Q", 1)):
            total = sum((mass[side] for mass in self.masses), arb(0))
            if not total.rad() < LARGEST_MASS_RADIUS:
                raise Undecided
            if not total.overlaps(arb(1)):
                raise BadValue(f"the {name}-masses of all outcomes add up to {total.str(8)}, not to 1")

    def __iter__(self) -> Iterator[tuple[arb, arb]]:
        return iter(self.masses)

    def __len__(self) -> int:
        return len(self.masses)

    def largest_ratios(self) -> tuple[arb, arb]:
        """The largest P/Q and the largest Q/P of an outcome; +inf where the denominator is not certainly positive."""
        (p, q), (last_p, last_q) = self.masses[0], self.masses[-1]
        infinite = arb.pos_inf()
        return (p / q if q > 0 else infinite), (last_q / last_p if last_p > 0 else infinite)


# Two distributions whose direction may change from use to use: the exact adaptive worst case, as a game.


@dataclass(frozen=True)
class Game:
    """Two distributions on the same outcomes; in each use an adaptive adversary chooses which of them is P.

    The adversary has seen the outputs of all earlier uses. Theorem: docs/theorems/adaptive.md.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def ratios(self) -> list[tuple[Fraction, Fraction]]:
        """The masses (p, q) of outcomes with p/q != 1, outcomes with the same ratio merged.

        Both masses are positive: laws have a game only where no outcome has mass 0.
        """
        merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            if p != q:
                before = merged.get(p / q, (Fraction(0), Fraction(0)))
                merged[p / q] = before[0] + p, before[1] + q
        return list(merged.values())


# The interface of a law, with its checks.

LAST_CHECK_BITS, ONE = 1 << 12, arb(1)
SYMMETRY_POINTS = ((0.3, 0.0), (1.7, 0.4), (0.1, 2.3))  # points z = x + iy at which M(-1-z) = M(z) is checked


Ends: TypeAlias = Callable[[arb], tuple[arb, arb]]
"""A function of epsilon: a lower and an upper bound on delta(epsilon), both certified, at the working precision."""


class LossLaw(ABC):
    """The privacy loss distribution of a pair (P, Q): of L = log dP/dQ under P.

    *To write one*, make a subclass in one file, with its exact parameters and the method `ready`, which returns a
    `Factor`: the transform M(z) = E_P[e^{zL}; L finite] and the mass P(L = +inf). Nothing else is needed. Every other
    member has a default that asserts nothing about the law but that it is symmetric. The more members a law overrides,
    the more engines can use it, and the faster they are: bounds on the decay (`Factor.share`), the supremum of the loss
    (`largest`), a lattice, an expansion into exponentials, tilted atoms for the contour in doubles.

    No mass may be missing: P(L finite) = M(0) and P(L = +inf) add up to 1, and so do Q(L finite) = M(-1) and
    Q(L = -inf), which is P(L = +inf) of the reversed pair. `check` raises `BadValue` for a law that violates this.

    A law is *symmetric* if L under P has the distribution of -L under Q, that is M(-1-z) = M(z); `check` verifies this.
    A law that is not must override `symmetric` and `reverse`, and only mechanisms for add-remove neighbours may claim
    that it dominates them. A mechanism whose pairs may have another direction in each use is represented by a symmetric
    law that dominates both directions (envelope_law.py). Theorem: docs/theorems/profile.md.
    """

    cancels: ClassVar[bool] = False
    """Whether the transform is a sum in which leading digits cancel, so that a small delta needs more bits."""

    late: ClassVar[bool] = False
    """Whether the transform is that of another law, which is made when a composition first asks for it: no check does.
    """

    @property
    def symmetric(self) -> bool:
        """Whether M(-1-z) = M(z); verified by `check`."""
        return True

    @abstractmethod
    def ready(self) -> Factor:
        """The transform of one use, with bounds on its decay and with all constants at the working precision."""

    def largest(self) -> arb:
        """The supremum of the finite losses, at the working precision; +inf where they are unbounded."""
        return arb.pos_inf()

    def reverse(self) -> LossLaw:
        """The law of the pair (Q, P), whose transform is M(-1-z)."""
        if self.symmetric:
            return self
        raise NotImplementedError(f"{type(self).__name__} is not symmetric and needs a reverse")

    def lattice(self) -> Lattice | None:
        """A lattice with all exponents a of M(z) = sum of C e^{aw} w^{-j}, w = z + 1/2; None if none is known."""
        return None

    def expansion(self) -> Expansion | None:
        """M(z) as a finite sum of C e^{aw} w^{-j}, at the working precision; None where it is no such sum."""
        return None

    def family(self) -> tuple[Exact, Callable[[Fraction], LossLaw]] | None:
        """The largest loss, and a constructor of the same kind of law at another largest loss; None: no such family.

        A larger largest loss must give a law that dominates. Theorem: docs/theorems/calibration.md.
        """
        return None

    def mu_squared(self) -> arb | None:
        """mu^2 if the pair is that of two normal laws mu standard deviations apart; else None."""
        return None

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of the pair ((1-q) Q + q P, Q), 0 < q < 1, of Poisson sampling; None: only `outcomes` can be sampled.

        What a sampled mechanism claims of it is written in claim.py. Theorem: docs/theorems/sampling.md.
        """
        del rate
        return None

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """The envelope of ((1-q) Q + q P, Q) in both directions, 0 < q < 1, if this law is symmetric.

        It is the law of a sample of fixed size, for replace-one neighbours. None: only `outcomes` can be sampled.
        What a sampled mechanism claims of it is written in claim.py. Theorem: docs/theorems/fixed-size.md.
        """
        del rate
        return None

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """P- and Q-masses of finitely many outcomes, infinite losses included, at the working precision; None: unknown.

        If `few`, they are the outcomes of the pair itself. Else they belong to a pair that dominates this one
        (pessimistic rounding) or, with `inward`, to one that this pair dominates (optimistic rounding).
        """
        del inward
        return None

    @property
    def few(self) -> bool:
        """Whether `outcomes` lists the outcomes of the pair itself, all of them."""
        return False

    def listed(self) -> Outcomes | None:
        """All outcomes of the pair whose transform `ready` returns, at the working precision; None: too many, unknown.

        That pair is this one, or, for a law of which only the profile is known, the finite one that stands for it.
        """
        return self.outcomes() if self.few else None

    def alone(self) -> Callable[[arb], arb] | None:
        """delta(epsilon) of a single use composed with nothing, in closed form at the working precision; None: unknown.

        Infinite losses are not counted.
        """
        return None

    def twice(self) -> Callable[[arb], arb] | None:
        """delta(epsilon) of two uses composed with nothing, enclosed at the working precision; None: unknown.

        Infinite losses are not counted.
        """
        return None

    def ends_alone(self) -> Ends | None:
        """Certified bounds on delta(epsilon) of a single use composed with nothing; both are `alone`, if that is known.

        Laws without a closed form may override it. Infinite losses are not counted.
        """
        formula = self.alone()
        return None if formula is None else lambda epsilon: (value := formula(epsilon), value)

    def single_use(self) -> LossLaw:
        """The law of a single use composed with nothing: another one if this stands above it, for compositions."""
        return self

    def game(self) -> Game | None:
        """The two distributions of which this law is the envelope, for the adaptive engine; None if there are none."""
        return None

    def renyi(self, s: arb) -> arb:
        """The Renyi divergence of order 1 + s, log M(s)/s, at the working precision; +inf if P(L = +inf) > 0."""
        factor = self.factor()
        return factor.moment(s).log() / s if factor.revealed.is_zero() else arb.pos_inf()

    def factor(self) -> Factor:
        """The result of `ready`; a law whose factors have no state may keep the last one, such as that of `check`."""
        return self.ready()

    def check(self, bits: int = FIRST_BITS) -> None:
        """Raise `BadValue` if mass is missing or if `symmetric` is false. Each law is checked once.

        `bits` should be the precision of the computation that follows, because some laws keep what they computed at the
        last precision.
        """
        if "_passed" not in self.__dict__:
            refuse(self, self._violation, bits)
            self.__dict__["_passed"] = True

    def _violation(self) -> str:
        """The property that balls show to be violated, or an empty string.

        Where the transform cannot be evaluated nothing is reported: no answer can rest on it then.
        """
        if self.symmetric and not self._looks_symmetric():
            return "claims to be symmetric, but its M(-1-z) is not M(z)"
        try:
            forward = self.factor()
            lost = _off_by("P", forward.mass() + forward.revealed)
            if lost or self.symmetric:
                return lost
            return _off_by("Q", forward.real_moment(arb(-1)) + self.reverse().factor().revealed)
        except (NotCertified, OverflowError, ZeroDivisionError):
            return ""

    def _looks_symmetric(self) -> bool:
        """Whether balls for M(z) and M(-1-z) overlap at all test points; subclasses with a proof return True."""
        factor = self.factor()
        pairs = [(acb(x, y), acb(-1 - arb(x), -arb(y))) for x, y in SYMMETRY_POINTS]
        return all(factor.moment(z).overlaps(factor.moment(mirrored)) for z, mirrored in pairs)


def refuse(what: object, violation: Callable[[], str], bits: int = FIRST_BITS) -> None:
    """Raise `BadValue` if `violation` returns a message about a law, or about what is claimed of one.

    It is asked again at more bits where balls are too wide to tell; `NotCertified` if they never tell.
    """
    name = type(what).__name__
    for _ in growing_precision(bits, last=LAST_CHECK_BITS):
        try:
            wrong = violation()
        except Undecided:  # Digits cancel in the transform: more bits are needed.
            continue
        if wrong:
            raise BadValue(f"{name} {wrong}")
        return
    raise NotCertified(f"{name} does not tell within {LAST_CHECK_BITS} bits whether all of its mass is there")


def _off_by(name: str, mass: arb) -> str:
    """A message if the total mass is certainly not 1, else an empty string; `Undecided` if the ball is too wide."""
    if not mass.rad() < LARGEST_MASS_RADIUS:
        raise Undecided
    if mass.overlaps(ONE):
        return ""
    return f"has a {name}-mass of {mass.str(8)}, not 1: outcomes that only one of the two can produce belong to it"


Parts: TypeAlias = tuple[tuple[LossLaw, int], ...]
"""A composition: pairs of a law and the number of its uses."""
