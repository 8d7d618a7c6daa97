"""Unary encoding: a one-hot vector of d bits, the true bit set with probability p and every other with probability q.

Eight bits at once: a byte of independent Bernoulli(q) bits is one law on 0 .. 255, drawn from a lazy table.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from zcdp.numeric.trusted import thin
from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import BLOCK, Source, secure
from zcdp.samplers.table import Law, LazyTable

__all__ = ["UnaryReports", "noisy_bits"]


class UnaryReports:
    """Reports as rows of packed bits: value v is bit 7 - v % 8 of byte v // 8, as numpy.unpackbits reads them.

    >>> sure = UnaryReports(lambda: arb(1) - arb(2) ** -999, lambda: arb(2) ** -999)
    >>> np.unpackbits(sure.report(np.array([1, 9]), 10), axis=1, count=10).argmax(axis=1)
    array([1, 9])
    """

    def __init__(self, p: Real, q: Real, *, first: int = 16, second: int = 62) -> None:
        self._true = Coin(p, first=first)
        self._bytes = LazyTable(_byte_law(q), first=first, second=second)

    def report(self, values: NDArray[Any], d: int, source: Source = secure) -> NDArray[Any]:
        """One row of ceil(d/8) bytes for each value in 0 .. d-1; the bits beyond d are 0."""
        width = (d + 7) // 8
        out = np.empty((values.size, width), dtype=np.uint8)
        flat = out.reshape(-1)
        for start in range(0, flat.size, 2 * BLOCK):
            part = flat[start : start + 2 * BLOCK]
            part[:] = self._bytes.draw(part.size, source, np.uint8)
        if d % 8:
            out[:, -1] &= (0xFF00 >> d % 8) & 0xFF
        column = (values // 8).astype(np.intp)
        bit = np.right_shift(128, (values % 8).astype(np.uint8)).astype(np.uint8)
        rows = np.arange(values.size)
        set_bit = np.where(self._true.flips(values.size, source), bit, np.uint8(0))
        out[rows, column] = out[rows, column] & ~bit | set_bit
        return out

    def report_one(self, value: int, d: int, source: Source = secure) -> NDArray[Any]:
        """One row of ceil(d/8) bytes."""
        cells = memoryview(source(2 * ((d + 7) // 8))).cast("H")
        report = bytearray(self._bytes.draw_few(cells.tolist(), source))
        bit = 128 >> value % 8
        report[value // 8] = report[value // 8] & ~bit | (bit if self._true.flip(source) else 0)
        if d % 8:
            report[-1] &= (0xFF00 >> d % 8) & 0xFF
        return np.frombuffer(report, dtype=np.uint8)


def noisy_bits(rows: NDArray[Any], one: Real, zero: Real, d: int, source: Source = secure) -> NDArray[Any]:
    """Each of the d packed bits anew: 1 with probability `one` where it is 1, and `zero` where it is 0."""
    flat = rows.reshape(-1)
    out = np.empty_like(flat)
    ones, zeros = (LazyTable(_byte_law(chance), first=16, second=62) for chance in (one, zero))
    for start in range(0, flat.size, 2 * BLOCK):
        part = flat[start : start + 2 * BLOCK]
        kept, risen = (table.draw(part.size, source, np.uint8) for table in (ones, zeros))
        out[start : start + 2 * BLOCK] = (part & kept) | (~part & risen)
    shaped = out.reshape(rows.shape)
    if d % 8:
        shaped[..., -1] &= (0xFF00 >> d % 8) & 0xFF
    return shaped


def _byte_law(q: Real) -> Law:
    """Eight independent bits, each 1 with probability q, as one number."""

    @lru_cache(maxsize=4)
    def sums(bits: int) -> list[arb]:
        one = q() + arb(0, arb(2) ** (-2 * bits))  # a wider ball: powers of a tiny q must not underflow
        masses = [one**ones * (1 - one) ** (8 - ones) for ones in range(9)]
        totals = list(accumulate(masses[byte.bit_count()] for byte in range(256)))
        thin(totals[-1])  # wide balls would be kept for good
        return totals

    return Law(lambda byte: sums(ctx.prec)[byte], range(256), 0, 255)
