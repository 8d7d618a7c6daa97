"""Derived columns: what [derive] and [lookup] of a plan file compute from each row, or from one person's rows alone.

A rule says what is computed; `Derived` names it as a column, which conditions, domains and amounts use like one of the
data. No rule looks at the rows of another person, so that neighbours stay neighbours.
Theorem: docs/theorems/derived-columns.md.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

from zcdp.tables.domain import EXACT, DeclarationError, known_fields, number, plain, text, whole
from zcdp.tables.lookup_tables import LookupTable
from zcdp.tables.table_query import KINDS, Condition, read_condition

__all__ = [
    "AllOf",
    "AnyOf",
    "Arithmetic",
    "Derived",
    "Filled",
    "FirstMatch",
    "Folded",
    "Holds",
    "LookedUp",
    "NotSo",
    "Part",
    "PerPerson",
    "Prefix",
    "Rule",
    "Test",
    "Years",
    "needed_columns",
    "read_derived",
]

Asked: TypeAlias = tuple[str, str]
"""A column and the kind of value that it is read as: text, number, integer, boolean or date."""
READABLE = {
    "text": ("text",),
    "boolean": ("boolean",),
    "date": ("date",),
    "integer": ("integer", "number"),
    "number": ("number", "integer"),
    "any": ("text", "number", "integer", "boolean", "date"),
}
"""The kinds of value that a column of each kind can be read as."""
SAID = {"text": "text", "boolean": "booleans", "date": "days", "integer": "integers", "number": "numbers"}


# Tests of a row: the conditions of `where`, and all, any or none of them. A test is true or false, never missing.


@dataclass(frozen=True)
class AllOf:
    """All tests hold; with none of them it always holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one of the tests holds."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class NotSo:
    """The test does not hold: also where it does not hold because a value is missing."""

    test: Test


Test: TypeAlias = Condition | AllOf | AnyOf | NotSo
LOGIC = ("all", "any", "not")


def read_test(data: Any, field: str) -> Test:
    """A test from a plan file: true, a condition, { all = [...] }, { any = [...] } or { not = ... }.

    >>> read_test({"any": [["hours", ">", 0], ["status", "==", "leave"]]}, "working").tests[1].value
    'leave'
    """
    if data is True:
        return AllOf(())
    if isinstance(data, list):
        return read_condition(data, field)
    if not isinstance(data, dict) or len(data) != 1 or next(iter(data)) not in LOGIC:
        raise DeclarationError(field, 'a test is true, ["column", "operation", value], or { all, any or not = ... }')
    [(word, inner)] = data.items()
    if word == "not":
        return NotSo(read_test(inner, field))
    if not isinstance(inner, list) or not inner:
        raise DeclarationError(field, f"{word} needs a list of tests")
    return (AllOf if word == "all" else AnyOf)(tuple(read_test(one, field) for one in inner))


def conditions(test: Test) -> Iterator[Condition]:
    """All conditions inside a test."""
    if isinstance(test, Condition):
        yield test
        return
    for one in (test.test,) if isinstance(test, NotSo) else test.tests:
        yield from conditions(one)


def test_words(test: Test) -> str:
    """The test as a reader writes it.

    >>> test_words(read_test({"not": ["hours", ">", 0]}, "idle"))
    'not (hours > 0)'
    """
    if isinstance(test, Condition):
        return f"{test.column} {test.operation} {_shown(test.value)}"
    if isinstance(test, NotSo):
        return f"not ({test_words(test.test)})"
    if not test.tests:
        return "always"
    return (" and " if isinstance(test, AllOf) else " or ").join(
        test_words(one) if isinstance(one, Condition) else f"({test_words(one)})" for one in test.tests
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, str) else str(value)


# Rules.


class Rule(ABC):
    """What a derived column is computed from, and how."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of value that it gives: text, number, integer, boolean, date, or any that is asked for."""

    @property
    @abstractmethod
    def inputs(self) -> Iterator[Asked]:
        """The columns that it reads, each with the kind of value it is read as."""

    @abstractmethod
    def words(self) -> str:
        """What is computed, in words for a report."""


class OfColumn(Rule):
    """A rule of one column, `of`, which is read as the kind `reads`."""

    of: str
    reads: str

    @property
    def inputs(self) -> Iterator[Asked]:
        yield self.of, self.reads


class OfTests(Rule):
    """A rule of what tests of a row say."""

    @property
    @abstractmethod
    def tests(self) -> tuple[Test, ...]:
        """The tests."""

    @property
    def inputs(self) -> Iterator[Asked]:
        return ((one.column, one.kind) for test in self.tests for one in conditions(test))


@dataclass(frozen=True)
class Arithmetic(Rule):
    """quotient, difference, sum or product of columns and constants, from left to right, in doubles.

    A row has none where an operand is missing, where an operand or a partial result is 2^53 or more in size, or where
    it is divided by 0. Integers are added, subtracted and multiplied exactly.
    """

    operation: str
    operands: tuple[str | Fraction, ...]

    kind = "number"

    @property
    def inputs(self) -> Iterator[Asked]:
        return ((one, "number") for one in self.operands if isinstance(one, str))

    def words(self) -> str:
        sign = {"quotient": " / ", "difference": " - ", "sum": " + ", "product": " * "}[self.operation]
        return sign.join(one if isinstance(one, str) else str(plain(one)) for one in self.operands)


@dataclass(frozen=True)
class Part(OfColumn):
    """A part of a date: year, quarter (1 to 4), month (1 to 12), day of the month, or weekday (1, Monday, to 7)."""

    part: str
    of: str

    kind, reads = "integer", "date"

    def words(self) -> str:
        return f"{self.part} of {self.of}"


@dataclass(frozen=True)
class Years(Rule):
    """Whole years from one day to another, such as an age: a year is over on the same day of the same month.

    Who is born on 29 February has a birthday on 1 March of other years. Below 0 where the second day comes first.
    """

    start: str | date
    end: str | date

    kind = "integer"

    @property
    def inputs(self) -> Iterator[Asked]:
        return ((one, "date") for one in (self.start, self.end) if isinstance(one, str))

    def words(self) -> str:
        return f"whole years from {self.start} to {self.end}"


@dataclass(frozen=True)
class Holds(OfTests):
    """Whether a test holds: true or false, never missing."""

    test: Test

    kind = "boolean"

    @property
    def tests(self) -> tuple[Test, ...]:
        return (self.test,)

    def words(self) -> str:
        return f"whether {test_words(self.test)}"


@dataclass(frozen=True)
class FirstMatch(OfTests):
    """The constant beside the first test that holds; missing where none does."""

    cases: tuple[tuple[Test, Any], ...]

    @property
    def kind(self) -> str:
        return _kind([value for _, value in self.cases])

    @property
    def tests(self) -> tuple[Test, ...]:
        return tuple(test for test, _ in self.cases)

    def words(self) -> str:
        said = ((_shown(value), test_words(test)) for test, value in self.cases)
        return ", else ".join(value if test == "always" else f"{value} if {test}" for value, test in said)


@dataclass(frozen=True)
class Prefix(OfColumn):
    """The first letters (Unicode code points) of a text; the text itself if it has fewer."""

    length: int
    of: str

    kind = reads = "text"

    def words(self) -> str:
        return f"the first {self.length} letters of {self.of}"


@dataclass(frozen=True)
class Folded(OfColumn):
    """A text in one spelling: `nfc` (composed accents), `case` (small letters), `trim` (no blanks at the ends).

    They are applied in this order, whatever the order in the plan.
    """

    ways: tuple[str, ...]
    of: str

    kind = reads = "text"

    def words(self) -> str:
        return f"{self.of}, folded by {', '.join(self.ways)}"


@dataclass(frozen=True)
class Filled(OfColumn):
    """The value of a column, and a constant where it is missing."""

    of: str
    missing: Any

    @property
    def kind(self) -> str:
        found = _kind([self.missing])
        return "number" if found == "integer" else found

    @property
    def reads(self) -> str:  # type: ignore[override]
        return self.kind

    def words(self) -> str:
        return f"{self.of}, and {_shown(self.missing)} where it is missing"


@dataclass(frozen=True)
class PerPerson(OfTests):
    """One number of each person, from that person's rows alone, beside each of these rows.

    count: of the rows for which the test holds. total: of the values, each rounded to the grid, halves up; a total
    beyond 2^53 - 1 grid steps is cut there. largest, smallest: of the values. A value that is 2^53 or more in size
    counts as missing; without any value the person has no total, no largest and no smallest.
    """

    operation: str
    of: str | Test
    grid: Fraction = Fraction(1)

    @property
    def kind(self) -> str:
        return "integer" if self.operation == "count" else "number"

    @property
    def tests(self) -> tuple[Test, ...]:
        return () if isinstance(self.of, str) else (self.of,)

    @property
    def inputs(self) -> Iterator[Asked]:
        return iter([(self.of, "number")]) if isinstance(self.of, str) else super().inputs

    def words(self) -> str:
        if not isinstance(self.of, str):
            which = test_words(self.of)
            return "the person's rows, counted" + ("" if which == "always" else f" where {which}")
        return f"{self.operation} {self.of} of the person's rows"


@dataclass(frozen=True)
class LookedUp(Rule):
    """The entry of a public table beside the row's key; missing where the table does not have the key."""

    table: LookupTable
    field: str

    kind = "any"

    @property
    def inputs(self) -> Iterator[Asked]:
        yield self.table.on, self.table.kind

    def words(self) -> str:
        return f"{self.field} of {self.table.on}, by the public table {self.table.name}"


@dataclass(frozen=True)
class Derived:
    """A derived column: its name, and the rule that computes it."""

    name: str
    rule: Rule

    def words(self) -> str:
        """What is computed, in words."""
        return self.rule.words()

    def check_kind(self, kind: str) -> None:
        """Refuse a use that reads the column as another kind of value than its rule gives."""
        if kind not in READABLE[self.rule.kind]:
            asked = SAID.get(kind, "names of persons")
            message = f"the derived column {self.name!r} holds {SAID[self.rule.kind]}, and cannot be read as {asked}"
            raise DeclarationError("", message)
        if isinstance(self.rule, LookedUp):
            self.rule.table.column(self.rule.field, kind)  # raises if an entry of the public table is of no such kind


# Reading [derive].

FORMS = {
    "quotient": (),
    "difference": (),
    "sum": (),
    "product": (),
    "part": ("of",),
    "years_between": (),
    "all": (),
    "any": (),
    "not": (),
    "first": (),
    "prefix": ("of",),
    "fold": ("of",),
    "value": ("missing",),
    "per": ("count", "total", "largest", "smallest", "grid"),
}
"""What a derived column may be, each with its further fields."""
MOST_OPERANDS, MOST_CASES, LONGEST_PREFIX, MOST_DERIVED = 16, 200, 100, 200
DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A text that is meant as a day, and as no column."""
PARTS = ("year", "quarter", "month", "day", "weekday")
WAYS = ("nfc", "case", "trim")


def read_derived(data: Any, lookups: Iterable[LookupTable], unit: str) -> dict[str, Derived]:
    """All derived columns by name: those of lookup tables, and those of [derive], which may use each other.

    >>> read_derived({"net": {"difference": ["income", "tax"]}}, [], "person_id")["net"].words()
    'income - tax'
    """
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [derive]")
    found: dict[str, Derived] = {}
    for table in lookups:
        for name, field in table.add.items():
            if name in found:
                raise DeclarationError("", f"two lookup tables add a column {name!r}")
            found[name] = Derived(name, LookedUp(table, field))
    for name, one in data.items():
        if name in found:
            raise DeclarationError(name, "a lookup table adds a column of this name already")
        found[name] = Derived(name, _rule(name, one, unit))
    if unit in found:
        raise DeclarationError("", f"the column of the unit, {unit!r}, cannot be derived")
    if len(found) > MOST_DERIVED:
        raise DeclarationError("", f"a plan has at most {MOST_DERIVED} derived columns")
    fine: set[str] = set()
    for name in found:
        _check(found, name, (), fine)
    return found


def _check(found: Mapping[str, Derived], name: str, above: tuple[str, ...], fine: set[str]) -> None:
    """Refuse a column that is derived from itself, and one that reads another as a kind that it does not hold."""
    if name in above:
        said = f"is derived from itself: {' from '.join((*above[above.index(name) :], name))}"
        raise DeclarationError(name, f"{said}; a derived column needs a name of its own")
    for column, kind in () if name in fine else found[name].rule.inputs:
        if column in found:
            _check(found, column, (*above, name), fine)
            try:
                found[column].check_kind(kind)
            except DeclarationError as error:
                raise DeclarationError(name, error.message) from None
    fine.add(name)


def needed_columns(derived: Mapping[str, Derived], asked: Iterable[Asked]) -> tuple[list[Asked], list[Asked]]:
    """What must be read from the data, and what is derived from it, each after what it is derived from."""
    read: dict[Asked, None] = {}
    made: dict[Asked, None] = {}

    def need(column: str, kind: str) -> None:
        if column not in derived:
            read.setdefault((column, kind))
            return
        if (column, kind) in made:
            return
        for one in derived[column].rule.inputs:
            need(*one)
        made.setdefault((column, kind))

    for one in asked:
        need(*one)
    return list(read), list(made)


def _rule(name: str, data: Any, unit: str) -> Rule:
    """The rule of one derived column."""
    forms = [form for form in FORMS if isinstance(data, dict) and form in data]
    if len(forms) != 1:
        raise DeclarationError(name, f"must be a table with one of {', '.join(FORMS)}")
    [form] = forms
    known_fields(data, (form, *FORMS[form]), f"the derived column {name!r}")
    if form in ("quotient", "difference", "sum", "product"):
        return _arithmetic(name, form, data[form])
    if form in LOGIC:
        return Holds(read_test({form: data[form]}, name))
    if form == "years_between":
        return _years(name, data[form])
    if form == "first":
        return _first(name, data[form])
    if form == "value":
        if "missing" not in data:
            raise DeclarationError(name, "missing is missing: the constant that stands for no value")
        return Filled(text(data["value"], name), _constant(name, data["missing"]))
    if form == "per":
        return _per_person(name, data, unit)
    if "of" not in data:
        raise DeclarationError(name, f"of is missing: the column that the {form} is of")
    of = text(data["of"], name)
    if form == "part":
        return Part(_one_of(name, data["part"], PARTS, "part"), of)
    if form == "prefix":
        return Prefix(whole(data["prefix"], name, 1, LONGEST_PREFIX), of)
    ways = data["fold"] if isinstance(data["fold"], list) else [data["fold"]]
    if not ways or len(set(map(str, ways))) < len(ways):
        raise DeclarationError(name, f"fold must be one or more of {', '.join(WAYS)}")
    chosen = {_one_of(name, way, WAYS, "fold") for way in ways}
    return Folded(tuple(way for way in WAYS if way in chosen), of)


def _one_of(name: str, value: Any, allowed: tuple[str, ...], what: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise DeclarationError(name, f"{what} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def _arithmetic(name: str, form: str, data: Any) -> Arithmetic:
    most = 2 if form in ("quotient", "difference") else MOST_OPERANDS
    if not isinstance(data, list) or not 2 <= len(data) <= most:
        raise DeclarationError(
            name, f"{form} needs a list of {'2' if most == 2 else f'2 to {most}'} columns or numbers"
        )
    operands = tuple(text(one, name) if isinstance(one, str) else number(one, name) for one in data)
    if not any(isinstance(one, str) for one in operands):
        raise DeclarationError(name, f"{form} needs at least one column")
    if any(not isinstance(one, str) and abs(one) >= EXACT for one in operands):
        raise DeclarationError(name, "numbers must be below 2^53 in size")
    return Arithmetic(form, operands)


def _years(name: str, data: Any) -> Years:
    if not isinstance(data, list) or len(data) != 2 or not any(isinstance(one, str) for one in data):
        raise DeclarationError(name, 'years_between needs two days, columns or constants: ["born", 2026-01-01]')
    if not all(type(one) is date or (isinstance(one, str) and one and not DAY.fullmatch(one)) for one in data):
        raise DeclarationError(name, "a day is the name of a column, or a date without quotes: 2026-01-01")
    return Years(*data)


def _first(name: str, data: Any) -> FirstMatch:
    if not isinstance(data, list) or not 0 < len(data) <= MOST_CASES:
        raise DeclarationError(name, f"first needs a list of 1 to {MOST_CASES} pairs [test, value]")
    if not all(isinstance(one, list) and len(one) == 2 for one in data):
        raise DeclarationError(name, 'first needs pairs [test, value]: [["age", "<", 18], "child"]')
    cases = tuple((read_test(test, name), _constant(name, value)) for test, value in data)
    if _kind([value for _, value in cases]) == "":
        raise DeclarationError(name, "the values of first must be of one kind: numbers, text, booleans or days")
    return FirstMatch(cases)


def _per_person(name: str, data: Mapping[str, Any], unit: str) -> PerPerson:
    if data["per"] != "person":
        raise DeclarationError(name, f'per must be "person", not {data["per"]!r}')
    if unit == "row":
        raise DeclarationError(name, "the unit is a row, so that there are no persons to derive it from")
    operations = [one for one in ("count", "total", "largest", "smallest") if one in data]
    if len(operations) != 1:
        raise DeclarationError(name, "per person there is one of count, total, largest, smallest")
    [operation] = operations
    if "grid" in data and operation != "total":
        raise DeclarationError(name, "grid is that of a total")
    if operation == "count":
        return PerPerson("count", read_test(data["count"], name))
    grid = number(data.get("grid", 1), name)
    if grid <= 0 or max(grid.numerator, grid.denominator) >= 2**31:
        raise DeclarationError(name, "grid must be positive, with at most nine digits above and below the fraction bar")
    return PerPerson(operation, text(data[operation], name), grid)


def _constant(name: str, value: Any) -> Any:
    if KINDS.get(type(value)) is None:
        raise DeclarationError(name, "a constant is a number, text, a boolean or a day")
    if KINDS[type(value)] == "number" and not abs(value) < EXACT:
        raise DeclarationError(name, "numbers must be below 2^53 in size")
    return value


def _kind(values: list[Any]) -> str:
    """The kind of constants: integer if all are whole, "" if they are of different kinds."""
    if all(type(value) is int for value in values):
        return "integer"
    kinds = {KINDS[type(value)] for value in values}
    return kinds.pop() if len(kinds) == 1 else ""
