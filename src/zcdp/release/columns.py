"""Columns by the use that a plan makes of them: checked by name and type before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zcdp.errors import BadValue
from zcdp.release.engines import Engine, engine_of, narwhals
from zcdp.release.files import opened
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


class Source:
    """A frame of one engine, and how to read its columns: nothing is computed by asking."""

    def __init__(self, engine: Engine, native: Any, kinds: Mapping[str, set[str]], *, typed: bool = False) -> None:
        self.engine, self.typed = engine, typed
        self.frame = narwhals().from_native(native if typed else engine.prepared(native, kinds)).lazy()
        self.schema = dict(self.frame.collect_schema())
        for column, asked in kinds.items():
            for kind in sorted(asked):
                self._check(column, kind)

    def _check(self, column: str, kind: str) -> None:
        if self.typed:
            return
        if column not in self.schema:
            from zcdp.display.suggest import unknown

            raise BadValue(unknown("column", column, self.schema))
        alike = [name for name in self.schema if name.lower() == column.lower()]
        if len(alike) > 1 and self.engine.name == "pyspark":
            raise BadValue(f"column {column!r} has the name of another, by letters of either case")
        found = self.schema[column]
        if not _fits(found, kind):
            raise BadValue(f"column {column!r} must hold {SAID[kind]}, not {found}")

    def column(self, name: str, kind: str) -> tuple[Any, Any]:
        """Whether there is a value, and the value as text, as a float or as a boolean, of every row."""
        nw = narwhals()
        raw = nw.col(self.label(name, kind))
        there = ~raw.is_null()
        if kind in ("number", "integer"):
            number = raw.cast(nw.Float64)
            whole = not self.typed and self.schema[name].is_integer()
            return (there if whole else there & ~number.is_nan()), number
        if kind in ("text", "person") and not self.typed and _is_coded(self.schema[name]):
            # the codes of categories follow the data; their texts do not
            return there, nw.when(there).then(raw.cast(nw.String)).otherwise(nw.lit(""))
        return there, raw

    def label(self, name: str, kind: str) -> str:
        """The column of the frame in which a value of this kind is found."""
        return f"{name}:{kind}" if self.typed else name

    def day(self, name: str) -> tuple[Any, Any, Any, Any]:
        """Whether there is a day, its year, its month, and the number of the day in the year."""
        raw = narwhals().col(self.label(name, "date"))
        parts = (raw.dt.year(), raw.dt.month(), raw.dt.ordinal_day())
        year, month, place = (part.fill_null(1).cast(narwhals().Int64) for part in parts)
        return ~raw.is_null(), year, month, place

    def whole(self, name: str) -> tuple[Any, Any] | None:
        """Whether there is a value, and the value as an integer of 64 bits; None where the column is not of such."""
        nw = narwhals()
        if self.typed or not self.schema[name].is_integer() or self.schema[name] in (nw.UInt64, nw.Int128, nw.UInt128):
            return None
        return ~nw.col(name).is_null(), nw.col(name).cast(nw.Int64)


def _is_coded(dtype: Any) -> bool:
    nw = narwhals()
    return isinstance(dtype, nw.Categorical | nw.Enum) or dtype in (nw.Categorical, nw.Enum)


def _fits(dtype: Any, kind: str) -> bool:
    nw = narwhals()
    text = dtype == nw.String or _is_coded(dtype)
    if kind == "person":
        return bool(text or dtype.is_integer())
    if kind == "text":
        return bool(text)
    if kind == "boolean":
        return bool(dtype == nw.Boolean)
    if kind == "date":
        return bool(dtype == nw.Date or (dtype == nw.Datetime and dtype.time_zone is None))
    return bool(dtype.is_integer() if kind == "integer" else dtype.is_numeric())


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
            yield Source(engine_of(relation)[0], relation, kinds, typed=typed)
        return
    engine, native = engine_of(data)
    yield Source(engine, native, kinds)
