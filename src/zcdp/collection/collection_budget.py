"""A budget for all of a client's reports: how far a three-point mechanism may go within it, by search and by proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, expm1, inf, log, sqrt
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Value, positive_rational, probability, rational
from zcdp.privacy.curve import Curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Budget", "Kappa"]


Kappa = Callable[[float], float]
"""kappa as a function of e^epsilon: docs/theorems/three-point-maps.md."""

LARGEST = 700.0  # epsilons whose exponential is a float
NEAR = 1e-9
TURNS = 60


@dataclass(frozen=True)
class Budget:
    """rho, or epsilon at delta (0: pure DP)."""

    rho: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, *, rho: Value | None, epsilon: Value | None, delta: Value | None) -> Budget:
        """As given by a user."""
        if (rho is None) == (epsilon is None) or (rho is not None and delta is not None):
            raise BadValue("give a budget: rho, or epsilon with delta (without: pure DP)")
        if rho is not None:
            return cls(rho=positive_rational(rho, "rho"))
        assert epsilon is not None
        whole = positive_rational(epsilon, "epsilon")
        if delta is None or rational(delta, "delta") == 0:
            return cls(epsilon=whole)
        return cls(epsilon=whole, delta=probability(delta, "delta"))

    def holds(self, plan: Curve) -> bool:
        """Whether the plan is certified to stay within it, by the library's own accounting."""
        try:
            if self.rho is not None:
                return plan.rho <= self.rho
            assert self.epsilon is not None
            if self.delta == 0:
                return plan.pure_epsilon <= self.epsilon
            return plan.pure_epsilon <= self.epsilon or plan.delta_at(epsilon=self.epsilon) <= self.delta
        except NotCertified:
            return False

    def spent(self, plan: Curve) -> float:
        """What the plan costs in the budget's own terms: rho, or epsilon at its delta; rounded up."""
        if self.rho is not None:
            return plan.rho
        return plan.epsilon_at(delta=self.delta) if self.delta else plan.pure_epsilon

    def largest_epsilon(self, kappa: Kappa, count: int) -> float:
        """About the largest epsilon of which `count` reports fit: a proposal in floats, to be certified."""
        if self.epsilon is not None and self.delta == 0:
            return min(float(self.epsilon) / count, LARGEST)
        excess = self._rho_excess if self.rho is not None else self._delta_excess
        return _root(lambda epsilon: excess(epsilon, kappa(exp(epsilon)), count), self._first(count))

    def _first(self, count: int) -> float:
        """An epsilon that surely fits."""
        if self.rho is not None:
            return min(sqrt(2 * float(self.rho) / count), LARGEST / 2)
        assert self.epsilon is not None
        return min(float(self.epsilon) / count, LARGEST / 2)

    def _rho_excess(self, epsilon: float, kappa: float, count: int) -> float:
        assert self.rho is not None
        return log(count * _rho(epsilon, kappa)) - log(float(self.rho))

    def _delta_excess(self, epsilon: float, kappa: float, count: int) -> float:
        assert self.epsilon is not None
        found = _delta(epsilon, kappa, count, float(self.epsilon))
        return log(found) - log(float(self.delta)) if found > 0 else -inf


def _root(excess: Callable[[float], float], low: float) -> float:
    """The crossing of an increasing function: false position with bisection (Illinois), in the logarithm."""
    at_low, high = excess(low), low
    at_high = at_low
    while at_high <= 0 and high < LARGEST:
        low, at_low, high = high, at_high, min(2 * high, LARGEST)
        at_high = excess(high)
    if at_high <= 0:
        return high
    while at_low > 0:
        high, at_high, low = low, at_low, low / 2
        at_low = excess(low)
    for turn in range(TURNS):
        if high - low <= NEAR * high:
            break
        usable = at_low > -inf and turn % 3 != 2
        middle = low + (high - low) * (-at_low / (at_high - at_low) if usable else 0.5)
        middle = min(max(middle, low + 0.01 * (high - low)), high - 0.01 * (high - low)) if turn < 4 else middle
        value = excess(middle)
        if value <= 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
        if 0 <= -value < 1e-9:
            break
    return low


def _rho(epsilon: float, kappa: float) -> float:
    """The largest K(s)/(s(1+s)) of a three-point pair on a grid, or its limit at 0."""
    import numpy as np

    gain = -expm1(-epsilon)
    limit = epsilon * gain / (gain + kappa * exp(-epsilon))
    s = _orders()
    s = s[(1 + s) * epsilon < LARGEST]
    if not s.size:
        return limit
    rise = -np.expm1((1 + s) * epsilon) * np.expm1(-s * epsilon)
    ratios = np.log1p(rise / (exp(epsilon) + kappa - 1)) / (s * (1 + s))
    return max(limit, float(ratios.max()))


@cache
def _orders() -> NDArray[Any]:
    import numpy as np

    return np.geomspace(1e-3, 1e4, 700)


def _delta(epsilon: float, kappa: float, count: int, whole: float) -> float:
    """delta at `whole` of so many independent three-point pairs: the sum of their signs, by powers of the law."""
    import numpy as np

    total = exp(epsilon) + kappa - 1
    steps = np.array([1, max(kappa - 2, 0.0), exp(epsilon)]) / total
    if count == 1:
        law = steps
    else:
        law, base, left = np.ones(1), steps, count
        while left:
            if left & 1:
                law = np.convolve(law, base)
            left >>= 1
            if left:
                base = np.convolve(base, base)
    losses = epsilon * np.arange(-count, count + 1)
    above = losses > whole
    return float((law[above] * -np.expm1(whole - losses[above])).sum())
