"""What a cut leaves out of a finite sum is not above what is charged for it: term by term, written out."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, factorial, inf, log

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss import gaussian_pair, laplace_pair, three_point_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile import finite_sum as finite_cut
from zcdp.privacy.profile.finite_sum import Cut, cut_degree, expanded, lattice_points

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
