"""The bound for all times at once, at and around the powers of two at which it steps."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf, log, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from zcdp import Gaussian, Laplace, Odometer, PureDP
from zcdp.accounting import plan_account as total


@pytest.mark.parametrize(
    ("spent", "j"),
    [
        ("1/8", -3),
        ("1/7", -2),
        ("1/4", -2),
        ("0.9", 0),
        ("1", 0),
        ("1.0001", 1),
        ("2", 1),
        ("3", 2),
        ("4", 2),
        ("100", 7),
    ],
)
@pytest.mark.parametrize("delta", ["1e-2", "1e-6"])
def test_the_bound_is_that_of_the_least_power_of_two(spent: str, j: int, delta: str) -> None:
    """B + 2 sqrt(B log(1/d)) with B = 2^j, d = delta/(2.3 (1 + |j|)^2): docs/theorems/filter.md. Never below it."""
    odometer = Odometer()
    for share in ("1/4", "3/4"):
        odometer.spend(Gaussian(rho=Fraction(spent) * Fraction(share)))
    with mp.workdps(40):
        power = mpf(2) ** j
        bound = power + 2 * mp.sqrt(power * mp.log(mpf("2.3") * (1 + abs(j)) ** 2 / mpf(delta)))
        found = mpf(odometer.anytime_epsilon(delta=delta))
        assert bound <= found <= bound * (1 + mpf(10) ** -15)


def test_nothing_spent_costs_nothing() -> None:
    odometer = Odometer()
    assert (odometer.rho, odometer.epsilon_at(delta=1e-6), odometer.anytime_epsilon(delta=1e-6)) == (0, 0, 0)
    with pytest.raises(ValueError, match="nothing was spent yet"):
        odometer.plan  # noqa: B018
    with pytest.raises(ValueError, match="delta"):
        odometer.anytime_epsilon(delta=0)


KINDS, LIMIT = 70, 64


@pytest.fixture(scope="module", autouse=True)
def _rho_alone() -> Iterator[None]:
    """Fewer kinds than the limit really is: it is the way beyond it that is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total, "MOST_KINDS_IN_FULL", LIMIT)
        yield


@pytest.mark.parametrize("rho", ["0.001", "0.3", "0.9", "1", "1.1", "5", "100"])
def test_the_bound_for_all_times_pays_for_them(rho: str) -> None:
    """Against the theorem in floats: all powers of two share delta, by weights that sum to at most 1."""
    o = Odometer()
    for _ in range(3):
        o.spend(Gaussian(rho=Fraction(rho) / 3))
    rung = next(j for j in range(-20, 20) if Fraction(2) ** j >= Fraction(rho))
    weights = {j: 1 / (2.3 * (1 + abs(j)) ** 2) for j in range(-100_000, 100_000)}
    assert 0.99 < sum(weights.values()) <= 1
    top = 2.0**rung
    truth = top + 2 * sqrt(top * -log(1e-6 * weights[rung]))
    assert o.anytime_epsilon(delta=1e-6) == pytest.approx(truth, rel=1e-12)


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
