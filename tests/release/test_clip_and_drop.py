"""Bins that clip and bins that drop are not divided one by the other: a table says what it says alone. (bug T10)

Of the ages 5, 15 and 250 the bins up to 20 that clip count three, and those that drop count two.
"""

from __future__ import annotations

import polars as pl
import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import exact_margins

PLAN = """
[data]
unit = "row"
[domain]
coarse = {{ column = "{0}", from = {1}, to = {2}, step = {3}, clip = {5} }}
fine = {{ column = "{0}", from = {1}, to = {2}, step = {4}, clip = {6} }}
"""
QUERY = """[[query]]
name = "{0}"
measure = "count"
by = ["{0}"]
where = [["age", ">=", 0]]
{1}mechanism = "DiscreteGaussian(sigma=2)"
"""
BINS = ("age", "0", "20", "10", "5")
DAYS = ("day", "2024-01-01", "2024-01-15", "14", "7")
FRAME = pl.DataFrame({"age": [5, 15, 250], "day": ["2024-01-01", "2024-01-09", "2025-01-01"]}).with_columns(
    pl.col("day").str.to_date()
)


@pytest.mark.parametrize("which", [BINS, DAYS])
@pytest.mark.parametrize("clips", [("true", "false"), ("false", "true"), ("true", "true"), ("false", "false")])
def test_each_table_says_what_it_says_alone(which: tuple[str, ...], clips: tuple[str, str]) -> None:
    text = PLAN.format(*which, *clips)
    alone = read_plan("plan.toml", text + QUERY.format("coarse", "") + QUERY.format("fine", ""))
    assert alone.tables is not None
    with source_of(FRAME, alone.tables) as source:
        true = [exact_table(source, alone.tables, one, 0).counts for one in alone.tables.queries]
    assert sum(true[0]) == (3 if clips[0] == "true" else 2)
    words = 'adds_up = "a"\n'
    if clips[0] != clips[1]:
        with pytest.raises(PlanFileError, match="do not add up"):
            read_plan("plan.toml", text + QUERY.format("coarse", words) + QUERY.format("fine", words))
        return
    plan = read_plan("plan.toml", text + QUERY.format("coarse", words) + QUERY.format("fine", words))
    assert plan.tables is not None
    [together] = plan.tables.together
    with source_of(FRAME, plan.tables) as source:
        assert exact_margins(together, exact_table(source, plan.tables, together.finest, 0)) == true
