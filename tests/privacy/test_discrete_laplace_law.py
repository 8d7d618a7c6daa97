"""Discrete Laplace losses: their atoms, and what takes the place of very many."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import Any

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import DiscreteLaplace, PureDP
from zcdp.numeric.balls import lift
from zcdp.privacy.loss import discrete_laplace_pair
from zcdp.privacy.loss.discrete_laplace_law import DiscreteLaplaceRow, between_laplace_pairs
from zcdp.privacy.loss.exponential_law import ExponentialSum, ExponentialSumFactor, Terms
from zcdp.privacy.profile.profile import Profile


def terms_of_twelve() -> Terms:
    edge = 1 / (2 * (arb(1) / 20).cosh())
    return [[edge**12 * comb(12, k)] for k in range(13)]


class Closed(ExponentialSumFactor):
    """Terms, and a closed form of their sum: no more than the two say is known of the decay."""

    def once(self, z: Any, w: Any, u: Any) -> Any:
        t = w * (lift(Fraction(1, 10)))
        return ((t.exp() + (-t).exp()) / (2 * (arb(1) / 20).cosh())) ** 12


class TwelveResponses(ExponentialSum):
    def ready(self) -> ExponentialSumFactor:
        return Closed(self.loss, self.ratio, self.terms())


def test_terms_with_a_closed_form_are_no_discrete_laplace_row() -> None:
    """12 binary responses of 0.1 as one law, 400 times: 0.66526 at epsilon = 20, as 4800 of them have."""
    law = TwelveResponses(Fraction(12, 10), terms_of_twelve, Fraction(1, 6))
    lower, upper = Profile(((law, 400),)).delta_bounds(Fraction(20))
    truth = (4800 * PureDP(epsilon="0.1")).delta_bounds(epsilon=20)
    assert 0.66525 < lower <= upper < 0.66527
    assert lower <= truth[1]
    assert truth[0] <= upper <= truth[1] * (1 + 1e-13)
    # and who calls it one is refused, as the closed form of a row is not the sum of these terms
    with pytest.raises(ValueError, match="claims to be symmetric"):
        Profile(((DiscreteLaplaceRow(Fraction(12, 10), terms_of_twelve, Fraction(1, 6)), 400),))
    Profile(((discrete_laplace_pair(Fraction(1), 60), 1),))


@pytest.mark.parametrize("sensitivity", [1, 2, 6, 20])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3), Fraction(12)])
def test_laplace_noise_on_both_sides_of_discrete_noise(epsilon: Fraction, sensitivity: int) -> None:
    """Where it stands in for many atoms: here for few, whose masses are added one by one."""
    claim = between_laplace_pairs(epsilon, sensitivity)
    above_it, [below_it] = claim.upper, claim.lower
    with mp.workdps(40):
        t = mpf(epsilon.numerator) / epsilon.denominator / sensitivity
        scale = mp.tanh(t / 2)
        tail = scale / (1 - mp.exp(-t))
        atoms = [(sensitivity, tail), (-sensitivity, tail * mp.exp(-t * sensitivity))]
        atoms += [(sensitivity - 2 * i, scale * mp.exp(-t * i)) for i in range(1, sensitivity)]
        for n in range(200):
            point = epsilon * Fraction(n, 200)
            e = mpf(point.numerator) / point.denominator
            truth = mp.fsum(-mass * mp.expm1(e - t * k) for k, mass in atoms if t * k > e)
            assert Profile(below_it).delta_bounds(point)[0] <= truth
            assert truth <= Profile(((above_it, 1),)).delta_bounds(point)[1]


@pytest.mark.parametrize(("count", "epsilon", "sensitivity"), [(20, "0.05", 300), (100, "0.5", 300), (5, 3, 250)])
def test_long_discrete_laplace_noise_is_its_atoms(
    monkeypatch: pytest.MonkeyPatch, count: int, epsilon: str, sensitivity: int
) -> None:
    """What takes its place where the losses are too many encloses what they give when they are listed."""
    listed = (count * DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)).epsilon_bounds(delta=1e-6)
    assert listed[0] <= listed[1] <= listed[0] * (1 + 1e-12)
    for name in ("ALWAYS_LISTED", "MOST_LISTED"):
        monkeypatch.setattr(f"zcdp.privacy.loss.discrete_laplace_law.{name}", 1)
    lower, upper = (count * DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)).epsilon_bounds(delta=1e-6)
    assert lower <= listed[1]
    assert listed[0] <= upper
    assert listed != (lower, upper)
