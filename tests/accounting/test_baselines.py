"""Savings are told against the best that others have, by their own formulas."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, log, sqrt, tanh

import pytest
from mpmath import mp, mpf

from zcdp import (
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    Laplace,
    Plan,
    PureDP,
    RandomizedResponse,
    ReportNoisyMax,
    Subsampled,
    account,
)
from zcdp.accounting.baselines import ADVANCED, ORDERS, PURE_SUM, RENYI, RHOS, SQUARES, elsewhere, usual, usual_total


@pytest.mark.parametrize("uses", [1, 5])
def test_usual_charges_count_uses_answers_and_cells(uses: int) -> None:
    """epsilon^2/2 of each of 20 cells, of each of two answers, so often; rho itself where nothing else is charged."""
    plan = 2 * Laplace(epsilon=20, sensitivity=L0LInf(20, 1)) + Laplace(epsilon="0.5")
    found = usual(plan, uses)
    assert found["epsilon^2/2"] == pytest.approx(uses * (2 * 20 * 0.5 + 0.125))
    assert found["epsilon tanh(epsilon/2)"] == pytest.approx(
        uses * float(40 * mp.tanh(0.5) + mp.tanh(0.25) / 2), rel=1e-12
    )
    charged = usual_total(uses * plan + 3 * Gaussian(sigma=2), Fraction(1, 10**6))
    assert charged["epsilon^2/2"]["rho"] == pytest.approx(uses * 20.125 + 3 / 8)
    assert charged["epsilon^2/2"]["epsilon"] > charged["epsilon tanh(epsilon/2)"]["epsilon"]
    assert usual(Gaussian(sigma=1)) == {"epsilon^2/2": None, "epsilon tanh(epsilon/2)": None}
    assert usual(ExponentialMechanism(epsilon=1), uses)["epsilon^2/8"] == uses / 8


def test_many_kinds_of_pure_noise_cost_at_most_and_at_small_deltas_just_the_sum_of_their_epsilons() -> None:
    """All losses are at their largest with a chance far above so small a delta."""
    plan = Plan.sum_of(*(Laplace(epsilon=f"0.0{n}") for n in (1, 2, 3)))
    made = account(plan, delta="1e-30", full=False, curve=False).total
    assert made.routes["pure"] == made.epsilon == made.pure_epsilon == pytest.approx(0.06, rel=1e-15)
    assert Fraction(made.epsilon) >= Fraction(6, 100)
    assert made.route == "pure"


@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_what_follows_from_rho_alone_holds_for_gaussian_noise_of_that_rho(delta: str) -> None:
    """Responses to many values, whose rho is far above their divergence of order 1: D(a)/a at a = 12 is below rho."""
    e, a = mp.exp(2), 12
    sizes = (300, 2000)
    least = mp.fsum(mp.log((e**a + e ** (1 - a) + k - 2) / (e + k - 1)) / (a - 1) / a for k in sizes)
    plan = Plan.sum_of(*(RandomizedResponse(epsilon=2, k=k) for k in sizes))
    made = account(plan, delta=delta, full=False, curve=False).total
    assert made.rho >= least
    mu, epsilon = mp.sqrt(2 * least), mpf(made.routes["zcdp"])
    assert mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu) <= mpf(delta)
    assert made.rho_bounds[0] <= mp.fsum(2 * (e - 1) / (e + k - 1) for k in sizes) * (1 + mpf(10) ** -12) <= made.rho


# Savings are told against the best that others have, by their own formulas.


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


def test_cells_are_charged_one_by_one_elsewhere_too() -> None:
    many = DiscreteLaplace(scale=10, sensitivity=L0LInf(20, 1))
    assert usual(many)["epsilon^2/2"] == pytest.approx(20 * 0.1**2 / 2)


def test_gumbel_noise_is_charged_as_bounded_range() -> None:
    assert list(usual(ReportNoisyMax(epsilon=1, noise="gumbel"))) == ["epsilon^2/8", "epsilon tanh(epsilon/2)"]
    assert usual(ReportNoisyMax(epsilon=1, noise="exponential"))["epsilon^2/2"] == 0.5
