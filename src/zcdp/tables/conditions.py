"""Conditions on rows (`where`): a small language in which every operation is defined for every value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from math import inf
from typing import Any

from zcdp.tables.domain import EXACT, Bins, Dates, DeclarationError, Domain, Keys, text

__all__ = ["Condition", "always_has_a_key", "read_where"]


COMPARISONS = ("<", "<=", ">", ">=")
EQUAL = ("==", "!=")
MEMBER = ("in", "not in")
KINDS = {bool: "boolean", int: "number", float: "number", str: "text", date: "date"}
MOST_LISTED = 1000  # values after "in"


@dataclass(frozen=True)
class Condition:
    """A condition `column operation value`; a row whose value is missing or NaN never fulfils it."""

    column: str
    operation: str
    value: Any

    @property
    def kind(self) -> str:
        """The type that the column is read as: text, number, boolean or date."""
        return KINDS[type(self.value[0] if self.operation in MEMBER else self.value)]


def read_where(data: Any) -> tuple[Condition, ...]:
    """The conditions of a query, all of which a row must fulfil: `[["employed", "==", true], ["age", ">=", 18]]`.

    >>> read_where([["age", ">=", 18]])
    (Condition(column='age', operation='>=', value=18),)
    """
    if not isinstance(data, list):
        raise DeclarationError("where", 'must be a list of conditions: [["age", ">=", 18]]')
    return tuple(_condition(one) for one in data)


def _condition(data: Any) -> Condition:
    """One condition, checked: a known operation, and values of one kind that it can compare."""
    if not isinstance(data, list) or len(data) != 3:
        raise DeclarationError("where", 'a condition is ["column", "operation", value]')
    column, operation, value = text(data[0], "where"), data[1], data[2]
    if operation not in (*EQUAL, *COMPARISONS, *MEMBER):
        raise DeclarationError("where", f"{operation!r} is none of {', '.join((*EQUAL, *COMPARISONS, *MEMBER))}")
    values = value if operation in MEMBER else [value]
    if not isinstance(values, list) or not 0 < len(values) <= MOST_LISTED:
        raise DeclarationError("where", f"{operation!r} needs a list of 1 to {MOST_LISTED} values")
    kinds = {KINDS.get(type(one)) for one in values}
    if len(kinds) != 1 or None in kinds:
        raise DeclarationError("where", "values are numbers, text, booleans or days, in one list of one kind")
    if kinds == {"number"} and not all(abs(one) < EXACT for one in values):
        raise DeclarationError("where", "numbers must be below 2^53 in size")
    if operation in COMPARISONS and not kinds <= {"number", "date"}:
        raise DeclarationError("where", f"{operation!r} compares numbers and days alone")
    return Condition(column, operation, tuple(value) if operation in MEMBER else value)


# Whether every row that fulfils the conditions of a query has a key in a domain; then a table by it drops no row.

READ_AS = {"text": "text", "integer": "number", "boolean": "boolean", "number": "number", "date": "date"}
"""The kind of condition that reads the column of a domain, by the kind of the domain."""


def always_has_a_key(domain: Domain, where: Iterable[Condition]) -> bool:
    """Whether every row that fulfils the conditions has a key in the domain, from the plan alone; False if in doubt.

    A row that fulfils a condition on a column has a value there, and the condition may bound it.
    Theorem: docs/theorems/totals.md.

    >>> from zcdp.tables.domain import read_domain
    >>> from zcdp.tables.conditions import read_where
    >>> age = read_domain("age", {"from": 0, "to": 100, "step": 5, "clip": True}, None)
    >>> always_has_a_key(age, []), always_has_a_key(age, read_where([["age", ">=", 18]]))
    (False, True)
    """
    if isinstance(domain, Keys) and domain.other is not None:
        return True
    said = [one for one in where if one.column == domain.column and one.kind == READ_AS[domain.kind]]
    if isinstance(domain, Keys):
        both = domain.kind == "boolean" and domain.size == 2
        return bool(said) and (both or any(set(_listed(one)) <= set(domain.values) for one in said if _lists(one)))
    return bool(said) and (domain.clip or _inside(domain, said))


def _lists(one: Condition) -> bool:
    """Whether the condition lists all values that fulfil it."""
    return one.operation in ("==", "in")


def _listed(one: Condition) -> tuple[Any, ...]:
    """The values that the condition names, as a tuple."""
    return one.value if isinstance(one.value, tuple) else (one.value,)


def _inside(domain: Bins | Dates, said: list[Condition]) -> bool:
    """Whether the conditions exclude all values outside of the domain; compared in doubles or days, as engines do."""
    ends = (domain.start, domain.end) if isinstance(domain, Bins) else (domain.days[0], domain.days[-1])
    start, end = map(_place, ends)
    from_start = any(_least(one) >= start for one in said)
    # bins are half-open: a value equal to the end is in none
    before_end = any(_most(one) < end or (one.operation == "<" and _most(one) == end) for one in said)
    return from_start and before_end


def _least(one: Condition) -> float:
    """A lower bound on the values that fulfil the condition; -inf if there is none."""
    return min(map(_place, _listed(one))) if _lists(one) or one.operation in (">", ">=") else -inf


def _most(one: Condition) -> float:
    """An upper bound on the values that fulfil the condition; inf if there is none."""
    return max(map(_place, _listed(one))) if _lists(one) or one.operation in ("<", "<=") else inf


def _place(value: Any) -> float:
    """A number, or a date by its ordinal, as a float to compare."""
    return value.toordinal() if isinstance(value, date) else float(value)
