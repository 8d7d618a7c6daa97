"""A plan's conditions, keys and amounts as expressions of narwhals: each has an answer for every value of every row.

What could fail is decided before it is computed: an engine may compute a column for rows that a filter drops.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

from zcdp.release.columns import Source
from zcdp.release.engines import narwhals
from zcdp.tables.amounts import Amount
from zcdp.tables.domain import Bins, Domain
from zcdp.tables.where import Condition

__all__ = ["amount", "between", "condition", "every", "key"]


def every(conditions: list[Any]) -> Any:
    """All of them."""
    return reduce(and_, conditions)


def condition(source: Source, one: Condition) -> Any:
    """Whether a row fulfils a condition; never where the value is missing."""
    there, column = source.column(one.column, one.kind)
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    listed = [float(x) for x in values] if one.kind == "number" else list(values)
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


def key(source: Source, domain: Domain) -> tuple[Any, Any]:
    """Whether a row has a key of the domain, and the key: text, an integer, a boolean, or the number of a bin."""
    nw = narwhals()
    there, column = source.column(domain.column, domain.kind)
    if isinstance(domain, Bins):
        return _bin(there, column, domain)
    if domain.kind == "integer":
        found = there & column.is_in([float(value) for value in domain.values])
        first = domain.values[0] if domain.other is None else domain.other
        whole = nw.when(found).then(column).otherwise(nw.lit(float(first))).cast(nw.Int64)
        return (found if domain.other is None else nw.lit(value=True)), whole
    found = there & column.is_in(list(domain.values))
    if domain.other is None:
        return found, column
    return nw.lit(value=True), nw.when(found).then(column).otherwise(nw.lit(domain.other))


def _bin(there: Any, column: Any, bins: Bins) -> tuple[Any, Any]:
    nw = narwhals()
    low, high = float(bins.start), float(bins.end)
    inside = there if bins.clip else there & (column >= low) & (column < high)
    number = nw.when(inside).then(column).otherwise(nw.lit(low))
    if bins.clip:
        number = between(number, low, high)
    place = _steps(number - low if low else number, bins.step).floor().cast(nw.Int64)
    return inside, nw.min_horizontal(place, nw.lit(bins.size - 1))


def amount(source: Source, one: Amount, low: int, high: int) -> tuple[Any, Any]:
    """Whether a row has an amount, and the nearest grid step between low and high."""
    nw = narwhals()
    there, column = source.column(one.column, "number")
    number = nw.when(there).then(column).otherwise(nw.lit(0.0))
    near = between(number, float(low * one.grid), float(high * one.grid))
    return there, between((_steps(near, one.grid) + 0.5).floor().cast(nw.Int64), low, high)


def between(number: Any, low: float, high: float) -> Any:
    """The number, or the end beyond which it lies; there are no missing values and no NaN any more."""
    nw = narwhals()
    return nw.min_horizontal(nw.max_horizontal(number, nw.lit(low)), nw.lit(high))


def _steps(number: Any, step: Fraction) -> Any:
    """number/step in doubles, by the same two operations in every engine."""
    scaled = number if step.denominator == 1 else number * float(step.denominator)
    return scaled if step.numerator == 1 else scaled / float(step.numerator)
