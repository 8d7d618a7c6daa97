"""(mu, slack)-Gaussian DP: the profile of normal laws by mpmath, between and beyond the points that were compared."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
from flint import arb
from mpmath import mp

from zcdp import Curve, DiscreteLaplace, Gaussian, Laplace, LossPair, RandomizedResponse, Subsampled
from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision
from zcdp.privacy.gaussian_dp import gaussian_delta


def truth(mu: object, epsilon: object) -> object:
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


PLANS = [
    Laplace(epsilon=1),
    5 * DiscreteLaplace(epsilon="0.3"),
    RandomizedResponse(epsilon=2, k=4),
    LossPair(p=["1/2", "1/4", "1/4"], q=["1/8", "1/4", "5/8"]),
    Subsampled(Gaussian(sigma=1), rate="0.01"),
]


@pytest.mark.parametrize("plan", PLANS, ids=repr)
def test_the_profile_is_covered_and_hardly_more(plan: Curve) -> None:
    lower, upper = plan.gdp_bounds()
    assert 0 < lower <= upper <= lower * 1.001
    assert plan.gdp() == upper
    end = min(plan.epsilon_at(delta="1e-12"), 30.0)
    with mp.workdps(30):
        touched = False
        for n in range(301):
            epsilon = Fraction(end) * n / 300
            low, high = plan.delta_bounds(epsilon=epsilon)
            at = mp.mpf(epsilon.numerator) / epsilon.denominator
            assert low <= truth(upper, at) + mp.mpf("1e-12") * (1 + mp.mpf("1e-9"))
            touched |= bool(high > truth(lower * 0.999, at) + mp.mpf("1e-12"))
        assert touched


def test_gaussian_noise_is_its_own_mu() -> None:
    assert (16 * Gaussian(sigma=8)).gdp() == 0.5
    assert (9 * Gaussian(sigma=3) + 16 * Gaussian(sigma=4)).gdp(slack=0) == pytest.approx(2**0.5, rel=1e-15)
    lower, upper = (1000 * Gaussian(sigma=1)).gdp_bounds()
    assert lower <= 1000**0.5 <= upper
    assert upper - lower < 1e-9


def test_a_closed_form() -> None:
    """Pure DP is worst at epsilon 0 and nowhere else: Phi(mu/2) - Phi(-mu/2) = tanh(epsilon/2)."""
    with mp.workdps(30):
        mu = mp.findroot(lambda x: 2 * mp.ncdf(x / 2) - 1 - mp.tanh(mp.mpf(1) / 2), 1)
        lower, upper = RandomizedResponse(epsilon=1, k=2).gdp_bounds(slack=0)
        assert lower <= mu <= upper <= mu * (1 + mp.mpf(10) ** -9)


def test_a_slack_that_is_too_small() -> None:
    told = LossPair(p=["0.01", "0.99"], q=[0, 1], ordered=True)
    assert told.gdp() == inf
    assert told.gdp(slack="0.011") == 0
    with pytest.raises(BadValue, match=r"slack \(0\) must be positive"):
        Subsampled(Gaussian(sigma=1), rate="0.1").gdp(slack=0)
    for slack in (-1, 1):
        with pytest.raises(BadValue, match="must be at least 0 and below 1"):
            Laplace(epsilon=1).gdp(slack=slack)


def test_delta_and_its_slope() -> None:
    with mp.workdps(40):
        for mu, epsilon in (("0.1", "0.3"), ("1", "0"), ("3", "20"), ("1", "7.5")):
            value, weight = at_precision(192, lambda m=mu, e=epsilon: gaussian_delta(arb(m), arb(e)))
            assert abs(mp.mpf(value.mid().str(40, radius=False)) / truth(mu, epsilon) - 1) < mp.mpf("1e-25")
            slope = mp.diff(lambda g, m=mu: truth(m, mp.log(g)), mp.exp(mp.mpf(epsilon)))
            assert abs(mp.mpf(weight.mid().str(40, radius=False)) / -slope - 1) < mp.mpf("1e-10")
