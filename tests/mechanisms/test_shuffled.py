"""Shuffled reports against every multiset of reports of few clients, and against other sums."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, exp, log, sqrt

import mpmath
import numpy as np
import pytest

from zcdp import (
    RAPPOR,
    Channel,
    Gaussian,
    Log,
    Mechanism,
    NotCertified,
    OptimizedUnaryEncoding,
    Plan,
    RandomizedResponse,
    Shuffled,
    Subsampled,
    account,
)
from zcdp.numeric.balls import lift
from zcdp.privacy.loss import shuffled_law as by_counts
from zcdp.privacy.relation import Relation

Law = dict[tuple[int, ...], Fraction]


def rows(k: int, ratio: int) -> list[list[Fraction]]:
    """k-ary randomized response."""
    return [[Fraction(ratio if out == value else 1, ratio + k - 1) for out in range(k)] for value in range(k)]


def multisets(values: tuple[int, ...], randomizer: list[list[Fraction]]) -> Law:
    """The law of the sorted reports."""
    found: Counter[tuple[int, ...]] = Counter()
    for reports in product(range(len(randomizer[0])), repeat=len(values)):
        mass = Fraction(1)
        for value, report in zip(values, reports, strict=True):
            mass *= randomizer[value][report]
        found[tuple(sorted(reports))] += mass
    return found


def worst(randomizer: list[list[Fraction]], clients: int, g: Fraction) -> Fraction:
    """The largest delta over all values of all clients."""
    best, inputs = Fraction(0), range(len(randomizer))
    for others in combinations_with_replacement(inputs, clients - 1):
        laws = [multisets((*others, one), randomizer) for one in inputs]
        for p, q in product(laws, repeat=2):
            best = max(best, sum((max(p[key] - g * q[key], Fraction(0)) for key in p), Fraction(0)))
    return best


CASES = [
    (RandomizedResponse(epsilon=Log(3), k=2), rows(2, 3)),
    (RandomizedResponse(epsilon=Log(3), k=3), rows(3, 3)),
    (RandomizedResponse(epsilon=Log(7), k=4), rows(4, 7)),
    (Channel([["3/4", "1/4"], ["2/5", "3/5"]]), [[Fraction(3, 4), Fraction(1, 4)], [Fraction(2, 5), Fraction(3, 5)]]),
]


@pytest.mark.parametrize("g", [Fraction(1), Fraction(8, 5), Fraction(21, 10)], ids=str)
@pytest.mark.parametrize("clients", [1, 2, 3, 4])
@pytest.mark.parametrize(("mechanism", "randomizer"), CASES, ids=["2", "3", "4", "channel"])
def test_every_input_of_few_clients(
    mechanism: Mechanism, randomizer: list[list[Fraction]], clients: int, g: Fraction
) -> None:
    truth = worst(randomizer, clients, g)
    bound = Shuffled(mechanism, clients=clients).delta_at(epsilon=log(g))
    assert float(truth) <= bound * (1 + 1e-12) + 1e-15
    if len(randomizer) == 2 and isinstance(mechanism, RandomizedResponse):
        assert bound <= float(truth) * (1 + 1e-9) + 1e-15 or clients > 1


def test_two_uses_of_few_clients() -> None:
    """Two rounds of the same three clients, in which one holds another value: every pair of multisets."""
    p, q = (multisets((2, 1, one), rows(3, 3)) for one in (0, 1))
    truth = sum(max(p[a] * p[b] - 2 * q[a] * q[b], 0) for a in p for b in p)
    assert float(truth) <= (2 * Shuffled(RandomizedResponse(epsilon=Log(3), k=3), clients=3)).delta_at(epsilon=log(2))


def test_a_formula_that_is_none() -> None:
    """Counts of two values alone: below the truth at 3 clients, k = 5, e^eps0 = 3, e^epsilon = 7/4."""
    truth = worst(rows(5, 3), 3, Fraction(7, 4))
    assert truth == Fraction(85, 1372)
    few = Shuffled(RandomizedResponse(epsilon=Log(3), k=5), clients=3)
    assert 0.05905 < float(truth) < few.delta_at(epsilon=log(1.75))


def exact(e: float, k: int, n: int, epsilon: float) -> float:
    """E(sum of Y)_+/n over all counts, in extended precision."""
    with mpmath.workdps(30):
        g, p = mpmath.exp(epsilon), 1 / (mpmath.mpf(e) + k - 1)
        total = mpmath.mpf(0)
        for a in range(1, n + 1):
            for b in range(n - a + 1):
                for m in range(n - a - b + 1) if k > 2 else (0,):
                    value = a * (e - g) + b * (1 - g * e) + m * (1 - g)
                    if value <= 0:
                        continue
                    ways = mpmath.binomial(n, a) * mpmath.binomial(n - a, b) * mpmath.binomial(n - a - b, m)
                    rest = n - a - b - m
                    total += ways * p ** (a + b) * ((k - 2) * p) ** m * (1 - k * p) ** rest * value
        return float(total / n)


@pytest.mark.parametrize(
    ("ratio", "k", "clients", "epsilon"), [(3000, 2, 160, 3), (3000, 4, 34, 1), (60, 4, 34, 2), (10**7, 3, 34, 15)]
)
def test_rare_reports_are_the_sum_itself(ratio: int, k: int, clients: int, epsilon: float) -> None:
    """Too many counts for all of them, of which those of few blind reports are nearly the whole."""
    truth = exact(ratio, k, clients, epsilon)
    bound = Shuffled(RandomizedResponse(epsilon=Log(ratio), k=k), clients=clients).delta_at(epsilon=epsilon)
    assert truth * (1 - 1e-14) <= bound <= truth * (1 + 1e-12)


@pytest.mark.parametrize("often", [Fraction(1, 2), Fraction(0), Fraction(-1, 20)], ids=str)
def test_the_ends_of_a_sum_over_rare_values(often: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where what is left out is much of it, and where the likeliest value counts."""
    n, law = 150, [(Fraction(-1), Fraction(1, 100)), (Fraction(2), Fraction(1, 50)), (often, Fraction(97, 100))]
    a, b = (grid.ravel() for grid in np.indices((n + 1, n + 1)))
    counts = [a, b, np.maximum(n - a - b, 0)]
    value = sum(float(place) * count for (place, _), count in zip(law, counts, strict=True))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1)))])
    weight = logs[n] + sum(log(mass) * count - logs[count] for (_, mass), count in zip(law, counts, strict=True))
    truth = float(np.sum((np.exp(weight) * value)[(a + b <= n) & (value > 0)]))
    balls = [(lift(place), lift(mass)) for place, mass in law]
    lower, upper = (float(end) for end in by_counts.mean_by_counts(balls, n))
    assert truth * (1 - 1e-11) <= upper <= lower * (1 + 1e-11) <= truth * (1 + 1e-10)
    for tiny in (-1, 1, 3):
        monkeypatch.setattr(by_counts, "RARE_DRAWS_LOG2", tiny)
        lower, upper = (float(end) for end in by_counts.mean_by_counts(balls, n))
        assert lower < truth < upper < 60 * truth


def test_no_more_than_one_report_costs() -> None:
    """Where neither the sum nor the line is good: still a probability, and at most that of a report alone."""
    alone = RandomizedResponse(epsilon=10, k=1000)
    for clients in (200, 1000, 10**4):
        assert Shuffled(alone, clients=clients).delta_at(epsilon=7) <= alone.delta_at(epsilon=7) * (1 + 1e-12)


@pytest.mark.parametrize(("k", "clients", "epsilon"), [(2, 160, 0.6), (4, 34, 0.3), (4, 34, 1.2)])
def test_the_contour_is_above_the_sum_and_close(k: int, clients: int, epsilon: float) -> None:
    truth = exact(4, k, clients, epsilon)
    bound = Shuffled(RandomizedResponse(epsilon=Log(4), k=k), clients=clients).delta_at(epsilon=epsilon)
    assert truth <= bound <= truth * 1.002


@pytest.mark.parametrize(
    ("epsilon", "k", "clients", "figure"),
    [
        (1, 16, 10**5, 0.0053),
        pytest.param(4, 1024, 10**5, 0.0240, marks=pytest.mark.deep),
        pytest.param(2, 10, 10**6, 0.0066, marks=pytest.mark.deep),
    ],
)
def test_figures_of_many_clients(epsilon: int, k: int, clients: int, figure: float) -> None:
    """By sums over the two counts and the visible blind reports, rounded to the digits that are shown."""
    found = Shuffled(RandomizedResponse(epsilon=epsilon, k=k), clients=clients).epsilon_at(delta=1e-6)
    assert found == pytest.approx(figure, abs=6e-5)


def test_any_randomizer_beside_the_closed_form() -> None:
    """The general pair, two digits below the closed form of Feldman, McMillan and Talwar (2022)."""
    clients, eps0, delta = 10_000, 2.0, 1e-6
    found = Shuffled(RAPPOR(epsilon=2), clients=clients).epsilon_at(delta=delta)
    assert found == pytest.approx(0.1144, abs=5e-5)
    spread = 8 * sqrt(exp(eps0) * log(4 / delta)) / sqrt(clients) + 8 * exp(eps0) / clients
    closed = np.log1p((exp(eps0) - 1) / (exp(eps0) + 1) * spread)
    assert 2 < closed / found < 6


def test_more_clients_cost_less() -> None:
    costs = [Shuffled(RandomizedResponse(epsilon=1, k=4), clients=n).epsilon_at(delta=1e-5) for n in (1, 20, 400)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] <= 1


def test_it_composes_and_is_written() -> None:
    text = "3 * Shuffled(RandomizedResponse(epsilon=1, k=4), clients=20) + RandomizedResponse(epsilon='0.1', k=4)"
    plan = Plan.parse(text)
    assert repr(plan) == text
    assert Plan.from_json(plan.to_json()) == plan
    alone = Shuffled(RandomizedResponse(epsilon=1, k=4), clients=20)
    assert alone.epsilon_at(delta=1e-5) < plan.epsilon_at(delta=1e-5) < 3 * alone.epsilon_at(delta=1e-5) + 0.2
    assert 0 < alone.rho < RandomizedResponse(epsilon=1, k=4).rho
    assert alone.pure_epsilon == 1
    assert not alone.is_tight
    lower, upper = alone.epsilon_bounds(delta=1e-5)
    assert 0 < lower < upper


def test_an_account_of_it() -> None:
    facts = account("Shuffled(RandomizedResponse(epsilon=1, k=4), clients=20)", delta="1e-5", curve=False).to_dict()
    assert facts["total"]["relation"] == "replace"
    assert 0 < facts["total"]["epsilon"] < 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shuffled(Gaussian(sigma=1), clients=4), "is no local randomizer"),
        (lambda: Shuffled(RandomizedResponse(epsilon=1, k=3), clients=0), "clients (0) must be at least 1"),
        (lambda: Shuffled("RAPPOR", clients=2), "must be a local randomizer"),
        (lambda: Shuffled(Channel([[1, 0], ["1/2", "1/2"]]), clients=3), "has unbounded losses"),
        (lambda: Shuffled(RAPPOR(epsilon=1), clients=3).group(2), "has no group bound"),
        (
            lambda: Shuffled(RAPPOR(epsilon=1), clients=3) + Subsampled(Gaussian(sigma=1), rate="0.1"),
            "do not compose",
        ),
    ],
)
def test_what_cannot_be_shuffled(make: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def attained(k: int, ratio: int, clients: int, g: Fraction) -> Fraction:
    """What the multisets have where all other clients hold one value: a third one, or the worse of two."""
    choices = [2] if k > 2 else [0, 1]
    best = Fraction(0)
    for other in choices:
        p, q = (multisets((*(other,) * (clients - 1), one), rows(k, ratio)) for one in (0, 1))
        best = max(best, sum(max(p[key] - g * q[key], Fraction(0)) for key in p))
    return best


@pytest.mark.parametrize(("k", "clients"), [(2, 1), (2, 5), (3, 4), (4, 4)])
@pytest.mark.parametrize("g", [Fraction(1), Fraction(8, 5)], ids=str)
def test_the_lower_end_is_one_of_the_inputs(k: int, clients: int, g: Fraction) -> None:
    truth = attained(k, 3, clients, g)
    lower, upper = Shuffled(RandomizedResponse(epsilon=Log(3), k=k), clients=clients).delta_bounds(epsilon=log(g))
    assert lower == pytest.approx(float(truth), rel=1e-12)
    assert float(truth) <= float(worst(rows(k, 3), clients, g)) <= upper * (1 + 1e-12)


@pytest.mark.parametrize(("k", "clients"), [(2, 300), (3, 60)])
def test_the_lower_end_of_more_clients(k: int, clients: int) -> None:
    """By the contour: below the sum over all counts, and close to it."""
    e, g = 3.0, 1.2
    p = 1 / (e + k - 1)
    if k == 2:
        laws = [[(e - g, p), (1 / e - g, e * p)], [(1 - g * e, p), (1 - g / e, e * p)]]
    else:
        laws = [[(e - g, p), (1 - g * e, p), ((1 - g) / e, e * p)]]
    sums = []
    for law in laws:
        total = 0.0
        for a in range(clients + 1):
            for b in range(clients - a + 1) if k > 2 else (clients - a,):
                counts = (a, b, clients - a - b)[: len(law)]
                ways = float(mpmath.binomial(clients, a) * mpmath.binomial(clients - a, b))
                mass = ways * np.prod([m**c for (_, m), c in zip(law, counts, strict=True)])
                total += mass * max(sum(y * c for (y, _), c in zip(law, counts, strict=True)), 0.0)
        sums.append(total / clients)
    lower, upper = Shuffled(RandomizedResponse(epsilon=Log(3), k=k), clients=clients).delta_bounds(epsilon=log(g))
    assert max(sums) * 0.97 <= lower <= max(sums) * (1 + 1e-12) <= upper


def test_the_enclosure_of_many_clients_is_narrow() -> None:
    lower, upper = Shuffled(RandomizedResponse(epsilon=2, k=16), clients=100_000).epsilon_bounds(delta=1e-6)
    assert 0.99 * upper < lower < upper


def test_figures_of_the_page_on_collection() -> None:
    """Beside the closed form of Feldman, McMillan and Talwar (2022), for 100000 clients and delta 1e-6."""
    lower, upper = Shuffled(RandomizedResponse(epsilon=2, k=2), clients=100_000).epsilon_bounds(delta=1e-6)
    spread = 8 * sqrt(exp(2) * log(4e6)) / sqrt(1e5) + 8 * exp(2) / 1e5
    closed = np.log1p((exp(2) - 1) / (exp(2) + 1) * spread)
    assert (closed, upper, lower) == pytest.approx((0.186, 0.0332, 0.0246), abs=3e-4)


@pytest.mark.parametrize(("clients", "delta"), [(1000, "1e-290"), (3000, "1e-295"), (3000, "1e-100"), (20, "1e-300")])
def test_lower_ends_next_to_the_largest_loss_are_attained(clients: int, delta: str) -> None:
    """Two values, all others hold the same: the hockey stick of both counts, to many digits.

    The law that stands for it in compositions has far more at the largest loss.
    """
    one = Shuffled(RandomizedResponse(epsilon="0.1", k=2), clients=clients)
    lower, upper = one.epsilon_bounds(delta=delta)
    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf("0.1")))
        others = [mpmath.binomial(clients - 1, c) * p**c * (1 - p) ** (clients - 1 - c) for c in range(clients)]

        def delta_at(epsilon: mpmath.mpf) -> mpmath.mpf:
            whole = mpmath.mpf(0)
            for c in range(clients + 1):
                true, false = others[c - 1] if c else mpmath.mpf(0), others[c] if c < clients else mpmath.mpf(0)
                mine, other = p * true + (1 - p) * false, (1 - p) * true + p * false
                whole += max(mine - mpmath.exp(epsilon) * other, 0)
            return whole

        assert not lower or delta_at(mpmath.mpf(lower)) >= mpmath.mpf(delta)
        assert upper >= mpmath.mpf("0.1") or delta_at(mpmath.mpf(upper)) <= mpmath.mpf(delta)
    assert one.epsilon_bounds(delta=0) == (pytest.approx(0.1), 0.1)


def both_ways(clients: int, k: int, ratio: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws of all multisets of reports, where one client holds one value or another, whatever the others hold."""
    found = []
    for others in combinations_with_replacement(range(k), clients - 1):
        laws = [multisets((*others, one), rows(k, ratio)) for one in range(k)]
        vectors = [np.array([float(law[key]) for key in laws[0]]) for law in laws]
        found += [(p, q) for n, p in enumerate(vectors) for m, q in enumerate(vectors) if n != m]
    return found


@pytest.mark.parametrize(("clients", "k", "ratio"), [(1, 2, 3), (1, 4, 9), (2, 2, 3), (3, 3, 5), (4, 2, 20)])
def test_curve_and_rho_are_not_below_those_of_any_input(clients: int, k: int, ratio: int) -> None:
    base = RandomizedResponse(epsilon=Log(ratio), k=k)
    m, pairs = Shuffled(base, clients=clients), both_ways(clients, k, ratio)

    def divergence(order: float) -> float:
        return max(log(float((p * (p / q) ** (order - 1)).sum())) / (order - 1) for p, q in pairs)

    steepest = max(divergence(1 + s) / (1 + s) for s in np.geomspace(1e-4, 100, 60))
    for order in (1.5, 2.0, 9.0):
        assert divergence(order) <= m.rdp(order) * (1 + 1e-9)
    lower, upper = m.rho_bounds
    assert lower <= steepest * (1 + 1e-3)
    assert steepest <= upper * (1 + 1e-9)
    assert upper == m.rho <= base.rho * (1 + 1e-12)  # a shuffled report costs no more than one with its sender
    assert m.pure_epsilon == pytest.approx(max(float(np.log(p / q).max()) for p, q in pairs), rel=1e-9)
    assert not m.is_tight
    assert m.relation is Relation.REPLACE


def test_tiny_losses_that_are_shuffled_are_answered_or_refused_in_words() -> None:
    for clients in (1, 2, 1000):
        with suppress(NotCertified):
            assert Shuffled(RandomizedResponse(epsilon="1e-12", k=3), clients=clients).rho < 1e-23
    with pytest.raises(ValueError, match=r"must be at most 10\^12"):
        Shuffled(RandomizedResponse(epsilon=1, k=3), clients="1e13")


# Shuffled reports of small losses, where the likeliest value of Y is the smallest one: not below the truth.


def counts(ones: int, clients: int, keep: Fraction) -> list[Fraction]:
    """The law of how many reports are 1 where so many clients hold 1: binary randomized response, exactly."""
    law = [Fraction(0)] * (clients + 1)
    for a in range(ones + 1):
        for b in range(clients - ones + 1):
            held = comb(ones, a) * keep**a * (1 - keep) ** (ones - a)
            other = comb(clients - ones, b) * (1 - keep) ** b * keep ** (clients - ones - b)
            law[a + b] += held * other
    return law


@pytest.mark.parametrize("clients", [2, 3, 5, 9])
@pytest.mark.parametrize(("ratio", "growth"), [("3/2", "11/10"), ("3/2", "5/4"), ("6/5", "21/20"), ("9/5", "6/5")])
def test_delta_is_not_below_that_of_any_inputs(clients: int, ratio: str, growth: str) -> None:
    e, g = Fraction(ratio), Fraction(growth)  # e^eps0 < 2: no report is likelier than not to be blank
    keep = e / (1 + e)
    mechanism = Shuffled(RandomizedResponse(epsilon=Log(e), k=2), clients=clients)
    from math import log, nextafter

    epsilon = nextafter(log(g), 0.0)  # hardly below log g, where delta is hardly larger
    found = mechanism.delta_at(epsilon=epsilon)
    for others in range(clients):
        p, q = counts(others + 1, clients, keep), counts(others, clients, keep)
        for one, two in ((p, q), (q, p)):
            true = sum((max(a - g * b, Fraction(0)) for a, b in zip(one, two, strict=True)), Fraction(0))
            assert found >= float(true) * (1 - 1e-12), (others, float(true))


# What shuffled randomized response attains is no lower end of another randomizer.


@pytest.mark.parametrize("kind", [RAPPOR, OptimizedUnaryEncoding])
def test_one_client_by_unary_encoding(kind: type) -> None:
    """One report alone: the total variation of two bits, well below tanh(epsilon/2) of randomized response."""
    p, q = (exp(0.5) / (1 + exp(0.5)), 1 / (1 + exp(0.5))) if kind is RAPPOR else (0.5, 1 / (1 + exp(1.0)))
    rows = [(p * (1 - q), q * (1 - p)), (q * (1 - p), p * (1 - q)), (p * q, q * p), ((1 - p) * (1 - q),) * 2]
    for at in (0.0, 0.25, 0.5):
        true = sum(max(a - exp(at) * b, 0.0) for a, b in rows)
        lower, upper = Shuffled(kind(epsilon=1), clients=1).delta_bounds(epsilon=at)
        assert lower <= true * (1 + 1e-12), at
        assert upper >= true * (1 - 1e-12), at


def test_shuffled_reports_are_those_of_the_local_randomizer_in_any_order() -> None:
    """Three clients, each order of three reports that tell the truth: every order is as likely."""
    m = Shuffled(RandomizedResponse(epsilon=60, k=3), clients=3)
    seen = Counter(tuple(m.release([0, 1, 2]).tolist()) for _ in range(6000))
    assert len(seen) == 6
    assert sum((n - 1000) ** 2 / 1000 for n in seen.values()) < 35  # 5 degrees of freedom: 1.5e-6


def test_shuffled_reports_are_estimated_as_the_local_randomizer_does_if_they_are_enough() -> None:
    local = RandomizedResponse(epsilon=2, k=4)
    m = Shuffled(local, clients=1000)
    reports = m.release(np.arange(1200) % 4)
    found = m.estimate(m.count(reports))
    assert found.frequencies.tolist() == local.estimate(local.count(reports)).frequencies.tolist()
    assert m.standard_error(clients=1200, frequency="1/4") == local.standard_error(clients=1200, frequency="1/4")
    for ask in (lambda: m.release(np.zeros(999, dtype=int)), lambda: m.estimate(m.count(reports[:999]))):
        with pytest.raises(ValueError, match=r"reports \(999\) must be at least clients \(1000\)"):
            ask()
    bits = Shuffled(OptimizedUnaryEncoding(epsilon=1), clients=10)
    assert bits.estimate(bits.count(bits.release(np.zeros(10, dtype=int), d=9), k=9)).frequencies.size == 9
