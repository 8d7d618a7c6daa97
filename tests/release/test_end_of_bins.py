"""The end of the last bin is in no bin, and its start is, for integers, floats and days alike. (bug R11)"""

from __future__ import annotations

from datetime import date

import pandas as pd
import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "row"
[domain]
age = { from = 0, to = 30, step = 10 }
day = { from = 2024-01-01, to = 2024-01-22, step = "week" }
month = { column = "day", from = 2024-01-01, to = 2024-03-01, step = "month" }
"""
QUERY = '[[query]]\nname = "{0}"\nmeasure = "count"\nby = ["{0}"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
NAMES = "age", "day", "month"
AGES = [-1, 0, 9, 10, 29, 30, 31]
DAYS = [date(2023, 12, 31), *(date(2024, 1, n) for n in (1, 7, 8, 21, 22)), date(2024, 3, 1)]
TRUTH = {"age": [2, 1, 1], "day": [2, 1, 1], "month": [5, 0]}


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("engine", [pl, pd])
def test_ends(kind: type, engine: object) -> None:
    plan = read_plan("plan.toml", PLAN + "".join(map(QUERY.format, NAMES)))
    frame = pl.DataFrame({"age": list(map(kind, AGES)), "day": DAYS})
    data = frame if engine is pl else pd.DataFrame({"age": list(map(kind, AGES)), "day": pd.to_datetime(DAYS)})
    assert plan.tables is not None
    with source_of(data, plan.tables) as source:
        found = {one.name: exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries}
    assert found == TRUTH
