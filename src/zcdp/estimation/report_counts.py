"""Counting reports: how often each bit is set, each value is reported, or each value is in a reported set.

Bits in rows of packed bytes are counted by carry-save addition: every bit position of a machine word is a counter of
its own, whose binary digits are kept in separate words ("positional population count").
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue

__all__ = ["bit_counts", "hadamard_signs", "integer_reports", "member_counts", "value_counts"]


Integers = NDArray[Any]
Pair = tuple[Integers, Integers]
"""Two bits x and y of the same weight at each position of a slab, stored as x and not (x xor y)."""

SLAB_BYTES = 96 << 10
"""Bytes of rows (a "slab") that one call adds: the slabs in use stay in the cache, and there are few calls."""

SLABS_PER_SUM = 4096
"""Slabs that are added before the binary digits are read, which then takes less than a hundredth of the time."""

CACHE_LINE = 64  # bytes: memory that starts at a multiple of it is read fastest
ONES = np.uint64(2**64 - 1)  # a word with all bits set


def bit_counts(rows: Integers, k: int) -> Integers:
    """How often each of k bits is set in rows of packed bytes.

    >>> bit_counts(np.packbits(np.array([[1, 0, 1], [0, 0, 1]]), axis=1), 3).tolist()
    [1, 0, 2]
    """
    if rows.dtype != np.uint8:
        raise BadType(f"packed bits must be bytes (uint8), not {rows.dtype}")
    width = rows.shape[1]
    sums = np.zeros(8 * width, dtype=np.int64)
    if rows.size <= SLAB_BYTES:
        sums, rows = _unpacked(rows), rows[:0]
    slab = 8 * max(1, SLAB_BYTES // (8 * width))  # rows: a multiple of eight is whole words at any width
    height = slab * max(1, min(SLABS_PER_SUM, len(rows) // slab))
    for start in range(0, len(rows), height):
        part = np.ascontiguousarray(rows[start : start + height])
        if len(part) % slab:
            part = np.concatenate((part, np.zeros((-len(part) % slab, width), dtype=np.uint8)))
        for power, digits in _added(part, slab):
            sums += _unpacked(digits) << power
    if sums[k:].any():
        raise BadValue(f"a report has bits beyond the {k} values: these are of another design")
    return np.asarray(sums[:k])


def _unpacked(rows: Integers) -> Integers:
    """In how many rows each bit is set, the highest bit of each byte first: unpacks bits and adds 255 rows in bytes."""
    sums = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for start in range(0, len(rows), 255):
        bits = np.unpackbits(rows[start : start + 255], axis=1)
        sums += np.add.reduce(bits, axis=0, dtype=np.uint8)
    return sums


def _added(rows: Integers, slab: int) -> list[tuple[int, Integers]]:
    """The sum of slabs, bit by bit: pairs (power, digits) where a set bit of the slab `digits` counts 2^power.

    The number of rows is a multiple of `slab`.
    """
    words = rows.reshape(-1).view(np.uint64).reshape(-1, slab * rows.shape[1] // 8)
    adder = _Adder(words.shape[1])
    whole = len(words) // 4 * 4
    for start in range(0, whole, 4):
        adder.add(*words[start : start + 4])
    if whole < len(words):
        rest = list(words[whole:])
        adder.add(*rest, *[np.zeros_like(rest[0])] * (4 - len(rest)))
    return [(power, digits.view(np.uint8).reshape(slab, -1)) for power, digits in adder.digits()]


class _Adder:
    """Adds slabs of words bit by bit. At each weight it stores a sum s, and at most one pair that waits for another.

    Two pairs and the sum make a new sum and one pair of twice the weight, by eight operations on whole words, all of
    them in place: 4.75 operations per slab with all carries, where full adders take 5 (Demenkov, Kojevnikov, Kulikov
    and Yaroslavtsev 2010, New upper bounds on the Boolean circuit complexity of symmetric functions). Sums are stored
    inverted, because then only one operation is an inversion.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._sums: list[Integers] = []
        self._waiting: list[Pair | None] = []
        self._free: list[Integers] = []
        self._extend()
        self._differ = self._memory()

    def _memory(self) -> Integers:
        if self._free:
            return self._free.pop()
        memory = np.empty(8 * self._size + CACHE_LINE, dtype=np.uint8)
        start = -memory.ctypes.data % CACHE_LINE
        return memory[start : start + 8 * self._size].view(np.uint64)

    def _extend(self) -> None:
        self._sums.append(self._memory())
        self._sums[-1].fill(ONES)
        self._waiting.append(None)

    def add(self, a: Integers, b: Integers, c: Integers, d: Integers) -> None:
        """Add four slabs of weight 1, which are not changed. In the comments t is s + a + b without its carry."""
        inverted, differ, first, second = self._sums[0], self._differ, self._memory(), self._memory()
        np.bitwise_xor(a, b, differ)
        np.bitwise_xor(a, inverted, first)
        np.invert(first, first)
        np.bitwise_or(first, differ, first)  # t xor the carry of s + a + b
        np.bitwise_xor(inverted, differ, inverted)  # not t
        np.bitwise_xor(c, inverted, second)
        np.bitwise_xor(c, d, differ)
        np.bitwise_or(second, differ, second)  # not (t xor the carry of t + c + d)
        np.bitwise_xor(first, second, first)  # whether the carries are equal
        np.bitwise_xor(second, inverted, second)  # the carry of t + c + d
        np.bitwise_xor(inverted, differ, inverted)
        self._carry(second, first)

    def _carry(self, x: Integers, equal: Integers, power: int = 1) -> None:
        """Add a pair of weight 2^power, and the carries at all higher weights."""
        while True:
            if power == len(self._sums):
                self._extend()
            waiting = self._waiting[power]
            if waiting is None:
                self._waiting[power] = x, equal
                return
            self._waiting[power] = None
            first, same = waiting
            total = self._sums[power]
            np.bitwise_xor(first, total, first)
            np.bitwise_and(first, same, first)  # not (t xor the carry of the first pair and s)
            np.bitwise_xor(total, same, total)  # t, the sum after the first pair
            np.bitwise_xor(x, total, x)
            np.bitwise_and(x, equal, x)  # t xor the carry of the second pair and t
            np.bitwise_xor(first, x, first)  # whether the carries are equal
            np.bitwise_xor(x, total, x)  # the carry of the second pair
            np.bitwise_xor(total, equal, total)
            self._free += [same, equal]
            equal, power = first, power + 1

    def digits(self) -> list[tuple[int, Integers]]:
        """The binary digits of the sums: pairs (power, slab) whose set bits count 2^power.

        First pairs of zeros are added where a pair still waits, so that it is carried into the sums.
        """
        for power in range(1, len(self._sums)):
            if self._waiting[power] is not None:
                zeros, equal = self._memory(), self._memory()
                zeros.fill(0)
                equal.fill(ONES)
                self._carry(zeros, equal, power)
        found = [(power, np.invert(total)) for power, total in enumerate(self._sums)]
        for power, pair in enumerate(self._waiting):
            if pair is not None:  # at the highest weight, which only the added zeros have reached
                x, equal = pair
                found += [(power, x), (power, np.invert(x ^ equal))]
        return found


# Counting for each form of report, in blocks that stay in the cache.

REPORTS_AT_ONCE = 1 << 20  # in one block


def integer_reports(reports: ArrayLike, *, columns: int | None = None) -> Integers:
    """The reports as an array of integers: of one dimension, or if `columns` is given, of rows of that length."""
    array = np.asarray(reports)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # numpy gives an empty list the type float64
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
    for start in range(0, reports.size, REPORTS_AT_ONCE):
        part = reports[start : start + REPORTS_AT_ONCE]
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


def _another(size: int) -> BadValue:
    return BadValue(f"reports must lie in 0 .. {size - 1}: these are of another design")


def _byte_counts(part: Integers) -> Integers:
    """How often each byte occurs, from a histogram of pairs of bytes, which takes half the time."""
    even = np.ascontiguousarray(part[: part.size // 2 * 2]).view(np.uint16)
    pairs = np.bincount(even, minlength=1 << 16).reshape(256, 256)
    often = pairs.sum(axis=0) + pairs.sum(axis=1)
    if part.size % 2:
        often[part[-1]] += 1
    return np.asarray(often)


def member_counts(rows: Integers, k: int) -> Integers:
    """How many of the sets, given as rows of increasing values, contain each of the k values.

    >>> member_counts(np.array([[0, 2], [1, 2]]), 3).tolist()
    [1, 1, 2]
    """
    if rows.shape[1] > 1 and not (rows[:, 1:] > rows[:, :-1]).all():
        raise BadValue("each report must be a row of increasing values: these are of another design")
    return value_counts(rows.reshape(-1), k)


def hadamard_signs(histogram: Integers) -> Integers:
    """For every row of the Sylvester-Hadamard matrix H, the sum of H[row, y] over the reports y.

    This is the fast Walsh-Hadamard transform of the histogram of reports.

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
