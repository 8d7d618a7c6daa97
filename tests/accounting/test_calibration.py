"""Calibration: certified to fit, nearly all of the budget used, and few certified costs asked for on the way."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, log
from statistics import NormalDist

import mpmath
import pytest
from table import KINDS, Kind

from zcdp import (
    RAPPOR,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Plan,
    PureDP,
    RandomizedResponse,
    Subsampled,
    calibrate,
)
from zcdp.accounting.calibration import _distance_of_delta, _narrow
from zcdp.mechanisms import Allocation
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.work import SECOND, count_work, done
from zcdp.privacy.curve import Curve
from zcdp.privacy.profile.profile import Profile


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each delta that is asked for."""
    found: list[object] = []
    true = Curve.delta_at
    monkeypatch.setattr(Curve, "delta_at", lambda self, **point: found.append(self) or true(self, **point))
    return found


@pytest.mark.parametrize(
    ("build", "epsilon", "delta", "most"),
    [
        (lambda e: 5 * Laplace(epsilon=e), 0, "0.999999", 12),
        (lambda e: RAPPOR(epsilon=e) + 3 * Laplace(epsilon=0.01), 0, "0.99", 12),
        (lambda e: 100 * Laplace(epsilon=e), 1, "1e-6", 6),
        (lambda b: Gaussian(sigma=b) + 4 * Laplace(epsilon=0.1), 1, "1e-12", 6),
    ],
)
def test_few_costs_are_asked_for(
    asked: list[object], build: Callable[[float], Plan], epsilon: float, delta: str, most: int
) -> None:
    """Also where delta is next to 1, and its logarithm next to nothing."""
    found = calibrate(build, epsilon=epsilon, delta=delta)
    assert 2 <= len(asked) <= most
    rising = build(1.0).rho < build(2.0).rho
    assert build(found).delta_at(epsilon=epsilon) <= float(delta)
    near = 1e-6 if float(delta) > 0.999 else 1e-9  # Next to 1, deltas tell fewer digits.
    assert build(found * (1 + (near if rising else -near))).delta_at(epsilon=epsilon) > float(delta)


def scheduled(z: float) -> Plan:
    """Many noise levels, all of them multiples of one."""
    return Plan.sum_of(
        *(100 * Subsampled(Gaussian(sigma=Fraction(20 + n, 20) * Fraction(z)), rate="0.01") for n in range(24))
    )


def test_of_many_mechanisms_one_certified_cost_is_enough(asked: list[object]) -> None:
    """Floats find the edge, a bound proves that the answer is inside it, and nearly all of the budget is used."""
    found = calibrate(scheduled, epsilon=2, delta="1e-5")
    assert len(asked) == 1
    assert scheduled(found).epsilon_bounds(delta="1e-5")[1] <= 2
    assert scheduled(found * (1 - 1e-5)).epsilon_bounds(delta="1e-5")[0] > 2


@pytest.mark.parametrize("off", [-0.01, 0.01, None])
def test_what_floats_propose_is_not_taken_unless_it_fits(monkeypatch: pytest.MonkeyPatch, off: float | None) -> None:
    true = Profile.propose_in_floats

    def proposed(self: Profile, epsilon: Fraction) -> float | None:
        value = true(self, epsilon)
        return None if off is None or value is None else value + off

    monkeypatch.setattr(Profile, "propose_in_floats", proposed)
    found = calibrate(scheduled, epsilon=2, delta="1e-5")
    assert scheduled(found).delta_at(epsilon=2) <= 1e-5
    assert scheduled(found * (1 - 1e-4)).delta_at(epsilon=2) > 1e-5


def test_a_budget_that_the_rest_exceeds_is_refused_soon(asked: list[object]) -> None:
    """What stays costs more than the budget at whatever parameter: the far end is asked before all that lie between."""
    with pytest.raises(ValueError, match="so small that no parameter fits"):
        calibrate(lambda b: Gaussian(sigma=b) + DiscreteLaplace(scale=3, sensitivity=5), epsilon=0, delta="0.03")
    assert len(asked) <= 7


def test_the_distance_of_a_delta_rises_all_the_way() -> None:
    """From the least float to the one before 1; it is 0 at the budget."""
    distance = _distance_of_delta(Fraction("0.9"))
    sizes = [-745.0, -700.0, -40.0, -30.0, -29.9, -2.0, -1.0, -0.99, log(0.9), -1e-3, -1e-9, -1e-16]
    found = [distance(size) for size in (-inf, *sizes, 0.0, 1.0)]
    assert found == sorted(found)
    assert (found[0], found[-2:]) == (-inf, [inf, inf])
    assert abs(distance(log(0.9))) < 1e-15
    for size in sizes[3:8]:
        assert distance(size) == pytest.approx(float(mpmath.log(-mpmath.log1p(-mpmath.exp(size)))) - log(log(10)))


def test_a_step_on_the_way_is_not_the_end() -> None:
    """A cost that is flat for long, and falls within the budget far out: it is found."""

    def build(b: float) -> Plan:
        return Plan.sum_of(Laplace(scale=b)) if b > 1e6 else 2 * Laplace(epsilon=50 + 1e-3 / b)

    assert calibrate(build, epsilon=1, delta="1e-3") >= 1e6


def test_a_cost_that_jumps_is_bisected() -> None:
    for below, above in ((-1e-12, 1e-12), (-1.0, inf), (-inf, inf), (-inf, 1.0)):
        found = _narrow(lambda x, below=below, above=above: below if x <= 2 else above, 1.0, 3.0, 2.0**-42)
        assert 2 * (1 - 1e-12) <= found <= 2


@pytest.mark.parametrize("seconds", [3, 30])
def test_costs_that_take_long_still_end_near_the_edge(seconds: int) -> None:
    def excess(parameter: float) -> float:
        count_work(seconds * SECOND)
        return 20 * log(0.7 / parameter)

    found = _narrow(excess, 1.0, 0.5, 2.0**-42, work=(done() + 4 * SECOND, done() + 8 * SECOND))
    assert 0.7 <= found < 0.7 * 1.01

    def jumping(parameter: float) -> float:
        return -1.0 if excess(parameter) <= 0 else inf

    found = _narrow(jumping, 1.0, 0.5, 2.0**-42, work=(done() + 4 * SECOND, done() + 8 * SECOND))
    assert 0.7 <= found < 0.7 * 1.01


def test_noise_too_small_for_a_law_does_not_end_the_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    small, asked = [], []

    def guess(profile: Profile, epsilon: Fraction, *, rough: bool = False) -> float:
        asked.append(rough)
        if small:
            small.pop()
            raise NotCertified("too extreme")
        return original(profile, epsilon, rough=rough)

    original = Profile.propose_log_delta
    known = calibrate(lambda s: 10 * Gaussian(sigma=s), epsilon=3, delta="1e-5")
    monkeypatch.setattr(Profile, "propose_log_delta", guess)
    small.append(True)
    found = calibrate(lambda s: 10 * Gaussian(sigma=s), epsilon=3, delta="1e-5")
    assert found == pytest.approx(known, rel=1e-9)
    assert False in asked  # the guess went on to the more accurate formula


@pytest.mark.deep
def test_allocation_over_several_epochs_finds_the_least_noise() -> None:
    def epochs(sigma: float) -> Curve:
        return 15 * Allocation(Gaussian(sigma=sigma), batches=100)

    found = calibrate(epochs, epsilon=3, delta="1e-5")
    assert epochs(found).delta_at(epsilon=3) <= 1e-5
    assert epochs(found).epsilon_at(delta="1e-5") <= 3
    least, _ = epochs(found / 1.01).epsilon_bounds(delta="1e-5")
    assert least > 3


@pytest.mark.parametrize("build", [lambda s: 10 * Gaussian(sigma=s), lambda e: 10 * Laplace(epsilon=e)])
def test_epsilon_at_the_delta_asked_for_is_within_the_budget_too(
    build: Callable[[float], Curve], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that question is answered by another engine, some millionths above what delta at epsilon says."""
    plain = calibrate(build, epsilon=3, delta="1e-5")
    original = Curve.epsilon_at
    monkeypatch.setattr(Curve, "epsilon_at", lambda self, *, delta: original(self, delta=delta) * (1 + 2e-6))
    found = calibrate(build, epsilon=3, delta="1e-5")
    assert 3 * (1 - 1e-5) < build(found).epsilon_at(delta="1e-5") <= 3
    assert build(found).delta_at(epsilon=3) <= 1e-5
    assert build(plain).epsilon_at(delta="1e-5") > 3


def test_an_edge_far_from_the_first_guess_is_found() -> None:
    """Narrow noise, for which epsilon is 10^4: delta is that of the analytic Gaussian mechanism, by mpmath."""
    sigma = calibrate(lambda b: Gaussian(sigma=b), epsilon="1e4", delta="1e-6")
    with mpmath.workdps(60):
        a, b = 1 / (2 * mpmath.mpf(sigma)), 10**4 * mpmath.mpf(sigma)
        delta = mpmath.ncdf(a - b) - mpmath.exp(10**4) * mpmath.ncdf(-a - b)
        assert 1e-6 * (1 - 1e-9) < delta <= mpmath.mpf("1e-6")


# Calibration and allocation: certified to fit, and nearly all of the budget is used.


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
    """Beside a rho of nearly 100 the noise costs little that a float could show, over many powers of ten."""
    beside = RandomizedResponse(epsilon=100, k=3)

    def build(s: float) -> Plan:
        return Gaussian(sigma=s) + beside

    most = beside.rho * (1 + 1e-12)
    assert build(calibrate(build, rho=most)).rho <= most
    assert build(calibrate(build, epsilon=101, delta="1e-300")).delta_at(epsilon=101) <= 1e-300


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


def test_calibrate_compares_with_the_exact_target() -> None:
    rho = Laplace(epsilon=1).rho
    just_below = Fraction(rho) - Fraction(1, 10**40)
    assert Laplace.calibrate(rho=just_below).rho < rho
