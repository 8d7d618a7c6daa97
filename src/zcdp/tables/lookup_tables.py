"""Lookup tables: public files, by digest, that give each key at most one line, to add columns to the rows of the data.

A key that stood there twice would multiply rows, so that it is refused before any data is read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from zcdp.tables.domain import EXACT, WHOLE, DeclarationError, known_fields, public_text, text

__all__ = ["LookupTable", "read_lookup"]

FIELDS = ("file", "sha256", "on", "kind", "key", "add")
MOST_LINES = 500_000
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class LookupTable:
    """A public table: for a row, the line whose key equals the row's value of the column `on`, read as `kind`.

    `add` has the name of each added column, and the column of the file that it is taken from.
    """

    name: str
    on: str
    kind: str
    add: Mapping[str, str]
    keys: tuple[Any, ...] = field(repr=False)
    entries: Mapping[str, tuple[str, ...]] = field(repr=False)
    """The texts of each column of the file, in the order of the keys; an empty one is missing."""

    def column(self, name: str, kind: str) -> list[Any]:
        """The values of a column of the file, read as a kind of value, None where there is none; a day is a `date`."""
        return [self._read(name, kind, n, one) for n, one in enumerate(self.entries[name])]

    def _read(self, name: str, kind: str, n: int, one: str) -> Any:
        if not one:
            return None
        if kind == "text":
            return one
        found = _value(one, kind)
        if found is None:
            what = {"number": "a number below 2^53 in size", "integer": "an integer below 2^53 in size"}
            raise DeclarationError(
                "", f"the lookup table {self.name!r} has {one[:40]!r} as {name!r} of the key {self.keys[n]!r}: "
                f"not {what.get(kind, 'true or false' if kind == 'boolean' else 'a day such as 2026-02-28')}"
            )  # fmt: skip
        return found


def _value(one: str, kind: str) -> Any:
    """The text as a value of the kind; None if it is not one."""
    if kind == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(one.lower())
    if kind == "date":
        try:
            return date.fromisoformat(one)
        except ValueError:
            return None
    if not (WHOLE if kind == "integer" else NUMBER).fullmatch(one):
        return None
    found = int(one) if kind == "integer" else float(one)
    return found if abs(found) < EXACT else None


def read_lookup(name: str, data: Any, folder: Path | None) -> LookupTable:
    """A lookup table from its fields in a plan file; the file is CSV in UTF-8 with a header, by its digest."""
    if not isinstance(data, dict):
        raise DeclarationError("", f"must be a table: [lookup.{name}]")
    known_fields(data, FIELDS, f"the lookup table {name!r}")
    for needed in ("file", "on", "add"):
        if needed not in data:
            raise DeclarationError("", f"the lookup table {name!r} has no {needed}")
    on = text(data["on"], "on")
    kind = data.get("kind", "text")
    if kind not in ("text", "integer"):
        raise DeclarationError("kind", f"of the keys must be text or integer, not {kind!r}")
    lines = _lines(public_text("file", data, folder))
    header, body = lines[0], lines[1:]
    own = text(data.get("key", on), "key")
    add = _added(data["add"])
    for column in (own, *add.values()):
        if column not in header:
            from zcdp.text.suggestions import unknown

            raise DeclarationError("file", unknown("column", column, header))
    keys = tuple(_key(one, kind) for one in _column(header, body, own))
    if len(set(keys)) < len(keys):
        seen: set[Any] = set()
        twice = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DeclarationError("file", f"has the key {twice!r} twice: each key has one line, else rows would multiply")
    entries = {column: tuple(_column(header, body, column)) for column in dict.fromkeys(add.values())}
    return LookupTable(name, on, kind, add, keys, entries)


def _lines(content: str) -> list[list[str]]:
    """The records of the file, each with as many cells as the header."""
    try:
        records = [
            one for one in csv.reader(content.removeprefix("\ufeff").splitlines(keepends=True), strict=True) if one
        ]
    except csv.Error as error:
        raise DeclarationError("file", f"is not valid CSV: {error}") from None
    if len(records) < 2 or len(records) > MOST_LINES:
        raise DeclarationError("file", f"must have a header, and from 1 to {MOST_LINES} lines below it")
    header = records[0]
    if len(set(header)) < len(header):
        raise DeclarationError("file", "two columns have the same name")
    for n, one in enumerate(records[1:], 2):
        if len(one) != len(header):
            raise DeclarationError("file", f"record {n} has {len(one)} cells, and the header {len(header)}")
    return records


def _column(header: list[str], body: list[list[str]], name: str) -> list[str]:
    place = header.index(name)
    return [one[place] for one in body]


def _added(data: Any) -> dict[str, str]:
    """The added columns: a list of columns of the file, or a table of new names with them."""
    made = data if isinstance(data, dict) else {one: one for one in data} if isinstance(data, list) else {}
    if not made or not all(isinstance(one, str) and one for pair in made.items() for one in pair):
        raise DeclarationError("add", 'must be a list of columns, or a table { new_name = "column" }')
    return made


def _key(one: str, kind: str) -> Any:
    if not one:
        raise DeclarationError("file", "has a line without a key")
    found = one if kind == "text" else _value(one, "integer")
    if found is None:
        raise DeclarationError("file", f"has the key {one[:40]!r}, which is not an integer below 2^53 in size")
    return found
