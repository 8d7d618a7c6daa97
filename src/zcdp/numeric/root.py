"""Certified bracket of the one sign change of a function on the positive half line."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx

from zcdp.numeric.certify import Undecided
from zcdp.numeric.work import count_functions

__all__ = ["sign_change"]

POINT = 12  # elementary functions, near enough, that a function takes whose root is sought


def _positive(value: arb) -> bool:
    if value > 0:
        return True
    if value < 0:
        return False
    raise Undecided


def _octave(before: Callable[[arb], bool], end: arb | None) -> tuple[arb, arb]:
    """Two points within a factor of two, or `end`, around the change; found by galloping, then bisecting, exponents."""
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
    """A thin ball around the point where `function` falls from positive to negative, before `end` if there is one.

    `function` gives value and slope. Newton's method proposes; only signs at the two ends of the ball, decided in
    ball arithmetic, are believed. Raises `Undecided` if the working precision is too low.

    >>> sign_change(lambda x: (2 - x * x, -2 * x)).overlaps(arb(2).sqrt())
    True
    """

    def counted(x: arb) -> tuple[arb, arb]:
        count_functions(POINT)
        return function(x)

    left, right = _octave(lambda x: _positive(counted(x)[0]), end)
    guess = (left + right) / 2
    width = arb(2) ** -(ctx.prec // 2)
    before = right - left
    for _ in range(ctx.prec):
        value, slope = counted(guess)
        step = (value / slope).mid()
        target = (guess - step).mid()
        if abs(step) < guess * width or not (value > 0 or value < 0):  # close enough, or as close as can be told
            break
        left, right = (guess, right) if value > 0 else (left, guess)
        # Steps that do not shrink, as on the slope of an exponential, would take as many of them as there are bits.
        good = left < target < right and 2 * abs(step) < before
        guess, before = target if good else ((left + right) / 2).mid(), abs(step) if good else right - left
    low, high = guess * (1 - width), guess * (1 + width)
    if _positive(counted(low)[0]) and not _positive(counted(high)[0]):
        return low.union(high)
    raise Undecided
