"""A published table: columns of keys, noisy values, the deviation of the noise and an interval."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

__all__ = ["Table"]

READ: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "number": float,
    "boolean": lambda text: text == "true",
}


@dataclass(frozen=True)
class Table:
    """One table of a release; `pandas.DataFrame(table.columns)` and `polars.DataFrame(table.columns)` read it.

    >>> table = Table("a", "sd and interval of each cell", {"region": ["R01"], "value": [12]})
    >>> table.to_csv()
    'region,value\\nR01,12\\n'
    """

    name: str
    about: str
    columns: Mapping[str, list[Any]] = field(repr=False)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, in the order of the domains."""
        return list(zip(*self.columns.values(), strict=True))

    def kinds(self) -> dict[str, str]:
        """What each column holds: text, integer, number or boolean."""
        return {name: _kind(values) for name, values in self.columns.items()}

    def to_csv(self) -> str:
        """The table as text, with a header; what begins like a formula of a spreadsheet stays text by its quotes."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_written(value) for value in row] for row in self.rows)
        return out.getvalue()

    @classmethod
    def from_csv(cls, name: str, about: str, text: str, kinds: Mapping[str, str]) -> Table:
        """The inverse of `to_csv`."""
        header, *rows = csv.reader(StringIO(text))
        listed = {column: [READ[kinds[column]](row[n]) for row in rows] for n, column in enumerate(header)}
        return cls(name, about, listed)


def _kind(values: list[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds <= {bool}:
        return "boolean"
    if kinds <= {int}:
        return "integer"
    return "number" if kinds <= {int, float} else "text"


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else value
