"""A single use of a law whose profile is a formula."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.privacy.profile.effort import CHEAP
from zcdp.privacy.profile.engine import Engine, Offer, Question
from zcdp.privacy.profile.line import log_size

__all__ = ["ClosedForm"]


class ClosedForm(Engine):
    """delta(epsilon) as the law itself has it. Theorem: docs/theorems/sampling.md."""

    name = "closed form"
    guess = Fraction(1)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one use with nothing beside it."""
        [(law, count), *others] = question.parts
        if others or count > 1 or law.alone() is None:
            return None
        return Offer(CHEAP, lambda: cls(question))

    def __init__(self, question: Question) -> None:
        formula = question.parts[0][0].alone()
        assert formula is not None
        self.formula = formula

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """See `Engine`."""
        value = self.formula(lift(epsilon))
        return value, value

    def estimate(self, epsilon: float) -> float:
        """See `Engine`."""
        return log_size(self.formula(arb(epsilon)))
