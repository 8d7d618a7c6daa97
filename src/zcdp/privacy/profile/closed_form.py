"""The profile of a single use of a law whose own profile is known by a formula, or by bounds."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift, log_size
from zcdp.privacy.loss.law import Ends
from zcdp.privacy.profile.engine_base import Engine, Offer
from zcdp.privacy.profile.question import CHEAP, Question

__all__ = ["ClosedForm"]

LARGEST_EPSILON = 1e12  # A search that proposes a larger epsilon has gone astray.


class ClosedForm(Engine):
    """delta(epsilon) by the formula of the law itself. Theorem: docs/theorems/sampling.md."""

    name = "closed form"
    only_rounding = False
    most_laws = most_uses = 1
    guess = Fraction(1)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For a single use of one law, with nothing else composed."""
        if (ends := question.formula) is None:
            return None
        return Offer(CHEAP, lambda: cls(ends))

    def __init__(self, ends: Ends) -> None:
        self.ends = ends

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        return self.ends(lift(epsilon))

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        if not epsilon < LARGEST_EPSILON:
            raise OverflowError
        return log_size(self.ends(arb(epsilon))[1])
