"""What a mechanism claims of its privacy profile, `Claim`, and what is left of a claim when the mechanism is sampled.

A claim is a law above the mechanism and laws below it. The upper law dominates (Zhu, Dong and Wang, 2022): guarantees
come from it. The lower ones are attained by actual neighbours: lower ends of answers, and `is_tight`, come from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import NotCertified, Undecided, growing_precision
from zcdp.privacy.loss.finite_law import MOST_ATOMS, envelope_of_atoms, finite_law, mixed
from zcdp.privacy.loss.law import LossLaw, Parts, refuse
from zcdp.privacy.loss.tradeoff_hull import BALL_BITS, Atom, hull, ratio_above, rounded, within_ratios

__all__ = ["Claim", "rational_outcomes", "replaced_claim", "sampled_claim"]


@dataclass(frozen=True, eq=False)
class Claim:
    """What a mechanism returns from `pair()`: a law that dominates it, and what it attains.

    A claim is exact if and only if its upper law is also its first lower one: a law that only dominates is never taken
    for the mechanism's own. Whoever makes a new claim from another states its lower laws anew: those of the other are
    not taken over.

    >>> from zcdp.privacy.loss import laplace_pair, three_point_pair
    >>> Claim.exactly(laplace_pair(Fraction(1))).exact
    True
    >>> Claim(laplace_pair(Fraction(1)), lower=Claim.laws(three_point_pair(Fraction(1, 2)))).exact
    False
    """

    upper: LossLaw
    """A law whose profile is at least the mechanism's for all neighbours, in any number of uses. It is symmetric unless
    the mechanism is for add-remove neighbours."""

    lower: tuple[Parts, ...] = ()
    """What neighbours attain in every use: pairs whose profile is at most the mechanism's, in any number of uses. Each
    is a product of independent laws with their multiplicities. The best comes first, further ones may win elsewhere."""

    lower_alone: tuple[Parts, ...] = ()
    """The same for a single use that is composed with nothing, where it is asked in place of `lower`."""

    coarser: LossLaw | None = None
    """A law that dominates too and is easier to compose; it is tried if the answer of the upper law is not sharp."""

    @classmethod
    def exactly(cls, law: LossLaw) -> Claim:
        """The claim that the pair is the mechanism's own worst case, in any number of uses."""
        return cls(law, (((law, 1),),))

    @staticmethod
    def laws(*laws: LossLaw | None) -> tuple[Parts, ...]:
        """Lower laws, each by itself, as the fields `lower` and `lower_alone` hold them; None is left out."""
        return tuple(((law, 1),) for law in laws if law is not None)

    @property
    def exact(self) -> bool:
        """Whether the upper law is the mechanism's own worst case, in any number of uses."""
        return self.lower[:1] == (((self.upper, 1),),)

    @property
    def exact_alone(self) -> bool:
        """Whether the upper law is the mechanism's own worst case at least in a single use composed with nothing."""
        return self.attained(alone=True)[:1] == (((self.upper, 1),),)

    def attained(self, *, alone: bool) -> tuple[Parts, ...]:
        """The lower laws; with `alone` those of a single use that is composed with nothing."""
        return self.lower if self.exact or not (alone and self.lower_alone) else self.lower_alone

    def check(self) -> Claim:
        """This claim; `BadValue` if one of its laws loses mass, or if the upper law does not dominate a lower one."""
        self.upper.check()
        for law, _ in (part for parts in self.lower for part in parts):
            law.check()
        self.check_lower()
        return self

    def check_lower(self) -> None:
        """`BadValue` if the upper law does not dominate a lower one. Each claim is checked once."""
        others = tuple(parts for parts in self.lower if not any(law.late for law, _ in (*parts, (self.upper, 1))))
        others = others[1:] if self.exact else others
        if others and "_passed" not in self.__dict__:
            refuse(self, lambda: self._violation(others))
            self.__dict__["_passed"] = True

    def _violation(self, others: tuple[Parts, ...]) -> str:
        """A message if balls show that the upper law does not dominate a lower one, else an empty string.

        If one pair dominates another, its M(s) is at least as large at every s > 0, and so is its P(L = +inf).
        """
        try:
            above = self.upper.factor()
            for parts in others:
                moment = finite = arb(1)
                for factor, count in ((law.factor(), count) for law, count in parts):
                    moment *= factor.real_moment(arb(1)) ** count
                    finite *= (1 - factor.revealed) ** count
                larger = above.revealed.is_zero() and moment > above.real_moment(arb(1))
                if 1 - finite > above.revealed or larger:
                    return "claims a lower law that is above its upper one"
        except (NotCertified, OverflowError, ZeroDivisionError):
            pass
        return ""


# Amplification by sampling. A sample attains what the base attains, sampled, in any number of uses; but not what the
# base attains alone: its neighbours may need other records, which a sample can leave out.


def sampled_claim(claim: Claim, rate: Fraction, *, cells: bool = False) -> Claim | None:
    """The claim of a Poisson sample, whose law is that of ((1-q) Q + q P, Q), 0 < q < 1; None if it is not known.

    With `cells` the result has finitely many losses: a density is discretised, pessimistically. The points
    (Q(S), P(S)) of irrational masses are rounded outward to multiples of 2^-200. Theorem: docs/theorems/sampling.md.
    """
    base = claim.upper
    own = base.sampled(rate) if base.few or not cells else None  # A law with finitely many outcomes needs no cells.
    rounded_up = _sampled_outcomes(base, rate) if own is None or not base.few else None
    upper = own or rounded_up
    if upper is None:
        return None
    easier_below = _sampled_outcomes(base, rate, inward=True) if claim.exact and rounded_up is not None else None
    below = (own if law is base else _attained(law, rate) for law in _single(claim))
    return Claim(
        upper,
        lower=Claim.laws(*below, easier_below),
        lower_alone=Claim.laws(own) if claim.exact_alone else (),
        coarser=(rounded_up if own is not None else None) or (claim.coarser and _sampled(claim.coarser, rate)),
    ).check()


def replaced_claim(claim: Claim, rate: Fraction, *, cells: bool = False) -> Claim | None:
    """The claim of a sample of fixed size, for replace-one neighbours; None if it is not known.

    Its law is the envelope of ((1-q) Q + q P, Q) in both directions; the base's must be symmetric. With `cells` the
    result has finitely many losses: a density is discretised pessimistically. Theorem: docs/theorems/fixed-size.md.
    """
    base = claim.upper
    if not base.symmetric:
        return None
    in_cells = _replaced_outcomes(base, rate) if cells and not base.few else None
    own = base.replaced(rate) if in_cells is None else None
    upper = own or in_cells or _replaced_outcomes(base, rate)
    if upper is None:
        return None
    return Claim(
        upper,
        lower=Claim.laws(*(_attained(law, rate) for law in _single(claim))),  # all uses in one direction
        lower_alone=Claim.laws(own) if claim.exact_alone else (),
        coarser=claim.coarser and (claim.coarser.replaced(rate) or _replaced_outcomes(claim.coarser, rate)),
    ).check()


def _single(claim: Claim) -> Iterator[LossLaw]:
    """The lower laws that can be sampled: a sampled product of laws is not the product of the sampled laws."""
    return (parts[0][0] for parts in claim.lower if len(parts) == 1 and parts[0][1] == 1)


def _attained(law: LossLaw, rate: Fraction) -> LossLaw | None:
    """The law of ((1-q) Q + q P, Q), or one that it dominates."""
    return law.sampled(rate) or _sampled_outcomes(law, rate, inward=True)


def _sampled(law: LossLaw, rate: Fraction) -> LossLaw | None:
    """The law of ((1-q) Q + q P, Q), or one that dominates it."""
    return law.sampled(rate) or _sampled_outcomes(law, rate)


def _sampled_outcomes(law: LossLaw, rate: Fraction, *, inward: bool = False) -> LossLaw | None:
    """The sampled law of finitely many rational outcomes: of a pair that dominates `law` or, `inward`, is dominated."""
    edges = rational_outcomes(law, 1 if inward else -1)
    return None if edges is None else finite_law(mixed(edges, rate))


def _replaced_outcomes(law: LossLaw, rate: Fraction) -> LossLaw | None:
    """The envelope of the sampled law of finitely many rational outcomes of a pair that dominates `law`."""
    edges = rational_outcomes(law, -1)
    return None if edges is None else envelope_of_atoms(mixed(edges, rate))


def rational_outcomes(law: LossLaw, side: int) -> list[Atom] | None:
    """Rational (P-mass, Q-mass) of a pair that dominates the law (side -1) or that the law dominates (side 1).

    None if the outcomes are unknown or too many.
    """
    try:
        for _ in growing_precision(BALL_BITS, last=BALL_BITS):
            outcomes = law.outcomes(inward=side > 0)
            if outcomes is None or len(outcomes) > MOST_ATOMS:
                return None
            found = hull(rounded(list(outcomes), side))
            if side > 0:
                return found
            return within_ratios(found, *(ratio_above(ratio) for ratio in outcomes.largest_ratios()))
    except Undecided:
        pass
    return None  # BALL_BITS are too few for such large losses.
