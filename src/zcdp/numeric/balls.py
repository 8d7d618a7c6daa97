"""Ball arithmetic (Arb, through python-flint): from exact numbers to balls, and from balls to certified floats.

A ball is a midpoint with a radius that contains the true value. Three parts: the working precision and conversions;
`enclose` and `upper_float`, which raise the precision until a ball gives the wanted float; and `thin`, `trusted` and
`settled`, which turn a ball into a double only if its radius is negligible. Every loop over growing precisions (Ziv's
strategy, 1991) runs on `growing_precision`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import inf, isnan, nextafter
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
    "growing_precision",
    "lift",
    "settled",
    "thin",
    "trusted",
    "upper_float",
    "working_bits",
]


T = TypeVar("T")


class Undecided(ArithmeticError):
    """A ball is too wide to decide a sign or a value at the working precision. Callers try again with more bits."""


class _Setting:
    """flint's working precision, which is global to the process, and the lock under which it is set."""

    def __init__(self) -> None:
        # If a thread of the user changes the precision without this lock, balls get wider, but never wrong.
        self.lock = RLock()
        self.found: tuple[int, int] | None = None
        """The user's precision and series length, while another precision is set here; None otherwise."""

    def free(self) -> None:
        """Run in a forked child: replace a lock held by a thread that the child lacks, and undo that thread's setting.

        Such a lock would never be released, and the precision never restored.
        """
        # It succeeds if the lock is free or held by the thread that forked, which lives on in the child.
        if self.lock.acquire(blocking=False):
            self.lock.release()
            return
        self.lock = RLock()
        if self.found is not None:
            ctx.prec, ctx.cap = self.found
            self.found = None


_setting = _Setting()
if hasattr(os, "register_at_fork"):  # Windows has no fork.
    os.register_at_fork(after_in_child=_setting.free)


def at_precision(bits: int, evaluate: Callable[[], T], *, terms: int = 10) -> T:
    """Run `evaluate` with balls of `bits` bits and series of up to `terms` terms, then restore both settings."""
    with _setting.lock:
        outer, before = _setting.found, (ctx.prec, ctx.cap)
        try:  # It encloses the first assignment, because Ctrl-C may arrive at any time.
            _setting.found = before if outer is None else outer
            ctx.prec, ctx.cap = bits, terms
            return evaluate()
        finally:
            ctx.prec, ctx.cap = before
            _setting.found = outer


FIRST_BITS = 128
LAST_BITS = 1 << 16
"""The limit of all loops over growing precisions; those that give up earlier pass their own, and say why."""


def growing_precision(first: int = FIRST_BITS, *, last: int = LAST_BITS, factor: int = 2) -> Iterator[int]:
    """Run the body of a `for` loop at `first` bits, then at `factor` times as many and so on, up to `last` bits.

    The body leaves the loop by `return` or `break` when its balls decide; however it leaves, the precision is restored.

    >>> for bits in growing_precision():
    ...     if 1 + arb(2) ** -200 > 1:
    ...         break
    >>> bits
    256

    Use it in the `for` statement only: the settings are restored when that drops the iterator. An interrupt (Ctrl-C)
    cannot come in between, as it could at the beginning of a context manager's `__exit__`: closing a generator enters
    no function, and what is restored is restored by assignments.
    """
    with _setting.lock:
        outer, before = _setting.found, (ctx.prec, ctx.cap)
        try:
            _setting.found = before if outer is None else outer
            bits = first
            while bits <= last:
                ctx.prec, ctx.cap = bits, 10
                yield bits
                bits *= factor
        finally:
            ctx.prec, ctx.cap = before
            _setting.found = outer


def working_bits() -> int:
    """The working precision, in bits."""
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
    nearest = float(edge)  # This rounds to nearest, so possibly below the edge.
    if isnan(nearest):
        return inf  # Nothing is known, and no comparison would say so.
    return nextafter(nearest, inf) if edge > nearest else nearest


def below(ball: arb) -> float:
    """The greatest float that is not above any point of the ball."""
    edge = ball.lower()
    nearest = float(edge)
    if isnan(nearest):
        return -inf
    return nextafter(nearest, -inf) if edge < nearest else nearest


def floor(ball: arb) -> int:
    """The greatest integer that is not above any point of a ball; raises `Undecided` if that is not finite.

    >>> floor(arb(7) / 2), floor(arb(-7) / 2)
    (3, -4)
    """
    edge = ball.lower()
    if not edge.is_finite():
        raise Undecided
    mantissa, exponent = map(int, edge.man_exp())  # This is exact at any working precision.
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def ceiling(ball: arb) -> int:
    """The least integer that is not below any point of a ball; raises `Undecided` if that is not finite."""
    return -floor(-ball)


def root_below(square: arb) -> float:
    """A float that is at most the square root of every point of a ball; 0 if the ball reaches below 0."""
    least = square.lower()
    return below(least.sqrt()) if least > 0 else 0.0


def log_size(value: arb) -> float:
    """Heuristic log(value): of the midpoint, or of the upper end if the ball is not entirely positive.

    It returns -inf if the upper end is not positive, and inf if it is not finite.
    """
    size = value if value > 0 else value.upper()
    return float(size.log().mid()) if size > 0 else -inf if size.is_finite() else inf


# Certified floats: the precision is raised until the ball lies between two neighbouring floats.

# If a ball of this relative accuracy still contains a float, the value is that float or too close to it to tell (as
# 9999 + e^-10000 is), and `enclose` stops. The limit leaves room for rho at a tiny epsilon that is a power of two: it
# is epsilon^2/2 less one part in epsilon^-2, just below a float, and epsilon = 2^-1074 takes 2200 bits to decide.
DECISIVE_BITS = 2400
ENOUGH_BITS = 40  # the relative accuracy of `upper_float`, about twelve digits


class NotCertified(ZcdpError, ArithmeticError):
    """No certified answer was reached. An uncertified number is never returned instead."""


def failure(what: str, error: Exception) -> NotCertified:
    """Turn an unexpected exception inside a method into `NotCertified`, with a warning that asks for a report.

    The caller raises the result, so that other methods can still answer and the failure is not silent.
    """
    warn(f"the {what} failed where it should not, please report it: {error!r}", RuntimeWarning, stacklevel=2)
    return NotCertified(f"the {what} failed: {error!r}")


def enclose(evaluate: Callable[[], arb], *, floor: float = 0.0) -> tuple[float, float]:
    """Certified floats (lower, upper) around the value of `evaluate`, which is known to be at least `floor`.

    They are neighbouring floats, or two apart where the value cannot be told from the float between them.

    `evaluate` is run at growing precision (Ziv's strategy), so its formula may cancel digits.

    >>> enclose(lambda: (arb(10) ** -30).exp() - 1)
    (9.999999999999999e-31, 1e-30)
    """
    cause = None
    for _ in growing_precision():
        try:
            ball = evaluate()
        except NotCertified:
            raise
        except (ArithmeticError, ValueError) as error:  # This is `Undecided`, or flint's or Python's error about a NaN.
            cause = error
            continue
        if ball.is_finite():
            lower, upper = max(below(ball), floor), above(ball)
            if upper <= nextafter(lower, inf) or ball.rel_accuracy_bits() >= DECISIVE_BITS:
                return lower, upper
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme") from cause


def upper_float(evaluate: Callable[[], arb], bits: int = ENOUGH_BITS) -> float:
    """A certified upper end for a positive value, tight to twelve digits or to fewer `bits`: cheaper than `enclose`.

    >>> upper_float(lambda: arb(2).sqrt())
    1.4142135623730951
    """
    for _ in growing_precision(factor=4):
        try:
            ball = evaluate()
        except (Undecided, ValueError):
            continue
        if ball.is_finite() and ball.rel_accuracy_bits() > bits:
            return above(ball)
    raise NotCertified(f"no certified value within {LAST_BITS} bits: the parameters are too extreme")


# Doubles from the midpoints of balls whose radius has been checked to be negligible.
#
# A wide ball is never wrong, but its midpoint may be far from the truth. Another thread can lower flint's precision at
# any moment, and a table of midpoints made then would stay wrong: so every midpoint that becomes a double is checked.


KNOWN_BITS = 60  # relative accuracy of a ball whose midpoint may be used
# The highest working precision that `settled` tries. The doubles it makes take few bits: beyond so many, another thread
# is setting flint's precision, and more bits do not help.
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


def settled(evaluate: Callable[[], T]) -> T:
    """Run `evaluate` at growing precision until it no longer raises `Undecided`; at the limit raise `NotCertified`.

    >>> settled(lambda: trusted(1 - (-arb(2) ** -300).exp()) * 2.0**300)
    1.0
    """
    for _ in growing_precision(FIRST_BITS, last=LAST_BITS_OF_DOUBLES):
        try:
            return evaluate()
        except Undecided:
            continue
    raise NotCertified(
        f"a number is not known to {KNOWN_BITS} bits at a working precision of {LAST_BITS_OF_DOUBLES}: "
        "another thread may be setting flint's precision"
    )
