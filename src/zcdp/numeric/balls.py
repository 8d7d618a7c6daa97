"""Ball arithmetic (Arb): working precision, exact numbers to balls, balls to floats rounded outward."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf, nextafter
from threading import RLock
from typing import TypeVar

from flint import arb, ctx

from zcdp.numeric.exact import Exact, Log

__all__ = ["Undecided", "above", "at_precision", "below", "ceiling", "floor", "lift", "working_bits"]

T = TypeVar("T")


class Undecided(ArithmeticError):
    """A sign could not be told at this precision: try again with more bits."""


class _Setting:
    """flint's working precision, one number for the whole process, and who may set it."""

    def __init__(self) -> None:
        # A thread of the user's that changes the precision without this lock makes balls wider, never wrong.
        self.lock = RLock()
        self.found: tuple[int, int] | None = None
        """What the caller had set, while ours is in force."""

    def free(self) -> None:
        """In a forked child, a lock that another thread held is held for ever, and what it set stays: undo both."""
        if self.lock.acquire(blocking=False):  # it is free, or of the thread that forked, which goes on in the child
            self.lock.release()
            return
        self.lock = RLock()
        if self.found is not None:
            ctx.prec, ctx.cap = self.found
            self.found = None


_setting = _Setting()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_setting.free)


def at_precision(bits: int, evaluate: Callable[[], T], *, terms: int = 10) -> T:
    """Run `evaluate` with balls of `bits` bits and series of up to `terms` terms, then restore what was set."""
    with _setting.lock:
        outer, before = _setting.found, (ctx.prec, ctx.cap)
        try:  # before anything is set, as an interrupt may come at any time
            _setting.found = before if outer is None else outer
            ctx.prec, ctx.cap = bits, terms
            return evaluate()
        finally:
            ctx.prec, ctx.cap = before
            _setting.found = outer


def working_bits() -> int:
    """The working precision."""
    bits: int = ctx.prec
    return bits


def lift(number: Exact | int) -> arb:
    """A ball around an exact number, at the working precision."""
    if isinstance(number, int):
        return arb(number)
    if isinstance(number, Log):
        top, bottom = number.argument.numerator, number.argument.denominator
        return (arb(top - bottom) / bottom).log1p()
    if number.denominator == 1:
        return arb(number.numerator)
    return arb(number.numerator) / number.denominator


def above(ball: arb) -> float:
    """The least float that is not below any point of the ball.

    >>> above(arb(1) / 3) > 1 / 3, above(arb(2) ** -2000)
    (True, 5e-324)
    """
    edge = ball.upper()
    nearest = float(edge)  # to nearest, so possibly below the edge
    return nextafter(nearest, inf) if edge > nearest else nearest


def below(ball: arb) -> float:
    """The greatest float that is not above any point of the ball."""
    edge = ball.lower()
    nearest = float(edge)
    return nextafter(nearest, -inf) if edge < nearest else nearest


def floor(ball: arb) -> int:
    """The greatest integer that is not above any point of a ball; raises `Undecided` if that is not finite.

    >>> floor(arb(7) / 2), floor(arb(-7) / 2)
    (3, -4)
    """
    edge = ball.lower()
    if not edge.is_finite():
        raise Undecided
    mantissa, exponent = map(int, edge.man_exp())  # exact at any working precision
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def ceiling(ball: arb) -> int:
    """The least integer that is not below any point of a ball."""
    return -floor(-ball)


def root_below(square: arb) -> float:
    """A float not above the root of a number; 0 where nothing is known of it."""
    least = square.lower()
    return below(least.sqrt()) if least > 0 else 0.0


def log_size(value: arb) -> float:
    """The logarithm of a number, near enough for proposals; of one that is lost in its ball, that of the upper end."""
    size = value if value > 0 else value.upper()
    return float(size.log().mid()) if size > 0 else -inf if size.is_finite() else inf
