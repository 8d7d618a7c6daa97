"""Conditions on rows: a small closed language in which every operation has an answer for every value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from zcdp.tables.domain import EXACT
from zcdp.tables.problems import DeclarationError, text

__all__ = ["Condition", "read_where"]

ORDER = ("<", "<=", ">", ">=")
EQUAL = ("==", "!=")
MEMBER = ("in", "not in")
KINDS = {bool: "boolean", int: "number", float: "number", str: "text", date: "date"}
LONGEST = 1000


@dataclass(frozen=True)
class Condition:
    """`column operation value`; a row whose value is missing, or is not a number, never fulfils it."""

    column: str
    operation: str
    value: Any

    @property
    def kind(self) -> str:
        """How the column is read: text, number, boolean or date."""
        return KINDS[type(self.value[0] if self.operation in MEMBER else self.value)]


def read_where(data: Any) -> tuple[Condition, ...]:
    """A list of conditions, all of which a row must fulfil: `[["employed", "==", true], ["age", ">=", 18]]`.

    >>> read_where([["age", ">=", 18]])
    (Condition(column='age', operation='>=', value=18),)
    """
    if not isinstance(data, list):
        raise DeclarationError("where", 'must be a list of conditions: [["age", ">=", 18]]')
    return tuple(_condition(one) for one in data)


def _condition(data: Any) -> Condition:
    if not isinstance(data, list) or len(data) != 3:
        raise DeclarationError("where", 'a condition is ["column", "operation", value]')
    column, operation, value = text(data[0], "where"), data[1], data[2]
    if operation not in (*EQUAL, *ORDER, *MEMBER):
        raise DeclarationError("where", f"{operation!r} is none of {', '.join((*EQUAL, *ORDER, *MEMBER))}")
    values = value if operation in MEMBER else [value]
    if not isinstance(values, list) or not 0 < len(values) <= LONGEST:
        raise DeclarationError("where", f"{operation!r} needs a list of 1 to {LONGEST} values")
    kinds = {KINDS.get(type(one)) for one in values}
    if len(kinds) != 1 or None in kinds:
        raise DeclarationError("where", "values are numbers, text, booleans or days, in one list of one kind")
    if kinds == {"number"} and not all(abs(one) < EXACT for one in values):
        raise DeclarationError("where", "numbers must be below 2^53 in size")
    if operation in ORDER and not kinds <= {"number", "date"}:
        raise DeclarationError("where", f"{operation!r} compares numbers and days alone")
    return Condition(column, operation, tuple(value) if operation in MEMBER else value)
