"""Counting supports: one kernel for each form of report, over blocks that stay in the cache."""

from __future__ import annotations

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
    sums = np.zeros((width, 8), dtype=np.int64)
    height = GROUP * max(1, BLOCK // max(GROUP * width, 1))
    for start in range(0, len(rows), height):
        part = rows[start : start + height]
        if len(part) % GROUP:
            part = np.concatenate((part, np.zeros((-len(part) % GROUP, width), dtype=np.uint8)))
        sums += _bit_sums(np.ascontiguousarray(part), width)
    flat = sums[:, ::-1].reshape(-1)  # value v is bit 7 - v % 8 of its byte
    if flat[k:].any():
        raise BadValue(f"a report has bits beyond the {k} values: these are of another design")
    return np.asarray(flat[:k])


GROUP = 8 * 3 * 5 * 17
"""Rows added without a carry: eight rows are words of 64 bits, whatever their width; then 3, 15 and 255 such sums fill
fields of 2, 4 and 8 bits."""


def _bit_sums(rows: Integers, width: int) -> Integers:
    """For each byte column and bit of it, from the lowest, in how many rows it is set: 64 bits at a time."""
    sums = np.zeros((width, 8), dtype=np.int64)
    words = rows.reshape(-1).view(np.uint64).reshape(-1, 17, 5, 3, width)
    for one in range(2):
        pairs = _added(words >> np.uint64(one), 0x5555555555555555)
        for two in range(2):
            fours = _added(pairs >> np.uint64(2 * two), 0x3333333333333333)
            for four in range(2):
                eights = _added(fours >> np.uint64(4 * four), 0x0F0F0F0F0F0F0F0F)
                often = eights.view(np.uint8).reshape(-1, 8, width).sum(axis=(0, 1), dtype=np.int64)
                sums[:, one + 2 * two + 4 * four] += often
    return sums


def _added(words: Integers, mask: int) -> Integers:
    """The fields under the mask, summed over the last axis but one."""
    words &= np.uint64(mask)
    return np.ascontiguousarray(words.sum(axis=-2, dtype=np.uint64))


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
