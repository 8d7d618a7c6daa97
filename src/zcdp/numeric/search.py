"""One-dimensional searches: where a predicate begins to hold, where a function is zero, where it is least.

| to find | of | use |
|---|---|---|
| the least integer with a property | a monotone predicate | `least_integer`; `bisect_integers` in a bracket |
| the greatest float with a property | a monotone predicate | `greatest_float` |
| an edge within a tolerance | a monotone predicate | `gallop` for a bracket, then `bisection` |
| a sign change, with a proof | a function in balls, and its slope | `sign_change` |
| a root x > 0, from any guess | an increasing function | `false_position` |
| a root x > 0, from a good guess | a nearly linear function of log x | `secant` |
| a root to nearly all bits | a decreasing function | `newton` |
| a minimum | a unimodal function | `golden_section` |

The first three are as sure as their predicate: if that is decided in balls or exactly, the answer is certified, like
that of `sign_change`. The last four are heuristic: they propose in floats, and callers verify what they return.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import exp, inf, isfinite, log
from typing import TypeVar

from flint import arb, ctx

from zcdp.numeric.balls import Undecided
from zcdp.numeric.work import count_functions

__all__ = [
    "GOLDEN",
    "bisect_integers",
    "bisection",
    "false_position",
    "gallop",
    "golden_section",
    "greatest_float",
    "least_integer",
    "newton",
    "secant",
    "sign_change",
]

# Where a monotone predicate changes: bisection, and galloping where no bracket is known.


def bisect_integers(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer in (low, high] at which a monotone predicate holds, by bisection.

    The predicate is taken to fail at `low` and to hold at `high`, and is not asked there; in between, once it holds it
    must go on to hold. It is asked about log2(high - low) times.

    >>> bisect_integers(lambda n: n * n >= 1000, 0, 1000)
    32
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_integer(
    holds: Callable[[int], bool], start: int = 0, *, least: int | None = None, most: int | None = None
) -> int:
    """The least integer at which a monotone predicate holds, by galloping away from `start`, then bisection.

    Once the predicate holds it must go on to hold. It is not asked below `least`, where it is taken to fail, nor from
    `most` on, where it is taken to hold: without these ends it must change somewhere, or the search does not end. At a
    distance d from the start it is asked about 2 log2(d) times (exponential search, Bentley and Yao 1976): for answers
    of unknown size, or near a guess.

    >>> least_integer(lambda n: 2**n > 10**30)
    100
    >>> least_integer(lambda n: n > -5, start=1000), least_integer(lambda n: False, most=7)
    (-4, 7)
    """

    def reached(n: int) -> bool:
        return (least is None or n >= least) and ((most is not None and n >= most) or holds(n))

    step = 1
    if reached(start):
        low, high = start - 1, start
        while reached(low):
            low, high, step = low - step, low, 2 * step
    else:
        low, high = start, start + 1
        while not reached(high):
            low, high, step = high, high + step, 2 * step
    return bisect_integers(reached, low, high)


def _nth(index: int) -> float:
    """The n-th non-negative float, 0.0 being the 0-th: bit patterns of non-negative doubles sort like their values."""
    value: float = struct.unpack("<d", struct.pack("<q", index))[0]
    return value


LARGEST_FLOAT = 0x7FEF_FFFF_FFFF_FFFF  # the index of the largest finite float in `_nth`


def greatest_float(fits: Callable[[float], bool]) -> float | None:
    """The greatest positive finite float that fits, by bisection over all floats; None if none does.

    `fits` must be monotone: true up to some point and false beyond it. It is asked 63 times, and the next float does
    not fit: for an answer to the last bit that needs no guess and no tolerance.

    >>> greatest_float(lambda x: x * x <= 2)
    1.414213562373095
    """
    failing = bisect_integers(lambda n: not fits(_nth(n)), 0, LARGEST_FLOAT + 1)
    return _nth(failing - 1) if failing > 1 else None


def gallop(
    fits: Callable[[float], bool],
    start: float,
    factor: float,
    *,
    faster: bool = False,
    least: float = 1e-290,
    most: float = 1e290,
) -> tuple[float, float] | None:
    """Two positive floats around the edge of a monotone predicate: (does not fit, fits); None if none is found.

    Multiplying by `factor`, which may be below 1, leads from what fits to what does not: it is the ratio of the two, or
    a power of it if the steps get `faster`, each the square of the one before. The search ends with None beyond `least`
    and `most`. `bisection` takes it from there.

    >>> gallop(lambda x: x * x <= 2, 16.0, 2.0), gallop(lambda x: x >= 1e-4, 1.0, 0.5, faster=True)
    ((2.0, 1.0), (3.0517578125e-05, 0.0078125))
    """
    here, fitting = start, fits(start)
    while least < here < most:
        following = here * factor if fitting else here / factor
        if fits(following) is not fitting:
            return (following, here) if fitting else (here, following)
        here, factor = following, factor * factor if faster else factor
    return None


def bisection(
    fits: Callable[[float], bool],
    outside: float,
    inside: float,
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    steps: int = 2200,
) -> tuple[float, float]:
    """Two floats around the edge of a predicate: (does not fit, fits), as near as the tolerances ask.

    `fits` is taken to be false at `outside` and true at `inside`, in either order on the line, and is not asked there.
    The search ends once they are at most `absolute` apart, or `relative` times the larger modulus, or where no float is
    between them, or after so many steps (by default more than any two floats need). If the predicate is not monotone,
    it still changes between the two.

    >>> bisection(lambda x: x * x >= 2, 1.0, 2.0)
    (1.414213562373095, 1.4142135623730951)
    >>> bisection(lambda x: x * x < 2, 2.0, 1.0, absolute=0.1)
    (1.4375, 1.375)
    """
    for _ in range(steps):
        middle = (outside + inside) / 2
        if not min(outside, inside) < middle < max(outside, inside) or abs(inside - outside) <= max(
            absolute, relative * max(abs(inside), abs(outside))
        ):
            break
        outside, inside = (outside, middle) if fits(middle) else (middle, inside)
    return outside, inside


# A certified bracket of the only sign change of a function on the positive half line.

POINT_WORK = 12  # typical work for one value of the function and its slope, in elementary functions


def _positive(value: arb) -> bool:
    """Whether a ball is certainly positive; False if certainly negative; raises `Undecided` otherwise."""
    if value > 0:
        return True
    if value < 0:
        return False
    raise Undecided


def _octave(before: Callable[[arb], bool], end: arb | None) -> tuple[arb, arb]:
    """Two points around the sign change, a factor of two apart or less (the right one is at most `end`).

    `before` tells whether a point lies left of the change.
    """
    unit = arb(1) if end is None else end.min(arb(1)).mid() / 2

    def beyond(n: int) -> bool:
        x = unit * arb(2) ** n
        return not ((end is None or x < end) and before(x))

    n = least_integer(beyond)
    right = unit * arb(2) ** n
    return unit * arb(2) ** (n - 1), right if end is None else right.min(end).mid()


def sign_change(function: Callable[[arb], tuple[arb, arb]], end: arb | None = None) -> arb:
    """A certified thin ball around the point where `function` falls from positive to negative (before `end`, if given).

    `function` returns value and slope at a point x > 0, and changes its sign just once. Newton's method, safeguarded by
    bisection, finds the point heuristically; the certificate is the signs at the two ends of the ball, decided in ball
    arithmetic. Raises `Undecided` if the working precision is too low.

    >>> sign_change(lambda x: (2 - x * x, -2 * x)).overlaps(arb(2).sqrt())
    True
    """

    def counted(x: arb) -> tuple[arb, arb]:
        count_functions(POINT_WORK)
        return function(x)

    left, right = _octave(lambda x: _positive(counted(x)[0]), end)
    guess = (left + right) / 2
    width = arb(2) ** -(ctx.prec // 2)
    before = right - left
    for _ in range(ctx.prec):
        value, slope = counted(guess)
        step = (value / slope).mid()
        target = (guess - step).mid()
        if abs(step) < guess * width or not (value > 0 or value < 0):  # near enough, or sign unknown
            break
        left, right = (guess, right) if value > 0 else (left, guess)
        # Bisect if Newton's steps do not halve: along an exponential each step has the same length.
        good = left < target < right and 2 * abs(step) < before
        guess, before = target if good else ((left + right) / 2).mid(), abs(step) if good else right - left
    low, high = guess * (1 - width), guess * (1 + width)
    if _positive(counted(low)[0]) and not _positive(counted(high)[0]):
        return low.union(high)
    raise Undecided


# Heuristic roots and minima in floats: nothing below is certified.

MOST_SECANTS = 12


def false_position(
    increasing: Callable[[float], float], *, guess: float = 1.0, step: float = 2.0, tolerance: float = 1e-2
) -> float:
    """Heuristic root x > 0 of an increasing function, to a relative tolerance: false position in log x.

    The root is bracketed outward from the guess by factors that grow from `step`; then the Illinois variant of false
    position, which halves the value at an end that stays, or bisection where values are infinite or the bracket is
    wide. It needs no slope, and values may be infinite; without a root the answer is near 1e-300 or 1e300.

    >>> round(false_position(lambda x: x * x - 2, tolerance=1e-9), 6)
    1.414214
    """
    low = high = min(max(guess, 1e-300), 1e300)
    at_low = at_high = increasing(low)
    factor = step
    while at_high < 0 and high < 1e300:
        low, at_low, high, factor = high, at_high, min(high * factor, 1e300), min(factor * factor, 1e32)
        at_high = increasing(high)
    while at_low >= 0 and low > 1e-300:
        high, at_high, low, factor = low, at_low, max(low / factor, 1e-300), min(factor * factor, 1e32)
        at_low = increasing(low)
    left, right, side = log(low), log(high), 0
    for _ in range(100):
        if right - left <= tolerance:
            break
        share = at_low / (at_low - at_high) if isfinite(at_low) and isfinite(at_high) and at_high > at_low else 0.5
        if right - left > 3 or not 0 < share < 1:
            share = 0.5
        middle = left + min(max(share, 1e-3), 1 - 1e-3) * (right - left)
        value = increasing(exp(middle))
        if value < 0:
            left, at_low = middle, value
            at_high = at_high / 2 if side == -1 else at_high
            side = -1
        else:
            right, at_high = middle, value
            at_low = at_low / 2 if side == 1 else at_low
            side = 1
        if value == 0 or abs(value) == inf:
            side = 0
    return exp(left if abs(at_low) < abs(at_high) else right)


def secant(function: Callable[[float], float], *, guess: float, slope: float, tolerance: float) -> float:
    """Heuristic root x > 0 of a function that is nearly linear in log x, with a slope near the given one.

    The secant method from the guess takes a few steps to the tolerance, which is relative; where the slope is not as
    expected, or a value is not finite, `false_position` is used instead.

    >>> round(secant(lambda x: 3 * log(x / 7), guess=1.0, slope=2.0, tolerance=1e-9), 6)
    7.0
    """
    value, last, expected = guess, None, slope
    for _ in range(MOST_SECANTS):
        miss = function(value)
        if not isfinite(miss):
            break
        here = log(value)
        if last is not None and here != last[0]:
            slope = (miss - last[1]) / (here - last[0])
        if not 0.1 < slope / expected < 10:
            break
        if abs(miss / slope) <= tolerance:
            return value
        last, value = (here, miss), exp(min(max(here - miss / slope, here - 5), here + 5))
    sign = 1 if expected > 0 else -1
    return false_position(lambda x: sign * function(x), guess=guess, step=1.5, tolerance=tolerance)


def newton(decreasing: Callable[[float], float], target: float, least: float, top: float, guess: float) -> float:
    """Heuristic x in [least, top] at which a decreasing function reaches the target, to nearly all bits of a float.

    Newton's method with difference quotients, safeguarded by bisection; `least` if the function is not above the target
    there. `top` may be infinite: the bracket then doubles until it holds the root.

    >>> round(newton(lambda x: 1 / x, 0.125, 0.0001, inf, 1.0), 12)
    8.0
    """
    if decreasing(least) <= target:
        return least
    low, high = least, top
    if high == inf:
        high = max(2 * guess, 1e-10)
        while decreasing(high) > target:
            low, high = high, 2 * high
    x, before, reach = guess, inf, 1e-6
    for _ in range(200):
        if not low < x < high:
            x = (low + high) / 2
        if not low < x < high:
            break
        value = decreasing(x) - target
        low, high = (x, high) if value > 0 else (low, x)
        ahead = x * (1 + reach)
        slope = (decreasing(ahead) - target - value) / (ahead - x) if ahead < top else 0.0
        move = -value / slope if -inf < slope < 0 else inf
        if abs(move) <= 2e-16 * x or high - low <= 2e-16 * high:
            break
        if abs(value) < before / 2:
            x, before = x + move, abs(value)
        else:  # Newton's steps do not converge near a kink: bisect, and take a shorter difference quotient next.
            x, before, reach = (low + high) / 2, inf, max(reach / 8, 1e-12)
    return x


GOLDEN = 0.6180339887498949  # (sqrt(5) - 1)/2, the part of the bracket that each step keeps


Real = TypeVar("Real", float, arb)


def golden_section(
    function: Callable[[Real], Real], left: Real, right: Real, *, steps: int, tolerance: float = 0.0
) -> Real:
    """Heuristic x in [left, right] where a unimodal function is least, by golden section search (Kiefer 1953).

    In floats or in balls (compared as they are: give midpoints). Each step asks once and keeps 0.618 of the bracket;
    the search ends after so many steps, or with a bracket shorter than the tolerance, and returns its middle. Near a
    smooth minimum a float function is flat to half of its bits: more than some 35 steps from a bracket of length 1 add
    nothing. To find a maximum, negate the function; among equal values the left part is kept.

    >>> round(golden_section(lambda x: (x - 2) ** 2, 0.0, 5.0, steps=40), 6)
    2.0
    """
    inner, outer = right - (right - left) * GOLDEN, left + (right - left) * GOLDEN
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(steps):
        if at_outer < at_inner:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + (right - left) * GOLDEN
            at_outer = function(outer)
        else:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - (right - left) * GOLDEN
            at_inner = function(inner)
        if right - left < tolerance:
            break
    return (left + right) / 2
