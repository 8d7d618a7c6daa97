"""The finite sum, whole and cut: what is left out is charged to the right end."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, factorial, inf, log

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
from zcdp.privacy.loss import (
    discrete_laplace_pair,
    finite_law,
    gaussian_pair,
    laplace_pair,
    logistic_pair,
    three_point_pair,
)
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile import finite_sum as finite_cut
from zcdp.privacy.profile.finite_sum import Cut, cut_degree, expanded, lattice_points


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
    parts = tuple((finite_law(rows), n) for rows, n in chosen)
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


# What a cut leaves out of a finite sum is not above what is charged for it: term by term, written out.


F = Fraction


Terms = dict[tuple[float, int], float]
"""By exponent and power of 1/w: the coefficient."""


def laplace(loss: float) -> Terms:
    """M(z) = E e^{zL}: mass 1/2 at `loss`, e^{-loss}/2 at -loss, and the density e^{(l - loss)/2}/4 in between.

    With w = z + 1/2: e^{-loss/2}/2 (e^{loss w} + e^{-loss w}) + e^{-loss/2}/4 (e^{loss w} - e^{-loss w})/w.
    """
    edge = exp(-loss / 2)
    return {(loss, 0): edge / 2, (-loss, 0): edge / 2, (loss, 1): edge / 4, (-loss, 1): -edge / 4}


def response(loss: float, k: int) -> Terms:
    """Masses e^loss, 1 and k - 2 over e^loss + k - 1; each is its coefficient times e^{loss of it/2}."""
    whole = exp(loss) + k - 1
    return {(loss, 0): exp(loss / 2) / whole, (-loss, 0): exp(loss / 2) / whole, (0.0, 0): (k - 2) / whole}


def power(one: Terms, count: int) -> Terms:
    """Of absolute coefficients, so that nothing cancels."""
    answer: Terms = {(0.0, 0): 1.0}
    for _ in range(count):
        longer: Terms = {}
        for (a, i), x in answer.items():
            for (b, j), y in one.items():
                place = round(a + b, 9), i + j
                longer[place] = longer.get(place, 0.0) + x * abs(y)
        answer = longer
    return answer


def height(j: int, t: float) -> float:
    """f_j(t) = sum over m of 4^{-m} t^{j+1+2m}/(j+1+2m)!."""
    return sum(t ** (j + 1 + 2 * m) / factorial(j + 1 + 2 * m) / 4**m for m in range(60 - j // 2))


KINDS = {
    "laplace": (((laplace_pair(F(3, 2)), 6),), power(laplace(1.5), 6)),
    "responses": (((three_point_pair(F(1, 2), 5), 24),), power(response(0.5, 5), 24)),
    "one use": (((laplace_pair(F(4)), 1),), power(laplace(4.0), 1)),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("w", ["0.6", "1", "2.5", "7"])
@pytest.mark.parametrize("log_delta", [1.0, -2.0, -6.0])
def test_exponents_above_the_ceiling_weigh_no_more_than_is_charged(
    monkeypatch: pytest.MonkeyPatch, name: str, w: str, log_delta: float
) -> None:
    monkeypatch.setattr(finite_cut, "NEGLIGIBLE", 0.0)
    parts, terms = KINDS[name]
    for epsilon in (0.0, 1.0, 3.5):

        def asked(epsilon: float = epsilon) -> tuple[float, float]:
            found = expanded(parts)
            assert found is not None
            ceiling, log_above = finite_cut._ceiling(found, arb(w), arb(epsilon), log_delta)
            return ceiling, float(log_above - (arb(w) - 0.5) * arb(epsilon))

        ceiling, charged = at_precision(128, asked)
        assert ceiling < inf
        outside = [(a, j, c) for (a, j), c in terms.items() if a > max(ceiling, epsilon)]
        truth = exp(epsilon / 2) * sum(c * height(j, a - epsilon) for a, j, c in outside)
        assert truth <= exp(charged) * (1 + 1e-9)


@pytest.mark.parametrize("w", ["0.6", "0.9", "3"])
def test_a_ceiling_next_to_the_largest_exponent_charges_for_it(w: str) -> None:
    """One use of two outcomes: wherever the ceiling is below the larger loss, that loss is charged in full."""
    loss, seen = 4.0, 0
    mass = exp(loss) / (1 + exp(loss))

    def asked(log_delta: float) -> tuple[float, float]:
        found = expanded(((three_point_pair(F(4)), 1),))
        assert found is not None
        ceiling, log_above = finite_cut._ceiling(found, arb(w), arb(0), log_delta)
        return ceiling, float(log_above)

    for n in range(-16, 40):
        ceiling, charged = at_precision(64, lambda n=n: asked(36 + n / 4))
        if ceiling < loss:
            seen += 1
            assert mass * (1 - exp(-loss)) <= exp(charged) * (1 + 1e-9)
    assert seen > 2


def test_of_several_laws_no_exponent_is_left_out_above() -> None:
    def asked() -> tuple[float, arb]:
        found = expanded(((laplace_pair(F(1)), 2), (three_point_pair(F(1)), 2)))
        assert found is not None
        return finite_cut._ceiling(found, arb(2), arb(1), -5.0)

    ceiling, log_above = at_precision(128, asked)
    assert ceiling == inf
    assert log_above == -inf


MIXES: dict[str, list[tuple[float, int]]] = {"one kind": [(0.5, 40)], "two kinds": [(1.0, 12), (0.25, 20)]}


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("negligible", [-3.0, 0.0, 4.0])
@pytest.mark.parametrize("c", ["0.5", "2", "6"])
def test_powers_above_the_degree_weigh_no_more_than_is_charged(
    monkeypatch: pytest.MonkeyPatch, name: str, negligible: float, c: str
) -> None:
    """Each use is a draw from its atoms or from its density: more than `degree` densities, by a polynomial.

    delta is at most e^{c log c - (1+c) log(1+c)} of what M has at c, and so is its part of these draws.
    """
    monkeypatch.setattr(finite_cut, "NEGLIGIBLE", negligible)
    parts: Parts = tuple((laplace_pair(F(loss)), count) for loss, count in MIXES[name])

    def cut() -> Cut:
        found = expanded(parts)
        assert found is not None
        return cut_degree(Transform(parts), found, arb(c), arb(1), -4.0, F(0))

    found = at_precision(128, cut)
    order, weights = float(c), [1.0]
    for loss, count in MIXES[name]:
        x, edge = order + 0.5, exp(-loss / 2)
        atoms = edge * (exp(loss * x) + exp(-loss * x)) / 2
        density = edge * (exp(loss * x) - exp(-loss * x)) / (4 * x)
        row = [comb(count, j) * atoms ** (count - j) * density**j for j in range(count + 1)]
        weights = [
            sum(weights[i] * row[n - i] for i in range(len(weights)) if 0 <= n - i < len(row))
            for n in range(len(weights) + count)
        ]
    most = sum(count for _, count in MIXES[name])
    assert 0 <= found.degree <= most
    beyond = sum(weights[found.degree + 1 :]) * exp(order * log(order) - (1 + order) * log(1 + order))
    charged = exp(float(found.log_rest)) if found.log_rest.is_finite() else 0.0
    assert beyond <= charged * (1 + 1e-9)
    assert (charged == 0) == (found.degree == most)
    assert found.threshold == 0
    assert float(found.c) == order


def test_only_finite_sums_of_few_laws_are_expanded() -> None:
    def count(parts: Parts) -> int | None:
        found = at_precision(64, lambda: expanded(parts))
        return None if found is None else len(found)

    assert count(((laplace_pair(F(1)), 5), (three_point_pair(F(1)), 7))) == 2
    assert count(((laplace_pair(F(1)), 5), (gaussian_pair(lambda: arb(1)), 1))) is None
    assert count(((laplace_pair(F(1)), 10**7 + 1),)) is None
    assert count(tuple((laplace_pair(F(n)), 1) for n in range(1, 26))) is None


def test_points_of_the_common_lattice_are_counted_from_end_to_end() -> None:
    """Losses -1, 0, 1 three times and -1/2, 1/2 four times: multiples of 1/2 from -5 to 5, and both parities meet."""

    def points(parts: Parts) -> Fraction:
        found = expanded(parts)
        assert found is not None
        return lattice_points(found)

    both: Parts = ((three_point_pair(F(1), 5), 3), (three_point_pair(F(3, 2), 5), 4))
    assert at_precision(64, lambda: points(both)) == 37  # from -9 to 9 by halves
    assert at_precision(64, lambda: points(((laplace_pair(F(1)), 3),))) == 1
    assert lift(F(1, 2)) == 0.5
