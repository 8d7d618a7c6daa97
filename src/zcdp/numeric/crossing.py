"""Where an increasing function on the positive half line changes sign, roughly: a proposal, nothing is certified."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, isfinite, log

__all__ = ["crossing", "straight"]

SECANTS = 12


def crossing(
    increasing: Callable[[float], float], *, guess: float = 1.0, step: float = 2.0, tolerance: float = 1e-2
) -> float:
    """The root x > 0 to a relative tolerance.

    Brackets outward from the guess by growing steps, then false position in log x (the Illinois variant).

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
    """The root x > 0 of a function that is nearly a straight line in log x, whose slope is nearly this one.

    Secants from the guess find it in a few steps; where they fail, `crossing`.

    >>> round(straight(lambda x: 3 * log(x / 7), guess=1.0, slope=2.0, tolerance=1e-9), 6)
    7.0
    """
    value, last, expected = guess, None, slope
    for _ in range(SECANTS):
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
