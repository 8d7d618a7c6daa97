"""Sums of exponentials at equal distances along a line: as one product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from flint import acb, acb_mat, arb

from zcdp.numeric.work import count_functions, count_products

__all__ = ["progression"]

DENSE, SHORT = 4, 16  # Of fewer than one in DENSE the rows have SHORT columns, and those without any are left out.


def progression(values: Sequence[acb], rates: Sequence[acb], step: arb, kept: Sequence[int]) -> list[acb]:
    """The sums over j of value_j e^{ik step rate_j}, for the k that are kept, rising: k = row * width + column."""
    points, last = len(values), kept[-1]
    dense = last < DENSE * len(kept)
    width = isqrt(last) + 1 if dense else SHORT
    rows = list(range(last // width + 1)) if dense else sorted({k // width for k in kept})
    count_products(points * len(rows) * (width + 1))
    count_functions(2 * points * (2 if dense else len(rows)))
    turn = acb(0, step)
    short = _powers([(turn * x).exp() for x in rates], width)
    if dense:
        long = _powers([(turn * width * x).exp() for x in rates], len(rows))
    else:
        long = [[(turn * (row * width) * x).exp() for x in rates] for row in rows]
    left = acb_mat(len(rows), points, [x * y for row in long for x, y in zip(values, row, strict=True)])
    right = acb_mat(points, width, [row[n] for n in range(points) for row in short])
    found, place = (left * right).entries(), {row: n * width for n, row in enumerate(rows)}
    return [found[place[k // width] + k % width] for k in kept]


def _powers(base: Sequence[acb], count: int) -> list[list[acb]]:
    """Powers 0, 1, ..., count - 1 of each, by halves: balls hardly grow."""
    powers = [[acb(1)] * len(base), list(base)][:count]
    for n in range(2, count):
        powers.append([x * y for x, y in zip(powers[n // 2], powers[n - n // 2], strict=True)])
    return powers
