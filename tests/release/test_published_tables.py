"""The keys of largest counts, and their counts."""

from __future__ import annotations

from math import exp

import pytest
from release.noise_laws import gaussian, half, made

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import Exact

HEAD = '[data]\nunit = "row"\nneighbours = "{}"\n[domain]\nbins = {{ column = "pay", from = 0, to = 50, bins = 5 }}\n'
TOP = '[[query]]\nname = "a"\nmeasure = "top"\nof = "bins"\nk = 3\nmechanism = "ExponentialMechanism(epsilon=1)"\n'


def test_the_largest_are_selected_in_their_order() -> None:
    plan = read_plan("plan.toml", HEAD.format("add-remove") + TOP)
    table = made(plan, Exact([100, 5000, 300, 9000, 2000], []), "add-remove")
    assert table.columns["rank"] == [1, 2, 3]
    assert table.columns["bins_from"] == [30, 10, 40]
    assert table.columns["bins_to"] == [40, 20, 50]
    assert list(table.columns) == ["rank", "bins_from", "bins_to", "count_error"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_largest_are_counted_with_noise_of_their_own(neighbours: str) -> None:
    """One use of the noise for each key: a person may be in all of them."""
    text = HEAD.format(neighbours) + TOP + 'count_mechanism = "DiscreteGaussian(sigma=4)"\n'
    plan = read_plan("plan.toml", text.replace('"row"', '"who"').replace("k = 3", "k = 3\nmax_rows = 2"))
    selections, counts = plan.entries
    assert (selections.count, counts.count) == (3, 3)
    assert counts.plan is not None
    assert counts.plan.rho == pytest.approx(2**2 / (2 * 4**2))
    table = made(plan, Exact([100, 5000, 300, 9000, 2000], []), neighbours)
    for value, true in zip(table.columns["value"], (9000, 5000, 2000), strict=True):
        assert abs(value - true) < 40
    reach = half(gaussian(4), 0.05)
    assert table.columns["upper"] == [value + reach for value in table.columns["value"]]
    assert table.columns["lower"] == [value - reach for value in table.columns["value"]]
    assert table.columns["sd"] == [4, 4, 4]


PLAN_TOP_COUNT_ERROR = """
[data]
unit = "row"
neighbours = "replace"
[domain.region]
values = [{values}]
[[query]]
name = "best"
measure = "top"
of = "region"
k = {k}
mechanism = "ExponentialMechanism(epsilon=1)"
"""


@pytest.mark.parametrize("k", [2, 5, 10])
def test_all_selections_together_fall_behind_with_at_most_five_percent(k: int) -> None:
    """By the odds of the exponential mechanism."""
    candidates = 40
    plan = read_plan(
        "plan.toml", PLAN_TOP_COUNT_ERROR.format(k=k, values=", ".join(f"'{n}'" for n in range(candidates)))
    )
    table = made(plan, Exact([0] * candidates, []), "replace")
    gap = table.columns["count_error"][0] + 1e-9  # k candidates are the best, all others lie behind by more than it
    missed = 0.0
    for ahead in range(1, k + 1):
        # of scores that move by 1 either way the odds are e^(epsilon/2 score)
        hit = ahead / (ahead + (candidates - k) * exp(-gap / 2))
        missed = 1 - hit * (1 - missed)
    assert missed <= 0.05
