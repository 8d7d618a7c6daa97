"""Totals and usual charges: exact budgets, both ends, the curve and its end, from Gaussian noise whose law is known."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp import ExponentialMechanism, Gaussian, L0LInf, Laplace, Plan, RandomizedResponse, account
from zcdp.accounting.baselines import usual
from zcdp.accounting.plan_account import total_of
from zcdp.plans.plan_file import read_plan

SIGMAS = (2, 3, 6)
RHO = sum(Fraction(1, 2 * sigma**2) for sigma in SIGMAS)
PLAN = Plan.sum_of(*(Gaussian(sigma=sigma) for sigma in SIGMAS))


def exact_delta(epsilon: mpf) -> mpf:
    """Of answers with Gaussian noise together: that of one with mu^2 = 2 rho (Balle and Wang 2018)."""
    mu = mp.sqrt(2 * mpf(RHO.numerator) / RHO.denominator)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("delta", ["1e-4", "1e-8"])
@pytest.mark.parametrize("full", [True, False])
def test_a_curve_goes_from_no_epsilon_to_a_thousandth_of_delta(full: bool, delta: str) -> None:
    made = account(PLAN, delta=delta, full=full)
    points, last = made.curve, min(mpf(delta) / 1000, mpf(10) ** -9)
    assert points[0].epsilon == 0
    assert len(points) == 41
    with mp.workdps(40):
        for point in points:
            truth = exact_delta(mpf(point.epsilon))
            assert truth <= mpf(point.delta)
            if full:
                assert mpf(point.delta) <= truth * mpf("1.01")
        assert last / 2 <= mpf(points[-1].delta) <= last * (1 + mpf(10) ** -6)


@pytest.mark.parametrize("full", [True, False])
def test_the_truth_lies_between_the_ends(full: bool) -> None:
    made = account(PLAN, delta="1e-6", full=full, curve=False).total
    low, high = made.epsilon_bounds
    with mp.workdps(40):
        assert exact_delta(mpf(high)) <= mpf("1e-6") < exact_delta(mpf(low) - mpf(10) ** -12)
    assert made.rho_bounds[0] <= RHO <= made.rho_bounds[1] == made.rho
    assert made.rho == pytest.approx(float(RHO), rel=1e-14)
    assert made.epsilon == high == min(made.routes.values())
    assert made.routes[made.route] == high
    assert made.full == full


@pytest.mark.parametrize(
    ("epsilon", "exceeded"), [("0.29", True), ("0.3", False), ("0.299999999999999", True), ("0.31", False)]
)
def test_an_epsilon_budget_is_compared_with_the_exact_sum_of_losses(epsilon: str, exceeded: bool) -> None:
    """At a delta that buys nothing, three answers of epsilon 0.1 spend 0.3."""
    query = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=\'0.1\')"\ncount = 3\n'
    text = f'[budget]\nepsilon = "{epsilon}"\ndelta = "1e-30"\n{query}'
    budget = account(read_plan("plan.toml", text), curve=False).budget
    assert budget is not None
    assert budget.exceeded == exceeded
    assert budget.spent == pytest.approx(0.3 / float(epsilon), rel=1e-12)
    assert Fraction(budget.left) <= Fraction(epsilon) - Fraction(3, 10) <= Fraction(budget.left) + Fraction(1, 10**15)


def test_exact_totals_are_those_of_the_parts_with_their_counts() -> None:
    whole = total_of(4 * Gaussian(sigma=3) + 3 * Gaussian(rho="0.1"), Fraction(1, 10**6))
    assert whole.exact_rho == Fraction(4, 18) + Fraction(3, 10)
    pure = total_of(4 * Laplace(epsilon="0.1") + 3 * Laplace(epsilon="0.2"), Fraction(1, 10**40))
    assert pure.exact_epsilon == 1


@pytest.mark.parametrize("uses", [1, 5])
def test_usual_charges_count_uses_answers_and_cells(uses: int) -> None:
    """epsilon^2/2 of each of 20 cells, of each of two answers, so often; rho itself where nothing else is charged."""
    plan = 2 * Laplace(epsilon=20, sensitivity=L0LInf(20, 1)) + Laplace(epsilon="0.5")
    found = usual(plan, uses)
    assert found["epsilon^2/2"] == pytest.approx(uses * (2 * 20 * 0.5 + 0.125))
    assert found["epsilon tanh(epsilon/2)"] == pytest.approx(
        uses * float(40 * mp.tanh(0.5) + mp.tanh(0.25) / 2), rel=1e-12
    )
    charged = total_of(uses * plan + 3 * Gaussian(sigma=2), Fraction(1, 10**6)).usual(Fraction(1, 10**6))
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
