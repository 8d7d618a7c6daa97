"""Answers that were wrong once, each against neighbours that are written out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, exp, inf, log
from random import Random

import mpmath
import numpy as np
import pytest

from features.exact import Known, Pair, Truth, counts, fixed, joint, powers
from features.kinds import everybody
from zcdp import (
    L2,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Filter,
    Gaussian,
    L0LInf,
    Laplace,
    Logistic,
    LossPair,
    PermuteAndFlip,
    Plan,
    RandomizedResponse,
    ReportNoisyMax,
    Shuffled,
    Subsampled,
    TopK,
    ZcdpError,
)
from zcdp.privacy.relation import Relation

F = Fraction
REST = F(99, 400)
P = (F(1, 100), 3 * REST, REST, F(0))
"""The worst that is (log 3, 1/100)-private, against the same mirrored: an outcome of 1/100 gives the input away."""
PAIR = Pair.of(P, P[::-1])
RATE = F(1, 3)
AWAY = LossPair([1, 0], [0, 1])


def told(known: Known, uses: int = 1) -> Truth:
    return Truth([(known, uses)], Random(0))


class TestInfiniteLosses:
    """They are rarer in a sample, and there."""

    @pytest.mark.parametrize("base", [LossPair(P, P[::-1]), Channel([P, P[::-1]])], ids=["pair", "channel"])
    @pytest.mark.parametrize("how", [{"rate": RATE}, {"size": 1, "of": 3}], ids=str)
    def test_of_one_use(self, base: LossPair | Channel, how: dict[str, object]) -> None:
        sample = Subsampled(base, **how)  # type: ignore[arg-type]
        truth = told(Known.either([PAIR]).poisson(RATE))
        low, high = truth.around(F(1))
        assert float(low) == pytest.approx(1 / 300)
        lower, upper = sample.delta_bounds(epsilon=1)
        assert lower <= high
        assert low <= upper <= float(low) * (1 + 1e-9)
        assert sample.pure_epsilon == sample.rho == sample.rdp(2) == sample.epsilon_bounds(delta=0)[1] == inf
        assert sample.epsilon_at(delta="0.003") == inf

    def test_of_a_thousand_uses(self) -> None:
        """What the record's own law never has is rarer in a sample with it: losses that are finite, and add up."""
        plan = 1000 * Subsampled(LossPair(p=[1, 0], q=["1/2", "1/2"], ordered=True), rate=RATE)
        # with the record the first outcome has probability 2/3, without it 1/2: more than 600 of them tell
        split = sum(comb(1000, k) for k in range(600, 1001)) / F(2) ** 1000
        power = sum(comb(1000, k) * 2**k for k in range(600, 1001)) / F(3) ** 1000
        assert plan.delta_at(epsilon=0) >= power - split > 0.99
        assert power - powers(F(5))[1] * split > 0.9
        assert plan.epsilon_at(delta="0.9") >= 5

    @pytest.mark.parametrize("base", [2 * AWAY, AWAY + Laplace(epsilon=1)], ids=repr)
    @pytest.mark.parametrize("how", [{"rate": 1}, {"rate": "1/2"}, {"size": 2, "of": 2}, {"size": 1, "of": 2}], ids=str)
    def test_nothing_but_infinite_losses(self, base: Plan, how: dict[str, object]) -> None:
        """Whoever is drawn is given away: delta is the probability of that, whatever epsilon is."""
        sample = Subsampled(base, **how)  # type: ignore[arg-type]
        for epsilon in (0, 1, 50):
            lower, upper = sample.delta_bounds(epsilon=epsilon)
            assert sample.rate - 1e-12 <= lower <= sample.rate <= upper <= sample.rate + 1e-12
        assert sample.epsilon_bounds(delta="0.4")[1] == inf

    @pytest.mark.parametrize("how", [{"rate": RATE}, {"size": 1, "of": 3}], ids=str)
    @pytest.mark.parametrize("epsilon", ["2.5", "1.0", "5"])
    def test_of_a_sampled_plan(self, epsilon: str, how: dict[str, object]) -> None:
        sample = Subsampled(2 * LossPair(P, P[::-1]), **how)  # type: ignore[arg-type]
        both = joint([Known.either([PAIR])] * 2, Random(0))
        low, high = told(both.poisson(RATE)).around(F(epsilon))
        lower, upper = sample.delta_bounds(epsilon=epsilon)
        assert low <= upper
        assert lower <= high
        assert low >= RATE * (1 - F(99, 100) ** 2)


def laplace_moment(shift: float, k: int) -> mpmath.mpf:
    """The mean of (dP/dQ)^k under Q of Laplace noise of scale 1 that moves so far."""
    a = mpmath.mpf(shift)
    between = (mpmath.exp((k - 1) * a) - mpmath.exp(-k * a)) / (2 * (2 * k - 1))  # of e^{-x + k (2x - a)}/2 on 0 .. a
    return mpmath.exp(-k * a) / 2 + between + mpmath.exp((k - 1) * a) / 2


def normal_moment(shift: float, k: int) -> mpmath.mpf:
    """The same of normal noise of deviation 1."""
    return mpmath.exp(mpmath.mpf(shift) ** 2 * k * (k - 1) / 2)


def divergence(order: int, share: float, moment: Callable[[int], mpmath.mpf]) -> float:
    """Of ((1-q) Q + q P, Q), at a whole order, by the binomial formula."""
    with mpmath.workdps(40):
        q = mpmath.mpf(share)
        total = sum(comb(order, k) * q**k * (1 - q) ** (order - k) * moment(k) for k in range(order + 1))
        return float(mpmath.log(total) / (order - 1))


class TestUnboundedPlans:
    """Divergences of samples of a fixed size, at orders at which a loss far beyond what is typical counts."""

    STEP = Subsampled(Laplace(epsilon="0.5") + Gaussian(sigma=1), size=100, of=10_000)

    @staticmethod
    def true(order: int) -> float:
        return divergence(order, 0.01, lambda k: laplace_moment(0.5, k) * normal_moment(1, k))

    @pytest.mark.parametrize("order", [2, 16, 32, 64])
    def test_of_laplace_and_normal_noise(self, order: int) -> None:
        assert self.true(32) > 11.7
        assert self.STEP.rdp(order) >= self.true(order) * (1 - 1e-12)

    @pytest.mark.parametrize("order", [8, 64])
    def test_of_a_vector_of_no_pure_epsilon(self, order: int) -> None:
        """One coordinate moves by all of it."""
        sample = Subsampled(Laplace(scale="1/4", sensitivity=L2(1)), size=1, of=100)
        assert sample.rdp(order) >= divergence(order, 0.01, lambda k: laplace_moment(4, k)) * (1 - 1e-12)

    @pytest.mark.parametrize("order", [2, 8, 32])
    def test_of_two_counts_with_discrete_normal_noise(self, order: int) -> None:
        """Both counts move by one. The masses of all outcomes within 100 steps are added up."""
        step, share = np.arange(-100, 101), 0.01
        noise = -(step**2) / 2 - np.log(np.exp(-(step**2) / 2).sum())
        without = noise[:, None] + noise[None, :]
        loss = step[:, None] + step[None, :] - 1.0  # of (1, 1) against (0, 0), at sigma 1
        terms = without + order * np.logaddexp(np.log1p(-share), np.log(share) + loss)
        true = np.logaddexp.reduce(terms, axis=None) / (order - 1)
        sample = Subsampled(DiscreteGaussian(sigma=1, sensitivity=L0LInf(2, 1)), size=100, of=10_000)
        assert sample.rdp(order) >= true * (1 - 1e-9)

    def test_a_filter_charges_them(self) -> None:
        budget = Filter(epsilon=20, delta="1e-6", order=32)
        budget.spend(self.STEP)
        assert budget.spent >= self.true(32) * (1 - 1e-12)


class TestClaims:
    """What only dominates is not exact, and no lower end survives a change of the law."""

    @pytest.mark.parametrize("how", [{"rate": "1/2"}, {"size": 1, "of": 2}], ids=str)
    def test_a_product_of_laws_that_only_dominate(self, how: dict[str, object]) -> None:
        """rho of Laplace noise under L2(1) is 1/2, of two 1, and a sample costs no more."""
        sample = Subsampled(2 * Laplace(epsilon=1, sensitivity=L2(1)), **how)  # type: ignore[arg-type]
        lower, upper = sample.rho_bounds
        assert lower <= upper
        assert lower <= 1
        assert not (sample.is_tight and upper > 1 + 1e-9)
        assert sample.delta_bounds(epsilon=1)[0] <= sample.delta_bounds(epsilon=1)[1]
        orders = [1 + k / 50 for k in range(1, 500)]
        for epsilon in (
            2,
            3,
            4,
            5,
        ):  # of what is 1-zCDP, half of the time, in the Poisson case: more than that is false
            whole = log(1 + 2 * (exp(epsilon) - 1))
            most = min(exp((a - 1) * (a - whole)) / (a - 1) * (1 - 1 / a) ** a for a in orders) / 2
            if "rate" in how:
                assert sample.delta_bounds(epsilon=epsilon)[0] <= most

    def test_shuffled_reports_of_some_clients(self) -> None:
        """All pairs of data sets of four clients, of which two are drawn."""
        sample = Subsampled(Shuffled(RandomizedResponse(epsilon=1, k=2), clients=2), size=2, of=4)
        low_ratio, high_ratio = powers(F(1))
        worst = []
        for ratio in (low_ratio, high_ratio):
            rows = [(ratio / (1 + ratio), 1 / (1 + ratio)), (1 / (1 + ratio), ratio / (1 + ratio))]
            law = fixed(lambda values, rows=rows: counts(values, rows), 2)
            worst.append(told(everybody(law, 2, 4)).around(F(1, 4)))
        lower, upper = sample.delta_bounds(epsilon="1/4")
        assert float(worst[0][0]) == pytest.approx(0.0674, abs=1e-4)
        assert lower <= float(max(high for _, high in worst)) * (1 + 1e-9)
        assert upper >= float(min(low for low, _ in worst)) * (1 - 1e-9)
        assert not sample.is_tight

    def test_no_mass_no_loss(self) -> None:
        """Logistic noise has losses of at most epsilon, and a sample of it less than that."""
        rate = mpmath.mpf("0.999999")
        truth = float(mpmath.log(1 - rate + rate * mpmath.e))
        sample = Subsampled(Logistic(epsilon=1), rate="0.999999")
        lower, upper = sample.epsilon_bounds(delta=0)
        assert lower <= truth <= upper <= truth * (1 + 1e-9)
        assert sample.pure_epsilon <= truth * (1 + 1e-9)
        assert sample.rdp(50) <= 1

    @pytest.mark.parametrize("base", [ExponentialMechanism(epsilon=1), BoundedRange(eta=1)], ids=repr)
    def test_a_sampled_selection_is_no_worse_than_it_was(self, base: BoundedRange) -> None:
        sample = Subsampled(base, rate="0.999999")
        assert sample.pure_epsilon <= 1 + 1e-9
        assert sample.epsilon_bounds(delta=0)[1] <= 1 + 1e-9
        assert sample.rdp(50) <= 1 + 1e-9

    @pytest.mark.parametrize("how", [{"rate": "1/2"}, {"size": 1, "of": 2}], ids=str)
    def test_integers_of_a_long_vector_are_pure(self, how: dict[str, object]) -> None:
        """Nine hundred coordinates that move by 1 have the loss 2 in all."""
        sample = Subsampled(DiscreteLaplace(epsilon=2, sensitivity=L2(30)), **how)  # type: ignore[arg-type]
        truth = log(1 / 2 + exp(2) / 2)
        lower, upper = sample.epsilon_bounds(delta=0)
        assert lower <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= upper <= 2
        assert sample.pure_epsilon <= 2


RESPONSE = RandomizedResponse(epsilon=1, k=2)
SELECTIONS = [
    ExponentialMechanism(epsilon=1, monotone=True),
    PermuteAndFlip(epsilon=1, monotone=True),
    ReportNoisyMax(epsilon=1, monotone=True),
    TopK(epsilon=1, k=2, monotone=True),
]


class TestRelations:
    """What is stated for one kind of neighbours is not said of another."""

    def test_one_client_more_is_not_one_of_another_value(self) -> None:
        """Two clients of whom each is drawn with probability 1/2: the number of reports tells of the third."""
        numbers = [F(comb(n, k), 2**n) for n in (1, 2) for k in range(3)]
        more = Pair.of(numbers[3:], numbers[:3]).hockey_stick(F(1))
        assert more == F(1, 4)
        with pytest.raises(ZcdpError):
            Subsampled(Shuffled(RESPONSE, clients=2), rate="1/2")

    @pytest.mark.parametrize(
        "base",
        [
            2 * Shuffled(RESPONSE, clients=2),
            Laplace(epsilon=1) + Shuffled(RESPONSE, clients=2),
            Subsampled(Laplace(epsilon=1), size=1, of=2),
            Subsampled(Laplace(epsilon=1), size=1, of=2) + Gaussian(sigma=1),
        ],
        ids=repr,
    )
    def test_a_poisson_sample_of_what_is_stated_for_replaced_records(self, base: Shuffled) -> None:
        with pytest.raises(ZcdpError):
            Subsampled(base, rate="1/2")

    @pytest.mark.parametrize(("size", "of"), [(3, 4), (1, 4), (3, 3)])
    @pytest.mark.parametrize("uses", [1, 2])
    def test_clients_are_those_that_are_drawn(self, uses: int, size: int, of: int) -> None:
        base = uses * Shuffled(RESPONSE, clients=2)
        with pytest.raises(ZcdpError):
            Subsampled(base, size=size, of=of)
        assert Subsampled(base, size=2, of=4).relation is Relation.REPLACE

    @pytest.mark.parametrize("uses", [1, 2])
    def test_a_sample_of_a_sample_runs_on_what_is_drawn(self, uses: int) -> None:
        base = uses * Subsampled(Laplace(epsilon=1), size=2, of=10)
        for size, of in ((9, 20), (11, 20), (2, 10)):
            with pytest.raises(ZcdpError):
                Subsampled(base, size=size, of=of)

    @pytest.mark.parametrize("selection", SELECTIONS, ids=repr)
    def test_scores_that_move_one_way_are_not_those_of_replaced_records(self, selection: TopK) -> None:
        for other in (Subsampled(Gaussian(sigma=1), size=1, of=2), Shuffled(RESPONSE, clients=2), RESPONSE):
            with pytest.raises(ZcdpError):
                selection + other
        with pytest.raises(ZcdpError):
            Subsampled(selection, size=1, of=2)
        with pytest.raises(ZcdpError):
            Subsampled(selection + Gaussian(sigma=1), size=1, of=2)

    def test_a_group_has_the_neighbours_of_its_members(self) -> None:
        """Who comes or goes with a friend is not replaced."""
        group = LossPair(["1/2", "1/2"], ["1/4", "3/4"], ordered=True).group(2)
        with pytest.raises(ZcdpError):
            Subsampled(group, size=1, of=2)
        with pytest.raises(ZcdpError):
            group + Shuffled(RESPONSE, clients=2)
