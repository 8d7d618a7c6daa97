"""CSV on the Web metadata: read by their rules alone, the CSV gives back each figure with its type, and its key."""

from __future__ import annotations

import csv
import json
from datetime import date
from io import StringIO
from typing import Any
from urllib.parse import unquote

import polars as pl

from zcdp.release import Release, release
from zcdp.release.table_description import MEANINGS, columns_of, csv_on_the_web
from zcdp.release.table_noise import Table
from zcdp.tables.declaration import read_domains
from zcdp.tables.table_query import read_query

READ = {"string": str, "integer": int, "double": float, "boolean": {"true": True, "false": False}.get}
READ["date"] = date.fromisoformat  # what each type of the standard is in Python

PLAN = """
title = "A year"
author = "The office"
dataset = "Register"
[data]
unit = "who"
vintage = "2026-Q1"
[domain]
"age group" = { column = "age", from = 0, to = 100, step = 50 }
sex = ["F", "", "say \\"so\\", then"]
day = { from = 2026-01-01, to = 2026-07-01, step = "quarter" }
pay = { from = 0, to = 10, step = "0.5" }
[[query]]
name = "persons"
measure = "persons"
by = ["age group", "sex", "day"]
mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "pay"
measure = "mean"
of = "pay"
clip = [0, 10]
grid = "0.5"
by = ["sex"]
mechanism = "DiscreteGaussian(sigma=4)"
count_mechanism = "DiscreteGaussian(sigma=4)"
publish = ["sum", "mean", "persons"]
[[query]]
name = "most"
measure = "top"
of = "sex"
k = 2
mechanism = "ExponentialMechanism(epsilon=1)"
count_mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "by year"
measure = "ratio"
of = "pay"
clip = [0, 10]
grid = 1
mechanism = "DiscreteGaussian(sigma=4)"
over = "age"
over_clip = [0, 100]
over_grid = 1
over_mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "spread"
measure = "variance"
of = "pay"
clip = [0, 10]
grid = 1
mechanism = "DiscreteGaussian(sigma=4)"
square_mechanism = "DiscreteGaussian(sigma=40)"
count_mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "quartiles"
measure = "quantiles"
of = "pay"
per = "person"
quantiles = [0.25, 0.5, 0.75]
by = ["sex"]
mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "median"
measure = "quantiles"
of = "pay"
per = "row"
max_rows = 1
quantiles = [0.5]
mechanism = "ExponentialMechanism(epsilon=1)"
"""


def made() -> Release:
    days = [date(2026, 2, 3)] * 3
    frame = pl.DataFrame(
        {"who": [1, 2, 3], "age": [20, 60, 70], "sex": ["F", "", "F"], "day": days, "pay": [1.0, 2, 3]}
    )
    return release(PLAN, frame, ledger=None)


def read_by(metadata: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The rows of a CSV, as a program reads them that knows the standard and nothing else."""
    header, *rows = csv.reader(StringIO(text))
    columns = metadata["tableSchema"]["columns"]
    assert header == [one["titles"] for one in columns] == [unquote(one["name"]) for one in columns]
    assert metadata["null"] == []  # an empty text is one

    def value(cell: str, column: dict[str, Any]) -> Any:
        if cell in column.get("null", metadata["null"]):
            assert not column["required"]
            return None
        return READ[column["datatype"]](cell)

    return [
        {name: value(cell, column) for name, cell, column in zip(header, row, columns, strict=True)} for row in rows
    ]


def test_a_program_reads_every_table_by_its_description() -> None:
    published = made()
    for name, table in published.tables.items():
        file = next(one["csv"] for one in published.index["tables"] if one["name"] == name)
        metadata = json.loads(published.files[f"{file}-metadata.json"])
        rows = read_by(metadata, published.files[file].decode())
        assert metadata["url"] == file
        assert metadata["dc:title"] == name
        assert metadata["dc:description"] == table.about
        assert [metadata[f"dc:{what}"] for what in ("isPartOf", "publisher", "source", "temporal")] == [
            "A year",
            "The office",
            "Register",
            "2026-Q1",
        ]
        found = {column: [row[column] for row in rows] for column in table.columns}
        days = {name: [date.fromisoformat(one) for one in table.columns[name]] for name in found if name[:4] == "day_"}
        assert found == {**table.columns, **days}
        assert found["vintage"] == ["2026-Q1"] * len(rows)
        keys = [unquote(one) for one in metadata["tableSchema"].get("primaryKey", [])]
        assert "vintage" in keys  # tables of several vintages, put together, have this key too
        assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)
        assert all(" " in one["dc:description"] for one in metadata["tableSchema"]["columns"])  # no bare name


def test_what_is_not_said_is_left_out() -> None:
    query = read_query({"name": "a", "measure": "count", "mechanism": "m"}, {}, "row")
    table = Table("a", "noise", {"value": [1], "sd": [2.0], "lower": [0], "upper": [3]})
    metadata = json.loads(csv_on_the_web(table, "a.csv", columns_of(query, table), {"title": None}))
    assert set(metadata) == {"@context", "url", "dc:title", "dc:description", "null", "tableSchema"}
    assert "primaryKey" not in metadata["tableSchema"]
    assert [one["dc:description"] for one in metadata["tableSchema"]["columns"]] == [
        MEANINGS[name] for name in table.columns
    ]


def test_a_key_of_its_own_name_is_described_as_a_key() -> None:
    domains = read_domains({"persons": ["a"]}, None)
    query = read_query({"name": "a", "measure": "count", "by": ["persons"], "mechanism": "m"}, domains, "row")
    assert columns_of(query, Table("a", "", {"persons": ["a"]}))["persons"].words.startswith("persons (1 key")


def test_the_column_of_a_coarser_list_is_described_as_that_list() -> None:
    towns = {"within": "region", "values": {"R1": ["a", "b"], "R2": ["c"]}}
    domains = read_domains({"region": ["R1", "R2"], "town": towns}, None)
    query = read_query({"name": "a", "measure": "count", "by": ["town"], "mechanism": "m"}, domains, "row")
    told = columns_of(query, Table("a", "", {name: [] for name in (*domains["town"].columns(), "value")}))
    assert told["region"].words.startswith("region (2 keys,")
    assert told["town"].words.startswith("town (3 keys within region,")
    assert told["region"].is_key
