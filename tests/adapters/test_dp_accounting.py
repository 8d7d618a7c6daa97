"""Events of dp-accounting, both ways; its calibration on our accountant; random trees beside its own accountants."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from math import exp, inf, log
from statistics import NormalDist
from unittest import TestCase

import attr
import dp_accounting as theirs
import numpy as np
import peer_suite
import pytest
from dp_accounting import NeighboringRelation as Relation
from dp_accounting import dp_event, pld, rdp
from dp_accounting.pld import privacy_loss_distribution as losses

import zcdp
from zcdp.adapters import dp_accounting as za
from zcdp.adapters.common import RhoAlone
from zcdp.adapters.dp_accounting.events import NOT_TAKEN, TAKEN

G, L, R = theirs.GaussianDpEvent, theirs.LaplaceDpEvent, theirs.RandomizedResponseDpEvent
D, Z, P = dp_event.DiscreteLaplaceDpEvent, theirs.ZCDpEvent, theirs.PoissonSampledDpEvent
Mix, Cut = dp_event.MixtureOfGaussiansDpEvent, theirs.TruncatedSubsampledGaussianDpEvent
Many, All = theirs.SelfComposedDpEvent, theirs.ComposedDpEvent
ADDED, REPLACED, ZEROED = Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL


@attr.s(frozen=True, slots=True, auto_attribs=True)
class EpsilonDeltaDpEvent(dp_event.DpEvent):
    """As in versions to come."""

    epsilon: float
    delta: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ExponentialMechanismDpEvent(dp_event.DpEvent):
    """As in versions to come."""

    epsilon: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class DiscreteGaussianDpEvent(dp_event.DpEvent):
    """As in versions to come."""

    sigma: float
    sensitivity: float = 1.0
    dimension: int | None = None


def test_samples_of_a_fixed_size_are_no_poisson_samples() -> None:
    for step in (
        zcdp.Subsampled(zcdp.Gaussian(sigma=1, sensitivity=2), size=6, of=60),
        zcdp.ReplacedSample(zcdp.Gaussian(sigma=1), size=6, of=60),
    ):
        with pytest.raises(za.Refused, match="has no event for it"):
            za.event(10 * step)


def test_every_event_is_taken_or_refused_by_name() -> None:
    known = {
        name for name, kind in inspect.getmembers(dp_event, inspect.isclass) if issubclass(kind, dp_event.DpEvent)
    } - {"DpEvent"}
    assert known <= set(TAKEN) | set(NOT_TAKEN)
    assert not set(TAKEN) & set(NOT_TAKEN)


ROUND = [
    (G(1.5), ADDED, zcdp.Plan.sum_of(zcdp.Gaussian(sigma="1.5"))),
    (L(10.0), ADDED, zcdp.Plan.sum_of(zcdp.Laplace(epsilon="0.1"))),
    (D(0.25, 4), ADDED, zcdp.Plan.sum_of(zcdp.DiscreteLaplace(epsilon=1, sensitivity=4))),
    (R(0.5, 4), REPLACED, zcdp.Plan.sum_of(zcdp.RandomizedResponse(epsilon="log(5)", k=4))),
    (R(0.5, 4), ZEROED, zcdp.Plan.sum_of(zcdp.BinaryRandomizedResponse("5/8", "1/4", ordered=True))),
    (Z(0.25, 0.5), ADDED, zcdp.Plan.sum_of(RhoAlone(rho="0.25", xi="0.5"))),
    (P(0.25, G(2.0)), ADDED, zcdp.Plan.sum_of(zcdp.Subsampled(zcdp.Gaussian(sigma=2), rate="1/4"))),
    (P(0.25, G(2.0)), REPLACED, zcdp.Plan.sum_of(zcdp.ReplacedSample(zcdp.Gaussian(sigma=2), rate="1/4"))),
    (P(0.5, L(2.0)), ZEROED, zcdp.Plan.sum_of(zcdp.Subsampled(zcdp.Laplace(epsilon="0.5"), rate="1/2"))),
    (Many(L(2.0), 7), ADDED, 7 * zcdp.Laplace(epsilon="0.5")),
    (All([Many(L(2.0), 3), G(4.0)]), ADDED, 3 * zcdp.Laplace(epsilon="0.5") + zcdp.Gaussian(sigma=4)),
]


@pytest.mark.parametrize(("event", "relation", "plan"), ROUND, ids=lambda value: str(value)[:40])
def test_events_and_plans_are_the_same_both_ways(event: object, relation: object, plan: zcdp.Plan) -> None:
    assert za.plan(event, relation=relation) == plan
    assert za.event(plan) == event


def test_what_is_no_float_goes_out_on_the_side_that_costs_more() -> None:
    rng = random.Random(3)
    for _ in range(20):
        epsilon = f"{rng.randrange(1, 4000)}/{rng.randrange(1, 4000)}"
        for part, relation in (
            (zcdp.Laplace(epsilon=epsilon), ADDED),
            (zcdp.Gaussian(rho=epsilon), ADDED),
            (zcdp.DiscreteLaplace(epsilon=epsilon, sensitivity=3), ADDED),
            (zcdp.RandomizedResponse(epsilon=epsilon, k=5), REPLACED),
            (zcdp.Subsampled(zcdp.Laplace(epsilon=epsilon), rate="1/3"), ADDED),
        ):
            back = za.plan(za.event(part), relation=relation)
            assert part.rdp(2) <= back.rdp(2) <= part.rdp(2) * (1 + 1e-9)
    histogram = zcdp.Laplace(scale=10, sensitivity=zcdp.L0LInf(20, 1))
    assert za.event(histogram) == Many(L(10.0), 20)
    with pytest.raises(za.Refused, match="RAPPOR is refused"):
        za.event(zcdp.RAPPOR(epsilon=1))
    assert za.event(zcdp.RAPPOR(epsilon=1), rho_alone=True) == Z(zcdp.RAPPOR(epsilon=1).rho)


REFUSED = [
    (theirs.UnsupportedDpEvent(), ADDED),
    (theirs.SampledWithReplacementDpEvent(10, 2, G(1.0)), ADDED),
    (theirs.SampledWithoutReplacementDpEvent(10, 2, G(1.0)), REPLACED),
    (theirs.SingleEpochTreeAggregationDpEvent(1.0, 4), ZEROED),
    (dp_event.RepeatAndSelectDpEvent(L(1.0), 2.0, 1.0), ADDED),
    (Mix(1.0, [0.0, 1.0], [0.5, 0.5]), REPLACED),
    (Mix(1.0, [0.0, 1.0], [0.5, 0.4]), ADDED),
    (Mix(1.0, [0.0, -1.0], [0.5, 0.5]), ADDED),
    (Cut(100, 0.1, 20, 1.0), REPLACED),
    (Cut(100, 0.1, 20, 1.0), ZEROED),
    (Cut(100, 1.1, 20, 1.0), ADDED),
    (R(0.5, 4), ADDED),
    (P(0.5, L(1.0)), REPLACED),
    (P(0.5, R(0.5, 4)), ZEROED),
    (P(0.5, All([L(1.0), G(1.0)])), ADDED),
]


@pytest.mark.parametrize(("event", "relation"), REFUSED, ids=lambda value: str(value)[:40])
def test_the_rest_is_refused_by_name(event: object, relation: object) -> None:
    with pytest.raises(za.Refused, match=f"{type(event).__name__} is refused: "):
        za.plan(event, relation=relation)
    accountant = za.Accountant(relation)
    assert not accountant.supports(event)
    assert not accountant.supports(All([Many(event, 3)]))
    with pytest.raises(theirs.UnsupportedEventError, match="is refused"):
        accountant.compose(event)
    assert accountant.plan is None


def test_counts_that_their_accountants_drop() -> None:
    """Ten reports cost ten times one: the PLD accountant of 0.6.0 charges one, a later RDP accountant likewise."""
    ten = za.Accountant(REPLACED).compose(R(0.5, 4), 10).get_epsilon(0.0)
    assert log(5) * 10 <= ten < log(5) * 10 * (1 + 1e-12)
    assert pld.PLDAccountant(REPLACED).compose(R(0.5, 4), 10).get_epsilon(0.0) < 1.61  # repaired there? then say so
    for event in (Many(R(0.5, 4), 10), All([R(0.5, 4)] * 10), Many(Many(R(0.5, 4), 5), 2)):
        assert za.Accountant(REPLACED).compose(event).get_epsilon(0.0) == ten
    one = ExponentialMechanismDpEvent(1.0)
    assert za.plan(one) == zcdp.Plan.sum_of(zcdp.ExponentialMechanism(epsilon=1))
    spent = za.Accountant().compose(one, 10).plan
    assert spent == za.Accountant().compose(All([one] * 10)).plan == 10 * zcdp.ExponentialMechanism(epsilon=1)


def test_a_replaced_record_moves_a_sum_twice_as_far() -> None:
    ours = za.Accountant(REPLACED).compose(G(2.0)).get_epsilon(1e-5)
    assert ours == pytest.approx(pld.PLDAccountant(REPLACED).compose(G(2.0)).get_epsilon(1e-5), abs=1e-3)
    # the RDP accountant takes the noise multiplier for one of replaced records: half of what its docstring says
    assert rdp.RdpAccountant(neighboring_relation=REPLACED).compose(G(2.0)).get_epsilon(1e-5) < ours / 2


def test_a_replaced_record_on_a_sample_beside_theirs() -> None:
    for rate, sigma, count in ((0.1, 1.0, 1), (0.01, 1.0, 1000), (0.9, 3.0, 10)):
        lower, upper = za.Accountant(REPLACED).compose(P(rate, G(sigma)), count).get_epsilon_bounds(1e-5)
        their = pld.PLDAccountant(REPLACED).compose(P(rate, G(sigma)), count).get_epsilon(1e-5)
        assert upper - lower < 1e-9
        assert upper <= their <= upper * (1 + 1e-5)
    several = P(0.1, All([G(2.0)] * 4))  # four on one sample are one of half the noise
    assert za.plan(several, relation=REPLACED) == za.plan(P(0.1, G(1.0)), relation=REPLACED)
    everywhere = za.Accountant(REPLACED).compose(P(1.0, G(2.0)))
    assert everywhere.plan == zcdp.Plan.sum_of(zcdp.Gaussian(sigma=2, sensitivity=2))


def test_epsilon_and_delta_compose_as_a_coin_that_tells_all() -> None:
    """Against all outcomes of two uses: each is bottom (all told), yes or no."""
    epsilon, delta = 0.5, 0.01
    stay = (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    p, q = (delta, stay, 1 - delta - stay), (0.0, 1 - delta - stay, stay)
    for point in (0.0, 0.4, 0.9, 1.1):
        truth = sum(max(a * c - exp(point) * b * d, 0) for a, b in zip(p, q) for c, d in zip(p, q))  # noqa: B905
        two = za.Accountant().compose(EpsilonDeltaDpEvent(epsilon, delta), 2)
        assert truth * (1 - 1e-12) <= two.get_delta(point) <= truth * (1 + 1e-9)
        if truth > 0.0199001:
            assert two.get_epsilon(truth * (1 + 1e-12)) == pytest.approx(point, abs=1e-9)
    assert two.get_epsilon(0.0198) == inf
    with pytest.raises(za.Refused, match="use Accountant"):
        za.plan(EpsilonDeltaDpEvent(1.0, 1e-6))
    many = za.Accountant().compose(EpsilonDeltaDpEvent(1e-6, 1e-12), 10**6)
    assert 1e-6 - 1e-12 < many.get_delta(1.0) < 1e-6 + 1e-12


def test_discrete_gaussian_noise_of_versions_to_come() -> None:
    assert za.plan(DiscreteGaussianDpEvent(2.0, 3.0, 1)) == zcdp.Plan.sum_of(
        zcdp.DiscreteGaussian(sigma=2, sensitivity=3)
    )
    assert za.plan(DiscreteGaussianDpEvent(2.0, 1.5)) == zcdp.Plan.sum_of(RhoAlone(rho="9/32"))


def test_a_mixture_whose_probabilities_are_floats() -> None:
    """What is missing from a sum of 1 moves farthest, what is too much is taken where it moves least."""
    for chances in ([0.2, 0.6, 0.2], [0.33, 0.34, 0.33], [0.1, 0.2, 0.7], [0.5, 1e-17, 0.5]):
        [(part, count)] = za.plan(Mix(2.0, [0.0, 1.0, 2.0], chances)).parts
        exact = [Fraction(one) for one in chances]
        assert count == 1
        assert sum(probability for _, probability in part.moves) == 1
        for least in (1, 2):  # at least as likely to move so far, however the sum is made 1
            tail = sum(probability for move, probability in part.moves if move >= least)
            assert tail >= sum(exact[least:]) / sum(exact)
            assert tail <= sum(exact[least:]) + Fraction(1, 2**50)
    assert za.Accountant().compose(Mix(1.0, [0.0], [1.0])).plan is None
    assert za.Accountant().compose(Mix(0.0, [0.0, 1.0], [1.0, 0.0])).plan is None


def test_a_mixture_and_truncated_samples_beside_theirs() -> None:
    event = Mix(2.0, [0.0, 1.0, 3.0], [0.7, 0.2, 0.1])
    lower, ours = za.Accountant().compose(event, 3).get_epsilon_bounds(1e-6)
    assert ours - lower < 1e-9
    assert ours == pytest.approx(pld.PLDAccountant().compose(event, 3).get_epsilon(1e-6), rel=1e-5)
    plain = za.Accountant().compose(P(0.01, G(1.0)), 100).get_epsilon(1e-6)
    assert za.Accountant().compose(Cut(1000, 0.01, 1000, 1.0), 100).get_epsilon(1e-6) == plain
    cut = Cut(1000, 0.01, 25, 1.0)
    theirs_cut = pld.PLDAccountant().compose(cut, 100).get_epsilon(1e-6)
    assert plain < za.Accountant().compose(cut, 100).get_epsilon(1e-6) < theirs_cut * 1.05
    assert za.plan(Cut(10, 1.0, 3, 2.0)) == zcdp.Plan.sum_of(zcdp.Gaussian(sigma=2, sensitivity=2))
    for nothing in (Cut(0, 0.5, 3, 1.0), Cut(5, 0.0, 3, 1.0), Cut(5, 0.5, 0, 0.0)):
        assert za.Accountant().compose(nothing).plan is None
    assert za.Accountant().compose(Cut(5, 0.5, 3, 0.0)).get_delta(1.0) == 1


def test_nothing_and_everything() -> None:
    nothing = za.Accountant().compose(theirs.NoOpDpEvent()).compose(P(0.0, G(1.0)))
    assert (nothing.get_epsilon(0.0), nothing.get_delta(0.0)) == (0.0, 0.0)
    with pytest.raises(za.Refused, match="nothing is spent"):
        za.plan(Many(L(1.0), 0))
    for event in (theirs.NonPrivateDpEvent(), G(0.0), L(0.0), D(0.0, 1), P(0.1, G(0.0)), P(0.5, L(0.0))):
        all_told = za.Accountant().compose(L(1.0)).compose(event)
        assert (all_told.get_epsilon(0.5), all_told.get_delta(5.0)) == (inf, 1.0)
        assert all_told.get_epsilon_bounds(0.5) == all_told.get_epsilon_bounds(1.0) == (0.0, inf)  # as theirs say it
        assert all_told.get_true_positive_rates([0.0, 0.3]).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="must be `DpEvent`"):
        za.Accountant().compose("Laplace")


def test_true_positive_rates_of_laws_with_a_known_best_test() -> None:
    """Gaussian noise: Phi(Phi^-1(a) + mu). Two answers: two lines. A delta: a coin that tells all. Never below."""
    rates = [0.0, 1e-9, 0.01, 0.1, 0.37, 0.5, 0.9, 1.0]
    normal = NormalDist()
    for sigma in (0.5, 1.0, 4.0):
        truth = [normal.cdf(normal.inv_cdf(a) + 1 / sigma) if 0 < a < 1 else a for a in rates]
        found = za.Accountant().compose(G(sigma)).get_true_positive_rates(np.array(rates)).tolist()
        # the inverse of Python's normal law is good to 1e-9 far out
        assert all(a * (1 - 1e-9) <= b <= a * (1 + 1e-7) + 1e-13 for a, b in zip(truth, found, strict=True))
        one = za.Accountant().compose(G(sigma)).get_true_positive_rates(0.01)
        assert truth[2] * (1 - 1e-12) <= one <= truth[2] * (1 + 1e-11)
    for epsilon, delta in ((1.0, 0.0), (0.3, 0.2), (4.0, 0.01)):
        answers = za.Accountant().compose(EpsilonDeltaDpEvent(epsilon, delta))
        stay = 1 - delta
        truth = [min(delta + exp(epsilon) * a, 1 - exp(-epsilon) * (stay - a), 1.0) for a in rates]
        found = answers.get_true_positive_rates(np.array(rates)).tolist()
        assert all(a * (1 - 1e-12) <= b <= a + 1e-6 for a, b in zip(truth, found, strict=True))
    few = za.Accountant().compose(G(1.0))
    assert few.get_true_positive_rates(0.1) < few.get_true_positive_rates(0.1, [0.1]) < 1
    assert few.get_true_positive_rates(0.1, deltas=[0.0]) == 1.0
    with pytest.raises(ValueError, match="must lie in"):
        few.get_true_positive_rates(1.5)


def test_true_positive_rates_hold_for_both_orders_of_a_sample() -> None:
    """A sampled Gaussian, one step: the best tests of both orders are thresholds."""
    rate, sigma, normal = 0.3, 0.8, NormalDist()
    step = za.Accountant().compose(P(rate, G(sigma)))
    for z in (-1.5, -0.2, 0.4, 1.3, 2.5):
        without = 1 - normal.cdf(z / sigma)
        with_it = (1 - rate) * without + rate * (1 - normal.cdf((z - 1) / sigma))
        worse = max(with_it, 0.0)
        assert step.get_true_positive_rates(without) >= worse * (1 - 1e-12)
        assert step.get_true_positive_rates(1 - with_it) >= (1 - without) * (1 - 1e-12)
        assert step.get_true_positive_rates(without) < worse * 1.2


def test_the_gdp_estimate_of_gaussian_noise_is_its_mu() -> None:
    for sigma in (0.5, 2.0):
        assert za.Accountant().compose(G(sigma)).get_gdp_parameter_estimate() == pytest.approx(1 / sigma, rel=1e-4)
    assert za.Accountant().get_gdp_parameter_estimate() == pytest.approx(0, abs=1e-9)
    coin = za.Accountant().compose(EpsilonDeltaDpEvent(0.1, 1e-6))
    assert coin.get_gdp_parameter_estimate() == inf
    assert 0 < coin.get_gdp_parameter_estimate(np.array([0.01, 0.1])) < 1
    with pytest.raises(ValueError, match="must have one above 0"):
        coin.get_gdp_parameter_estimate(np.array([0.9]))


PLD = "dp_accounting.pld.pld_privacy_accountant"
THEIR_TESTS = peer_suite.cases("dp-accounting.md", f"{PLD}_test")


@pytest.mark.parametrize("test", THEIR_TESTS)
def test_their_own_tests_with_our_accountant(test: TestCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{PLD}.PLDAccountant", za.Accountant)
    peer_suite.run(test)


def test_the_page_says_how_many_of_their_tests_pass() -> None:
    peer_suite.check_counts("dp-accounting.md", THEIR_TESTS, theirs)


def test_their_calibration_runs_on_it() -> None:
    def training(sigma: float) -> dp_event.DpEvent:
        return Many(P(256 / 60000, G(sigma)), 14063)

    sigma = theirs.calibrate_dp_mechanism(
        za.Accountant, training, 3.0, 1e-5, theirs.ExplicitBracketInterval(0.5, 4.0), tol=1e-6
    )
    assert za.Accountant().compose(training(sigma)).get_epsilon(1e-5) <= 3
    assert za.Accountant().compose(training(sigma - 3e-6)).get_epsilon(1e-5) > 3
    count = theirs.calibrate_dp_mechanism(
        za.Accountant, lambda n: Many(L(10.0), n), 5.0, 1e-6, theirs.ExplicitBracketInterval(1, 1000), discrete=True
    )
    assert (count * zcdp.Laplace(epsilon="0.1")).epsilon_at(delta=1e-6) <= 5
    assert ((count + 2) * zcdp.Laplace(epsilon="0.1")).epsilon_at(delta=1e-6) > 5


def tree(rng: random.Random, leaves: list, depth: int = 0) -> dp_event.DpEvent:
    kind = rng.random() if depth < 3 else 1.0
    if kind < 0.35:
        return All([tree(rng, leaves, depth + 1) for _ in range(rng.randrange(1, 4))])
    if kind < 0.6:
        return Many(tree(rng, leaves, depth + 1), rng.randrange(1, 5))
    return rng.choice(leaves)(rng)


def flat(event: dp_event.DpEvent, count: int = 1) -> Iterator[tuple[dp_event.DpEvent, int]]:
    """The leaves with their counts: an independent reading of a tree."""
    if isinstance(event, All):
        for one in event.events:
            yield from flat(one, count)
    elif isinstance(event, Many):
        yield from flat(event.event, count * event.count)
    else:
        yield event, count


def from_below(event: dp_event.DpEvent, step: float) -> losses.PrivacyLossDistribution:
    """Their distribution of one leaf, rounded to optimism."""
    how: dict = {"use_connect_dots": False, "pessimistic_estimate": False, "value_discretization_interval": step}
    match event:
        case G():
            return losses.from_gaussian_mechanism(event.noise_multiplier, **how)
        case L():
            return losses.from_laplace_mechanism(event.noise_multiplier, **how)
        case D():
            return losses.from_discrete_laplace_mechanism(event.noise_parameter, event.sensitivity, **how)
        case R():
            del how["use_connect_dots"]
            return losses.from_randomized_response(event.noise_parameter, event.num_buckets, **how)
        case P():
            base, rate = event.event, event.sampling_probability
            if isinstance(base, G):
                return losses.from_gaussian_mechanism(base.noise_multiplier, sampling_prob=rate, **how)
            return losses.from_laplace_mechanism(base.noise_multiplier, sampling_prob=rate, **how)
    raise AssertionError(event)


ADDED_LEAVES = [
    lambda rng: L(rng.uniform(0.8, 20)),
    lambda rng: G(rng.uniform(1, 20)),
    lambda rng: D(rng.uniform(0.05, 0.4), rng.randrange(1, 4)),
    lambda rng: P(rng.uniform(0.05, 0.9), G(rng.uniform(1, 4))),
    lambda rng: P(rng.uniform(0.05, 0.9), L(rng.uniform(1, 4))),
]
REPLACED_LEAVES = [lambda rng: R(rng.uniform(0.3, 0.95), rng.randrange(2, 20))]
STEP = 1e-3


@pytest.mark.parametrize("block", range(10))
def test_random_trees_beside_their_accountants(block: int) -> None:
    """200 trees: never above theirs where that is valid, and never below what they get by rounding down."""
    rng = random.Random(block)
    compared = 0
    for n in range(20):
        relation, leaves = (REPLACED, REPLACED_LEAVES) if n % 5 == 4 else (ADDED, ADDED_LEAVES)
        event = tree(rng, leaves)
        delta = 10 ** rng.uniform(-9, -2)
        lower, ours = za.Accountant(relation).compose(event).get_epsilon_bounds(delta)
        assert lower <= ours
        parts = list(flat(event))
        below = reduce(
            lambda one, other: one.compose(other), (from_below(leaf, STEP).self_compose(count) for leaf, count in parts)
        )
        assert ours >= below.get_epsilon_for_delta(delta) * (1 - 1e-9)
        bound = rdp.RdpAccountant(neighboring_relation=relation)
        if bound.supports(event):
            assert ours <= bound.compose(event).get_epsilon(delta) + 1e-9
            compared += 1
        if relation is ADDED or all(count == 1 for _, count in parts):  # their count of reports is dropped
            loss = pld.PLDAccountant(relation, value_discretization_interval=STEP).compose(event)
            assert ours - lower < 1e-4 * ours
            assert ours <= loss.get_epsilon(delta) + 1e-9
            compared += 1
    assert compared >= 20
