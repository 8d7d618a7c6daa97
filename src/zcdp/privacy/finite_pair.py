"""A pair of distributions on finitely many outcomes, as balls: its cumulant and derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from zcdp.numeric.supremum import Convex
from zcdp.numeric.work import count_functions

__all__ = ["FinitePair"]


@dataclass(frozen=True)
class FinitePair:
    """P-masses of the outcomes and their losses log P/Q, at the working precision."""

    masses: Sequence[arb]
    losses: Sequence[arb]

    def value(self, s: arb) -> arb:
        """K(s) = log of the sum of mass e^{s loss}."""
        count_functions(1.5 * len(self.masses))
        return sum((mass * (s * loss).exp() for mass, loss in self._outcomes()), arb(0)).log()

    def taylor(self, s: arb) -> tuple[arb, arb, arb]:
        """K, K' (the mean loss tilted by e^{s loss}) and K'' (its variance) at s."""
        count_functions(3 * len(self.masses))
        total = first = second = arb(0)
        for mass, loss in self._outcomes():
            weight = mass * (s * loss).exp()
            moment = weight * loss
            total, first, second = total + weight, first + moment, second + moment * loss
        mean = first / total
        return total.log(), mean, second / total - mean * mean

    def kl(self) -> arb:
        """The mean loss."""
        return sum((mass * loss for mass, loss in self._outcomes()), arb(0))

    def largest(self) -> arb:
        """The largest loss."""
        return max_ball(self.losses)

    def convex(self) -> Convex:
        """As the certified search over orders sees it."""
        return Convex(self.value, self.kl(), self.largest(), self.taylor)

    def _outcomes(self) -> zip[tuple[arb, arb]]:
        return zip(self.masses, self.losses, strict=True)


def max_ball(balls: Sequence[arb]) -> arb:
    """A ball around the largest of several numbers."""
    largest = balls[0]
    for ball in balls[1:]:
        largest = largest.max(ball)
    return largest
