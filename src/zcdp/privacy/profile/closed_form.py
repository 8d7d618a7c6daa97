"""The profile of a single use of a law whose own profile is known by a formula, or by bounds."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift, log_size
from zcdp.privacy.loss.law import Ends
from zcdp.privacy.profile.engine import CHEAP, Engine, Offer, Question

__all__ = ["ClosedForm"]

LARGEST_EPSILON = 1e12  # A search that proposes a larger epsilon has gone astray.


class ClosedForm(Engine):
    """delta(epsilon) by the formula of the law itself: for one use, as one step of DP-SGD.

    For Gaussian noise it is the formula of Balle and Wang (2018), for a sample of it that of Balle, Barthe and Gaboardi
    (2018). A law of which only the profile is known, as that of shuffled reports, has the transform of a law above it:
    for one use of it, only this engine gives lower ends that hold. Theorem: docs/theorems/sampling.md.
    """

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
