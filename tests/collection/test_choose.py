"""Designs: the published map, budgets certified again and by an independent law, and the error as told."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, log2, sqrt
from typing import Any

import numpy as np
import pytest
from collection.published_designs import SETTINGS, least_error
from mpmath import mp, mpf

import zcdp
from zcdp import OptimizedUnaryEncoding, RandomizedResponse, SubsetSelection, UnaryEncoding, choose
from zcdp.collection.choose import compare, design_of, error_of
from zcdp.collection.collection_budget import Budget
from zcdp.numeric.balls import at_precision

PURSE = {"epsilon": 8, "delta": 1e-6}
NO_LIMITS: dict[str, Any] = {"most_bytes": None, "most_draws": None, "most_memory": None}
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
    budget = within(name, amount) | NO_LIMITS
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


RESPONSE = RandomizedResponse(epsilon="log(3)", k=2)  # 3/4 against 1/4
NONE: dict[str, Any] = {"rho": None, "epsilon": None, "delta": None}


def budget(**given: Any) -> Budget:
    return Budget.of(**(NONE | given))


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
        assert len({type(one.mechanism) for one in found.designs}) == 5
        errors = [one.standard_error for one in found.designs]
        assert errors == sorted(errors)
        assert found.best is found.designs[0]
        for one in (*found.designs, found.textbook):
            m: Any = one.mechanism
            own = m.standard_error(clients=1, frequency="1/5") ** 2
            assert one.standard_error == pytest.approx(error_of(own, 0.2, one.rounds / rounds, clients), rel=1e-9)
            assert one.variance == pytest.approx(one.standard_error**2, rel=1e-12)
            assert (one.k, one.of, one.clients, one.frequency) == (k, rounds, clients, 0.2)
            bytes_of = {"SubsetSelection": lambda m=m: m.size, "UnaryEncoding": lambda: k // 8}
            told = bytes_of.get(type(m).__name__.removeprefix("Optimized"), lambda m=m: ceil(log2(m._outputs(k)) / 8))()
            assert one.bytes == told
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


def test_the_table_of_designs_shows_what_they_are() -> None:
    found = choose(k=12, rounds=9, clients=1000, rho="0.2")
    lines = str(found).splitlines()
    assert len(lines) == len(found.designs) + 1
    for line, one in zip(lines, (*found.designs, found.textbook), strict=True):
        assert line.removeprefix("textbook: ").startswith(f"{one.mechanism!r}, {one.rounds} of 9 rounds ")
        assert line.endswith(f" standard error {one.standard_error:.3g}  {one.bytes} bytes")
    assert [line.startswith("textbook: ") for line in lines] == [False] * len(found.designs) + [True]


def test_a_design_is_within_the_limits_and_hardly_worse_than_without() -> None:
    """360000 values under rho = 0.1: 45 kB win by a hair, and 4 bytes are what a phone sends."""
    wide = {"k": 360_000, "rho": "0.1", "clients": 10**6}
    found, free = choose(**wide), choose(**wide, **NO_LIMITS)
    assert free.best.bytes > 40_000
    assert found.best.bytes == 4
    assert found.best.standard_error <= 1.005 * free.best.standard_error
    assert [one.mechanism for one in found.beyond] == [one.mechanism for one in free.designs[:2]]
    short = choose(**wide, most_bytes=3)
    assert {one.bytes for one in short.designs} == {3}
    assert short.best.standard_error <= 1.02 * free.best.standard_error


CHEAP = ("browser home pages", "words of a keyboard", "health types", "hashing paper", "Hadamard paper", "locations, 3")


@pytest.mark.parametrize(
    ("name", "given"),
    [pytest.param(*one, marks=() if one[0].startswith(CHEAP) else pytest.mark.deep) for one in SETTINGS],
)
def test_no_published_mechanism_that_fits_has_much_less_error(name: str, given: dict[str, Any]) -> None:
    best = choose(**given).best
    assert best.bytes <= given.get("most_bytes", 1024)
    assert 0.99 < best.standard_error / least_error(given)[0] <= 1.04, name


@pytest.mark.parametrize(("limit", "of"), [("most_bytes", "bytes"), ("most_draws", "draws"), ("most_memory", "memory")])
@pytest.mark.parametrize("most", [3, 40, 3000, 10**6])
def test_each_limit_holds(limit: str, of: str, most: int) -> None:
    if limit == "most_memory" and most < 8000:
        with pytest.raises(ValueError, match=r"no design fits the limits \("):
            choose(k=1000, epsilon=2, clients=10**5, **{limit: most})
        return
    found = choose(k=1000, epsilon=2, clients=10**5, **{limit: most})
    assert all(getattr(one.size, of) <= most for one in found.designs)
    assert all(getattr(one.size, of) > most for one in found.beyond)
    assert all(one.standard_error < found.best.standard_error for one in found.beyond)


def test_the_frontier_is_what_no_other_design_beats_in_both() -> None:
    found = choose(k=10**5, rounds=30, clients=10**6, **PURSE)
    for one in found.designs:
        better = [o for o in found.designs if o.bytes <= one.bytes and o.standard_error < one.standard_error]
        assert (one in found.frontier) == (not better)
    assert len({one.bytes for one in found.frontier}) == len(found.frontier) >= 4
    assert found.pick(2) is found.designs[1]
    with pytest.raises(ValueError, match=r"pick \(99\) must be at most"):
        found.pick(99)


def test_a_shuffled_design_fits_by_what_is_seen_and_has_less_error() -> None:
    """More epsilon for each report, and the budget as the shuffled plan itself has it, for reports that really come."""
    plain = choose(k=20, rounds=4, clients=40_000, epsilon=1, delta="1e-6")
    mixed = choose(k=20, rounds=4, clients=40_000, epsilon=1, delta="1e-6", shuffled=True)
    assert mixed.best.standard_error < plain.best.standard_error / 3
    best = mixed.best
    assert best.shuffled is not None
    assert best.shuffled <= 40_000 * best.rounds / 4
    assert repr(best.plan.parts[0][0]).startswith("Shuffled(")
    assert best.plan.delta_at(epsilon=1) <= 1e-6
    assert best.mechanism.pure_epsilon > 1
    with pytest.raises(ValueError, match="shuffled reports need a budget of epsilon with delta"):
        choose(k=20, clients=1000, rho=1, shuffled=True)
