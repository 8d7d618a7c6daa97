"""The finite sum, whole and cut: what is left out is charged to the right end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import acb, arb
from independent import profile_reference as reference
from mpmath import mp, mpf
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
from zcdp.privacy.loss import discrete_laplace_pair, finite_law, laplace_pair, logistic_pair


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


@pytest.mark.parametrize(("epsilon", "negligible"), [(Fraction(1, 2), -20), (Fraction(1), -18), (Fraction(3), -12)])
def test_alternating_terms_above_the_cut_are_charged_to_both_ends(
    monkeypatch: pytest.MonkeyPatch, epsilon: Fraction, negligible: int
) -> None:
    """30 losses of density e^{l/2}/(4 sinh(e/2)) on (-e, e): what is cut off is large and negative.

    Their sum has e^{s/2} times the density of a sum of uniform variables, which is a spline of alternating powers.
    """
    monkeypatch.setattr("zcdp.privacy.profile.finite_sum.NEGLIGIBLE", negligible)
    e, count = Fraction(1, 2), 30
    with mp.workdps(40):
        size, start = reference.real(e), reference.real(epsilon)

        def integrand(loss: mpf) -> mpf:
            places = (loss + (count - 2 * k) * size for k in range(count + 1))
            spline = mp.fsum(
                (-1) ** k * mp.binomial(count, k) * place ** (count - 1) for k, place in enumerate(places) if place > 0
            )
            return -mp.expm1(start - loss) * mp.exp(loss / 2) * spline

        knots = [start, *(size * k for k in range(-count, count + 1, 2) if size * k > start)]
        whole = mp.quad(integrand, knots, method="gauss-legendre", maxdegree=3)
        truth = whole / (4 * mp.sinh(size / 2)) ** count / mp.factorial(count - 1)
        wrong = truth * mpf("1e-6")
    lower, upper = by("cut sum", ((logistic_pair(e), count),), epsilon)
    assert lower <= truth - wrong
    assert truth + wrong <= upper
    assert (lower + upper) / 2 > 2 * truth  # the sum itself is far above: it is no lower end


@pytest.mark.parametrize("method", ["whole sum", "cut sum"])
@pytest.mark.parametrize(("one", "other"), [(3, 0), (2, 1), (0, 3)])
def test_different_outcomes_of_one_loss_are_added(method: str, one: int, other: int) -> None:
    """Ratios 6, 3, 2, 1 and 2/3, of which 2 * 3 = 6 * 1 and 2/3 * 3 = 2 * 1; and 10, 5, 2, 1 and 7/15 beside them."""
    first = [("3/25", "1/50"), ("3/25", "1/25"), ("1/10", "1/20"), ("1/5", "1/5"), ("23/50", "69/100")]
    second = [("1/5", "1/50"), ("1/5", "1/25"), ("1/10", "1/20"), ("1/5", "1/5"), ("3/10", "69/100")]
    chosen = [([(Fraction(p), Fraction(q)) for p, q in rows], n) for rows, n in ((first, one), (second, other)) if n]
    outcomes = [(Fraction(1), Fraction(1))]
    for rows, n in chosen:
        assert [sum(side) for side in zip(*rows, strict=True)] == [1, 1]
        for _ in range(n):
            outcomes = [(p * a, q * b) for p, q in outcomes for a, b in rows]
    parts = tuple((finite_law(rows, symmetric=False), n) for rows, n in chosen)
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5, 2)):
        with mp.workdps(40):
            grown = mp.exp(reference.real(epsilon))
            gains = (reference.real(p) - grown * reference.real(q) for p, q in outcomes)
            truth = mp.fsum(gain for gain in gains if gain > 0)
        lower, upper = by(method, parts, epsilon)
        assert truth * (1 - mpf("1e-12")) <= lower <= truth <= upper <= truth * (1 + mpf("1e-12"))


@pytest.mark.parametrize("method", ["whole sum", "cut sum"])
def test_points_of_a_common_lattice_that_no_outcome_reaches_are_passed_over(method: str) -> None:
    """Two losses of +-7/2 and three of +-1, on the multiples of 1: over all outcomes."""
    from itertools import product

    plan = 2 * PureDP(epsilon="7/2") + 3 * PureDP(epsilon=1)
    sizes = [Fraction(7, 2)] * 2 + [Fraction(1)] * 3
    for epsilon in (Fraction(1, 3), Fraction(3), Fraction(6), Fraction(19, 2)):
        with mp.workdps(40):
            truth = mpf(0)
            for signs in product((1, -1), repeat=5):
                loss = sum((sign * size for sign, size in zip(signs, sizes, strict=True)), Fraction(0))
                mass = mp.fprod(
                    1 / (1 + mp.exp(-s * reference.real(size))) for s, size in zip(signs, sizes, strict=True)
                )
                truth += mass * max(-mp.expm1(reference.real(epsilon - loss)), mpf(0))
        lower, upper = by(method, parts_of(plan), epsilon)
        assert truth * (1 - mpf("1e-12")) <= lower <= truth <= upper <= truth * (1 + mpf("1e-12"))
