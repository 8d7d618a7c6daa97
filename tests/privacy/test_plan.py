"""A plan is the sum of its parts in every quantity: counts, brackets and kinds of loss, each written out by hand."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import exp, inf, log, nextafter, tanh

import pytest
from flint import arb

from zcdp import (
    Gaussian,
    L0LInf,
    Laplace,
    Log,
    LossPair,
    Plan,
    PureDP,
    RandomizedResponse,
    ReportNoisyMax,
    Subsampled,
)
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, at_precision
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.relation import Relation

F = Fraction
A, B, C = PureDP(epsilon="1/2"), Gaussian(sigma=3), RandomizedResponse(epsilon=1, k=3)


def test_brackets_multiply_all_that_is_in_them() -> None:
    assert (3 * (A + 2 * B + C)).parts == ((A, 3), (B, 6), (C, 3))
    assert (2 * (3 * (A + B)) + B).parts == ((A, 6), (B, 7))
    assert (C + 2 * (A + C) + 5 * (B + 2 * A)).parts == ((C, 3), (A, 12), (B, 5))
    assert sum([A, B, A]).parts == ((A, 2), (B, 1))
    assert (A + A + A).parts == ((A, 3),)
    assert ((A + B) + (A + B)).parts == ((A, 2), (B, 2))
    assert Plan.sum_of(A, PureDP(epsilon="0.5"), B, A).parts == ((A, 3), (B, 1))


def test_what_is_stored_is_the_same_plan() -> None:
    plan = 3 * (A + 2 * B) + C
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert hash(again) == hash(plan)
    assert again.parts == ((A, 3), (B, 6), (C, 1))
    assert plan != 3 * (A + 2 * B) + 2 * C
    assert 2 * A + B == B + 2 * A


def test_counts_that_are_no_counts_are_refused() -> None:
    for count in (0, -1, 10**12 + 1):
        with pytest.raises(BadValue, match="count"):
            Plan.repeated(A, count)
    with pytest.raises(BadValue, match="in all"):
        (10**12 * A + PureDP(epsilon="0.5")).parts  # noqa: B018
    with pytest.raises(BadValue, match="count"):
        10**7 * (10**7 * A + B)
    assert (10**12 * A).parts == ((A, 10**12),)
    with pytest.raises(BadType):
        Plan.sum_of(A, 3)  # type: ignore[arg-type]
    with pytest.raises(BadValue):
        Plan.sum_of()


def test_largest_losses_of_all_kinds_add_up() -> None:
    """A fraction, a logarithm and a float; each as often as it runs."""
    plan = 3 * PureDP(epsilon="1/4") + 2 * RandomizedResponse(epsilon=Log(3), k=4) + RandomizedResponse(epsilon=1, k=3)
    truth = 3 / 4 + 2 * log(3) + 1
    assert plan.pure_epsilon == pytest.approx(truth, rel=1e-15)
    assert plan.pure_epsilon >= truth - 1e-15
    assert at_precision(128, lambda: float(plan.loss_ball())) == pytest.approx(truth, rel=1e-15)
    with pytest.raises(BadValue, match="logarithms"):
        plan.largest_loss  # noqa: B018
    exact = 3 * PureDP(epsilon="1/4") + 5 * PureDP(epsilon="1/3")
    assert exact.largest_loss == F(29, 12)
    assert F(nextafter(exact.pure_epsilon, 0)) < F(29, 12) <= F(exact.pure_epsilon)
    assert (A + B).largest_loss is None
    assert (A + B).pure_epsilon == inf
    assert at_precision(128, (A + B).loss_ball) == inf


class NoOneNumber(PureDP):
    """Pure DP whose loss is known by its upper end alone."""

    @property
    def largest_loss(self) -> None:  # type: ignore[override]
        raise BadValue("no one exact number")

    @property
    def pure_epsilon(self) -> float:  # type: ignore[override]
        return 0.5

    @property
    def rho(self) -> float:
        return 0.125


def test_a_loss_that_is_no_one_number_counts_at_its_upper_end() -> None:
    one = NoOneNumber(epsilon="1/2")
    assert at_precision(128, lambda: float(one.loss_ball())) == 0.5
    assert (4 * one + PureDP(epsilon=1)).pure_epsilon == 3
    assert at_precision(128, lambda: float((4 * one + PureDP(epsilon=1)).loss_ball())) == 3


def test_a_sample_of_a_plan_knows_the_largest_loss_of_all_uses() -> None:
    """log(1 + q (e^epsilon - 1)) with the epsilon of the whole plan."""
    for base, loss in ((3 * A + C, 2.5), (4 * RandomizedResponse(epsilon=Log(2), k=3), 4 * log(2))):
        sample = Subsampled(base, rate="1/4")
        truth = log(1 + (exp(loss) - 1) / 4)
        assert sample.pure_epsilon == pytest.approx(truth, rel=1e-13)
        assert sample.pure_epsilon >= truth * (1 - 1e-15)


def test_curves_add_up_at_every_order() -> None:
    """Pure DP as two outcomes, and Gaussian noise: 3 K_A + 2 K_B, and at order 1 their slopes."""
    plan, p = 3 * A + 2 * B, exp(0.5) / (1 + exp(0.5))
    for s in (0.25, 1.0, 6.0):
        k = log(p * exp(s / 2) + (1 - p) * exp(-s / 2))
        truth = 3 * k + 2 * s * (1 + s) / 18
        assert at_precision(128, lambda s=s: float(plan.cumulant(arb(s)))) == pytest.approx(truth, rel=1e-13)
        assert plan.rdp(1 + s) == pytest.approx(truth / s, rel=1e-13)
    slope = 3 * tanh(0.25) / 2 + 2 / 18
    assert at_precision(128, lambda: float(plan.kl())) == pytest.approx(slope, rel=1e-13)
    assert plan.rdp(1) == pytest.approx(slope, rel=1e-13)


def test_what_the_search_over_orders_is_told_of_each_part() -> None:
    """Values, slopes, bends and largest losses, by differences of the curve written out; each with its count."""
    plan = 3 * PureDP(epsilon=1) + 2 * RandomizedResponse(epsilon=2, k=5)

    def k(e: float, size: int, s: float) -> float:
        truth, other = exp(e) / (exp(e) + size - 1), 1 / (exp(e) + size - 1)
        return log(truth * exp(s * e) + other * exp(-s * e) + (size - 2) * other)

    def told() -> None:
        [whole] = plan.convexes()
        kinds = [(1.0, 2, 3), (2.0, 5, 2)]
        assert [count for _, count in whole.parts] == [3, 2]
        assert float(whole.largest) == 7
        step = 1e-4
        slopes = [(k(e, size, 1e-6) - k(e, size, -1e-6)) / 2e-6 for e, size, _ in kinds]
        assert float(whole.kl) == pytest.approx(sum(m * c for m, (*_, c) in zip(slopes, kinds, strict=True)), rel=1e-8)
        for s in (0.5, 3.0):
            total = sum(count * k(e, size, s) for e, size, count in kinds)
            assert float(whole.value(arb(s))) == pytest.approx(total, rel=1e-13)
            for (part, _), (e, size, _), slope in zip(whole.parts, kinds, slopes, strict=True):
                assert float(part.largest) == e
                assert float(part.kl) == pytest.approx(slope, rel=1e-8)
                assert part.taylor is not None
                value, first, second = part.taylor(arb(s))
                left, here, right = (k(e, size, s + d * step) for d in (-1, 0, 1))
                assert float(value) == pytest.approx(here, rel=1e-13)
                assert float(first) == pytest.approx((right - left) / (2 * step), rel=1e-6)
                assert float(second) == pytest.approx((right + left - 2 * here) / step**2, rel=1e-4)

    at_precision(128, told)


def test_parts_of_different_relations_do_not_add_up() -> None:
    ordered = LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True)
    moved = Subsampled(Gaussian(sigma=4), size=5, of=100)
    assert (A + ordered).relation is (ordered + A).relation is Relation.ADD_REMOVE
    assert (A + moved + B).relation is Relation.REPLACE
    for one, other in ((ordered, moved), (moved, ordered), (A + ordered, moved), (2 * moved + B, A + ordered)):
        with pytest.raises(BadValue, match="do not compose"):
            one + other


def test_laws_count_uses_times_coordinates() -> None:
    noise = Laplace(scale=2, sensitivity=L0LInf(3, 1))
    assert [count for _, count in noise.laws] == [3]
    assert [count for _, count in (4 * noise + 2 * A).laws] == [12, 2]


class Unknown(LossPair):
    """A pair for add_remove neighbours of which no law is known."""

    def pair(self) -> LossLaw | None:
        return None


def test_ordered_parts_that_may_disagree_are_no_exact_value() -> None:
    """Two of them may cost most in different orders, and one without a law may be any of both."""
    one = LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True)
    other = LossPair(p=["1/5", "4/5"], q=["2/5", "3/5"], ordered=True)
    assert (one + A).is_tight
    assert (3 * one).is_tight
    assert not (one + other).is_tight
    hidden = Unknown(p=["1/5", "4/5"], q=["2/5", "3/5"], ordered=True)
    assert not (one + hidden).is_tight
    assert (one + other).rho_bounds[0] <= (one + other).rho


class Twisted(PureDP):
    """Pure DP whose curve is hard to evaluate at high orders, and whose rho is known all the same."""

    def cumulant(self, s: Number) -> Number:
        if isinstance(s, arb) and s > 5:
            raise NotCertified("too high")
        return super().cumulant(s)

    def peak(self) -> Peak:
        return Peak(arb(1) / 8, arb(1))


def test_where_a_curve_is_hard_to_evaluate_its_rho_bounds_the_divergence() -> None:
    """D(alpha) <= alpha rho, and not above the largest loss: alone and beside others."""
    one = Twisted(epsilon=100)
    assert one.rdp(8) == 1.0
    assert one.rdp(F(17, 2)) == 1.0625
    assert one.rdp(2000) == 100
    assert (2 * one + PureDP(epsilon=1)).rdp(9) == pytest.approx(2 * 9 / 8 + PureDP(epsilon=1).rdp(9), rel=1e-12)
    assert (2 * one + PureDP(epsilon=1)).rdp(9) >= 2 * 9 / 8 + PureDP(epsilon=1).rdp(9) * (1 - 1e-15)


def test_what_only_a_bound_is_known_of_has_its_witness_as_lower_end() -> None:
    bound = ReportNoisyMax(epsilon=1)
    assert not bound.is_tight
    lower, upper = bound.rho_bounds
    assert lower < upper == bound.rho
    assert bound.rho_fraction == F(bound.rho)
    three = 3 * bound
    assert three.rho_bounds[0] <= 3 * lower * (1 + 1e-12)
    assert three.rho_bounds[1] >= 3 * F(upper) * (1 - F(1, 10**15))


def test_the_pure_epsilon_is_rounded_up_whatever_kind_of_number_it_is() -> None:
    """Thirds and sevenths are no floats, and half of them would be rounded down to the nearest one."""
    for n in range(1, 12):
        for loss in (F(n, 3), F(n, 7), F(n, 10)):
            for m in (PureDP(epsilon=loss), PureDP(epsilon=loss) + PureDP(epsilon=loss / 2)):
                exact = loss if isinstance(m, PureDP) else loss * 3 / 2
                assert F(nextafter(m.pure_epsilon, 0)) < exact <= F(m.pure_epsilon)


class WithoutLaw(PureDP):
    """Pure DP that knows no law of its own."""

    def pair(self) -> LossLaw | None:
        return Curve.pair(self)


def test_what_knows_no_law_of_its_own_has_that_of_all_of_pure_dp() -> None:
    """Two outcomes of ratio e^epsilon: delta is (e^2 - e^epsilon)/(1 + e^2) for one use at epsilon 2."""
    one = WithoutLaw(epsilon=2)
    for epsilon in (0.0, 0.5, 1.5):
        truth = (exp(2) - exp(epsilon)) / (1 + exp(2))
        assert one.delta_at(epsilon=epsilon) == pytest.approx(truth, rel=1e-13)
        assert one.delta_at(epsilon=epsilon) >= truth * (1 - 1e-15)
    assert Curve.pair(Gaussian(sigma=1)) is None
