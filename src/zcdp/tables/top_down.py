"""Whole numbers of at least 0 that add up, from the coarsest table of a chain to the finest.

Theorem: docs/theorems/totals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from zcdp.tables.margins import Factors, cube, put

__all__ = ["chain_of", "non_negative", "shared_out"]


def chain_of(axes: Sequence[Factors]) -> list[int] | None:
    """The numbers of the tables, each of which divides the cells of the one before; None where they are no chain.

    >>> chain_of([(0, 1), (), (1,)]), chain_of([(0,), (1,)])
    ([1, 2, 0], None)
    """
    order = sorted(range(len(axes)), key=lambda k: len(axes[k]))
    return order if all(set(axes[a]) <= set(axes[b]) for a, b in pairwise(order)) else None


def non_negative(
    estimates: Sequence[tuple[Sequence[int], int]], sizes: Sequence[int], axes: Sequence[Factors]
) -> list[list[int]]:
    """Published figures of tables that are a chain: what the coarser table says is shared out among the finer cells."""
    order = chain_of(axes)
    assert order is not None
    made: dict[int, list[int]] = {}
    before: int | None = None
    for k in order:
        cells, below = estimates[k]
        if before is None:
            made[k] = [max((2 * cell + below) // (2 * below), 0) for cell in cells]
        else:
            places = cube(range(len(made[before])), [sizes[a] for a in axes[before]])
            made[k] = _divided(cells, below, made[before], list(put(places, axes[before], axes[k], sizes).ravel()))
        before = k
    return [made[k] for k in range(len(axes))]


def _divided(cells: Sequence[int], below: int, totals: Sequence[int], places: Sequence[int]) -> list[int]:
    """The cells, those at one place of the coarser table together."""
    among: list[list[int]] = [[] for _ in totals]
    for n, place in enumerate(places):
        among[place].append(n)
    made = [0] * len(cells)
    for total, group in zip(totals, among, strict=True):
        for n, share in zip(group, shared_out([cells[n] for n in group], below, total), strict=True):
            made[n] = share
    return made


def shared_out(cells: Sequence[int], below: int, total: int) -> list[int]:
    """Whole numbers of at least 0 whose sum is `total`, near to the nearest such reals to cells/below.

    The nearest reals are the cells less one number, or 0; then sums from the first cell are rounded.

    >>> shared_out([5, -2, 4, 1], 1, 8), shared_out([1, 1, 1], 2, 1), shared_out([3, -3], 1, 0)
    ([4, 0, 4, 0], [0, 1, 0], [0, 0])
    """
    if not total:
        return [0] * len(cells)
    less = many = 0
    falling = sorted(cells, reverse=True)
    for n, (cell, upto) in enumerate(zip(falling, accumulate(falling), strict=True), 1):
        # the n largest, less what makes their sum the total, are all above 0 for as long as the last one is
        if n * cell > upto - total * below:
            less, many = upto - total * below, n
    unit = many * below
    sums = accumulate(max(many * cell - less, 0) for cell in cells)
    rounded = [(2 * one + unit) // (2 * unit) for one in sums]
    return [b - a for a, b in pairwise([0, *rounded])]
