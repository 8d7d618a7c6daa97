"""Families of randomizers, each tuned: the error over rounds, and budgets held by what is certified."""

from __future__ import annotations

from typing import Any

import pytest

from zcdp import RandomizedResponse, choose
from zcdp.collection.collection_budget import Budget

PURSE = {"epsilon": 8, "delta": 1e-6}
ROUNDS, CLIENTS = 30, 10**9


def test_the_error_over_rounds_is_what_the_designs_have() -> None:
    """At all rounds, each kind as it is found when all are compulsory; at its best rounds, the design itself."""
    free = choose(k=16, rounds=6, clients=CLIENTS, **PURSE)
    every = choose(k=16, rounds=6, clients=CLIENTS, every_round=True, **PURSE)
    for one in free.designs:
        seen = dict(free.over_rounds[type(one.mechanism).__name__])
        assert seen[one.rounds] == pytest.approx(one.standard_error, rel=1e-4)
        assert seen[6] == pytest.approx(every.of(type(one.mechanism)).standard_error, rel=1e-4)
        assert min(seen.values()) == seen[one.rounds]


def test_a_budget_is_held_by_what_is_certified() -> None:
    """Whatever a search in floats proposes."""
    response = RandomizedResponse(epsilon="0.5", k=4)
    for budget, fits, too_many in (
        (Budget.of(rho=1, epsilon=None, delta=None), 5, 40),
        (Budget.of(rho=None, epsilon=3, delta=None), 6, 7),
        (Budget.of(rho=None, epsilon=3, delta="1e-6"), 6, 60),
    ):
        assert budget.holds(fits * response)
        assert not budget.holds(too_many * response)


NONE: dict[str, Any] = {"rho": None, "epsilon": None, "delta": None}


def budget(**given: Any) -> Budget:
    return Budget.of(**(NONE | given))
