"""What a spend is charged: exactly its cost, or a hair more, so that sums of any length stay short numbers."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

__all__ = ["GRID", "charge", "charge_down", "units"]

GRID = lcm(10**1000, lcm(*range(1, 101)) ** 2)
"""Every amount is a whole multiple of 1/GRID: so is every decimal of up to 1000 places, every fraction of a
denominator up to 100 or of the square of one (a Gaussian of sigma 7 costs 1/98), and every double above 2^-948."""


def units(cost: Fraction, per_one: int = GRID) -> int:
    """The cost as a number of units, `per_one` of which make 1, rounded up: exact where it is a whole number of them.

    Sums of such numbers never grow longer, so that adding one more takes as long after a million as at the start.
    Without such a rule the sum of 1/p over primes p would grow by each of them. Theorem: docs/theorems/filter.md.

    >>> Fraction(units(Fraction("0.1")), GRID), units(Fraction(1, 10**4000))
    (Fraction(1, 10), 1)
    """
    return -(-cost.numerator * per_one // cost.denominator)


def charge(cost: Fraction) -> Fraction:
    """The least multiple of 1/GRID that is not below the cost: the cost itself, for all that people write.

    >>> charge(Fraction(1, 10)), charge(Fraction(1, 3))
    (Fraction(1, 10), Fraction(1, 3))
    >>> 0 < charge(Fraction(1, 101)) - Fraction(1, 101) < Fraction(1, GRID)
    True
    """
    return cost if GRID % cost.denominator == 0 else Fraction(units(cost), GRID)


def charge_down(budget: Fraction) -> Fraction:
    """The greatest multiple of 1/GRID that is not above the budget."""
    return -charge(-budget)
