"""The same table in every engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl


def pandas(frame: pl.DataFrame) -> Any:
    made = frame.to_pandas()
    for name in ("who", "sex", "days"):  # a missing integer would make the column one of floats
        if frame.schema[name] == pl.Int64:
            import pandas

            made[name] = pandas.array(frame[name].to_list(), dtype="Int64")
    return made


OPEN: deque[Any] = deque(maxlen=8)
"""Connections that outlive their relations, as they must before DuckDB 1.5."""


def connection() -> Any:
    OPEN.append(duckdb.connect(config={"threads": 1}))
    return OPEN[-1]


def duck(frame: pl.DataFrame) -> Any:
    return connection().from_arrow(frame.to_arrow())


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "duckdb": duck,
    "pandas": pandas,
}
