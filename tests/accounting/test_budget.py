"""Calibration and allocation: certified to fit, and nearly all of the budget is used."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import KINDS, Kind

from zcdp import (
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Plan,
    PureDP,
    Query,
    RandomizedResponse,
    allocate,
    calibrate,
)

BY_NAME = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.mechanism.__name__)


@BY_NAME
@pytest.mark.parametrize("count", [1, 40])
def test_epsilon_delta_budgets_are_met_to_nine_digits(kind: Kind, count: int) -> None:
    fixed = kind.fixed[0]
    found = calibrate(lambda e: count * kind.at(e, **fixed), epsilon=2, delta=1e-5)
    assert (count * kind.at(found, **fixed)).delta_at(epsilon=2) <= 1e-5
    assert (count * kind.at(found * (1 + 1e-9), **fixed)).delta_at(epsilon=2) > 1e-5


@BY_NAME
def test_rho_budgets_are_met_to_nine_digits(kind: Kind) -> None:
    fixed = kind.fixed[0]
    found = calibrate(lambda e: 10 * kind.at(e, **fixed), rho="0.3")
    assert (10 * kind.at(found, **fixed)).rho <= 0.3
    assert (10 * kind.at(found * (1 + 1e-9), **fixed)).rho > 0.3


def test_laplace_a_thousand_times() -> None:
    """The scale 133.24223 is from an independent computation."""
    scale = calibrate(lambda b: 1000 * Laplace(scale=b), epsilon=1, delta=1e-6)
    assert scale == pytest.approx(133.24223, abs=5e-6)
    assert (1000 * Laplace(scale=scale)).delta_at(epsilon=1) <= 1e-6
    assert 1 / calibrate(lambda e: 1000 * Laplace(epsilon=e), epsilon=1, delta=1e-6) == pytest.approx(scale, rel=1e-11)


def test_scales_where_the_renyi_curve_wins() -> None:
    """The proposal comes from the profile and is far off: the search walks down a long way."""

    def build(b: float) -> Plan:
        return 2 * Laplace(scale=b) + 400 * ExponentialMechanism(epsilon="0.05")

    found = calibrate(build, epsilon=4, delta=1e-6)
    assert build(found).delta_at(epsilon=4) <= 1e-6 < build(found * (1 - 1e-9)).delta_at(epsilon=4)


def test_gaussian_noise_against_its_closed_form() -> None:
    """delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) with mu = 10/sigma (Balle and Wang 2018)."""
    sigma = calibrate(lambda s: 100 * Gaussian(sigma=s), epsilon=1, delta=1e-6)
    mu, phi = 10 / sigma, NormalDist().cdf
    assert phi(mu / 2 - 1 / mu) - exp(1) * phi(-mu / 2 - 1 / mu) == pytest.approx(1e-6, rel=1e-6)


def test_where_the_cost_hardly_depends_on_the_parameter() -> None:
    """Beside a rho of nearly 100 the noise costs nothing that a float could show, over twenty powers of ten."""

    def build(s: float) -> Plan:
        return Gaussian(sigma=s) + RandomizedResponse(epsilon=100, k=3)

    assert build(calibrate(build, rho=100)).rho <= 100
    assert build(calibrate(build, epsilon=100, delta="1e-300")).delta_at(epsilon=100) <= 1e-300


def test_one_free_parameter_among_others() -> None:
    def build(e: float) -> Plan:
        return 10 * Laplace(epsilon=e) + RandomizedResponse(epsilon="0.5", k=10)

    found = calibrate(build, epsilon=3, delta=1e-6)
    assert build(found).delta_at(epsilon=3) <= 1e-6 < build(found * (1 + 1e-9)).delta_at(epsilon=3)
    assert calibrate(lambda e: 4 * PureDP(epsilon=e), epsilon=1, delta=0) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        ({}, TypeError, "give a budget"),
        ({"rho": 1, "epsilon": 1}, ValueError, "not both"),
        ({"epsilon": 1}, TypeError, "give a budget"),
        ({"rho": 0}, ValueError, "rho"),
        ({"epsilon": 1, "delta": 1}, ValueError, "delta"),
        ({"epsilon": -1, "delta": 0.1}, ValueError, "epsilon"),
    ],
)
def test_bad_budgets(budget: dict[str, float], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        calibrate(lambda e: Laplace(epsilon=e), **budget)


def test_what_cannot_be_calibrated() -> None:
    with pytest.raises(ValueError, match="does not depend"):
        calibrate(lambda _: Laplace(epsilon=1), rho=1)
    with pytest.raises(ValueError, match="no parameter fits"):
        calibrate(lambda e: Laplace(epsilon=e) + Laplace(epsilon=1), rho="0.1")
    with pytest.raises(ValueError, match="every parameter fits"):
        calibrate(lambda e: RandomizedResponse(epsilon=1, k=2 + round(e)), rho=10)


def variances(queries: list[Query], shares: list[Fraction]) -> float:
    made = [query.mechanism.calibrate(rho=share, **query.fixed) for query, share in zip(queries, shares, strict=True)]
    return sum(float(q.weight) * relative(m) ** 2 * q.count for q, m in zip(queries, made, strict=True))


def relative(m: Laplace | DiscreteLaplace) -> float:
    return float(m.variance) ** 0.5 / float(m.sensitivity)


QUERIES = [Query(Laplace), Query(Laplace, sensitivity=4, weight=3), Query(DiscreteLaplace, sensitivity=3, count=10)]


@pytest.mark.parametrize("rho", ["0.001", "0.1", 5])
def test_allocation_fits_and_no_exchange_is_better(rho: object) -> None:
    made = allocate(QUERIES, rho=rho, objective="total")
    spent = [Fraction(m.rho) for m in made]
    assert sum(s * q.count for s, q in zip(spent, QUERIES, strict=True)) <= Fraction(rho)
    assert sum(s * q.count for s, q in zip(spent, QUERIES, strict=True)) >= Fraction(rho) * (1 - Fraction(1, 10**7))
    best = variances(QUERIES, spent)
    for i, giver in enumerate(QUERIES):
        for j, taker in enumerate(QUERIES):
            if i != j:
                moved = list(spent)
                moved[i] -= spent[i] / 50
                moved[j] += spent[i] / 50 * giver.count / taker.count
                assert variances(QUERIES, moved) > best


def test_allocation_equalises() -> None:
    made = allocate(QUERIES, rho="0.1", objective="worst")
    errors = [relative(m) ** 2 * float(q.weight) for m, q in zip(made, QUERIES, strict=True)]
    assert max(errors) == pytest.approx(min(errors), rel=1e-8)
    assert sum(Fraction(m.rho) * q.count for m, q in zip(made, QUERIES, strict=True)) <= Fraction(1, 10)


@settings(deadline=None, max_examples=8)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=4))
def test_any_allocation_fits(rows: list[tuple[int, int, int]]) -> None:
    queries = [Query(Laplace, sensitivity=s, weight=w, count=n) for s, w, n in rows]
    for objective in ("total", "worst"):
        made = allocate(queries, rho=1, objective=objective)
        assert sum(Fraction(m.rho) * q.count for m, q in zip(made, queries, strict=True)) <= 1


def test_what_cannot_be_allocated() -> None:
    with pytest.raises(TypeError, match="has no noise that allocate could weigh"):
        Query(RandomizedResponse, k=4)
    with pytest.raises(ValueError, match="is what allocate finds"):
        Query(Laplace, epsilon=1)
    with pytest.raises(ValueError, match="no queries"):
        allocate([], rho=1)
    with pytest.raises(ValueError, match="objective"):
        allocate(QUERIES, rho=1, objective="best")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("m", "tail"),
    [(Laplace(epsilon="0.5", sensitivity=3), None), (DiscreteLaplace(epsilon="0.7", sensitivity=2), lambda x: 0.7 / 2)],
)
def test_variance_is_that_of_the_noise(m: Laplace | DiscreteLaplace, tail: Callable[[int], float] | None) -> None:
    from math import exp

    if tail is None:
        assert m.variance == 72  # 2 (3/0.5)^2
        return
    q = exp(-0.35)
    direct = sum(x * x * (1 - q) / (1 + q) * q ** abs(x) for x in range(-400, 401))
    assert m.variance == pytest.approx(direct, rel=1e-12)
