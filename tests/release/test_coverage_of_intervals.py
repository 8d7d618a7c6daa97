"""End to end: what is published is the exact table plus noise of the law that is accounted, and intervals hold it."""

from __future__ import annotations

from math import sqrt

import polars as pl
import pytest

from zcdp.accounting.plan_file import PlanFileError, read_plan
from zcdp.release.exact import Exact
from zcdp.release.noise import published
from zcdp.release.table import Table

PLAN = """
[data]
unit = "row"
[domain]
region = ["R1", "R2", "R3"]
bins = { column = "pay", from = 0, to = 100, bins = 20 }
[[query]]
name = "count"
measure = "count"
by = ["region"]
mechanism = "DiscreteGaussian(sigma=4)"
[[query]]
name = "sum"
measure = "sum"
of = "pay"
clip = [0, 100]
grid = 0.5
by = ["region"]
mechanism = "DiscreteLaplace(scale=300)"
[[query]]
name = "mean"
measure = "mean"
of = "pay"
clip = [0, 100]
grid = 0.5
by = ["region"]
mechanism = "DiscreteLaplace(scale=300)"
count_mechanism = "DiscreteLaplace(scale=3)"
[[query]]
name = "median"
measure = "quantiles"
of = "bins"
quantiles = [0.5]
mechanism = "ExponentialMechanism(epsilon=0.5)"
"""
RUNS = 2000
FRAME = pl.DataFrame({"region": ["R1"] * 40 + ["R2"] * 90, "pay": [float(n % 101) for n in range(130)]})


def drawn(name: str) -> tuple[list[Table], Exact]:
    """So many releases of one table; the exact one is computed once, as it does not change."""
    from zcdp.release.columns import source_of
    from zcdp.release.exact import exact_table

    plan = read_plan("plan.toml", PLAN)
    assert plan.tables is not None
    with source_of(FRAME, plan.tables) as source:
        query = next(one for one in plan.tables.queries if one.name == name)
        exact = exact_table(source, plan.tables, query, 0)
    entries = [entry for entry in plan.entries if entry.name.split(":")[0] == name]
    return [published(query, entries, exact, query.statistics("add-remove")) for _ in range(RUNS)], exact


@pytest.mark.parametrize(("name", "grid"), [("count", 1.0), ("sum", 0.5)])
def test_intervals_hold_as_often_as_they_say(name: str, grid: float) -> None:
    tables, exact = drawn(name)
    truth = exact.counts if name == "count" else [grid * amount for amount in exact.amounts]
    assert truth[2] == 0  # a cell that nobody is in has noise like any other
    noise = []
    for cell, true in enumerate(truth):
        held = sum(t.columns["lower"][cell] <= true <= t.columns["upper"][cell] for t in tables) / RUNS
        # never below 0.95, and not far above it: five standard errors of 2000 runs, and a step of the grid
        assert 0.95 - 5 * sqrt(0.05 * 0.95 / RUNS) < held < 0.995
        noise.append([table.columns["value"][cell] - true for table in tables])
        spread = sqrt(sum(one * one for one in noise[-1]) / RUNS)
        assert spread == pytest.approx(tables[0].columns["sd"][cell], rel=0.15)
    both = sum(a * b for a, b in zip(noise[0], noise[2], strict=True)) / RUNS
    assert abs(both) < 6 * tables[0].columns["sd"][0] ** 2 / sqrt(RUNS)  # each cell has noise of its own


def test_intervals_of_means_hold_too() -> None:
    tables, exact = drawn("mean")
    pay = [value for value, region in zip(FRAME["pay"], FRAME["region"], strict=True) if region == "R2"]
    true = sum(pay) / len(pay)
    held = sum(t.columns["lower"][1] <= true <= t.columns["upper"][1] for t in tables) / RUNS
    assert held > 0.95 - 5 * sqrt(0.05 * 0.95 / RUNS)
    assert exact.counts == [40, 90, 0]


def test_medians_are_near_in_rank() -> None:
    tables, _ = drawn("median")
    pays = sorted(FRAME["pay"])
    for table in tables:
        assert table.columns["rank_error"][0] == pytest.approx(table.columns["rank_error"][-1])
    reach = tables[0].columns["rank_error"][0]
    near = 0
    for table in tables:
        low, high = table.columns["from"][0], table.columns["to"][0]
        below, above = sum(p < low for p in pays), sum(p >= high for p in pays)
        near += abs(below - above) / 2 <= reach + 4  # the best bin itself is within four of the middle
    assert near / RUNS > 0.95


def test_what_is_cut_at_zero_still_holds_the_truth() -> None:
    plan = read_plan("plan.toml", PLAN.replace('measure = "count"', 'measure = "count"\nnon_negative = true'))
    assert plan.tables is not None
    query, entries = plan.tables.queries[0], plan.entries[:1]
    exact = Exact([2, 0, 40], [0, 0, 0])
    tables = [published(query, entries, exact, query.statistics("add-remove")) for _ in range(RUNS)]
    for cell, true in enumerate(exact.counts):
        held = sum(t.columns["lower"][cell] <= true <= t.columns["upper"][cell] for t in tables) / RUNS
        assert held > 0.95 - 5 * sqrt(0.05 * 0.95 / RUNS)
    assert min(min(t.columns["value"] + t.columns["lower"]) for t in tables) == 0
    assert "too large on average" in tables[0].about
    with pytest.raises(PlanFileError, match="below 0"):
        read_plan("plan.toml", PLAN.replace("clip = [0, 100]", "non_negative = true\nclip = [-1, 100]", 1))
