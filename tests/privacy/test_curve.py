"""A curve's own numbers: pure epsilons and scales rounded up, no order of an array rounded."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import pytest

from zcdp import Laplace, PureDP


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 3), Fraction(1, 10**12), Fraction(10**9 - 1, 3)]
)
def test_pure_epsilon_is_the_least_float_above(epsilon: Fraction) -> None:
    up = PureDP(epsilon=epsilon).pure_epsilon
    assert up == inf or Fraction(up) >= epsilon
    assert Fraction(nextafter(up, 0)) < epsilon


def test_logarithms_are_rounded_up() -> None:
    # log 3 = 1.0986122886681096913952..., 1/log 2 = 1.4426950408889634073599...
    assert Fraction(PureDP(epsilon="log(3)").pure_epsilon) > Fraction("1.0986122886681096913952")
    assert Fraction(Laplace(epsilon="log(2)").scale) > Fraction("1.4426950408889634073599")


def test_an_array_rounds_no_order() -> None:
    m, third = PureDP(epsilon="0.01"), Fraction(4, 3)
    assert m.rdp([third, 1.5])[0] == m.rdp(third) > m.rdp(float(third))  # the float is below 4/3
    assert Laplace(epsilon=3.5).rdp([1.1, "inf"])[0] == Laplace(epsilon=3.5).rdp(1.1)
