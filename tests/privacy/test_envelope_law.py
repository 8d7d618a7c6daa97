"""Envelopes, their lower laws and their samples: rounded to the right side, and claimed no more than is known."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import (
    LossLaw,
    envelope_of_balls,
    envelope_of_rows,
    finite_law,
)
from zcdp.privacy.loss.claim import rational_outcomes
from zcdp.privacy.loss.envelope_law import CLUSTER_DISTANCE, _clustered
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.tradeoff_hull import GRID_BITS, hull, rounded

GROWTHS = [Fraction(n, 10) for n in (1, 4, 7, 10, 11, 13, 17, 25, 40, 90)]


def delta(atoms: list[tuple[Fraction, Fraction]], growth: Fraction) -> Fraction:
    return sum((max(p - growth * q, Fraction(0)) for p, q in atoms), Fraction(0))


def profile(law: LossLaw | None, growth: Fraction) -> Fraction:
    source = getattr(law, "source", law)
    assert isinstance(source, FiniteLaw)
    return delta(source.atoms, growth)


@pytest.mark.parametrize("seed", range(6))
def test_points_that_are_one_stay_on_their_side(seed: int) -> None:
    """Above and to the left of all that they stand for, or below and to the right: so are the curves."""
    random = Random(seed)
    points = []
    for _ in range(4):
        x, y = sorted(Fraction(random.randint(1, 99), 100) for _ in range(2))
        near = [CLUSTER_DISTANCE * Fraction(random.randint(0, 9), 20) for _ in range(6)]
        points += [(x + near[n], y + near[n + 1]) for n in range(0, 6, 2)]
    for side in (-1, 1):
        found = _clustered(points, side)
        assert len(found) <= 8
        for x, y in points:
            if side < 0:
                assert any(a <= x and b >= y for a, b in found)
            else:
                assert any(abs(a - x) <= 3 * CLUSTER_DISTANCE and a >= x and b <= y for a, b in found)
        for a, b in found if side > 0 else []:
            assert any(a >= x and b <= y for x, y in points)


@pytest.mark.parametrize("side", [-1, 1])
def test_points_of_balls_are_rounded_to_their_side(side: int) -> None:
    masses = [(Fraction(3, 7), Fraction(1, 11)), (Fraction(2, 7), Fraction(4, 11)), (Fraction(2, 7), Fraction(6, 11))]
    found = at_precision(320, lambda: rounded([(lift(p), lift(q)) for p, q in masses], side))
    wide = at_precision(
        320, lambda: rounded([(lift(p) + arb(0, 1e-9), lift(q) + arb(0, 1e-9)) for p, q in masses], side)
    )
    x = y = Fraction(0)
    for (a, b), (c, d), (p, q) in zip(found, wide, masses, strict=False):
        x, y = x + q, y + p
        assert 0 < side * (a - x) <= Fraction(2, 2**GRID_BITS)
        assert 0 < side * (y - b) <= Fraction(2, 2**GRID_BITS)
        assert side * (c - x) > Fraction(1, 10**9) * Fraction(9, 10)
        assert side * (y - d) > Fraction(1, 10**9) * Fraction(9, 10)
    assert len(found) == len(masses) - 1


PAIRS = [
    [("1/2", "1/5"), ("3/10", "3/10"), ("1/5", "1/2")],
    [("3/5", "3/10"), ("2/5", "7/10")],
    [("7/10", "2/5"), ("3/10", "3/5")],
]


def rows(n: int) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(p), Fraction(q)) for p, q in PAIRS[n]]


def test_an_envelope_of_balls_is_the_worst_pair_with_lower_laws_that_are_attained() -> None:
    chosen = [rows(n) for n in range(3)]
    claim = envelope_of_balls([[(lift(p), lift(q)) for p, q in pair] for pair in chosen])
    assert claim is not None
    assert not claim.exact
    [[(one_way, _)]], [[(alone, _)]] = claim.lower, claim.lower_alone
    for g in GROWTHS:
        truth = max(delta(pair, g) for pair in chosen)
        slack = Fraction(1, 2**50)  # balls of 53 bits
        assert truth <= profile(claim.upper, g) <= truth + slack
        assert truth - slack <= profile(alone, g) <= truth
        assert any(profile(one_way, g) <= delta(pair, g) for pair in chosen)
    assert any(
        all(delta(pair, g) - Fraction(1, 2**50) <= profile(one_way, g) <= delta(pair, g) for g in GROWTHS)
        for pair in chosen
    )
    assert not one_way.symmetric


@pytest.mark.parametrize("chosen", [(0,), (1, 2), (0, 1), (0, 1, 2)])
def test_an_envelope_of_rows_is_the_worst_pair_in_both_orders(chosen: tuple[int, ...]) -> None:
    pairs = [tuple(zip(*rows(n), strict=True)) for n in chosen]
    claim = envelope_of_rows(pairs)
    assert claim is not None
    both = [rows(n) for n in chosen] + [[(q, p) for p, q in rows(n)] for n in chosen]
    for g in GROWTHS:
        assert profile(claim.upper, g) == max(delta(pair, g) for pair in both)
    if chosen == (0,):  # symmetric as it is
        assert claim.exact
    else:
        assert claim.exact_alone
        assert not claim.exact
        [[(one_way, _)]] = claim.lower
        assert any(all(profile(one_way, g) == delta(pair, g) for g in GROWTHS) for pair in both)
    single = envelope_of_rows([pairs[0]])
    assert single is not None
    if chosen == (1, 2):
        assert single.upper.game() is not None
        assert claim.upper.game() is None  # of two pairs there is no game


def test_largest_ratios_of_a_pair_stay_finite_in_both_orders() -> None:
    """Rounding up must not make a loss infinite: of one order by the first outcome, of the other by the last."""
    atoms = [(Fraction(1, 2), Fraction(1, 10)), (Fraction(3, 8), Fraction(3, 10)), (Fraction(1, 8), Fraction(6, 10))]
    law = finite_law(atoms)
    found = rational_outcomes(law, -1)
    assert found is not None
    assert max(p / q for p, q in found) <= 5 + Fraction(1, 2**190)
    assert max(q / p for p, q in found) <= Fraction(24, 5) + Fraction(1, 2**190)
    assert found == hull([(sum(q for _, q in found[:n]), sum(p for p, _ in found[:n])) for n in range(len(found))])
    for g in GROWTHS:
        assert delta(atoms, g) <= delta(found, g) <= delta(atoms, g) + Fraction(1, 2**150)
        back = delta([(q, p) for p, q in found], g)
        assert (
            delta([(q, p) for p, q in atoms], g) <= back <= delta([(q, p) for p, q in atoms], g) + Fraction(1, 2**150)
        )
