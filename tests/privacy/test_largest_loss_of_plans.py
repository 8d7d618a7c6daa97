"""The largest loss of a plan counts every use, in the plan and in the budget of an account."""

from __future__ import annotations

from fractions import Fraction

from zcdp import Laplace, account
from zcdp.plans.plan_file import read_plan


def test_the_largest_loss_counts_every_use() -> None:
    assert (5 * Laplace(epsilon="1/2") + 2 * Laplace(epsilon=1)).largest_loss == Fraction(9, 2)


def test_a_budget_in_epsilon_is_exceeded_by_all_uses_together() -> None:
    """Five uses of epsilon 1 lose 5 with probability (1/2)^5, far above a delta of 1e-300: epsilon is 5, not 1."""
    text = '[budget]\nepsilon = 3\ndelta = 1e-300\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\ncount = 5\n'
    use = account(read_plan("plan.toml", text), curve=False).budget
    assert use is not None
    assert use.exceeded
    assert use.left <= -1.999
