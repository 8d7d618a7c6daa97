"""Envelope laws and the adaptive recursion against sums over all outcomes and all choices of an adversary."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import inf, log
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, arb_series
from mpmath import mp, mpf

from zcdp import (
    BinaryRandomizedResponse,
    Channel,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LossPair,
    Mechanism,
    Plan,
    PureDP,
    RandomizedResponse,
    TruncatedGeometric,
)
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.numeric.exact import Exact
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair, max_ball, rdp_each_way
from zcdp.privacy.loss import Claim, directed_law, envelope_of_rows, sampled_claim, three_point_pair
from zcdp.privacy.loss.exponential_terms import FreeAtoms
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.relation import Relation
from zcdp.privacy.rho_search import is_infinite, quick_divergence

Row = Sequence[Fraction]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(50):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def random_row(rng: random.Random, size: int, *, zeros: bool = False) -> list[Fraction]:
    weights = [rng.choice((0, 1, 2, 5, 20, 300)) if zeros else rng.choice((1, 2, 3, 7, 40, 999)) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    return [Fraction(w, sum(weights)) for w in weights]


def adaptive(rows: Sequence[Row], count: int, epsilon: Fraction) -> mpf:
    """The worst strategy that picks two rows for each use after seeing all outputs: exact ratios, many digits."""
    pairs = [(p, q) for p in rows for q in rows if p != q]
    g = mp.exp(real(epsilon))

    @cache
    def worst(left: int, ratio: Fraction) -> mpf:
        if not left:
            return max(1 - g * real(ratio), mpf(0))
        return max(
            mp.fsum(real(a) * worst(left - 1, ratio * b / a) for a, b in zip(p, q, strict=True) if a) for p, q in pairs
        )

    return worst(count, Fraction(1))


def one_use(rows: Sequence[Row], epsilon: Fraction) -> mpf:
    return adaptive(rows, 1, epsilon)


def check_one_use(seed: int, *, zeros: bool) -> None:
    rng = random.Random(seed)
    outputs = rng.randrange(2, 7)
    rows = [random_row(rng, outputs, zeros=zeros) for _ in range(rng.randrange(2, 7))]
    channel, epsilon = Channel(rows), Fraction(rng.choice((0, 1, 3, 10, 25)), 10)
    lower, upper = channel.delta_bounds(epsilon=epsilon)
    truth = one_use(rows, epsilon)
    assert lower <= truth * (1 + mpf(10) ** -30) + mpf(10) ** -320
    assert truth * (1 - mpf(10) ** -30) <= upper <= lower * (1 + 5e-16) + 5e-324


@pytest.mark.parametrize("zeros", [False, True])
def test_a_single_use_of_a_channel_is_exact(*, zeros: bool) -> None:
    for seed in range(60):
        check_one_use(seed, zeros=zeros)


@pytest.mark.deep
def test_a_single_use_of_a_thousand_channels_is_exact() -> None:
    for seed in range(1000):
        check_one_use(seed, zeros=seed % 4 == 0)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_composed_it_is_never_below_the_adaptive_worst_case_nor_above_the_pure_bound(count: int) -> None:
    rng = random.Random(count)
    for _ in range(8):
        rows = [random_row(rng, rng.choice((2, 3))) for _ in range(2)]
        rows = rows if len(rows[0]) == len(rows[1]) else [rows[0], rows[0][::-1]]
        if rows[0] == rows[1]:
            continue
        if count < 4 and rng.random() < 0.5:
            rows.append(random_row(rng, len(rows[0])))
        plan, epsilon = count * Channel(rows), Fraction(rng.choice((0, 2, 9, 20)), 10)
        law = Channel(rows).pair().upper
        assert law is not None
        truth, envelope = adaptive(rows, count, epsilon), Profile(((law, count),)).delta(epsilon)
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert envelope.upper >= truth * (1 - mpf(10) ** -30)
        assert upper >= truth * (1 - mpf(10) ** -30)
        assert lower <= truth * (1 + mpf(10) ** -30)
        pure = count * PureDP(epsilon=Channel(rows).pure_epsilon)
        assert upper <= pure.delta_at(epsilon=epsilon) * (1 + 1e-13)  # the recursion charges its rounding
        if len(rows) == 2 and envelope.method == "adaptive recursion":
            assert upper <= lower * (1 + 1e-12) + 1e-300


def test_hundred_asymmetric_responses() -> None:
    """All in one order 46.34485, the worst adaptive order 46.34581, the envelope law 47.7691."""
    one = BinaryRandomizedResponse("0.6", "0.3")
    law = one.pair().upper
    assert law is not None
    many = Profile(((law, 400),)).epsilon(Fraction(1, 10**6))  # too often for the recursion
    assert many.method != "adaptive recursion"
    lower, upper = (100 * one).epsilon_bounds(delta="1e-6")
    assert 46.345 < lower <= upper < 46.346
    ordered = BinaryRandomizedResponse("0.6", "0.3", ordered=True)
    lower, upper = (100 * ordered).epsilon_bounds(delta="1e-6")
    assert 46.3448 < lower <= upper < 46.345
    pair = LossPair(p=["0.6", "0.4"], q=["0.3", "0.7"], ordered=True)
    assert (100 * pair).epsilon_bounds(delta="1e-6") == (lower, upper)


def test_the_envelope_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.privacy.profile.adaptive.GAME", 0)
    lower, upper = (100 * BinaryRandomizedResponse("0.6", "0.3")).epsilon_bounds(delta="1e-6")
    assert 46.3448 < lower < 46.345  # all in one order
    assert 47.769 < upper < 47.77


def test_small_probabilities_keep_their_total_variation() -> None:
    assert BinaryRandomizedResponse("2e-6", "1e-6").delta_bounds(epsilon=0) == (1e-6, 1.0000000000000002e-06)


def test_ordered_laws_are_the_worse_of_two_orders() -> None:
    """Two uses: sums over the four outcomes, in each order."""
    p, q = (Fraction(138, 10000), Fraction(9862, 10000)), (Fraction(6678, 10000), Fraction(3322, 10000))
    profile = Profile(((directed_law(p, q), 2),))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(3), Fraction(5)):
        sums = []
        for one, other in ((p, q), (q, p)):
            pairs = [(a * c, b * d) for a, b in zip(one, other, strict=True) for c, d in zip(one, other, strict=True)]
            sums.append(mp.fsum(max(real(a) - mp.exp(real(epsilon)) * real(b), mpf(0)) for a, b in pairs))
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= max(sums) * (1 + mpf(10) ** -25)
        assert max(sums) * (1 - mpf(10) ** -25) <= upper <= max(sums) * (1 + mpf(10) ** -12) + mpf(10) ** -300
    # forward once and backward once is more than either, and the plain mechanism allows it
    outcomes = [(a * d, b * c) for a, b in zip(p, q, strict=True) for c, d in zip(p, q, strict=True)]
    mixed = mp.fsum(max(real(a) - mp.exp(3) * real(b), mpf(0)) for a, b in outcomes)
    lower, upper = (2 * BinaryRandomizedResponse("0.6678", "0.0138")).delta_bounds(epsilon=3)
    assert profile.delta(Fraction(3)).upper < 0.9 * mixed < mixed <= upper
    assert lower <= adaptive((p, q), 2, Fraction(3)) <= upper


def test_atoms_on_no_lattice_beside_other_laws() -> None:
    """Two rows with unrelated ratios; with a Laplace law beside them, and many times."""
    rows = [[Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)], [Fraction(2, 10), Fraction(3, 10), Fraction(5, 10)]]
    claim = envelope_of_rows([(rows[0], rows[1])])
    assert claim is not None
    law = claim.upper
    assert isinstance(law.expansion(), FreeAtoms)
    laplace = Laplace(epsilon="0.3").pair()
    assert laplace is not None
    whole = Profile(((law, 2), (laplace.upper, 1))).delta(Fraction(1, 2))
    # the same by hand: the Laplace profile at epsilon less each loss
    total = mpf(0)
    for g, a in law.masses:  # type: ignore[attr-defined]
        for h, b in law.masses:  # type: ignore[attr-defined]
            x, e = mpf(1) / 2 - mp.log(real(g * h)), mpf("0.3")
            inside = 1 - mp.exp((x - e) / 2)
            total += real(a * b) * (0 if x >= e else inside if x > -e else 1 - mp.exp(x))
    assert whole.lower <= total * (1 + mpf(10) ** -30)
    assert total * (1 - mpf(10) ** -30) <= whole.upper <= whole.lower * (1 + 1e-9)
    many = Profile(((law, 60),)).epsilon(Fraction(1, 10**6))
    assert many.method == "smoothed contour"
    assert many.upper <= many.lower * (1 + 1e-6)


def test_truncated_geometric_is_the_worst_pair_of_inputs() -> None:
    m, t = TruncatedGeometric(epsilon="0.7", n=4, sensitivity=2), mpf(7) / 20
    laws = []
    for x in range(5):
        masses = [mp.exp(-t * abs(x - y)) for y in range(5)]
        laws.append([mass / mp.fsum(masses) for mass in masses])
    for epsilon in ("0", "0.3", "0.6"):
        g = mp.exp(mpf(epsilon))
        pairs = [(laws[x], laws[y]) for x in range(5) for y in range(5) if 0 < abs(x - y) <= 2]
        truth = max(mp.fsum(max(a - g * b, mpf(0)) for a, b in zip(p, q, strict=True)) for p, q in pairs)
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert truth * (1 - mpf(10) ** -14) <= lower <= truth * (1 + mpf(10) ** -14)
        assert lower <= upper <= lower * (1 + 1e-15)
        assert upper >= truth * (1 - mpf(10) ** -14)


def test_an_outcome_that_gives_the_input_away() -> None:
    rows = [[Fraction(9, 10), Fraction(1, 10), Fraction(0)], [Fraction(3, 10), Fraction(6, 10), Fraction(1, 10)]]
    plan = 3 * Channel(rows)
    for epsilon in (Fraction(0), Fraction(2)):
        truth = adaptive(rows, 3, epsilon)
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert lower <= truth <= upper
        assert lower >= 1 - Fraction(9, 10) ** 3 - Fraction(1, 10**12)
    assert plan.epsilon_bounds(delta="0.2") == (float("inf"), float("inf"))
    assert plan.epsilon_at(delta="0.9") < float("inf")
    assert (plan + Laplace(epsilon=1)).delta_at(epsilon=40) >= 1 - 0.9**3


def test_one_relation_for_a_plan() -> None:
    ordered = LossPair(p=["0.6", "0.4"], q=["0.3", "0.7"], ordered=True)
    written = "2 * LossPair(p=['0.6', '0.4'], q=['0.3', '0.7'], ordered=True)"
    assert repr(Plan.from_json((2 * ordered).to_json())) == written
    assert (ordered + Laplace(epsilon=1)).relation.value == "add_remove"
    with pytest.raises(ValueError, match="do not compose"):
        ordered + Laplace(epsilon=1) + BinaryRandomizedResponse("0.6", "0.3")


@pytest.mark.parametrize("count", [2, 5, 8])
def test_outcomes_that_tell_nothing_leave_the_game_where_it_is(count: int) -> None:
    """Two ratios and an outcome as likely under both: states in a square, where each order is tried in each."""
    p, q = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)], [Fraction(1, 2), Fraction(1, 10), Fraction(2, 5)]
    plan = count * LossPair(p, q)
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3, 2)):
        assert plan.profile is not None
        found, truth = plan.profile.delta(epsilon), adaptive((p, q), count, epsilon)
        assert found.method == "adaptive recursion"
        assert found.lower <= truth <= found.upper <= truth * (1 + mpf(10) ** -12) + mpf(10) ** -290


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(epsilon=1), RandomizedResponse(epsilon=1, k=4)], ids=repr)
def test_irrational_masses_of_a_sample_are_rounded_outward(mechanism: Mechanism) -> None:
    """Exact hockey sticks of the rounded law are above those of the law that is rounded the other way."""
    claim = sampled_claim(mechanism.pair(), Fraction(1, 3), cells=True)
    law, below = claim.upper, claim.lower[0][0][0]

    def delta(one: FiniteLaw, g: Fraction) -> Fraction:
        return one.revealed + sum(p * (1 - g / ratio) for ratio, p in one.masses if ratio > g)

    points = [g for one in (law, below) for g, _ in one.masses]
    gaps = [delta(law, g) - delta(below, g) for g in points]
    assert min(gaps) >= 0
    assert 0 < max(gaps) < Fraction(1, 2**150)


# The divergence in each order is not below the truth, to the last bit.


def divergence(p: list[Fraction], q: list[Fraction], order: int) -> mpf:
    with mp.workdps(60):
        total = sum(a**order / b ** (order - 1) for a, b in zip(p, q, strict=True))
        return mp.log(mpf(total.numerator) / total.denominator) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 7])
def test_neither_order_is_rounded_below_the_truth(order: int) -> None:
    for n in range(1, 12):
        p, q = [Fraction(n, 13), Fraction(13 - n, 13)], [Fraction(1, 2), Fraction(1, 2)]
        found = rdp_each_way(LossPair(p=p, q=q, ordered=True), Fraction(order))
        for one, truth in zip(found, (divergence(p, q, order), divergence(q, p, order)), strict=True):
            with mp.workdps(60):
                assert mpf(one.numerator) / one.denominator >= truth, (n, order)


class Part:
    """A part of a plan with laws of one's choice, whose larger divergence is known to be `most`."""

    def __init__(self, laws: list[tuple[LossLaw | None, int]], relation: Relation, most: float = 100.0) -> None:
        self.claims = [(None if law is None else Claim(law), times) for law, times in laws]
        self.relation, self.most = relation, most

    def rdp(self, order: Fraction) -> float:
        del order
        return self.most


def both(*parts: tuple[Part, int], order: int = 3) -> tuple[float | None, float | None]:
    first, second = rdp_each_way(SimpleNamespace(parts=parts), Fraction(order))  # type: ignore[arg-type]
    return None if first is None else float(first), None if second is None else float(second)


P, Q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 10), Fraction(9, 10)]
ORDERED, ADD = directed_law(P, Q), Relation.ADD_REMOVE


def test_every_coordinate_and_every_use_is_counted_in_its_own_order() -> None:
    forward, backward = float(divergence(P, Q, 3)), float(divergence(Q, P, 3))
    assert both((Part([(ORDERED, 1)], ADD), 1)) == pytest.approx((forward, backward), rel=1e-12)
    assert both((Part([(ORDERED, 4)], ADD), 5)) == pytest.approx((20 * forward, 20 * backward), rel=1e-12)
    mixed = Part([(ORDERED, 2), (directed_law(Q, P), 3)], ADD)
    assert both((mixed, 1)) == pytest.approx((2 * forward + 3 * backward, 3 * forward + 2 * backward), rel=1e-12)
    two = (Part([(ORDERED, 1)], ADD), 2), (Part([(directed_law(Q, P), 1)], ADD), 3)
    assert both(*two) == pytest.approx((2 * forward + 3 * backward, 3 * forward + 2 * backward), rel=1e-12)


def test_what_does_not_know_its_order_costs_the_larger_in_both() -> None:
    """Of other neighbours, of coordinates without a law, and of symmetric ones."""
    assert both((Part([(ORDERED, 1)], Relation.REPLACE, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(ORDERED, 1)], Relation.EITHER, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(ORDERED, 1), (None, 1)], ADD, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(None, 1)], ADD, 7.0), 1)) == (7.0, 7.0)
    assert both((Part([(three_point_pair(Fraction(1)), 1)], ADD, 7.0), 1)) == (7.0, 7.0)


def test_neither_order_costs_more_than_the_larger_of_both() -> None:
    forward, backward = float(divergence(P, Q, 3)), float(divergence(Q, P, 3))
    most = (forward + backward) / 2
    assert both((Part([(ORDERED, 1)], ADD, most), 1)) == pytest.approx((min(most, forward), min(most, backward)))


def test_what_is_infinite_in_one_order_is_so_in_both() -> None:
    """An outcome that only one of the two can produce: no finite number is told for either."""
    away = directed_law([Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    assert both((Part([(ORDERED, 1)], ADD), 1), (Part([(away, 1)], ADD, inf), 1)) == (None, None)
    found = both((Part([(away, 1)], ADD, 50.0), 1))  # a bound that is known otherwise stays
    assert found[1] == 50
    assert found[0] is not None
    assert found[0] < 50


# The largest over finitely many pairs at each order: in every quantity, whichever pair is the worst there.


F = Fraction


Pair = tuple[list[Fraction], list[Fraction]]

STEEP: Pair = ([F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)])
RARE: Pair = ([F(1, 1000), F(999, 1000)], [F(1, 100_000), F(99_999, 100_000)])
FLAT: Pair = ([F(2, 5), F(1, 5), F(2, 5)], [F(1, 5), F(2, 5), F(2, 5)])


class Pairs(FiniteEnvelope):
    """These pairs, each in both orders."""

    def __init__(self, *rows: Pair, expected: Sequence[int] | None = None, away: bool = False) -> None:
        self.rows, self.expected, self.away = rows, expected, away

    def pairs(self) -> list[FinitePair]:
        found = []
        for one, other in self.rows:
            for p, q in ((one, other), (other, one)):
                masses = [lift(x) for x in p]
                found.append(FinitePair(masses, [lift(x / y).log() for x, y in zip(p, q, strict=True)]))
        return found

    def candidates(self) -> Sequence[int] | None:
        return self.expected

    @property
    def unbounded(self) -> bool:
        return self.away

    @property
    def largest_loss(self) -> Exact | None:
        raise BadValue("of several pairs")


def cumulant(rows: Sequence[Pair], s: float) -> float:
    """The largest log of the sum of p^{1+s} q^{-s}."""
    values = []
    for one, other in rows:
        for p, q in ((one, other), (other, one)):
            a, b = np.array(p, dtype=float), np.array(q, dtype=float)
            values.append(log((a * (a / b) ** s).sum()))
    return max(values)


def slope(rows: Sequence[Pair]) -> float:
    return max(
        sum(float(p) * log(p / q) for p, q in zip(*both, strict=True)) for row in rows for both in (row, row[::-1])
    )


def largest(rows: Sequence[Pair]) -> float:
    return max(log(max(p / q, q / p)) for row in rows for p, q in zip(*row, strict=True))


SETS: dict[str, list[Pair]] = {
    "one": [STEEP],
    "a rare outcome last": [STEEP, FLAT, RARE],
    "a rare outcome first": [RARE, FLAT, STEEP],
    "the largest loss is not of the first outcome": [([F(9, 10), F(1, 10)], [F(99, 100), F(1, 100)])],
}


@pytest.mark.parametrize("name", SETS)
def test_each_order_has_the_worst_of_all_pairs(name: str) -> None:
    rows = SETS[name]
    curve = Pairs(*rows)
    for s in (0.1, 1.0, 4.0, 30.0, 120.0):
        assert curve.rdp(1 + s) == pytest.approx(cumulant(rows, s) / s, rel=1e-12)
        assert at_precision(128, lambda s=s: float(curve.cumulant(arb(s)))) == pytest.approx(cumulant(rows, s))
    assert curve.rdp(1) == pytest.approx(slope(rows), rel=1e-12)
    assert curve.pure_epsilon == curve.rdp("inf") == pytest.approx(largest(rows), rel=1e-15)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("expected", [None, [0], [1]])
def test_rho_is_that_of_the_worst_pair_whichever_is_expected(name: str, expected: list[int] | None) -> None:
    """The rare outcome costs most at a high order, the others at order 1: a fine grid of orders, and the slope."""
    rows = SETS[name]
    grid = np.geomspace(1e-3, 100, 600)
    truth = max(slope(rows), *(cumulant(rows, s) / (s * (1 + s)) for s in grid))
    curve = Pairs(*rows, expected=expected)
    lower, upper = curve.rho_bounds
    assert lower <= truth * (1 + 1e-3)
    assert truth * (1 - 1e-12) <= upper
    assert upper - lower < 1e-9
    assert curve.search_rho() == pytest.approx((lower, upper), rel=1e-9)
    at = curve.rho_order - 1
    ratio = cumulant(rows, at) / (at * (1 + at)) if at > 1e-9 else slope(rows)
    assert ratio == pytest.approx(lower, rel=1e-6)
    assert lower >= truth * (1 - 1e-9)


def test_what_gives_an_input_away_costs_everything_and_what_is_alike_nothing() -> None:
    away = Pairs(STEEP, away=True)
    assert away.rho == away.pure_epsilon == away.rdp(2) == away.rdp(1) == inf
    assert away.rho_bounds == away.search_rho() == (inf, inf)
    assert at_precision(128, lambda: away.cumulant(arb(1))) == inf
    assert at_precision(128, away.kl) == inf
    alike = Pairs()
    assert alike.rho == alike.pure_epsilon == alike.rdp(2) == alike.rdp(1) == 0
    assert alike.rho_bounds == alike.search_rho() == (0.0, 0.0)


def test_an_envelope_has_no_series_and_no_peak_of_its_own() -> None:
    curve = Pairs(STEEP)
    with pytest.raises(BadType, match="real orders"):
        curve.cumulant(arb_series([1, 1], prec=3))
    with pytest.raises(NotCertified):
        curve.peak()
    assert curve.is_envelope


def test_a_pair_and_its_derivatives_are_those_of_its_outcomes() -> None:
    def run() -> None:
        p, q = RARE
        pair = FinitePair([lift(x) for x in p], [lift(x / y).log() for x, y in zip(p, q, strict=True)])

        def k(s: float) -> float:
            return log(sum(float(x) * (float(x) / float(y)) ** s for x, y in zip(p, q, strict=True)))

        for s in (0.5, 2.0):
            value, first, second = pair.taylor(arb(s))
            assert float(value) == float(pair.value(arb(s))) == pytest.approx(k(s), rel=1e-12)
            assert float(first) == pytest.approx((k(s + 1e-4) - k(s - 1e-4)) / 2e-4, rel=1e-6)
            assert float(second) == pytest.approx((k(s + 1e-3) + k(s - 1e-3) - 2 * k(s)) / 1e-6, rel=1e-4)
        assert float(pair.largest()) == float(pair.convex().largest) == pytest.approx(log(100), rel=1e-14)
        assert float(pair.kl()) == float(pair.convex().kl) == pytest.approx(slope([(p, q)]), rel=1e-12)
        assert float(pair.convex().value(arb(2))) == pytest.approx(k(2.0), rel=1e-12)

    at_precision(128, run)


def test_the_largest_of_balls_that_overlap_holds_all_it_may_be() -> None:
    def run() -> None:
        one, other, third = arb(1).union(arb(3)), arb(2).union(arb(4)), arb(0)
        for balls in ((one, other, third), (other, third, one), (third, one, other)):
            found = max_ball(balls)
            assert found.contains(arb(2))
            assert found.contains(arb(4))
            assert found >= arb("1.9")

    at_precision(64, run)


def test_which_orders_are_infinite() -> None:
    for order in (inf, "inf", " Infinity ", "+inf", "+INFINITY", Decimal("inf")):
        assert is_infinite(order)
        assert PureDP(epsilon=2).rdp(order) == 2
        assert Gaussian(sigma=1).rdp(order) == inf
    for order in (-inf, "-inf", Decimal("-inf"), 1e300, "1e300", Decimal(10) ** 300, 7, F(7, 2)):
        assert not is_infinite(order)
    for order in (-inf, "-inf", Decimal("-inf"), "0.5", 0.999, F(1, 2), "nan", 0):
        with pytest.raises((BadValue, BadType)):
            Laplace(epsilon=1).rdp(order)


def test_arrays_of_orders_keep_each_of_them_exact() -> None:
    """A large fraction beside a float is not rounded; shapes stay."""
    noise = Gaussian(rho="1/2")
    large = F(3 * 10**15 - 1, 3)
    found = noise.rdp([1.5, large])
    assert found.tolist() == [0.75, noise.rdp(large)]
    assert F(float(found[1])) >= large / 2
    assert noise.rdp(np.array([[1.0, 2.0], [3.0, inf]])).tolist() == [[0.5, 1.0], [1.5, inf]]


@pytest.mark.parametrize("order", [1.0000001, 1.5, 2.0, 7.3, 1e6])
def test_one_attempt_is_rounded_up_or_none(order: float) -> None:
    """K(s) = s(1+s)/3: the divergence is order/3, which no float is."""

    def sharp(s: arb) -> arb:
        return s * (1 + s) / 3

    found = quick_divergence(sharp, order)
    assert found is not None
    assert F(order) / 3 <= F(found) <= F(order) / 3 * (1 + F(1, 2**51))
    assert quick_divergence(lambda s: sharp(s) * arb(1, 1e-10), order) is None
    assert quick_divergence(lambda s: s * arb("+inf"), order) is None
    assert quick_divergence(lambda s: s / 0, order) is None


class Low(PureDP):
    """Pure DP of epsilon 1/4 of which the curve is only a bound, far above what is so."""

    def cumulant(self, s: arb) -> arb:  # type: ignore[override]
        return 3 * s * (1 + s)

    def peak(self) -> Peak:
        return Peak(arb(3), arb(1))


def test_no_divergence_exceeds_the_largest_loss() -> None:
    one = Low(epsilon="1/4")
    assert one.rdp(2) == one.rdp(F(5, 2)) == one.rdp(1) == 0.25
