"""Linear hashing: a fresh vector a over Z_g, sent along, and the product <a, v> mod g through randomized response."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.samplers.lazy import Real
from zcdp.samplers.response import Response
from zcdp.samplers.source import Source, blocks, secure
from zcdp.samplers.uniform import integers

__all__ = ["LinearHashReports", "digit_count"]

LARGEST = 1 << 62


def digit_count(k: int, g: int) -> int:
    """Digits in base g that tell k values apart.

    >>> digit_count(9, 3), digit_count(10, 3)
    (2, 3)
    """
    count = 1
    while g**count < k:
        count += 1
    return count


class LinearHashReports:
    """Reports as one number, a g + z: a is read as digits in base g, as is the value.

    >>> from flint import arb
    >>> report = LinearHashReports(lambda: arb(100), 3, 9).report(np.array([5]))[0]  # 5 = 2 + 1 * 3
    >>> a, z = divmod(int(report), 3)
    >>> (a % 3 * 2 + a // 3 * 1) % 3 == z
    True
    """

    def __init__(self, epsilon: Real, g: int, k: int, *, first: int = 16) -> None:
        self._digits = digit_count(k, g)
        if g ** (self._digits + 1) > LARGEST:
            raise BadValue(f"g ({g}) and k ({k}) must give reports of at most 62 bits")
        self._g, self._response = g, Response(epsilon, g, first=first)

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One report for each of a one-dimensional array of values."""
        out = np.empty(values.size, dtype=np.int64)
        for block in blocks(values.size):
            vector = integers(self._g**self._digits, block.stop - block.start, source).astype(np.int64)
            bucket = hashed(vector, values[block].astype(np.int64), self._g, self._digits)
            out[block] = vector * self._g + self._response.respond(bucket, source)
        return out


def hashed(vector: NDArray[Any], values: NDArray[Any], g: int, digits: int) -> NDArray[Any]:
    """<a, v> mod g, digit by digit."""
    total = np.zeros(np.broadcast(vector, values).shape, dtype=np.int64)
    for _ in range(digits):
        total = (total + vector % g * (values % g)) % g
        vector, values = vector // g, values // g
    return total
