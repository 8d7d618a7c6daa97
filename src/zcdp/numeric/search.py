"""Root finding: certified searches over floats and balls, and heuristic ones by false position, secants and Newton.

`greatest_float` (bisection over all floats) and `sign_change` (Newton, then signs decided in balls) are certified;
`crossing`, `straight` and `solve` are heuristic, and callers verify what they return.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, isfinite, log, nextafter

from flint import arb, ctx

from zcdp.numeric.balls import Undecided
from zcdp.numeric.work import count_functions

__all__ = ["crossing", "float_above", "greatest_float", "sign_change", "solve", "straight"]


def float_above(value: Fraction) -> float:
    """The least float that is not below a rational; inf if the rational is above all finite floats.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(3, 10)), float_above(Fraction(10**400))
    (0.1, 0.30000000000000004, inf)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return inf if value > 0 else nextafter(-inf, 0.0)
    top, bottom = nearest.as_integer_ratio()  # compared as integers: `nearest >= value` takes four times as long
    return nearest if top * value.denominator >= value.numerator * bottom else nextafter(nearest, inf)


def _nth(index: int) -> float:
    """The n-th non-negative float, 0.0 being the 0-th: bit patterns of non-negative doubles sort like their values."""
    value: float = struct.unpack("<d", struct.pack("<q", index))[0]
    return value


LARGEST_FLOAT = 0x7FEF_FFFF_FFFF_FFFF  # the index of the largest finite float in `_nth`


def greatest_float(fits: Callable[[float], bool]) -> float | None:
    """The greatest positive float that fits, by bisection; None if none does.

    `fits` must be monotone: true up to some point and false beyond it.

    >>> greatest_float(lambda x: x * x <= 2)
    1.414213562373095
    """
    fitting, failing = 0, LARGEST_FLOAT + 1
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if fits(_nth(middle)):
            fitting = middle
        else:
            failing = middle
    return _nth(fitting) if fitting else None


# Heuristic roots in floats: nothing here is certified.

MOST_SECANTS = 12


def crossing(
    increasing: Callable[[float], float], *, guess: float = 1.0, step: float = 2.0, tolerance: float = 1e-2
) -> float:
    """Heuristic root x > 0 of an increasing function, to a relative tolerance.

    It brackets the root outward from the guess by growing factors, then uses false position in log x (the Illinois
    variant).

    >>> round(crossing(lambda x: x * x - 2, tolerance=1e-9), 6)
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


def straight(function: Callable[[float], float], *, guess: float, slope: float, tolerance: float) -> float:
    """Heuristic root x > 0 of a function that is nearly linear in log x, with a slope near the given one.

    The secant method from the guess finds it in a few steps; if it fails, `crossing` is used.

    >>> round(straight(lambda x: 3 * log(x / 7), guess=1.0, slope=2.0, tolerance=1e-9), 6)
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
    return crossing(lambda x: sign * function(x), guess=guess, step=1.5, tolerance=tolerance)


def solve(falling: Callable[[float], float], target: float, least: float, top: float, guess: float) -> float:
    """Heuristic x in [least, top] at which a decreasing function reaches the target, to nearly all bits of a float.

    Newton's method with difference quotients, safeguarded by bisection; `least` if the function is below the target
    there.
    """
    if falling(least) <= target:
        return least
    low, high = least, top
    if high == inf:
        high = max(2 * guess, 1e-10)
        while falling(high) > target:
            low, high = high, 2 * high
    x, before, reach = guess, inf, 1e-6
    for _ in range(200):
        if not low < x < high:
            x = (low + high) / 2
        if not low < x < high:
            break
        value = falling(x) - target
        low, high = (x, high) if value > 0 else (low, x)
        ahead = x * (1 + reach)
        slope = (falling(ahead) - target - value) / (ahead - x) if ahead < top else 0.0
        move = -value / slope if -inf < slope < 0 else inf
        if abs(move) <= 2e-16 * x or high - low <= 2e-16 * high:
            break
        if abs(value) < before / 2:
            x, before = x + move, abs(value)
        else:  # Newton's steps do not converge near a kink: bisect, and take a shorter difference quotient next.
            x, before, reach = (low + high) / 2, inf, max(reach / 8, 1e-12)
    return x


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

    `before` tells whether a point lies left of the change. Exponents of two are searched by galloping, then bisection.
    """
    unit = arb(1) if end is None else end.min(arb(1)).mid() / 2

    def sign(n: int) -> bool:
        x = unit * arb(2) ** n
        return (end is None or x < end) and before(x)

    low, high, leap = (0, 1, 1) if sign(0) else (-1, 0, 1)
    if low == 0:
        while sign(high):
            low, high, leap = high, high + leap, 2 * leap
    else:
        while not sign(low):
            high, low, leap = low, low - leap, 2 * leap
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sign(middle) else (low, middle)
    right = unit * arb(2) ** high
    return unit * arb(2) ** low, right if end is None else right.min(end).mid()


def sign_change(function: Callable[[arb], tuple[arb, arb]], end: arb | None = None) -> arb:
    """A certified thin ball around the point where `function` falls from positive to negative (before `end`, if given).

    `function` returns value and slope. Newton's method finds the point heuristically; the certificate is the signs at
    the two ends of the ball, decided in ball arithmetic. Raises `Undecided` if the working precision is too low.

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
