"""Domains: the public sets of keys that a table is published for, as lists, bins of a number, or calendar intervals.

The first part has the error for a wrong declaration and checks of single fields, which the other files of the room use.
Lists within lists are in `nested`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from zcdp.errors import BadValue

if TYPE_CHECKING:
    from zcdp.tables.nested import Coarser, Nested

__all__ = [
    "EXACT",
    "WHOLE",
    "Bins",
    "Dates",
    "DeclarationError",
    "Domain",
    "Keys",
    "Lookup",
    "known_fields",
    "number",
    "public_files",
    "public_text",
    "read_dates",
    "read_domain",
    "read_keys",
    "shown",
    "text",
    "whole",
]


# Checks of single fields of a declaration.


class DeclarationError(BadValue):
    """A declaration is wrong; `field` names the field, so that a reader of files can add its line ("" if missing)."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field, self.message = field, message


def known_fields(data: Mapping[str, Any], names: Iterable[str], what: str) -> None:
    """Refuse a field that is not among the names: with a misspelled one the default would apply silently."""
    allowed = tuple(names)
    for name in data:
        if name not in allowed:
            raise DeclarationError(name, f"{what} has no such field (there are {', '.join(allowed)})")


def text(value: Any, field: str) -> str:
    """The value, which must be text that is not empty."""
    if not isinstance(value, str) or not value:
        raise DeclarationError(field, f"must be text in quotes, not {shown(value)}")
    return value


def whole(value: Any, field: str, least: int, most: int) -> int:
    """The value, which must be an integer from `least` to `most`, and not a bool."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DeclarationError(field, f"must be an integer from {least} to {most}, not {shown(value)}")
    return value


def number(value: Any, field: str) -> Any:
    """The value as an exact rational: 0.1 means the decimal, in quotes or not."""
    from zcdp.numeric.exact import rational

    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise DeclarationError(field, f"must be a number, not {shown(value)}")
    try:
        return rational(str(value), field)
    except (ValueError, TypeError) as error:
        raise DeclarationError(field, str(error)) from None


def shown(value: object) -> str:
    """The value as a message prints it: in short, and without an error of its own."""
    try:
        shown = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else f"{shown[:50]}..."


# Calendar domains: intervals of days, weeks, months, quarters or years.

FIELDS = ("column", "from", "to", "step", "clip", "other")
STEPS = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "quarter": (0, 3), "year": (0, 12)}
"""The length of each step as (days, months)."""
MOST_INTERVALS = 500_000


@dataclass(frozen=True)
class Dates:
    """Half-open intervals of `step` days, or months if `months`; days outside are dropped, or clipped to an end.

    `start` is the ordinal of the first day (1 is the first of January of year 1), or 12 year + month - 1.

    >>> read_dates("day", {"from": "2026-01-01", "to": "2026-07-01", "step": "quarter"}).columns()
    {'day_from': ['2026-01-01', '2026-04-01'], 'day_to': ['2026-04-01', '2026-07-01']}
    """

    name: str
    column: str
    start: int
    step: int
    bins: int
    months: bool = False
    clip: bool = False
    other: str | None = None
    """The key of rows without a day, and without `clip` of days outside; it is the last. None: they are dropped."""

    kind = "date"

    @property
    def size(self) -> int:
        """The number of keys: the intervals, and `other` if there is one."""
        return self.bins + (self.other is not None)

    @property
    def labels(self) -> range:
        """The number of each key."""
        return range(self.size)

    def columns(self) -> dict[str, list[Any]]:
        """The ends of the intervals as columns of a published table; the day in `_to` is not part of the interval."""
        return _edges(self.name, [one.isoformat() for one in self.days], self.other)

    @property
    def days(self) -> list[date]:
        """The first day of each interval, and the first day after the last interval."""
        return [self._day(self.start + n * self.step) for n in range(self.bins + 1)]

    def _day(self, number: int) -> date:
        return date(number // 12, number % 12 + 1, 1) if self.months else date.fromordinal(number)


def _edges(name: str, edges: Sequence[Any], other: str | None) -> dict[str, list[Any]]:
    """The columns of intervals between edges; `other` has its name in the place of both ends."""
    rest = [] if other is None else [other]
    return {f"{name}_from": [*edges[:-1], *rest], f"{name}_to": [*edges[1:], *rest]}


def read_dates(name: str, data: Mapping[str, Any]) -> Dates:
    """A calendar domain from its fields in a plan file: `from` and `to` are days, `step` a word or a number of days."""
    known_fields(data, FIELDS, f"the domain {name!r} of dates")
    if "to" not in data or "step" not in data:
        raise DeclarationError(name, f"must have from, to, and step: one of {', '.join(STEPS)}, or a number of days")
    first, last = day(data["from"], name), day(data["to"], name)
    days, months = _step(data["step"], name)
    clip = data.get("clip", False)
    if not isinstance(clip, bool):
        raise DeclarationError(name, "clip must be true or false")
    if months and (first.day, last.day) != (1, 1):
        raise DeclarationError(name, "from and to must be the first of a month where steps are months")
    ends = [12 * one.year + one.month - 1 if months else one.toordinal() for one in (first, last)]
    step = months or days
    if ends[0] >= ends[1] or (ends[1] - ends[0]) % step:
        raise DeclarationError(
            name,
            f"from ({first}) must be before to ({last}), and a whole number of steps must lead from one to the other",
        )
    size = (ends[1] - ends[0]) // step
    if size > MOST_INTERVALS:
        raise DeclarationError(name, f"must have at most {MOST_INTERVALS} intervals")
    column = text(data.get("column", name), name)
    other = text(data["other"], name) if "other" in data else None
    return Dates(name, column, ends[0], step, size, bool(months), clip, other)


def day(value: Any, field: str) -> date:
    """A day from a TOML date, or from text such as "2026-02-28".

    >>> day("2026-02-28", "from")
    datetime.date(2026, 2, 28)
    """
    if type(value) is date:
        return value
    try:
        return date.fromisoformat(text(value, field))
    except ValueError:
        raise DeclarationError(field, f"must be a day such as 2026-02-28, not {value!r}") from None


def _step(value: Any, name: str) -> tuple[int, int]:
    """The length of a step as (days, months)."""
    if isinstance(value, str):
        if value not in STEPS:
            raise DeclarationError(name, f"step must be one of {', '.join(STEPS)}, or a number of days, not {value!r}")
        return STEPS[value]
    return whole(value, name, 1, MOST_INTERVALS), 0


# Lists of keys and bins of a number, and the reader of all domains.

EXACT = 2**53
"""Doubles represent every integer up to here; keys and edges stay below, so that all engines agree on them."""
WHOLE = re.compile(r"[+-]?\d{1,16}", re.ASCII)
"""An integer in a file, which may be EXACT or more."""
MOST_KEYS = 500_000
LARGEST_FILE = 10_000_000  # bytes of a file of keys
LIST = ("column", "values", "file", "sha256", "other", "flat")
BINS = ("column", "from", "to", "step", "bins", "clip", "other")

Key: TypeAlias = str | int | bool


class Lookup(NamedTuple):
    """Which cell of a list a row is in, by its value in a column: the n-th of `values` has the cell `cells[n]`."""

    column: str
    kind: str
    values: tuple[Key, ...]
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Keys:
    """A list of values of a column; a row with another value is dropped, or gets the key `other`."""

    name: str
    column: str
    values: tuple[Key, ...] = field(repr=False)
    other: Key | None = None
    flat: bool = False
    """Whether it is said that its keys cross those of other lists, and are not within them."""

    @property
    def kind(self) -> str:
        """The type that the column is read as: text, integer or boolean."""
        first = next(iter((*self.values, self.other)))  # a list of found keys may be empty, but for `other`
        return {int: "integer", bool: "boolean"}.get(type(first), "text")

    @property
    def labels(self) -> tuple[Key, ...]:
        """The keys as published: the values, then `other` if there is one."""
        return self.values if self.other is None else (*self.values, self.other)

    @property
    def size(self) -> int:
        """The number of keys."""
        return len(self.labels)

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """Where a row's key is looked up; one after another, until a value is listed."""
        return (Lookup(self.column, self.kind, self.values, tuple(range(len(self.values)))),)

    def columns(self) -> dict[str, list[Any]]:
        """The keys as columns of a published table."""
        return {self.name: list(self.labels)}


@dataclass(frozen=True)
class Bins:
    """Half-open intervals [start + n step, start + (n+1) step) of a number; values outside are dropped, or clipped.

    >>> Bins("age", "age", Fraction(0), Fraction(5), 20).columns()["age_from"][:3]
    [0, 5, 10]
    >>> Bins("age", "age", Fraction(0), Fraction(50), 2, other="not stated").columns()["age_to"]
    [50, 100, 'not stated']
    """

    name: str
    column: str
    start: Fraction
    step: Fraction
    bins: int
    clip: bool = False
    other: str | None = None
    """The key of rows without a number, and without `clip` of numbers outside; it is the last. None: they are dropped.
    """

    kind = "number"

    @property
    def size(self) -> int:
        """The number of keys: the bins, and `other` if there is one."""
        return self.bins + (self.other is not None)

    @property
    def end(self) -> Fraction:
        """The end of the last bin."""
        return self.start + self.bins * self.step

    @property
    def labels(self) -> range:
        """The number of each key."""
        return range(self.size)

    def columns(self) -> dict[str, list[Any]]:
        """The ends of the bins as columns of a published table."""
        return _edges(self.name, [plain(self.start + n * self.step) for n in range(self.bins + 1)], self.other)


Domain: TypeAlias = "Keys | Bins | Dates | Nested | Coarser"


def plain(number: Fraction) -> int | float:
    """The number as an int if it is one, else as the nearest float."""
    return int(number) if number.denominator == 1 else float(number)


def read_domain(name: str, data: Any, folder: Path | None) -> Keys | Bins | Dates:
    """A domain from a plan file: a list, a file with its digest, or `from`, `to`, and `step` or `bins`."""
    if isinstance(data, list):
        return _keys(name, {"values": data}, folder)
    if not isinstance(data, dict):
        raise DeclarationError(name, "must be a list of keys, or a table of bins: { from = 0, to = 100, step = 5 }")
    if "from" not in data:
        return _keys(name, data, folder)
    return read_dates(name, data) if _is_day(data["from"]) else _bins(name, data)


def _is_day(value: Any) -> bool:
    """Whether `from` is a day and not a number; a number in quotes does not have two dashes."""
    return isinstance(value, date) or (isinstance(value, str) and value.count("-", 1) == 2 and "e" not in value.lower())


def _keys(name: str, data: Mapping[str, Any], folder: Path | None) -> Keys:
    """A domain of listed keys, from `values` or a file of one key a line."""
    known_fields(data, LIST, f"the domain {name!r}")
    if ("values" in data) == ("file" in data):
        raise DeclarationError(name, "must have values, or a file with its sha256")
    values = data["values"] if "values" in data else _lines(name, data, folder)
    flat = data.get("flat", False)
    if not isinstance(flat, bool):
        raise DeclarationError(name, "flat must be true or false")
    return Keys(name, text(data.get("column", name), name), read_keys(name, data, values), data.get("other"), flat)


def _lines(name: str, data: Mapping[str, Any], folder: Path | None) -> list[str]:
    """The keys in a file, one a line; a table of several columns is refused, as each line would be taken for a key."""
    lines = list(filter(None, public_text(name, data, folder).splitlines()))
    if len(lines) > 1 and str(data["file"]).lower().endswith(".csv") and all("," in line for line in lines):
        raise DeclarationError(
            name,
            "every line of the file has a comma, and a list has one key a line: for a key and the key that it is "
            'within, say within which list, as within = "region"; if the commas belong to the keys, let the name of '
            "the file not end in .csv",
        )
    return lines


def read_keys(name: str, data: Mapping[str, Any], values: Any, names: Iterable[str] = ("other",)) -> tuple[Key, ...]:
    """The keys of a list, checked together with those in the fields `names`: one kind, none twice."""
    if not isinstance(values, list) or not values:
        raise DeclarationError(name, "must have at least one key")
    if len(values) > MOST_KEYS:
        raise DeclarationError(name, f"must have at most {MOST_KEYS} keys")
    every: list[Any] = [*values, *(data[one] for one in names if one in data)]
    kinds = {type(value) for value in every}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise DeclarationError(name, "must have keys of one kind: text, integers or booleans")
    if kinds == {int} and any(abs(value) >= EXACT for value in every):
        raise DeclarationError(name, "must have integers below 2^53 in size; longer ones are text")
    if len(set(every)) < len(every):
        raise DeclarationError(name, f"has the key {_twice(every)!r} twice")
    return tuple(values)


def _twice(values: Sequence[Any]) -> Any:
    """The first value that repeats an earlier one."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            break
        seen.add(value)
    return value


def public_text(name: str, data: Mapping[str, Any], folder: Path | None) -> str:
    """The text of the public file that `data` names, in UTF-8; `name` is the field that errors point at.

    The plan has the file's digest, so that the plan alone determines what is read.
    """
    path = (folder or Path()) / text(data["file"], name)
    digest = text(data.get("sha256", ""), name) if data.get("sha256") else ""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DeclarationError(name, f"the file {str(path)!r} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE:
        raise DeclarationError(name, f"the file must have at most {LARGEST_FILE // 10**6} MB")
    found = hashlib.sha256(content).hexdigest()
    if found != digest.lower():
        why = "the file has another digest" if digest else "a file needs its digest, and none was given"
        instead = f'; the plan says "{digest[:64]}"' if digest else ""
        raise DeclarationError(name, f'{why}: sha256 = "{found}"{instead}')
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise DeclarationError(name, "the file must be text in UTF-8") from None


def public_files(declared: Iterable[Mapping[str, Any]], folder: Path | None) -> dict[str, str]:
    """The text of each public file that the domains and lookups of a plan name, by its name there."""
    given = ((name, one) for some in declared for name, one in some.items() if isinstance(one, dict) and "file" in one)
    return {one["file"]: public_text(name, one, folder) for name, one in given}


def _bins(name: str, data: Mapping[str, Any]) -> Bins:
    """A domain of bins, from `from`, `to`, and `step` or `bins`, all taken as exact decimals."""
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
        if step <= 0:
            raise DeclarationError(name, f"step ({data['step']}) must be positive")
        if (end - start) % step:
            many, rest = divmod(end - start, step)
            raise DeclarationError(
                name,
                f"step ({data['step']}) must go a whole number of times into to - from, {plain(end - start)}: it goes "
                f"{many} times, and {plain(rest)} is left over",
            )
        size = int((end - start) / step)
    if size > MOST_KEYS:
        raise DeclarationError(name, f"must have at most {MOST_KEYS} bins, not {size}")
    if max(step.numerator, step.denominator) >= 2**31:
        raise DeclarationError(
            name, f"the step, {step}, must have at most nine digits above and below the fraction bar"
        )
    clip = data.get("clip", False)
    if not isinstance(clip, bool):
        raise DeclarationError(name, "clip must be true or false")
    other = text(data["other"], name) if "other" in data else None
    return Bins(name, text(data.get("column", name), name), start, step, size, clip, other)
