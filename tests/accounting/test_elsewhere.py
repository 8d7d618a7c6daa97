"""Savings are told against the best that others have, by their own formulas."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log, sqrt, tanh

import pytest

from zcdp import (
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    Laplace,
    Plan,
    PureDP,
    RandomizedResponse,
    Subsampled,
    account,
)
from zcdp.accounting.baselines import ADVANCED, ORDERS, PURE_SUM, RENYI, RHOS, SQUARES, elsewhere

DELTA = Fraction(1, 10**6)


def test_one_laplace_answer_saves_nothing() -> None:
    total = account("Laplace(epsilon=1)", delta="1e-6", curve=False).total
    assert total.elsewhere[0].name == PURE_SUM
    assert total.elsewhere[0].epsilon == 1
    assert 0 <= total.saved_epsilon < 1e-5


def test_gaussian_noise_has_no_epsilon_to_square() -> None:
    total = account("3 * Gaussian(sigma=10)", delta="1e-6", curve=False).total
    assert not total.usual
    assert total.saved_rho is None
    assert {one.name for one in total.elsewhere} == {RHOS, RENYI}


def test_advanced_composition_by_hand() -> None:
    """k eps tanh(eps/2) + eps sqrt(2 k log(1/delta))."""
    found = elsewhere(400 * Laplace(epsilon="0.02"), DELTA)
    assert found[ADVANCED] == pytest.approx(400 * 0.02 * tanh(0.01) + 0.02 * sqrt(800 * log(1e6)), rel=1e-12)
    assert found[PURE_SUM] == pytest.approx(8)


@pytest.mark.parametrize("n", [1, 50, 5000])
def test_no_route_is_below_the_exact_profile(n: int) -> None:
    """They are sound, so the certified epsilon is never above them."""
    for m in (
        Laplace(epsilon="0.1"),
        PureDP(epsilon="0.1"),
        RandomizedResponse(epsilon="0.1", k=7),
        Gaussian(sigma=50),
    ):
        plan = n * m
        assert min(elsewhere(plan, DELTA).values()) >= plan.epsilon_at(delta=DELTA) * (1 - 1e-12)


def test_renyi_curves_of_pure_dp_are_those_of_binary_randomized_response() -> None:
    """Exact delta of n binary responses by the binomial sum: the route must be above it, and not by far."""
    n, epsilon = 200, 0.1
    found = elsewhere(n * PureDP(epsilon="0.1"), DELTA)[RENYI]
    p = 1 / (1 + exp(-epsilon))

    def delta(x: float) -> float:
        pairs = ((comb(n, k) * p**k * (1 - p) ** (n - k), (2 * k - n) * epsilon) for k in range(n + 1))
        return sum(mass * max(1 - exp(x - loss), 0.0) for mass, loss in pairs)

    assert delta(found) <= 1e-6 <= delta(found * 0.85)


def test_bounded_range_is_known_by_its_eighth_and_vectors_by_coordinates() -> None:
    found = elsewhere(100 * ExponentialMechanism(epsilon="0.2"), DELTA)
    assert found[SQUARES] == pytest.approx(elsewhere(Plan.sum_of(Gaussian(rho="0.5")), DELTA)[RHOS], rel=1e-9)
    wide = elsewhere(Plan.sum_of(Laplace(scale=10, sensitivity=L0LInf(20, 1))), DELTA)
    flat = elsewhere(20 * Laplace(epsilon="0.1"), DELTA)
    assert wide[RENYI] == pytest.approx(flat[RENYI], rel=1e-9)
    assert wide[ADVANCED] == pytest.approx(flat[ADVANCED], rel=1e-9)


def test_sampled_noise_is_compared_with_its_own_curve() -> None:
    found = elsewhere(1000 * Subsampled(Gaussian(sigma=1), rate="0.01"), Fraction(1, 10**5))
    assert found[RENYI] < 0.6 * found[RHOS]


@pytest.mark.parametrize(
    ("text", "rho"), [("7 * Gaussian(sigma=4)", 7 / 32), ("30 * ExponentialMechanism(epsilon='0.4')", 30 * 0.16 / 8)]
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_a_divergence_that_is_the_order_times_rho_is_converted_at_the_best_order_of_the_grid(
    text: str, rho: float, delta: float
) -> None:
    """At order a: the least epsilon with e^{(a-1)(a rho - epsilon)} (1 - 1/a)^{a-1}/a = delta, solved by bisection."""

    def solved(a: float) -> float:
        low, high = 0.0, 1000.0
        for _ in range(80):
            middle = (low + high) / 2
            too_likely = (a - 1) * (a * rho - middle + log(1 - 1 / a)) - log(a) > log(delta)
            low, high = (middle, high) if too_likely else (low, middle)
        return high

    found = elsewhere(Plan.parse(text), Fraction(str(delta)))
    assert found[RENYI] == pytest.approx(min(map(solved, ORDERS)), rel=1e-9)


def test_advanced_composition_and_sums_count_uses_of_every_kind() -> None:
    """Kairouz, Oh and Viswanath: the mean losses, and sqrt(2 log(1/delta)) times the root of the squares."""
    parts = [(3, 0.5), (8, 0.25)]
    found = elsewhere(Plan.parse("3 * Laplace(epsilon='0.5') + 8 * RAPPOR(epsilon='0.25')"), Fraction(1, 10**6))
    assert found[PURE_SUM] == pytest.approx(3.5)
    mean = sum(n * e * (exp(e) - 1) / (exp(e) + 1) for n, e in parts)
    spread = sqrt(2 * log(10**6) * sum(n * e * e for n, e in parts))
    assert found[ADVANCED] == pytest.approx(mean + spread, rel=1e-12)
