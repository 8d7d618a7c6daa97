"""Columns of every type with the values that engines stumble over, in every frame and file that can hold them.

What each value means is written here, for Python: a number, a text, a day, or None where it is missing.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from release.engines_table import connection

EPOCH = date(1970, 1, 1).toordinal()
DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
TEXTS = ("\u00e9", "e\u0301", "", "R1 ", "a\x00b", "x" * 20_000, "two\nlines", "a\rb", '"', "'; --", "NaN", "\u200b")
FINE: dict[str, tuple[Any, ...]] = {
    "number": (None, 1, 2, 3, 5, 100),
    "text": (None, "R1", "R2", "R1", "elsewhere"),
    "boolean": (None, True, False, True),
    "date": (None, *(date(2025, month, 7).toordinal() for month in (1, 2, 2, 12))),
}


@dataclass(frozen=True)
class Column:
    """A type of a column, the values that are odd in it, as pyarrow builds them, and what it holds."""

    type: Any
    kind: str
    odd: tuple[Any, ...]

    def array(self, values: Sequence[Any]) -> Any:
        if self.kind != "date":
            return pa.array(values, self.type)
        # days are built of their numbers, as no Python object holds those that are far
        short = pa.types.is_date32(self.type)
        return pa.array(values, pa.int32() if short else pa.int64()).cast(self.type)

    def fine(self) -> list[Any]:
        if self.kind != "date":
            read: Any = {pa.float32(): float, pa.float64(): float}.get(self.type, lambda one: one)
            if pa.types.is_decimal(self.type):
                read = Decimal
            return [None if one is None else read(one) for one in FINE[self.kind]]
        return [None if one is None else (one - EPOCH) * self.scale for one in FINE["date"]]

    @property
    def scale(self) -> int:
        if pa.types.is_date32(self.type):
            return 1
        return DAY["ms"] if pa.types.is_date64(self.type) else DAY[self.type.unit]

    def meaning(self, value: Any) -> Any:
        """The value as the plan means it."""
        if value is None:
            return None
        if self.kind == "number":
            return None if isinstance(value, float) and isnan(value) else value
        if self.kind == "date":
            day = value // self.scale + EPOCH
            return day if 1 <= day <= date.max.toordinal() else None
        return value


def whole(kind: Any, *more: int) -> Column:
    info = np.iinfo(kind.to_pandas_dtype())
    return Column(kind, "number", (info.max, info.min, *more))


FAR = (2**31, -(2**31), 2**40, 2**53, 2**62, -(2**62), 2**63 - 2, -(2**63) + 2)
"""Numbers of times; 2^63 - 1 is infinity to DuckDB, and a nanosecond of 2262 to others."""
SIGNALS = np.array([0x7FF0000000000001, 0xFFF8000000000000], np.uint64).view(np.float64).tolist()
FLOATS = (nan, inf, -inf, -0.0, 1e308, -1e308, 5e-324, 2.0**53 + 2, 4.999999999999999, *SIGNALS)
COLUMNS: dict[str, Column] = {
    "float64": Column(pa.float64(), "number", FLOATS),
    "float32": Column(pa.float32(), "number", (nan, inf, -inf, -0.0, 3e38)),
    "int8": whole(pa.int8()),
    "int32": whole(pa.int32()),
    "int64": whole(pa.int64(), 2**53, 2**53 + 1, -(2**53) - 1, 2**62),
    "uint32": whole(pa.uint32()),
    "uint64": whole(pa.uint64(), 2**53 + 1, 2**63, 2**62),
    "decimal": Column(pa.decimal128(38, 2), "number", (Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36), Decimal(0))),
    "text": Column(pa.string(), "text", TEXTS),
    "category": Column(pa.dictionary(pa.int32(), pa.string()), "text", TEXTS[:5]),
    "boolean": Column(pa.bool_(), "boolean", (None,)),
    "date32": Column(pa.date32(), "date", (2**31 - 1, -(2**31) + 1, 2932897, 2932896, -719162, -719163)),
    "date64": Column(pa.date64(), "date", tuple(days * DAY["ms"] for days in (2932897, -719163, 2**31 - 1))),
} | {
    f"time in {unit}": Column(
        pa.timestamp(unit),
        "date",
        (-1, *FAR, *(day * DAY[unit] + more for day, more in ((2932897, 0), (-719162, -1)) if unit != "ns")),
    )
    for unit in DAY
}


def table(column: Column, values: Sequence[Any]) -> Any:
    """A column `x` of these values; every frame has one that is missing, so that its type is the same with each."""
    return pa.table({"x": column.array(values)})


def _scanned(made: Any, folder: Path, rows: int) -> Path:
    pq.write_table(made, folder / "x.parquet", row_group_size=rows)
    return folder / "x.parquet"


def _stored(made: Any, folder: Path) -> Any:
    opened = connection()
    opened.from_arrow(made).create("stored")
    return opened.table("stored")


def _relation(made: Any, folder: Path) -> Any:
    if made.schema.field("x").type == pa.timestamp("ms"):
        raise ValueError("DuckDB itself fails to read some of them from a Parquet file, whatever is asked")
    return connection().read_parquet(str(_scanned(made, folder, 3)))


def _polars(made: Any, folder: Path) -> Any:
    if made.schema.field("x").type == pa.timestamp("s"):
        raise ValueError("Polars makes milliseconds of them, and does not look whether they fit")
    return pl.from_arrow(made)


def _nullable(made: Any, folder: Path) -> Any:
    return made.to_pandas(types_mapper=NULLABLE.get)


def _objects(made: Any, folder: Path) -> Any:
    return pd.DataFrame({"x": pd.Series(made["x"].to_pylist(), dtype=object)})


def _csv(made: Any, folder: Path) -> Path:
    kind = made.schema.field("x").type
    listed = made["x"].to_pylist() if not pa.types.is_temporal(kind) else _days(made)
    with (folder / "x.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["y", "x"], *(["1", "" if one is None else one] for one in listed)])
    return folder / "x.csv"


def _days(made: Any) -> Iterator[str | None]:
    column = Column(made.schema.field("x").type, "date", ())
    short = pa.types.is_date32(column.type)
    for value in made["x"].cast(pa.int32() if short else pa.int64()).to_pylist():
        day = column.meaning(value)
        yield None if value is None else "99999-01-01" if day is None else date.fromordinal(day).isoformat()


NULLABLE = {
    **{getattr(pa, name)(): pd.Int64Dtype() for name in ("int8", "int32", "int64", "uint32")},
    **{pa.uint64(): pd.UInt64Dtype(), pa.float64(): pd.Float64Dtype(), pa.float32(): pd.Float32Dtype()},
    **{pa.string(): pd.StringDtype("python"), pa.bool_(): pd.BooleanDtype()},
}
FRAMES: dict[str, Callable[[Any, Path], Any]] = {
    "pyarrow": lambda made, folder: made,
    "duckdb": lambda made, folder: connection().from_arrow(made),
    "duckdb, stored": _stored,
    "duckdb, scanned": _relation,
    "parquet": lambda made, folder: _scanned(made, folder, 1000),
    "parquet by row": lambda made, folder: _scanned(made, folder, 1),
    "csv": _csv,
    "polars": _polars,
    "polars, scanned": lambda made, folder: pl.scan_parquet(_scanned(made, folder, 3)),
    "pandas": lambda made, folder: made.to_pandas(date_as_object=False),
    "pandas, nullable": _nullable,
    "pandas, arrow": lambda made, folder: made.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, objects": _objects,
}
