"""Nested code lists: keys within the keys of a coarser list, and coarser lists of a code by its first letters.

Which key of the coarser list a row has follows from the public list, not from the data. Cells are in depth-first order:
those within one key stand together. Theorem: docs/theorems/forests.md.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

from zcdp.tables.domain import (
    WHOLE,
    Bins,
    Dates,
    DeclarationError,
    Domain,
    Key,
    Keys,
    Lookup,
    known_fields,
    public_text,
    read_domain,
    read_keys,
    shown,
    text,
    whole,
)

__all__ = ["Coarser", "Nested", "declared_above", "family", "places_in", "read_all"]

WITHIN = ("column", "values", "file", "sha256", "within", "other", "unknown")
PREFIX = ("column", "prefix", "of", "other")
MOST_LEVELS = 8
TOO_DEEP = f"is within more than {MOST_LEVELS - 1} lists"
LONGEST_PREFIX = 100


@dataclass(frozen=True)
class Nested:
    """A list of keys, each within one key of a coarser list: the n-th of `values` within its cell `parents[n]`.

    A row whose value is not listed has the key `unknown` within the coarser key that its own column tells, else the key
    `other`, which is within `other` of the coarser list; else it is dropped.

    >>> region = Keys("region", "region", ("R1", "R2"), "abroad")
    >>> town = Nested("town", "town", region, ("a", "b", "c"), (0, 0, 1), other="abroad", unknown="not stated")
    >>> town.labels
    ('a', 'b', 'not stated', 'c', 'not stated', 'abroad')
    >>> town.columns()["region"]
    ['R1', 'R1', 'R1', 'R2', 'R2', 'abroad']
    """

    name: str
    column: str
    within: Keys | Nested
    values: tuple[Key, ...] = field(repr=False)
    parents: tuple[int, ...] = field(repr=False)
    other: Key | None = None
    unknown: Key | None = None

    flat = False

    @property
    def kind(self) -> str:
        """The type that the column is read as: text or integer."""
        return {str: "text", int: "integer"}[type(self.values[0])]

    @cached_property
    def _cells(self) -> tuple[tuple[Key, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The label and the parent of each cell, the cell of each listed value, and that of the rest in each parent."""
        labels: list[Key] = []
        above: list[int] = []
        places, rest, at = [], [], 0
        rests = [self.unknown] * self.within.size
        if self.within.other is not None:
            rests[-1] = self.other
        for parent, label in enumerate(rests):
            first = len(labels)
            while at < len(self.values) and self.parents[at] == parent:
                places.append(len(labels))
                labels.append(self.values[at])
                at += 1
            if label is not None:
                rest.append(len(labels))
                labels.append(label)
            above += [parent] * (len(labels) - first)
        return tuple(labels), tuple(above), tuple(places), tuple(rest)

    @property
    def labels(self) -> tuple[Key, ...]:
        """The key of each cell, as published."""
        return self._cells[0]

    @property
    def above(self) -> tuple[int, ...]:
        """The cell of the coarser list that each cell is within."""
        return self._cells[1]

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.labels)

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """Where a row's cell is looked up: its own value, and where that is not listed those of the coarser lists."""
        _, _, places, rest = self._cells
        own = Lookup(self.column, self.kind, self.values, places)
        if self.unknown is None:
            return (own,)
        return own, *(one._replace(cells=tuple(rest[cell] for cell in one.cells)) for one in self.within.lookups)

    def columns(self) -> dict[str, list[Any]]:
        """The keys as columns of a published table, those of the coarser lists before them."""
        coarser = {name: [keys[cell] for cell in self.above] for name, keys in self.within.columns().items()}
        return {**coarser, self.name: list(self.labels)}


@dataclass(frozen=True)
class Coarser:
    """A coarser list whose key of a row is that of the row's key in a finer list: `places` has it for each cell.

    `own` is the list as it is declared.
    """

    own: Keys | Nested
    fine: Nested
    places: tuple[int, ...] = field(repr=False)

    flat = False

    @property
    def name(self) -> str:
        """The name of the list."""
        return self.own.name

    @property
    def column(self) -> str:
        """The column of the finer list, which is read."""
        return self.fine.column

    @property
    def kind(self) -> str:
        """The type that the column is read as: text or integer."""
        return self.fine.kind

    @property
    def values(self) -> tuple[Key, ...]:
        """The values of the column that have a key: those of the finer list."""
        return self.fine.values

    @property
    def labels(self) -> tuple[Key, ...]:
        """The key of each cell, as published."""
        return self.own.labels

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.own.size

    @property
    def other(self) -> Key | None:
        """The key of rows that no list has; None if they are dropped."""
        return self.own.other

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """Where a row's cell is looked up: in the finer list."""
        return tuple(one._replace(cells=tuple(self.places[cell] for cell in one.cells)) for one in self.fine.lookups)

    def columns(self) -> dict[str, list[Any]]:
        """The keys as columns of a published table, those of still coarser lists before them."""
        return self.own.columns()


# How lists stand to each other.


def declared_above(domain: Domain) -> list[Keys | Nested]:
    """The list itself as it is declared, and those that it is within, the finest first; none for bins and dates."""
    if isinstance(domain, Bins | Dates):
        return []
    found: list[Keys | Nested] = [domain.own if isinstance(domain, Coarser) else domain]
    while isinstance(last := found[-1], Nested):
        found.append(last.within)
    return found


def family(domain: Domain) -> str:
    """The column that all lists and bins of one hierarchy share: for nested lists that of the coarsest."""
    return [domain, *declared_above(domain)][-1].column


def places_in(coarse: Domain, fine: Domain) -> tuple[int, ...] | None:
    """For each cell of the finer domain the cell of the coarser one that it is within; None if it is not finer.

    Finer bins have the same ends, and are computed by the same float operations.
    """
    if isinstance(fine, Bins | Dates) or isinstance(coarse, Bins | Dates):
        return _bins_in(coarse, fine)
    chain = declared_above(fine)
    names = [one.name for one in chain]
    if coarse.name not in names:
        return None
    found = tuple(range(fine.size))
    for one in chain[: names.index(coarse.name)]:
        assert isinstance(one, Nested)
        found = tuple(one.above[cell] for cell in found)
    return found


def _bins_in(coarse: Domain, fine: Domain) -> tuple[int, ...] | None:
    if isinstance(coarse, Bins) and isinstance(fine, Bins):
        ends = (coarse.start, coarse.end, coarse.step.denominator) == (fine.start, fine.end, fine.step.denominator)
    elif isinstance(coarse, Dates) and isinstance(fine, Dates):
        ends = (coarse.days[0], coarse.days[-1], coarse.months) == (fine.days[0], fine.days[-1], fine.months)
    else:
        return None
    alike = coarse.clip == fine.clip and (coarse.other is None) == (fine.other is None)
    if not ends or not alike or fine.bins % coarse.bins:
        return None
    return tuple(n // (fine.bins // coarse.bins) for n in range(fine.size))


# Reading them from a plan file.


def read_all(data: Mapping[str, Any], folder: Path | None) -> dict[str, Domain]:
    """All domains by name. A list that others are within, and that names no column, is read by the finer list."""
    lists = _Lists(data, folder)
    found = {name: lists.declared(name) for name in data}
    return {name: lists.resolved(one) for name, one in found.items()}


class _Lists:
    """The domains of a plan, each read when it is asked for: a list asks for the one that it is within."""

    def __init__(self, data: Mapping[str, Any], folder: Path | None) -> None:
        self.data, self.folder = data, folder
        self.found: dict[str, Keys | Bins | Dates | Nested] = {}
        self.open: list[str] = []
        self.prefixes: dict[str, list[str]] = {}
        for name, one in data.items():
            if _has(one, "prefix") or _has(one, "of"):
                known_fields(one, PREFIX, f"the domain {name!r}, a list of first letters,")
                whole(one.get("prefix"), name, 1, LONGEST_PREFIX)
                if text(one.get("of"), name) not in data:
                    raise DeclarationError(
                        name, f"of must name the list whose first letters it has, not {one.get('of')!r}"
                    )
                self.prefixes.setdefault(one["of"], []).append(name)

    def declared(self, name: str) -> Keys | Bins | Dates | Nested:
        """The domain as it is declared, each list read by its own column."""
        if name in self.found:
            return self.found[name]
        if name in self.open:
            raise DeclarationError(name, f"is within itself: {' within '.join([*self.open, name])}")
        if len(self.open) >= MOST_LEVELS:  # however long the chain is
            raise DeclarationError(self.open[0], TOO_DEEP)
        self.open.append(name)
        one = self.data[name]
        if _has(one, "of"):
            self.declared(one["of"])  # which reads its coarser lists
        elif name in self.prefixes:
            self._with_prefixes(name)
        else:
            self.found[name] = self._nested(name, one) if _has(one, "within") else read_domain(name, one, self.folder)
        self.open.remove(name)
        if len(declared_above(self.found[name])) > MOST_LEVELS:
            raise DeclarationError(name, TOO_DEEP)
        return self.found[name]

    def resolved(self, domain: Keys | Bins | Dates | Nested) -> Domain:
        """The domain by which tables are computed: a coarser list by the finer one that determines it, if there is one.

        Several lists may be within one that is read by a column of its own.
        """
        if isinstance(domain, Bins | Dates):
            return domain
        finer = [one for one in self.found.values() if isinstance(one, Nested) and one.within is domain]
        own = _has(self.data[domain.name], "column") and not _has(self.data[domain.name], "of")
        if not finer or (own and (len(finer) > 1 or finer[0].unknown is None)):
            return domain
        if len(finer) > 1:
            names = " and ".join(repr(one.name) for one in finer[:2])
            raise DeclarationError(
                domain.name, f"{names} are within it: say which column of the data has it: column = ..."
            )
        below = self.resolved(finer[0])
        fine, found = (below.fine, below.places) if isinstance(below, Coarser) else (below, range(below.size))
        assert isinstance(fine, Nested)
        return Coarser(domain, fine, tuple(finer[0].above[cell] for cell in found))

    def _nested(self, name: str, data: Mapping[str, Any]) -> Nested:
        """A list of keys and their parents, from pairs, from a table by parent, or from a file of two columns."""
        known_fields(data, WITHIN, f"the domain {name!r}, which is within another,")
        if ("values" in data) == ("file" in data):
            raise DeclarationError(name, "must have values, or a file with its sha256")
        if text(data["within"], name) not in self.data:
            raise DeclarationError(name, f"within must name another list of keys, not {data['within']!r}")
        within = self.declared(data["within"])
        if isinstance(within, Bins | Dates) or within.kind == "boolean" or _has(self.data[within.name], "of"):
            raise DeclarationError(name, f"within must name a list of text or integers, which {within.name!r} is not")
        pairs = _pairs(name, data, within, self.folder)
        read_keys(name, data, [key for key, _ in pairs], ("other", "unknown"))
        if isinstance(pairs[0][0], bool):
            raise DeclarationError(name, "must have keys of text or integers to be within others")
        if "unknown" in data and not _has(self.data[within.name], "column"):
            raise DeclarationError(
                name, f"unknown is for rows that tell their {within.name!r} themselves: say which column has it there"
            )
        return _checked(name, text(data.get("column", name), name), data, within, pairs)

    def _with_prefixes(self, name: str) -> None:
        """A list of codes and its coarser lists by first letters: each is within the one of fewer letters."""
        data = self.data[name]
        for field_name in ("within", "unknown", "from"):
            if _has(data, field_name):
                raise DeclarationError(name, f"{field_name} does not go with lists of its first letters")
        codes = read_domain(name, data, self.folder)
        if not isinstance(codes, Keys) or codes.kind != "text":
            raise DeclarationError(name, "must be a list of text, of which there are first letters")
        coarser = sorted(self.prefixes[name], key=lambda one: self.data[one]["prefix"])
        above: Keys | Nested | None = None
        for one in (*coarser, name):
            said = (
                {"other": codes.other} | self.data[one] if isinstance(self.data[one], dict) else {"other": codes.other}
            )
            length = self.data[one]["prefix"] if one != name else None
            if said.get("column", codes.column) != codes.column:
                raise DeclarationError(one, f"column must be that of {name!r}, whose first letters it has")
            if (said["other"] is None) != (codes.other is None):
                raise DeclarationError(one, f"has other, and {name!r} does not")
            if length is not None and min(map(len, map(str, codes.values))) <= length:
                raise DeclarationError(one, f"prefix must be less than the letters of every key of {name!r}")
            keys = list(dict.fromkeys(str(code)[:length] for code in codes.values))
            if above is None:
                read_keys(one, {} if said["other"] is None else said, keys)
                above = Keys(one, codes.column, tuple(keys), said["other"])
            else:
                if above.name != one and length == self.data[above.name].get("prefix"):
                    raise DeclarationError(one, f"has as many letters as {above.name!r}")
                letters = self.data[above.name]["prefix"]
                above = _checked(one, codes.column, said, above, [(key, key[:letters]) for key in keys])
            self.found[one] = above


def _has(data: Any, name: str) -> bool:
    """Whether the declaration of a domain is a table with this field."""
    return isinstance(data, dict) and name in data


def _pairs(name: str, data: Mapping[str, Any], within: Keys | Nested, folder: Path | None) -> list[tuple[Any, Any]]:
    """The pairs (key, parent) of a list."""
    values = data.get("values")
    if isinstance(values, dict):
        listed = [
            [key, parent] for parent, keys in values.items() for key in (keys if isinstance(keys, list) else [None])
        ]
    elif "values" in data:
        listed = values if isinstance(values, list) else []
    else:
        listed = [row for row in csv.reader(StringIO(public_text(name, data, folder))) if row]
    for n, row in enumerate(listed, 1):
        if not isinstance(row, list) or len(row) != 2:
            raise DeclarationError(
                name,
                f"entry {n} must be a key and the key of {within.name!r} that it is within: a line key,parent of a "
                "file, or a pair [key, parent] in values",
            )
    if not listed:
        raise DeclarationError(name, "must have at least one key")
    # in a file, and as a name in TOML, an integer is text
    whole_numbers = within.kind == "integer" and ("file" in data or isinstance(values, dict))
    return [(key, _number(parent) if whole_numbers else parent) for key, parent in listed]


def _number(written: Any) -> Any:
    """The integer that is written, if it is one that may be a key."""
    return int(written) if isinstance(written, str) and WHOLE.fullmatch(written) else written


def _checked(
    name: str, column: str, data: Mapping[str, Any], within: Keys | Nested, pairs: Sequence[tuple[Any, Any]]
) -> Nested:
    """The list, refused unless each key has a parent that is listed, and each parent a key."""
    cells = dict(zip(within.values, within.lookups[0].cells, strict=True))
    for key, parent in pairs:
        if type(parent) is not type(within.values[0]) or parent not in cells:
            raise DeclarationError(name, f"{shown(key)} is within {shown(parent)}, which is no key of {within.name!r}")
    other, unknown = data.get("other"), data.get("unknown")
    if (other is None) != (within.other is None):
        both = f"{name!r} and {within.name!r} both have other, or neither: what is in no key of the one is in none of "
        raise DeclarationError(name, f"{both}the other")
    placed = sorted(((cells[parent], key) for key, parent in pairs), key=lambda pair: pair[0])
    empty = set(range(within.size)) - {cell for cell, _ in placed} - ({within.size - 1} if other is not None else set())
    if empty and unknown is None:
        parent = within.labels[min(empty)]
        raise DeclarationError(
            name, f"{parent!r} of {within.name!r} has no key here, so that its figures would be 0: leave it out there"
        )
    return Nested(
        name, column, within, tuple(key for _, key in placed), tuple(cell for cell, _ in placed), other, unknown
    )
