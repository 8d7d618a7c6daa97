"""What a law claims of itself, of its lower laws and of the other order, in every combination; and its lattice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import exp, log
from typing import Any

import pytest
from flint import acb, arb

from zcdp import Gaussian, Laplace, NotCertified
from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import (
    Claim,
    Factor,
    LossLaw,
    directed_law,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    envelope_of_rows,
    finite_law,
    gaussian_pair,
    laplace_pair,
    logistic_pair,
    profile_law,
    replaced_claim,
    sampled_claim,
    three_point_pair,
)
from zcdp.privacy.loss.decay import MonotoneShare, Share
from zcdp.privacy.loss.exponential_law import ExponentialSum, Terms
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.law import Outcomes, Parts
from zcdp.privacy.loss.transform import Points, Taylor
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.routes import Routes

ONE, OTHER, THIRD = (three_point_pair(Fraction(1, n)) for n in (8, 9, 10))
NEIGHBOURS: tuple[Parts, ...] = (((ONE, 2), (THIRD, 1)), ((OTHER, 1),))


@pytest.mark.parametrize("stated", list(product([False, True], repeat=4)))
def test_lower_ends_rest_on_what_is_attained_and_on_nothing_else(stated: tuple[bool, ...]) -> None:
    """A law that is exact for one use is none of several; nor is a lower law of one use alone."""
    exact, exact_alone, has_alone, has_neighbours = stated
    law = three_point_pair(Fraction(1))
    own: Parts = ((law, 1),)
    claim = Claim(
        law,
        lower=((own,) if exact else ()) + (NEIGHBOURS if has_neighbours else ()),
        lower_alone=(own,) if exact_alone else ((((OTHER, 1),),) if has_alone else ()),
    )
    assert claim.exact == exact
    assert claim.exact_alone == (exact or exact_alone)
    several, alone = claim.attained(alone=False), claim.attained(alone=True)
    assert several == ((own,) if exact else ()) + (NEIGHBOURS if has_neighbours else ())
    if exact:
        assert alone == several
    elif exact_alone:
        assert alone == (own,)
    elif has_alone:
        assert alone == (((OTHER, 1),),)
    else:
        assert alone == several


def test_a_law_by_itself_claims_nothing() -> None:
    """Whoever says no more than what dominates has said nothing of what is attained."""
    only = Claim(three_point_pair(Fraction(1)))
    assert (only.exact, only.exact_alone, only.lower, only.lower_alone, only.coarser) == (False, False, (), (), None)
    assert Claim(only.upper, lower=Claim.laws(ONE, only.upper)).exact is False  # The best lower law comes first.
    assert Claim.laws(None, ONE, None) == (((ONE, 1),),)


def ordered(*atoms: tuple[str, str]) -> LossLaw:
    return finite_law([(Fraction(p), Fraction(q)) for p, q in atoms])


def test_a_lower_law_may_not_be_above() -> None:
    law = laplace_pair(Fraction(1))
    for lower in (((law, 1),), ((laplace_pair(Fraction(9, 10)), 1),), ((laplace_pair(Fraction(1, 5)), 2),)):
        Claim(law, lower=(lower,)).check()
    for lower in (
        ((laplace_pair(Fraction(11, 10)), 1),),
        ((gaussian_pair(lambda: arb(9)), 1),),
        ((laplace_pair(Fraction(9, 10)), 2),),
    ):
        with pytest.raises(BadValue, match="lower law that is above"):
            Claim(law, lower=(((ONE, 1),), lower)).check()
    with pytest.raises(BadValue, match="not 1"):
        Claim(law, lower=Claim.laws(ExponentialSum(Fraction(1, 2), lambda: [[arb("0.3")], [arb("0.3")]]))).check()


def test_renyi_divergences_are_those_of_the_pair() -> None:
    law = ordered(("1/2", "3/10"), ("1/2", "7/10"))
    for s in (0.5, 1.0, 7.0):
        truth = log(0.5 ** (1 + s) / 0.3**s + 0.5 ** (1 + s) / 0.7**s) / s
        assert float(at_precision(128, lambda s=s: law.renyi(arb(s)))) == pytest.approx(truth)
    assert at_precision(128, lambda: ordered(("1/2", "0"), ("1/2", "1")).renyi(arb(1))) == arb.pos_inf()


def test_largest_ratios_are_those_of_the_first_and_the_last_outcome() -> None:
    rows = [("1/2", "1/8"), ("3/8", "3/8"), ("1/8", "1/2")]
    found = Outcomes([(lift(Fraction(p)), lift(Fraction(q))) for p, q in rows]).largest_ratios()
    assert [float(x) for x in found] == [4, 4]
    rows = [("1/2", "1/10"), ("3/8", "3/10"), ("1/8", "6/10")]
    found = Outcomes([(lift(Fraction(p)), lift(Fraction(q))) for p, q in rows]).largest_ratios()
    assert [float(x) for x in found] == pytest.approx([5, 4.8])
    for p, q in (("0", "1/2"), ("1/2", "0")):
        rest = Fraction(1) - Fraction(p), Fraction(1) - Fraction(q)
        both = [(lift(Fraction(p)), lift(Fraction(q))), (lift(rest[0]), lift(rest[1]))]
        ends = Outcomes(both if q == "0" else both[::-1]).largest_ratios()
        assert [end.is_finite() for end in ends] == [q != "0", p != "0"]


# Laws written from outside, by the recipe of privacy/loss/law.py alone; and claims that must be refused.


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
    symmetric: bool = False  # type: ignore[misc]

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
    law = TwoLosses(a, b)
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
        TwoLosses(a, b, symmetric=True),
        ExponentialSum(Fraction(1), lopsided),
        ExponentialSum(Fraction(1), three_point_pair(Fraction(1), 5).terms, Fraction(1, 2)),
    ):
        with pytest.raises(ValueError, match="claims to be symmetric"):
            Profile(((law, 2),))
    # A law of rational masses cannot claim it: whether it is symmetric is decided.
    assert not FiniteLaw(((a / b, a), ((1 - a) / (1 - b), 1 - a)), Fraction(0), Fraction(0)).symmetric


# No law and no transformation of one loses mass, and what only dominates is never called exact.


ONE_THIRD = Fraction(1, 3)


MIXED = {"symmetric": False}


@dataclass(frozen=True, eq=False)
class Told(LossLaw):
    """Outcomes with these masses, of which `ready` tells only what it is asked to tell."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    tells: bool = True
    symmetric: bool = True  # type: ignore[misc]

    def ready(self) -> Factor:
        return ToldFactor(self.masses, tells=self.tells)

    def reverse(self) -> LossLaw:
        return self if self.symmetric else replace(self, masses=tuple((q, p) for p, q in self.masses))


class ToldFactor(Factor):
    def __init__(self, masses: tuple[tuple[Fraction, Fraction], ...], *, tells: bool) -> None:
        self.finite = [(lift(p), lift(p / q).log()) for p, q in masses if p and q]
        if tells:
            self.revealed = lift(sum((p for p, q in masses if not q), Fraction(0)))

    def moment(self, z: Any) -> Any:
        return sum(((z * loss).exp() * mass for mass, loss in self.finite), z * 0)


def atoms(*pairs: tuple[str, str]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(p), Fraction(q)) for p, q in pairs)


TEXTBOOK = atoms(("0.01", "0"), ("0.7425", "0.2475"), ("0.2475", "0.7425"), ("0", "0.01"))
ONLY_P = atoms(("0.25", "0"), ("0.5", "0.25"), ("0.25", "0.75"))
ONLY_Q = tuple((q, p) for p, q in ONLY_P)


def test_a_law_from_outside_with_all_of_its_mass_is_taken() -> None:
    half = Fraction(1, 2)
    assert Profile(((Told(TEXTBOOK), 1),)).delta_bounds(half)[1] >= 0.01 + 0.7425 - exp(0.5) * 0.2475
    for masses in (ONLY_P, ONLY_Q):
        assert Profile(((Told(masses, **MIXED), 1),)).delta_bounds(half)[1] >= 0.25 + 0.5 - exp(0.5) * 0.25


@pytest.mark.parametrize(
    ("law", "rule"),
    [
        (Told(TEXTBOOK, tells=False), "P-mass of .*not 1"),
        (Told(ONLY_P, tells=False, **MIXED), "P-mass of .*not 1"),
        (Told(ONLY_Q, tells=False, **MIXED), "Q-mass of .*not 1"),
        (Told(atoms(("0.5", "0.25"), ("0.25", "0.5"))), "P-mass of .*not 1"),
        (Told(atoms(("0.5", "0.25"), ("0.75", "0.75")), **MIXED), "P-mass of .*not 1"),
    ],
)
def test_one_that_loses_mass_is_refused(law: LossLaw, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        Profile(((law, 3),))


class Cancelled(Told):
    """Most digits of its transform cancel."""

    def ready(self) -> Factor:
        return CancelledFactor(self.masses, tells=self.tells)


class CancelledFactor(ToldFactor):
    def moment(self, z: Any) -> Any:
        huge = arb(10) ** 60
        return (super().moment(z) + huge) - huge


def test_one_that_does_not_tell_is_asked_again() -> None:
    """A ball of the mass that holds everything holds 1 too: that says nothing."""
    half = Fraction(1, 2)
    honest, lossy = (Cancelled(masses) for masses in (TEXTBOOK, atoms(("0.5", "0.25"), ("0.25", "0.5"))))
    assert Profile(((honest, 1),)).delta_bounds(half)[1] >= 0.01 + 0.7425 - exp(0.5) * 0.2475
    with pytest.raises(ValueError, match=r"P-mass of .*not 1"):
        Profile(((lossy, 1),))


@pytest.mark.parametrize("masses", [ONLY_P[:-1], ONLY_Q[:-1], ONLY_P[1:], (*TEXTBOOK, *atoms(("0", "0.01")))])
def test_outcomes_that_do_not_add_up_are_refused(masses: tuple[tuple[Fraction, Fraction], ...]) -> None:
    with pytest.raises(ValueError, match="not to 1"):
        Outcomes([(lift(p), lift(q)) for p, q in masses])
    with pytest.raises(ValueError, match="must sum to 1"):
        finite_law(list(masses))


def test_a_profile_that_contradicts_itself_is_refused() -> None:
    for ends, infinite in (((0.5, 0.25), 0.0), ((0.0, 0.25), 0.5)):
        law = profile_law(
            lambda _, ends=ends: (arb(ends[0]), arb(ends[1])), arb.pos_inf, lambda mass=infinite: arb(mass)
        )
        found = law.ends_alone()
        assert found is not None
        with pytest.raises(ValueError, match="above its upper end"):
            found(arb(1))


def test_ends_that_contradict_each_other_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two ends in the wrong order one is a guarantee below the truth: neither is told."""
    monkeypatch.setattr(Routes, "_below", lambda *_: 0.99)
    monkeypatch.setattr(Routes, "_pure_from_below", lambda *_: 99.0)
    plan = 2 * Laplace(epsilon="0.1")
    with pytest.raises(NotCertified, match="contradict"):
        plan.delta_bounds(epsilon="0.1")
    with pytest.raises(NotCertified, match="contradict"):
        plan.epsilon_bounds(delta="0.01")
    with pytest.raises(NotCertified, match="contradict"):
        plan.epsilon_bounds(delta=0)


def kinds_of_claim() -> Iterator[Claim]:
    rng = random.Random(7)
    for zeros in ((), (0,), (-1,), (0, -1)):
        p, q = ([Fraction(rng.randrange(1, 9)) for _ in range(4)] for _ in "pq")
        for place in zeros:
            (q if place == 0 else p)[place] = Fraction(0)
        rows = [[entry / sum(row) for entry in row] for row in (p, q)]
        yield Claim.exactly(directed_law(*rows))
        envelope = envelope_of_rows([(rows[0], rows[1])])
        assert envelope is not None
        yield envelope
    yield from map(Claim, (three_point_pair(Fraction(1), 5), laplace_pair(Fraction(2)), logistic_pair(Fraction(1))))
    for law in (
        discrete_laplace_pair(Fraction(1), 4),
        discrete_gaussian_pair(Fraction(3), 2),
        laplace_pair(Fraction(1)),
    ):
        yield Claim.exactly(law)
    gaussian = Gaussian(sigma=2).pair()
    assert gaussian is not None
    yield gaussian


def transformed(claim: Claim) -> Iterator[Claim]:
    for cells in (False, True):
        for drawn in (
            sampled_claim(claim, ONE_THIRD, cells=cells),
            replaced_claim(claim, ONE_THIRD, cells=cells),
        ):
            if drawn is not None:
                yield drawn
                yield from filter(None, (sampled_claim(drawn, ONE_THIRD), replaced_claim(drawn, ONE_THIRD)))


def laws_of(claim: Claim) -> Iterator[LossLaw]:
    yield claim.upper
    yield from (law for parts in (*claim.lower, *claim.lower_alone) for law, _ in parts)
    if claim.coarser is not None:
        yield claim.coarser


@pytest.mark.parametrize("claim", list(kinds_of_claim()), ids=lambda claim: type(claim.upper).__name__)
def test_every_transformation_of_every_kind_keeps_all_mass(claim: Claim) -> None:
    """M(0) with P(L = +inf) is the mass of P; of the reversed law it is that of Q."""
    found = [law for one in (claim, *transformed(claim)) for law in laws_of(one)]
    assert len(found) > 1
    for one in found:
        for way in (one, one.reverse()):

            def mass(way: LossLaw = way) -> arb:
                factor = way.ready()
                return factor.real_moment(arb(0)) + factor.revealed

            total = at_precision(256, mass)
            assert total.overlaps(arb(1))
            assert total.rad() < 1e-9
