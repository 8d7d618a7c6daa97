"""Envelopes, their lower laws and their samples: rounded to the right side, and claimed no more than is known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import (
    LossLaw,
    directed_law,
    discrete_gaussian_pair,
    envelope_of_balls,
    envelope_of_rows,
    finite_law,
    gaussian_pair,
    laplace_pair,
    replaced_law,
    sampled_law,
    three_point_pair,
)
from zcdp.privacy.loss import discrete_gaussian_law as discrete_gaussian
from zcdp.privacy.loss.envelope_law import CLUSTER_DISTANCE, GRID_BITS, _clustered, _rational_outcomes, _rounded
from zcdp.privacy.loss.finite_law import FiniteLaw
from zcdp.privacy.loss.hull import hull
from zcdp.privacy.relation import Relation

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
    found = at_precision(320, lambda: _rounded([(lift(p), lift(q)) for p, q in masses], side))
    wide = at_precision(
        320, lambda: _rounded([(lift(p) + arb(0, 1e-9), lift(q) + arb(0, 1e-9)) for p, q in masses], side)
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
    law = envelope_of_balls([[(lift(p), lift(q)) for p, q in pair] for pair in chosen])
    assert law is not None
    assert not law.exact
    assert law.witness is not None
    assert law.witness_alone is not None
    for g in GROWTHS:
        truth = max(delta(pair, g) for pair in chosen)
        slack = Fraction(1, 2**50)  # balls of 53 bits
        assert truth <= profile(law, g) <= truth + slack
        assert truth - slack <= profile(law.witness_alone, g) <= truth
        assert any(profile(law.witness, g) <= delta(pair, g) for pair in chosen)
    assert any(
        all(delta(pair, g) - Fraction(1, 2**50) <= profile(law.witness, g) <= delta(pair, g) for g in GROWTHS)
        for pair in chosen
    )
    assert law.witness.relation is Relation.ADD_REMOVE
    assert not law.witness.symmetric


@pytest.mark.parametrize("chosen", [(0,), (1, 2), (0, 1), (0, 1, 2)])
def test_an_envelope_of_rows_is_the_worst_pair_in_both_orders(chosen: tuple[int, ...]) -> None:
    pairs = [tuple(zip(*rows(n), strict=True)) for n in chosen]
    law = envelope_of_rows(pairs)
    assert law is not None
    both = [rows(n) for n in chosen] + [[(q, p) for p, q in rows(n)] for n in chosen]
    for g in GROWTHS:
        assert profile(law, g) == max(delta(pair, g) for pair in both)
    if chosen == (0,):  # symmetric as it is
        assert law.exact
    else:
        assert law.exact_alone
        assert not law.exact
        assert law.witness is not None
        assert any(all(profile(law.witness, g) == delta(pair, g) for g in GROWTHS) for pair in both)
    single = envelope_of_rows([pairs[0]])
    assert single is not None
    if chosen == (1, 2):
        assert single.game() is not None
        assert law.game() is None  # of two pairs there is no game


LAWS: dict[str, LossLaw] = {
    "three": three_point_pair(Fraction(1), 4, exact=True),
    "Laplace": laplace_pair(Fraction(1), exact=True),
    "normal": gaussian_pair(lambda: arb(1), exact=True),
    "discrete normal": discrete_gaussian_pair(Fraction(4), 1),
    "rows": directed_law([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 5), Fraction(4, 5)]),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_sample_claims_to_be_exact_only_where_the_law_is_and_nothing_was_rounded(name: str) -> None:
    law = LAWS[name]
    for exact, alone in product((False, True), repeat=2):
        claimed = replace(law, exact=exact, exact_alone=alone)
        sampled = sampled_law(claimed, Fraction(1, 4))
        assert sampled is not None
        own = law.sampled(Fraction(1, 4)) is not None
        assert sampled.exact == (own and exact)
        assert sampled.exact_alone == (own and alone)
        if exact and not own:
            assert sampled.witness is not None
        if not exact:
            assert sampled.witness is None
        if law.symmetric:
            either = replaced_law(claimed, Fraction(1, 4))
            assert either is not None
            assert not either.exact
            assert either.exact_alone == (law.replaced(Fraction(1, 4)) is not None and (exact or alone))


def test_a_sample_keeps_only_neighbours_that_differ_in_one_coordinate() -> None:
    """Several coordinates are in a sample together: their sample is no product of samples."""
    small, other = three_point_pair(Fraction(1, 4), exact=True), three_point_pair(Fraction(1, 5), exact=True)
    kinds = (((small, 1),), ((small, 2),), ((small, 1), (other, 1)), ((other, 1),))
    law = replace(three_point_pair(Fraction(1)), neighbours=kinds)
    for made in (sampled_law(law, Fraction(1, 2)), replaced_law(law, Fraction(1, 2))):
        assert made is not None
        assert [[count for _, count in parts] for parts in made.neighbours] == [[1], [1]]
        tops = [float(at_precision(128, parts[0][0].largest)) for parts in made.neighbours]
        grown = [(1 + 2.718281828459045**e) / 2 for e in (0.25, 0.2)]
        assert [2.718281828459045**top for top in tops] == pytest.approx(grown)


@pytest.mark.parametrize(
    ("variance", "shift", "listed"),
    [("1/4", 1, 3), ("1", 3, 3), ("9", 1, 4), ("40", 2, 5), ("1/4", 1, 18), ("1", 3, 18), ("9", 1, 18)],
)
def test_outcomes_of_discrete_gaussian_noise_are_above_and_below_it(
    variance: str, shift: int, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As hulls of rationals, beside the losses of all integers up to where nothing is left; with long tails too."""
    monkeypatch.setattr(discrete_gaussian, "OUTCOME_DEVIATIONS", listed)
    v = Fraction(variance)
    law = discrete_gaussian_pair(v, shift)
    above, below = _rational_outcomes(law, -1), _rational_outcomes(law, 1)
    assert above is not None
    assert below is not None
    far = 14 * int(float(v) ** 0.5 + 1)
    with_it = [2.718281828459045 ** float(-(x**2) / (2 * v)) for x in range(-far, far + shift + 1)]
    whole = sum(with_it)
    shifted = [2.718281828459045 ** float(-((x - shift) ** 2) / (2 * v)) for x in range(-far, far + shift + 1)]
    for g in GROWTHS:
        truth = sum(max(p - float(g) * q, 0.0) for p, q in zip(with_it, shifted, strict=True)) / whole
        high, low = float(delta(above, g)), float(delta(below, g))
        assert low - 1e-13 <= truth <= high + 1e-13
        assert listed < 18 or high - low < 1e-12
    assert above[0][1] == 0 or above[0][0] / above[0][1] > 1
    # the tails are given away in the one, and tell nothing in the other
    assert sum(p for p, q in above if not q) > 0
    assert sum(p for p, q in below if not q) == 0


def test_largest_ratios_of_a_pair_stay_finite_in_both_orders() -> None:
    """Rounding up must not make a loss infinite: of one order by the first outcome, of the other by the last."""
    atoms = [(Fraction(1, 2), Fraction(1, 10)), (Fraction(3, 8), Fraction(3, 10)), (Fraction(1, 8), Fraction(6, 10))]
    law = finite_law(atoms, symmetric=False, relation=Relation.ADD_REMOVE)
    found = _rational_outcomes(law, -1)
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
