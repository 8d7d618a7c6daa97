"""Tables in a plan file: each statistic of a table is an ordinary entry, with the sensitivity derived for it."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from zcdp.accounting.entry import Entry
from zcdp.accounting.parser import FREE, PlanError, parse_open
from zcdp.mechanisms import ExponentialMechanism, Mechanism
from zcdp.mechanisms.additive import AddsIntegers
from zcdp.mechanisms.sensitivity import L1LInf
from zcdp.numeric.exact import positive_rational, rational
from zcdp.privacy.plan import Plan
from zcdp.tables.declaration import Declaration, check_cells, read_data, read_domains
from zcdp.tables.problems import DeclarationError
from zcdp.tables.query import Statistic, TableQuery, read_query
from zcdp.tables.totals import Together, check_alike, sets

__all__ = ["TableReader", "declared_mechanism"]

WIDTHS = ("sd", "half_width")
Declared = tuple[str, Mechanism | None, tuple[type[Mechanism], dict[str, Any]] | None]
"""The mechanism as text, as itself where it is complete, and as class and parameters where one is `?`."""


def declared_mechanism(text: Any, statistic: Statistic) -> Declared:
    """The mechanism of one answer of a statistic: its noise is what the plan says, its sensitivity what follows."""
    field = statistic.field
    if not isinstance(text, str):
        raise DeclarationError(field, "must be text in quotes")
    try:
        kind, parameters = parse_open(text)
    except PlanError as error:
        raise DeclarationError(field, f"{error.reason} (character {error.position + 1})") from None
    if statistic.selects:
        if kind is not ExponentialMechanism:
            raise DeclarationError(field, f"must be ExponentialMechanism(epsilon=...), not {kind.__name__}")
        parameters = _with_direction(parameters, statistic)
    elif not issubclass(kind, AddsIntegers):
        raise DeclarationError(field, f"must add noise to integers, such as DiscreteGaussian, not {kind.__name__}")
    else:
        parameters = _with_sensitivity(parameters, statistic)
    free = sum(value is FREE for value in parameters.values())
    if free > 1:
        raise DeclarationError(field, "one parameter may be '?'")
    if free:
        return text, None, (kind, parameters)
    try:
        mechanism = kind(**parameters)
    except (TypeError, ValueError) as error:
        raise DeclarationError(field, str(error)) from None
    if not statistic.selects and getattr(mechanism, "variance", None) is None:
        raise DeclarationError(field, f"the error of {kind.__name__} is not known: take DiscreteGaussian")
    return repr(mechanism), mechanism, None


def _with_sensitivity(parameters: dict[str, Any], statistic: Statistic) -> dict[str, Any]:
    distance = int(statistic.distance)
    bound = L1LInf(statistic.total, distance) if statistic.total else distance
    if "sensitivity" in parameters and parameters["sensitivity"] not in (bound, str(bound)):
        follows = f"the bounds say {bound}" + ("" if statistic.grid == 1 else f" grid steps of {statistic.grid}")
        raise DeclarationError(statistic.field, f"sensitivity is not typed in: {follows}")
    return {**parameters, "sensitivity": bound}


def _with_direction(parameters: dict[str, Any], statistic: Statistic) -> dict[str, Any]:
    if parameters.get("monotone", statistic.monotone) is not statistic.monotone:
        follows = "all scores move the same way" if statistic.monotone else "scores may move both ways"
        raise DeclarationError(statistic.field, f"monotone is not typed in: the bounds say that {follows}")
    return {**parameters, "monotone": True} if statistic.monotone else parameters


def merged(statistics: tuple[Statistic, ...]) -> tuple[Statistic, ...]:
    """Selections that one mechanism makes, such as several quantiles, are one entry used so many times."""
    if not statistics[0].selects:
        return statistics
    first = statistics[0]
    uses = sum(one.moves for one in statistics)
    return (replace(first, moves=uses),)


def entry_name(query: TableQuery, statistic: Statistic) -> str:
    """The name of the query, and of its second statistic, where it has one."""
    return query.name if statistic.field == "mechanism" else f"{query.name}: {statistic.label}"


class TableReader(ABC):
    """What a reader of plan files does with [data], [domain] and the queries that measure something."""

    source: str
    lines: dict[tuple[str, int, str], int]

    @abstractmethod
    def _fail(self, place: tuple[str, int, str], message: str, *, field: bool = True) -> NoReturn: ...

    @abstractmethod
    def _check(self, place: tuple[str, int, str], value: Any, rule: Callable[[Any, str], Any]) -> Any: ...

    @abstractmethod
    def _text(self, place: tuple[str, int, str], value: Any) -> str | None: ...

    @abstractmethod
    def _targets(self, here: tuple[str, int], data: dict[str, Any]) -> dict[str, Any]: ...

    @contextmanager
    def _declared(self, table: str, n: int = 0) -> Iterator[None]:
        """What is wrong with a declaration, said with its line."""
        try:
            yield
        except DeclarationError as error:
            self._fail((table, n, error.field), error.message)

    def _tables(self, data: dict[str, Any], queries: list[dict[str, Any]]) -> tuple[Declaration, tuple[Entry, ...]]:
        """The tables of a release, and their statistics as entries."""
        for name in ("collection", "unit", "neighbours"):
            if name in data:
                self._fail(("", 0, name), "does not go with [data], which says whom the tables are about")
        with self._declared("data"):
            unit, protects, neighbours, account = read_data(data["data"])
        with self._declared("domain"):
            domains = read_domains(data.get("domain", {}), Path(self.source).parent)
        tables: list[TableQuery] = []
        entries: list[Entry] = []
        for n, query in enumerate(queries):
            with self._declared("query", n):
                tables.append(read_query(query, domains, unit))
        together = tuple(self._together(tables))
        margins = {query.name: query for one in together for query in one.queries}
        tables = [margins.get(query.name, query) for query in tables]
        for n, query in enumerate(queries):
            with self._declared("query", n):
                entries += self._statistics(n, query, tables[n], neighbours)
        with self._declared("data"):
            check_cells(tuple(tables))
        written = json.dumps(data, sort_keys=True, default=str).encode()
        digest = hashlib.sha256(written).hexdigest()
        made = Declaration(unit, protects, neighbours, account, domains, tuple(tables), digest, together)
        return made, tuple(entries)

    def _together(self, tables: list[TableQuery]) -> Iterator[Together]:
        """The sets of tables that add up; what does not is said of the table that comes later in the file."""
        for name, numbers in sets(tables).items():
            for n in numbers:
                with self._declared("query", n):
                    check_alike(tables[numbers[0]], tables[n])
            with self._declared("query", numbers[-1]):
                yield Together.of(name, [tables[n] for n in numbers])

    def _statistics(self, n: int, data: dict[str, Any], table: TableQuery, neighbours: str) -> Iterator[Entry]:
        here = ("query", n)
        weight = self._check((*here, "weight"), data.get("weight", 1), positive_rational)
        note = self._text((*here, "note"), data.get("note"))
        targets = self._targets(here, data)
        for one in merged(table.statistics(neighbours)):
            text, mechanism, opened = declared_mechanism(data[one.field], one)
            if table.adds_up and not hasattr(mechanism or (opened and opened[0]), "wave"):
                raise DeclarationError(one.field, "the law of sums of this noise is not known: take DiscreteGaussian")
            plan = None if mechanism is None else Plan.sum_of(mechanism)
            line = self.lines.get((*here, one.field), 0)
            entry = Entry(entry_name(table, one), text, plan, opened, one.moves, note, weight, line, one.field, one)
            # a target is in the unit of the values, noise in grid steps
            steps = {name: str(rational(str(targets[name]), name) / one.grid) for name in WIDTHS if name in targets}
            yield replace(entry, **{**targets, **steps})
