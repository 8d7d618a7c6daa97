"""Work, counted as it is done: what would take too long is stopped by the count, at the same place on every machine.

It is in nanoseconds of one common core, near enough: how tight an answer is may rest on it, and no proof.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import local
from typing import TypeVar

from flint import ctx

from zcdp.numeric.balls import NotCertified

__all__ = ["SECOND", "TooMuchWork", "count_functions", "count_products", "count_work", "done", "within"]

T = TypeVar("T")

SECOND = 1_000_000_000
PRODUCT = 60
FUNCTION, LONG, BITS, GROWTH = 600, 5_000, 1_024, 1.6  # with few bits, with BITS, and the power by which it grows


class TooMuchWork(NotCertified):
    """More was needed than is allowed here."""


class _Meter(local):
    """What the thread has done, and where it is stopped."""

    done: float = 0.0
    last: float = inf


_meter = _Meter()


def done() -> float:
    """What this thread has done so far: only differences mean anything."""
    return _meter.done


def count_work(nanoseconds: float) -> None:
    """Add work that is done, or about to be; `TooMuchWork` where that is more than is allowed."""
    _meter.done += nanoseconds
    if _meter.done > _meter.last:
        raise TooMuchWork("it takes too much work: the parameters are too extreme")


def count_functions(number: float) -> None:
    """Add so many elementary functions of balls at the working precision."""
    count_work(number * (FUNCTION + LONG * (ctx.prec / BITS) ** GROWTH))


def count_products(number: float) -> None:
    """Add so many products of complex balls at the working precision."""
    count_work(number * (PRODUCT + ctx.prec / 2))


def within(nanoseconds: float, evaluate: Callable[[], T], *, apart: bool = False) -> T:
    """Run `evaluate` with so much work, or `TooMuchWork`, and with no more than what is around it allows.

    `apart`: whatever that is, where the result is kept for others, who may be allowed more.

    >>> within(10, lambda: count_work(20))
    Traceback (most recent call last):
    ...
    zcdp.numeric.work.TooMuchWork: it takes too much work: the parameters are too extreme
    """
    before = _meter.last
    try:  # What was allowed comes back without a call, at whose begin an interrupt might end it.
        _meter.last = min(inf if apart else before, _meter.done + nanoseconds)
        return evaluate()
    finally:
        _meter.last = before
