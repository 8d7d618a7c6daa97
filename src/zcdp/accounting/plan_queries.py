"""Loading a plan file for use in a program: its queries by name, each with the mechanism that releases its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from zcdp.accounting.plan_account import Account, account
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.numeric.exact import Value
from zcdp.plans.plan_file import Entry, PlanFile, PlanFileError, plan_at
from zcdp.privacy.curve import Plan
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.suggestions import thing, unknown

__all__ = ["NamedQuery", "Queries", "load"]


@spoken_class
@dataclass(frozen=True)
class NamedQuery:
    """One query of a plan file: its mechanism, how often it may be used (`count`), and its note."""

    name: str
    mechanism: Mechanism
    count: int = 1
    note: str | None = None

    def release(self, *values: Any, **options: Any) -> Any:
        """Release an answer: calls `mechanism.release`, or `mechanism.run` of a mechanism for streams."""
        run = getattr(self.mechanism, "release", None) or getattr(self.mechanism, "run", None)
        if run is None:
            raise BadType(f"{self.name}: {self.mechanism!r} is accounted for, and has no sampler to be run")
        return run(*values, **options)


class Queries(Mapping[str, NamedQuery]):
    """The queries of a plan file by name, as listed there; `plan` is all of them, `account()` their cost."""

    def __init__(self, file: PlanFile) -> None:
        self.file = file
        self._queries = {entry.name: _query(file, entry) for entry in file.entries}

    def __getitem__(self, name: str) -> NamedQuery:
        if name not in self._queries:
            raise KeyError(unknown("query", str(name), self._queries))
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return f"<{self.file.source}: {', '.join(self)}>"

    @property
    def plan(self) -> Plan:
        """The plan of all queries, each as often as it may be used."""
        return Plan.sum_of(*(Plan.repeated(query.mechanism, query.count) for query in self.values()))

    def account(self, *, delta: Value | None = None, curve: bool = False) -> Account:
        """The cost of the file: `zcdp.account` of it."""
        return account(self.file, delta=delta, curve=curve)


@spoken
def load(path: str | PathLike[str]) -> Queries:
    """The queries of a plan file, ready to release; unlike `account`, it also takes the file's name as text.

    A text of several lines is the plan itself.

    >>> queries = load("examples/census.toml")
    >>> list(queries)[0], queries["monthly corrections"].count
    ('population by region', 12)
    >>> queries["population by region"].release([120, 48]).shape
    (2,)
    """
    if not isinstance(path, str | PathLike):
        raise BadType(f"path ({thing(path)}) must be the name of a plan file, or its Path")
    if not str(path):
        raise BadValue("path ('') must be the name of a plan file")
    return Queries(plan_at(path))


def _query(file: PlanFile, entry: Entry) -> NamedQuery:
    """The entry as a query to run; it must be one mechanism without `?`."""
    where = f"{file.where(entry)}: mechanism"
    if entry.plan is None:
        raise PlanFileError(f"{where}: '?' has no value yet: zcdp allocate finds one")
    (one, count), *others = entry.plan.parts
    if others or not isinstance(one, Mechanism):
        raise PlanFileError(f"{where}: a query that is run has one mechanism, not the sum {entry.text}")
    return NamedQuery(entry.name, one, count * entry.count, entry.note)
