"""Products of matrices of doubles in pieces so small that each stays on one core.

A linear algebra library divides larger ones among threads that wait for each other: where other programs do the same,
they take twice as long and more (benchmarks/busy_cores.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["product"]

VECTOR, MATRIX = 4_000, 60_000  # products of numbers that stay on one core
NARROW = 64  # columns: fewer at a time take longer


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """`left @ right`, of a matrix and a vector or of two matrices; the order of the sums is another.

    >>> import numpy
    >>> product(numpy.eye(3), numpy.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 3.0]
    """
    import numpy as np

    rows, inner = left.shape
    if right.ndim == 1:
        height = max(VECTOR // max(inner, 1), 1)
        return np.concatenate([left[n : n + height] @ right for n in range(0, rows, height)])
    columns = right.shape[1]
    width = min(max(MATRIX // max(rows * inner, 1), NARROW), columns)
    depth = max(MATRIX // max(rows * width, 1), 1)
    whole = np.empty((rows, columns), np.result_type(left, right))
    for n in range(0, columns, width):
        pieces = [left[:, k : k + depth] @ right[k : k + depth, n : n + width] for k in range(0, inner, depth)]
        whole[:, n : n + width] = sum(pieces[1:], pieces[0])
    return whole
