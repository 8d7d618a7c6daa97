"""No law and no transformation of one loses mass, and what only dominates is never called exact."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp
from typing import Any

import pytest
from flint import arb

from zcdp import Gaussian, Laplace, NotCertified
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import (
    Factor,
    LossLaw,
    directed_law,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    envelope_of_rows,
    finite_law,
    laplace_pair,
    logistic_pair,
    profile_law,
    replaced_law,
    sampled_law,
    three_point_pair,
)
from zcdp.privacy.loss.law import Outcomes
from zcdp.privacy.profile.grid_engine import SampledProfile, law_above
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.relation import Relation
from zcdp.privacy.routes import Routes

THIRD = Fraction(1, 3)
MIXED = {"symmetric": False, "relation": Relation.ADD_REMOVE}


@dataclass(frozen=True, eq=False)
class Told(LossLaw):
    """Outcomes with these masses, of which `ready` tells only what it is asked to tell."""

    masses: tuple[tuple[Fraction, Fraction], ...]
    tells: bool = True

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
        (laplace_pair(Fraction(1), witness=laplace_pair(Fraction(2))), "a lower law that is above it"),
        (laplace_pair(Fraction(1), witness=finite_law(TEXTBOOK)), "a lower law that is above it"),
        (laplace_pair(Fraction(3), witness=finite_law(TEXTBOOK)), "a lower law that is above it"),  # by infinite losses
    ],
)
def test_one_that_loses_mass_or_claims_too_much_is_refused(law: LossLaw, rule: str) -> None:
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


def test_a_grid_of_what_is_no_profile_is_refused() -> None:
    x = [arb(n).exp() for n in (-1, 0, 1)]
    heights = [arb("0.7"), arb("0.4"), arb("0.2")]
    law = law_above(SampledProfile(-1, x, heights))
    assert law.revealed > 0
    assert sum(law.masses, law.revealed).overlaps(arb(1))
    for broken in ([*heights[:2], arb("-0.1")], [arb("0.7"), arb("0.69"), arb("0.2")]):
        with pytest.raises(ValueError, match="negative mass"):
            law_above(SampledProfile(-1, x, broken))


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


def kinds_of_law() -> Iterator[LossLaw]:
    rng = random.Random(7)
    for zeros in ((), (0,), (-1,), (0, -1)):
        p, q = ([Fraction(rng.randrange(1, 9)) for _ in range(4)] for _ in "pq")
        for place in zeros:
            (q if place == 0 else p)[place] = Fraction(0)
        rows = [[entry / sum(row) for entry in row] for row in (p, q)]
        yield directed_law(*rows)
        envelope = envelope_of_rows([(rows[0], rows[1])])
        assert envelope is not None
        yield envelope
    yield from (three_point_pair(Fraction(1), 5), laplace_pair(Fraction(2)), logistic_pair(Fraction(1)))
    yield from (discrete_laplace_pair(Fraction(1), 4), discrete_gaussian_pair(Fraction(3), 2))
    gaussian = Gaussian(sigma=2).pair()
    assert gaussian is not None
    yield gaussian


def transformed(law: LossLaw) -> Iterator[LossLaw]:
    for cells in (False, True):
        yield from filter(None, (sampled_law(law, THIRD, cells=cells), replaced_law(law, THIRD, cells=cells)))
    for one in (sampled_law(law, THIRD), replaced_law(law, THIRD)):
        if one is not None:
            yield one.reverse()
            yield from filter(None, (sampled_law(one, THIRD), replaced_law(one, THIRD), one.witness, one.coarser))


@pytest.mark.parametrize("law", list(kinds_of_law()), ids=lambda law: type(law).__name__)
def test_every_transformation_of_every_kind_keeps_all_mass(law: LossLaw) -> None:
    """M(0) with P(L = +inf) is the mass of P; of the reversed law it is that of Q."""
    found = [law, *transformed(law)]
    assert len(found) > 1
    for one in found:
        for way in (one, one.reverse()):

            def mass(way: LossLaw = way) -> arb:
                factor = way.ready()
                return factor.real_moment(arb(0)) + factor.revealed

            total = at_precision(256, mass)
            assert total.overlaps(arb(1))
            assert total.rad() < 1e-9


def test_what_only_dominates_is_never_exact() -> None:
    """Unless its author says so, a law is one that dominates; and a transformation takes over no more than it had."""
    for law in (laplace_pair(Fraction(1)), logistic_pair(Fraction(1)), three_point_pair(Fraction(1))):
        assert not law.exact
        for drawn in (sampled_law(law, THIRD), replaced_law(law, THIRD)):
            assert drawn is not None
            assert (drawn.exact, drawn.exact_alone, drawn.witness, drawn.neighbours) == (False, False, None, ())
    own = laplace_pair(Fraction(1), exact=True)
    alone, several = sampled_law(own, THIRD), replaced_law(own, THIRD)
    assert alone is not None
    assert alone.exact
    assert several is not None
    assert several.exact_alone
    assert not several.exact
