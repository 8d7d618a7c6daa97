"""Odd names and keys in every engine: quotes, spaces and signs are letters like any other."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import polars as pl
import pytest

from zcdp.errors import BadType
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.frame_engines import engine_of

KEYS = ["it's", 'a "b"', "a\\b", "'; DROP TABLE x; --", "%", "a b", "\u00e9", "R1", "r1"]
COLUMNS = ['the "key"', "who's", "a b", "Select"]


def made(engine: str, frame: pl.DataFrame) -> Any:
    return {"duckdb": frame.to_arrow, "pandas": frame.to_pandas}.get(engine, lambda: frame)()


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_keys_and_columns_may_have_any_letters(engine: str) -> None:
    key, who, number, unused = COLUMNS
    values, listed = [*KEYS, "R2", None], json.dumps(KEYS[:-1])
    frame = pl.DataFrame({key: values, who: list(range(11)), number: [-5] * 4 + [7] * 7, unused: [1] * 11})
    text = f"[data]\nunit = {json.dumps(who)}\n[domain]\n"
    text += f'"a key" = {{ column = {json.dumps(key)}, values = {listed}, other = "none" }}\n'
    text += f'whole = {{ column = {json.dumps(number)}, values = [7, -5, 3] }}\n[[query]]\nname = "a"\n'
    text += 'measure = "count"\nby = ["a key", "whole"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with source_of(made(engine, frame), tables) as source:
        counts = exact_table(source, tables, tables.queries[0], 3).counts
    places = [*range(8), 8, 8, 8]  # r1 is not R1
    true = [0] * 27
    for place, whole in zip(places, frame[number], strict=True):
        true[3 * place + (0 if whole == 7 else 1)] += 1
    assert counts == true


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT", "UBIGINT", "BIGINT"])
def test_integers_beyond_64_bits_are_beyond_all_keys_and_bins(kind: str) -> None:
    far = 2**63 - 1 if kind == "BIGINT" else 2**64 - 1 if kind == "UBIGINT" else 2**100
    text = '[data]\nunit = "row"\n[domain]\nkey = { column = "x", values = [1, 2] }\n'
    text += 'bins = { column = "x", from = 0, to = 4, step = 2, clip = true }\n'
    for name in ("key", "bins"):
        text += f'[[query]]\nname = "{name}"\nmeasure = "count"\nby = ["{name}"]\n'
        text += 'mechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with duckdb.connect() as opened:
        listed = ", ".join(f"({one}::{kind})" for one in (1, 2, 2, far, "NULL"))
        with source_of(opened.sql(f"SELECT * FROM (VALUES {listed}) AS t(x)"), tables) as source:
            found = [exact_table(source, tables, query, 3).counts for query in tables.queries]
    assert found == [[1, 2], [1, 3]]


@pytest.mark.parametrize("data", [3, None, {"a": [1]}, [1, 2], pl.Series([1])])
def test_what_is_no_frame_is_refused(data: Any) -> None:
    with pytest.raises(BadType, match="data must be a path or a frame"):
        engine_of(data)


def test_each_frame_has_its_engine() -> None:
    frame = pl.DataFrame({"a": [1]})
    found = {kind: engine_of(made(kind, frame))[0].name for kind in ("polars", "duckdb", "pandas")}
    assert found == {"polars": "polars", "duckdb": "duckdb", "pandas": "pandas"}
    assert engine_of(frame.lazy())[0].name == "polars"
