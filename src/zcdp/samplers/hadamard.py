"""Hadamard response: a uniform output, or a uniform one among those with sign +1 in the value's row and block."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import Source, blocks, secure
from zcdp.samplers.uniform import integers

__all__ = ["HadamardReports", "hadamard_width"]


def hadamard_width(k: int, parts: int) -> int:
    """The least power of two with enough rows that are not constant, in so many blocks, for k values.

    >>> hadamard_width(7, 1), hadamard_width(8, 1), hadamard_width(2, 2)
    (8, 16, 2)
    """
    rows = -(-k // parts)
    return 1 << rows.bit_length()


class HadamardReports:
    """Value v is row 1 + v % (width - 1) of block v // (width - 1); output y of a block has the sign (-1)^|row & y|.

    The value's outputs of sign +1 have weight e^epsilon, all others 1: one of the former with probability
    (e^epsilon - 1)/(e^epsilon - 1 + 2 blocks), else any.

    >>> HadamardReports(lambda: arb(100), 3, 1).report(np.array([0])).tolist()[0] in (0, 2)
    True
    """

    def __init__(self, epsilon: Real, k: int, parts: int, *, first: int = 16) -> None:
        if k > 1 << 31:
            raise BadValue(f"k ({k}) must be at most 2^31 for Hadamard response to be run")

        def told() -> arb:
            gain = -(-epsilon()).expm1()
            return gain / (gain + 2 * parts * (-epsilon()).exp())

        self._told, self._parts, self._width = Coin(told, first=first), parts, hadamard_width(k, parts)

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One output for each of a one-dimensional array of values."""
        width = self._width
        out = np.empty(values.size, dtype=np.int64)
        for block in blocks(values.size):
            count = block.stop - block.start
            value = values[block].astype(np.int64)
            part, row = value // (width - 1), value % (width - 1) + 1
            told = self._told.flips(count, source)
            fresh = integers(width * self._parts, count, source).astype(np.int64)
            column = integers(width, count, source).astype(np.int64)
            odd = _parity(row & column)
            column ^= np.where(odd, row & -row, 0)  # one bit of the row turns the sign: both halves are equally many
            out[block] = np.where(told, part * width + column, fresh)
        return out


def _parity(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whether the number of bits is odd, for numbers below 2^32; numpy counts bits itself from version 2 on only."""
    for shift in (16, 8, 4, 2, 1):
        numbers = numbers ^ (numbers >> shift)
    return numbers & 1
