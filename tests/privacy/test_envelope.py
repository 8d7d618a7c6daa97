"""Envelope laws and the adaptive recursion against sums over all outcomes and all choices of an adversary."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import pytest
from mpmath import mp, mpf

from zcdp import (
    BinaryRandomizedResponse,
    Channel,
    DiscreteLaplace,
    Laplace,
    LossPair,
    Mechanism,
    Plan,
    PureDP,
    RandomizedResponse,
    TruncatedGeometric,
)
from zcdp.privacy.loss import directed_law, envelope_of_rows
from zcdp.privacy.loss.envelope_law import sampled_law
from zcdp.privacy.loss.exponential_terms import FreeAtoms
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.profile.profile import Profile

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
        law = Channel(rows).pair()
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
    law = one.pair()
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
    law = envelope_of_rows([(rows[0], rows[1])])
    assert law is not None
    assert isinstance(law.expansion(), FreeAtoms)
    laplace = Laplace(epsilon="0.3").pair()
    assert laplace is not None
    whole = Profile(((law, 2), (laplace, 1))).delta(Fraction(1, 2))
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
    law = sampled_law(mechanism.pair(), Fraction(1, 3), cells=True)
    below = law.witness

    def delta(one: FiniteLaw, g: Fraction) -> Fraction:
        return one.revealed + sum(p * (1 - g / ratio) for ratio, p in one.masses if ratio > g)

    points = [g for one in (law, below) for g, _ in one.masses]
    gaps = [delta(law, g) - delta(below, g) for g in points]
    assert min(gaps) >= 0
    assert 0 < max(gaps) < Fraction(1, 2**150)
