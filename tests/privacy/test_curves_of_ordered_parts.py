"""Points of a curve hold in both orders of the neighbours."""

from __future__ import annotations

from fractions import Fraction
from math import exp

from zcdp import LossPair


def test_a_curve_of_ordered_parts_is_not_below_the_worse_order() -> None:
    p, q = [0.125, 0.875], [0.5, 0.5]
    pair = LossPair(p=["1/8", "7/8"], q=["1/2", "1/2"], ordered=True)
    epsilons = [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(5, 4)]
    found = (3 * pair)._curve_in_haste(epsilons, 4)
    for epsilon, delta in zip(epsilons, found, strict=True):
        outcomes = [
            (a * b * c, x * y * z)
            for a, x in zip(p, q, strict=False)
            for b, y in zip(p, q, strict=False)
            for c, z in zip(p, q, strict=False)
        ]
        g = exp(epsilon)
        true = max(sum(max(s - g * t, 0) for s, t in outcomes), sum(max(t - g * s, 0) for s, t in outcomes))
        assert delta >= true * (1 - 1e-12), epsilon
