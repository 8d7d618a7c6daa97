"""Certified bracket of the one sign change of a function on the positive half line."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

from zcdp.numeric.certify import Undecided

__all__ = ["sign_change"]


def _positive(value: arb) -> bool:
    if value > 0:
        return True
    if value < 0:
        return False
    raise Undecided


def sign_change(function: Callable[[arb], tuple[arb, arb]]) -> arb:
    """A thin ball around the point where `function` falls from positive to negative.

    `function` gives value and slope. Newton's method proposes; only signs at the two ends of the ball, decided in
    ball arithmetic, are believed. Raises `Undecided` if the working precision is too low.

    >>> sign_change(lambda x: (2 - x * x, -2 * x)).overlaps(arb(2).sqrt())
    True
    """
    left, right = arb(1), arb(2)
    while not _positive(function(left)[0]):
        left, right = left / 2, left
    while _positive(function(right)[0]):
        left, right = right, 2 * right
    guess = (left + right) / 2
    width = arb(2) ** -(ctx.prec // 2)
    for _ in range(ctx.prec):
        value, slope = (part.mid() for part in function(guess))
        step = value / slope
        target = (guess - step).mid()
        if abs(step) < guess * width:
            break
        left, right = (guess, right) if value > 0 else (left, guess)
        guess = target if left < target < right else ((left + right) / 2).mid()
    low, high = guess * (1 - width), guess * (1 + width)
    if _positive(function(low)[0]) and not _positive(function(high)[0]):
        return low.union(high)
    raise Undecided
