"""Counting supports: one kernel for each form of report, over blocks that stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["bit_counts", "hadamard_signs", "integer_reports", "member_counts", "value_counts"]

Integers = NDArray[Any]
BLOCK = 1 << 20


def integer_reports(reports: ArrayLike, *, columns: int | None = None) -> Integers:
    """The reports as an array of integers, of one dimension, or of rows of so many columns."""
    array = np.asarray(reports)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)  # an empty list has no type
    if array.dtype.kind not in "iu":
        raise TypeError(f"reports must be integers, not {array.dtype}")
    if columns is None:
        return array.reshape(-1)
    if array.ndim == 0 or (array.size and array.shape[-1] != columns):
        raise ValueError(f"each report must be a row of {columns}, not of shape {array.shape}")
    return array.reshape(-1, columns)


def value_counts(reports: Integers, size: int) -> Integers:
    """How often each of 0 .. size-1 is reported; anything else is refused before it is counted.

    >>> value_counts(np.array([2, 0, 2]), 3).tolist()
    [1, 0, 2]
    """
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, reports.size, BLOCK):
        part = reports[start : start + BLOCK]
        if int(part.min()) < 0 or int(part.max()) >= size:
            raise ValueError(f"reports must lie in 0 .. {size - 1}: these are of another design")
        total += np.bincount(part.astype(np.intp, copy=False), minlength=size)
    return total


def bit_counts(rows: Integers, k: int) -> Integers:
    """How often each of k bits is set in rows of packed bytes: a histogram of each byte column, then eight sums.

    >>> bit_counts(np.packbits(np.array([[1, 0, 1], [0, 0, 1]]), axis=1), 3).tolist()
    [1, 0, 2]
    """
    if rows.dtype != np.uint8:
        raise TypeError(f"packed bits must be bytes (uint8), not {rows.dtype}")
    width = rows.shape[1]
    histogram = np.zeros(256 * width, dtype=np.int64)
    offset = (256 * np.arange(width)).astype(np.intp)
    height = max(1, BLOCK // max(width, 1))
    for start in range(0, len(rows), height):
        histogram += np.bincount((rows[start : start + height] + offset).reshape(-1), minlength=256 * width)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    sums = (histogram.reshape(width, 256) @ bits).reshape(-1)
    if sums[k:].any():
        raise ValueError(f"a report has bits beyond the {k} values: these are of another design")
    return np.asarray(sums[:k])


def member_counts(rows: Integers, k: int) -> Integers:
    """How often each value is in the sets, given as rows of increasing values.

    >>> member_counts(np.array([[0, 2], [1, 2]]), 3).tolist()
    [1, 1, 2]
    """
    if rows.shape[1] > 1 and not (rows[:, 1:] > rows[:, :-1]).all():
        raise ValueError("each report must be a row of increasing values: these are of another design")
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
