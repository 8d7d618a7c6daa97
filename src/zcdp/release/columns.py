"""Columns by the use that a plan makes of them: checked by name and type before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from zcdp.errors import BadValue
from zcdp.release.engines import DuckDB, Engine, engine_of, narwhals
from zcdp.release.files import FORMS, opened, text_column
from zcdp.release.reading import Use
from zcdp.tables.declaration import Declaration
from zcdp.tables.query import TableQuery

__all__ = ["Source", "source_of", "uses"]

SAID = {
    "text": "text",
    "number": "numbers",
    "integer": "integers",
    "boolean": "booleans",
    "date": "dates, or times without a zone",
    "person": "integers or text, to name persons by",
}
FITS = {
    "text": ("text", "category"),
    "number": ("integer", "wide", "float", "decimal"),
    "integer": ("integer", "wide"),
    "boolean": ("boolean",),
    "date": ("date", "s", "ms", "us", "ns"),
    "person": ("text", "category", "integer", "wide"),
}
"""The forms of a column that a kind of value is read from; in pandas objects too, one by one."""


class Source:
    """A frame of one engine, and how to read its columns: by asking nothing is computed, and nothing read.

    Of each column that the plan uses there is whether it has a value, and the value: both without gaps.
    """

    def __init__(self, engine: Engine, native: Any, kinds: Mapping[str, set[str]], *, typed: bool = False) -> None:
        self.engine, self._native = engine, native
        asked = [(column, kind) for column, found in kinds.items() for kind in sorted(found)]
        types = {} if typed else engine.types(native, list(kinds))
        self._uses = {
            (column, kind): Use(n, text_column(column, kind), kind, FORMS[kind])
            if typed
            else Use(n, column, kind, self._form(types, column, kind))
            for n, (column, kind) in enumerate(asked)
        }

    @cached_property
    def frame(self) -> Any:
        """The values that the plan uses; of a frame in memory they are read when this is asked for first."""
        native = self._native() if callable(self._native) else self._native
        return narwhals().from_native(self.engine.read(native, list(self._uses.values()))).lazy()

    def _form(self, types: Mapping[str, Any], column: str, kind: str) -> str:
        """What the column holds, by its type alone; one that cannot be read as this kind of value is refused."""
        if column not in types:
            from zcdp.display.suggest import unknown

            raise BadValue(unknown("column", column, types))
        alike = [name for name in types if name.lower() == column.lower()]
        if len(alike) > 1 and self.engine.name == "pyspark":
            raise BadValue(f"column {column!r} has the name of another, by letters of either case")
        form = "object" if isinstance(types[column], str) else _form(types[column])
        if form not in ("object", *FITS[kind]):
            raise BadValue(f"column {column!r} must hold {SAID[kind]}, not {types[column]}")
        return form

    def column(self, name: str, kind: str) -> tuple[Any, Any]:
        """Whether there is a value, and the value as text, as a float or as a boolean, of every row."""
        nw, use = narwhals(), self._uses[name, kind]
        value = nw.col(use.value)
        return nw.col(use.there), value.cast(nw.Float64) if use.whole else value

    def label(self, name: str, kind: str) -> tuple[Any, str]:
        """Whether there is a value, and the column of the frame in which it is found, as text or as an integer."""
        use = self._uses[name, kind]
        return narwhals().col(use.there), use.value

    def day(self, name: str) -> tuple[Any, Any, Any]:
        """Whether there is a day, its number as `date.toordinal` counts, and that of its month, 12 year + month - 1."""
        nw, use = narwhals(), self._uses[name, "date"]
        return nw.col(use.there), nw.col(use.value), nw.col(use.month)

    def whole(self, name: str, kind: str) -> tuple[Any, Any] | None:
        """Whether there is a value, and the value as an integer of 64 bits; None where the column is not of such."""
        use = self._uses[name, kind]
        return (narwhals().col(use.there), narwhals().col(use.value)) if use.whole else None


def _form(dtype: Any) -> str:
    """In which of the forms of `Use` a type holds its values; else the empty text."""
    nw = narwhals()
    if isinstance(dtype, nw.Categorical | nw.Enum) or dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype.is_integer():
        return "wide" if dtype in (nw.UInt64, nw.Int128, nw.UInt128) else "integer"
    if dtype == nw.Datetime:
        return "" if dtype.time_zone is not None else str(dtype.time_unit)
    named = {nw.String: "text", nw.Boolean: "boolean", nw.Date: "date", nw.Decimal: "decimal"}
    return named.get(dtype.base_type(), "float" if dtype.is_float() else "")


def uses(declaration: Declaration) -> dict[str, set[str]]:
    """Each column that a plan names, with the kinds of value it is read as."""
    found: dict[str, set[str]] = {}
    if declaration.person is not None:
        found.setdefault(declaration.person, set()).add("person")
    for column, kind in (pair for query in declaration.queries for pair in _asked(query)):
        found.setdefault(column, set()).add(kind)
    return found


def _asked(query: TableQuery) -> Iterable[tuple[str, str]]:
    for domain in (*query.by, *([query.of] if query.of else [])):
        yield domain.column, domain.kind
    for condition in query.where:
        yield condition.column, condition.kind
    if query.amount is not None:
        yield query.amount.column, "number"


@contextmanager
def source_of(data: Any, declaration: Declaration) -> Iterator[Source]:
    """The data of a release, with all columns that its plan names: from a path, or from a frame where it lives."""
    kinds = uses(declaration)
    if isinstance(data, str | Path):
        with opened(Path(data), kinds) as relation:
            typed = str(data).lower().removesuffix(".gz").endswith(".csv")
            yield Source(DuckDB(), relation, kinds, typed=typed)
        return
    engine, native = engine_of(data)
    yield Source(engine, native, kinds)
