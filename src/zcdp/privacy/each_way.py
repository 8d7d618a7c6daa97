"""The Renyi divergence in each of the two orders of the neighbours, where they differ."""

from __future__ import annotations

from fractions import Fraction
from math import inf

from flint import arb

from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.certify import NotCertified, Undecided
from zcdp.privacy.curve import Curve
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.relation import Relation

__all__ = ["Both", "rdp_each_way"]

BITS = 192
Both = tuple[Fraction | None, Fraction | None]
"""With the person against without, and the other way round; None where it is infinite."""


def rdp_each_way(curve: Curve, order: Fraction) -> Both:
    """Bounds on the divergence of an order above 1: with the person against without, and the other way round.

    Only mechanisms for add_remove neighbours know which is which, and all of them face the same way; of the others each
    is the larger of both. Theorem: docs/theorems/renyi-filter.md.

    >>> from zcdp import LossPair
    >>> [float(x) for x in rdp_each_way(LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True), Fraction(2))]
    [1.0216512475319814, 0.494696241836107...]
    """
    first = second = Fraction(0)
    for part, count in curve.parts:
        one, other = _of_one(part, order)
        if one is None or other is None:  # nothing is lost: a sum that is infinite in one order admits nothing
            return None, None
        first, second = first + count * one, second + count * other
    return first, second


def _of_one(part: Curve, order: Fraction) -> Both:
    worst = part.rdp(order)
    largest = None if worst == inf else Fraction(worst)
    if largest is None or part.relation is not Relation.ADD_REMOVE:
        return largest, largest
    laws = part.laws
    known = [(law, times) for law, times in laws if law is not None]
    if len(known) < len(laws) or all(law.symmetric for law, _ in known):
        return largest, largest
    forward = min(largest, _of_laws(known, order - 1, largest))
    backward = min(largest, _of_laws([(law.reverse(), times) for law, times in known], order - 1, largest))
    return forward, backward


def _of_laws(laws: list[tuple[LossLaw, int]], s: Fraction, otherwise: Fraction) -> Fraction:
    """log M(s)/s of laws that dominate, rounded up; or what is known anyway, where balls do not tell."""

    def divergence() -> float:
        point = lift(s)
        total = sum((times * law.renyi(point) for law, times in laws), arb(0))
        return above(total) if total.is_finite() else inf

    try:
        found = at_precision(BITS, divergence)
    except (Undecided, NotCertified, OverflowError):
        return otherwise
    return max(Fraction(found), Fraction(0)) if found < inf else otherwise
