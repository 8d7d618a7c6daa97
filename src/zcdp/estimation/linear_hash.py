"""Decoding linear hashing: how many reports support each value, by Fourier transforms over the vectors.

Theorem: docs/theorems/linear-hashing.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue

__all__ = ["LARGEST_TABLE", "linear_hash_supports"]

LARGEST_TABLE = 1 << 28
MOST_REPORTS = 1 << 40  # rounding to whole numbers is then safe: errors are below n log(size) 2^-50


def linear_hash_supports(tally: NDArray[Any], g: int, digits: int, k: int) -> NDArray[Any]:
    """For each value v below k the number of reports (a, z) with <a, v> = z mod g, from how often each a g + z came.

    >>> linear_hash_supports(np.eye(9)[2 * 3 + 1], 3, 1, 3).tolist()  # a = 2, z = 1: 2 v = 1 mod 3
    [0, 0, 1]
    """
    size, received = g**digits, tally.sum()
    if received > MOST_REPORTS:
        raise BadValue(f"{received} reports are more than the 2^40 that are decoded without error")
    table = tally.reshape(size, g)
    total = np.full(size, received / g)
    # over z, for t = 1 .. (g-1)/2: the others are complex conjugates of these; g = 2 has t = 1 alone, which is real
    over_z = np.fft.rfft(table, axis=1)
    digit = np.arange(g)
    for t in range(1, g // 2 + 1):
        over_a = np.fft.fftn(over_z[:, t].reshape((g,) * digits))
        for axis in range(digits):  # value v is at the frequency -t v, digit by digit
            over_a = np.take(over_a, -t * digit % g, axis=axis)
        total += (1 if g == 2 else 2) * over_a.real.reshape(-1) / g
    return np.rint(total[:k]).astype(np.int64)
