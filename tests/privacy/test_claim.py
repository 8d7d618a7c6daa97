"""Claims: what a mechanism says of its profile, and what is left of it on a sample: no more than is known."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from flint import arb

from zcdp import Laplace
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss import (
    Claim,
    LossLaw,
    directed_law,
    discrete_gaussian_pair,
    finite_law,
    gaussian_pair,
    laplace_pair,
    logistic_pair,
    replaced_claim,
    sampled_claim,
    three_point_pair,
)
from zcdp.privacy.loss import discrete_gaussian_law as discrete_gaussian
from zcdp.privacy.loss.claim import rational_outcomes
from zcdp.privacy.loss.law import Parts

GROWTHS = [Fraction(n, 10) for n in (1, 4, 7, 10, 11, 13, 17, 25, 40, 90)]


def delta(atoms: list[tuple[Fraction, Fraction]], growth: Fraction) -> Fraction:
    return sum((max(p - growth * q, Fraction(0)) for p, q in atoms), Fraction(0))


PAIRS = [
    [("1/2", "1/5"), ("3/10", "3/10"), ("1/5", "1/2")],
    [("3/5", "3/10"), ("2/5", "7/10")],
    [("7/10", "2/5"), ("3/10", "3/5")],
]


def rows(n: int) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(p), Fraction(q)) for p, q in PAIRS[n]]


LAWS: dict[str, LossLaw] = {
    "three": three_point_pair(Fraction(1), 4),
    "Laplace": laplace_pair(Fraction(1)),
    "normal": gaussian_pair(lambda: arb(1)),
    "discrete normal": discrete_gaussian_pair(Fraction(4), 1),
    "rows": directed_law([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 5), Fraction(4, 5)]),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_sample_claims_to_be_exact_only_where_the_law_is_and_nothing_was_rounded(name: str) -> None:
    law = LAWS[name]
    for exact, alone in product((False, True), repeat=2):
        itself: tuple[Parts, ...] = (((law, 1),),)
        claimed = Claim(law, lower=itself if exact else (), lower_alone=itself if alone else ())
        sampled = sampled_claim(claimed, Fraction(1, 4))
        assert sampled is not None
        own = law.sampled(Fraction(1, 4)) is not None
        assert sampled.exact == (own and exact)
        assert sampled.exact_alone == (own and (exact or alone))
        assert bool(sampled.lower) == exact
        if law.symmetric:
            either = replaced_claim(claimed, Fraction(1, 4))
            assert either is not None
            assert not either.exact
            assert either.exact_alone == (law.replaced(Fraction(1, 4)) is not None and (exact or alone))
            assert bool(either.lower) == exact


def test_a_sample_keeps_only_neighbours_that_differ_in_one_coordinate() -> None:
    """Several coordinates are in a sample together: their sample is no product of samples."""
    small, other = three_point_pair(Fraction(1, 4)), three_point_pair(Fraction(1, 5))
    kinds = (((small, 1),), ((small, 2),), ((small, 1), (other, 1)), ((other, 1),))
    claim = Claim(three_point_pair(Fraction(1)), lower=kinds)
    for made in (sampled_claim(claim, Fraction(1, 2)), replaced_claim(claim, Fraction(1, 2))):
        assert made is not None
        assert [[count for _, count in parts] for parts in made.lower] == [[1], [1]]
        tops = [float(at_precision(128, parts[0][0].largest)) for parts in made.lower]
        grown = [(1 + 2.718281828459045**e) / 2 for e in (0.25, 0.2)]
        assert [2.718281828459045**top for top in tops] == pytest.approx(grown)


def test_a_sample_attains_nothing_that_its_base_attains_alone() -> None:
    """What one use attains may need other records, which a sample can leave out."""
    small = three_point_pair(Fraction(1, 4))
    claim = Claim(three_point_pair(Fraction(1)), lower_alone=Claim.laws(small))
    for made in (sampled_claim(claim, Fraction(1, 2)), replaced_claim(claim, Fraction(1, 2))):
        assert made is not None
        assert made.attained(alone=True) == made.attained(alone=False) == ()


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
    above, below = rational_outcomes(law, -1), rational_outcomes(law, 1)
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


# No law and no transformation of one loses mass, and what only dominates is never called exact.


ONE_THIRD = Fraction(1, 3)


def atoms(*pairs: tuple[str, str]) -> tuple[tuple[Fraction, Fraction], ...]:
    return tuple((Fraction(p), Fraction(q)) for p, q in pairs)


TEXTBOOK = atoms(("0.01", "0"), ("0.7425", "0.2475"), ("0.2475", "0.7425"), ("0", "0.01"))


@pytest.mark.parametrize(
    "claim",
    [
        Claim(laplace_pair(Fraction(1)), lower=Claim.laws(laplace_pair(Fraction(2)))),
        Claim(laplace_pair(Fraction(1)), lower=Claim.laws(finite_law(TEXTBOOK))),
        Claim(laplace_pair(Fraction(3)), lower=Claim.laws(finite_law(TEXTBOOK))),  # by infinite losses
    ],
)
def test_a_mechanism_that_claims_too_much_is_refused(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Laplace, "pair", lambda _: claim)
    with pytest.raises(ValueError, match="a lower law that is above"):
        (3 * Laplace(epsilon=1)).delta_bounds(epsilon=1)
    with pytest.raises(ValueError, match="a lower law that is above"):
        claim.check()


def test_what_only_dominates_is_never_exact() -> None:
    """Unless its author says so, a law is one that dominates; and a transformation takes over no more than it had."""
    for law in (laplace_pair(Fraction(1)), logistic_pair(Fraction(1)), three_point_pair(Fraction(1))):
        for drawn in (sampled_claim(Claim(law), ONE_THIRD), replaced_claim(Claim(law), ONE_THIRD)):
            assert drawn is not None
            assert (drawn.exact, drawn.exact_alone, drawn.lower, drawn.lower_alone) == (False, False, (), ())
    own = Claim.exactly(laplace_pair(Fraction(1)))
    alone, several = sampled_claim(own, ONE_THIRD), replaced_claim(own, ONE_THIRD)
    assert alone is not None
    assert alone.exact
    assert several is not None
    assert several.exact_alone
    assert not several.exact
