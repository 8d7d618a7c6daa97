"""NaN is missing whatever the statistics of a Parquet file say of it, which leave it out.

`x < 100.5` holds for every row of a group whose largest number is 100, by its statistics; for NaN it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from release.engines_table import connection

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

READ: dict[str, Callable[[Path], Any]] = {
    "a path": lambda path: path,
    "a relation": lambda path: connection().read_parquet(str(path)),
    "a filtered relation": lambda path: connection().sql(f"SELECT * FROM '{path}' WHERE y > 0"),
    "a lazy frame": pl.scan_parquet,
    "a frame": pl.read_parquet,
}
PLAN = """
[data]
unit = "row"
[domain]
bins = { column = "x", from = 0, to = 200.5, bins = 5, clip = true }
[[query]]
name = "below"
measure = "count"
where = [["x", "<", 100.5]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "not"
measure = "count"
where = [["x", "!=", 1000]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "bins"
measure = "count"
by = ["bins"]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "sum"
measure = "sum"
of = "x"
clip = [0, 500]
grid = 0.5
mechanism = "DiscreteGaussian(sigma=2)"
"""
NUMBERS = [0.3, 100.0, 7.5]


def tables_of(data: Any) -> list[list[int]]:
    tables = read_plan("plan.toml", PLAN).tables
    assert tables is not None
    with source_of(data, tables) as source:
        found = [exact_table(source, tables, query, 5) for query in tables.queries]
    return [one.amounts if any(one.amounts) else one.counts for one in found]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("rows", [3, 1000])
def test_one_row_moves_counts_by_one(read: str, rows: int, tmp_path: Path) -> None:
    """Of groups of three rows one holds no NaN, and some nothing else."""
    expected = {False: [[3], [3], [2, 0, 1, 0, 0], [216]], True: [[3], [4], [2, 0, 1, 0, 1], [616]]}
    for more in (False, True):
        values = NUMBERS + [nan] * 50 + [200.0] * more
        frame = pl.DataFrame({"x": values, "y": [1] * len(values)})
        pq.write_table(frame.to_arrow(), tmp_path / "a.parquet", row_group_size=rows)
        assert tables_of(READ[read](tmp_path / "a.parquet")) == expected[more]


def test_a_group_of_nothing_but_nan_is_empty(tmp_path: Path) -> None:
    for writer in ("polars", "pyarrow"):
        frame = pl.DataFrame({"x": [nan] * 7, "y": [1] * 7})
        path = tmp_path / f"{writer}.parquet"
        _ = frame.write_parquet(path) if writer == "polars" else pq.write_table(frame.to_arrow(), path)
        assert tables_of(path) == [[0], [0], [0] * 5, [0]]
