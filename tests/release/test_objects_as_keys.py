"""A column of Python objects: what fulfils a condition on an integer has a key too, so that no row is lost."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import exact_margins

WHERE = 'where = [["sex", "in", [1, 2]]]\nadds_up = "t"\nmechanism = "DiscreteGaussian(sigma=2)"\n'
PLAN = f"""
[data]
unit = "row"
[domain]
sex = [1, 2]
[[query]]
name = "all"
measure = "count"
{WHERE}
[[query]]
name = "by sex"
measure = "count"
by = ["sex"]
{WHERE}
"""


def test_whole_numbers_of_every_type_are_keys() -> None:
    tables = read_plan("a plan", PLAN).tables
    assert tables is not None
    together = tables.together[0]
    people = pd.DataFrame({"sex": pd.Series([1, 2, 1.0, Decimal(2), 2.5, "1", None, True], dtype=object)})
    with source_of(people, tables) as source:
        margins = exact_margins(together, exact_table(source, tables, together.finest, 0))
    assert [list(map(int, one)) for one in margins] == [[4], [2, 2]]
