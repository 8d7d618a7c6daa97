"""Work limits: computations count their operations and are stopped by the count, at the same point on every machine.

The unit is a nanosecond on a typical core, approximately. The prices below are used twice: to count work that is done,
and to tell beforehand which engine of the profile takes least. How tight an answer is may depend on them; whether it is
correct never does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import local
from typing import TypeVar

from flint import ctx

from zcdp.numeric.balls import NotCertified

__all__ = ["SECOND", "TooManyNodes", "TooMuchWork", "count_functions", "count_products", "count_work", "done", "within"]

T = TypeVar("T")

SECOND, MILLISECOND = 1_000_000_000, 1_000_000

# Prices, in nanoseconds.
PRODUCT = 60  # a product of complex balls of few bits
# An elementary function of balls takes FUNCTION + LONG_FUNCTION (bits/LONG_BITS)^GROWTH: about 800 at 128 bits.
FUNCTION, LONG_FUNCTION, LONG_BITS, GROWTH = 600, 5_000, 1_024, 1.6
NODE_FUNCTIONS = 10  # elementary functions in the transform of one plain law at one node
TRANSFORM = 800 * NODE_FUNCTIONS  # that transform, at 128 bits
BOUND = 300  # the bound on the decay of one plain law over one interval
TERM = 500  # one term of a whole finite sum
CUT_TERM = 80_000  # one term of a cut finite sum, at the higher precision that its cancellation needs
CUT_TERM_OF_ONE = 1_920  # one term of a cut finite sum of a single law, whose exponents need no search
DOUBLES = 3  # one complex product of doubles
DOUBLE_NODE = 20 * DOUBLES  # one node in doubles, without its factors
CELL_PAIR = 100  # one pair of losses whose sum is moved to a node, in doubles
INTEGRAL = 50 * MILLISECOND  # a certified integral over one of two uses
GAME_STATE = 20  # one state of the adaptive recursion at one use


class TooMuchWork(NotCertified):
    """The work limit was reached before there was an answer."""


class TooManyNodes(ArithmeticError):
    """The integrand decays so slowly that more nodes or cells would be needed than the work limit allows."""


class _Meter(local):
    """For each thread: the work done so far, and the count at which it is stopped."""

    done: float = 0.0
    last: float = inf


_meter = _Meter()


def done() -> float:
    """The work of this thread so far, in nanoseconds. Only differences are meaningful."""
    return _meter.done


def count_work(nanoseconds: float) -> None:
    """Count work that is done or about to be done; raises `TooMuchWork` beyond the limit."""
    _meter.done += nanoseconds
    if _meter.done > _meter.last:
        raise TooMuchWork("it takes too much work: the parameters are too extreme")


def count_functions(number: float) -> None:
    """Count the work of `number` elementary functions of balls at the working precision."""
    count_work(number * (FUNCTION + LONG_FUNCTION * (ctx.prec / LONG_BITS) ** GROWTH))


def count_products(number: float) -> None:
    """Count the work of `number` products of complex balls at the working precision."""
    count_work(number * (PRODUCT + ctx.prec / 2))


def within(nanoseconds: float, evaluate: Callable[[], T], *, apart: bool = False) -> T:
    """Run `evaluate` under a limit on its work, and under the limit already in force; raises `TooMuchWork` beyond.

    `apart` ignores the limit in force: for results that are cached and shared with callers that may do more work.

    >>> within(10, lambda: count_work(20))
    Traceback (most recent call last):
    ...
    zcdp.numeric.work.TooMuchWork: it takes too much work: the parameters are too extreme
    """
    before = _meter.last
    try:  # The old limit is restored by an assignment, not by a call, which Ctrl-C could interrupt as it begins.
        _meter.last = min(inf if apart else before, _meter.done + nanoseconds)
        return evaluate()
    finally:
        _meter.last = before
