"""A number of a CSV that is no integer has no key among integers, and is not rounded to one. (bug R15)"""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

QUERY = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["sex"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
TEXTS = ["1", "4", "4.0", "3.7", "2.5", "1.5", "0.9", "4.000001", "1e0", "", "x"]


@pytest.mark.parametrize(("domain", "truth"), [("[1, 2, 4]", [2, 0, 2]), ("[1, 2, 3, 4]", [2, 0, 0, 2])])
def test_only_integers_are_keys(domain: str, truth: list[int], tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sex,more\n" + "".join(f"{one},1\n" for one in TEXTS))
    plan = read_plan("plan.toml", f'[data]\nunit = "row"\n[domain]\nsex = {domain}\n{QUERY}')
    assert plan.tables is not None
    with source_of(path, plan.tables) as source:
        assert exact_table(source, plan.tables, plan.tables.queries[0], 0).counts == truth
