"""Calibration: the free parameter of a mechanism or plan that gives least noise within a budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from inspect import signature
from math import exp, expm1, inf, isfinite, log, log1p, nextafter

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, Undecided
from zcdp.numeric.exact import Value, log_of, positive_rational, probability, rational
from zcdp.numeric.work import SECOND, done
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken
from zcdp.text.suggestions import thing

__all__ = ["calibrate"]

Excess = Callable[[float], float]
Distance = Callable[[float], float]
Point = tuple[float, float]

RELATIVE = 2.0**-42  # the answer is this near to the edge of the budget
TOLD = 2.0**-38  # or its cost, where that is a delta beyond 1/2: as near as such deltas are told apart
LEAST, MOST = 1e-300, 1e300
SMALLEST = 2.0**-1000  # Below it floats have fewer and fewer digits.
FURTHER, FURTHEST = 1.25, 3.0  # times what should reach the edge, and e-folds of the parameter at once
FLAT = 1e-2  # of the logarithm of a cost
LONG, TOO_LONG = 4 * SECOND, 8 * SECOND  # work after which NEAR is near enough, and after which the search ends
NEAR, MANY = 1e-3, 30  # as a part of the parameter; and the kinds in a plan for which there is as much work again


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
    the answer is the largest that fits, where it falls (a scale) the smallest; it may stay further inside where costs
    take long to tell. Whatever the search does, the answer has been checked by a certified upper bound. Theorem:
    docs/theorems/calibration.md.

    >>> from zcdp import Laplace
    >>> calibrate(lambda e: 1000 * Laplace(epsilon=e), epsilon=1, delta=1e-6)
    0.0075051...
    >>> calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6)
    133.2422...
    """
    build, enough, begun = _checked(build), 0.0, done()
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
        distance = _distance_of_delta(budget)
        excess = _excess(build, lambda curve: curve.delta_at(epsilon=point), budget, distance)
        start, step = _proposal(build, point, distance, excess) or (1.0, 2.0)
        if budget > Fraction(1, 2):
            enough = min(TOLD * float(budget / (1 - budget)) / -log_of(1 - budget), 1e-3)
        elif budget < SMALLEST:
            enough = _one_float(budget)
    rising, share = _is_rising(build), 1 + len(build(1.0).parts) / MANY
    inside, outside = _bracket(excess, start, step if rising else 1 / step)
    return _narrow(excess, inside, outside, RELATIVE, enough, (begun + share * LONG, begun + share * TOO_LONG))


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


def _excess(
    build: Callable[[float], Curve], cost: Callable[[Curve], float], budget: Fraction, distance: Distance | None = None
) -> Excess:
    """The logarithm of cost over budget, or another distance; at most 0 only where the cost is certified to fit."""
    over = distance or _distance(budget)

    @cache
    def excess(parameter: float) -> float:
        try:
            spent = cost(build(parameter))
        except (NotCertified, Undecided):
            return inf
        if spent <= budget:
            return min(over(log(spent)), 0.0) if spent > 0 else -inf
        return max(over(log(spent)), 5e-324) if spent < inf else inf

    return excess


def _distance(budget: Fraction) -> Distance:
    """How far the logarithm of a cost is above that of the budget."""
    target = log_of(budget)
    return lambda size: size - target


def _distance_of_delta(budget: Fraction) -> Distance:
    """The same of a delta; beyond 1/2 it hardly changes on its way to 1, and -log(1 - delta) is taken for it."""
    if budget <= Fraction(1, 2):
        return _distance(budget)
    target = log(-log_of(1 - budget))

    def distance(size: float) -> float:
        if size >= 0 or size < -30:  # where -log(1 - delta) is infinite, or delta itself
            return inf if size >= 0 else size - target
        return log(-log(-expm1(size)) if size > -1 else -log1p(-exp(size))) - target

    return distance


def _one_float(budget: Fraction) -> float:
    """How far the largest float within a tiny budget may be below it: no cost is told to be nearer."""
    nearest = float(budget)
    within = nearest if Fraction(nearest) <= budget else nextafter(nearest, 0.0)
    return log_of(budget) - log_of(Fraction(within)) + RELATIVE if within else 0.0


def _proposal(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, excess: Excess
) -> tuple[float, float] | None:
    """Where the edge should be, if that can be told, and by which factor the search leaves that first.

    It decides how long the search takes, not what it finds.
    """
    try:
        return _near_edge(build, epsilon, distance, excess)
    except (ArithmeticError, ValueError):  # beyond what formulas for a first guess are good for
        return None


def _near_edge(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, excess: Excess
) -> tuple[float, float] | None:
    """By the saddle point formula, then by Newton's method on better values."""

    @cache
    def saddle(parameter: float) -> float:
        profile = build(parameter).profile
        assert profile is not None
        return distance(profile.propose_log_delta(epsilon, rough=True))

    if build(1.0).profile is None:
        return None
    inside, outside = _bracket(saddle, 1.0, 2.0 if _is_rising(build) else 0.5)
    parameter = _narrow(saddle, inside, outside, 1e-3)
    slope = (saddle(parameter * 1.001) - saddle(parameter)) / log(1.001)
    profile = build(parameter).profile
    assert profile is not None
    parameter = _step(parameter, distance(profile.propose_log_delta(epsilon)), slope)
    parameter = _step(parameter, excess(parameter), slope)
    left = FURTHER * abs(excess(parameter) / (slope if slope and isfinite(slope) else 1.0))
    return parameter, 1 + max(1e-9, min(left, 0.1))


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
    fits = excess(start) <= 0
    known, value = start, excess(start)
    far = MOST if fits is (factor > 1) else LEAST
    while (excess(following := known * factor if fits else known / factor) <= 0) is fits:
        before, value = value, excess(following)
        if not LEAST < following < MOST or (_is_flat(factor, before, value) and _is_flat(factor, value, excess(far))):
            size, what = ("large", "every") if fits else ("small", "no")
            raise BadValue(f"the budget is so {size} that {what} parameter fits")
        known, factor = following, _further(factor, before, value)
    return (known, following) if fits else (following, known)


def _is_flat(factor: float, one: float, other: float) -> bool:
    """Whether the cost, far from its budget, has hardly changed by a large factor: it may do so to the very end."""
    return not 0.5 < factor < 2 and FLAT < abs(other) < inf and abs(one - other) <= FLAT / 10


def _further(factor: float, before: float, value: float) -> float:
    """A larger factor; after a small one as large as to reach beyond the edge, by what it has changed."""
    grown = _grow(factor)
    if not 1 / 1.2 < factor < 1.2 or not 0 < abs(value - before) < inf:
        return grown
    wanted = FURTHER * abs(value / (value - before) * log(factor))
    return max(grown, exp(min(wanted, FURTHEST))) if factor > 1 else min(grown, exp(-min(wanted, FURTHEST)))


def _grow(factor: float) -> float:
    """Small steps grow tenfold, large ones are squared; steps down are the inverse of steps up."""
    if factor < 1:
        return 1 / _grow(1 / factor)
    return factor * factor if factor > 1.2 else 1 + 10 * (factor - 1)


def _narrow(
    excess: Excess,
    inside: float,
    outside: float,
    relative: float,
    enough: float = 0.0,
    work: tuple[float, float] = (inf, inf),
) -> float:
    """Close in on the edge: secants in logarithms, placed a little inside it, and bisection whenever they stall.

    A cost that is not further than `enough` from the budget is near enough; after some `work` the parameter is, too.
    """
    at_inside, at_outside = excess(inside), excess(outside)
    left: Point | None = None
    for turn in range(200):
        low, high = log(inside), log(outside)
        near = relative if done() <= work[0] else NEAR if done() <= work[1] else inf
        if abs(high - low) <= near or -at_inside < enough:
            break
        middle = (low + high) / 2
        if -inf < at_inside < at_outside < inf and (turn % 4 != 3 or _is_quick(at_inside, at_outside, left)):
            middle = _secant((low, at_inside), (high, at_outside), left, relative, enough)
        parameter = exp(middle) if min(low, high) <= middle <= max(low, high) else outside  # exp might overflow
        if not min(inside, outside) < parameter < max(inside, outside):
            parameter = inside + (outside - inside) / 2
        if not min(inside, outside) < parameter < max(inside, outside):
            break
        value = excess(parameter)
        if value <= 0:
            left, inside, at_inside = (low, at_inside), parameter, value
            gap = log(outside) - log(inside)
            if -inf < value and at_outside < inf and abs(value * gap) <= relative * abs(at_outside - value):
                break  # the edge is not further away than the tolerance
        else:
            left, outside, at_outside = (high, at_outside), parameter, value
    return inside


def _is_quick(at_inside: float, at_outside: float, left: Point | None) -> bool:
    """Whether the last step came much nearer to the edge on its side."""
    return left is not None and abs(at_inside if left[1] <= 0 else at_outside) <= abs(left[1]) / 16


def _secant(inside: Point, outside: Point, left: Point | None, relative: float, enough: float) -> float:
    """Where the edge should be, by the two ends; or by one of them and what was left for it, if that was nearer."""
    (low, at_inside), (high, at_outside) = inside, outside
    slope = (at_outside - at_inside) / (high - low)
    place, value = inside
    if left is not None:
        near, other = (inside, outside) if left[1] <= 0 else (outside, inside)
        local = (near[1] - left[1]) / (near[0] - left[0])
        if abs(left[1]) < abs(other[1]) and local * slope > 0:
            (place, value), slope = near, local
    if not slope:
        return (low + high) / 2
    # half a tolerance inside the edge, or outside it if the inside is already that near
    size = max(relative * abs(slope), enough)
    offset = -0.5 if -at_inside > size else 0.25
    return place + (offset * size - value) / slope
