"""Bytes of a CSV that are no text name nobody: they are not one common person. (bug R14)"""

from __future__ import annotations

from pathlib import Path

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "who"
[domain]
word = { values = ["\\uFFFD", "a"], other = "z" }
[[query]]
name = "persons"
measure = "persons"
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "words"
measure = "count"
by = ["word"]
mechanism = "DiscreteGaussian(sigma=2)"
"""


def test_they_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"who,word\n\xff,a\n\xfe,a\np1,a\np2,\xff\n")
    plan = read_plan("plan.toml", PLAN)
    assert plan.tables is not None
    with source_of(path, plan.tables) as source:
        found = [exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries]
    assert found == [[2], [0, 1, 1]]
