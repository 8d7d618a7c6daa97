"""Lists of releases in CSV: each line is a mechanism, its parameters, and how often it ran."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import NoReturn

from zcdp.numeric.exact import integer
from zcdp.plans.plan_file import Entry, PlanFile, PlanFileError
from zcdp.plans.plan_text import PlanError, parse
from zcdp.privacy.curve import Plan

__all__ = ["read_releases"]


OWN = ("mechanism", "count", "name", "note")
"""The columns that are not parameters of a mechanism."""
_PARAMETER = re.compile(r"[a-z_]+")
_CALL = re.compile(r"[A-Z]\w*\(.*\)|True|False", re.ASCII)


def read_releases(source: str, text: str) -> PlanFile:
    """The plan of all releases in the text of a CSV file; `source` is its name in messages.

    The first line names the columns: `mechanism`, and optionally `count`, `name` and `note`. Every other column is a
    parameter: its decimals are taken exactly, and an empty cell leaves the parameter out.

    >>> read_releases("a.csv", "mechanism,epsilon,count\\nLaplace,0.1,20\\nPureDP,1,").entries[0].plan
    Laplace(epsilon='0.1')
    """
    rows = _rows(source, text)
    try:
        line, header = next(rows)
    except StopIteration:
        _fail(source, 1, "a list of releases begins with a line that names its columns, mechanism among them")
    columns = [name.strip() for name in header]
    for name in columns:
        if name not in OWN and not _PARAMETER.fullmatch(name):
            _fail(source, line, f"column ({name[:40]!r}) must be {', '.join(OWN)} or the name of a parameter")
    if "mechanism" not in columns or len(set(columns)) != len(columns):
        _fail(source, line, "the columns must have different names, and mechanism must be one of them")
    parsed: dict[str, Plan] = {}
    entries: dict[str, Entry] = {}
    for line, cells in rows:
        if len(cells) != len(columns):
            _fail(source, line, f"{len(cells)} cells, and there are {len(columns)} columns")
        entry = _entry(source, line, dict(zip(columns, map(str.strip, cells), strict=True)), parsed)
        entries[entry.name if entry.name not in entries else f"{entry.name} (line {line})"] = entry
    if not entries:
        _fail(source, 1, "there is no release below the names of the columns")
    return PlanFile(source, text, tuple(_named(name, entry) for name, entry in entries.items()))


def _rows(source: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """The records that are not empty, each with its line number."""
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        _fail(source, reader.line_num, f"not valid CSV: {error}")


def _entry(source: str, line: int, cells: dict[str, str], parsed: dict[str, Plan]) -> Entry:
    """The release of one line; `parsed` caches the plans of equal texts."""
    name = cells["mechanism"]
    parameters = {key: value for key, value in cells.items() if key not in OWN and value}
    if not name:
        _fail(source, line, "mechanism must not be empty")
    if "(" in name and parameters:
        _fail(source, line, f"mechanism has its parameters already: leave {', '.join(parameters)} empty")
    given = ", ".join(f"{key}={_written(source, line, key, value)}" for key, value in parameters.items())
    text = name if "(" in name else f"{name}({given})"
    try:
        if text not in parsed:
            parsed[text] = parse(text)
        plan = parsed[text]
        count = integer(cells.get("count") or 1, "count", 1)
        Plan.repeated(plan, count)
    except PlanError as error:
        _fail(source, line, error.reason)
    except ValueError as error:
        _fail(source, line, str(error))
    [(_, times), *others] = plan.parts
    if others or times > 1:
        _fail(source, line, f"{text} must be one mechanism: give each a line, and its count in that column")
    return Entry(cells.get("name") or name, text, plan, None, count, cells.get("note") or None, 1, line)


def _written(source: str, line: int, key: str, value: str) -> str:
    """A cell as an argument in plan text: a number in quotes, so that it is exact; a call, True or False as it is."""
    if _CALL.fullmatch(value):
        return value
    if set(value) & set("'\"\\\n"):
        _fail(source, line, f"{key} ({value[:40]}) must not have quotes in it")
    return f"'{value}'"


def _named(name: str, entry: Entry) -> Entry:
    return Entry(name, entry.text, entry.plan, None, entry.count, entry.note, 1, entry.line)


def _fail(source: str, line: int, message: str) -> NoReturn:
    raise PlanFileError(f"{source}:{line}: {message}")
