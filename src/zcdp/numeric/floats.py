"""The floats themselves: the least one above a rational, and the greatest one that satisfies a monotone test."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from math import inf, nextafter

__all__ = ["float_above", "greatest_float"]


def float_above(value: Fraction) -> float:
    """The least float that is not below a rational: inf beyond all of them.

    >>> float_above(Fraction(1, 10)), float_above(Fraction(3, 10)), float_above(Fraction(10**400))
    (0.1, 0.30000000000000004, inf)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return inf if value > 0 else nextafter(-inf, 0.0)
    return nearest if nearest >= value else nextafter(nearest, inf)


def _nth(index: int) -> float:
    """The positive floats in order: bit patterns of non-negative doubles sort like their values."""
    value: float = struct.unpack("<d", struct.pack("<q", index))[0]
    return value


LARGEST = 0x7FEF_FFFF_FFFF_FFFF


def greatest_float(fits: Callable[[float], bool]) -> float | None:
    """The greatest positive float that fits, if `fits` holds up to some point; None if it holds nowhere.

    >>> greatest_float(lambda x: x * x <= 2)
    1.414213562373095
    """
    fitting, failing = 0, LARGEST + 1
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if fits(_nth(middle)):
            fitting = middle
        else:
            failing = middle
    return _nth(fitting) if fitting else None
