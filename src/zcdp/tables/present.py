"""Whether every row that fulfils the conditions of a query has a key of a domain: then no table by it drops a row."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from math import inf
from typing import Any

from zcdp.tables.dates import Dates
from zcdp.tables.domain import Bins, Domain, Keys
from zcdp.tables.where import Condition

__all__ = ["always_has_a_key"]

READ_AS = {"text": "text", "integer": "number", "boolean": "boolean", "number": "number", "date": "date"}
"""As what a condition reads the column of a domain."""


def always_has_a_key(domain: Domain, where: Iterable[Condition]) -> bool:
    """Decided by the plan alone; where it cannot be told, the answer is False.

    A condition that is fulfilled says that there is a value, and may say where it lies.
    Theorem: docs/theorems/totals.md.

    >>> from zcdp.tables.domain import read_domain
    >>> from zcdp.tables.where import read_where
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
