"""Designs: the published map, budgets certified again and by an independent law, and the error as told."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

import zcdp
from zcdp import RandomizedResponse, SubsetSelection, UnaryEncoding, choose
from zcdp.collection.collection_budget import Budget
from zcdp.numeric.balls import at_precision

PURSE = {"epsilon": 8, "delta": 1e-6}
ROUNDS, CLIENTS = 30, 10**9


def within(name: str, amount: Any) -> dict[str, Any]:
    return {"rho": amount} if name == "rho" else {"epsilon": amount, "delta": "1e-6"}


# total, k: the kind that wins where every round is answered, what the textbook's variance is of its, and by how much
# answering few rounds divides that again
MAP = [
    ("epsilon", 1, 4, SubsetSelection, 3.6, 12),
    ("epsilon", 1, 64, SubsetSelection, 3.6, 9),
    ("epsilon", 1, 1024, SubsetSelection, 3.55, 9),
    ("epsilon", 8, 4, RandomizedResponse, 2.4, 5),
    ("epsilon", 8, 64, SubsetSelection, 2.6, 45),
    ("epsilon", 8, 1024, SubsetSelection, 2.6, 411),
    ("epsilon", 40, 4, RandomizedResponse, 1.2, 1.7),
    ("epsilon", 40, 64, UnaryEncoding, 3.45, 7),
    ("epsilon", 40, 1024, UnaryEncoding, 17, 13),
    ("rho", "0.1", 4, RandomizedResponse, 2, 1.1),
    ("rho", "0.1", 64, SubsetSelection, 2.1, 1.28),
    ("rho", "0.1", 1024, SubsetSelection, 2.1, 1.28),
    ("rho", 10, 4, RandomizedResponse, 1.8, 1.03),
    ("rho", 10, 64, SubsetSelection, 3.7, 5),
    ("rho", 10, 1024, SubsetSelection, 3.65, 52),
]
LARGE = [
    ("epsilon", 1, 10**5, SubsetSelection, 3.55, 9),
    ("epsilon", 8, 10**5, UnaryEncoding, 7.8, 179),
    ("epsilon", 40, 10**5, UnaryEncoding, 417, 37),
    ("rho", "0.1", 10**5, SubsetSelection, 2.1, 1.28),
    ("rho", 10, 10**5, SubsetSelection, 3.65, 3200),
]
CELLS = [*MAP, *(pytest.param(*cell, marks=pytest.mark.deep) for cell in LARGE)]


@pytest.mark.parametrize(("name", "amount", "k", "kind", "gain", "fewer"), CELLS)
def test_the_map_of_designs(name: str, amount: Any, k: int, kind: type, gain: float, fewer: float) -> None:
    budget = within(name, amount)
    every = choose(k=k, rounds=ROUNDS, clients=CLIENTS, every_round=True, **budget)
    assert every.of(kind).variance <= 1.02 * every.best.variance
    assert every.textbook.variance / every.best.variance == pytest.approx(gain, rel=0.03)
    free = choose(k=k, rounds=ROUNDS, clients=CLIENTS, **budget)
    assert every.best.variance / free.best.variance > 0.975 * fewer
    for design in (*every.designs[:2], *free.designs[:2]):
        _certify(design, budget)


def _certify(design: zcdp.Design, budget: dict[str, Any]) -> None:
    """By the library, and by the law of the losses as the support probabilities give it, without its kappa."""
    if "rho" in budget:
        assert design.plan.rho <= Fraction(budget["rho"])
    else:
        assert design.plan.delta_at(epsilon=budget["epsilon"]) <= Fraction(budget["delta"])
        assert _delta(design, budget["epsilon"]) <= 1e-6 * (1 + 1e-9)
    assert design.spent > 0.999 * float(budget.get("rho", budget.get("epsilon")))


def _delta(design: zcdp.Design, epsilon: int) -> Any:
    """Two values: e^epsilon = (p-b)/(q-b), and the reports that support one of them only tell them apart."""
    mp.dps = 60
    balls = at_precision(200, design.mechanism.support.balls)
    p, q, b = (mpf(at_precision(200, lambda part=part: part.mid().str(50, radius=False))) for part in balls)
    law = [q - b, 1 - p - q + 2 * b, p - b]
    loss = mp.log((p - b) / (q - b))
    total = [mpf(1)]
    for _ in range(design.rounds):
        grown = [mpf(0)] * (len(total) + 2)
        for place, mass in enumerate(total):
            for step in range(3):
                grown[place + step] += mass * law[step]
        total = grown
    losses = [(place - design.rounds) * loss for place in range(len(total))]
    return sum(m * (1 - mp.exp(epsilon - one)) for m, one in zip(total, losses, strict=True) if one > epsilon)


def test_the_error_over_rounds_is_what_the_designs_have() -> None:
    """At all rounds, each kind as it is found when all are compulsory; at its best rounds, the design itself."""
    free = choose(k=16, rounds=6, clients=CLIENTS, **PURSE)
    every = choose(k=16, rounds=6, clients=CLIENTS, every_round=True, **PURSE)
    for one in free.designs:
        seen = dict(free.over_rounds[type(one.mechanism).__name__])
        assert seen[one.rounds] == pytest.approx(one.standard_error, rel=1e-4)
        assert seen[6] == pytest.approx(every.of(type(one.mechanism)).standard_error, rel=1e-4)
        assert min(seen.values()) == seen[one.rounds]


def test_the_headline() -> None:
    """A twentieth of the textbook's error, at the same total budget."""
    free = choose(k=256, rounds=30, clients=10**6, **PURSE)
    assert isinstance(free.best.mechanism, RandomizedResponse)
    assert free.best.rounds == 1
    assert free.best.standard_error <= 3.8e-4
    every = choose(k=256, rounds=30, clients=10**6, every_round=True, **PURSE)
    assert {one.rounds for one in every.designs} == {30}
    assert every.best.standard_error <= 4.7e-3
    assert every.textbook.standard_error == pytest.approx(7.5e-3, rel=0.01)
    assert str(free).splitlines()[-1].startswith("textbook: OptimizedUnaryEncoding")


def test_a_design_is_an_ordinary_plan() -> None:
    best = choose(k=20, rounds=7, epsilon=2, clients=1000).best
    assert best.plan.pure_epsilon <= 2
    assert zcdp.Plan.parse(repr(best.plan)).pure_epsilon == best.plan.pure_epsilon


def test_the_error_of_a_sample_of_clients_is_as_told() -> None:
    """One of three rounds: the standard deviation over 4000 collections, known to 1.1 per cent, is within 5."""
    n, k = 60, 3
    values = np.repeat([0, 1, 2], [10, 20, 30])
    design = choose(k=k, rounds=3, epsilon=2, clients=n, frequency="1/6").of(RandomizedResponse)
    assert design.rounds < 3
    m, answers, rng = design.mechanism, n * design.rounds // 3, np.random.default_rng(3)
    samples = np.concatenate([rng.permutation(values)[:answers] for _ in range(4000)])
    reports = m.release(samples).reshape(4000, answers)
    found = [m.estimate(m.count(one)).frequencies[0] for one in reports]
    assert np.std(found) == pytest.approx(design.standard_error, rel=0.05)
    assert np.mean(found) == pytest.approx(1 / 6, abs=5 * design.standard_error / 4000**0.5)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "give a budget: rho, or epsilon with delta (without: pure DP)"),
        ({"rho": 1, "delta": 1e-6}, "give a budget: rho, or epsilon with delta (without: pure DP)"),
        ({"rho": 0}, "rho (0) must be positive"),
        ({"epsilon": 1, "delta": 2}, "delta (2) must lie strictly between 0 and 1"),
        ({"rho": 1, "k": 1}, "k (1) must be at least 2"),
        ({"rho": 1, "rounds": 0}, "rounds (0) must be at least 1"),
        ({"rho": 1, "rounds": 20_000}, "rounds (20000) must be at most 10000"),
        ({"rho": 1, "clients": 1}, "clients (1) must be at least 2"),
        ({"rho": 1, "frequency": 2}, "frequency (2) must lie between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        choose(**{"k": 4, "clients": 100, **options})
    assert str(caught.value) == error


def test_a_kind_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no design has a Laplace, only"):
        choose(k=4, rho=1, clients=100).of(zcdp.Laplace)


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
