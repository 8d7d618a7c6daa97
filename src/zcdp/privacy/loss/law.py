"""All outcomes of a pair with their masses under P and Q: what a transformation of a law works on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from flint import acb, arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, at_precision
from zcdp.numeric.exact import Exact
from zcdp.privacy.relation import Relation

if TYPE_CHECKING:
    from zcdp.privacy.loss.expansion import Expansion
    from zcdp.privacy.loss.lattice import Lattice
    from zcdp.privacy.loss.transform import Factor

__all__ = ["CLOSE", "Ends", "Game", "LossLaw", "Outcomes", "Parts"]


CLOSE = 2.0**-20  # A total that is known less well than this says nothing about what is missing from it.


class Outcomes:
    """The (P-mass, Q-mass) of every outcome, the largest ratio first, as balls at the working precision.

    Outcomes that only P can produce (loss +inf) or only Q (loss -inf) are part of the list, so that whoever samples,
    mixes or rounds a pair moves all of its mass. A list whose P- or Q-masses do not add up to 1 is refused. Outcomes of
    no mass are left out: rounding would give them one.
    """

    def __init__(self, masses: Sequence[tuple[arb, arb]]) -> None:
        self.masses = [(p, q) for p, q in masses if not (p.is_zero() and q.is_zero())]
        for name, side in (("P", 0), ("Q", 1)):
            total = sum((mass[side] for mass in self.masses), arb(0))
            if not total.rad() < CLOSE:
                raise Undecided
            if not total.overlaps(arb(1)):
                raise BadValue(f"the {name}-masses of all outcomes add up to {total.str(8)}, not to 1")

    def __iter__(self) -> Iterator[tuple[arb, arb]]:
        return iter(self.masses)

    def __len__(self) -> int:
        return len(self.masses)

    def largest_ratios(self) -> tuple[arb, arb]:
        """The largest P/Q and the largest Q/P of an outcome; +inf where the other is not surely positive."""
        (p, q), (last_p, last_q) = self.masses[0], self.masses[-1]
        infinite = arb.pos_inf()
        return (p / q if q > 0 else infinite), (last_q / last_p if last_p > 0 else infinite)


# Two rows of probabilities that may face either way in each use: the exact adaptive worst case, as a game.


@dataclass(frozen=True)
class Game:
    """At each use an adversary who has seen all outputs so far picks which of the two rows is P.

    Theorem: docs/theorems/adaptive.md.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def ratios(self) -> list[tuple[Fraction, Fraction]]:
        """The masses (p, q) of each ratio other than 1, outcomes of one ratio together; none of them is 0."""
        merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            if p != q:
                before = merged.get(p / q, (Fraction(0), Fraction(0)))
                merged[p / q] = before[0] + p, before[1] + q
        return list(merged.values())


# What a law of the privacy loss must offer, and how to write one.

CHECK_BITS, LAST_BITS, ONE = 128, 1 << 12, arb(1)
CHECK_POINTS = ((0.3, 0.0), (1.7, 0.4), (0.1, 2.3))  # A claim of symmetry is looked at here.


Ends: TypeAlias = Callable[[arb], tuple[arb, arb]]
"""Numbers below and above delta(epsilon), at the working precision."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LossLaw(ABC):
    """The law of L = log dP/dQ under P, for a pair (P, Q) that dominates a mechanism.

    *To write one*, make a subclass in one file: its exact parameters, and `ready`, which gives a `Factor` with the
    transform M(z) = E_P[e^{zL}; L finite] and P(L = +inf). That is enough: every other member has a default that claims
    nothing, `exact` among them. Say more, and more engines can use it, each of them faster: a share of the decay
    (`Factor.share`), the supremum of the loss (`largest`), a lattice, an expansion into exponentials, tilted atoms for
    doubles.

    No mass is lost: P(L finite) = M(0) and P(L = +inf) add up to 1, and so do Q(L finite) = M(-1) and Q(L = -inf),
    which is the reversed pair's P(L = +inf). `check` refuses a law that breaks this, or whose lower law is above it.

    A law is *symmetric* if L under P is -L under Q in law, that is M(-1-z) = M(z); the claim is checked. One that is
    not has a `reverse`, and is tied to the order of the neighbours: its relation is add_remove. A mechanism whose
    pairs may face either way in each use enters by a symmetric law: see `envelope_law`.
    Theorem: docs/theorems/profile.md.
    """

    exact: bool = False
    """Whether this is the mechanism's own worst-case pair, however often it is used, not only one that dominates it."""

    exact_alone: bool = False
    """Whether that is so at least of a single use with nothing beside it."""

    witness: LossLaw | None = None
    """Where it is not: a law whose profile is at most the mechanism's, for lower ends."""

    witness_alone: LossLaw | None = None
    """A better one for a single use with nothing beside it."""

    neighbours: tuple[Parts, ...] = ()
    """Or more, where one is not enough: true neighbours, each as independent laws with how many are alike."""

    coarser: LossLaw | None = None
    """A law that dominates this one and is easier to compose: tried too, where this one's answer is not sharp."""

    gives_curve: bool = False
    """Whether the mechanism's Renyi curve is this law's: then it tells no more than the profile."""

    relation: Relation = Relation.EITHER
    """The neighbouring relation that the law covers."""

    symmetric: bool = True
    """Whether M(-1-z) = M(z): checked."""

    cancels: ClassVar[bool] = False
    """Whether the transform is a sum in which digits cancel: then a small delta takes more bits."""

    @abstractmethod
    def ready(self) -> Factor:
        """The transform and what is known of it, constants at the working precision."""

    def largest(self) -> arb:
        """The supremum of the finite losses, at the working precision; +inf where they are unbounded."""
        return arb.pos_inf()

    def reverse(self) -> LossLaw:
        """The law of the pair (Q, P): M'(z) = M(-1-z)."""
        if self.symmetric:
            return self
        raise NotImplementedError(f"{type(self).__name__} is not symmetric and needs a reverse")

    def attained(self, *, alone: bool) -> tuple[Parts, ...]:
        """Compositions of laws whose profile is at most the mechanism's: none, one or several."""
        if self.exact or (alone and self.exact_alone):
            return (((self, 1),),)
        witness = (alone and self.witness_alone) or self.witness
        others = () if alone and self.witness_alone else self.neighbours
        return others if witness is None else (((witness, 1),), *others)

    def lattice(self) -> Lattice | None:
        """A lattice that holds all exponents of M(z) = sum of C e^{aw} w^{-j}, w = z + 1/2; None: none is known."""
        return None

    def expansion(self) -> Expansion | None:
        """M(z) as a finite sum of C e^{aw} w^{-j}, at the working precision; None where it is no such sum."""
        return None

    def family(self) -> tuple[Exact, Callable[[Fraction], LossLaw]] | None:
        """Its largest loss, and the same kind of law at another one: a larger one must dominate; None: no such family.

        Theorem: docs/theorems/calibration.md.
        """
        return None

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of the pair ((1-q) Q + q P, Q), with 0 < q < 1; None: see `outcomes`.

        It claims nothing: what the sample may claim of this law's claims is written once, in `sampled_law`.
        Theorem: docs/theorems/sampling.md.
        """
        del rate
        return None

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """The envelope of ((1-q) Q + q P, Q) in both orders, with 0 < q < 1, of a symmetric law; None: see `outcomes`.

        It claims nothing: see `replaced_law`.
        Theorem: docs/theorems/fixed-size.md.
        """
        del rate
        return None

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """P- and Q-masses of all outcomes, infinite losses included, at the working precision; None: not known.

        Where they are not few they are those of a pair that dominates this one, or, `inward`, that it dominates.
        """
        del inward
        return None

    @property
    def few(self) -> bool:
        """Whether `outcomes` are its own, all of them."""
        return False

    def alone(self) -> Callable[[arb], arb] | None:
        """delta(epsilon) of a single use with nothing beside it, at the working precision; None: no formula."""
        return None

    def ends_alone(self) -> Ends | None:
        """Numbers below and above the same, where no formula is known but they are."""
        formula = self.alone()
        return None if formula is None else lambda epsilon: (value := formula(epsilon), value)

    def game(self) -> Game | None:
        """The ordered pairs themselves, where this law only dominates them and they are few; None where it is exact."""
        return None

    def renyi(self, s: arb) -> arb:
        """The Renyi divergence of order 1 + s, log M(s)/s, at the working precision; +inf where a loss may be."""
        factor = self.factor()
        return factor.moment(s).log() / s if factor.revealed.is_zero() else arb.pos_inf()

    def claims_reversed(self) -> dict[str, Any]:
        """What the reversed law may claim: the same of laws that are reversed too."""
        return {
            "exact": self.exact,
            "exact_alone": self.exact_alone,
            "witness": self.witness and self.witness.reverse(),
            "witness_alone": self.witness_alone and self.witness_alone.reverse(),
            "neighbours": tuple(tuple((law.reverse(), n) for law, n in parts) for parts in self.neighbours),
            "coarser": self.coarser and self.coarser.reverse(),
        }

    def factor(self) -> Factor:
        """`ready`; a law whose factors remember nothing may keep the last one, for the question after a check."""
        return self.ready()

    def check(self, bits: int = CHECK_BITS) -> None:
        """Refuse a law that loses mass, claims a symmetry that it has not or a lower law that is above it.

        One that is not symmetric must be tied to an order of the neighbours. A law is looked at once; `bits` are best
        those at which it is asked afterwards, as some laws keep what they made at the last precision.
        """
        if "_passed" in self.__dict__:
            return
        if not (self.symmetric or self.relation is Relation.ADD_REMOVE):
            raise BadValue(
                f"{type(self).__name__} is not symmetric: it must be tied to the order of add_remove neighbours, "
                "or enter by a symmetric law that dominates it"
            )
        while bits <= LAST_BITS:
            try:
                wrong = at_precision(bits, self._false_claim)
            except Undecided:  # digits cancel in its transform
                bits *= 2
                continue
            if wrong:
                raise BadValue(f"{type(self).__name__} {wrong}")
            self.__dict__["_passed"] = True
            return
        raise NotCertified(
            f"{type(self).__name__} does not tell within {LAST_BITS} bits whether all of its mass is there"
        )

    def _false_claim(self) -> str:
        """What balls show to be false; nothing where a transform has no value, as no answer rests on it then."""
        if self.symmetric and not self._looks_symmetric():
            return "claims to be symmetric, but its M(-1-z) is not M(z)"
        try:
            return self._mass_lost() or self._is_below_its_witness()
        except (NotCertified, OverflowError, ZeroDivisionError):
            return ""

    def _mass_lost(self) -> str:
        """Which of P and Q has not the mass 1; nothing where both have, as far as balls tell."""
        forward = self.factor()
        if lost := _off_by("P", forward.mass() + forward.revealed):
            return lost
        if self.symmetric:
            return ""
        return _off_by("Q", forward.real_moment(arb(-1)) + self.reverse().factor().revealed)

    def _is_below_its_witness(self) -> str:
        """Where balls show that this law does not dominate its lower law.

        Of two pairs the one that dominates has the larger M(s) at every s > 0, and the likelier infinite loss.
        """
        if self.witness is None:
            return ""
        mine, its = self.factor(), self.witness.factor()
        likelier = its.revealed > mine.revealed
        larger = mine.revealed.is_zero() and its.real_moment(arb(1)) > mine.real_moment(arb(1))
        return "claims a lower law that is above it" if likelier or larger else ""

    def _looks_symmetric(self) -> bool:
        factor = self.factor()
        pairs = [(acb(x, y), acb(-1 - arb(x), -arb(y))) for x, y in CHECK_POINTS]
        return all(factor.moment(z).overlaps(factor.moment(mirrored)) for z, mirrored in pairs)


def _off_by(name: str, mass: arb) -> str:
    if not mass.rad() < CLOSE:
        raise Undecided
    if mass.overlaps(ONE):
        return ""
    return f"has a {name}-mass of {mass.str(8)}, not 1: outcomes that only one of the two can produce belong to it"


Parts: TypeAlias = tuple[tuple[LossLaw, int], ...]
"""A composition: laws, each with how often it is used."""
