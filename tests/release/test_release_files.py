"""Files of a release: which are read, what a record of a CSV is, and how long its values may be."""

from __future__ import annotations

import gzip
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = '[data]\nunit = "{}"\n[domain]\nregion = {{ values = ["R1"], other = "else" }}\n[[query]]\nname = "a"\n'
PLAN += 'measure = "count"\nby = ["region"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'


def counted(path: Path, unit: str = "row") -> list[int]:
    tables = read_plan("plan.toml", PLAN.format(unit)).tables
    assert tables is not None
    with source_of(path, tables) as source:
        return exact_table(source, tables, tables.queries[0], 5).counts


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.csv.gz", "A.Csv.GZ"])
def test_each_line_with_values_is_a_row_and_the_header_is_none(name: str, tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfregion,who\nR1,1\n\n\nR2,2\n,\nR1,3\n\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    assert counted(tmp_path / name) == [2, 2]


def test_a_file_without_rows_has_empty_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,region\n")
    assert counted(tmp_path / "a.csv") == [0, 0]


def test_a_name_of_at_most_16384_letters_is_a_person(tmp_path: Path) -> None:
    """A longer one is missing, and so are its rows."""
    lines = ["who,region", *(f"{letter * size},R1" for letter in "ab" for size in (16384, 16385))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert counted(tmp_path / "a.csv", "who") == [2, 0]
    assert counted(tmp_path / "a.csv") == [4, 0]


@pytest.mark.parametrize(
    ("name", "header", "said"),
    [
        ("a.txt", "who,region", "must be a .parquet or .csv file"),
        ("a.csv.zip", "who,region", "must be a .parquet or .csv file"),
        ("none.csv", None, "there is no such file"),
        ("none.parquet", None, "there is no such file"),
        ("a.csv", "who,region,who", "two columns have the same name"),
        ("a.csv", "who,region,Region", "two columns have the same name"),
        ("a.csv", "who,regio", "did you mean 'regio'"),
        ("a.csv", "", "there is no column"),
    ],
)
def test_a_file_that_cannot_be_read_as_the_plan_asks_is_refused(
    name: str, header: str | None, said: str, tmp_path: Path
) -> None:
    if header is not None:
        (tmp_path / name).write_text(header + "\n1,R1,2\n")
    with pytest.raises(BadValue, match=said):
        counted(tmp_path / name)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_in_milliseconds_of_a_parquet_file_are_refused_where_the_plan_reads_them(
    unit: str, tmp_path: Path
) -> None:
    """DuckDB fails where one of them overflows, which would tell of a row."""
    frame = pl.DataFrame({"day": ["2024-02-01"], "region": ["R1"]}).with_columns(pl.col("day").str.to_datetime())
    frame.with_columns(pl.col("day").cast(pl.Datetime(unit))).write_parquet(tmp_path / "a.parquet")  # type: ignore
    assert counted(tmp_path / "a.parquet") == [1, 0]  # a column that is not used may be of any type
    text = PLAN.format("row") + 'where = [["day", "<", 2025-01-01]]\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    refused: Any = pytest.raises(BadValue, match="must hold dates") if unit == "ms" else nullcontext()
    with refused, source_of(tmp_path / "a.parquet", tables) as source:
        assert exact_table(source, tables, tables.queries[0], 5).counts == [1, 0]
