"""The profile of discrete Gaussian noise against sums over all outputs, by convolution in 200 digits."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp import DiscreteGaussian, Gaussian, Laplace, Plan

CASES = [
    # variance, sensitivity, count, epsilon
    (Fraction(4), 1, 1, Fraction(3, 10)),
    (Fraction(4), 1, 3, Fraction(6, 5)),
    (Fraction(4), 1, 3, Fraction(0)),
    (Fraction(1, 2), 1, 1, Fraction(1)),
    (Fraction(1, 2), 2, 2, Fraction(12)),
    (Fraction(9), 3, 2, Fraction(2)),
    (Fraction(1, 100), 1, 2, Fraction(99)),
    (Fraction(49), 1, 2, Fraction(1, 3)),
]


def true_delta(variance: Fraction, shift: int, count: int, epsilon: Fraction) -> mpf:
    with mp.workdps(200):
        v = mpf(variance.numerator) / variance.denominator
        reach = int(40 * mp.sqrt(v)) + 20
        masses = [mp.exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1)]
        whole = mp.fsum(masses)
        sums = [mpf(1)]
        for _ in range(count):
            longer = [mpf(0)] * (len(sums) + 2 * reach)
            for i, one in enumerate(sums):
                for j, mass in enumerate(masses):
                    longer[i + j] += one * mass / whole
            sums = longer
        e, total = mpf(epsilon.numerator) / epsilon.denominator, mpf(0)
        for i, mass in enumerate(sums):
            loss = shift * (count * shift - 2 * (i - count * reach)) / (2 * v)
            total += mass * -mp.expm1(e - loss) if loss > e else 0
        return total


@pytest.mark.parametrize(("variance", "shift", "count", "epsilon"), CASES)
def test_delta_is_that_of_the_worst_shift(variance: Fraction, shift: int, count: int, epsilon: Fraction) -> None:
    plan = count * DiscreteGaussian(rho=Fraction(shift) ** 2 / (2 * variance), sensitivity=shift)
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    truth = true_delta(variance, shift, count, epsilon)
    assert lower <= truth * (1 + mpf(10) ** -60)
    assert truth * (1 - mpf(10) ** -60) <= upper <= truth * (1 + mpf(10) ** -9)
    smaller = max((true_delta(variance, s, count, epsilon) for s in range(1, shift)), default=mpf(0))
    assert smaller < truth


@pytest.mark.parametrize("sigma", [1, 5, 20])
@pytest.mark.parametrize("count", [1, 30, 10_000])
def test_epsilon_and_delta_are_inverse_and_near_those_of_the_gaussian(sigma: int, count: int) -> None:
    plan = count * DiscreteGaussian(sigma=sigma)
    lower, upper = plan.epsilon_bounds(delta=1e-8)
    assert lower <= upper <= lower * (1 + 1e-12)
    assert plan.delta_at(epsilon=upper) == pytest.approx(1e-8, rel=1e-9)
    assert upper == pytest.approx((count * Gaussian(sigma=sigma)).epsilon_at(delta=1e-8), rel=0.1 / sigma)


def test_beyond_the_window_the_other_routes_answer() -> None:
    far = DiscreteGaussian(sigma=2)
    assert far.delta_at(epsilon=1000) > 0
    assert far.epsilon_at(delta="1e-200") == far.routes(delta="1e-200")["rdp"]
    assert DiscreteGaussian(sigma=10**6).profile is None
    mixed = Plan.sum_of(3 * far, Laplace(epsilon=1))
    assert mixed.epsilon_at(delta=1e-6) < mixed.routes(delta=1e-6)["rdp"]
