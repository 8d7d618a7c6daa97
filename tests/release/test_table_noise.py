"""Published figures for given noise: values, deviations and intervals, from the laws of the noise and all truths."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, pi, sqrt
from typing import Any

import polars as pl
import pytest

from zcdp.accounting.adjusted_accuracy import adjustment
from zcdp.plans.plan_file import PlanFile, PlanFileError, read_plan
from zcdp.release import table_noise as noise
from zcdp.release.bounding import Exact
from zcdp.release.published_tables import published as published_tables
from zcdp.release.table_noise import Table, _ends, adjusted_tables, exact_margins

HEAD = '[data]\nunit = "row"\nneighbours = "{}"\n[domain]\nregion = ["R1", "R2"]\nok = [true, false]\n'


HEAD += 'bins = {{ column = "pay", from = 0, to = 50, bins = 5 }}\n'


Law = Callable[[int], float]


def gaussian(sigma: float) -> Law:
    return lambda x: exp(-(x**2) / (2 * sigma**2))


def laplace(scale: float) -> Law:
    return lambda x: exp(-abs(x) / scale)


def half(law: Law, miss: float) -> int:
    """The least h with P[|X| > h] <= miss."""
    weights = [law(x) for x in range(4000)]
    whole = 2 * sum(weights) - weights[0]
    inside, h = weights[0], 0
    while 1 - inside / whole > miss:
        h += 1
        inside += 2 * weights[h]
    return h


def deviation(law: Law) -> float:
    weights = [law(x) for x in range(4000)]
    return sqrt(2 * sum(x * x * w for x, w in enumerate(weights)) / (2 * sum(weights) - weights[0]))


def published(
    monkeypatch: pytest.MonkeyPatch, query: str, exact: Exact, moved: list[list[int]], neighbours: str = "add-remove"
) -> Table:
    """The table where the noise of each mechanism, in their order, is the given one."""
    plan, given = read_plan("plan.toml", HEAD.format(neighbours) + query), iter(moved)

    def drawn(_: Any, values: list[int]) -> list[int]:
        return [value + more for value, more in zip(values, next(given), strict=True)]

    monkeypatch.setattr(noise, "drawn", drawn)
    return made(plan, exact, neighbours)


def made(plan: PlanFile, exact: Exact, neighbours: str) -> Table:
    assert plan.tables is not None
    [query] = plan.tables.queries
    return published_tables(query, plan.entries, exact, query.statistics(neighbours))


COUNT = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["region", "ok"]\nmechanism = "{}"\n'
SUM = COUNT.replace("count", "sum") + 'of = "pay"\nclip = [{}, 100]\ngrid = {}\n'
NOISES = {
    "DiscreteGaussian(sigma=4)": gaussian(4),
    "DiscreteGaussian(sigma='1/2')": gaussian(0.5),
    "DiscreteLaplace(scale=3)": laplace(3),
    "DiscreteLaplace(scale='1/2')": laplace(0.5),
}


@pytest.mark.parametrize("name", NOISES)
def test_the_interval_of_a_count_reaches_the_half_width_of_the_noise(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    h, sd = half(NOISES[name], 0.05), deviation(NOISES[name])
    table = published(monkeypatch, COUNT.format(name), Exact([9, 0, 50, 2], [0] * 4), [[3, -2, 0, -40]])
    assert table.columns["region"] == ["R1", "R1", "R2", "R2"]
    assert table.columns["ok"] == [True, False, True, False]
    assert table.columns["value"] == [12, -2, 50, -38]
    assert table.columns["lower"] == [12 - h, -2 - h, 50 - h, -38 - h]
    assert table.columns["upper"] == [12 + h, -2 + h, 50 + h, -38 + h]
    assert table.columns["sd"] == [pytest.approx(sd, rel=1e-5)] * 4
    assert list(table.columns) == ["region", "ok", "value", "sd", "lower", "upper"]
    assert "95%" in table.about


@pytest.mark.parametrize("grid", ["1/2", "5", "1/3", "0.01"])
def test_the_figures_of_a_sum_are_in_the_unit_of_the_values(grid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law, step = laplace(30), Fraction(grid)
    h, sd = half(law, 0.05), deviation(law)
    low = -100 if grid != "1/3" else 0
    query = SUM.format("DiscreteLaplace(scale=30)", low, f'"{grid}"')
    table = published(monkeypatch, query, Exact([1] * 4, [40, 0, -7, 100]), [[1, 20, -3, -300]])
    steps = [41, 20, -10, -200]
    assert table.columns["value"] == [float(one * step) for one in steps]
    assert table.columns["lower"] == [float((one - h) * step) for one in steps]
    assert table.columns["upper"] == [float((one + h) * step) for one in steps]
    assert table.columns["sd"] == [pytest.approx(sd * float(step), rel=1e-5)] * 4


@pytest.mark.parametrize("measure", ["count", "sum"])
def test_where_none_is_below_zero_values_and_intervals_are_cut_there(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    h, name = half(gaussian(4), 0.05), "DiscreteGaussian(sigma=4)"
    query = COUNT.format(name) if measure == "count" else SUM.format(name, 0, 1)
    figures = [30, 2, 0, 1]
    table = published(monkeypatch, query + "non_negative = true\n", Exact(figures, figures), [[0, 1, -3, -60]])
    assert table.columns["value"] == [30, 3, 0, 0]
    assert table.columns["lower"] == [30 - h, 0, 0, 0]
    assert table.columns["upper"] == [30 + h, 3 + h, h, h]  # never "0 to 0": what the noise may hide at 0
    assert "cut at 0" in table.about
    assert f"a value of 0 may be anything up to {h}" in table.about


@pytest.mark.parametrize("sigma", [3, 2**51, 2**70])
def test_each_value_has_noise_of_its_own_however_wide_it_is(sigma: int) -> None:
    plan = read_plan("plan.toml", HEAD.format("add-remove") + COUNT.format(f"DiscreteGaussian(sigma={sigma})"))
    far = 10**6 * sigma
    found = noise.drawn(plan.entries[0], [far * n for n in range(-50, 50)])
    moved = [one - far * n for n, one in zip(range(-50, 50), found, strict=True)]
    assert all(type(one) is int for one in found)
    assert len(set(moved)) > 5
    assert 0.6 < sqrt(sum(one * one for one in moved) / 100) / sigma < 1.5  # once in 10^9 outside


# A published table as text: every value comes back as it was, and columns say what they hold.


COLUMNS: dict[str, tuple[list[Any], str]] = {
    "texts": (["R1", "", 'a "quoted", text', "two\nlines", "\u00e9", "=1+1", "true", "12"], "text"),
    "integers": ([0, -3, 2**31, 2**63 - 1, 10**40, 1, 2, 3], "integer"),
    "numbers": ([0.1, pi, 1e300, -1e-300, 2.0, -0.0, 1 / 3, 123456789.125], "number"),
    "mixed": ([1, 0.5, 2, 2.5, 3, 3.5, -4, 10**15], "number"),
    "booleans": ([True, False, True, True, False, False, True, False], "boolean"),
    "a, b": (["x"] * 8, "text"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_back_from_text_as_it_was(name: str) -> None:
    values, kind = COLUMNS[name]
    table = Table("t", "about it", {"key": list("abcdefgh"), name: values})
    assert table.kinds() == {"key": "text", name: kind}
    again = Table.from_csv("t", "about it", table.to_csv(), table.kinds())
    assert again == table
    expected = float if kind == "number" else type(values[0])
    assert all(type(one) is expected for one in again.columns[name])


def test_rows_are_in_the_order_of_the_columns() -> None:
    table = Table("t", "", {"b": [1, 2], "a": ["x", "y"]})
    assert table.rows == [(1, "x"), (2, "y")]
    assert table.to_csv() == "b,a\n1,x\n2,y\n"


def test_a_column_of_texts_and_numbers_is_text() -> None:
    assert Table("t", "", {"a": ["x", 1], "b": [True, 1], "c": []}).kinds()["a"] == "text"
    assert Table("t", "", {"b": [True, 0.5]}).kinds() == {"b": "text"}


# Tables that add up as they are published: intervals by trying all whole numbers, deviations by hand, none below 0.


HEAD_ADDING_UP = (
    '[data]\nunit = "row"\n[domain]\nsex = { values = [1, 2], other = 9 }\nok = { values = [true], other = false }\n'
)


QUERY = (
    '[[query]]\nname = "{}"\nmeasure = "{}"\nby = [{}]\nadds_up = "all"\nmechanism = "DiscreteGaussian(sigma=4)"\n{}'
)
PAY = 'of = "pay"\nclip = [0, 9]\ngrid = 0.5\n'


def plan_of(measure: str, *keys: str, more: str = "") -> str:
    return HEAD_ADDING_UP + "".join(QUERY.format(f"t{n}", measure, by, more) for n, by in enumerate(keys))


def tables(text: str, noisy: list[list[int]]) -> list[Table]:
    plan = read_plan("plan.toml", text)
    assert plan.tables is not None
    [together] = plan.tables.together
    return adjusted_tables(adjustment(together, plan.entries), plan.entries, noisy)


@pytest.mark.parametrize("below", [1, 2, 3, 5])
@pytest.mark.parametrize("half", [Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(7, 4), Fraction(5, 2)])
def test_an_interval_holds_all_whole_numbers_within_reach_of_the_estimate_and_the_published_one(
    below: int, half: Fraction
) -> None:
    for cell in range(-3 * below, 3 * below + 1):
        for value in (-6, -1, 0, 2, 7):
            [(low, high)] = _ends([cell], below, [half], [value])
            inside = [n for n in range(-20, 21) if abs(Fraction(cell, below) - n) <= half]
            assert (low, high) == (min([*inside, value]), max([*inside, value]))


def test_the_deviation_and_the_interval_are_those_of_the_adjusted_estimate() -> None:
    """A total and three cells of the same variance v: by least squares the total has 3/4 of v, a cell has v too."""
    total, cells = tables(plan_of("count", "", '"sex"'), [[130], [40, 30, 20]])
    # the cells say 90, each of variance 1 and so 3 together, against a total of variance 1: it takes 1/4 of them
    assert total.columns["value"] == [120]
    assert cells.columns["value"] == [50, 40, 30]
    assert total.columns["sd"] == [pytest.approx(4 * sqrt(3 / 4), rel=1e-5)]
    assert cells.columns["sd"] == [pytest.approx(4 * sqrt(1 - 1 / 4), rel=1e-5)] * 3
    for table in (total, cells):
        # of nearly normal noise 95% lie within 1.96 deviations; whole numbers round the ends inwards
        reach = 1.96 * 4 * sqrt(3 / 4)
        for low, value, high in zip(*(table.columns[name] for name in ("lower", "value", "upper")), strict=True):
            assert value - low == high - value
            assert reach - 1.1 < high - value < reach + 1.1
    assert list(cells.columns) == ["sex", "value", "sd", "lower", "upper"]
    assert cells.columns["sex"] == [1, 2, 9]
    assert "'t0'" in cells.about
    assert "'t1'" not in cells.about


def test_amounts_are_published_in_the_unit_of_the_values() -> None:
    text = plan_of("sum", "", '"sex"', more=PAY)
    plan = read_plan("plan.toml", text)
    assert plan.tables is not None
    [together] = plan.tables.together
    exact = Exact([1, 1, 1], [40, 30, 20])
    assert exact_margins(together, exact) == [[90], [40, 30, 20]]
    total, cells = tables(text, [[130], [40, 30, 20]])
    assert (total.columns["value"], cells.columns["value"]) == ([60], [25, 20, 15])
    assert total.columns["sd"] == [pytest.approx(2 * sqrt(3 / 4), rel=1e-5)]
    assert 60 - 4 < total.columns["lower"][0] < 60 - 2.5
    assert 60 + 2.5 < total.columns["upper"][0] < 60 + 4


@pytest.mark.parametrize("noisy", [[[-40], [-20, -30, 5]], [[7], [-3, 12, -4]], [[0], [0, 0, 0]], [[60], [20, 20, 20]]])
def test_where_none_is_below_zero_no_end_is_and_each_interval_holds_its_figure(noisy: list[list[int]]) -> None:
    plain = tables(plan_of("count", "", '"sex"'), noisy)
    cut = tables(plan_of("count", "", '"sex"', more="non_negative = true\n"), noisy)
    assert sum(cut[1].columns["value"]) == cut[0].columns["value"][0]
    for one, table in zip(plain, cut, strict=True):
        ends = [table.columns[name] for name in ("lower", "value", "upper")]
        for n, (low, value, high) in enumerate(zip(*ends, strict=True)):
            assert 0 <= low <= value <= high
            # a truth of at least 0 that was within the interval before it was cut still is
            assert low <= max(one.columns["lower"][n], 0) + 1
            assert high >= max(one.columns["upper"][n], 0) - 1
            # and no interval ends below what the noise may hide at 0, so that none is "0 to 0"
            reach = (one.columns["upper"][n] - one.columns["lower"][n]) / 2
            assert high >= reach - 1


def test_exact_margins_are_sums_of_the_finest_cells_in_the_order_of_each_table() -> None:
    plan = read_plan("plan.toml", plan_of("count", '"ok"', '"sex", "ok"', '"sex"', "", '"ok", "sex"'))
    assert plan.tables is not None
    [together] = plan.tables.together
    names = [one.name for one in together.finest.by]
    truth = {(ok, sex): 10**ok * (sex + 1) for ok in range(2) for sex in range(3)}
    finest = [truth[ok, sex] for ok in range(2) for sex in range(3)]
    if names == ["sex", "ok"]:
        finest = [truth[ok, sex] for sex in range(3) for ok in range(2)]
    found = exact_margins(together, Exact(finest, [0] * 6))
    assert found[0] == [sum(truth[ok, sex] for sex in range(3)) for ok in range(2)]
    assert found[1] == [truth[ok, sex] for sex in range(3) for ok in range(2)]
    assert found[2] == [sum(truth[ok, sex] for ok in range(2)) for sex in range(3)]
    assert found[3] == [sum(truth.values())]
    assert found[4] == [truth[ok, sex] for ok in range(2) for sex in range(3)]


# End to end: what is published is the exact table plus noise of the law that is accounted, and intervals hold it.


PLAN_COVERAGE_OF_INTERVALS = """
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

    plan = read_plan("plan.toml", PLAN_COVERAGE_OF_INTERVALS)
    assert plan.tables is not None
    with source_of(FRAME, plan.tables) as source:
        query = next(one for one in plan.tables.queries if one.name == name)
        exact = exact_table(source, plan.tables, query, 0)
    entries = [entry for entry in plan.entries if entry.name.split(":")[0] == name]
    return [published_tables(query, entries, exact, query.statistics("add-remove")) for _ in range(RUNS)], exact


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


def test_what_is_cut_at_zero_still_holds_the_truth() -> None:
    plan = read_plan(
        "plan.toml", PLAN_COVERAGE_OF_INTERVALS.replace('measure = "count"', 'measure = "count"\nnon_negative = true')
    )
    assert plan.tables is not None
    query, entries = plan.tables.queries[0], plan.entries[:1]
    exact = Exact([2, 0, 40], [0, 0, 0])
    tables = [published_tables(query, entries, exact, query.statistics("add-remove")) for _ in range(RUNS)]
    for cell, true in enumerate(exact.counts):
        held = sum(t.columns["lower"][cell] <= true <= t.columns["upper"][cell] for t in tables) / RUNS
        assert held > 0.95 - 5 * sqrt(0.05 * 0.95 / RUNS)
    assert min(min(t.columns["value"] + t.columns["lower"]) for t in tables) == 0
    assert "too large on average" in tables[0].about
    with pytest.raises(PlanFileError, match="below 0"):
        read_plan(
            "plan.toml",
            PLAN_COVERAGE_OF_INTERVALS.replace("clip = [0, 100]", "non_negative = true\nclip = [-1, 100]", 1),
        )
