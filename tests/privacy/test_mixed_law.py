"""A law drawn from several, the draw being seen: the mean of the profiles, composed as the list of all draws."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from zcdp import Gaussian, Laplace, Subsampled
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss import LossLaw
from zcdp.privacy.loss.mixed_law import MixedLaw
from zcdp.privacy.profile.profile import Profile


def law(sigma: object, rate: object) -> LossLaw:
    claim = Subsampled(Gaussian(sigma=sigma), rate=rate).pair()
    assert claim is not None
    return claim.upper


ONE, OTHER, CHANCE = law(2, "0.1"), law(1, "0.1"), Fraction(1, 8)
MIXED = MixedLaw(((ONE, 1 - CHANCE), (OTHER, CHANCE)))


@pytest.mark.parametrize("uses", [1, 2, 5])
def test_compositions_are_means_over_all_draws(uses: int) -> None:
    """Among n uses j are of the second kind with a binomial chance, and which ones is known; in one direction."""
    epsilon = Fraction(1, 2)
    for mixed, one, other in ((MIXED, ONE, OTHER), (MIXED.reverse(), ONE.reverse(), OTHER.reverse())):
        total = 0.0
        for j in range(uses + 1):
            parts = tuple((part, n) for part, n in ((one, uses - j), (other, j)) if n)
            chance = comb(uses, j) * CHANCE**j * (1 - CHANCE) ** (uses - j)
            total += float(chance) * _delta(parts, epsilon)
        assert _delta(((mixed, uses),), epsilon) == pytest.approx(total, rel=1e-9)


def _delta(parts: tuple[tuple[LossLaw, int], ...], epsilon: Fraction) -> float:
    """delta in the direction that the laws are given in."""
    from zcdp.privacy.profile.profile import _OneDirection

    return _OneDirection(parts).delta(epsilon).upper


def test_of_symmetric_laws_it_is_symmetric() -> None:
    laws = [Laplace(epsilon=epsilon).pair().upper for epsilon in (1, 2)]  # type: ignore[union-attr]
    mixed = MixedLaw(((laws[0], Fraction(1, 2)), (laws[1], Fraction(1, 2))))
    mixed.check()
    assert mixed.symmetric
    assert mixed.reverse() is mixed
    both = [Laplace(epsilon=epsilon).delta_at(epsilon="0.3") for epsilon in (1, 2)]
    assert Profile(((mixed, 1),)).delta(Fraction(3, 10)).upper == pytest.approx(sum(both) / 2, rel=1e-5)
    assert at_precision(64, lambda: float(mixed.largest().mid())) == 2


def test_a_sample_of_it_is_the_mixture_of_samples() -> None:
    sampled = MIXED.sampled(Fraction(1, 5))
    assert sampled is not None
    known = MixedLaw(((law(2, "0.02"), 1 - CHANCE), (law(1, "0.02"), CHANCE)))
    assert _delta(((sampled, 5),), Fraction(1, 10)) == pytest.approx(_delta(((known, 5),), Fraction(1, 10)), rel=1e-9)


def test_its_mass_is_all_there() -> None:
    MIXED.check()
    MIXED.reverse().check()
    assert MIXED.cancels
