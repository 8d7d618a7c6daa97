"""Plan files: a budget and named queries in TOML, read with errors that point at line and field.

The parts of this file: safe loading of the text, one query as an `Entry`, queries of tables ([data] and [domain]), and
the reader of the whole file. `read_plan` is the entry point; CSV files go on to `plan_json.read_releases`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import DiscreteGaussian, ExponentialMechanism, Mechanism, Shuffled
from zcdp.mechanisms.channel import has_graph
from zcdp.mechanisms.noise.additive import Accuracy, AddsIntegers
from zcdp.mechanisms.revealing_event import Lone, revealing_event
from zcdp.mechanisms.sensitivity import L1LInf
from zcdp.numeric.exact import integer, positive_rational, probability, rational
from zcdp.plans.plan_text import FREE, PlanError, parse, parse_open
from zcdp.privacy.curve import Curve, Plan
from zcdp.privacy.relation import Relation
from zcdp.tables.declaration import (
    Declaration,
    check_cells,
    read_data,
    read_domains,
    read_lookups,
)
from zcdp.tables.derived_columns import Derived, read_derived
from zcdp.tables.discovered_keys import Discovered, threshold
from zcdp.tables.domain import DeclarationError, public_files
from zcdp.tables.lookup_tables import read_lookup
from zcdp.tables.published_columns import check_columns, check_found_columns
from zcdp.tables.table_query import Statistic, TableQuery, of_histogram, read_query
from zcdp.tables.totals import Together, check_alike, sets
from zcdp.text.names import printable
from zcdp.text.suggestions import thing, unknown

__all__ = [
    "LARGEST_PLAN",
    "THRESHOLD",
    "Budget",
    "Collection",
    "Entry",
    "PlanFile",
    "PlanFileError",
    "TableReader",
    "TextError",
    "check_structure",
    "declared_mechanism",
    "load",
    "places",
    "plan_at",
    "read_plan",
]


# Limits on every file that is read. The TOML parser needs memory that grows with the square of the number of parts of a
# dotted key, and recurses for each nested bracket; a plan needs keys of two parts and two nested brackets at most.
LARGEST_PLAN = 10_000_000  # bytes of a file, characters of a text
TOO_LARGE = f"a plan file has at most {LARGEST_PLAN // 10**6} MB"
MOST_KEY_PARTS = 8
DEEPEST_BRACKETS = 20

# One piece of TOML: a string, a comment, a sign, or anything else. A string that is never closed may run to the end of
# the text: that is not TOML, so nothing after it needs to be checked.
_PIECE = re.compile(
    r"""
      \"{3} (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ (?: \"{3,5} | \\?\Z )
    | '{3} (?: [^']++ | '{1,2}(?!') )*+ (?: '{3,5} | \Z )
    | " (?: [^"\\\n]++ | \\[^\n] )*+ (?: " | \\?$ )
    | ' [^'\n]*+ (?: ' | $ )
    | \#[^\n]*+
    | [.=,\[\]{}\n]
    | [^"'\#.=,\[\]{}\n]++
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


class TextError(BadValue):
    """The file cannot be read as text of a plan: missing, too large, not UTF-8, or nested too deeply."""


def load(path: Path, *, as_it_is: bool = False) -> str:
    """The text of a regular file, with line ends as \\n, or `as_it_is`; devices and pipes, which may have no end, are
    refused.
    """
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise TextError("there is no such file") from None
    except OSError as error:
        raise TextError(f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise TextError("cannot be read: there is a null character in its name") from None
    try:
        mode = os.fstat(number).st_mode
        if not stat.S_ISREG(mode):
            raise TextError(f"cannot be read: {'Is a directory' if stat.S_ISDIR(mode) else 'not a regular file'}")
        with os.fdopen(number, "rb", closefd=False) as file:
            data = file.read(LARGEST_PLAN + 1)
    except OSError as error:
        raise TextError(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(number)
    if len(data) > LARGEST_PLAN:
        raise TextError(TOO_LARGE)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise TextError("not a text file in UTF-8") from None
    if text.startswith("\ufeff"):
        raise TextError("begins with a byte order mark, which TOML does not know: save it as UTF-8 without one (BOM)")
    return text if as_it_is else text.replace("\r\n", "\n").replace("\r", "\n")


def check_structure(text: str) -> None:
    """Refuse dotted keys of many parts and deeply nested brackets, by a linear scan before the TOML is parsed.

    >>> check_structure("a" + ".a" * 9 + " = 1")
    Traceback (most recent call last):
    ...
    zcdp.plans.plan_file.TextError: line 1: a key has at most 8 parts
    """
    if len(text) > LARGEST_PLAN:
        raise TextError(TOO_LARGE)
    line, depth, dots = 1, 0, 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece == ".":
            dots += 1
            if dots >= MOST_KEY_PARTS:
                raise TextError(f"line {line}: a key has at most {MOST_KEY_PARTS} parts")
        elif piece in "=,[]{}\n":
            dots = 0
            depth += (piece in "[{") - (piece in "]}")
            if depth > DEEPEST_BRACKETS:
                raise TextError(f"line {line}: more than {DEEPEST_BRACKETS} brackets inside one another")
        line += piece.count("\n")


_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.\"'-]+)\s*\]")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*(?:=|\.)")


def places(text: str) -> Iterable[tuple[tuple[str, int, str], int]]:
    """The line number of each field, as ((table, index among tables of that name, field), line).

    tomllib does not report positions. The field "" stands for the header of the table.
    """
    table, count, fence = ("", 0), 0, ""
    for number, line in enumerate(text.split("\n"), 1):  # as TOML counts lines: splitlines knows other ends
        if fence:  # inside a multi-line string
            fence = "" if line.count(fence) % 2 else fence
            continue
        if header := _HEADER.match(line):
            name = header[1]
            count += name == "query"
            table = (name, count - 1 if name == "query" else 0)
            yield (*table, ""), number
        elif key := _KEY.match(line):
            yield (*table, key[1]), number
            fence = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")


# One query of a plan file, as the accounting reads it.


@dataclass(frozen=True)
class Entry:
    """One query of a plan file: `plan` is one use of its mechanism, or None if a parameter is `?`.

    In that case `open` holds the class of the mechanism and its parameters, the one to find as `FREE`.
    """

    name: str
    text: str
    plan: Plan | None
    open: tuple[type[Mechanism], dict[str, Any]] | None
    count: int = 1
    note: str | None = None
    weight: float | str | Fraction = 1
    line: int = 0
    field: str = "mechanism"
    statistic: Statistic | None = None
    sd: float | str | None = None
    """The largest acceptable standard deviation, if the file states one; for a table in grid steps."""
    half_width: float | str | None = None
    """The largest acceptable half-width of an interval at `level`, in the same unit."""
    level: float | str = "0.95"
    part: Fraction = Fraction(1)
    """What rho the entry is to have beside others of its query, by the table that they make."""

    def in_values(self, noise: Accuracy) -> Accuracy:
        """The accuracy of the noise in the unit of the answers, rounded up; that of a table's sums is in grid steps."""
        step = Fraction(1) if self.statistic is None else self.statistic.grid
        sd, half = (_times(width, step) for width in (noise.standard_deviation, noise.half_width))
        return replace(noise, standard_deviation=sd, half_width=half)


def _times(width: float, step: Fraction) -> float:
    """The product, rounded up to a float."""
    if width == inf:
        return inf
    exact = Fraction(width) * step
    try:
        return nextafter(float(exact), inf) if float(exact) < exact else float(exact)
    except OverflowError:  # the exact product is beyond the range of floats
        return inf


# Tables in a plan file: each statistic of a table becomes an `Entry` with the sensitivity derived from its bounds.

THRESHOLD = ": threshold"
"""The end of the name of the entry for the threshold of found keys; before it the name of that for their noise."""
WIDTHS = ("sd", "half_width")  # fields of a query that are in the unit of its answers
Declared = tuple[str, Mechanism | None, tuple[type[Mechanism], dict[str, Any]] | None]
"""The mechanism as text; the mechanism if all parameters are given; its class and parameters if one of them is `?`."""


def declared_mechanism(text: Any, statistic: Statistic) -> Declared:
    """The mechanism for one answer of a statistic: noise from the text in the plan, sensitivity from the bounds."""
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
    """The parameters with the derived sensitivity; a different one in the text is refused."""
    distance = int(statistic.distance)
    bound = L1LInf(statistic.total, distance) if statistic.total else distance
    if "sensitivity" in parameters and parameters["sensitivity"] not in (bound, str(bound)):
        follows = f"the bounds say {bound}" + ("" if statistic.grid == 1 else f" grid steps of {statistic.grid}")
        raise DeclarationError(statistic.field, f"sensitivity is not typed in: {follows}")
    return {**parameters, "sensitivity": bound}


def _with_direction(parameters: dict[str, Any], statistic: Statistic) -> dict[str, Any]:
    """The parameters of a selection with the derived `monotone`; a different one in the text is refused."""
    if parameters.get("monotone", statistic.monotone) is not statistic.monotone:
        follows = "all scores move the same way" if statistic.monotone else "scores may move both ways"
        raise DeclarationError(statistic.field, f"monotone is not typed in: the bounds say that {follows}")
    return {**parameters, "monotone": True} if statistic.monotone else parameters


def merged(statistics: tuple[Statistic, ...]) -> tuple[Statistic, ...]:
    """The statistics that get entries of their own: selections by one mechanism (several quantiles) become one.

    Its `moves`, the number of selections that a person can reach, is the sum of theirs.
    """
    by_field: dict[str, Statistic] = {}
    for one in statistics:
        before = by_field.get(one.field)
        by_field[one.field] = one if before is None else replace(before, moves=before.moves + one.moves)
    return tuple(by_field.values())


def entry_name(query: TableQuery, statistic: Statistic) -> str:
    """The name of the query; a statistic with a field of its own (the count of a mean) adds its label."""
    return query.name if statistic.field == "mechanism" else f"{query.name}: {statistic.label}"


class TableReader(ABC):
    """The part of the reader of plan files for [data], [domain] and queries with a `measure`.

    A place is (table, index among tables of that name, field); `lines` has its line number.
    """

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
        """Turn a `DeclarationError` inside the block into a `PlanFileError` with the line of its field."""
        try:
            yield
        except DeclarationError as error:
            self._fail((table, n, error.field), error.message)

    def _tables(self, data: dict[str, Any], queries: list[dict[str, Any]]) -> tuple[Declaration, tuple[Entry, ...]]:
        """The declaration of a release, and one entry for each statistic of its tables."""
        for name in ("collection", "unit", "neighbours"):
            if name in data:
                self._fail(("", 0, name), "does not go with [data], which says whom the tables are about")
        with self._declared("data"):
            declared = read_data(data["data"])
        with self._declared("domain"):
            domains = read_domains(data.get("domain", {}), Path(self.source).parent, declared.unit)
        derived = self._derived(data, declared.unit)
        tables: list[TableQuery] = []
        entries: list[Entry] = []
        for one in (found for found in domains.values() if isinstance(found, Discovered)):
            with self._declared("domain"):
                check_found_columns(declared.vintage, one)
                if one.column in derived:
                    derived[one.column].check_kind(one.kind)
                entries += self._discovered(one, data["domain"][one.name]["mechanism"], declared.neighbours)
        for n, query in enumerate(queries):
            with self._declared("query", n):
                tables.append(read_query(query, domains, declared.unit))
                for column, kind in tables[-1].columns:
                    if column in derived:
                        derived[column].check_kind(kind)
        for n, table in enumerate(tables):
            with self._declared("query", n):
                tables[n] = of_histogram(table, tables)
                check_columns(declared.vintage, tables[n])
        together = tuple(self._together(tables))
        margins = {query.name: query for one in together for query in one.queries}
        tables = [margins.get(query.name, query) for query in tables]
        for n, query in enumerate(queries):
            with self._declared("query", n):
                found = list(self._statistics(n, query, tables[n], declared.neighbours))
                if len({one.plan is None for one in found}) == 1:  # else the other noise is what the file says
                    parts = tables[n].parts(declared.neighbours)
                    found = [replace(one, part=parts.get(one.field, one.part)) for one in found]
                entries += found
        with self._declared("data"):
            check_cells(tuple(tables))
        written = json.dumps(data, sort_keys=True, default=str).encode()
        digest = hashlib.sha256(written).hexdigest()
        made = replace(
            declared,
            domains=domains,
            queries=tuple(tables),
            digest=digest,
            together=together,
            derived=derived,
            lists=public_files((data.get("domain", {}), data.get("lookup", {})), Path(self.source).parent),
        )
        return made, tuple(entries)

    def _derived(self, data: dict[str, Any], unit: str) -> dict[str, Derived]:
        """The columns that [lookup] and [derive] add to the data."""
        folder = Path(self.source).parent
        with self._declared("lookup"):
            given = read_lookups(data.get("lookup", {}))
        lookups = []
        for name, one in given.items():
            with self._declared(f"lookup.{name}"):
                lookups.append(read_lookup(name, one, folder))
        with self._declared("derive"):
            return read_derived(data.get("derive", {}), lookups, unit)

    def _discovered(self, domain: Discovered, text: Any, neighbours: str) -> Iterator[Entry]:
        """Two entries for keys that are found: the noise on their counts, and the event that gives a person away."""
        replaced = neighbours == "replace"
        statistic = Statistic("", "mechanism", (2 if replaced else 1) * domain.max_cells, Fraction(1))
        name = f"keys of {domain.name}"
        line = self.lines.get((f"domain.{domain.name}", 0, "mechanism")) or self.lines.get(
            ("domain", 0, domain.name), 0
        )
        try:
            written, mechanism, _ = declared_mechanism(text, statistic)
        except DeclarationError as error:
            raise DeclarationError(domain.name, f"mechanism: {error.message}") from None
        if not isinstance(mechanism, DiscreteGaussian):
            raise DeclarationError(domain.name, "the noise on the counts of found keys is DiscreteGaussian(sigma=...)")
        least = threshold(mechanism.variance, domain.delta, domain.max_cells)
        event = revealing_event(Lone(mechanism.variance, least, domain.max_cells), replaced=replaced)
        yield Entry(name, written, Plan.sum_of(mechanism), None, statistic.moves, line=line, statistic=statistic)
        said = f"published from {least} on, noise included"
        yield Entry(name + THRESHOLD, said, Plan.sum_of(event), None, line=line, field="delta")

    def _together(self, tables: list[TableQuery]) -> Iterator[Together]:
        """The sets of tables that must add up; an error points at the later table in the file."""
        for name, numbers in sets(tables).items():
            for n in numbers:
                with self._declared("query", n):
                    check_alike(tables[numbers[0]], tables[n])
            with self._declared("query", numbers[-1]):
                yield Together.of(name, [tables[n] for n in numbers])

    def _statistics(self, n: int, data: dict[str, Any], table: TableQuery, neighbours: str) -> Iterator[Entry]:
        """The entries of query n, one for each statistic of its table."""
        here = ("query", n)
        weight = self._check((*here, "weight"), data.get("weight", 1), positive_rational)
        note = self._text((*here, "note"), data.get("note"))
        targets = self._targets(here, data)
        for one in merged(table.statistics(neighbours)):
            text, mechanism, opened = declared_mechanism(data[one.field], one)
            summed = table.adds_up or table.method == "cumulated"
            if summed and not hasattr(mechanism or (opened and opened[0]), "wave"):
                raise DeclarationError(one.field, "the law of sums of this noise is not known: take DiscreteGaussian")
            plan = None if mechanism is None else Plan.sum_of(mechanism)
            line = self.lines.get((*here, one.field), 0)
            entry = Entry(entry_name(table, one), text, plan, opened, one.moves, note, weight, line, one.field, one)
            if one.selects and "half_width" in targets:
                raise DeclarationError("half_width", 'goes with method = "cumulated": a selection has no half-width')
            # targets are stated in the unit of the values, and noise is measured in grid steps
            unit = Fraction(table.target_of(one)) if table.expect and targets else 1 / one.grid
            steps = {name: str(rational(str(targets[name]), name) * unit) for name in WIDTHS if name in targets}
            yield replace(entry, **{**targets, **steps})


# The whole plan file: its fields, its budget, its queries, and a local collection if it describes one.

Number = TypeVar("Number")
FIELDS = ("title", "description", "author", "dataset", "unit", "neighbours", "delta", "budget", "collection", "query")
TABLE_FIELDS = ("data", "domain", "lookup", "derive")
TEXT_FIELDS = ("title", "description", "author", "dataset", "unit")
NEIGHBOURS = {"add_remove": "add_remove", "add-remove": "add_remove", "replace": "replace"}
BUDGET_FIELDS = ("rho", "epsilon", "delta")
COLLECTION_FIELDS = ("k", "rounds", "answered", "clients", "values", "low", "high")
QUERY_FIELDS = ("name", "mechanism", "count", "note", "weight", "sd", "half_width", "level")


class PlanFileError(BadValue):
    """The file is not a valid plan; the message is `file:line: what is wrong`."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


@dataclass(frozen=True)
class Budget:
    """A budget as written in the file: rho, or epsilon and delta."""

    rho: float | str | None = None
    epsilon: float | str | None = None
    delta: float | str | None = None


@dataclass(frozen=True)
class Collection:
    """A local collection: k possible values, the number of rounds, and in how many of them each client answers."""

    k: int
    rounds: int = 1
    answered: int = 1
    clients: int | None = None
    values: tuple[str, ...] | None = None
    """The names of the values 0 to k-1."""
    low: Fraction | None = None
    """The least number that a client may hold, where what is collected is a number of a range."""
    high: Fraction | None = None
    """The largest one; 0 .. k-1 are then the points of a grid from `low` to `high`."""


@dataclass(frozen=True)
class PlanFile:
    """The content of a plan file, checked but not yet accounted for."""

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
    """The unit of privacy, whose data neighbours differ in: a person, a household, a device."""
    neighbours: str | None = None
    """add_remove or replace, if the file states it."""
    tables: Declaration | None = None

    @property
    def key_entries(self) -> list[tuple[Discovered, Entry, Entry]]:
        """Each domain whose keys are found in the data, with the entries of its noise and of its threshold."""
        found = self.tables.discovered if self.tables else []
        return [(one, self.entries[2 * n], self.entries[2 * n + 1]) for n, one in enumerate(found)]

    @property
    def query_entries(self) -> tuple[Entry, ...]:
        """The entries of the queries, in their order; those of found keys, which come before them, are left out."""
        return self.entries[2 * len(self.key_entries) :]

    def where(self, entry: Entry) -> str:
        """The file and, where it is known, the line of the entry's mechanism, for messages."""
        return f"{self.source}:{entry.line}" if entry.line else self.source

    def relation_of(self, whole: Curve) -> Relation:
        """The neighbouring relation of a plan: that of its mechanisms, joined with the one that the file states.

        The file may narrow `either`; a contradiction raises `PlanFileError`.
        """
        if self.neighbours is None:
            return whole.relation
        try:
            return whole.relation.joined(Relation(self.neighbours))
        except ValueError:
            raise PlanFileError(
                f"{self.source}: neighbours: the file says {self.neighbours}, and its mechanisms are stated for "
                f"{whole.relation.value}: state both for one relation"
            ) from None


def read_plan(source: str | Path, text: str | None = None, *, parsed: dict[str, Plan] | None = None) -> PlanFile:
    """The plan in the file at a `Path`; or in `text`, and then `source` is the name used in messages.

    A name that ends in .csv means a list of releases. In `parsed` mechanisms are kept by their text for the next
    reading, together with all that they remember.

    >>> read_plan("plan.toml", '[[query]]\\nname = "a"\\nmechanism = "Laplace(epsilon=1)"').entries[0].plan
    Laplace(epsilon=1)
    """
    if text is None and not isinstance(source, Path):
        raise BadType(f"a plan file is opened as a Path, not as {thing(source)}")
    try:
        whole = load(Path(source)) if text is None else text
        if str(source).lower().endswith(".csv"):
            from zcdp.plans.release_list import read_releases

            return read_releases(str(source), whole)
        return _Reader(str(source), whole, parsed).plan()
    except TextError as error:
        raise PlanFileError(f"{source}: {error}") from None


def plan_at(source: str | os.PathLike[str]) -> PlanFile:
    """The plan in a file, given by its name or path; a text of several lines is the plan itself.

    >>> plan_at('[[query]]\\nname = "a"\\nmechanism = "Laplace(epsilon=1)"').entries[0].name
    'a'
    """
    if isinstance(source, str) and "\n" in source:
        return read_plan("the plan", source)
    return read_plan(Path(source))


class _Reader(TableReader):
    """Reads one plan file; every failure goes through `_fail`, which adds the line."""

    def __init__(self, source: str, text: str, parsed: dict[str, Plan] | None = None) -> None:
        self.source, self.text = source, text
        self.lines: dict[tuple[str, int, str], int] = {}
        self.parsed: dict[str, Plan] = {} if parsed is None else parsed

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
        except (ValueError, RecursionError) as error:  # such as an integer of more digits than Python converts
            raise PlanFileError(f"{self.source}: not valid TOML: {error}") from None
        self.lines = dict(places(self.text))
        self._known(data, (*FIELDS, *TABLE_FIELDS), ("", 0), "field")
        queries = data.get("query")
        if not isinstance(queries, list) or not queries or not all(isinstance(query, dict) for query in queries):
            self._fail(("", 0, "query"), "a plan needs queries, each a [[query]] with name and mechanism")
        if "delta" in data:
            self._check(("", 0, "delta"), data["delta"], probability)
        tables, entries = self._tables(data, queries) if "data" in data else (None, self._entries(queries))
        self._distinct(queries, entries)
        words = {name: self._text(("", 0, name), data.get(name)) for name in TEXT_FIELDS}
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
        self._known(data, BUDGET_FIELDS, ("budget", 0), "field")
        for name, rule in (("rho", positive_rational), ("epsilon", positive_rational), ("delta", probability)):
            if name in data:
                self._check(("budget", 0, name), data[name], rule)
        if ("rho" in data) == ("epsilon" in data) or ("epsilon" in data) != ("delta" in data):
            self._fail(("budget", 0, ""), "a budget is rho, or epsilon and delta")
        return Budget(**data)

    def _collection(self, data: Any, entries: tuple[Entry, ...]) -> Collection:
        """The [collection]: the file has one query, a local randomizer with an estimator, once for each answer."""
        if not isinstance(data, dict):
            self._fail(("", 0, "collection"), "must be a table: [collection]")
        self._known(data, COLLECTION_FIELDS, ("collection", 0), "field")
        names = self._names(data["values"]) if "values" in data else None
        if "k" not in data and names is None:
            self._fail(("collection", 0, ""), "a collection needs k, the number of values")
        numbers = {
            name: self._check(
                ("collection", 0, name), value, lambda one, what: integer(one, what, 2 if what == "k" else 1)
            )
            for name, value in ({"k": len(names)} | data if names else data).items()
            if name not in ("values", "low", "high")
        }
        ends = {
            name: self._check(("collection", 0, name), data[name], rational) for name in ("low", "high") if name in data
        }
        if len(ends) == 1 or (ends and not ends["low"] < ends["high"]):
            self._fail(("collection", 0, next(iter(ends))), "a range has a low and a higher high")
        given: dict[str, Any] = {"answered": numbers.get("rounds", 1), **numbers} | ends
        found = Collection(**given, values=names)
        if names and len(names) != found.k:
            self._fail(("collection", 0, "values"), f"{len(names)} names must be as many as k, {found.k}")
        if found.answered > found.rounds:
            self._fail(("collection", 0, "answered"), f"{found.answered} must be at most the {found.rounds} rounds")
        [entry, *others] = entries
        parts = entry.plan.parts if entry.plan is not None else ()
        local: Any = parts[0][0] if parts else None
        if isinstance(local, Shuffled):  # and no other wrapper: a sample, say, is not what each client runs
            local = local.mechanism
        if others or len(parts) != 1 or parts[0][1] != 1 or not hasattr(local, "estimate"):
            self._fail(("query", 0, ""), "a collection has one query, with one local randomizer as its mechanism")
        if local is not None and has_graph(local):
            self._fail(("query", 0, "mechanism"), "a client may hold any value: of this only some are neighbours")
        if bool(ends) != hasattr(local, "steps"):
            self._fail(
                ("query", 0, ""), "low and high go with a randomizer of numbers, as SquareWave, and it with them"
            )
        if entry.count != found.answered:
            where = ("query", 0, "count")
            self._fail(where, f"{entry.count} must be the {found.answered} rounds that a client answers")
        own = getattr(local, "k", found.k)
        if own != found.k:
            self._fail(("collection", 0, "k"), f"{found.k} must be the {own} of the mechanism")
        return found

    def _names(self, data: Any) -> tuple[str, ...]:
        """The names of the values that clients hold."""
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
        self._known(data, QUERY_FIELDS, here, "field")
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
        """The accuracy that the query asks for: sd, or half_width with its level."""
        for name, rule in (("sd", positive_rational), ("half_width", positive_rational), ("level", probability)):
            if name in data:
                self._check((*here, name), data[name], rule)
        if "sd" in data and "half_width" in data:
            self._fail((*here, "half_width"), "give sd or half_width, not both", field=False)
        if "level" in data and "half_width" not in data:
            self._fail((*here, "level"), "is that of a half_width, and there is none")
        return {name: data[name] for name in ("sd", "half_width", "level") if name in data}

    def _mechanism(self, here: tuple[str, int], text: str) -> tuple[Plan | None, Any]:
        """The plan that the text spells and None; or None and the open mechanism, if a parameter is `?`."""
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

    def _distinct(self, queries: list[dict[str, Any]], entries: Iterable[Entry]) -> None:
        """Refuse two queries of one name; and one with the name of a part of another, or of the keys of a domain."""
        seen: dict[str, int] = {}
        for n, query in enumerate(queries):
            name = str(query["name"]).strip()
            if (first := seen.setdefault(name, n)) != n:
                line = self.lines.get(("query", first, "name"))
                other = f"of the query at line {line}" if line else f"of query {first + 1}"
                self._fail(("query", n, "name"), f"{name!r} is the name {other} too")
        names: set[str] = set()
        for entry in entries:
            if entry.name in names:
                place = ("query", seen.get(entry.name, 0), "name")
                self._fail(place, f"{entry.name!r} is the name of a part of another query, or of found keys, too")
            names.add(entry.name)

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
        table, n, name = place
        # the line of the field, of a table of its own such as [domain.age], or of the table that it is in
        places = place, (f"{table}.{name}", 0, ""), (table, n, "")
        line = next((self.lines[one] for one in places if one in self.lines), 0)
        where = f"{self.source}:{line}" if line else self.source
        raise PlanFileError(f"{where}: {place[2]}: {message}" if field and place[2] else f"{where}: {message}")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to print integers of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:60]}..."
