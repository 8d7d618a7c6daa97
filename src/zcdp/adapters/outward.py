"""Exact numbers as the floats that other systems take, rounded to the side where more is spent."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

__all__ = ["above", "below"]


def above(number: Fraction) -> float:
    """The least float that is at least the number.

    >>> above(Fraction(1, 2)), above(Fraction(1, 10)) >= Fraction(1, 10)
    (0.5, True)
    """
    try:
        near = number.numerator / number.denominator
    except OverflowError:
        return inf if number > 0 else -nextafter(inf, 0.0)
    return near if Fraction(near) >= number else nextafter(near, inf)


def below(number: Fraction) -> float:
    """The largest float that is at most the number.

    >>> below(Fraction(1, 3)) < Fraction(1, 3) < above(Fraction(1, 3))
    True
    """
    return -above(-number)
