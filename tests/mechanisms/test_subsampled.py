"""Mechanisms on a Poisson sample: figures known from other programs, other integrals, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

import mpmath
import numpy as np
import pytest
from independent.sampled_reference import Other, once, twice

from zcdp import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Plan,
    PureDP,
    RandomizedResponse,
    Subsampled,
    account,
    calibrate,
)
from zcdp.privacy.relation import Relation

TABLE = [  # rate, sigma, steps, delta, epsilon: certified by a prototype of another make, checked in 30 digits
    ("0.01", 1, 10**4, "1e-5", 6.18771238997154),
    ("0.01", 1, 10**4, "1e-6", 6.90738449504508),
    ("0.01", 1, 10**4, "1e-15", 11.7599785022419),
    ("0.5", 1, 100, "1e-5", 39.9750025557991),
    ("0.001", "0.6", 1000, "1e-6", 2.10666406703651),
    ("1e-4", 1, 1000, "1e-6", 0.0148937968317),
    ("0.02", "0.8", 10, "1e-6", 2.1466549177483),
    ("0.001", "0.8", 10**5, "1e-8", 3.51801573597365),
    ("32/7500", "1.1", 14100, "1e-5", 2.38512156295810),
]


def plan(rate: object, sigma: object, steps: int) -> Plan:
    return steps * Subsampled(Gaussian(sigma=sigma), rate=rate)


@pytest.mark.parametrize(("rate", "sigma", "steps", "delta", "epsilon"), TABLE)
def test_figures_of_the_table(rate: str, sigma: object, steps: int, delta: str, epsilon: float) -> None:
    lower, upper = plan(rate, sigma, steps).epsilon_bounds(delta=delta)
    assert upper == pytest.approx(epsilon, rel=2e-12 if epsilon < 1 else 1e-13)  # the digits that are given
    assert 0 <= upper - lower <= 1e-12 * upper


@pytest.mark.parametrize("order", [1001, 2500, "3000.5", 200_000])
def test_high_orders_have_a_bound(order: object) -> None:
    """A whole order is a binomial sum; any is below alpha/(2 sigma^2), and above it with a log q for the sample."""
    value, alpha = Subsampled(Gaussian(sigma=2), rate="0.01").rdp(order), float(order)
    assert alpha / 8 + alpha * log(0.01) / (alpha - 1) <= value <= alpha / 8
    if order == 1001:
        with mpmath.workdps(40):
            q = mpmath.mpf(1) / 100
            terms = (
                mpmath.binomial(1001, k) * (1 - q) ** (1001 - k) * q**k * mpmath.exp(mpmath.mpf(k * (k - 1)) / 8)
                for k in range(1002)
            )
            assert value == pytest.approx(float(mpmath.log(mpmath.fsum(terms)) / 1000), rel=1e-14)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta"),
    [("0.01", 1, 10**4, 1e-5), ("0.001", "0.8", 10**5, 1e-8), ("0.3", 20, 1000, 1e-7), ("0.5", 1, 100, 1e-5)],
)
def test_another_contour_agrees_in_both_orders(rate: str, sigma: object, steps: int, delta: float) -> None:
    q, mu = float(Fraction(rate)), 1 / float(Fraction(str(sigma)))
    ordered = plan(rate, sigma, steps).profile.directions
    for add, order in zip((False, True), ordered, strict=True):
        answer = order.epsilon(Fraction(delta))
        c = 0.8 * answer.s  # another line
        value, noise = Other([(q, mu, steps)], c, add=add).delta(answer.upper, 60 / c + 3 * answer.upper)
        assert value == pytest.approx(delta, rel=1e-9 + 100 * noise / delta)
        assert answer.upper - answer.lower <= 1e-12 * answer.upper


@pytest.mark.parametrize(("q", "sigma"), [(0.01, 1.0), (0.3, 2.0), (1e-4, 0.5), (0.9, 0.7)])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_one_use_is_the_closed_form(q: float, sigma: float, epsilon: float) -> None:
    lower, upper = plan(q, sigma, 1).delta_bounds(epsilon=epsilon)
    truth = max(once(q, 1 / sigma, epsilon), once(q, 1 / sigma, epsilon, add=True))
    assert lower <= upper <= lower * (1 + 1e-12)
    assert upper == pytest.approx(truth, rel=1e-7, abs=1e-13)


@pytest.mark.parametrize(("q", "sigma", "epsilon"), [(0.05, 1.0, 0.5), (0.3, 2.0, 0.7), (0.2, 0.8, 2.0)])
def test_two_uses_are_a_real_integral(q: float, sigma: float, epsilon: float) -> None:
    lower, upper = plan(q, sigma, 2).delta_bounds(epsilon=epsilon)
    truth = twice(q, 1 / sigma, epsilon)
    assert twice(q, 1 / sigma, epsilon, add=True) <= truth
    assert lower <= truth * (1 + 1e-8)
    assert upper >= truth * (1 - 1e-8)
    assert upper - lower <= 1e-6 * upper


def test_the_easier_order_can_be_the_worse_one() -> None:
    """Ten uses at epsilon 3.38610: sums over all counts of truths, for either order."""
    mechanism = 10 * Subsampled(PureDP(epsilon="0.5"), rate="0.8")
    q, keep = 0.8, exp(0.5) / (1 + exp(0.5))
    with_it, without = [keep * q + (1 - keep) * (1 - q), (1 - keep) * q + keep * (1 - q)], [1 - keep, keep]
    answers = []
    for p, r in ((with_it, without), (without, with_it)):
        terms = []
        for k in range(11):
            ways = float(mpmath.binomial(10, k))
            terms.append(ways * max(p[0] ** k * p[1] ** (10 - k) - exp(3.38610) * r[0] ** k * r[1] ** (10 - k), 0))
        answers.append(sum(terms))
    assert answers == pytest.approx([0.0021086, 0.0028434], abs=5e-8)
    lower, upper = mechanism.delta_bounds(epsilon="3.38610")
    assert lower <= answers[1] * (1 + 1e-12)
    assert answers[1] <= upper * (1 + 1e-12)
    assert upper - lower < 1e-12


def test_ten_thousand_uses_of_two_losses() -> None:
    """Both orders against binomial tails in extended precision."""
    plan, n = 10_000 * Subsampled(PureDP(epsilon=1), rate="0.01"), 10_000
    with mpmath.workdps(40):
        q, e = mpmath.mpf("0.01"), mpmath.e
        r = [1 / (1 + e), e / (1 + e)]
        p = [(1 - q) * r[0] + q * r[1], (1 - q) * r[1] + q * r[0]]
        for order, (one, other) in zip(plan.profile.directions, ((p, r), (r, p)), strict=True):
            epsilon = order.epsilon(Fraction(1, 10**6)).upper
            x = mpmath.exp(mpmath.mpf(epsilon))
            total = mpmath.mpf(0)
            for k in range(2000, 4000):  # the rest is below 10^-30
                ways = mpmath.binomial(n, k)
                total += ways * max(one[0] ** k * one[1] ** (n - k) - x * other[0] ** k * other[1] ** (n - k), 0)
            assert float(total) == pytest.approx(1e-6, rel=1e-12)


def test_rho_does_not_feel_the_rate() -> None:
    for rate in ("1e-9", "0.01", "0.999", 1):
        step = Subsampled(Gaussian(sigma="0.7"), rate=rate)
        assert step.rho_fraction == Gaussian(sigma="0.7").rho_fraction
        assert step.rho == Gaussian(sigma="0.7").rho
        assert step.is_tight
    step = Subsampled(Gaussian(sigma=1), rate="0.01")
    assert step.rho_order == inf
    assert (1000 * step).rho == 500
    assert step.rdp(400) / 400 == pytest.approx(0.5, rel=0.03)
    assert step.rdp(400) / 400 < 0.5


@pytest.mark.parametrize("order", [1, "1.001", 2, "7.3", 40])
@pytest.mark.parametrize(("q", "sigma"), [("0.01", 1), ("0.3", 2), ("0.9", "0.5")])
def test_the_curve_is_the_larger_order(order: object, q: str, sigma: object) -> None:
    alpha, rate, scale = (mpmath.mpf(str(x)) for x in (order, q, sigma))

    def mean(of: object) -> mpmath.mpf:
        def term(u: mpmath.mpf) -> mpmath.mpf:
            w = 1 - rate + rate * mpmath.exp(u / scale - 1 / (2 * scale**2))
            return mpmath.npdf(u) * of(w)

        return mpmath.quad(term, [-12, -6, -2, 0, 2, 6, 12, 12 + 2 * alpha / scale, 30 + 2 * alpha / scale])

    with mpmath.workdps(25):
        if order == 1:
            both = mean(lambda w: w * mpmath.log(w)), mean(lambda w: -mpmath.log(w))
        else:
            both = tuple(mpmath.log(mean(lambda w, s=s: w**s)) / (alpha - 1) for s in (alpha, 1 - alpha))
    value = Subsampled(Gaussian(sigma=sigma), rate=q).rdp(order)
    assert both[0] >= both[1]
    assert value == pytest.approx(float(both[0]), rel=1e-12)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta"),
    [
        ("0.04", "3.03", 550, 1e-5),  # where a grid of losses has the wrong mean
        ("0.001", "0.5", 10**4, 1e-5),  # epsilon above 10
        ("0.1", "0.6", 1000, 1e-6),
        ("0.0001", 20, 100, "0.01"),  # orders near 1
        ("0.25", 50, 3, 1e-9),
    ],
)
def test_settings_at_which_others_fail(rate: str, sigma: object, steps: int, delta: object) -> None:
    whole = plan(rate, sigma, steps)
    lower, upper = whole.epsilon_bounds(delta=delta)
    assert upper - lower <= 1e-9 * upper
    routes = whole.routes(delta=delta)
    assert routes["profile"] == upper <= routes["rdp"] <= routes["zcdp"]
    assert whole.delta_at(epsilon=upper) <= float(Fraction(delta)) * (1 + 1e-9)


def test_more_noise_and_lower_rates_cost_less() -> None:
    costs = [plan(rate, sigma, 200).epsilon_at(delta=1e-6) for rate, sigma in (("0.02", 1), ("0.01", 1), ("0.01", 2))]
    assert costs == sorted(costs, reverse=True)
    sample_of_a_sample = Subsampled(Subsampled(Gaussian(sigma=1), rate="0.1"), rate="0.1")
    assert (200 * sample_of_a_sample).epsilon_at(delta=1e-6) == costs[1]
    assert plan(1, 3, 7).epsilon_bounds(delta=1e-6) == (7 * Gaussian(sigma=3)).epsilon_bounds(delta=1e-6)


def test_schedules_and_mixtures() -> None:
    whole = Plan.sum_of(*(500 * Subsampled(Gaussian(sigma=Fraction(20 + n, 20)), rate="0.01") for n in range(4)))
    other = Other([(0.01, 20 / (20 + n), 500) for n in range(4)], 4.0)
    epsilon = whole.epsilon_at(delta=1e-6)
    value, _ = other.delta(epsilon, 60 / 4 + 10 * epsilon)
    assert value == pytest.approx(1e-6, rel=1e-10)
    alone = (500 * Subsampled(Gaussian(sigma=1), rate="0.01")).epsilon_bounds(delta=1e-6)
    mixed = (500 * Subsampled(Gaussian(sigma=1), rate="0.01") + 3 * Laplace(epsilon="0.1")).epsilon_bounds(delta=1e-6)
    assert alone[1] < mixed[0] <= mixed[1] < alone[1] + 0.3
    assert mixed[1] - mixed[0] < 1e-10


def test_calibration() -> None:
    sigma = calibrate(lambda s: 10_000 * Subsampled(Gaussian(sigma=s), rate="0.01"), epsilon=1, delta=1e-5)
    assert plan("0.01", sigma, 10_000).epsilon_at(delta=1e-5) <= 1
    assert plan("0.01", sigma * (1 - 1e-9), 10_000).epsilon_at(delta=1e-5) > 1


def test_text_and_json_keep_it() -> None:
    text = "500 * Subsampled(Gaussian(sigma=1), rate='0.01') + 3 * Laplace(epsilon='0.1')"
    whole = Plan.parse(text)
    assert repr(whole) == text
    assert Plan.from_json(whole.to_json()) == whole
    assert whole.relation is Relation.ADD_REMOVE
    facts = account(text, delta="1e-5", curve=False).to_dict()
    assert facts["total"]["epsilon"] == whole.epsilon_at(delta="1e-5")
    assert facts["total"]["relation"] == "add_remove"
    assert facts["queries"][0]["rho_order"] == "inf"


def test_a_few_steps_at_a_tiny_rate_are_answered() -> None:
    lower, upper = plan("1e-3", "0.5", 10).epsilon_bounds(delta=1e-6)
    assert 2.1004703 < lower <= upper < 2.1004705


def test_too_extreme_is_bounded_by_rho() -> None:
    whole = plan("1e-30", "0.01", 3)
    assert 0 < whole.epsilon_at(delta=1e-9) <= whole.routes(delta=1e-9)["zcdp"]


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (0, "rate (0) must be above 0 and at most 1"),
        ("1.5", "must be above 0 and at most 1"),
        (-1, "rate (-1) must be above 0"),
        ("1%", "rate"),
        (float("nan"), "rate"),
    ],
)
def test_bad_rates(rate: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        Subsampled(Gaussian(sigma=1), rate=rate)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_sampled() -> None:
    with pytest.raises(TypeError, match="must be a mechanism"):
        Subsampled("Gaussian", rate="0.1")
    with pytest.raises(ValueError, match="cannot be sampled: its losses are too many to list"):
        Subsampled(DiscreteGaussian(sigma=10_000), rate="0.1")
    with pytest.raises(ValueError, match="cannot be sampled: no law"):
        Subsampled(Gaussian(sigma=1) + Subsampled(Gaussian(sigma=1), rate="0.1"), rate="0.1")
    with pytest.raises(ValueError, match="drawn one by one"):
        Subsampled(Gaussian(sigma=1), rate="0.1").group(2)


def test_relations_do_not_mix() -> None:
    with pytest.raises(ValueError, match="add_remove neighbours and one for replace neighbours do not compose"):
        Subsampled(Gaussian(sigma=1), rate="0.1") + RandomizedResponse(epsilon=1, k=4)


@pytest.mark.parametrize(
    "base",
    [PureDP(epsilon=1), DiscreteLaplace(epsilon=1, sensitivity=3), RandomizedResponse(epsilon=1, k=5)],
    ids=lambda base: type(base).__name__,
)
def test_losses_of_bounded_bases(base: object) -> None:
    sampled = Subsampled(base, rate="0.1")
    assert sampled.pure_epsilon == pytest.approx(log(1 + 0.1 * (exp(1) - 1)), rel=1e-15)
    low, high = sampled.rho_bounds
    assert 0 < low <= high < base.rho
    assert high - low < 1e-9
    delta = sampled.delta_at(epsilon="0.05")
    assert delta == pytest.approx(0.1 * base.delta_at(epsilon=log(1 + (exp(0.05) - 1) / 0.1)), rel=1e-9)


@pytest.mark.parametrize("base", [Laplace(epsilon=1), Logistic(epsilon=1), DiscreteGaussian(sigma=2)], ids=repr)
def test_bases_with_densities_and_tails_are_enclosed(base: object) -> None:
    sampled = Subsampled(base, rate="0.1")
    assert not sampled.is_tight
    assert 0 <= sampled.rho_bounds[0] <= sampled.rho_bounds[1] <= base.rho
    lower, upper = sampled.delta_bounds(epsilon="0.05")
    truth = 0.1 * base.delta_at(epsilon=log(1 + (exp(0.05) - 1) / 0.1))
    assert lower <= truth * (1 + 1e-9)
    assert truth * (1 - 1e-9) <= upper
    assert upper <= (1 + 1e-9) * truth or isinstance(base, DiscreteGaussian)
    for order in (2, 5):
        assert sampled.rdp(order) <= base.rdp(order)


def test_sampled_laplace_noise() -> None:
    """The figure is of a quadrature in floats."""
    lower, upper = (10_000 * Subsampled(Laplace(epsilon=1), rate="0.01")).epsilon_bounds(delta=1e-6)
    assert lower == pytest.approx(4.50849216814, rel=2e-12)
    assert upper - lower < 1e-12


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("base", [Laplace(epsilon=1), Logistic(epsilon=1)], ids=repr)
def test_two_uses_of_sampled_densities_by_a_real_integral(base: object, add: bool) -> None:
    """The mean over the first loss, atoms and density, of the formula of the second use."""
    q, atoms = 0.3, isinstance(base, Laplace)
    places = (np.arange(4000) + 0.5) / 2000 - 1  # the midpoint rule
    weights = np.full(4000, 1 / 2000)
    scale = exp(-0.5) / 4 if atoms else 1 / (4 * np.sinh(0.5))
    base_loss = np.concatenate([places, [1.0, -1.0] if atoms else []])
    mass = np.concatenate([weights * scale * np.exp(-places / 2), [exp(-1) / 2, 0.5] if atoms else []])
    assert mass.sum() == pytest.approx(1, rel=1e-7)
    w = 1 - q + q * np.exp(base_loss)

    def once(epsilon: float) -> float:
        """E(1 - x e^{-L})_+ of one use in this order, by the masses."""
        loss, own = (-np.log(w), mass) if add else (np.log(w), mass * w)
        return float((own * np.maximum(-np.expm1(epsilon - loss), 0)).sum())

    loss, own = (-np.log(w), mass) if add else (np.log(w), mass * w)
    truth = float(sum(m * once(0.1 - x) for x, m in zip(loss.tolist(), own.tolist(), strict=True)))
    plan = 2 * Subsampled(base, rate="0.3")
    answer = plan.profile.directions[add].delta(Fraction(0.1), haste=8)
    assert truth * (1 - 1e-4) <= answer.lower <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-6) <= answer.upper <= truth * (1 + 1e-4)


def test_an_ordered_pair_stays_in_its_order() -> None:
    pair = LossPair(p=["1/2", "1/2"], q=["1/4", "3/4"], ordered=True)
    sampled = 2 * Subsampled(pair, rate="1/2")
    p, q = (Fraction(3, 8), Fraction(5, 8)), (Fraction(1, 4), Fraction(3, 4))
    x = Fraction(11, 10)
    for one, other in ((p, q), (q, p)):
        truth = sum(
            max(a * b - x * c * d, 0) for a, c in zip(one, other, strict=True) for b, d in zip(one, other, strict=True)
        )
        assert sampled.delta_at(epsilon=log(1.1)) >= float(truth) * (1 - 1e-12)
