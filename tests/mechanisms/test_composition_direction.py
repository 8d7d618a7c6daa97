"""Asymmetric pairs compose soundly only if the direction is maximised for each mechanism and order before summing.

Neighbours can meet one mechanism forwards and the next one backwards. The counterexample: Bern(.0138) against
Bern(.6678), twice; the maximum taken outside the composition says delta(2.79) = .443, the mixed orientation has .584.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import explicit
import mpmath as mp
import pytest

from zcdp import BinaryRandomizedResponse, LossPair

LOW, HIGH = Fraction(138, 10**4), Fraction(6678, 10**4)
P, Q = [LOW, 1 - LOW], [HIGH, 1 - HIGH]
RESPONSE = BinaryRandomizedResponse(p=HIGH, q=LOW)
PAIR = LossPair(p=P, q=Q)
ORDERS = ("1.001", "1.1", "1.5", 2, 3, 10, 100)
ORIENTATIONS = list(product([(P, Q), (Q, P)], repeat=2))


def composed(orientation: tuple[tuple[list[Fraction], list[Fraction]], ...]) -> tuple[list[Fraction], list[Fraction]]:
    """The product of two pairs, each in its direction."""
    left, right = zip(*orientation, strict=True)
    return [prod(masses) for masses in product(*left)], [prod(masses) for masses in product(*right)]


def hockey_stick(p: list[Fraction], q: list[Fraction], epsilon: float) -> float:
    grown = mp.exp(epsilon)
    return float(mp.fsum(max(0, mp.mpf(float(a)) - grown * float(b)) for a, b in zip(p, q, strict=True)))


def divergence(p: list[Fraction], q: list[Fraction], order: object) -> float:
    with mp.workdps(40):
        excess = Fraction(order) - 1
        s = mp.mpf(excess.numerator) / excess.denominator
        return float(explicit.cumulant(p, q)(s) / s)


@pytest.mark.parametrize("order", ORDERS)
def test_the_curve_is_the_larger_of_both_directions_at_each_order(order: object) -> None:
    largest = max(divergence(P, Q, order), divergence(Q, P, order))
    assert RESPONSE.rdp(order) == pytest.approx(largest, rel=1e-14)
    assert PAIR.rdp(order) == pytest.approx(largest, rel=1e-14)


def test_the_larger_direction_may_depend_on_the_order() -> None:
    """A rare outcome of great loss against a common one of small loss: neither direction alone is the curve."""
    p, q = explicit.normalised([100, 3000, 100]), explicit.normalised([1, 3000, 1000])
    forwards = [divergence(p, q, order) > divergence(q, p, order) for order in ORDERS]
    assert True in forwards
    assert False in forwards
    for order in ORDERS:
        largest = max(divergence(p, q, order), divergence(q, p, order))
        assert LossPair(p=p, q=q).rdp(order) == pytest.approx(largest, rel=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_the_sum_of_curves_covers_every_orientation(order: object) -> None:
    for orientation in ORIENTATIONS:
        p, q = composed(orientation)
        assert divergence(p, q, order) <= 2 * RESPONSE.rdp(order) * (1 + 1e-15)
        assert LossPair(p=p, q=q).rdp(order) <= 2 * RESPONSE.rdp(order) * (1 + 1e-15)


def test_the_sum_of_rhos_covers_every_orientation() -> None:
    for orientation in ORIENTATIONS:
        p, q = composed(orientation)
        assert LossPair(p=p, q=q).rho_bounds[0] <= 2 * RESPONSE.rho


def test_the_maximum_outside_the_composition_is_unsound() -> None:
    deltas = {orientation: hockey_stick(*composed(pair), 2.79) for orientation, pair in enumerate(ORIENTATIONS)}
    same, mixed = max(deltas[0], deltas[3]), max(deltas[1], deltas[2])
    assert same == pytest.approx(0.443, abs=5e-4)
    assert mixed == pytest.approx(0.584, abs=5e-4)


def test_the_sum_of_curves_covers_the_mixed_orientation_in_epsilon_and_delta() -> None:
    """delta <= exp((alpha - 1)(D - epsilon))/alpha (1 - 1/alpha)^(alpha - 1), at the best of a grid of orders."""
    bound = min(
        float(mp.exp((a - 1) * (2 * RESPONSE.rdp(a) - 2.79)) / a * (1 - 1 / a) ** (a - 1))
        for a in (1 + 2.0**n for n in range(-6, 8))
    )
    assert max(hockey_stick(*composed(pair), 2.79) for pair in ORIENTATIONS) <= bound
