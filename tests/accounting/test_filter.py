"""Filter and odometer: exact sums, no overspending, not even between threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import inf, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zcdp import BudgetExceeded, Filter, Laplace, Odometer, PureDP


@pytest.mark.parametrize("tenth", ["0.1", Fraction(1, 10)])
def test_ten_tenths_fit_exactly_and_nothing_more(tenth: object) -> None:
    f = Filter(rho=1)
    for _ in range(10):
        f.spend(rho=tenth)
    assert f.remaining == 0
    assert not f.would_fit(rho=5e-324)
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        f.spend(rho="1e-1000")
    assert f.spent == 1


def test_a_hair_above_the_budget_is_refused() -> None:
    f = Filter(rho=1)
    with pytest.raises(BudgetExceeded):
        f.spend(rho=1.0000000000000002)
    f.spend(rho=1.0)
    assert f.remaining == 0


def test_ten_float_tenths_exceed_one() -> None:
    """0.1 the float is more than a tenth: the filter sees it."""
    f = Filter(rho=1)
    for _ in range(9):
        f.spend(rho=0.1)
    assert not f.would_fit(rho=0.1)


@settings(deadline=None, max_examples=200)
@given(st.fractions(Fraction(1, 1000), 5), st.lists(st.fractions(Fraction(1, 10**6), 2), max_size=30))
def test_admits_all_that_fits_and_only_that(budget: Fraction, requests: list[Fraction]) -> None:
    f, total = Filter(rho=budget), Fraction(0)
    for request in requests:
        fits = total + request <= budget
        assert f.would_fit(rho=request) == fits
        if fits:
            f.spend(rho=request)
            total += request
        else:
            with pytest.raises(BudgetExceeded):
                f.spend(rho=request)
        assert f.spent == total
        assert f.remaining == budget - total >= 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-6, 3), min_size=1, max_size=20))
def test_mechanisms_are_charged_at_least_their_rho(epsilons: list[float]) -> None:
    f = Filter(rho=1000)
    for epsilon in epsilons:
        f.spend(Laplace(epsilon=epsilon))
    assert f.spent == sum(Fraction(Laplace(epsilon=e).rho) for e in epsilons)
    assert f.spent >= sum(Fraction(Laplace(epsilon=e).rho_bounds[0]) for e in epsilons)


def test_threads_do_not_overspend() -> None:
    f = Filter(rho=1)

    def spend(_: int) -> int:
        admitted = 0
        for _ in range(400):
            try:
                f.spend(rho="0.001")
                admitted += 1
            except BudgetExceeded:
                pass
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(spend, range(8)))
    assert admitted == 1000
    assert f.remaining == 0


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"rho \(0\) must be positive"):
        Filter(rho=0)
    f = Filter(rho=1)
    with pytest.raises(TypeError, match="give a mechanism, or rho"):
        f.spend()
    with pytest.raises(TypeError, match="give a mechanism, or rho"):
        f.spend(Laplace(epsilon=1), rho=1)
    with pytest.raises(TypeError, match=r"rho=0\.1"):
        f.spend(0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        f.spend(rho=-1)
    assert f.spent == 0


def test_an_odometer_adds_up() -> None:
    o = Odometer()
    assert (o.rho, o.epsilon_at(delta=1e-6), o.anytime_epsilon(delta=1e-6)) == (0.0, 0.0, 0.0)
    for _ in range(100):
        o.spend(Laplace(epsilon=0.1))
    o.spend(3 * PureDP(epsilon=0.2))
    assert o.plan == 100 * Laplace(epsilon=0.1) + 3 * PureDP(epsilon=0.2)
    assert o.rho == o.plan.rho
    assert o.epsilon_at(delta=1e-6) == o.plan.epsilon_at(delta=1e-6) < o.anytime_epsilon(delta=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-5, 2), min_size=2, max_size=8))
def test_odometers_only_rise(epsilons: list[float]) -> None:
    o, before = Odometer(), 0.0
    for epsilon in epsilons:
        o.spend(PureDP(epsilon=epsilon))
        assert before <= o.anytime_epsilon(delta=1e-6) < inf
        # never below the bound at the rho actually spent, without any union bound
        assert o.anytime_epsilon(delta=1e-6) > nextafter(o.rho + 2 * (o.rho * 13.8) ** 0.5, 0)
        before = o.anytime_epsilon(delta=1e-6) * (1 - 1e-12) if o.rho < 1 else 0.0
