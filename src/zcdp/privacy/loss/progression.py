"""Sums of exponentials at equal distances along a line: as one product of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from flint import acb, acb_mat, arb

__all__ = ["progression"]


def progression(values: Sequence[acb], rates: Sequence[acb], step: arb, count: int) -> list[acb]:
    """The sums over j of value_j e^{ik step rate_j}, for 0 <= k < count: k = rows * width + column."""
    points = len(values)
    width = isqrt(count - 1) + 1
    rows = -(-count // width)
    turn = acb(0, step)
    short = _powers([(turn * x).exp() for x in rates], width)
    long = _powers([(turn * width * x).exp() for x in rates], rows)
    left = acb_mat(rows, points, [x * y for row in long for x, y in zip(values, row, strict=True)])
    right = acb_mat(points, width, [row[n] for n in range(points) for row in short])
    return (left * right).entries()[:count]


def _powers(base: Sequence[acb], count: int) -> list[list[acb]]:
    """Powers 0, 1, ..., count - 1 of each, by halves: balls hardly grow."""
    powers = [[acb(1)] * len(base), list(base)][:count]
    for n in range(2, count):
        powers.append([x * y for x, y in zip(powers[n // 2], powers[n - n // 2], strict=True)])
    return powers
