"""Calibration: the free parameter of a mechanism or plan that gives least noise within a budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from inspect import signature
from math import exp, inf, isfinite, log

from zcdp.display.calls import spoken
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.numeric.certify import NotCertified, Undecided
from zcdp.numeric.exact import Value, log_of, positive_rational, probability, rational
from zcdp.privacy.curve import Curve

__all__ = ["calibrate"]

Excess = Callable[[float], float]

RELATIVE = 2.0**-42  # the answer is this near to the edge of the budget
LEAST, MOST = 1e-300, 1e300


@spoken
def calibrate(
    build: Callable[[float], Curve],
    *,
    rho: Value | None = None,
    epsilon: Value | None = None,
    delta: Value | None = None,
) -> float:
    """The parameter nearest to the edge of the budget at which `build(parameter)` is certified to fit.

    The budget is rho, or epsilon with delta. The cost must be monotone in the parameter: where it rises (an epsilon)
    the answer is the largest that fits, where it falls (a scale) the smallest. Whatever the search does, the answer has
    been checked by a certified upper bound. Theorem: docs/theorems/calibration.md.

    >>> from zcdp import Laplace
    >>> calibrate(lambda e: 1000 * Laplace(epsilon=e), epsilon=1, delta=1e-6)
    0.0075051...
    >>> calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6)
    133.2422...
    """
    build = _checked(build)
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
        budget = positive_rational(rho, "rho")
        excess = _excess(build, lambda curve: curve.rho, budget)
        start, step = 1.0, 2.0
    elif epsilon is None or delta is None:
        raise BadType("give a budget: rho, or epsilon and delta")
    elif rational(delta, "delta") == 0:
        budget = positive_rational(epsilon, "epsilon")
        excess = _excess(build, lambda curve: curve.pure_epsilon, budget)
        start, step = 1.0, 2.0
    else:
        point = rational(epsilon, "epsilon")
        if point < 0:
            raise BadValue(f"epsilon ({epsilon}) must not be negative")
        budget = probability(delta, "delta")
        excess = _excess(build, lambda curve: curve.delta_at(epsilon=point), budget)
        near = _proposal(build, point, budget, excess)
        start, step = (1.0, 2.0) if near is None else (near, 1 + 1e-9)
    rising = _is_rising(build)
    inside, outside = _bracket(excess, start, step if rising else 1 / step)
    return _narrow(excess, inside, outside, RELATIVE)


def _checked(build: Callable[[float], Curve]) -> Callable[[float], Curve]:
    """The function, of which each answer is a mechanism or a plan."""
    example = "lambda e: Laplace(epsilon=e)"
    if not callable(build) or isinstance(build, type):
        raise BadType(f"build ({thing(build)}) must be a function of the free parameter, as {example}")

    with suppress(ValueError):  # where Python does not know what a function takes
        try:
            signature(build).bind(1.0)
        except TypeError:
            raise BadType(f"build must take one number, the free parameter, as {example}") from None

    def made(parameter: float) -> Curve:
        curve = build(parameter)
        if not isinstance(curve, Curve):
            raise BadType(f"build must return a mechanism or a plan, as {example}, not {thing(curve)}")
        return curve

    return made


def _excess(build: Callable[[float], Curve], cost: Callable[[Curve], float], budget: Fraction) -> Excess:
    """The logarithm of cost over budget, at most 0 only where the cost is certified to fit."""
    target = log_of(budget)

    @cache
    def excess(parameter: float) -> float:
        try:
            spent = cost(build(parameter))
        except (NotCertified, Undecided):
            return inf
        if spent <= budget:
            return min(log(spent) - target, 0.0) if spent > 0 else -inf
        return max(log(spent) - target, 5e-324) if spent < inf else inf

    return excess


def _proposal(build: Callable[[float], Curve], epsilon: Fraction, budget: Fraction, excess: Excess) -> float | None:
    """Where the edge should be, if that can be told: it decides how long the search takes, not what it finds."""
    try:
        return _near_edge(build, epsilon, budget, excess)
    except (ArithmeticError, ValueError):  # beyond what formulas for a first guess are good for
        return None


def _near_edge(build: Callable[[float], Curve], epsilon: Fraction, budget: Fraction, excess: Excess) -> float | None:
    """By the saddle point formula, then by Newton's method on better values."""
    target = log_of(budget)

    @cache
    def saddle(parameter: float) -> float:
        profile = build(parameter).profile
        assert profile is not None
        return profile.propose_log_delta(epsilon, rough=True) - target

    if build(1.0).profile is None:
        return None
    inside, outside = _bracket(saddle, 1.0, 2.0 if _is_rising(build) else 0.5)
    parameter = _narrow(saddle, inside, outside, 1e-3)
    slope = (saddle(parameter * 1.001) - saddle(parameter)) / log(1.001)
    profile = build(parameter).profile
    assert profile is not None
    parameter = _step(parameter, profile.propose_log_delta(epsilon) - target, slope)
    return _step(parameter, excess(parameter), slope)


def _step(parameter: float, miss: float, slope: float) -> float:
    """Newton's step in the logarithm of the parameter, unless it is a large one."""
    move = -miss / slope if slope and isfinite(slope) else inf
    return parameter * exp(move) if abs(move) <= 0.1 else parameter


def _is_rising(build: Callable[[float], Curve]) -> bool:
    """Whether the Kullback-Leibler divergence rises with the parameter."""
    low, high = build(1.0).rdp(1), build(2.0).rdp(1)
    if low == high:
        raise BadValue("the cost does not depend on the parameter: there is nothing to calibrate")
    return low < high


def _bracket(excess: Excess, start: float, factor: float) -> tuple[float, float]:
    """Parameters that fit and do not fit; the cost rises by the factor, which grows on the way."""
    inside = outside = start
    if excess(start) <= 0:
        while excess(outside := inside * factor) <= 0:
            inside, factor = outside, _grow(factor)
            if not LEAST < inside < MOST:
                raise BadValue("the budget is so large that every parameter fits")
    else:
        while excess(inside := outside / factor) > 0:
            outside, factor = inside, _grow(factor)
            if not LEAST < outside < MOST:
                raise BadValue("the budget is so small that no parameter fits")
    return inside, outside


def _grow(factor: float) -> float:
    """Small steps grow tenfold, large ones are squared; steps down are the inverse of steps up."""
    if factor < 1:
        return 1 / _grow(1 / factor)
    return factor * factor if factor > 1.2 else 1 + 10 * (factor - 1)


def _narrow(excess: Excess, inside: float, outside: float, relative: float) -> float:
    """Close in on the edge: secants in logarithms, placed a little inside it, and bisection whenever they stall."""
    at_inside, at_outside = excess(inside), excess(outside)
    for turn in range(200):
        low, high = log(inside), log(outside)
        if abs(high - low) <= relative:
            break
        middle = (low + high) / 2
        if -inf < at_inside < at_outside < inf and turn % 4 != 3:
            slope = (at_outside - at_inside) / (high - low)
            # half a tolerance inside the edge, or outside it if the inside is already that near
            offset = -0.5 if -at_inside > relative * abs(slope) else 0.25
            middle = low + (offset * relative * abs(slope) - at_inside) / slope if slope else middle
        parameter = exp(middle)
        if not min(inside, outside) < parameter < max(inside, outside):
            parameter = inside + (outside - inside) / 2
        if not min(inside, outside) < parameter < max(inside, outside):
            break
        value = excess(parameter)
        if value <= 0:
            inside, at_inside = parameter, value
            gap = log(outside) - log(inside)
            if -inf < value and abs(value * gap) <= relative * abs(at_outside - value):
                break  # the edge is not further away than the tolerance
        else:
            outside, at_outside = parameter, value
    return inside
