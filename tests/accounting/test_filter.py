"""Filter and odometer: exact sums, no overspending, not even between threads."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from math import inf
from random import Random
from time import sleep
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from zcdp import BudgetExceeded, Channel, Filter, Gaussian, Laplace, Odometer, PureDP, Subsampled


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
    assert not f.would_fit(rho="1e-4000")  # one unit of the sum, the least there is
    with pytest.raises(BudgetExceeded):
        f.spend(rho="1e-4000")


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
@given(st.decimals("0.001", 5, places=40), st.lists(st.decimals("0.000001", 2, places=60), min_size=1, max_size=30))
def test_admits_all_that_fits_and_only_that(budget: Decimal, requests: list[Decimal]) -> None:
    f, total = Filter(rho=budget), Fraction(0)
    for request in requests:
        fits = total + Fraction(request) <= Fraction(budget)
        assert f.would_fit(rho=request) == fits
        if fits:
            f.spend(rho=request)
            total += Fraction(request)
        else:
            with pytest.raises(BudgetExceeded):
                f.spend(rho=request)
        assert f.spent == total
        assert f.remaining == Fraction(budget) - total >= 0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fractions(Fraction(1, 10**6), 2), min_size=1, max_size=30))
def test_any_fraction_is_charged_from_above_by_less_than_a_hair(requests: list[Fraction]) -> None:
    f = Filter(rho=100)
    for request in requests:
        f.spend(rho=request)
    assert 0 <= f.spent - sum(requests) < len(requests) * Fraction(1, 10**1000)


def test_sums_of_random_denominators_stay_short() -> None:
    """The exact sum of these has a denominator of a million digits, and to add them takes minutes."""
    f, o, draw = Filter(rho=1000), Odometer(), Random(7)
    costs = [Fraction(draw.getrandbits(13000) | 1, draw.getrandbits(13000) | 1 << 12999) for _ in range(200)]
    for cost in costs:
        f.spend(rho=cost)
        o.spend(Gaussian(rho=cost))
    assert f.spent.denominator.bit_length() < 4000
    assert abs(float(f.spent) - sum(map(float, costs))) < 1e-9
    assert o.anytime_epsilon(delta=1e-6) < inf


@pytest.mark.parametrize("budget", ["1/3", "1/97", "0.3", Fraction(7, 10**9 + 7)])
def test_a_budget_fits_itself(budget: object) -> None:
    f = Filter(rho=budget)
    f.spend(rho=budget)
    assert f.remaining == 0
    assert not f.would_fit(rho="1e-4000")


def test_a_plan_costs_no_more_than_its_parts() -> None:
    assert Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1"))
    assert not Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1") + Gaussian(rho="1e-50"))
    f = Filter(rho="0.5")
    f.spend(9 * Gaussian(sigma=3))
    assert f.remaining == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-6, 3), min_size=1, max_size=20))
def test_mechanisms_are_charged_at_least_their_rho(epsilons: list[float]) -> None:
    """rho of Laplace noise is e - 1 + exp(-e), here by its series in rationals."""
    f, truth = Filter(rho=1000), Fraction(0)
    for epsilon in epsilons:
        f.spend(Laplace(epsilon=epsilon))
        e, term = Fraction(epsilon), Fraction(1)
        for n in range(1, 60):
            term = -term * e / n
            truth += term if n > 1 else 0
    assert truth <= f.spent <= truth * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("make", [lambda: Filter(rho=1), lambda: Filter(epsilon=9, delta="1e-6"), Odometer])
def test_mechanisms_for_two_kinds_of_neighbours_are_not_added_up(make: Callable[[], Filter | Odometer]) -> None:
    """Whichever comes first says what the budget is about; what is stated for either goes with both."""
    poisson, fixed = Subsampled(Gaussian(sigma=9), rate="0.01"), Subsampled(Gaussian(sigma=9), size=1, of=100)
    for first, second in ((poisson, fixed), (fixed, poisson)):
        budget = make()
        budget.spend(Laplace(epsilon="0.01") + first)
        before = repr(budget)
        for other in (second, Laplace(epsilon="0.01") + second):
            with pytest.raises(ValueError, match="do not compose"):
                budget.spend(other)
        assert repr(budget) == before
        budget.spend(Laplace(epsilon="0.01"))
        budget.spend(first)


@pytest.mark.parametrize("make", [lambda: Filter(rho=1), Odometer], ids=["filter", "odometer"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_is_no_second_budget(make: Callable[[], Filter | Odometer], again: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="share the"):
        again(make())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_no_budget_of_its_own() -> None:
    f = Filter(rho=1)
    child = os.fork()
    if not child:
        refused = False
        try:
            f.spend(rho="0.1")
        except BudgetExceeded:
            refused = True
        os._exit(0 if refused and not f.would_fit(rho="0.1") else 1)
    assert os.waitpid(child, 0)[1] == 0
    f.spend(rho=1)


def test_costs_beyond_floats() -> None:
    f = Filter(rho="1e4000")
    assert repr(f) == "<Filter: 0 of rho = 1e+4000 spent>"
    with pytest.raises(BudgetExceeded, match=r"rho \(2e\+4000\) exceeds"):
        f.spend(rho="2e4000")
    with pytest.raises(BudgetExceeded, match=r"rho \(inf\) exceeds"):
        f.spend(Channel([[1, 0], ["0.5", "0.5"]]))
    assert not f.would_fit(Channel([[1, 0], ["0.5", "0.5"]]))
    assert f.spent == 0


def at_every_line(frame: FrameType, event: str, argument: object) -> object:
    """Give way to the other threads before each line of the filter, and of the sum of plans."""
    if frame.f_code.co_filename.endswith(("filter.py", "odometer.py", "plan.py")):
        sleep(0)
        return at_every_line
    return None


@pytest.fixture
def giving_way() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threading.settrace(at_every_line)
    yield
    threading.settrace(None)  # type: ignore[arg-type]
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("giving_way")
def test_threads_do_not_overspend() -> None:
    f = Filter(rho=1)

    def spend(_: int) -> int:
        admitted = 0
        for _ in range(40):
            try:
                f.spend(rho="0.01")
                admitted += 1
            except BudgetExceeded:
                pass
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(spend, range(8)))
    assert admitted == 100
    assert f.remaining == 0


@pytest.mark.usefixtures("giving_way")
def test_threads_do_not_lose_what_was_spent() -> None:
    o, one = Odometer(), Gaussian(rho="0.01")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [o.spend(one) for _ in range(40)], range(8)))
    assert o.plan == 320 * one
    assert repr(o) == "<Odometer: rho = 3.2 spent>"


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


def crosses(level: float, spent: Fraction) -> mpf:
    """How likely the loss of Gaussian noise in ever smaller steps exceeds a level before so much rho is spent.

    It is a Brownian motion of drift 1 and variance 2 in units of rho; by the reflection principle.
    """
    a, b = mpf(level), mpf(spent.numerator) / spent.denominator
    width = 2 * mp.sqrt(b)
    return (mp.erfc((a - b) / width) + mp.exp(a) * mp.erfc((a + b) / width)) / 2


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-5, 2), min_size=2, max_size=8), st.sampled_from(["0.9", "0.1", "1e-6"]))
def test_odometers_only_rise(rhos: list[float], delta: str) -> None:
    """And never below what a walk of the rho that was spent exceeds with probability delta."""
    o, before, spent = Odometer(), 0.0, Fraction(0)
    for rho in rhos:
        o.spend(Gaussian(rho=rho))
        spent += Fraction(rho)
        assert before <= o.anytime_epsilon(delta=delta) < inf
        assert crosses(o.anytime_epsilon(delta=delta), spent) <= mpf(delta)
        before = o.anytime_epsilon(delta=delta)


@pytest.mark.parametrize("delta", ["0.99", "0.5", "0.01", "1e-9"])
def test_no_walk_leaves_an_odometer_behind_more_often_than_delta(delta: str) -> None:
    """At any time at all: before each power of two is spent it stays below the level that holds just below it."""
    total = mpf(0)
    for power in range(-40, 20):
        o = Odometer()
        o.spend(Gaussian(rho=Fraction(2) ** (power - 1) * (1 + Fraction(1, 10**9))))
        total += crosses(o.anytime_epsilon(delta=delta), Fraction(2) ** power)
    assert mpf(delta) / 100 < total <= mpf(delta)
