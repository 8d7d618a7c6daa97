"""A single use of a law whose profile is a formula."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift, log_size
from zcdp.privacy.loss.law import Ends
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.question import CHEAP, Question

__all__ = ["ClosedForm"]

LARGEST = 1e12  # Nobody asks for an epsilon beyond it.


class ClosedForm(Engine):
    """delta(epsilon) as the law itself has it. Theorem: docs/theorems/sampling.md."""

    name = "closed form"
    only_rounding = False
    most_laws = most_uses = 1
    guess = Fraction(1)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one use with nothing beside it."""
        if (ends := question.formula) is None:
            return None
        return Offer(CHEAP, lambda: cls(ends))

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """See `Engine`."""
        return self.ends(lift(epsilon))

    def estimate(self, epsilon: float) -> float:
        """See `Engine`."""
        if not epsilon < LARGEST:
            raise OverflowError
        return log_size(self.ends(arb(epsilon))[1])
