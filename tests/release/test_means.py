"""Means: whatever noise lies within its two half-widths, the published interval holds the truth. (bugs R2, R16, R18)

The half-widths are derived here from the law of discrete Laplace noise: P[|X| > h] = 2 a^(h+1)/(1+a), a = e^(-1/scale).
"""

from __future__ import annotations

from itertools import product
from math import exp

import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release import table_noise as noise
from zcdp.release.bounding import Exact

PLAN = """
[data]
unit = "row"
[domain]
region = ["R1"]
[[query]]
name = "mean"
measure = "mean"
of = "pay"
clip = [0, 100]
grid = 1
by = ["region"]
mechanism = "DiscreteLaplace(scale=40)"
count_mechanism = "DiscreteLaplace(scale=3)"
"""


def half(scale: float) -> int:
    """The least h with P[|X| > h] <= 2.5%: two such intervals hold together at 95%."""
    a, h = exp(-1 / scale), 0
    while 2 * a ** (h + 1) / (1 + a) > 0.025:
        h += 1
    return h


@pytest.mark.parametrize("persons", [1, 3, 8, 14, 30])
@pytest.mark.parametrize("mean", [2, 30, 50, 71, 99])
def test_noise_within_its_half_widths_leaves_the_truth_in_the_interval(
    persons: int, mean: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = read_plan("plan.toml", PLAN)
    assert plan.tables is not None
    [query] = plan.tables.queries
    exact = Exact([persons], [persons * (mean - 50)])  # sums are of what is above the middle of the clip
    far, off = half(40), half(3)
    for a, b in product((-far, -far // 2, 0, far // 2, far), (-off, -off // 2, 0, off // 2, off)):
        moved = iter((a, b))
        monkeypatch.setattr(noise, "drawn", lambda _, values, moved=moved: [values[0] + next(moved)])
        table = noise.published(query, plan.entries, exact, query.statistics("add-remove"))
        low, high = table.columns["lower"][0], table.columns["upper"][0]
        assert low <= mean + 1e-9, (a, b, low, high)
        assert high >= mean - 1e-9, (a, b, low, high)
