"""Plan files: a budget and named queries in TOML, read with errors that point at line and field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from zcdp.accounting.entry import Entry
from zcdp.accounting.parser import FREE, PlanError, parse, parse_open
from zcdp.accounting.plan_text import TextError, check_structure, load, places
from zcdp.accounting.printable import printable
from zcdp.accounting.table_entries import TableReader
from zcdp.display.suggest import unknown
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import integer, positive_rational, probability
from zcdp.privacy.curve import Curve
from zcdp.privacy.plan import Plan
from zcdp.privacy.relation import Relation
from zcdp.tables.declaration import Declaration

__all__ = ["Budget", "Collection", "Entry", "PlanFile", "PlanFileError", "read_plan"]

Number = TypeVar("Number")
TOP = ("title", "description", "author", "dataset", "unit", "neighbours", "delta", "budget", "collection", "query")
TABLES = ("data", "domain")
WORDS = ("title", "description", "author", "dataset", "unit")
NEIGHBOURS = {"add_remove": "add_remove", "add-remove": "add_remove", "replace": "replace"}
BUDGET = ("rho", "epsilon", "delta")
COLLECTION = ("k", "rounds", "answered", "clients", "values")
QUERY = ("name", "mechanism", "count", "note", "weight", "sd", "half_width", "level")


class PlanFileError(BadValue):
    """The file is not a plan: `file:line: what is wrong`."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


@dataclass(frozen=True)
class Budget:
    """What may be spent: rho, or epsilon at delta."""

    rho: float | str | None = None
    epsilon: float | str | None = None
    delta: float | str | None = None


@dataclass(frozen=True)
class Collection:
    """Who is asked: how many values there are, how many rounds, in how many of them each client answers."""

    k: int
    rounds: int = 1
    answered: int = 1
    clients: int | None = None
    values: tuple[str, ...] | None = None
    """Their names, in the order of the numbers 0 to k-1."""


@dataclass(frozen=True)
class PlanFile:
    """A plan file as read."""

    source: str
    text: str = field(repr=False)
    entries: tuple[Entry, ...] = field(repr=False)
    title: str | None = None
    description: str | None = None
    delta: float | str | None = None
    budget: Budget | None = None
    collection: Collection | None = None
    author: str | None = None
    dataset: str | None = None
    unit: str | None = None
    """Whose data one neighbour lacks: a person, a household, a device."""
    neighbours: str | None = None
    """add_remove or replace, where the file says so."""
    tables: Declaration | None = None

    def relation_of(self, whole: Curve) -> Relation:
        """That of the mechanisms, which the file may state, or narrow where they leave it open."""
        if self.neighbours is None:
            return whole.relation
        try:
            return whole.relation.joined(Relation(self.neighbours))
        except ValueError:
            raise PlanFileError(
                f"{self.source}: neighbours: the file says {self.neighbours}, and its mechanisms are stated for "
                f"{whole.relation.value}: state both for one relation"
            ) from None


def read_plan(source: str | Path, text: str | None = None) -> PlanFile:
    """The plan in a file, which only a Path opens; or in the text of one, and `source` is what to call it.

    A name that ends in .csv is that of a list of releases.

    >>> read_plan("plan.toml", '[[query]]\\nname = "a"\\nmechanism = "Laplace(epsilon=1)"').entries[0].plan
    Laplace(epsilon=1)
    """
    if text is None and not isinstance(source, Path):
        raise BadType(f"a plan file is opened as a Path, not as {thing(source)}")
    try:
        whole = load(Path(source)) if text is None else text
        if str(source).lower().endswith(".csv"):
            from zcdp.accounting.release_list import read_releases

            return read_releases(str(source), whole)
        return _Reader(str(source), whole).plan()
    except TextError as error:
        raise PlanFileError(f"{source}: {error}") from None


class _Reader(TableReader):
    def __init__(self, source: str, text: str) -> None:
        self.source, self.text = source, text
        self.lines: dict[tuple[str, int, str], int] = {}
        self.parsed: dict[str, Plan] = {}

    def plan(self) -> PlanFile:
        import tomllib

        check_structure(self.text)
        try:
            data = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            where = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", str(error))
            line = int(where[1]) if where and where[1] else self.text.count("\n") + 1
            message = str(error)[: where.start()] if where else str(error)
            quotes = re.match("Invalid value|Expected newline", message) is not None
            hint = " (text and fractions stand in quotes: '1/3')" if quotes else ""
            raise PlanFileError(f"{self.source}:{line}: not valid TOML: {message}{hint}") from None
        except (ValueError, RecursionError) as error:  # such as an integer that Python does not read
            raise PlanFileError(f"{self.source}: not valid TOML: {error}") from None
        self.lines = dict(places(self.text))
        self._known(data, (*TOP, *TABLES), ("", 0), "field")
        queries = data.get("query")
        if not isinstance(queries, list) or not queries or not all(isinstance(query, dict) for query in queries):
            self._fail(("", 0, "query"), "a plan needs queries, each a [[query]] with name and mechanism")
        if "delta" in data:
            self._check(("", 0, "delta"), data["delta"], probability)
        tables, entries = self._tables(data, queries) if "data" in data else (None, self._entries(queries))
        self._distinct(entries)
        words = {name: self._text(("", 0, name), data.get(name)) for name in WORDS}
        budget = self._budget(data["budget"]) if "budget" in data else None
        collection = self._collection(data["collection"], entries) if "collection" in data else None
        plan = PlanFile(
            self.source,
            self.text,
            entries,
            delta=data.get("delta"),
            budget=budget,
            collection=collection,
            neighbours=self._neighbours(tables.neighbours if tables else data.get("neighbours")),
            tables=tables,
            **words,
        )
        for entry in entries:
            if entry.plan is not None:
                plan.relation_of(entry.plan)
        return plan

    def _neighbours(self, given: Any) -> str | None:
        if given is not None and (not isinstance(given, str) or given not in NEIGHBOURS):
            self._fail(("", 0, "neighbours"), f"must be 'add_remove' or 'replace', not {_shown(given)}")
        return None if given is None else NEIGHBOURS[given]

    def _budget(self, data: Any) -> Budget:
        if not isinstance(data, dict):
            self._fail(("", 0, "budget"), "must be a table: [budget]")
        self._known(data, BUDGET, ("budget", 0), "field")
        for name, rule in (("rho", positive_rational), ("epsilon", positive_rational), ("delta", probability)):
            if name in data:
                self._check(("budget", 0, name), data[name], rule)
        if ("rho" in data) == ("epsilon" in data) or ("epsilon" in data) != ("delta" in data):
            self._fail(("budget", 0, ""), "a budget is rho, or epsilon and delta")
        return Budget(**data)

    def _collection(self, data: Any, entries: tuple[Entry, ...]) -> Collection:
        """One query, a local randomizer that estimates, used as often as a client answers."""
        if not isinstance(data, dict):
            self._fail(("", 0, "collection"), "must be a table: [collection]")
        self._known(data, COLLECTION, ("collection", 0), "field")
        names = self._names(data["values"]) if "values" in data else None
        if "k" not in data and names is None:
            self._fail(("collection", 0, ""), "a collection needs k, the number of values")
        numbers = {
            name: self._check(
                ("collection", 0, name), value, lambda one, what: integer(one, what, 2 if what == "k" else 1)
            )
            for name, value in ({"k": len(names)} | data if names else data).items()
            if name != "values"
        }
        found = Collection(**{"answered": numbers.get("rounds", 1), **numbers}, values=names)
        if names and len(names) != found.k:
            self._fail(("collection", 0, "values"), f"{len(names)} names must be as many as k, {found.k}")
        if found.answered > found.rounds:
            self._fail(("collection", 0, "answered"), f"{found.answered} must be at most the {found.rounds} rounds")
        [entry, *others] = entries
        parts = entry.plan.parts if entry.plan is not None else ()
        if others or len(parts) != 1 or parts[0][1] != 1 or not hasattr(parts[0][0], "estimate"):
            self._fail(("query", 0, ""), "a collection has one query, with one local randomizer as its mechanism")
        if entry.count != found.answered:
            where = ("query", 0, "count")
            self._fail(where, f"{entry.count} must be the {found.answered} rounds that a client answers")
        own = getattr(parts[0][0], "k", found.k)
        if own != found.k:
            self._fail(("collection", 0, "k"), f"{found.k} must be the {own} of the mechanism")
        return found

    def _names(self, data: Any) -> tuple[str, ...]:
        """Of the values that clients hold."""
        named = isinstance(data, list) and all(isinstance(one, str) and one for one in data)
        if not named or len(set(data)) != len(data) or len(data) < 2:
            self._fail(("collection", 0, "values"), "must be a list of two or more different names")
        return tuple(data)

    def _entries(self, queries: list[dict[str, Any]]) -> tuple[Entry, ...]:
        for n, query in enumerate(queries):
            if "measure" in query:
                self._fail(("query", n, "measure"), "needs to know whom it is about: [data] says the unit of privacy")
        return tuple(self._entry(n, query) for n, query in enumerate(queries))

    def _entry(self, n: int, data: dict[str, Any]) -> Entry:
        here = ("query", n)
        self._known(data, QUERY, here, "field")
        for name in ("name", "mechanism"):
            if name not in data:
                self._fail((*here, ""), f"query {n + 1} has no {name}")
        name = self._text((*here, "name"), data["name"]) or self._fail((*here, "name"), "must not be empty")
        text = self._text((*here, "mechanism"), data["mechanism"]) or ""
        count = self._check((*here, "count"), data.get("count", 1), lambda value, what: integer(value, what, 1))
        weight = data.get("weight", 1)
        self._check((*here, "weight"), weight, positive_rational)
        targets = self._targets(here, data)
        plan, opened = self._mechanism(here, text)
        note = self._text((*here, "note"), data.get("note"))
        line = self.lines.get((*here, "mechanism"), 0)
        try:
            Plan.repeated(plan, count) if plan else None
        except ValueError as error:
            self._fail((*here, "count"), str(error))
        return replace(Entry(name, text, plan, opened, count, note, weight, line), **targets)

    def _targets(self, here: tuple[str, int], data: dict[str, Any]) -> dict[str, Any]:
        """How good the answers are to be."""
        for name, rule in (("sd", positive_rational), ("half_width", positive_rational), ("level", probability)):
            if name in data:
                self._check((*here, name), data[name], rule)
        if "sd" in data and "half_width" in data:
            self._fail((*here, "half_width"), "give sd or half_width, not both", field=False)
        if "level" in data and "half_width" not in data:
            self._fail((*here, "level"), "is that of a half_width, and there is none")
        return {name: data[name] for name in ("sd", "half_width", "level") if name in data}

    def _mechanism(self, here: tuple[str, int], text: str) -> tuple[Plan | None, Any]:
        try:
            if "?" in text:
                opened = parse_open(text)
                if sum(value is FREE for value in opened[1].values()) != 1:
                    self._fail((*here, "mechanism"), "one parameter may be '?'")
                return None, opened
            if text not in self.parsed:
                self.parsed[text] = parse(text)
            return self.parsed[text], None
        except PlanError as error:
            self._fail((*here, "mechanism"), f"{error.reason} (character {error.position + 1})")

    def _distinct(self, entries: Iterable[Entry]) -> None:
        seen: dict[str, int] = {}
        for n, entry in enumerate(entries):
            if (first := seen.setdefault(entry.name, n)) != n:
                line = self.lines.get(("query", first, "name"), 0)
                self._fail(("query", n, "name"), f"{entry.name!r} is the name of the query at line {line} too")

    def _known(self, data: dict[str, Any], names: tuple[str, ...], here: tuple[str, int], kind: str) -> None:
        for name in data:
            if name not in names:
                self._fail((*here, name), unknown(kind, name, names), field=False)

    def _text(self, place: tuple[str, int, str], value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            self._fail(place, f"must be text in quotes, not {_shown(value)}")
        return value.strip() if value else None

    def _check(self, place: tuple[str, int, str], value: Any, rule: Callable[[Any, str], Number]) -> Number:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            self._fail(place, f"must be a number, not {_shown(value)}")
        try:
            return rule(value, place[2])
        except (ValueError, TypeError) as error:
            self._fail(place, str(error), field=False)

    def _fail(self, place: tuple[str, int, str], message: str, *, field: bool = True) -> NoReturn:
        line = self.lines.get(place) or self.lines.get((place[0], place[1], ""))
        where = f"{self.source}:{line}" if line else self.source
        raise PlanFileError(f"{where}: {place[2]}: {message}" if field and place[2] else f"{where}: {message}")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits somewhere in it
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:60]}..."
