"""Calibration: the free parameter of a mechanism or plan that gives least noise within a budget.

A root search in the logarithm of the parameter: a heuristic guess by the saddle point formula and Newton's method, then
a bracket, then secant steps with bisection. The parameter returned has been certified to fit the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache, lru_cache
from inspect import signature
from math import exp, expm1, inf, isfinite, log, log1p

from zcdp.accounting.risk_targets import RiskTarget
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, Undecided
from zcdp.numeric.exact import Value, in_domain, log_of, positive_rational, probability, rational
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.work import SECOND, done
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken
from zcdp.text.suggestions import thing

__all__ = ["calibrate"]

Excess = Callable[[float], float]
"""From the parameter to a distance of its cost from the budget, mostly log(cost/budget): at most 0 if it fits."""
Distance = Callable[[float], float]
"""From the logarithm of a cost to its distance from the budget."""
Point = tuple[float, float]
"""(log parameter, excess)."""
Proposal = tuple[float, float, tuple[float, float] | None]
"""A guess of the edge, the factor of the first step away from it, and (inside, outside) where both are known."""
AT_ONE: Proposal = 1.0, 2.0, None

# The *edge* is the parameter at which the cost equals the budget.
TOLERANCE = 2.0**-42  # relative distance of the answer from the edge
DELTA_TOLERANCE = 2.0**-38  # of the cost, for a delta above 1/2: certified deltas there are not told apart more finely
KEPT_PLANS = 4  # of those that `build` made last: the search asks some of them several times
LEAST_PARAMETER, MOST_PARAMETER = 1e-300, 1e300
OVERSHOOT, LONGEST_STEP = 1.25, 3.0  # steps are this much longer than the edge seems away, up to e^3 at once
FLAT = 1e-2  # a cost further than this from its budget, in logarithms, that changes by a tenth of it, is flat
LONG, TOO_LONG = 4 * SECOND, 8 * SECOND  # work after which LOOSE_TOLERANCE is enough, and LAST_TOLERANCE
LOOSE_TOLERANCE, LAST_TOLERANCE = 1e-3, 5e-3  # relative distances from the edge
KINDS_PER_SHARE = 30  # a plan may take this work once more for each 30 different mechanisms
# With so many different mechanisms, this relative distance from the edge is enough.
MANY_KINDS, NEAR_TOLERANCE = 20, 1e-5
MOST_FLOAT_STEPS = 6  # of the search for the edge in floats
# How often the parameter is moved until epsilon at delta fits too, and the largest relative excess that is mended so.
MOST_MOVES, LARGEST_EXCESS = 4, 1e-3


@spoken
def calibrate(
    build: Callable[[float], Curve],
    *,
    rho: Value | None = None,
    epsilon: Value | None = None,
    delta: Value | None = None,
    advantage: Value | None = None,
    tpr: Value | None = None,
    fpr: Value | None = None,
) -> float:
    """The parameter of least noise at which `build(parameter)` is certified to fit the budget.

    The budget is rho; or epsilon with delta; or what an attacker may gain: the advantage, or at most the share `tpr` of
    members found at the share `fpr` of false alarms. The cost must be monotone in the parameter: if it rises (an
    epsilon) the answer is the largest parameter that fits, if it falls (a scale) the smallest. Where costs take long to
    compute the answer may be a little further inside the budget. Whatever the search does, the answer has been checked
    by a certified upper bound. Theorem: docs/theorems/calibration.md.

    >>> from zcdp import Gaussian, Laplace
    >>> calibrate(lambda e: 1000 * Laplace(epsilon=e), epsilon=1, delta=1e-6)
    0.0075051...
    >>> calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6)
    133.2422...
    >>> calibrate(lambda s: 100 * Gaussian(sigma=s), tpr="0.01", fpr="0.001")
    13.0909...
    """
    risk = RiskTarget.given(advantage=advantage, tpr=tpr, fpr=fpr)
    if risk is not None and any(one is not None for one in (rho, epsilon, delta)):
        raise BadValue("give one budget: rho, or epsilon and delta, or advantage, or tpr and fpr")
    asked, build, begun = build, _checked(build), done()
    if risk is not None and risk.fpr is None:  # the advantage is delta at epsilon 0
        excess, (start, step, known), enough = _within_delta(build, 0, risk.gain)
    elif rho is None and risk is None and epsilon is not None and delta is not None and rational(delta, "delta"):
        excess, (start, step, known), enough = _within_delta(build, epsilon, delta)
    else:
        excess = _simple_excess(build, rho, epsilon, delta, risk)
        (start, step, known), enough = AT_ONE, 0.0
    rising, kinds = _is_rising(build), len(build(1.0).parts)
    share, near = 1 + kinds / KINDS_PER_SHARE, NEAR_TOLERANCE if kinds >= MANY_KINDS else TOLERANCE
    inside, outside = known or _bracket(excess, start, step if rising else 1 / step)
    found = _narrow(excess, inside, outside, near, enough, (begun + share * LONG, begun + share * TOO_LONG))
    if epsilon is not None and delta is not None:
        found = _by_both_questions(build, excess, found, rising, rational(epsilon, "epsilon"), rational(delta, "delta"))
    try:
        asked(found)  # the search may end beyond the domain of the parameter
    except BadValue as error:
        raise BadValue(f"the budget asks for {found:.6g} as the parameter: {error}") from None
    return found


def _by_both_questions(
    build: Callable[[float], Curve], excess: Excess, found: float, rising: bool, epsilon: Fraction, delta: Fraction
) -> float:
    """The parameter at which not only delta at `epsilon` is within the budget, but also `epsilon_at` that delta.

    Both certify the budget; but where engines round differently, as for epochs of random allocation, epsilon at delta
    may be above by some millionths. Then the parameter moves inside by twice as much. If that does not help, it stays.
    """
    parameter = found
    for _ in range(MOST_MOVES):
        try:
            least = build(parameter).epsilon_at(delta=delta)
        except (NotCertified, Undecided):
            break
        if least <= epsilon and excess(parameter) <= 0:
            return parameter
        if not 0 < least < (1 + LARGEST_EXCESS) * epsilon:
            break
        move = 2 * max(least / float(epsilon) - 1, TOLERANCE)
        parameter *= 1 - move if rising else 1 + move
    return found


def _simple_excess(
    build: Callable[[float], Curve],
    rho: Value | None,
    epsilon: Value | None,
    delta: Value | None,
    risk: RiskTarget | None,
) -> Excess:
    """The excess over a budget in rho, in pure epsilon or in an attacker's gain."""
    if risk is not None:
        return _excess(build, risk.cost, risk.gain)
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
        return _excess(build, lambda curve: curve.rho, positive_rational(rho, "rho"))
    if epsilon is None or delta is None:
        raise BadType("give a budget: rho, or epsilon and delta, or advantage, or tpr and fpr")
    return _excess(build, lambda curve: curve.pure_epsilon, positive_rational(epsilon, "epsilon"))


def _within_delta(build: Callable[[float], Curve], epsilon: Value, delta: Value) -> tuple[Excess, Proposal, float]:
    """The excess over a delta at epsilon, where to begin, and the distance from the budget that is near enough."""
    point = rational(epsilon, "epsilon")
    if point < 0:
        raise BadValue(f"epsilon ({epsilon}) must not be negative")
    if point:
        in_domain(point, "epsilon", epsilon)
    budget = probability(delta, "delta")
    distance = _distance_of_delta(budget)
    excess = _excess(build, lambda curve: curve.delta_at(epsilon=point), budget, distance)
    enough = 0.0
    if budget > Fraction(1, 2):
        enough = min(DELTA_TOLERANCE * float(budget / (1 - budget)) / -log_of(1 - budget), 1e-3)
    return excess, _proposal(build, point, distance, excess) or AT_ONE, enough


def _checked(build: Callable[[float], Curve]) -> Callable[[float], Curve]:
    """The function `build`, checked: it takes one number, and each result must be a mechanism or a plan."""
    example = "lambda e: Laplace(epsilon=e)"
    if not callable(build) or isinstance(build, type):
        raise BadType(f"build ({thing(build)}) must be a function of the free parameter, as {example}")

    with suppress(ValueError):  # raised for built-in functions without a signature
        try:
            signature(build).bind(1.0)
        except TypeError:
            raise BadType(f"build must take one number, the free parameter, as {example}") from None

    @lru_cache(maxsize=KEPT_PLANS)
    def made(parameter: float) -> Curve:
        curve = unlimited(build)(parameter)
        if not isinstance(curve, Curve):
            raise BadType(f"build must return a mechanism or a plan, as {example}, not {thing(curve)}")
        return curve

    return made


def _excess(
    build: Callable[[float], Curve],
    cost: Callable[[Curve], float | Fraction],
    budget: Fraction,
    distance: Distance | None = None,
) -> Excess:
    """The excess of a parameter: log(cost/budget), or another `distance`; at most 0 only if certified to fit.

    It is inf where the cost cannot be certified.
    """
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
    """log(cost) - log(budget), as a function of log(cost)."""
    target = log_of(budget)
    return lambda size: size - target


def _distance_of_delta(budget: Fraction) -> Distance:
    """The distance of a delta from its budget: in log(delta), or for a budget above 1/2 in log(-log(1 - delta)).

    Above 1/2 delta itself hardly changes on its way to 1.
    """
    if budget <= Fraction(1, 2):
        return _distance(budget)
    target = log(-log_of(1 - budget))

    def distance(size: float) -> float:
        if size >= 0 or size < -30:  # -log(1 - delta) is infinite, or equal to delta in floats
            return inf if size >= 0 else size - target
        return log(-log(-expm1(size)) if size > -1 else -log1p(-exp(size))) - target

    return distance


def _proposal(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, excess: Excess
) -> Proposal | None:
    """A heuristic guess of the edge; None if no formula applies.

    It decides how long the search takes, not what it finds.
    """
    try:
        return _near_edge(build, epsilon, distance, excess)
    except (ArithmeticError, ValueError):  # parameters beyond the range of the formulas
        return None


def _near_edge(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, excess: Excess
) -> Proposal | None:
    """The guess of `_proposal`: the root of the saddle point formula, then Newton steps on more accurate deltas."""

    @cache
    def saddle(parameter: float) -> float:
        profile = build(parameter).profile
        assert profile is not None
        try:
            return distance(profile.propose_log_delta(epsilon, rough=True))
        except NotCertified:  # the bracket may step to noise too small for a law: the edge lies on this side of it
            return inf

    if build(1.0).profile is None:
        return None
    inside, outside = _bracket(saddle, 1.0, 2.0 if _is_rising(build) else 0.5)
    many = len(build(1.0).parts) >= MANY_KINDS
    parameter = _narrow(saddle, inside, outside, 3e-2 if many else 1e-3)
    slope = (saddle(parameter * 1.001) - saddle(parameter)) / log(1.001)
    if many:  # More accurate deltas take as long as certified ones, but for floats.
        parameter, slope = _in_floats(build, epsilon, distance, parameter, slope)
        if -NEAR_TOLERANCE * abs(slope) <= excess(parameter) <= 0:
            return parameter, 1 + 1e-4, (parameter, parameter)
        first, second = parameter, _step(parameter, excess(parameter), slope)
        straddled = excess(first) > 0 >= excess(second) and isfinite(excess(first))
        return second, 1 + 1e-4, (second, first) if straddled else None
    profile = build(parameter).profile
    assert profile is not None
    parameter = _step(parameter, distance(profile.propose_log_delta(epsilon)), slope)
    parameter = _step(parameter, excess(parameter), slope)
    left = OVERSHOOT * abs(excess(parameter) / (slope if slope and isfinite(slope) else 1.0))
    return parameter, 1 + max(1e-9, min(left, 0.1)), None


def _in_floats(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, parameter: float, slope: float
) -> tuple[float, float]:
    """A parameter just inside the edge and the slope there, by secants on deltas in floats, if these are known."""
    value = _float_distance(build, epsilon, distance, parameter)
    for _ in range(MOST_FLOAT_STEPS):
        if value is None or abs(value) <= NEAR_TOLERANCE * abs(slope) / 100:
            break
        following = _step(parameter, value, slope)
        after = _float_distance(build, epsilon, distance, following)
        if after is None or following == parameter:
            break
        slope = (after - value) / log(following / parameter)
        parameter, value = following, after
    return (parameter if value is None else _step(parameter, value + NEAR_TOLERANCE / 2 * abs(slope), slope)), slope


def _float_distance(
    build: Callable[[float], Curve], epsilon: Fraction, distance: Distance, parameter: float
) -> float | None:
    profile = build(parameter).profile
    assert profile is not None
    found = profile.propose_in_floats(epsilon)
    return None if found is None else distance(found)


def _step(parameter: float, miss: float, slope: float) -> float:
    """The parameter after a Newton step in its logarithm; steps above 0.1 are not taken."""
    move = -miss / slope if slope and isfinite(slope) else inf
    return parameter * exp(move) if abs(move) <= 0.1 else parameter


def _is_rising(build: Callable[[float], Curve]) -> bool:
    """Whether the cost rises with the parameter, judged by the Kullback-Leibler divergence at 1 and 2."""
    low, high = build(1.0).rdp(1), build(2.0).rdp(1)
    if low == high:
        raise BadValue("the cost does not depend on the parameter: there is nothing to calibrate")
    return low < high


def _bracket(excess: Excess, start: float, factor: float) -> tuple[float, float]:
    """A parameter that fits and one that does not, found from `start` by growing steps.

    Multiplying by `factor` raises the cost.
    """
    fits = excess(start) <= 0
    known, value = start, excess(start)
    far = MOST_PARAMETER if fits is (factor > 1) else LEAST_PARAMETER
    while (excess(following := known * factor if fits else known / factor) <= 0) is fits:
        before, value = value, excess(following)
        if not LEAST_PARAMETER < following < MOST_PARAMETER or (
            _is_flat(factor, before, value) and _is_flat(factor, value, excess(far))
        ):
            size, what = ("large", "every") if fits else ("small", "no")
            raise BadValue(f"the budget is so {size} that {what} parameter fits")
        known, factor = following, _further(factor, before, value)
    return (known, following) if fits else (following, known)


def _is_flat(factor: float, one: float, other: float) -> bool:
    """Whether a large factor has hardly changed a cost that is far from its budget: more steps may not reach it."""
    return not 0.5 < factor < 2 and FLAT < abs(other) < inf and abs(one - other) <= FLAT / 10


def _further(factor: float, before: float, value: float) -> float:
    """The next, larger factor; after a small one it is extrapolated to reach beyond the edge."""
    grown = _grow(factor)
    if not 1 / 1.2 < factor < 1.2 or not 0 < abs(value - before) < inf:
        return grown
    wanted = OVERSHOOT * abs(value / (value - before) * log(factor))
    return max(grown, exp(min(wanted, LONGEST_STEP))) if factor > 1 else min(grown, exp(-min(wanted, LONGEST_STEP)))


def _grow(factor: float) -> float:
    """The factor with its distance from 1 tenfold if it is small, squared if large; below 1 the inverse of that."""
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
    """A parameter that fits, within `relative` of the edge: secants in logarithms, and bisection when they stall.

    The search also ends at a cost within `enough` of the budget; after work[0] with LOOSE_TOLERANCE, and after work[1]
    with LAST_TOLERANCE: however long costs take, what is returned is near the edge.
    """
    at_inside, at_outside = excess(inside), excess(outside)
    left: Point | None = None
    for turn in range(200):
        low, high = log(inside), log(outside)
        near = relative if done() <= work[0] else LOOSE_TOLERANCE if done() <= work[1] else LAST_TOLERANCE
        near = max(near, relative)
        if abs(high - low) <= near or -at_inside < enough:
            break
        middle = (low + high) / 2
        if -inf < at_inside < at_outside < inf and (turn % 4 != 3 or _is_quick(at_inside, at_outside, left)):
            middle = _secant((low, at_inside), (high, at_outside), left, relative, enough)
        parameter = exp(middle) if min(low, high) <= middle <= max(low, high) else outside  # exp(middle) might overflow
        if not min(inside, outside) < parameter < max(inside, outside):
            parameter = inside + (outside - inside) / 2
        if not min(inside, outside) < parameter < max(inside, outside):
            break
        value = excess(parameter)
        if value <= 0:
            left, inside, at_inside = (low, at_inside), parameter, value
            gap = log(outside) - log(inside)
            if -inf < value and at_outside < inf and abs(value * gap) <= relative * abs(at_outside - value):
                break  # by the secant the edge is within the tolerance
        else:
            left, outside, at_outside = (high, at_outside), parameter, value
    return inside


def _is_quick(at_inside: float, at_outside: float, left: Point | None) -> bool:
    """Whether the last step reduced the excess on its side at least 16 times; `left` is the end it replaced."""
    return left is not None and abs(at_inside if left[1] <= 0 else at_outside) <= abs(left[1]) / 16


def _secant(inside: Point, outside: Point, left: Point | None, relative: float, enough: float) -> float:
    """The secant's guess of log(edge): through both ends, or through an end and the one it replaced, if that is nearer.

    `left` is the end that the last step replaced.
    """
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
    # aim half a tolerance inside the edge, or outside it if the inner end is already that near
    size = max(relative * abs(slope), enough)
    offset = -0.5 if -at_inside > size else 0.25
    return place + (offset * size - value) / slope
