"""Derived columns as narwhals expressions, each computed from one row, or from the rows of one person.

As for columns of the data there are two expressions without nulls for each: whether a row has a value, and the value.
No operation here can fail, overflow or give NaN, whatever the row holds: an engine may compute it for rows that a
filter drops. Theorem: docs/theorems/derived-columns.md.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import reduce
from operator import add, and_, mul, or_, sub
from typing import TYPE_CHECKING, Any

from zcdp.release.bounding import joined_parts, split_parts
from zcdp.release.expressions import between, condition, quotient, steps
from zcdp.release.frame_engines import narwhals
from zcdp.release.reading import ROW, Use
from zcdp.tables.derived_columns import (
    AllOf,
    AnyOf,
    Arithmetic,
    Derived,
    Filled,
    FirstMatch,
    Folded,
    Holds,
    LookedUp,
    NotSo,
    Part,
    PerPerson,
    Prefix,
    Test,
    Years,
)
from zcdp.tables.domain import EXACT

if TYPE_CHECKING:
    from zcdp.release.expressions import Source

__all__ = ["with_derived"]

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"difference": sub, "sum": add, "product": mul}
Pair = tuple[Any, Any]
"""Two expressions: whether a row has a value, and the value; that of a day is a tuple of its ordinal and its month."""


def with_derived(source: Source, frame: Any, derived: Derived, use: Use) -> Any:
    """The frame with the columns of one derived column, read as the kind of value that `use` asks for."""
    rule = derived.rule
    if isinstance(rule, LookedUp):
        return _looked_up(source, frame, rule, use)
    if isinstance(rule, Folded):
        there, label = source.label(rule.of, "text")
        folded = source.engine.folded(frame, label, rule.ways, use.value)
        return folded.with_columns(there.alias(use.there))
    if isinstance(rule, PerPerson):
        return _per_person(source, frame, rule, use)
    make: Callable[[Source, Any], Pair] = MAKE[type(rule)]
    there, value = make(source, rule)
    if use.kind == "date":
        return frame.with_columns(there.alias(use.there), value[0].alias(use.value), value[1].alias(use.month))
    return frame.with_columns(**_as_asked(there, value, rule.kind, use))


def _as_asked(there: Any, value: Any, kind: str, use: Use) -> dict[str, Any]:
    """The columns of a value that is not a day; a number that is asked for as an integer must be one."""
    nw = narwhals()
    if kind == "number" and use.kind == "integer":
        near = there & (value.abs() < EXACT)
        there = near & (nw.when(near).then(value).otherwise(0.5).floor() == value)
        value = nw.when(there).then(value).otherwise(0.0).cast(nw.Int64)
    return {use.there: there, use.value: value}


def _always() -> Any:
    """A test that holds for every row, as a column: some engines make one row of a constant."""
    return narwhals().col(ROW) == 1


def _test(source: Source, test: Test) -> Any:
    """Whether the test holds, as a boolean column without nulls."""
    if isinstance(test, NotSo):
        return ~_test(source, test.test)
    if isinstance(test, AllOf):
        return reduce(and_, (_test(source, one) for one in test.tests), _always())
    if isinstance(test, AnyOf):
        return reduce(or_, (_test(source, one) for one in test.tests))
    return condition(source, test)


def _number(source: Source, operand: Any) -> Pair:
    """An operand in doubles; a value that is 2^53 or more in size counts as missing, and 0 stands for none."""
    nw = narwhals()
    if not isinstance(operand, str):
        return _always(), nw.lit(float(operand), nw.Float64)
    there, value = source.column(operand, "number")
    near = there & (value.abs() < EXACT)
    return near, nw.when(near).then(value).otherwise(0.0)


def _arithmetic(source: Source, rule: Arithmetic) -> Pair:
    """Operands are below 2^53 in size, so that no partial result overflows, and there is no division by 0."""
    nw = narwhals()
    (there, value), *others = (_number(source, one) for one in rule.operands)
    for also, other in others:
        there = there & also
        if rule.operation == "quotient":
            there = there & (value.abs() < other.abs() * float(EXACT))
            value = quotient(value, nw.when(there).then(other).otherwise(1.0))
        else:
            value = OPERATIONS[rule.operation](value, other)
            there = there & (value.abs() < EXACT)
    return there, nw.when(there).then(value).otherwise(0.0)


# Days: parts of the calendar from ordinals and months, in integers far below 2^53.


def _floor(number: Any, divisor: int) -> Any:
    """floor(number/divisor), exact as both are far below 2^53."""
    return quotient(number, divisor).floor().cast(narwhals().Int64)


def _day(source: Source, operand: Any) -> tuple[Any, Any, Any]:
    """Whether there is a day, its ordinal, and its month as 12 year + month - 1."""
    nw = narwhals()
    if isinstance(operand, str):
        return source.day(operand)
    return _always(), nw.lit(operand.toordinal(), nw.Int64), nw.lit(_month(operand), nw.Int64)


def _month(day: date) -> int:
    return 12 * day.year + day.month - 1


def _first_of(month: Any) -> Any:
    """The ordinal of the first day of a month, which is 12 year + month - 1."""
    year = _floor(month, 12)
    place = month - year * 12
    before = year - 1
    leap = sum(sign * (_floor(year, n) - _floor(before, n)) for n, sign in ((4, 1), (100, -1), (400, 1)))
    days = before * 365 + _floor(before, 4) - _floor(before, 100) + _floor(before, 400)
    late = (place >= 2).cast(narwhals().Int64)  # March or later: February has 30 days in the quotient below
    return days + _floor(place * 367 + 5, 12) - late * (2 - leap) + 1


def _part(source: Source, rule: Part) -> Pair:
    there, day, month = source.day(rule.of)
    year = _floor(month, 12)
    made: dict[str, Callable[[], Any]] = {
        "year": lambda: year,
        "quarter": lambda: _floor(month - year * 12, 3) + 1,
        "month": lambda: month - year * 12 + 1,
        "day": lambda: day - _first_of(month) + 1,
        "weekday": lambda: day - _floor(day - 1, 7) * 7,  # the first of January of year 1 was a Monday
    }
    return there, made[rule.part]()


def _years(source: Source, rule: Years) -> Pair:
    nw = narwhals()
    (there, start, first), (also, end, last) = _day(source, rule.start), _day(source, rule.end)
    early = (end - _first_of(last) < start - _first_of(first)).cast(nw.Int64)
    return there & also, _floor(last - first - early, 12)


def _constant(value: Any, kind: str) -> Any:
    """A constant as a literal of the type that columns of its kind have."""
    nw = narwhals()
    if kind == "date":
        return nw.lit(value.toordinal(), nw.Int64), nw.lit(_month(value), nw.Int64)
    types = {"text": nw.String, "boolean": nw.Boolean, "integer": nw.Int64, "number": nw.Float64}
    return nw.lit(float(value) if kind == "number" else value, types[kind])


def _chosen(test: Any, value: Any, otherwise: Any) -> Any:
    """The value where the test holds, and otherwise the other one; days are pairs of ordinal and month."""
    if isinstance(value, tuple):
        return tuple(_chosen(test, *two) for two in zip(value, otherwise, strict=True))
    return narwhals().when(test).then(value).otherwise(otherwise)


def _holds(source: Source, rule: Holds) -> Pair:
    return _always(), _test(source, rule.test)


def _first_match(source: Source, rule: FirstMatch) -> Pair:
    tests = [_test(source, test) for test, _ in rule.cases]
    values = [_constant(value, rule.kind) for _, value in rule.cases]
    found = values[-1]
    for test, value in zip(reversed(tests), reversed(values), strict=True):
        found = _chosen(test, value, found)
    return reduce(or_, tests), found


def _prefix(source: Source, rule: Prefix) -> Pair:
    there, value = source.column(rule.of, "text")
    return there, value.str.head(rule.length)


def _filled(source: Source, rule: Filled) -> Pair:
    if rule.kind == "date":
        there, *day = source.day(rule.of)
        return _always(), _chosen(there, tuple(day), _constant(rule.missing, "date"))
    there, value = source.column(rule.of, rule.kind)
    return _always(), _chosen(there, value, _constant(rule.missing, rule.kind))


MAKE: dict[type, Any] = {
    Arithmetic: _arithmetic,
    Part: _part,
    Years: _years,
    Holds: _holds,
    FirstMatch: _first_match,
    Prefix: _prefix,
    Filled: _filled,
}


# Numbers of a person, from that person's rows alone.

HIGH, LOW, SEEN = "zcdp_person_high", "zcdp_person_low", "zcdp_person_seen"


def _per_person(source: Source, frame: Any, rule: PerPerson, use: Use) -> Any:
    """Rows without an id are a group of their own: they are nobody's, and no value that stands for none joins them."""
    nw = narwhals()
    person = source.person
    group = [person.there, person.value]
    if rule.operation == "count":
        assert not isinstance(rule.of, str)
        marked = frame.with_columns(_test(source, rule.of).cast(nw.Int64).alias(SEEN))
        counted = nw.col(SEEN).sum().over(*group).cast(nw.Int64)
        return marked.with_columns(nw.col(person.there).alias(use.there), counted.alias(use.value)).drop(SEEN)
    there, value = _number(source, rule.of)
    seen = (nw.col(SEEN).max().over(*group) == 1) & nw.col(person.there)
    marked = frame.with_columns(there.cast(nw.Int64).alias(SEEN))
    if rule.operation != "total":
        largest = rule.operation == "largest"
        beyond = float(-EXACT if largest else EXACT)  # no value is as far
        marked = marked.with_columns(nw.when(there).then(value).otherwise(beyond).alias(LOW))
        found = nw.col(LOW).max() if largest else nw.col(LOW).min()
        marked = marked.with_columns(seen.alias(use.there), found.over(*group).alias(use.value)).drop(SEEN, LOW)
    else:
        most = EXACT - 1
        near = between(steps(value, rule.grid), -float(most), float(most))
        step = between((near + 0.5).floor().cast(nw.Int64), -most, most)
        high, low = split_parts(nw.when(there).then(step).otherwise(0))
        marked = marked.with_columns(high.alias(HIGH), low.alias(LOW))
        summed = (nw.col(name).sum().over(*group).cast(nw.Int64) for name in (HIGH, LOW))
        marked = marked.with_columns(*(one.alias(name) for one, name in zip(summed, (HIGH, LOW), strict=True)))
        total = between(joined_parts(nw.col(HIGH), nw.col(LOW)), -most, most).cast(nw.Float64)
        scaled = quotient(total * float(rule.grid.numerator), rule.grid.denominator)
        marked = marked.with_columns(seen.alias(use.there), scaled.alias(use.value)).drop(SEEN, HIGH, LOW)
    there, value = nw.col(use.there), nw.col(use.value)
    near = there & (value.abs() < EXACT)
    safe = nw.when(near).then(value).otherwise(0.0)
    return marked.with_columns(near.alias(use.there), safe.alias(use.value)).with_columns(
        **_as_asked(nw.col(use.there), nw.col(use.value), rule.kind, use)
    )


# Public tables: the index of the row's key among those of the table, then the entry of that index.


def _looked_up(source: Source, frame: Any, rule: LookedUp, use: Use) -> Any:
    nw = narwhals()
    there, label = source.label(rule.table.on, rule.table.kind)
    place = "zcdp_line_" + rule.table.name.encode().hex()  # in hexadecimal, as Spark ignores the case of letters
    if place not in frame.collect_schema().names():
        frame = source.engine.placed(frame, label, rule.table.keys, range(len(rule.table.keys)), place)
    found = rule.table.column(rule.field, use.kind)
    values: dict[str, list[Any]] = {use.there: [one is not None for one in found]}
    if use.kind == "date":
        days = [date.min if one is None else one for one in found]
        values |= {use.value: [one.toordinal() for one in days], use.month: [_month(one) for one in days]}
    else:
        nothing: Any = {"text": "", "boolean": False, "integer": 0, "number": 0.0}[use.kind]
        values[use.value] = [nothing if one is None else one for one in found]
    for name, entries in values.items():
        frame = source.engine.taken(frame, place, entries, name)
    return frame.with_columns((there & (nw.col(place) >= 0) & nw.col(use.there)).alias(use.there))
