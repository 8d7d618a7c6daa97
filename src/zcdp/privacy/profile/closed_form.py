"""A single use of a law whose profile is a formula."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.privacy.profile.effort import CHEAP
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.integrand import log_size
from zcdp.privacy.profile.question import Question

__all__ = ["ClosedForm"]

LARGEST = 1e12  # Nobody asks for an epsilon beyond it.


class ClosedForm(Engine):
    """delta(epsilon) as the law itself has it. Theorem: docs/theorems/sampling.md."""

    name = "closed form"
    of_one_law = True
    guess = Fraction(1)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one use with nothing beside it."""
        [(law, count)] = question.parts
        if count > 1 or (formula := law.alone()) is None:
            return None
        return Offer(CHEAP, lambda: cls(formula))

    def __init__(self, formula: Callable[[arb], arb]) -> None:
        self.formula = formula

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """See `Engine`."""
        value = self.formula(lift(epsilon))
        return value, value

    def estimate(self, epsilon: float) -> float:
        """See `Engine`."""
        if not epsilon < LARGEST:
            raise OverflowError
        return log_size(self.formula(arb(epsilon)))
