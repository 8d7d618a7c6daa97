"""Queries of equal cost and other sensitivity have other errors: each is told its own. (bug A2)"""

from __future__ import annotations

from math import sqrt

import pytest

from zcdp import account
from zcdp.plans.plan_file import read_plan

QUERY = '[[query]]\nname = "{0}"\nmechanism = "Laplace(epsilon=1, sensitivity={0})"\n'


@pytest.mark.parametrize("order", [(1, 10, 300), (300, 1, 10)])
def test_each_has_its_own(order: tuple[int, ...]) -> None:
    made = account(read_plan("plan.toml", "".join(map(QUERY.format, order))), curve=False)
    for query in made.queries:
        assert query.accuracy is not None
        assert query.accuracy.standard_deviation == pytest.approx(sqrt(2) * int(query.name))
