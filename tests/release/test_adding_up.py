"""Tables that add up as they are published: intervals by trying all whole numbers, deviations by hand, none below 0."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

from zcdp.accounting.adjusted import adjustment
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import Exact
from zcdp.release.table_noise import Table, _ends, adjusted_tables, exact_margins

HEAD = '[data]\nunit = "row"\n[domain]\nsex = { values = [1, 2], other = 9 }\nok = { values = [true], other = false }\n'
QUERY = (
    '[[query]]\nname = "{}"\nmeasure = "{}"\nby = [{}]\nadds_up = "all"\nmechanism = "DiscreteGaussian(sigma=4)"\n{}'
)
PAY = 'of = "pay"\nclip = [0, 9]\ngrid = 0.5\n'


def plan_of(measure: str, *keys: str, more: str = "") -> str:
    return HEAD + "".join(QUERY.format(f"t{n}", measure, by, more) for n, by in enumerate(keys))


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
            [(low, high)] = _ends([cell], below, half, [value])
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
