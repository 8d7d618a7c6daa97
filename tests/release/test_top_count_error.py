"""Count_error of `top` holds for all of its selections together: by the odds of the exponential mechanism. (bug R1)"""

from __future__ import annotations

from math import exp

import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release import table_noise as noise
from zcdp.release.bounding import Exact

PLAN = """
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
    candidates = 40
    plan = read_plan("plan.toml", PLAN.format(k=k, values=", ".join(f"'{n}'" for n in range(candidates))))
    assert plan.tables is not None
    [query] = plan.tables.queries
    table = noise.published(query, plan.entries, Exact([0] * candidates, []), query.statistics("replace"))
    gap = table.columns["count_error"][0] + 1e-9  # k candidates are the best, all others lie behind by more than it
    missed = 0.0
    for ahead in range(1, k + 1):
        # of scores that move by 1 either way the odds are e^(epsilon/2 score)
        hit = ahead / (ahead + (candidates - k) * exp(-gap / 2))
        missed = 1 - hit * (1 - missed)
    assert missed <= 0.05
