"""End to end: what is published is the exact table plus noise of the law that is accounted, and intervals hold it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import polars as pl
import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.release.bounding import Exact
from zcdp.release.table_noise import Table, published, rank_scores
from zcdp.tables.table_query import rank_sensitivity

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
    from zcdp.release.bounding import exact_table
    from zcdp.release.expressions import source_of

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


def test_the_error_of_ranks_is_about_the_truth() -> None:
    tables, _ = drawn("median")
    pays = sorted(FRAME["pay"])
    for table in tables:
        assert table.columns["rank_error"][0] == pytest.approx(table.columns["rank_error"][-1])
    reach = tables[0].columns["rank_error"][0]
    near = 0
    for table in tables:
        low, high = table.columns["from"][0], table.columns["to"][0]
        below, not_above = sum(p < low for p in pays), sum(p < high for p in pays)
        near += max(below - len(pays) / 2, len(pays) / 2 - not_above, 0) <= reach
    assert near / RUNS > 0.95


ATOMS = """
[data]
unit = "row"
[domain]
bins = { column = "pay", from = 0, to = 100, bins = 100 }
[[query]]
name = "low pay"
measure = "quantiles"
of = "bins"
quantiles = [0.05, 0.1, 0.12, 0.5]
mechanism = "ExponentialMechanism(epsilon=0.5)"
"""


def test_a_quantile_within_an_atom_is_its_bin() -> None:
    """One row in eight is 0, and nothing else below 16: so are the quantiles of 5, 10 and 12%, not the gap above."""
    plan = read_plan("plan.toml", ATOMS)
    assert plan.tables is not None
    [query], entries = plan.tables.queries, plan.entries
    counts = [2000] + 15 * [0] + [167] * 84
    for _ in range(5):
        table = published(query, entries, Exact(counts, []), query.statistics("add-remove"))
        for q, start, reach in zip(query.quantiles, table.columns["from"], table.columns["rank_error"], strict=True):
            rank, below = q * sum(counts), sum(counts[:start])
            assert max(below - rank, rank - below - counts[start], 0) <= 3 * reach  # once in 10^9 further away
        *low, median = table.columns["from"]
        assert low == [0, 0, 0]
        assert 45 <= median <= 60  # of 16028 rows the middle one is 6014 above 16
        assert "of the bin" in table.about


@pytest.mark.parametrize("q", ["1/2", "1/4", "1/10", "9/10", "2/3"])
def test_scores_of_neighbours_move_as_far_as_is_derived_and_no_further(q: str) -> None:
    """Every table of three bins with up to three rows in each; ranks are counted here row by row."""
    target = Fraction(q)

    def scores(counts: list[int]) -> list[Fraction]:
        rows = [n for n, count in enumerate(counts) for _ in range(count)]
        rank = target * len(rows)
        ranks = [(sum(row < n for row in rows), sum(row <= n for row in rows)) for n in range(3)]
        return [-max(Fraction(0), low - rank, rank - high) for low, high in ranks]

    def furthest(one: list[int], other: list[int]) -> Fraction:
        return max(abs(a - b) for a, b in zip(scores(one), scores(other), strict=True))

    added = replaced = Fraction(0)
    for counts in map(list, product(range(4), repeat=3)):
        assert rank_scores(counts, target) == [score * target.denominator for score in scores(counts)]
        assert max(scores(counts)) == 0
        more = [[count + (n == place) for n, count in enumerate(counts)] for place in range(3)]
        added = max(added, *(furthest(counts, one) for one in more))
        replaced = max(replaced, *(furthest(one, other) for one in more for other in more))
    assert added * target.denominator == rank_sensitivity(target)
    assert replaced * target.denominator == rank_sensitivity(target, replaced=True)


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
