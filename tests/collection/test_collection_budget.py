"""A budget as it is given: what holds within it and what is spent of it, from laws that are enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log, log2, sqrt
from typing import Any

import pytest

import zcdp
from zcdp import OptimizedUnaryEncoding, RandomizedResponse, UnaryEncoding, choose
from zcdp.collection.choose import compare, design_of, error_of
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


def test_the_error_of_some_clients_is_that_of_all_samples_of_them() -> None:
    """Six clients, two hold the value, each set of three answers as often: the variance of the estimate, enumerated."""
    p, q, held, chosen = Fraction(3, 4), Fraction(1, 4), [1, 1, 0, 0, 0, 0], 3
    mean, second, ways = Fraction(0), Fraction(0), 0
    for who in product((0, 1), repeat=6):
        if sum(who) != chosen:
            continue
        ways += 1
        holders = sum(one for one, asked in zip(held, who, strict=True) if asked)
        # mean and variance of the estimate, given who answers
        center = Fraction(holders, chosen)
        spread = (holders * p * (1 - p) + (chosen - holders) * q * (1 - q)) / (p - q) ** 2 / chosen**2
        mean, second = mean + center, second + spread + center**2
    variance = second / ways - (mean / ways) ** 2
    one = RESPONSE.standard_error(clients=1, frequency="1/3") ** 2
    assert error_of(one, 1 / 3, 0.5, 6) == pytest.approx(sqrt(variance), rel=1e-12)
    assert error_of(one, 1 / 3, 1.0, 6) == pytest.approx(sqrt(one / 6), rel=1e-12)


def test_designs_say_what_their_own_mechanisms_cost_and_take() -> None:
    """Bytes by how many different reports there are; errors of one round; what is spent by the whole plan."""
    k, rounds, clients = 40, 5, 10_000
    for given in ({"rho": "0.5"}, {"epsilon": 4}, {"epsilon": 4, "delta": "1e-6"}):
        found = choose(k=k, rounds=rounds, clients=clients, frequency="1/5", **given)
        assert len(found.designs) == 5
        errors = [one.standard_error for one in found.designs]
        assert errors == sorted(errors)
        assert found.best is found.designs[0]
        for one in (*found.designs, found.textbook):
            m: Any = one.mechanism
            own = m.standard_error(clients=1, frequency="1/5") ** 2
            assert one.standard_error == pytest.approx(error_of(own, 0.2, one.rounds / rounds, clients), rel=1e-9)
            assert one.variance == pytest.approx(one.standard_error**2, rel=1e-12)
            assert (one.k, one.of, one.clients, one.frequency) == (k, rounds, clients, 0.2)
            bits = {"SubsetSelection": lambda m=m: min(m.size * log2(k), k), "UnaryEncoding": lambda: k}
            told = bits.get(type(m).__name__.removeprefix("Optimized"), lambda m=m: log2(m._outputs(k)))()
            assert one.bytes == pytest.approx(told / 8, rel=1e-12)
            assert one.spent == budget(**given).spent(one.rounds * m)
        for one in found.designs:
            assert one.spent <= Fraction(given.get("rho", given.get("epsilon")))


def test_the_textbook_splits_evenly_and_takes_the_better_of_two_by_its_rule() -> None:
    """epsilon is divided by the rounds, rho = epsilon^2/2 likewise; k below 3 e^epsilon + 2 is for direct response."""
    few = choose(k=10, rounds=2, clients=100, epsilon=3).textbook  # 3 e^1.5 + 2 = 15.4
    assert few.mechanism == RandomizedResponse(epsilon="1.5", k=10)
    many = choose(k=16, rounds=2, clients=100, epsilon=3).textbook
    assert many.mechanism == OptimizedUnaryEncoding(epsilon="1.5")
    assert (few.rounds, many.rounds) == (2, 2)
    half = choose(k=40, rounds=4, clients=100, rho="1/2").textbook.mechanism  # each round rho 1/8, epsilon 1/2
    assert half == OptimizedUnaryEncoding(epsilon="0.5")


def test_a_design_that_was_used_is_told_by_its_own_error_bytes_and_cost() -> None:
    k, rounds, answered, clients = 20, 6, 3, 900
    for m, size in (
        (RandomizedResponse(epsilon=2, k=20), 1),
        (zcdp.RAPPOR(epsilon=1), 3),
        (UnaryEncoding("0.7", "0.2"), 3),
        (zcdp.SubsetSelection(epsilon=2, k=20, size=4), 4),
        (zcdp.LinearHashing(epsilon=1, g=17, k=20), 2),  # 17^3 = 4913 different reports
    ):
        made = design_of(m, k, rounds=rounds, answered=answered, clients=clients)
        own = m.standard_error(clients=1, frequency=Fraction(1, k)) ** 2
        assert made.standard_error == pytest.approx(error_of(own, 1 / k, answered / rounds, clients), rel=1e-9)
        assert made.bytes == size
        assert made.spent == (answered * m).rho
        assert (made.rounds, made.of, made.clients, made.k) == (answered, rounds, clients, k)
    beside = compare(made, rho=1)
    assert {(one.k, one.of, one.clients) for one in beside.designs} == {(k, rounds, clients)}
    assert all((one.rounds * one.mechanism).rho <= 1 for one in beside.designs)


def test_as_many_reports_as_are_planned_fit_the_budget() -> None:
    """Not one alone: a design for every round costs at most the whole in all of them."""
    for given in ({"rho": "0.2"}, {"epsilon": 2}):
        for one in choose(k=12, rounds=9, clients=1000, every_round=True, **given).designs:
            plan = 9 * one.mechanism
            assert one.rounds == 9
            assert (plan.rho if "rho" in given else plan.pure_epsilon) <= Fraction(given.get("rho", 2))


def test_the_table_of_designs_shows_what_they_are() -> None:
    found = choose(k=12, rounds=9, clients=1000, rho="0.2")
    lines = str(found).splitlines()
    assert len(lines) == len(found.designs) + 1
    for line, one in zip(lines, (*found.designs, found.textbook), strict=True):
        assert line.removeprefix("textbook: ").startswith(f"{one.mechanism!r}, {one.rounds} of 9 rounds ")
        assert line.endswith(f" standard error {one.standard_error:.3g}  {one.bytes:.3g} bytes")
    assert [line.startswith("textbook: ") for line in lines] == [False] * len(found.designs) + [True]
