"""What a spend is charged: exactly its cost, or a hair more, so that sums of any length stay short numbers."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

__all__ = ["GRID", "charge", "charge_down"]

GRID = lcm(10**1000, *range(1, 101))
"""Every amount is a whole multiple of 1/GRID: so is every decimal of up to 1000 places, every fraction of a
denominator up to 100, and every double above 2^-948."""


def charge(cost: Fraction) -> Fraction:
    """The least multiple of 1/GRID that is not below the cost: the cost itself, for all that people write.

    The sum of any number of charges has a denominator that divides GRID, so that adding one more takes as long after
    a million as at the start. Without such a rule the sum of 1/p over primes p would grow by each of them.

    >>> charge(Fraction(1, 10)), charge(Fraction(1, 3))
    (Fraction(1, 10), Fraction(1, 3))
    >>> 0 < charge(Fraction(1, 101)) - Fraction(1, 101) < Fraction(1, GRID)
    True
    """
    return cost if GRID % cost.denominator == 0 else Fraction(-(-cost.numerator * GRID // cost.denominator), GRID)


def charge_down(budget: Fraction) -> Fraction:
    """The greatest multiple of 1/GRID that is not above the budget."""
    return -charge(-budget)
