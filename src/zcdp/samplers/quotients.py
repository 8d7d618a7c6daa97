"""Exact quotients v q/p of floats v, rounded down on binary grids: in 64 bits, and in the same steps for every float.

v = m 2^-k with an integer m of 53 bits, and m q = a p + b: v q/p is (a + b/p)/2^k. a has up to 88 bits, and is kept in
two parts of which the lower has 26. See docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NARROW", "Quotients"]

NARROW = 35
"""Bits of p and q that 64 bits leave room for."""
LOW = 26
MASK = (1 << LOW) - 1
FURTHEST = 128  # bits below the point of m q/p that are ever asked for: 60, and 45 for floats beyond 2^53


class Quotients:
    """v q/p for floats v, with p and q below 2^35 and |v q/p| below 2^61.

    >>> Quotients(np.array([0.3, -0.001]), 10, 3).floor(1)
    array([ 1, -1])
    """

    def __init__(self, values: NDArray[Any], q: int, p: int) -> None:
        mantissas, exponents = np.frexp(values)
        digits = (mantissas * 2.0**53).astype(np.int64)
        self._k = 53 - exponents.astype(np.int64)  # numpy 1 would go on in the 32 bits of the exponents
        high, over = np.divmod((digits >> LOW) * q, p)
        low, self._b = np.divmod((over << LOW) + (digits & MASK) * q, p)
        self._high, self._low, self._p = high + (low >> LOW), low & MASK, p

    def floor(self, refine: int) -> NDArray[Any]:
        """floor(2^refine v q/p) modulo 2^64."""
        down = self._k - refine
        floor: NDArray[Any] = _scaled(self._high, LOW - down) + _scaled(self._low, -down)
        if self._p > 1:
            floor += self._below(np.clip(-down, 0, FURTHEST))
        return floor

    def _below(self, up: NDArray[Any]) -> NDArray[Any]:
        """floor(2^up b/p) modulo 2^64: long division, as many bits at a time as 62 leave room for."""
        total: NDArray[Any] = np.zeros_like(self._b)
        left = self._b
        chunk = 62 - self._p.bit_length()
        for done in range(0, FURTHEST, chunk):
            step = np.clip(up - done, 0, chunk)
            digit, left = np.divmod(left << step, self._p)
            total = (total << step) + digit
        return total


def _scaled(numbers: NDArray[Any], up: NDArray[Any]) -> NDArray[Any]:
    """floor(2^up numbers) modulo 2^64: what is shifted by 64 bits or more is gone, and 63 bits leave a sign."""
    return np.where(up > 63, 0, numbers << np.clip(up, 0, 63) >> np.clip(-up, 0, 63))
