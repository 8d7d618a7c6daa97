"""Exact numbers that print as people write them."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["Readable", "readable"]

SHORT = 1000


class Readable(Fraction):
    """A rational number that is exact in every calculation, and printed as 10, 2.5, 1/3 or as the nearest float.

    >>> Readable(10), Readable(5, 2), Readable(1, 3), Readable(1) / 3
    (10, 2.5, 1/3, Fraction(1, 3))
    >>> Readable(36028797018963968, 3602879701896397)        # 1/0.1, where 0.1 is a float
    10.0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """The number; what is behind it is exact."""
        if self.denominator == 1:
            return str(self.numerator)
        try:
            near = float(self)
        except OverflowError:
            return str(self)
        return str(self) if self.denominator < SHORT and Fraction(near) != self else repr(near)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        """Whole, through copies and pickles."""
        return type(self), (str(self),)


def readable(number: Fraction | float) -> Fraction | float:
    """The same number, easier to read.

    >>> readable(Fraction(7, 2)), readable(3.25)
    (3.5, 3.25)
    """
    return Readable(number.numerator, number.denominator) if isinstance(number, Fraction) else number
