"""Which types of column a plan may read as which kind of value, and which columns it asks for."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import polars as pl
import pytest

from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release.expressions import source_of, uses

TYPES = {
    "integer": pl.Int64,
    "short": pl.UInt8,
    "wide": pl.UInt64,
    "float": pl.Float32,
    "decimal": pl.Decimal(9, 2),
    "text": pl.String,
    "category": pl.Categorical,
    "enum": pl.Enum(["a"]),
    "boolean": pl.Boolean,
    "date": pl.Date,
    "time": pl.Datetime("us"),
    "zoned": pl.Datetime("us", "UTC"),
    "duration": pl.Duration("us"),
    "clock": pl.Time,
    "list": pl.List(pl.Int64),
    "bytes": pl.Binary,
}
NUMBERS, TEXTS = {"integer", "short", "wide"}, {"text", "category", "enum"}
KINDS = {
    "text": ('[domain]\nx = ["a"]\n', TEXTS),
    "integer": ("[domain]\nx = [1, 2]\n", NUMBERS),
    "boolean": ("[domain]\nx = [true, false]\n", {"boolean"}),
    "number": ("[domain]\nx = { from = 0, to = 4, step = 1 }\n", NUMBERS | {"float", "decimal"}),
    "date": ('[domain]\nx = { from = 2024-01-01, to = 2025-01-01, step = "month" }\n', {"date", "time"}),
}
COUNT = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["x"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
PERSON = '[data]\nunit = "x"\n[[query]]\nname = "a"\nmeasure = "count"\nmechanism = "DiscreteGaussian(sigma=2)"\n'


@pytest.mark.parametrize("kind", [*KINDS, "person"])
def test_a_kind_of_value_is_read_from_columns_that_hold_it_and_from_no_other(kind: str) -> None:
    words, fits = KINDS.get(kind, ("", NUMBERS | TEXTS))
    tables = read_plan("plan.toml", PERSON if kind == "person" else '[data]\nunit = "row"\n' + words + COUNT).tables
    assert tables is not None
    for name, dtype in TYPES.items():
        frame = pl.DataFrame({"x": pl.Series([None], dtype=dtype)})
        refused: Any = nullcontext() if name in fits else pytest.raises(BadValue, match="column 'x' must hold")
        with refused, source_of(frame, tables):
            assert name in fits


def test_a_plan_reads_the_columns_that_it_names_each_as_the_kinds_of_value_that_it_needs() -> None:
    text = """
[data]
unit = "who"
[domain]
age = { column = "years", from = 0, to = 20, step = 5 }
region = ["R1"]
unused = ["R1"]
[[query]]
name = "a"
measure = "quantiles"
of = "age"
quantiles = [0.5]
by = ["region"]
where = [["years", ">", 3], ["seen", "<", 2024-01-01], ["region", "!=", "R9"]]
mechanism = "ExponentialMechanism(epsilon=1)"
[[query]]
name = "b"
measure = "sum"
of = "pay"
clip = [0, 9]
grid = 1
where = [["ok", "==", true], ["who", "!=", "x"]]
mechanism = "DiscreteGaussian(sigma=2)"
"""
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    assert uses(tables) == {
        "who": {"person", "text"},
        "years": {"number"},
        "region": {"text"},
        "seen": {"date"},
        "pay": {"number"},
        "ok": {"boolean"},
    }
