"""Counting supports: one kernel for each form of report, over blocks that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue

__all__ = ["bit_counts", "hadamard_signs", "integer_reports", "member_counts", "value_counts"]

Integers = NDArray[Any]
BLOCK = 1 << 20


def integer_reports(reports: ArrayLike, *, columns: int | None = None) -> Integers:
    """The reports as an array of integers, of one dimension, or of rows of so many columns."""
    array = np.asarray(reports)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list has no type
    if array.dtype.kind not in "iu":
        raise BadType(f"reports must be integers, not {array.dtype}")
    if columns is None:
        return array.reshape(-1)
    if array.ndim == 0 or (array.size and array.shape[-1] != columns):
        raise BadValue(f"each report must be a row of {columns}, not of shape {array.shape}")
    return array.reshape(-1, columns)


def value_counts(reports: Integers, size: int) -> Integers:
    """How often each of 0 .. size-1 is reported; anything else is refused before it is counted.

    >>> value_counts(np.array([2, 0, 2]), 3).tolist()
    [1, 0, 2]
    """
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, reports.size, BLOCK):
        part = reports[start : start + BLOCK]
        if part.dtype == np.uint8:
            often = _byte_counts(part)
            if often[size:].any():
                raise _another(size)
            total[:256] += often[: total[:256].size]
            continue
        if int(part.min()) < 0 or int(part.max()) >= size:
            raise _another(size)
        total += np.bincount(part.astype(np.intp, copy=False), minlength=size)
    return total


def _another(size: int) -> ValueError:
    return ValueError(f"reports must lie in 0 .. {size - 1}: these are of another design")


def _byte_counts(part: Integers) -> Integers:
    """Two bytes at a time: a histogram of pairs, summed both ways."""
    even = np.ascontiguousarray(part[: part.size // 2 * 2]).view(np.uint16)
    pairs = np.bincount(even, minlength=1 << 16).reshape(256, 256)
    often = pairs.sum(axis=0) + pairs.sum(axis=1)
    if part.size % 2:
        often[part[-1]] += 1
    return np.asarray(often)


def bit_counts(rows: Integers, k: int) -> Integers:
    """How often each of k bits is set in rows of packed bytes.

    >>> bit_counts(np.packbits(np.array([[1, 0, 1], [0, 0, 1]]), axis=1), 3).tolist()
    [1, 0, 2]
    """
    if rows.dtype != np.uint8:
        raise BadType(f"packed bits must be bytes (uint8), not {rows.dtype}")
    width = rows.shape[1]
    sums = np.zeros(8 * width, dtype=np.int64)
    if rows.size <= SLAB:
        sums, rows = _plane_sums(rows), rows[:0]
    slab = 8 * max(1, SLAB // (8 * width))  # rows: eight of them are whole words, whatever their width
    height = slab * max(1, min(SLABS, len(rows) // slab))
    for start in range(0, len(rows), height):
        part = np.ascontiguousarray(rows[start : start + height])
        if len(part) % slab:
            part = np.concatenate((part, np.zeros((-len(part) % slab, width), dtype=np.uint8)))
        for power, plane in _added(part, slab):
            # what is left is added up once more in smaller slabs, where it has whole words enough
            again = _added(plane, slab // 16) if slab % 128 == 0 else [(0, plane)]
            sums += sum(_plane_sums(less) << power + more for more, less in again)
    if sums[k:].any():
        raise BadValue(f"a report has bits beyond the {k} values: these are of another design")
    return np.asarray(sums[:k])


SLAB = 1 << 16
"""Bytes of the rows that are added at once, bit by bit in parallel: a few such stay in the cache."""

SLABS = 4095
"""That many are added before their planes of binary digits are read: those are then less than a hundredth."""


def _added(rows: Integers, slab: int) -> list[tuple[int, Integers]]:
    """Rows of bytes, a multiple of the slab, as fewer rows with the powers of 2 that those count for."""
    words = rows.reshape(-1).view(np.uint64).reshape(-1, slab * rows.shape[1] // 8)
    adders = _Adders(words.shape[1])
    for one in words:
        adders.add(one)
    return [(power, plane.view(np.uint8).reshape(slab, -1)) for power, plane in adders.planes()]


class _Adders:
    """Adds slabs of words, each bit for itself, in carry-save form: at each weight a sum, and one that waits.

    A full adder makes the sum, the waiting one and a third into a new sum and a carry of twice the weight: five
    operations on whole words for each slab that comes in, and half as many at each next weight.
    """

    def __init__(self, size: int) -> None:
        self._size, self._spare = size, np.empty(size, dtype=np.uint64)
        self._sums: list[Integers] = []
        self._waiting: list[Integers | None] = []
        self._carries: list[list[Integers]] = []

    def add(self, slab: Integers) -> None:
        """A slab of weight 1: kept until the next one has come, and not changed."""
        waiting, half = self._waiting, self._spare
        for power in range(64):
            if power == len(waiting):
                self._sums.append(np.zeros(self._size, dtype=np.uint64))
                waiting.append(None)
                self._carries.append([np.empty(self._size, dtype=np.uint64) for _ in range(2)])
            waits = waiting[power]
            if waits is None:
                waiting[power] = slab
                return
            waiting[power] = None
            # of two carries the first waits at the next weight, and both are free when the second has come there
            carry = self._carries[power][power + 1 < len(waiting) and waiting[power + 1] is not None]
            total = self._sums[power]
            np.bitwise_xor(total, waits, half)
            np.bitwise_and(total, waits, carry)
            np.bitwise_xor(half, slab, total)
            np.bitwise_and(half, slab, half)
            np.bitwise_or(carry, half, carry)
            slab = carry

    def planes(self) -> Iterator[tuple[int, Integers]]:
        """The sums and what still waits, with the powers of 2 that they count for."""
        for power, (total, waits) in enumerate(zip(self._sums, self._waiting, strict=True)):
            yield power, total
            if waits is not None:
                yield power, waits


def _plane_sums(rows: Integers) -> Integers:
    """In how many rows each bit is set, from the highest of each byte: unpacked and added, 255 rows to a byte."""
    sums = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for start in range(0, len(rows), 255):
        bits = np.unpackbits(rows[start : start + 255], axis=1)
        sums += np.add.reduce(bits, axis=0, dtype=np.uint8)
    return sums


def member_counts(rows: Integers, k: int) -> Integers:
    """How often each value is in the sets, given as rows of increasing values.

    >>> member_counts(np.array([[0, 2], [1, 2]]), 3).tolist()
    [1, 1, 2]
    """
    if rows.shape[1] > 1 and not (rows[:, 1:] > rows[:, :-1]).all():
        raise BadValue("each report must be a row of increasing values: these are of another design")
    return value_counts(rows.reshape(-1), k)


def hadamard_signs(histogram: Integers) -> Integers:
    """The sum of the signs H[row, y] over the reports y, for every row of the Sylvester matrix: log(size) passes.

    >>> hadamard_signs(np.array([1, 0, 0, 2])).tolist()
    [3, -1, -1, 3]
    """
    signs = histogram.astype(np.int64)
    step = 1
    while step < signs.size:
        pairs = signs.reshape(-1, 2, step)
        signs = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).reshape(-1)
        step *= 2
    return signs
