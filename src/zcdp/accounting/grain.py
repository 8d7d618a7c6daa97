"""The grain of a budget: costs are whole multiples of one tiny unit, so that a sum of many stays short."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

__all__ = ["GRAINS", "grains"]

GRAINS = 2**200 * 5**60 * lcm(*range(1, 51)) ** 2
"""How many units make 1. Decimals of up to 60 places, binary fractions of up to 200, and fractions with small
denominators and their squares (a Gaussian of sigma 3 costs 1/18) are whole multiples of the unit, which is 2e-146."""


def grains(cost: Fraction, per_one: int = GRAINS) -> int:
    """The cost in units, rounded up: exact where it is a multiple of the unit, else above it by less than one.

    Theorem: docs/theorems/filter.md.

    >>> Fraction(grains(Fraction("0.1")), GRAINS), grains(Fraction(1, 10**4000))
    (Fraction(1, 10), 1)
    """
    return -(-cost.numerator * per_one // cost.denominator)
