"""Calibration: the free parameter of a mechanism or plan that gives least noise within a budget."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log

from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import Value, positive_rational, probability, rational
from zcdp.privacy.curve import Curve

__all__ = ["calibrate"]

RELATIVE = 2.0**-44  # the answer is this near to the edge of the budget
LEAST, MOST = 1e-300, 1e300


def calibrate(
    build: Callable[[float], Curve],
    *,
    rho: Value | None = None,
    epsilon: Value | None = None,
    delta: Value | None = None,
) -> float:
    """The parameter nearest to the edge of the budget at which `build(parameter)` is certified to fit.

    The budget is rho, or epsilon with delta. The cost must be monotone in the parameter: where it rises (an epsilon) the
    answer is the largest that fits, where it falls (a scale) the smallest. Whatever the search does, the answer has
    been checked by a certified upper bound. Theorem: docs/theorems/calibration.md.

    >>> from zcdp import Laplace
    >>> calibrate(lambda e: 1000 * Laplace(epsilon=e), epsilon=1, delta=1e-6)
    0.0075051...
    >>> calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6)
    133.2422...
    """
    excess = _excess(build, rho, epsilon, delta)
    rising = _is_rising(build)
    inside, outside = _bracket(excess, rising=rising)
    return _narrow(excess, inside, outside)


def _excess(
    build: Callable[[float], Curve], rho: Value | None, epsilon: Value | None, delta: Value | None
) -> Callable[[float], float]:
    """The logarithm of cost over budget, at most 0 only where the cost is certified to fit."""
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise ValueError(f"give rho ({rho}), or epsilon and delta, not both")
        budget, cost = positive_rational(rho, "rho"), lambda curve: curve.rho
    elif epsilon is None or delta is None:
        raise TypeError("give a budget: rho, or epsilon and delta")
    elif rational(delta, "delta") == 0:
        budget, cost = positive_rational(epsilon, "epsilon"), lambda curve: curve.pure_epsilon
    else:
        point = rational(epsilon, "epsilon")
        if point < 0:
            raise ValueError(f"epsilon ({epsilon}) must not be negative")
        budget, cost = probability(delta, "delta"), lambda curve: curve.delta_at(epsilon=point)

    def excess(parameter: float) -> float:
        try:
            spent = cost(build(parameter))
        except NotCertified:
            return inf
        if spent <= budget:
            return min(log(spent) - log(budget), 0.0) if spent > 0 else -inf
        return max(log(spent) - log(budget), 5e-324) if spent < inf else inf

    return excess


def _is_rising(build: Callable[[float], Curve]) -> bool:
    """Whether the Kullback-Leibler divergence rises with the parameter."""
    low, high = build(1.0).rdp(1), build(2.0).rdp(1)
    if low == high:
        raise ValueError("the cost does not depend on the parameter: there is nothing to calibrate")
    return low < high


def _bracket(excess: Callable[[float], float], *, rising: bool) -> tuple[float, float]:
    """Parameters that fit and do not fit, a power of two apart."""
    inside = outside = 1.0
    if excess(1.0) <= 0:
        factor = 2.0 if rising else 0.5
        while excess(outside := inside * factor) <= 0:
            inside, factor = outside, factor * factor
            if not LEAST < inside < MOST:
                raise ValueError("the budget is so large that every parameter fits")
    else:
        factor = 0.5 if rising else 2.0
        while excess(inside := outside * factor) > 0:
            outside, factor = inside, factor * factor
            if not LEAST < outside < MOST:
                raise ValueError("the budget is so small that no parameter fits")
    return inside, outside


def _narrow(excess: Callable[[float], float], inside: float, outside: float) -> float:
    """Close in on the edge by secants in logarithms, with a bisection whenever they stall."""
    at_inside, at_outside = excess(inside), excess(outside)
    for turn in range(200):
        if abs(outside / inside - 1) <= RELATIVE:
            break
        low, high = log(inside), log(outside)
        middle = (low + high) / 2
        if -inf < at_inside < at_outside < inf and turn % 3 != 2:
            middle = low - at_inside * (high - low) / (at_outside - at_inside)
            nudge = abs(high - low) * 1e-3 if turn % 3 == 0 else 0.25 * RELATIVE  # step over the edge from both sides
            middle += nudge if abs(middle - low) < abs(high - middle) and high > low else -nudge
        parameter = exp(middle)
        if not min(inside, outside) < parameter < max(inside, outside):
            parameter = inside + (outside - inside) / 2
        value = excess(parameter)
        if value <= 0:
            inside, at_inside = parameter, value
        else:
            outside, at_outside = parameter, value
    return inside

