"""Decoding of linear hashing: how many reports support each value, by Fourier transforms over the hash vectors.

Theorem: docs/theorems/linear-hashing.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue

__all__ = ["LARGEST_TABLE", "SMALL_TABLE", "linear_hash_supports", "table_supports"]


LARGEST_TABLE = 1 << 28
"""Most cells of a table that is transformed, and most different reports that are counted."""
SMALL_TABLE = 1 << 22
"""With at most this many different reports, repeats are counted before decoding; with more, few come twice."""

MOST_REPORTS = 1 << 40  # rounding to integers is then safe: errors of the transform are below n log(size) 2^-50
PER_REPORT, PER_CELL = 3, 8  # relative cost of a pass over a report, and of a cell of the table


def linear_hash_supports(reports: NDArray[Any], g: int, k: int, often: NDArray[Any] | None = None) -> NDArray[Any]:
    """For each value v below k the number of reports (a, z) with <a, v> = z mod g, each given as a g + z.

    `often` is how often each of `reports` came, once if it is left out. The leading digits v'' of v are tried one after
    another: with <a, v> = <a', v'> + <a'', v''>, the report (a, z) supports v if (a', z - <a'', v''>) supports v'. The
    other digits v' are decoded all at once.

    >>> linear_hash_supports(np.array([2 * 3 + 1]), 3, 3).tolist()  # a = 2, z = 1: 2 v = 1 mod 3
    [0, 0, 1]
    """
    received = reports.size if often is None else int(often.sum())
    if received > MOST_REPORTS:
        raise BadValue(f"{received} reports are more than the 2^40 that are decoded without error")
    digits = _digits(g, k, reports.size)
    size = g**digits
    kind: Any = np.uint32 if reports.size and int(reports.max()) < 1 << 32 else np.uint64  # 32 bits divide faster
    narrow, g_, size_ = reports.astype(kind), kind(g), kind(size)
    vector = narrow // g_
    bucket, leading = narrow - vector * g_, vector // size_
    vector = (vector - leading * size_) * g_
    out = np.empty(k, dtype=np.int64)
    for start in range(0, k, size):
        moved = (bucket + g_ - _product(leading, start // size, g_)) % g_ if start else bucket
        table = np.bincount((vector + moved).astype(np.intp), often, minlength=size * g).reshape(size, g)
        part = out[start : start + size]
        part[:] = table_supports(table, g, digits, received)[: part.size]
    return out


def _digits(g: int, k: int, reports: int) -> int:
    """How many digits to decode at once: more digits mean fewer passes over the reports, but a larger table."""
    choices, size, digits = [], 1, 0
    while size < k:
        size, digits = size * g, digits + 1
        choices.append((-(-k // size) * (PER_REPORT * reports + PER_CELL * size * g), digits))
        if size * g > LARGEST_TABLE:
            break
    return min(choices)[1]


def _product(vector: NDArray[Any], value: int, g: Any) -> NDArray[Any]:
    """<a, v> mod g for vectors and a value that are given as numbers in base g; in the type of the vector."""
    total = np.zeros_like(vector)
    while value:
        value, digit = divmod(value, int(g))
        total = (total + vector % g * vector.dtype.type(digit)) % g
        vector = vector // g
    return total


def table_supports(table: NDArray[Any], g: int, digits: int, received: int) -> NDArray[Any]:
    """How many reports support each value of `digits` digits, from table[a, z], how often each report came."""
    total = np.full(len(table), received / g)
    # Frequencies t = 1 .. (g-1)/2 over z; the others are complex conjugates of these. g = 2 has only t = 1, and it is
    # real.
    over_z = np.fft.rfft(table, axis=1)
    digit = np.arange(g)
    for t in range(1, g // 2 + 1):
        over_a = np.fft.fftn(over_z[:, t].reshape((g,) * digits))
        # The value v is at the frequency -t v in each digit.
        turned = over_a.real[np.ix_(*[-t * digit % g] * digits)]
        total += (1 if g == 2 else 2) * turned.reshape(-1) / g
    supports: NDArray[Any] = np.rint(total).astype(np.int64)
    return supports
