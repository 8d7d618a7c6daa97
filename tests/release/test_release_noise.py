"""Published figures for given noise: values, deviations and intervals, from the laws of the noise and all truths.

The half-widths are derived here from the probabilities of the noise, summed in floats.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import pytest

from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.release import table_noise as noise
from zcdp.release.bounding import Exact
from zcdp.release.table_noise import Table

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
    return noise.published(query, plan.entries, exact, query.statistics(neighbours))


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
    assert table.columns["upper"] == [30 + h, 3 + h, h - 3, 0]
    assert "cut at 0" in table.about


MEAN = '[[query]]\nname = "a"\nmeasure = "mean"\nof = "pay"\nclip = [{}, {}]\ngrid = "{}"\n'
MEAN += 'mechanism = "DiscreteLaplace(scale=20)"\ncount_mechanism = "DiscreteGaussian(sigma=3)"\n'


@pytest.mark.parametrize("count", [-3, 0, 1, 5, 6, 7, 8, 9, 20, 60])
@pytest.mark.parametrize(("low", "high", "grid"), [(0, 100, "1"), (-10, 30, "1/2"), (-20, -5, "5")])
def test_the_interval_of_a_mean_is_that_of_all_truths_that_its_noise_allows(
    count: int, low: int, high: int, grid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All numbers of persons from 1, and sums, that are within their half-widths: means within the clip."""
    step = Fraction(grid)
    first, last = int(low / step), int(high / step)
    centre = (first + last) // 2
    far, off = half(laplace(20), 0.025), half(gaussian(3), 0.025)
    for above in (-400, -90, -7, 0, 33, 150, 900):
        exact = Exact([4], [2])
        table = published(monkeypatch, MEAN.format(low, high, grid), exact, [[above - 2], [count - 4]])
        [value], [lower], [upper] = (table.columns[name] for name in ("value", "lower", "upper"))
        assert table.columns["persons"] == [count]
        told = min(max(Fraction(above, max(count, 1)), Fraction(first - centre)), Fraction(last - centre))
        assert value == pytest.approx(float((told + centre) * step))
        if count - off < 1:
            ends = [Fraction(first), Fraction(last)]
        else:
            truths = [Fraction(s, n) for s in (above - far, above + far) for n in range(count - off, count + off + 1)]
            ends = [min(max(truth + centre, Fraction(first)), Fraction(last)) for truth in (min(truths), max(truths))]
        assert [lower, upper] == pytest.approx([float(one * step) for one in ends])
        assert lower <= value <= upper


def test_the_deviation_of_a_mean_is_that_of_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the slopes of sum/count in either, as differences."""
    spreads = deviation(laplace(20)), deviation(gaussian(3))
    for above, count in ((0, 50), (400, 50), (-800, 40), (300, 7)):
        table = published(monkeypatch, MEAN.format(0, 100, "1/2"), Exact([0], [0]), [[above], [count]])
        slopes = ((above + 1) / count - above / count, (above / (count + 1e-6) - above / count) / 1e-6)
        spread = sqrt(sum((slope * one) ** 2 for slope, one in zip(slopes, spreads, strict=True))) / 2
        assert table.columns["sd"] == [pytest.approx(spread, rel=1e-4)]


QUANTILES = '[[query]]\nname = "a"\nmeasure = "quantiles"\nof = "bins"\nby = ["region"]\n'
QUANTILES += 'quantiles = [0.1, 0.5, 0.75]\nmechanism = "ExponentialMechanism(epsilon=2)"\n'


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_quantiles_are_those_of_their_cell_and_the_error_is_that_of_the_selection(neighbours: str) -> None:
    """So many rows that another bin is selected with a probability below 10^-40."""
    counts = [[4000, 1000, 1000, 4000, 9000], [300, 900, 6000, 2000, 1000]]
    plan = read_plan("plan.toml", HEAD.format(neighbours) + QUANTILES)
    table = made(plan, Exact([*counts[0], *counts[1]], []), neighbours)
    assert table.columns["region"] == ["R1"] * 3 + ["R2"] * 3
    assert table.columns["quantile"] == [0.1, 0.5, 0.75] * 2
    rows = [[10 * n for n, many in enumerate(one) for _ in range(many)] for one in counts]
    starts = [one[int(q * len(one))] for one in rows for q in (0.1, 0.5, 0.75)]
    assert table.columns["from"] == starts
    assert table.columns["to"] == [start + 10 for start in starts]
    for q, error in zip(table.columns["quantile"], table.columns["rank_error"], strict=True):
        # a rank moves by so much, and others that lie behind by x are selected with odds of at most 4 e^(-x/moves)
        moves = 1 if neighbours == "replace" else max(q, 1 - q)
        least = moves * log(4 * 19)
        assert least * (1 - 1e-9) <= error <= least * (1 + 1e-3)


TOP = '[[query]]\nname = "a"\nmeasure = "top"\nof = "bins"\nk = 3\nmechanism = "ExponentialMechanism(epsilon=1)"\n'


def test_the_largest_are_selected_in_their_order() -> None:
    plan = read_plan("plan.toml", HEAD.format("add-remove") + TOP)
    table = made(plan, Exact([100, 5000, 300, 9000, 2000], []), "add-remove")
    assert table.columns["rank"] == [1, 2, 3]
    assert table.columns["bins_from"] == [30, 10, 40]
    assert table.columns["bins_to"] == [40, 20, 50]
    assert list(table.columns) == ["rank", "bins_from", "bins_to", "count_error"]


@pytest.mark.parametrize("sigma", [3, 2**51, 2**70])
def test_each_value_has_noise_of_its_own_however_wide_it_is(sigma: int) -> None:
    plan = read_plan("plan.toml", HEAD.format("add-remove") + COUNT.format(f"DiscreteGaussian(sigma={sigma})"))
    far = 10**6 * sigma
    found = noise.drawn(plan.entries[0], [far * n for n in range(-50, 50)])
    moved = [one - far * n for n, one in zip(range(-50, 50), found, strict=True)]
    assert all(type(one) is int for one in found)
    assert len(set(moved)) > 5
    assert 0.6 < sqrt(sum(one * one for one in moved) / 100) / sigma < 1.5  # once in 10^9 outside
