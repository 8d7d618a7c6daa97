"""Laws written from outside, by the recipe of privacy/loss/law.py alone; and claims that must be refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import Any

import pytest
from flint import acb, arb

from zcdp import Gaussian, Laplace, PureDP
from zcdp.numeric.balls import lift
from zcdp.privacy.loss import Factor, LossLaw, directed_law, discrete_laplace_pair, laplace_pair, three_point_pair
from zcdp.privacy.loss.decay import MonotoneShare, Share
from zcdp.privacy.loss.discrete_laplace_law import DiscreteLaplaceRow
from zcdp.privacy.loss.exponential_law import ExponentialSum, ExponentialSumFactor, Terms
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.transform import Points, Taylor
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.relation import Relation


@dataclass(frozen=True, eq=False)
class LaplaceThenGaussian(LossLaw):
    """Unbounded, known by its transform alone, and by how fast that falls: M = M_Laplace(z) exp(mu^2 (z^2 + z)/2)."""

    epsilon: Fraction
    mu: Fraction

    def ready(self) -> Factor:
        return BothFactor(lift(self.epsilon), lift(self.mu) ** 2)


class BothFactor(Factor):
    weight = 2

    def __init__(self, epsilon: arb, square: arb) -> None:
        self.epsilon, self.square = epsilon, square

    def moment(self, z: Any) -> Any:
        w, e = z + arb(1) / 2, self.epsilon
        up, down = (w * e).exp(), (w * -e).exp()
        laplace = ((up + down) / 2 + (up - down) / (4 * w)) * (-e / 2).exp()
        return laplace * (self.square * (z * z + z) / 2).exp()

    def moments(self, points: Points) -> list[acb]:
        assert list(points.kept) == sorted(points.kept)
        return [self.moment(z) for z in points.z]  # all of them at once

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        half = float(self.square.lower()) / 2 * (1 - 1e-12)
        return MonotoneShare(count, lambda heights: half * heights**2)


def test_a_law_of_a_new_kind_is_its_two_parts() -> None:
    law = LaplaceThenGaussian(Fraction(1, 3), Fraction(1, 5))
    both = 40 * Laplace(epsilon="1/3") + 40 * Gaussian(sigma=5)
    answer = Profile(((law, 40),)).epsilon(Fraction(1, 10**6))
    lower, upper = both.epsilon_bounds(delta="1e-6")
    assert answer.method == "contour"
    assert abs(answer.upper - upper) <= 1e-13 * upper
    assert answer.lower <= upper
    assert lower <= answer.upper
    mixed = Profile(((law, 3), (laplace_pair(Fraction(1, 2)), 2))).delta_bounds(Fraction(1))
    by_parts = 3 * Laplace(epsilon="1/3") + 3 * Gaussian(sigma=5) + 2 * Laplace(epsilon="1/2")
    assert mixed == pytest.approx(by_parts.delta_bounds(epsilon=1), rel=1e-13)


@dataclass(frozen=True, eq=False)
class TwoLosses(LossLaw):
    """Not symmetric, and only its transform is told: P = (a, 1-a), Q = (b, 1-b)."""

    a: Fraction
    b: Fraction

    def ready(self) -> Factor:
        return TwoFactor(lift(self.a), lift(self.b))

    def reverse(self) -> LossLaw:
        return replace(self, a=self.b, b=self.a)


class TwoFactor(Factor):
    def __init__(self, a: arb, b: arb) -> None:
        self.a, self.losses = a, ((a / b).log(), ((1 - a) / (1 - b)).log())

    def moment(self, z: Any) -> Any:
        one, other = self.losses
        return (z * one).exp() * self.a + (z * other).exp() * (1 - self.a)


def test_a_transform_alone_in_one_order_is_smoothed_and_sound() -> None:
    a, b = Fraction(2, 5), Fraction(1, 5)
    law = TwoLosses(a, b, symmetric=False, relation=Relation.ADD_REMOVE)
    answer = Profile(((law, 60),)).epsilon(Fraction(1, 1000))
    truth = Profile(((directed_law((a, 1 - a), (b, 1 - b)), 60),)).epsilon(Fraction(1, 1000))
    assert answer.method == "smoothed contour"
    assert answer.lower <= truth.upper
    assert truth.lower <= answer.upper <= truth.upper * 1.01


def test_what_is_not_symmetric_may_not_say_so() -> None:
    a, b = Fraction(2, 5), Fraction(1, 5)

    def lopsided() -> Terms:
        return [[arb("0.3")], [arb("0.4")]]

    for law in (
        TwoLosses(a, b),
        FiniteLaw(((a / b, a), ((1 - a) / (1 - b), 1 - a)), Fraction(0), Fraction(0)),
        ExponentialSum(Fraction(1), lopsided),
        ExponentialSum(Fraction(1), three_point_pair(Fraction(1), 5).terms, Fraction(1, 2)),
    ):
        with pytest.raises(ValueError, match="claims to be symmetric"):
            Profile(((law, 2),))
    with pytest.raises(ValueError, match="tied to the order"):
        Profile(((TwoLosses(a, b, symmetric=False), 2),))


def terms_of_twelve() -> Terms:
    edge = 1 / (2 * (arb(1) / 20).cosh())
    return [[edge**12 * comb(12, k)] for k in range(13)]


class Closed(ExponentialSumFactor):
    """Terms, and a closed form of their sum: no more than the two say is known of the decay."""

    def once(self, z: Any, w: Any, u: Any) -> Any:
        t = w * (lift(Fraction(1, 10)))
        return ((t.exp() + (-t).exp()) / (2 * (arb(1) / 20).cosh())) ** 12


class TwelveResponses(ExponentialSum):
    def ready(self) -> ExponentialSumFactor:
        return Closed(self.loss, self.ratio, self.terms())


def test_terms_with_a_closed_form_are_no_discrete_laplace_row() -> None:
    """12 binary responses of 0.1 as one law, 400 times: 0.66526 at epsilon = 20, as 4800 of them have."""
    law = TwelveResponses(Fraction(12, 10), terms_of_twelve, Fraction(1, 6))
    lower, upper = Profile(((law, 400),)).delta_bounds(Fraction(20))
    truth = (4800 * PureDP(epsilon="0.1")).delta_bounds(epsilon=20)
    assert 0.66525 < lower <= upper < 0.66527
    assert lower <= truth[1]
    assert truth[0] <= upper <= truth[1] * (1 + 1e-13)
    # and who calls it one is refused, as the closed form of a row is not the sum of these terms
    with pytest.raises(ValueError, match="claims to be symmetric"):
        Profile(((DiscreteLaplaceRow(Fraction(12, 10), terms_of_twelve, Fraction(1, 6)), 400),))
    Profile(((discrete_laplace_pair(Fraction(1), 60), 1),))


def test_relations_join_or_are_refused() -> None:
    either, ordered, replaced = Relation.EITHER, Relation.ADD_REMOVE, Relation.REPLACE
    assert either.joined(ordered) is ordered.joined(either) is ordered
    assert replaced.joined(replaced) is replaced.joined(either) is replaced
    with pytest.raises(ValueError, match="add_remove neighbours and one for replace"):
        ordered.joined(replaced)
