"""Changes of a plan file's text that keep all else of it: comments, order, spacing.

Each change is checked: what the new text says, as TOML, is what the old one said with that one change.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from zcdp.errors import BadValue
from zcdp.plans.plan_file import places

__all__ = [
    "EditError",
    "add_query",
    "query_at",
    "remove_query",
    "set_budget",
    "set_line",
    "set_lines",
    "set_query_field",
    "set_top_field",
]

_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"\[{][^#]*?)"""
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
AT_THE_END = "\n[[query]]\n"


class EditError(BadValue):
    """The text is written in a way that this change does not fit: a value over several lines, tables in one line."""


def written(value: str | int) -> str:
    """A value as TOML: a number, or text in double quotes.

    >>> written(12), written('a "b"')
    ('12', '"a \\\\"b\\\\""')
    """
    if isinstance(value, int):
        return str(value)
    shown = (_ESCAPED.get(one) or (f"\\u{ord(one):04x}" if ord(one) < 32 or ord(one) == 127 else one) for one in value)
    return f'"{"".join(shown)}"'


def query_at(text: str, line: int) -> int | None:
    """Which [[query]], counted from 0, has a field on this line; None if the line is not of a query.

    >>> query_at('[[query]]\\nname = "a"\\n[[query]]\\nname = "b"', 4)
    1
    """
    return next((n for (table, n, _), number in places(text) if table == "query" and number == line), None)


def set_line(text: str, line: int, field: str, value: str | int) -> str:
    """The text with another value of the field on this line; what follows it there, a comment, stays.

    >>> set_line('count = 2  # twice', 1, "count", 3)
    'count = 3  # twice'
    """
    return set_lines(text, [(line, field, value)])


def set_lines(text: str, values: Iterable[tuple[int, str, str | int]]) -> str:
    """The text with other values of several fields, each (line, field, value)."""
    lines, changes = text.split("\n"), []
    at = {number: place for place, number in places(text)}
    for line, field, value in values:
        if line not in at or line > len(lines):
            raise EditError(f"{field}: it does not stand on line {line}")
        lines[line - 1] = _with_value(lines[line - 1], line, field, written(value))
        changes.append((*at[line], value))

    def change(data: dict[str, Any]) -> None:
        for table, n, field, value in changes:
            inside: Any = data
            for part in table.replace('"', "").split(".") if table else ():
                inside = inside[part]
            (inside[n] if isinstance(inside, list) else inside)[field] = value

    return _checked(text, "\n".join(lines), change, changes[0][2] if changes else "")


def _with_value(line: str, number: int, field: str, value: str) -> str:
    """A line `field = old  # comment` with the new value."""
    found = re.fullmatch(rf"""(\s*["']?{re.escape(field)}["']?\s*=\s*){_VALUE}(\s*(?:\#.*)?)""", line)
    if found is None:
        raise EditError(f"{field}: to be changed here, it must stand on a line of its own (line {number})")
    return f"{found[1]}{value}{found[2]}"


def set_query_field(text: str, n: int, field: str, value: str | int) -> str:
    """The text with another value of a field of query n, which is added below its mechanism if it has none yet.

    >>> print(set_query_field('[[query]]\\nname = "a"\\nmechanism = "Laplace(epsilon=1)"', 0, "count", 2))
    [[query]]
    name = "a"
    mechanism = "Laplace(epsilon=1)"
    count = 2
    """
    known = dict(places(text))
    if (line := known.get(("query", n, field))) is not None:
        return set_line(text, line, field, value)
    below = known.get(("query", n, "mechanism")) or known.get(("query", n, "name")) or known.get(("query", n, ""))
    if below is None:
        raise EditError(f"there is no query {n + 1}")
    lines = text.split("\n")
    lines.insert(below, f"{field} = {written(value)}")

    def change(data: dict[str, Any]) -> None:
        data["query"][n][field] = value

    return _checked(text, "\n".join(lines), change, field)


def add_query(text: str, fields: dict[str, str | int]) -> str:
    """The text with one more query at its end.

    >>> print(add_query("", {"name": "a", "mechanism": "Laplace(epsilon=1)"}))
    [[query]]
    name = "a"
    mechanism = "Laplace(epsilon=1)"
    <BLANKLINE>
    """
    block = "".join(f"{name} = {written(value)}\n" for name, value in fields.items())
    before = text.rstrip("\n") + "\n" if text.strip() else ""
    new = f"{before}{AT_THE_END if before else AT_THE_END.lstrip()}{block}"
    return _checked(text, new, lambda data: data.setdefault("query", []).append(dict(fields)), "query")


def remove_query(text: str, n: int) -> str:
    """The text without query n, and without the comments right above it.

    >>> remove_query('[[query]]\\nname = "a"\\n\\n# of b\\n[[query]]\\nname = "b"\\n', 1)
    '[[query]]\\nname = "a"\\n'
    """
    headers = [(place, number) for place, number in places(text) if place[2] == ""]
    starts = [number - 1 for _, number in headers]
    own = next((k for k, (place, _) in enumerate(headers) if place[:2] == ("query", n)), None)
    if own is None:
        raise EditError(f"there is no query {n + 1}")
    lines = text.split("\n")

    def top(start: int) -> int:
        """The first line of the comments right above a header."""
        while start and lines[start - 1].lstrip().startswith("#"):
            start -= 1
        return start

    end = own + 1
    while end < len(headers) and headers[end][0][0].startswith("query."):  # tables inside of this query
        end += 1
    first = top(starts[own])
    last = top(starts[end]) if end < len(starts) else len(lines)
    if end >= len(starts):
        while first and not lines[first - 1].strip():
            first -= 1
        rest = [*lines[:first], ""]
    else:
        rest = [*lines[:first], *lines[last:]]

    def change(data: dict[str, Any]) -> None:
        del data["query"][n]

    return _checked(text, "\n".join(rest), change, "query")


def set_top_field(text: str, field: str, value: str) -> str:
    """The text with another number of a field above all tables, which is added as the last of them if it is not there.

    >>> set_top_field('title = "a"\\n\\n[budget]\\nrho = 1\\n', "delta", "1e-6")
    'title = "a"\\ndelta = 1e-6\\n\\n[budget]\\nrho = 1\\n'
    """
    lines, number = text.split("\n"), _number(value)
    known = dict(places(text))
    if (line := known.get(("", 0, field))) is not None:
        lines[line - 1] = _with_value(lines[line - 1], line, field, number)
    else:
        first = min((line for (_, _, name), line in known.items() if not name), default=len(lines) + 1) - 1
        while first and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
            first -= 1
        lines.insert(first, f"{field} = {number}")

    def change(data: dict[str, Any]) -> None:
        data[field] = tomllib.loads(f"x = {number}")["x"]

    return _checked(text, "\n".join(lines), change, field)


def set_budget(text: str, **budget: str) -> str:
    """The text with another budget: rho, or epsilon and delta. A file without one gets it before its first query.

    >>> set_budget('[budget]\\nrho = 1  # of the board\\n', rho="0.5")
    '[budget]\\nrho = 0.5  # of the board\\n'
    """
    known = dict(places(text))
    lines = text.split("\n")
    own = {field: line for (table, _, field), line in known.items() if table == "budget" and field}
    values = {name: _number(value) for name, value in budget.items()}
    if set(own) == set(values):
        for name, line in own.items():
            lines[line - 1] = _with_value(lines[line - 1], line, name, values[name])
    elif ("budget", 0, "") in known:
        for line in sorted(own.values(), reverse=True):
            del lines[line - 1]
        header = known["budget", 0, ""]
        lines[header:header] = [f"{name} = {value}" for name, value in values.items()]
    else:
        first = known.get(("query", 0, ""), len(lines) + 1) - 1
        while first and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        lines[first:first] = ["[budget]", *(f"{name} = {value}" for name, value in values.items()), ""]

    def change(data: dict[str, Any]) -> None:
        data["budget"] = {name: tomllib.loads(f"x = {value}")["x"] for name, value in values.items()}

    return _checked(text, "\n".join(lines), change, "budget")


def _number(value: str) -> str:
    """A number as a person writes it, as TOML: as it is if TOML reads it so, else in quotes, as 1/3."""
    plain = re.fullmatch(r"(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", value)
    return value if plain else written(value)


def _checked(old: str, new: str, change: Callable[[dict[str, Any]], object], field: str) -> str:
    """The new text, if it says what the old one says after the change; else `EditError`."""
    expected = tomllib.loads(old)
    try:
        change(expected)
        if tomllib.loads(new) == expected:
            return new
    except (tomllib.TOMLDecodeError, KeyError, IndexError, TypeError):
        pass
    raise EditError(f"{field}: to be changed here, it must stand on a line of its own")
