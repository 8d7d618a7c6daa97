"""Counting supports: one kernel for each form of report, over blocks that stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue

__all__ = ["hadamard_signs", "integer_reports", "member_counts", "value_counts"]

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


def _another(size: int) -> BadValue:
    return BadValue(f"reports must lie in 0 .. {size - 1}: these are of another design")


def _byte_counts(part: Integers) -> Integers:
    """Two bytes at a time: a histogram of pairs, summed both ways."""
    even = np.ascontiguousarray(part[: part.size // 2 * 2]).view(np.uint16)
    pairs = np.bincount(even, minlength=1 << 16).reshape(256, 256)
    often = pairs.sum(axis=0) + pairs.sum(axis=1)
    if part.size % 2:
        often[part[-1]] += 1
    return np.asarray(often)


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
