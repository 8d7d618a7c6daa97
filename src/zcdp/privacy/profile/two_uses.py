"""The profile of two uses of a law that knows it by an integral, as two steps of DP-SGD at a tiny rate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import at_precision, lift, log_size
from zcdp.numeric.work import INTEGRAL, count_work
from zcdp.privacy.profile.engine import Engine, Offer, Question

__all__ = ["TwoUses"]

GUESS_BITS = 64  # for guesses of epsilon
SEARCH = 20  # integrals until an epsilon is found


class TwoUses(Engine):
    """delta(epsilon) by the law's own integral over one of two uses, of which the other has a closed formula.

    At small rates losses lie between the rate itself and 10: no grid and no contour sees both ends, the integral does.
    Theorem: docs/theorems/sampled-gaussian.md.
    """

    name = "one integral"
    only_rounding = False
    most_laws, most_uses = 1, 2

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For two uses of one law."""
        [(law, count), *_] = question.parts
        formula = law.twice() if count == 2 else None
        return None if formula is None else Offer(SEARCH * INTEGRAL, lambda: cls(formula, question.epsilon))

    def __init__(self, formula: Callable[[arb], arb], guess: Fraction) -> None:
        self.formula, self.guess = formula, guess

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        count_work(INTEGRAL)
        value = self.formula(lift(epsilon))
        return value.lower(), value.upper()

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        return at_precision(GUESS_BITS, lambda: log_size(self.formula(arb(epsilon))))
