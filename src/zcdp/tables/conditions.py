"""Conditions on rows: a small closed language in which every operation has an answer for every value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from math import inf
from typing import Any

from zcdp.tables.domain import EXACT, Bins, Dates, DeclarationError, Domain, Keys, text

__all__ = ["Condition", "always_has_a_key", "read_where"]


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


# Whether every row that fulfils the conditions of a query has a key of a domain: then no table by it drops a row.

READ_AS = {"text": "text", "integer": "number", "boolean": "boolean", "number": "number", "date": "date"}
"""As what a condition reads the column of a domain."""


def always_has_a_key(domain: Domain, where: Iterable[Condition]) -> bool:
    """Decided by the plan alone; where it cannot be told, the answer is False.

    A condition that is fulfilled says that there is a value, and may say where it lies.
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
    """Whether the condition names all values that fulfil it."""
    return one.operation in ("==", "in")


def _listed(one: Condition) -> tuple[Any, ...]:
    return one.value if isinstance(one.value, tuple) else (one.value,)


def _inside(domain: Bins | Dates, said: list[Condition]) -> bool:
    """Whether the conditions leave no value outside; in doubles, or days, as the engines compare."""
    ends = (domain.start, domain.end) if isinstance(domain, Bins) else (domain.days[0], domain.days[-1])
    start, end = map(_place, ends)
    from_start = any(_least(one) >= start for one in said)
    # what is the end itself is in no bin
    before_end = any(_most(one) < end or (one.operation == "<" and _most(one) == end) for one in said)
    return from_start and before_end


def _least(one: Condition) -> float:
    """What fulfils the condition is not below."""
    return min(map(_place, _listed(one))) if _lists(one) or one.operation in (">", ">=") else -inf


def _most(one: Condition) -> float:
    """What fulfils the condition is not above."""
    return max(map(_place, _listed(one))) if _lists(one) or one.operation in ("<", "<=") else inf


def _place(value: Any) -> float:
    return value.toordinal() if isinstance(value, date) else float(value)
