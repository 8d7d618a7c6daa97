"""The finite sum, whole and cut: what is left out is charged to the right end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb
from independent import profile_reference as reference
from privacy.by_engine import HALF, by, parts_of

from zcdp import (
    BoundedRange,
    ExponentialMechanism,
    Laplace,
    LocalHashing,
    Plan,
    PureDP,
    RandomizedResponse,
    TruncatedGeometric,
)
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import discrete_laplace_pair, laplace_pair


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_mass_that_is_exactly_zero_is_no_term_of_the_sum(delta: float) -> None:
    """Two hashed values are binary randomized response: three points, of which the middle one has no mass."""
    atoms = TruncatedGeometric(epsilon=0.25, n=8, sensitivity=4)  # on no lattice with the other atoms
    rest = 2 * ExponentialMechanism(epsilon=2) + 3 * BoundedRange(eta=0.4) + atoms
    found = (LocalHashing(epsilon=5, g=2) + rest).epsilon_bounds(delta=delta)
    assert found == pytest.approx((PureDP(epsilon=5) + rest).epsilon_bounds(delta=delta), rel=1e-13)


def test_a_cut_sum_is_the_whole_sum() -> None:
    """1000 x Laplace(0.0075): 9.8598081370868113794e-7 by the whole sum at 700 bits."""
    lower, upper = by("cut sum", ((laplace_pair(Fraction(0.0075)), 1000),), Fraction(1))
    assert lower <= Fraction("9.8598081370868113794e-7") * (1 + Fraction(1, 10**18))
    assert upper >= Fraction("9.8598081370868113794e-7") * (1 - Fraction(1, 10**18))
    assert upper < lower * (1 + 1e-13)


@pytest.mark.parametrize("negligible", [-2.0, 0.0, 3.0])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_atoms_above_the_cut_are_charged(monkeypatch: pytest.MonkeyPatch, negligible: float, epsilon: int) -> None:
    """All of them add to delta, and no power is left out: nothing but the bound on them makes up for it."""
    monkeypatch.setattr("zcdp.privacy.profile.finite_sum.NEGLIGIBLE", negligible)
    rows = [("rr", HALF, 7, 60)]
    lower, upper = by("cut sum", parts_of(Plan.repeated(RandomizedResponse(epsilon=HALF, k=7), 60)), Fraction(epsilon))
    truth = reference.lattice_delta(*reference.composed(rows), Fraction(epsilon))
    assert lower <= truth <= upper
    assert upper - lower > 1e-12 * truth  # something was cut off


@pytest.mark.parametrize("window", [True, False])
@pytest.mark.parametrize("negligible", [0.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [3, 12, 30])
def test_coarse_cuts_still_enclose(
    monkeypatch: pytest.MonkeyPatch, negligible: float, epsilon: int, *, window: bool
) -> None:
    monkeypatch.setattr("zcdp.privacy.profile.finite_sum.NEGLIGIBLE", negligible)
    if not window:
        monkeypatch.setattr("zcdp.privacy.profile.finite_sum._ceiling", lambda *_: (float("inf"), arb("-inf")))
    e, count = Fraction(5, 2), 16
    lower, upper = by("cut sum", parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    assert lower <= reference.many_laplace_delta(e, count, Fraction(epsilon)) <= upper


@pytest.mark.parametrize("sensitivity", [9, 60, 500])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7)])
def test_many_atoms_in_closed_form_are_their_sum(sensitivity: int, epsilon: Fraction) -> None:
    """Discrete Laplace noise from its masses, at real and complex points, next to a period of the lattice too."""

    def run() -> None:
        t = lift(epsilon / sensitivity)
        pair = discrete_laplace_pair(epsilon, sensitivity)
        closed, scale = pair.ready().moment, ((t / 2).exp() - (-t / 2).exp()) / ((t / 2).exp() + (-t / 2).exp())
        for place in (acb(0.3), acb(2, 1.7), acb(1, arb.pi() / t + 1e-9), acb(40, 3)):
            # losses t (|i - d| - |i|) of mass proportional to e^{-t|i|}; the two tails are geometric
            total = acb(0)
            for i in range(1, sensitivity):
                total += scale * (place * t * (sensitivity - 2 * i) - t * i).exp()
            tail = scale / (1 - (-t).exp())
            total += tail * ((place * lift(epsilon)).exp() + ((-place - 1) * lift(epsilon)).exp())
            assert abs(closed(place) - total) < abs(total) * arb("1e-30")

    at_precision(200, run)
