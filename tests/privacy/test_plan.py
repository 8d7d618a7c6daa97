"""A plan is the sum of its parts in every quantity: counts, brackets and kinds of loss, each written out by hand."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import product
from math import exp, inf, log, nextafter, prod, tanh

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from mechanisms import explicit

from zcdp import (
    BinaryRandomizedResponse,
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
    account,
)
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, at_precision
from zcdp.numeric.functions import Number
from zcdp.plans.plan_file import read_plan
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import Claim
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
    assert [count for _, count in noise.claims] == [3]
    assert [count for _, count in (4 * noise + 2 * A).claims] == [12, 2]


class Unknown(LossPair):
    """A pair for add_remove neighbours of which no law is known."""

    def pair(self) -> Claim | None:
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

    def pair(self) -> Claim | None:
        return Curve.pair(self)


def test_what_knows_no_law_of_its_own_has_that_of_all_of_pure_dp() -> None:
    """Two outcomes of ratio e^epsilon: delta is (e^2 - e^epsilon)/(1 + e^2) for one use at epsilon 2."""
    one = WithoutLaw(epsilon=2)
    for epsilon in (0.0, 0.5, 1.5):
        truth = (exp(2) - exp(epsilon)) / (1 + exp(2))
        assert one.delta_at(epsilon=epsilon) == pytest.approx(truth, rel=1e-13)
        assert one.delta_at(epsilon=epsilon) >= truth * (1 - 1e-15)
    assert Curve.pair(Gaussian(sigma=1)) is None


# Points of a curve hold in both orders of the neighbours.


def test_a_curve_of_ordered_parts_is_not_below_the_worse_order() -> None:
    p, q = [0.125, 0.875], [0.5, 0.5]
    pair = LossPair(p=["1/8", "7/8"], q=["1/2", "1/2"], ordered=True)
    epsilons = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(5, 4)]
    found = (3 * pair)._curve_in_haste(epsilons, 4)
    for epsilon, delta in zip(epsilons, found, strict=True):
        outcomes = [
            (a * b * c, x * y * z)
            for a, x in zip(p, q, strict=False)
            for b, y in zip(p, q, strict=False)
            for c, z in zip(p, q, strict=False)
        ]
        g = exp(epsilon)
        true = max(sum(max(s - g * t, 0) for s, t in outcomes), sum(max(t - g * s, 0) for s, t in outcomes))
        assert delta >= true * (1 - 1e-12), epsilon


# Sampled Gaussian noise beside an ordered pair that costs most in the other order: no false lower end of rho.


def test_a_sample_beside_a_pair_that_costs_most_the_other_way() -> None:
    """Both face the same way: 1.9234 is the largest D(alpha)/alpha of either order, by plain quadrature."""
    rate, x = 0.5, np.linspace(-14, 16, 30_001)
    without = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    with_it = (1 - rate) * without + rate * without * np.exp(x - 0.5)
    true = 0.0
    for s in np.geomspace(1e-3, 5, 300):
        p, q = np.array([0.01, 0.99]), np.array([0.5, 0.5])
        forward = np.log((with_it * (with_it / without) ** s).sum()) + np.log((p * (p / q) ** s).sum())
        backward = np.log((without * (without / with_it) ** s).sum()) + np.log((q * (q / p) ** s).sum())
        true = max(true, max(forward, backward) / (s * (1 + s)))
    plan = Subsampled(Gaussian(sigma=1), rate="1/2") + LossPair(["0.01", "0.99"], ["1/2", "1/2"], ordered=True)
    lower, upper = plan.rho_bounds
    assert lower <= true * (1 + 1e-6)
    assert upper >= true * (1 - 1e-6)
    assert not plan.is_tight


# The largest loss of a plan counts every use, in the plan and in the budget of an account.


def test_the_largest_loss_counts_every_use() -> None:
    assert (5 * Laplace(epsilon="1/2") + 2 * Laplace(epsilon=1)).largest_loss == Fraction(9, 2)


def test_a_budget_in_epsilon_is_exceeded_by_all_uses_together() -> None:
    """Five uses of epsilon 1 lose 5 with probability (1/2)^5, far above a delta of 1e-300: epsilon is 5, not 1."""
    text = '[budget]\nepsilon = 3\ndelta = 1e-300\n[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\ncount = 5\n'
    use = account(read_plan("plan.toml", text), curve=False).budget
    assert use is not None
    assert use.exceeded
    assert use.left <= -1.999


# Asymmetric pairs compose soundly only if the direction is maximised for each mechanism and order before summing.


LOW, HIGH = Fraction(138, 10**4), Fraction(6678, 10**4)


P, Q = [LOW, 1 - LOW], [HIGH, 1 - HIGH]
RESPONSE = BinaryRandomizedResponse(p=HIGH, q=LOW)
PAIR = LossPair(p=P, q=Q)
ORDERS = ("1.001", "1.1", "1.5", 2, 3, 10, 100)
ORIENTATIONS = list(product([(P, Q), (Q, P)], repeat=2))


def composed(orientation: tuple[tuple[list[Fraction], list[Fraction]], ...]) -> tuple[list[Fraction], list[Fraction]]:
    """The product of two pairs, each in its direction."""
    left, right = zip(*orientation, strict=True)
    return [prod(masses) for masses in product(*left)], [prod(masses) for masses in product(*right)]


def hockey_stick(p: list[Fraction], q: list[Fraction], epsilon: float) -> float:
    grown = mp.exp(epsilon)
    return float(mp.fsum(max(0, mp.mpf(float(a)) - grown * float(b)) for a, b in zip(p, q, strict=True)))


def divergence(p: list[Fraction], q: list[Fraction], order: object) -> float:
    with mp.workdps(40):
        excess = Fraction(order) - 1
        s = mp.mpf(excess.numerator) / excess.denominator
        return float(explicit.cumulant(p, q)(s) / s)


@pytest.mark.parametrize("order", ORDERS)
def test_the_curve_is_the_larger_of_both_directions_at_each_order(order: object) -> None:
    largest = max(divergence(P, Q, order), divergence(Q, P, order))
    assert RESPONSE.rdp(order) == pytest.approx(largest, rel=1e-14)
    assert PAIR.rdp(order) == pytest.approx(largest, rel=1e-14)


def test_the_larger_direction_may_depend_on_the_order() -> None:
    """A rare outcome of great loss against a common one of small loss: neither direction alone is the curve."""
    p, q = explicit.normalised([100, 3000, 100]), explicit.normalised([1, 3000, 1000])
    forwards = [divergence(p, q, order) > divergence(q, p, order) for order in ORDERS]
    assert True in forwards
    assert False in forwards
    for order in ORDERS:
        largest = max(divergence(p, q, order), divergence(q, p, order))
        assert LossPair(p=p, q=q).rdp(order) == pytest.approx(largest, rel=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_the_sum_of_curves_covers_every_orientation(order: object) -> None:
    for orientation in ORIENTATIONS:
        p, q = composed(orientation)
        assert divergence(p, q, order) <= 2 * RESPONSE.rdp(order) * (1 + 1e-15)
        assert LossPair(p=p, q=q).rdp(order) <= 2 * RESPONSE.rdp(order) * (1 + 1e-15)


def test_the_sum_of_rhos_covers_every_orientation() -> None:
    for orientation in ORIENTATIONS:
        p, q = composed(orientation)
        assert LossPair(p=p, q=q).rho_bounds[0] <= 2 * RESPONSE.rho


def test_the_maximum_outside_the_composition_is_unsound() -> None:
    deltas = {orientation: hockey_stick(*composed(pair), 2.79) for orientation, pair in enumerate(ORIENTATIONS)}
    same, mixed = max(deltas[0], deltas[3]), max(deltas[1], deltas[2])
    assert same == pytest.approx(0.443, abs=5e-4)
    assert mixed == pytest.approx(0.584, abs=5e-4)


def test_the_sum_of_curves_covers_the_mixed_orientation_in_epsilon_and_delta() -> None:
    """delta <= exp((alpha - 1)(D - epsilon))/alpha (1 - 1/alpha)^(alpha - 1), at the best of a grid of orders."""
    bound = min(
        float(mp.exp((a - 1) * (2 * RESPONSE.rdp(a) - 2.79)) / a * (1 - 1 / a) ** (a - 1))
        for a in (1 + 2.0**n for n in range(-6, 8))
    )
    assert max(hockey_stick(*composed(pair), 2.79) for pair in ORIENTATIONS) <= bound
