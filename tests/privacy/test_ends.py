"""The two ends of a profile: where delta is 1, and where only the largest loss reaches it."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import pytest
from independent import profile_reference as reference
from mpmath import mp, mpf

from zcdp import DiscreteLaplace, ExponentialMechanism, Logistic, Plan, PureDP, RandomizedResponse
from zcdp.privacy.loss import three_point_pair
from zcdp.privacy.profile.profile import Profile


def test_near_one() -> None:
    """1 - delta = E min(1, e^{epsilon - L}), of many binary randomized responses far below their mean loss."""
    e, count, epsilon = Fraction(1, 10), 80_000, Fraction(100)
    profile = Profile(((three_point_pair(e), count),))
    lower, upper, method = profile.delta(epsilon)[:3]
    assert method == "Chernoff bound"
    assert lower <= reference.binary_delta(e, count, epsilon) <= upper == 1.0
    assert lower > 1 - 1e-15
    assert Profile(((three_point_pair(e), count),)).delta_bounds(Fraction(390))[1] < 1


@pytest.mark.parametrize(
    ("count", "loss", "power"), [(1, "5", 140), (7, "0.3", 140), (35_315, "5", 250), (35_315, "0.3", 9000)]
)
def test_a_delta_that_only_the_largest_loss_reaches(count: int, loss: str, power: int) -> None:
    """At the lower end the largest loss alone weighs more than delta, and the upper end is that loss, rounded up."""
    plan = count * PureDP(epsilon=loss)
    assert plan.profile is not None
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**power))  # a plan takes no numbers of so many digits
    assert plan.pure_epsilon <= upper <= nextafter(plan.pure_epsilon, inf)  # of which a plan takes the less
    assert upper * (1 - 1e-15) <= lower < count * Fraction(loss)
    gap = reference.real(count * Fraction(loss) - Fraction(lower))
    alone = (1 - mp.exp(-gap)) / (1 + mp.exp(-reference.real(Fraction(loss)))) ** count
    assert alone > mpf(10) ** -power


def test_a_density_next_to_its_largest_loss() -> None:
    """Two logistic densities, (top - epsilon)^3 or so: 1e-140 is 1e-47 below the top; 1e-20 is far from it."""
    plan = 2 * ExponentialMechanism(epsilon=1) + PureDP(epsilon=2)
    assert plan.profile is not None
    lower, upper, method = plan.profile.epsilon(Fraction(1, 10**140))[:3]
    assert (upper, method) == (plan.pure_epsilon, "largest loss")
    assert lower >= upper * (1 - 1e-15)
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**20))
    assert lower <= upper < plan.pure_epsilon * (1 - 1e-8)


def test_a_density_that_ends_before_the_last_bit_of_the_largest_loss() -> None:
    plan = 1000 * PureDP(epsilon=1) + 100 * Logistic(epsilon="1e-20")
    lower, upper = plan.epsilon_bounds(delta=1e-18)
    rest = (1000 * PureDP(epsilon=1)).epsilon_bounds(delta=1e-18)
    assert lower <= rest[1] * (1 + 1e-12)
    assert upper >= rest[0]


@pytest.mark.parametrize("loss", ["1/3", "0.1", "1", "log(3)"])
def test_the_lower_end_at_delta_zero_is_not_above_the_loss(loss: str) -> None:
    lower, upper = RandomizedResponse(epsilon=loss, k=2).epsilon_bounds(delta=0)
    exact = mp.log(3) if loss == "log(3)" else reference.real(Fraction(loss))
    assert lower <= exact <= upper
    assert upper - lower <= 5e-16 * upper


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        (100 * DiscreteLaplace(epsilon=0.5, sensitivity=300), "1e-40"),
        (
            Plan.parse(
                "DiscreteLaplace(epsilon='0.002', sensitivity=2) + DiscreteLaplace(epsilon='0.01', sensitivity=5)"
                " + DiscreteLaplace(epsilon='0.2', sensitivity=2) + DiscreteLaplace(epsilon='0.3')"
                " + DiscreteLaplace(epsilon=3, sensitivity=2) + DiscreteLaplace(epsilon='0.06', sensitivity=5)"
            ),
            "2e-9",
        ),
    ],
)
def test_just_below_the_largest_loss_there_is_a_lower_end(plan: Plan, delta: str) -> None:
    lower, upper = plan.epsilon_bounds(delta=delta)
    assert plan.pure_epsilon * (1 - 1e-6) < lower <= upper < plan.pure_epsilon
    assert upper <= lower * (1 + 1e-12)
