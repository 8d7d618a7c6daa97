"""A budget as it is given: what holds within it and what is spent of it, from laws that are enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import pytest

from zcdp import RandomizedResponse, choose
from zcdp.collection.collection_budget import Budget

RESPONSE = RandomizedResponse(epsilon="log(3)", k=2)  # 3/4 against 1/4
NONE: dict[str, Any] = {"rho": None, "epsilon": None, "delta": None}


def budget(**given: Any) -> Budget:
    return Budget.of(**(NONE | given))


def delta_of(times: int, epsilon: float) -> float:
    """The sum over all answers of so many reports of what exceeds e^epsilon times the neighbour's."""
    total = 0.0
    for said in product((Fraction(3, 4), Fraction(1, 4)), repeat=times):
        p, q = 1.0, 1.0
        for one in said:
            p, q = p * float(one), q * float(1 - one)
        total += max(0.0, p - exp(epsilon) * q)
    return total


def test_a_delta_of_nothing_is_pure() -> None:
    for given in (None, 0, "0", 0.0):
        made = budget(epsilon=3, delta=given)
        assert (made.rho, made.epsilon, made.delta) == (None, 3, 0)
        assert made.spent(2 * RESPONSE) == pytest.approx(2 * log(3), rel=1e-12)
        assert made.holds(2 * RESPONSE)
        assert not made.holds(3 * RESPONSE)
    assert budget(rho="1/3") == Budget(rho=Fraction(1, 3))
    assert budget(epsilon=1, delta="1e-5") == Budget(epsilon=Fraction(1), delta=Fraction(1, 10**5))


@pytest.mark.parametrize("times", [1, 2, 5])
def test_what_is_spent_is_in_the_terms_of_the_budget(times: int) -> None:
    plan = times * RESPONSE
    kl = 0.5 * log(3)  # 3/4 log 3 - 1/4 log 3, and rho of two values is that divergence
    assert budget(rho=9).spent(plan) == pytest.approx(times * kl, rel=1e-9)
    assert budget(epsilon=9).spent(plan) == pytest.approx(times * log(3), rel=1e-12)
    for delta in (0.01, 0.2):
        spent = budget(epsilon=9, delta=delta).spent(plan)
        assert spent < times * log(3)
        assert delta_of(times, spent) <= delta * (1 + 1e-9)
        assert spent == 0 or delta_of(times, spent * (1 - 1e-6)) > delta * (1 - 1e-9)


@pytest.mark.parametrize("times", [1, 3])
def test_a_budget_holds_up_to_what_is_spent_and_not_beyond(times: int) -> None:
    plan = times * RESPONSE
    for given in ({"rho": 9}, {"epsilon": 9}, {"epsilon": 9, "delta": "0.05"}):
        name = "rho" if "rho" in given else "epsilon"
        spent = budget(**given).spent(plan)
        assert budget(**given | {name: spent * (1 + 1e-6)}).holds(plan)
        assert not budget(**given | {name: spent * (1 - 1e-6)}).holds(plan)


def test_as_many_reports_as_are_planned_fit_the_budget() -> None:
    """Not one alone: a design for every round costs at most the whole in all of them."""
    for given in ({"rho": "0.2"}, {"epsilon": 2}):
        for one in choose(k=12, rounds=9, clients=1000, every_round=True, **given).designs:
            plan = 9 * one.mechanism
            assert one.rounds == 9
            assert (plan.rho if "rho" in given else plan.pure_epsilon) <= Fraction(given.get("rho", 2))
