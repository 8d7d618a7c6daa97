"""Persons whose numbers need all 64 bits stay different persons in every engine. (bug R20)"""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "who"
[[query]]
name = "rows"
measure = "count"
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "persons"
measure = "persons"
mechanism = "DiscreteGaussian(sigma=2)"
"""
WHO = [2**62, 2**62 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 1]


@pytest.mark.parametrize("engine", ["polars", "pandas", "nullable"])
def test_each_is_counted(engine: str) -> None:
    data = pl.DataFrame({"who": pl.Series(WHO, dtype=pl.UInt64)})
    frame = data if engine == "polars" else pd.DataFrame({"who": pd.Series(WHO, dtype="uint64")})
    if engine == "nullable":
        frame = frame.astype("UInt64")
    plan = read_plan("plan.toml", PLAN)
    assert plan.tables is not None
    with source_of(frame, plan.tables) as source:
        found = [exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries]
    assert found == [[5], [5]]
