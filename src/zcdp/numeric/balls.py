"""Ball arithmetic (Arb): working precision, exact numbers to balls, balls to floats rounded outward."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf, nextafter
from threading import RLock
from typing import TypeVar
from warnings import warn

from flint import arb, ctx

from zcdp.errors import ZcdpError
from zcdp.numeric.exact import Exact, Log

__all__ = [
    "NotCertified",
    "Undecided",
    "above",
    "at_precision",
    "below",
    "ceiling",
    "enclose",
    "failure",
    "floor",
    "lift",
    "settled",
    "thin",
    "trusted",
    "upper_float",
    "working_bits",
]


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


# Certified floats: raise the precision of a ball until it pins the value between neighbouring floats.

FIRST_BITS = 128
LAST_BITS = 1 << 16
# A ball this thin that still holds a float in its inside sits on that float (as 9999 + e^-10000 does): stop. At a tiny
# power of two rho is epsilon^2/2 less one part in epsilon^-2, just below a float: 2^-1074 takes 2200 bits to tell.
DECISIVE_BITS = 2400
ENOUGH_BITS = 40


class NotCertified(ZcdpError, ArithmeticError):
    """No certified answer was reached; there is never a number instead."""


def failure(what: str, error: Exception) -> NotCertified:
    """What to raise where a method met with something that it should not have: no answer, and a warning to report it.

    Other methods can then still answer; nothing is passed over in silence.
    """
    warn(f"the {what} failed where it should not, please report it: {error!r}", RuntimeWarning, stacklevel=2)
    return NotCertified(f"the {what} failed: {error!r}")


def enclose(evaluate: Callable[[], arb], *, floor: float = 0.0) -> tuple[float, float]:
    """Floats around the value of `evaluate`, known beforehand to be at least `floor`.

    They are neighbours, or two apart where the value cannot be told from the float between them.

    `evaluate` is run at growing precision (Ziv's strategy), so formulas need no care for cancellation.

    >>> enclose(lambda: (arb(10) ** -30).exp() - 1)
    (9.999999999999999e-31, 1e-30)
    """

    def pin() -> tuple[float, float, bool]:
        ball = evaluate()
        if not ball.is_finite():
            raise Undecided
        lower, upper = max(below(ball), floor), above(ball)
        return lower, upper, upper <= nextafter(lower, inf) or ball.rel_accuracy_bits() >= DECISIVE_BITS

    bits, cause = FIRST_BITS, None
    while bits <= LAST_BITS:
        try:
            lower, upper, done = at_precision(bits, pin)
            if done:
                return lower, upper
        except NotCertified:
            raise
        except (ArithmeticError, ValueError) as error:  # `Undecided`, or of a number that is none: NaN
            cause = error
        bits *= 2
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme") from cause


def upper_float(evaluate: Callable[[], arb]) -> float:
    """A float that is not below a positive value, to twelve digits: where the last ones are not worth the effort.

    >>> upper_float(lambda: arb(2).sqrt())
    1.4142135623730951
    """
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        try:
            ball = at_precision(bits, evaluate)
            if ball.is_finite() and ball.rel_accuracy_bits() > ENOUGH_BITS:
                return above(ball)
        except (Undecided, ValueError):
            pass
        bits *= 4
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme")


# Doubles that code goes on to trust: made only from balls that are thin, whatever became of the working precision.
#
# A wide ball is never wrong, but its midpoint may be far from the truth. Another thread can set flint's precision at
# any moment, and a table outlives it: so no midpoint becomes a double unless its radius has been looked at, here.


KNOWN_BITS = 60
LAST_BITS_OF_DOUBLES = 1 << 13


def thin(ball: arb, *, within: float = 0.0) -> arb:
    """The ball, if its radius is at most 2^-60 of its size or at most `within`; else raises `Undecided`.

    >>> thin(arb(1) / 4)
    0.250000000000000
    """
    if ball.is_finite() and (ball.rel_accuracy_bits() >= KNOWN_BITS or ball.rad() <= within):
        return ball
    raise Undecided


def trusted(ball: arb, *, within: float = 0.0) -> float:
    """The float nearest to a thin ball: off by at most 2^-52 of itself, or `within` and 2^-1074; else `Undecided`.

    >>> trusted(arb(1) / 4)
    0.25
    """
    return float(thin(ball, within=within).mid())


def settled(evaluate: Callable[[], T], *, bits: int = FIRST_BITS) -> T:
    """Run `evaluate` at growing precision until nothing in it is undecided; `NotCertified` if that never is so.

    >>> settled(lambda: trusted(1 - (-arb(2) ** -300).exp()) * 2.0**300)
    1.0
    """
    while bits <= LAST_BITS_OF_DOUBLES:
        try:
            return at_precision(bits, evaluate)
        except Undecided:
            bits *= 2
    raise NotCertified(
        f"a number is not known to {KNOWN_BITS} bits at a working precision of {LAST_BITS}: "
        "another thread may be setting flint's precision"
    )
