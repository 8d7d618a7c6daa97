"""A client that answers in every round is charged for every round."""

from __future__ import annotations

import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan

TEXT = """[collection]
k = 4
rounds = 10
[[query]]
name = "a"
mechanism = "RandomizedResponse(epsilon=1, k=4)"
count = {count}
"""


def test_where_nothing_else_is_said_a_client_answers_in_all_rounds() -> None:
    with pytest.raises(PlanFileError, match="1 must be the 10 rounds that a client answers"):
        read_plan("plan.toml", TEXT.format(count=1))
    plan = read_plan("plan.toml", TEXT.format(count=10))
    assert plan.collection is not None
    assert plan.collection.answered == plan.entries[0].count == 10
