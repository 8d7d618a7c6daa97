"""A budget for all of a client's reports, and the largest epsilon of one report within it.

`largest_epsilon` is a heuristic search in floats, `holds` the certified check. Pairs of neighbours are *three-point*:
the privacy loss is epsilon, 0 or -epsilon, and the number kappa says how often it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, expm1, inf, log, sqrt
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.doubles import power
from zcdp.numeric.exact import Value, positive_rational, probability, rational
from zcdp.privacy.curve import Curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Budget", "Kappa"]


Kappa = Callable[[float], float]
"""kappa of a mechanism as a function of e^epsilon: docs/theorems/three-point-maps.md."""

LARGEST_EPSILON = 700.0  # beyond it e^epsilon is no float
TOLERANCE = 1e-9  # of the root search, relative
MOST_TURNS = 60


@dataclass(frozen=True)
class Budget:
    """A budget for all reports of one client: rho, or epsilon at delta; delta = 0 means pure DP."""

    rho: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, *, rho: Value | None, epsilon: Value | None, delta: Value | None) -> Budget:
        """The budget as a user gives it, checked."""
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
        """Whether the plan is certified to stay within the budget."""
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
        """The cost of the plan in the budget's unit, rho or epsilon at its delta, rounded up."""
        if self.rho is not None:
            return plan.rho
        return plan.epsilon_at(delta=self.delta) if self.delta else plan.pure_epsilon

    def largest_epsilon(self, kappa: Kappa, count: int) -> float:
        """About the largest epsilon at which `count` reports fit the budget: heuristic, to be certified by `holds`."""
        if self.epsilon is not None and self.delta == 0:
            return min(float(self.epsilon) / count, LARGEST_EPSILON)
        excess = self._rho_excess if self.rho is not None else self._delta_excess
        return _largest_within(lambda epsilon: excess(epsilon, kappa(exp(epsilon)), count), self._first(count))

    def _first(self, count: int) -> float:
        """An epsilon that fits by simple bounds, to start the search from."""
        if self.rho is not None:
            return min(sqrt(2 * float(self.rho) / count), LARGEST_EPSILON / 2)
        assert self.epsilon is not None
        return min(float(self.epsilon) / count, LARGEST_EPSILON / 2)

    def _rho_excess(self, epsilon: float, kappa: float, count: int) -> float:
        """log(cost/budget) in rho, in floats."""
        assert self.rho is not None
        return log(count * _rho(epsilon, kappa)) - log(float(self.rho))

    def _delta_excess(self, epsilon: float, kappa: float, count: int) -> float:
        """log(cost/budget) in delta at the budget's epsilon, in floats."""
        assert self.epsilon is not None
        found = _delta(epsilon, kappa, count, float(self.epsilon))
        return log(found) - log(float(self.delta)) if found > 0 else -inf


def _largest_within(excess: Callable[[float], float], low: float) -> float:
    """The root of an increasing function, approached from below: false position, with bisection in every third step.

    The search starts at `low`; if the function stays negative up to LARGEST_EPSILON, that is the answer.
    """
    at_low, high = excess(low), low
    at_high = at_low
    while at_high <= 0 and high < LARGEST_EPSILON:
        low, at_low, high = high, at_high, min(2 * high, LARGEST_EPSILON)
        at_high = excess(high)
    if at_high <= 0:
        return high
    while at_low > 0:
        high, at_high, low = low, at_low, low / 2
        at_low = excess(low)
    for turn in range(MOST_TURNS):
        if high - low <= TOLERANCE * high:
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
    """rho of a three-point pair in floats: the largest K(s)/(s(1+s)) on a grid of s, or the limit as s goes to 0."""
    import numpy as np

    gain = -expm1(-epsilon)
    limit = epsilon * gain / (gain + kappa * exp(-epsilon))
    s = _grid_of_s()
    s = s[(1 + s) * epsilon < LARGEST_EPSILON]
    if not s.size:
        return limit
    rise = -np.expm1((1 + s) * epsilon) * np.expm1(-s * epsilon)
    ratios = np.log1p(rise / (exp(epsilon) + kappa - 1)) / (s * (1 + s))
    return max(limit, float(ratios.max()))


@cache
def _grid_of_s() -> NDArray[Any]:
    """The values of s = alpha - 1 at which rho is approximated."""
    import numpy as np

    return np.geomspace(1e-3, 1e4, 700)


def _delta(epsilon: float, kappa: float, count: int, whole: float) -> float:
    """delta at epsilon = `whole` of `count` independent three-point pairs, in floats.

    The total loss is epsilon times a sum of signs, whose law is a convolution power of the law of one sign.
    """
    import numpy as np

    total = exp(epsilon) + kappa - 1
    steps = np.array([1, max(kappa - 2, 0.0), exp(epsilon)]) / total
    law = power(steps, count, np.convolve)
    losses = epsilon * np.arange(-count, count + 1)
    above = losses > whole
    return float((law[above] * -np.expm1(whole - losses[above])).sum())
