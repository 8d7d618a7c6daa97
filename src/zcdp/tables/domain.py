"""Domains: the public sets of keys that a table is published for: lists, bins of a number, or of the calendar."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from zcdp.tables.dates import Dates, read_dates
from zcdp.tables.problems import DeclarationError, known_fields, number, text, whole

__all__ = ["EXACT", "Bins", "Domain", "Keys", "read_domain"]

EXACT = 2**53
"""Doubles hold every integer up to here: keys and edges stay within, so that engines agree on them."""
MOST_KEYS = 500_000
LARGEST_FILE = 10_000_000
LIST = ("column", "values", "file", "sha256", "other")
BINS = ("column", "from", "to", "step", "bins", "clip")

Key: TypeAlias = str | int | bool


@dataclass(frozen=True)
class Keys:
    """A list of values of a column; what is not in it is dropped, or goes to `other`."""

    name: str
    column: str
    values: tuple[Key, ...] = field(repr=False)
    other: Key | None = None

    @property
    def kind(self) -> str:
        """How the column is read: text, integer or boolean."""
        return {str: "text", int: "integer", bool: "boolean"}[type(self.values[0])]

    @property
    def labels(self) -> tuple[Key, ...]:
        """The keys in the order of publication."""
        return self.values if self.other is None else (*self.values, self.other)

    @property
    def size(self) -> int:
        """How many keys there are."""
        return len(self.labels)

    def columns(self) -> dict[str, list[Any]]:
        """The keys as columns of a published table."""
        return {self.name: list(self.labels)}


@dataclass(frozen=True)
class Bins:
    """Half-open intervals of a number: [start + n step, start + (n+1) step); outside is dropped, or clipped to an end.

    >>> Bins("age", "age", Fraction(0), Fraction(5), 20).columns()["age_from"][:3]
    [0, 5, 10]
    """

    name: str
    column: str
    start: Fraction
    step: Fraction
    size: int
    clip: bool = False

    kind = "number"

    @property
    def end(self) -> Fraction:
        """Where the last bin ends."""
        return self.start + self.size * self.step

    @property
    def labels(self) -> range:
        """The number of each bin."""
        return range(self.size)

    def columns(self) -> dict[str, list[Any]]:
        """The ends of the bins as columns of a published table."""
        edges = [plain(self.start + n * self.step) for n in range(self.size + 1)]
        return {f"{self.name}_from": edges[:-1], f"{self.name}_to": edges[1:]}


Domain: TypeAlias = Keys | Bins | Dates


def plain(number: Fraction) -> int | float:
    """An integer where it is one, else the nearest float."""
    return int(number) if number.denominator == 1 else float(number)


def read_domain(name: str, data: Any, folder: Path | None) -> Domain:
    """A domain as a plan file says it: a list, a file with its digest, or `from`, `to`, and `step` or `bins`."""
    if isinstance(data, list):
        return _keys(name, {"values": data}, folder)
    if not isinstance(data, dict):
        raise DeclarationError(name, "must be a list of keys, or a table of bins: { from = 0, to = 100, step = 5 }")
    if "from" not in data:
        return _keys(name, data, folder)
    return read_dates(name, data) if _is_day(data["from"]) else _bins(name, data)


def _is_day(value: Any) -> bool:
    """Whether bins are of the calendar: a number in quotes has no two dashes."""
    return isinstance(value, date) or (isinstance(value, str) and value.count("-", 1) == 2 and "e" not in value.lower())


def _keys(name: str, data: Mapping[str, Any], folder: Path | None) -> Keys:
    known_fields(data, LIST, f"the domain {name!r}")
    if ("values" in data) == ("file" in data):
        raise DeclarationError(name, "must have values, or a file with its sha256")
    values = data["values"] if "values" in data else _from_file(name, data, folder)
    if not isinstance(values, list) or not values:
        raise DeclarationError(name, "must have at least one key")
    if len(values) > MOST_KEYS:
        raise DeclarationError(name, f"must have at most {MOST_KEYS} keys")
    every: list[Any] = [*values, data["other"]] if "other" in data else [*values]
    kinds = {type(value) for value in every}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise DeclarationError(name, "must have keys of one kind: text, integers or booleans")
    if kinds == {int} and any(abs(value) >= EXACT for value in every):
        raise DeclarationError(name, "must have integers below 2^53 in size; longer ones are text")
    if len(set(every)) < len(every):
        raise DeclarationError(name, f"has the key {_twice(every)!r} twice")
    return Keys(name, text(data.get("column", name), name), tuple(values), data.get("other"))


def _twice(values: Sequence[Any]) -> Any:
    return next(value for n, value in enumerate(values) if value in values[:n])


def _from_file(name: str, data: Mapping[str, Any], folder: Path | None) -> list[str]:
    """One key a line, in UTF-8; its digest stands in the plan, so that the plan alone says which keys there are."""
    path = (folder or Path()) / text(data["file"], name)
    digest = text(data.get("sha256", ""), name) if data.get("sha256") else ""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DeclarationError(name, f"the file {str(path)!r} cannot be read: {error.strerror}") from None
    found = hashlib.sha256(content).hexdigest()
    if found != digest.lower():
        why = "the file has another digest" if digest else "a file needs its digest, and none was given"
        raise DeclarationError(name, f'{why}: sha256 = "{found}"')
    if len(content) > LARGEST_FILE:
        raise DeclarationError(name, "the file must have at most 10 MB")
    try:
        return [line for line in content.decode("utf-8").splitlines() if line]
    except UnicodeDecodeError:
        raise DeclarationError(name, "the file must be text in UTF-8") from None


def _bins(name: str, data: Mapping[str, Any]) -> Bins:
    known_fields(data, BINS, f"the domain {name!r}")
    if "to" not in data or ("step" in data) == ("bins" in data):
        raise DeclarationError(name, "must have from, to, and step or bins")
    start, end = number(data["from"], name), number(data["to"], name)
    if not -EXACT < start < end < EXACT:
        raise DeclarationError(name, "from must be below to, and both below 2^53 in size")
    if "bins" in data:
        size = whole(data["bins"], name, 1, MOST_KEYS)
        step = (end - start) / size
    else:
        step = number(data["step"], name)
        if step <= 0 or (end - start) % step:
            raise DeclarationError(name, "step must be positive, and a whole number of steps must lead from from to to")
        size = int((end - start) / step)
    if size > MOST_KEYS or max(step.numerator, step.denominator) >= 2**31:
        raise DeclarationError(name, f"must have at most {MOST_KEYS} bins, of a step with short digits")
    clip = data.get("clip", False)
    if not isinstance(clip, bool):
        raise DeclarationError(name, "clip must be true or false")
    return Bins(name, text(data.get("column", name), name), start, step, size, clip)
