"""The three-point family: rho is the certified supremum over all pairs of the explicit output distributions."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, floor, nextafter
from random import Random

import pytest
from flint import arb
from mechanisms import explicit

from zcdp import (
    RAPPOR,
    Channel,
    DiscreteStaircase,
    HadamardResponse,
    LocalHashing,
    Log,
    LossPair,
    Mechanism,
    OptimizedUnaryEncoding,
    PureDP,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
    UnaryEncoding,
)
from zcdp.mechanisms import three_point_loss as three_point
from zcdp.mechanisms.three_point_loss import _concave, three_point_peak
from zcdp.numeric.balls import Undecided, at_precision


@pytest.mark.parametrize(
    ("c", "x", "truth"),
    [("2.005", "0.001", False), ("2.001", "0.1", True), ("2.00199", "0.1", True), ("2.0021", "0.1", False)],
)
def test_curvature_near_its_elementary_bounds(c: str, x: str, truth: bool) -> None:
    assert at_precision(128, lambda: _concave(arb(c), arb(x))) is truth


def test_a_ball_across_the_threshold_is_undecided() -> None:
    with pytest.raises(Undecided):
        at_precision(128, lambda: three_point_peak(arb(1), arb(8.7626, 0.01)))


@pytest.mark.parametrize("k", [20, 1000, 10**6])
@pytest.mark.parametrize("off", [-1e-5, 0.0, 1e-5])
def test_a_wide_bracket_still_holds_rho(k: int, off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = at_precision(256, lambda: three_point_peak(arb(1), arb(k)))
    w = float(truth.order) - 1
    monkeypatch.setattr(three_point, "sign_change", lambda _: arb(w * (1 + off), 2e-5 * w))
    wide = at_precision(256, lambda: three_point_peak(arb(1), arb(k)))
    assert wide.rho.contains(truth.rho)
    assert wide.rho.rad() < 1e-7 * truth.rho  # of second order in the width, not of first


# The three-point family: rho is the certified supremum over all pairs of the explicit output distributions.


OUE_THRESHOLD = 3.212230597606


ORDERS = (1, "1.01", 1.5, 2, 5, 32, 1000, float("inf"))
Case = tuple[Mechanism, Mechanism]  # a mechanism, and the channel that is written down from its definition


def largest_k_of_order_one(epsilon: float) -> float:
    """k*(epsilon): above it the peak of k-RR is not in the limit of order 1."""
    rise = expm1(epsilon)
    return 2 * rise * (rise - epsilon) / (epsilon * (rise + 2) - 2 * rise)


def unary_encoding(rng: Random) -> Case:
    q, p = sorted(Fraction(n, 10**4) for n in rng.sample(range(1, 10**4), 2))
    return UnaryEncoding(p=p, q=q), Channel(explicit.unary(p, q, 3))


def optimized_unary_encoding(rng: Random) -> Case:
    grown = explicit.growth(rng)
    if rng.random() < 0.5:  # around the threshold
        grown = Fraction(exp(OUE_THRESHOLD + rng.choice((-1, 1)) * 10 ** rng.uniform(-4, 0))).limit_denominator(10**6)
    return OptimizedUnaryEncoding(epsilon=Log(grown)), Channel(explicit.unary(Fraction(1, 2), 1 / (grown + 1), 3))


def subset_selection(rng: Random) -> Case:
    grown, k = explicit.growth(rng), rng.randint(2, 6)
    size = rng.randint(1, k - 1)
    return SubsetSelection(epsilon=Log(grown), k=k, size=size), Channel(explicit.subsets(grown, k, size))


def hadamard_response(rng: Random) -> Case:
    grown = explicit.growth(rng)
    doublings, blocks = rng.choice(((2, 1), (3, 1), (1, 2), (2, 2), (1, 3), (1, 5), (2, 3)))
    return (
        HadamardResponse(epsilon=Log(grown), blocks=blocks),
        Channel(explicit.hadamard(grown, doublings, blocks)),
    )


def fixed_hash(rng: Random) -> Case:
    grown, g = explicit.growth(rng), rng.randint(2, 6)
    function = [*range(g), rng.randrange(g)]  # one collision, and every bucket in use
    return LocalHashing(epsilon=Log(grown), g=g), Channel(explicit.hashing(grown, g, [function]))


def random_hash(rng: Random) -> Case:
    grown = explicit.growth(rng)
    domain, g = rng.choice(((2, 2), (3, 2), (4, 2), (2, 3), (3, 3), (2, 4)))
    rows = explicit.hashing(grown, g, explicit.all_functions(domain, g))
    return LocalHashing(epsilon=Log(grown), g=g, random_hash=True), Channel(rows)


def randomized_response(rng: Random) -> Case:
    grown, k = explicit.growth(rng), rng.randint(2, 10)
    return RandomizedResponse(epsilon=Log(grown), k=k), Channel(explicit.response(grown, k))


def randomized_response_near_its_threshold(rng: Random) -> Case:
    epsilon = rng.uniform(0.05, 4.5)
    grown = Fraction(exp(epsilon)).limit_denominator(10**6)
    k = floor(largest_k_of_order_one(epsilon)) + rng.randint(0, 1)
    rows = explicit.response(grown, k)
    return RandomizedResponse(epsilon=Log(grown), k=k), LossPair(p=rows[0], q=rows[-1])


def rappor(rng: Random) -> Case:
    odds = explicit.growth(rng, high=1.5)
    return RAPPOR(epsilon=Log(odds**2)), Channel(explicit.unary(odds / (odds + 1), 1 / (odds + 1), 3))


def staircase(rng: Random) -> Case:
    root = explicit.growth(rng, high=1.5)
    gamma = rng.choice((None, Fraction(0), Fraction(1, 2), Fraction(1), Fraction(rng.randint(1, 999), 1000)))
    p, q = explicit.staircase(root**2, 1 / (1 + root) if gamma is None else gamma, Fraction(1))
    return Staircase(epsilon=Log(root**2), gamma=gamma), LossPair(p=p, q=q)


def discrete_staircase(rng: Random) -> Case:
    grown, sensitivity = explicit.growth(rng), rng.randint(1, 7)
    r = rng.randint(1, sensitivity)
    p, q = explicit.discrete_staircase(grown, sensitivity, r, sensitivity)
    return DiscreteStaircase(epsilon=Log(grown), sensitivity=sensitivity, r=r), LossPair(p=p, q=q)


def bounded_variation(rng: Random) -> Case:
    """The worst pair: the difference of total variation tau lies on two outcomes, at ratio e^epsilon each way."""
    grown = explicit.growth(rng)
    most = (grown - 1) / (grown + 1)
    tau = rng.choice((most, most * Fraction(rng.randint(1, 999), 1000), (1 + most) / 2))
    low = min(tau, most) / (grown - 1)
    p = [low * grown, low, 1 - low - low * grown]
    return PureDP(epsilon=Log(grown), total_variation=tau), LossPair(p=p, q=[p[1], p[0], p[2]])


FAMILY = (
    unary_encoding,
    optimized_unary_encoding,
    subset_selection,
    hadamard_response,
    fixed_hash,
    random_hash,
    randomized_response,
    randomized_response_near_its_threshold,
    rappor,
    staircase,
    discrete_staircase,
    bounded_variation,
)
EACH = pytest.mark.parametrize("draw", FAMILY, ids=lambda draw: draw.__name__)


def check(m: Mechanism, brute: Mechanism) -> None:
    lower, upper = brute.rho_bounds
    assert upper <= lower * (1 + 1.1e-10)
    assert lower <= m.rho <= nextafter(upper, 1e308)


@EACH
@pytest.mark.parametrize("seed", range(20))
def test_rho_is_the_supremum_over_all_pairs_and_orders(draw, seed: int) -> None:
    check(*draw(Random(seed)))


@pytest.mark.deep
@EACH
@pytest.mark.parametrize("start", range(20, 220, 20))
def test_rho_is_the_supremum_over_all_pairs_and_orders_deep(draw, start: int) -> None:
    for seed in range(start, start + 20):
        check(*draw(Random(seed)))


@EACH
@pytest.mark.parametrize("seed", range(1000, 1003))
def test_a_channel_equal_to_the_mechanism_has_its_curve(draw, seed: int) -> None:
    m, brute = draw(Random(seed))
    check(m, brute)
    for order in ORDERS:
        assert brute.rdp(order) == pytest.approx(m.rdp(order), rel=1e-15, abs=0)
    assert m.pure_epsilon == brute.pure_epsilon


@EACH
@pytest.mark.parametrize("seed", range(2000, 2001))
def test_an_independent_maximisation_agrees(draw, seed: int) -> None:
    m, brute = draw(Random(seed))
    rows = [list(row) for row in (brute.rows[:3] if isinstance(brute, Channel) else (brute.p, brute.q))]
    if draw is hadamard_response and m.blocks > 1:
        rows = [list(brute.rows[0]), list(brute.rows[-1])]
    assert float(explicit.steepest_of_rows(rows)) == pytest.approx(m.rho, rel=1e-10)


def test_a_member_that_only_dominates_has_no_lower_end_of_its_own() -> None:
    """A bound for some other mechanism, stated as three points: they cost what they cost, and prove nothing below."""

    class Dominating(OptimizedUnaryEncoding):
        @property
        def is_tight(self) -> bool:
            return False

    one, own = Dominating(epsilon=1), OptimizedUnaryEncoding(epsilon=1)
    assert own.pair().exact
    assert not one.pair().exact
    assert (3 * one).delta_bounds(epsilon=1)[1] == pytest.approx((3 * own).delta_at(epsilon=1), rel=1e-9)
    assert (3 * own).delta_bounds(epsilon=1)[0] > 0
    assert (3 * one).delta_bounds(epsilon=1)[0] == 0
