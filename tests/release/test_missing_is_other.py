"""A missing value is `other`, never the key that an engine fills gaps with: 0, "" or false. (bugs R12, R13)"""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "row"
[domain]
number = { values = [0, 1, 5], other = 9 }
word = { values = ["", "a"], other = "z" }
yes = { values = [false], other = true }
"""
QUERY = '[[query]]\nname = "{0}"\nmeasure = "count"\nby = ["{0}"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
FRAME = pl.DataFrame(
    {"number": [0, None, None, 7, 5], "word": ["", None, "b", None, "a"], "yes": [False, None, None, True, None]}
)
TRUTH = {"number": [1, 0, 1, 3], "word": [1, 1, 3], "yes": [1, 4]}
ENGINES: dict[str, Any] = {
    "polars": lambda: FRAME,
    "pandas": lambda: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "duckdb": lambda: duckdb.from_arrow(FRAME.to_arrow()),
}


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
def test_missing_values(engine: str) -> None:
    plan = read_plan("plan.toml", PLAN + "".join(map(QUERY.format, TRUTH)))
    assert plan.tables is not None
    with source_of(ENGINES[engine](), plan.tables) as source:
        found = {one.name: exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries}
    assert found == TRUTH
