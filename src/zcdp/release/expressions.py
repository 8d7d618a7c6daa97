"""A plan's conditions, keys and amounts as expressions of narwhals: each has an answer for every value of every row.

What could fail is decided before it is computed: an engine may compute a column for rows that a filter drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

from zcdp.release.columns import Source
from zcdp.release.engines import narwhals
from zcdp.tables.amounts import Amount
from zcdp.tables.dates import Dates
from zcdp.tables.domain import Bins, Domain, Keys
from zcdp.tables.where import Condition

__all__ = ["amount", "between", "condition", "every", "key", "listed"]


def every(conditions: list[Any]) -> Any:
    """All of them."""
    return reduce(and_, conditions)


def condition(source: Source, one: Condition) -> Any:
    """Whether a row fulfils a condition; never where the value is missing."""
    there, column = source.day(one.column)[:2] if one.kind == "date" else source.column(one.column, one.kind)
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    read: Any = {"number": float, "date": date.toordinal}.get(one.kind)
    listed = [read(value) for value in values] if read else list(values)
    value = listed[0]
    compared = {
        "==": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
        "in": lambda: column.is_in(listed),
        "not in": lambda: ~column.is_in(listed),
    }[one.operation]()
    return there & compared


def listed(source: Source, frame: Any, domain: Domain) -> Any:
    """The frame with a column of places in the domain's list, where that is one of text or of any integers."""
    if not _is_listed(domain):
        return frame
    assert isinstance(domain, Keys)
    _, label = source.label(domain.column, domain.kind)
    return source.engine.placed(frame, label, domain.values, _place(domain))


def key(source: Source, domain: Domain) -> tuple[list[Any], Any]:
    """The conditions on which a row has a key of the domain, and the place of the key among all."""
    nw = narwhals()
    if isinstance(domain, Bins):
        return _bin(source, domain)
    if isinstance(domain, Dates):
        return _date(source, domain)
    if domain.kind == "boolean":  # of which there are two: what is not the first is the other
        there, column = source.column(domain.column, "boolean")
        first = there & (column == domain.values[0])
        found = [] if domain.other is not None else [there & column.is_in(list(domain.values))]
        return found, (~first).cast(nw.Int32)
    if _is_listed(domain):
        there, place = source.label(domain.column, domain.kind)[0], nw.col(_place(domain))
        if domain.other is None:
            return [there & (place >= 0)], place
        # the place where there is one, and that of `other` after the last elsewhere
        found = (there & (place >= 0)).cast(nw.Int64)
        return [], found * place + (1 - found) * (domain.size - 1)
    first, last = int(domain.values[0]), int(domain.values[-1])
    whole = source.whole(domain.column, "integer")
    assert whole is not None
    there, column = whole
    return [there & (column >= first) & (column <= last)], _less(between(column, first, last), first)


def _is_listed(domain: Domain) -> bool:
    """Whether keys are looked up: integers that follow one another need not be."""
    if not isinstance(domain, Keys) or domain.kind == "boolean":
        return False
    first = domain.values[0]
    return not (isinstance(first, int) and domain.other is None and is_range(domain.values, first))


def is_range(values: Sequence[Any], first: int) -> bool:
    """Whether integers are first, first + 1, ... and so on.

    >>> is_range((3, 4, 5), 3), is_range((3, 5), 3)
    (True, False)
    """
    return all(value == first + n for n, value in enumerate(values))


def _place(domain: Domain) -> str:
    """A name of its own whatever the case of letters, of which Spark takes no note."""
    return "zcdp_place_" + domain.name.encode().hex()


def _date(source: Source, dates: Dates) -> tuple[list[Any], Any]:
    there, day, month = source.day(dates.column)
    return _interval(there, month if dates.months else day, dates.start, dates.step, dates.size, clip=dates.clip)


def _interval(there: Any, number: Any, start: int, step: int, size: int, *, clip: bool) -> tuple[list[Any], Any]:
    """That of an integer. All is below 2^53, so that a quotient of doubles is on the right side of every integer."""
    end = start + size * step
    inside = there if clip else there & (number >= start) & (number < end)
    above = _less(between(number, start, end - 1), start)
    return [inside], above if step == 1 else (above / step).floor().cast(narwhals().Int32)


def _bin(source: Source, bins: Bins) -> tuple[list[Any], Any]:
    nw = narwhals()
    whole = source.whole(bins.column, "number") if bins.start.denominator == bins.step.denominator == 1 else None
    if whole is not None:
        return _interval(*whole, int(bins.start), int(bins.step), bins.size, clip=bins.clip)
    there, column = source.column(bins.column, "number")
    start, end = float(bins.start), float(bins.end)
    inside = there if bins.clip else there & (column >= start) & (column < end)
    place = _steps(_less(between(column, start, end), start), bins.step).floor().cast(nw.Int32)
    return [inside], between(place, 0, bins.size - 1)


def _less(number: Any, start: float) -> Any:
    return number - start if start else number


def amount(source: Source, one: Amount, low: int, high: int) -> tuple[Any, Any]:
    """Whether a row has an amount, and the nearest grid step between low and high.

    Up to 2^48 steps from zero the doubles of the ends are rounded to the ends, so that they need not be clipped again.
    """
    nw = narwhals()
    there, column = source.column(one.column, "number")
    near = between(column, float(low * one.grid), float(high * one.grid))
    step = (_steps(near, one.grid) + 0.5).floor().cast(nw.Int64)
    return there, step if one.reach <= 2**48 else between(step, low, high)


def between(number: Any, low: float, high: float) -> Any:
    """The number, or the end beyond which it lies."""
    return number.clip(low, high)


def _steps(number: Any, step: Fraction) -> Any:
    """number/step in doubles, by the same two operations in every engine."""
    scaled = number if step.denominator == 1 else number * float(step.denominator)
    return scaled if step.numerator == 1 else scaled / float(step.numerator)
