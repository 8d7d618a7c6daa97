"""Laws of finitely many losses against their outcomes, in fractions: in both orders, on a sample, and as rows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from flint import acb, arb, arb_series

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log
from zcdp.privacy.loss import LossLaw, finite_law
from zcdp.privacy.loss.finite_law import FiniteLaw, RowOfAtoms, _common_base, envelope_of_atoms, mixed
from zcdp.privacy.loss.law import Game

Atoms = list[tuple[Fraction, Fraction]]
GROWTHS = [Fraction(n, 8) for n in (0, 2, 5, 8, 9, 12, 17, 30, 90)]


def outcomes(random: Random, *, powers: bool) -> Atoms:
    """Rows of a few outcomes, some of which only one of the two produces; `powers`: ratios are powers of 3/2."""
    size = random.randint(2, 5)
    q = [Fraction(random.choice([0, 1, 2, 5, 7])) for _ in range(size)]
    p = [m * Fraction(3, 2) ** random.randint(-3, 3) if powers else Fraction(random.randint(0, 9)) for m in q]
    p, q = [*p, Fraction(random.randint(0, 2))], [*q, Fraction(0)]
    p, q = [*p, Fraction(0), Fraction(1)], [*q, Fraction(random.randint(0, 2)), Fraction(1)]
    return [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True) if a or b] if not powers else _even(p, q)


def _even(p: list[Fraction], q: list[Fraction]) -> Atoms:
    """Of one total, by an outcome that only one of them has: all other ratios stay."""
    whole = max(sum(p), sum(q)) + 1
    rows = [(a / whole, b / whole) for a, b in zip(p, q, strict=True) if a or b]
    return [*rows, (1 - sum(p) / whole, Fraction(0)), (Fraction(0), 1 - sum(q) / whole)]


def delta(atoms: Atoms, growth: Fraction) -> Fraction:
    return sum((max(p - growth * q, Fraction(0)) for p, q in atoms), Fraction(0))


def delta_of(law: LossLaw, growth: Fraction) -> Fraction:
    """From the masses that the law itself lists."""
    source = getattr(law, "source", law)
    assert isinstance(source, FiniteLaw)
    return delta(source.atoms, growth)


def moment(atoms: Atoms, z: acb) -> acb:
    return sum((lift(p) * (z * (lift(p) / lift(q)).log()).exp() for p, q in atoms if p and q), acb(0))


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_a_finite_law_is_that_of_its_outcomes(seed: int, powers: bool) -> None:
    atoms = outcomes(Random(seed), powers=powers)
    law = finite_law(atoms)
    back = law.reverse()
    turned = [(q, p) for p, q in atoms]
    assert isinstance(law, RowOfAtoms) or not powers or max(p / q for p, q in atoms if p and q) <= 1
    for one, truth in ((law, atoms), (back, turned), (back.reverse(), atoms)):
        assert all(delta_of(one, g) == delta(truth, g) for g in GROWTHS)

        def asked(one: LossLaw = one, truth: Atoms = truth) -> None:
            factor = one.ready()
            for z in (acb(0), acb(1), acb(-1), acb(2.5, 1.3), acb(0.2, -7)):
                assert factor.moment(z).overlaps(moment(truth, z))
                assert factor.moment(z).rel_accuracy_bits() > 60
            series = factor.moment(arb_series([arb(1), 1], prec=2))
            step = arb(2) ** -40
            slope = (moment(truth, acb(1 + step)) - moment(truth, acb(1 - step))).real / (2 * step)
            assert abs(series[1] - slope) < 1e-10
            assert factor.revealed.overlaps(lift(sum((p for p, q in truth if not q), Fraction(0))))
            ratios = sorted(p / q for p, q in truth if p and q)
            assert one.largest().overlaps(lift(Log(ratios[-1])) if ratios[-1] != 1 else arb(0))
            top = sum((p for p, q in truth if q and p / q == ratios[-1]), Fraction(0))
            assert factor.near_top(arb(1))[0].overlaps(lift(top))
            w = acb(1.2, 0.4)
            expansion = one.expansion()
            assert expansion is not None
            terms = [acb(row[0]) * (w * expansion.exponent(k)).exp() for k, row in enumerate(expansion.rows)]
            assert sum(terms, acb(0)).overlaps(moment(truth, w - acb(0.5)))
            listed = one.outcomes()
            assert listed is not None
            for (p, q), (less, more) in pairwise(listed):
                assert not less * q > more * p  # the largest ratio first
            assert sum((p for p, _ in listed), arb(0)).overlaps(arb(1))

        at_precision(128, asked)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rate", ["1/10", "3/4"])
def test_a_sample_mixes_every_outcome(seed: int, rate: str) -> None:
    q = Fraction(rate)
    atoms = outcomes(Random(seed), powers=seed % 2 == 0)
    truth = [(q * a + (1 - q) * b, b) for a, b in atoms]
    law = finite_law(atoms)
    sampled = law.sampled(q)
    assert sampled is not None
    assert not sampled.symmetric
    either = law.replaced(q)
    assert either is not None
    assert either.symmetric
    for g in GROWTHS:
        assert delta(mixed(atoms, q), g) == delta_of(sampled, g) == delta(truth, g)
        assert delta_of(sampled.reverse(), g) == delta([(b, a) for a, b in truth], g)
        worse = max(delta(truth, g), delta([(b, a) for a, b in truth], g))
        assert delta_of(either, g) == worse
        found = envelope_of_atoms(truth)
        assert found is not None
        assert delta_of(found, g) == worse


def test_the_game_of_atoms_is_that_of_their_row() -> None:
    atoms = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))]
    game = Game((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3)))
    law = finite_law(atoms, rows=game)
    assert isinstance(law, RowOfAtoms)
    assert law.game() is game
    assert finite_law(atoms).game() is None


def test_whether_a_law_is_symmetric_is_decided_by_its_masses() -> None:
    """A row and free atoms alike: the P-mass of each loss is the Q-mass of the loss with the other sign."""
    thirds = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))]
    free = [(Fraction(a, 36), Fraction(b, 36)) for a, b in ((15, 10), (10, 15), (6, 5), (5, 6))]
    away = [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 2), Fraction(0)), (Fraction(0), Fraction(1, 2))]
    assert all(finite_law(atoms).symmetric for atoms in (thirds, free, away))
    turned = finite_law([(Fraction(3, 4), Fraction(1, 2)), (Fraction(1, 4), Fraction(1, 2))])
    rare = finite_law([(Fraction(1, 2), Fraction(1)), (Fraction(1, 2), Fraction(0))])
    for law in (turned, turned.reverse(), rare, rare.reverse()):
        assert not law.symmetric


def test_a_common_base_is_the_largest_number_of_which_all_are_powers() -> None:
    for base in (Fraction(2), Fraction(3, 2), Fraction(9, 4), Fraction(7, 5)):
        for powers in ([1, -1], [2, 3], [4, -6], [6, 10, -15], [0, 2], [3, 0, -3]):
            step = _gcd(powers)
            assert _common_base([base**n for n in powers]) == base**step
    assert _common_base([Fraction(2), Fraction(3)]) is None
    assert _common_base([Fraction(3, 2), Fraction(9, 5)]) is None
    assert _common_base([Fraction(1)]) is None


def _gcd(numbers: list[int]) -> int:
    found = max(map(abs, numbers))
    while any(n % found for n in numbers):
        found -= 1
    return found


def test_a_law_without_positive_losses_is_no_row() -> None:
    half = Fraction(1, 2)
    for atoms in ([(half, Fraction(0)), (half, Fraction(1))], [(Fraction(1), Fraction(1))]):
        law = finite_law(atoms)
        assert isinstance(law, FiniteLaw)
        assert all(delta_of(law, g) == delta(atoms, g) for g in GROWTHS)


def test_a_game_has_the_masses_of_each_ratio() -> None:
    p = [Fraction(n, 20) for n in (2, 4, 3, 5, 6)]
    q = [Fraction(n, 20) for n in (1, 2, 3, 10, 4)]
    found = Counter(Game(tuple(p), tuple(q)).ratios())
    assert found == Counter([(Fraction(6, 20), Fraction(3, 20)), (Fraction(5, 20), Fraction(10, 20)), (p[4], q[4])])
