"""Consistency of noisy margins: least squares in exact rationals, then rounding to integers that add up.

A *factor* is an axis of the finest table; each table is a margin over some factors. `Margins` has the least-squares
estimates; `whole` and `non_negative` round them. Theorem: docs/theorems/totals.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from math import lcm, prod
from typing import Any

import numpy as np

__all__ = [
    "Factors",
    "Margins",
    "chain_of",
    "cube",
    "margin",
    "non_negative",
    "put",
    "shared_out",
    "short",
    "subsets",
    "whole",
]


LARGEST_EXACT_DENOMINATOR = 4096  # weights with larger denominators are rounded to 40 bits
Factors = tuple[int, ...]
"""Indices of factors; sorted where they stand for a set."""


@dataclass(frozen=True)
class Margins:
    """Noisy tables over factors of the given sizes: `axes` has the factors of each, `variances` the noise of a cell.

    The estimate of a table has the least variance among all that are linear, unbiased and add up. With variances that
    are not the true ones (but positive) it has a larger variance, and is still linear, unbiased and adds up.

    >>> both = Margins((2,), ((), (0,)), (Fraction(1), Fraction(1)))      # a total, and two cells
    >>> both.estimates([[13], [4, 6]])
    [([36], 3), ([15, 21], 3)]
    >>> both.terms(0)                            # 2/3 of its own noise, and 1/3 of that of each cell
    [(0, Fraction(2, 3), 1), (1, Fraction(1, 3), 2)]
    """

    sizes: tuple[int, ...]
    axes: tuple[Factors, ...]
    variances: tuple[Fraction, ...]

    def estimates(self, noisy: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
        """The estimates of each table, as a list of numerators and their common denominator, cell by cell."""
        arrays = [cube(one, self._shape(axes)) for one, axes in zip(noisy, self.axes, strict=True)]
        sums = {
            (n, kept): margin(array, axes, kept)
            for n, (array, axes) in enumerate(zip(arrays, self.axes, strict=True))
            for kept in {kept for shares in self._shares for m, kept in shares if m == n}
        }
        return [self._estimate(k, sums) for k in range(len(self.axes))]

    def terms(self, k: int) -> list[tuple[int, Fraction, int]]:
        """The error of a cell of table k as a sum of noise: (table n, coefficient, number of cells of n that have it).

        The noise of the cells of a table is independent and identically distributed, and the coefficient of a cell
        depends only on which keys it shares with the estimated cell: so all cells of table k have errors of one law.
        """
        found: dict[tuple[int, Fraction], int] = {}
        for n, axes in enumerate(self.axes):
            shared = tuple(sorted(set(axes) & set(self.axes[k])))
            for agreed in subsets(shared):
                share = sum((self._shares[k][n, kept] for kept in subsets(agreed)), Fraction(0))
                differ = prod(self.sizes[a] - 1 for a in shared if a not in agreed)
                cells = differ * prod(self.sizes[a] for a in axes if a not in shared)
                if share and cells:
                    found[n, abs(share)] = found.get((n, abs(share)), 0) + cells
        return [(n, share, cells) for (n, share), cells in found.items()]

    @cached_property
    def _shares(self) -> tuple[dict[tuple[int, Factors], Fraction], ...]:
        """For each table the coefficients of its estimate: by (n, kept), that of table n summed over all but `kept`."""
        return tuple(dict(self._shares_of(set(axes))) for axes in self.axes)

    def _shares_of(self, mine: set[int]) -> Iterator[tuple[tuple[int, Factors], Fraction]]:
        """The coefficients for a table over the factors `mine`, by inclusion and exclusion over its effects."""
        for n, axes in enumerate(self.axes):
            shared = tuple(sorted(mine & set(axes)))
            for kept in subsets(shared):
                left = tuple(a for a in shared if a not in kept)
                weight = sum(
                    ((-1) ** len(more) * self._weights[frozenset((*kept, *more))][n] for more in subsets(left)),
                    Fraction(0),
                )
                yield (n, kept), weight * self._cells(kept) / self._cells(mine)

    @cached_property
    def _weights(self) -> dict[frozenset[int], dict[int, Fraction]]:
        """For each effect (a set of factors) the weights of the tables that contain it, by inverse variance."""
        effects = {frozenset(one) for axes in self.axes for one in subsets(axes)}
        return {
            effect: short(
                {
                    n: 1 / (self._cells(axes) * self.variances[n])
                    for n, axes in enumerate(self.axes)
                    if effect <= set(axes)
                }
            )
            for effect in effects
        }

    def _cells(self, factors: Iterable[int]) -> int:
        return prod(self.sizes[a] for a in factors)

    def _shape(self, axes: Factors) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in axes)

    def _estimate(self, k: int, sums: dict[tuple[int, Factors], Any]) -> tuple[list[int], int]:
        """The estimate of table k from the margins of all noisy tables: numerators and denominator."""
        axes, shares = self.axes[k], self._shares[k]
        below = lcm(*(share.denominator for share in shares.values()))
        total = cube([0] * self._cells(axes), self._shape(axes))
        for (n, kept), share in shares.items():
            if share:
                total = total + put(sums[n, kept], kept, axes, self.sizes) * int(share * below)
        return list(total.ravel()), below


def short(weights: dict[int, Fraction]) -> dict[int, Fraction]:
    """Shares of 1 in proportion to the weights: exact if denominators are small, else rounded to 40 bits.

    Short denominators keep the exact arithmetic of the estimates small. The estimates are unbiased and add up for any
    shares that sum to exactly 1, which these do.

    >>> short({0: Fraction(2), 1: Fraction(1)})
    {0: Fraction(2, 3), 1: Fraction(1, 3)}
    """
    whole = sum(weights.values())
    shares = {n: weight / whole for n, weight in weights.items()}
    if max(share.denominator for share in shares.values()) > LARGEST_EXACT_DENOMINATOR:
        heaviest = max(shares, key=lambda n: shares[n])
        shares = {n: Fraction(round(share * 2**40), 2**40) for n, share in shares.items() if n != heaviest}
        shares[heaviest] = 1 - sum(shares.values(), Fraction(0))
    return shares


def cube(cells: Sequence[int], shape: Sequence[int], rows: int = 1) -> Any:
    """Integers of any size as an array of objects with a first axis for the nodes of a tree, of size 1 without one.

    Without it the array of a total has no axes, and numpy returns its element instead of an array.
    """
    made = np.empty(len(cells), dtype=object)
    made[:] = cells
    return made.reshape((rows, *shape))


def margin(array: Any, axes: Factors, kept: Factors) -> Any:
    """The sums of a cube over all factors that are not in `kept`; its axes follow `kept`.

    >>> margin(cube([1, 2, 3, 4], (2, 2)), (0, 1), (1,)).tolist()
    [[4, 6]]
    """
    gone = tuple(1 + n for n, a in enumerate(axes) if a not in kept)
    left = [a for a in axes if a in kept]
    return np.transpose(np.sum(array, axis=gone), [0, *(1 + left.index(a) for a in kept)])


def put(array: Any, kept: Factors, axes: Factors, sizes: Sequence[int]) -> Any:
    """A coarse cube over `kept` broadcast to a finer one over `axes`: each cell where the keys agree.

    >>> put(cube([4, 6], (2,)), (1,), (0, 1), (3, 2)).tolist()
    [[[4, 6], [4, 6], [4, 6]]]
    """
    turned = np.transpose(array, [0, *(1 + kept.index(a) for a in axes if a in kept)])
    narrow = turned.reshape((len(array), *(sizes[a] if a in kept else 1 for a in axes)))
    return np.broadcast_to(narrow, (len(array), *(sizes[a] for a in axes)))


def whole(estimate: tuple[Sequence[int], int], shape: Sequence[int]) -> list[int]:
    """Integers near the estimate that add up across all tables whose estimates do: cumulative sums are rounded.

    A cell of a table by d keys is a signed sum of 2^d rounded cumulative sums, so that it is off by at most 2^d/2.

    >>> whole(([1, 1, 1], 3), (3,)), whole(([3], 3), ())
    ([0, 1, 0], [1])
    """
    cells, below = estimate
    sums = cube(cells, shape)
    for axis in range(1, len(shape) + 1):
        sums = np.add.accumulate(sums, axis=axis)
    rounded = (2 * sums + below) // (2 * below)
    for axis in range(1, len(shape) + 1):
        first, *_ = np.split(rounded, [1], axis)
        rounded = np.concatenate([first, np.diff(rounded, axis=axis)], axis)
    return list(rounded.ravel())


def subsets(factors: Factors) -> Iterator[Factors]:
    """All sets of some of the factors, each in their order."""
    return (kept for size in range(len(factors) + 1) for kept in combinations(factors, size))


# Non-negative integers that add up, from the coarsest table of a chain to the finest. Theorem: docs/theorems/totals.md.


def chain_of(axes: Sequence[Factors], levels: Sequence[int] | None = None) -> list[int] | None:
    """The tables by index, coarsest first, if each refines the one before; None if they are not such a chain.

    `levels` has the level of a tree that each table is by, if they have one.

    >>> chain_of([(0, 1), (), (1,)]), chain_of([(0,), (1,)]), chain_of([(0,), ()], [1, 2])
    ([1, 2, 0], None, None)
    """
    deep = levels or [0] * len(axes)
    ranked = sorted(range(len(axes)), key=lambda k: (deep[k] + len(axes[k]), deep[k]))
    refines = all(set(axes[a]) <= set(axes[b]) and deep[a] <= deep[b] for a, b in pairwise(ranked))
    return ranked if refines else None


def non_negative(
    estimates: Sequence[tuple[Sequence[int], int]], sizes: Sequence[int], axes: Sequence[Factors]
) -> list[list[int]]:
    """Published figures of a chain of tables: each figure of a coarser table is divided among its finer cells."""
    chain = chain_of(axes)
    assert chain is not None
    made: dict[int, list[int]] = {}
    before: int | None = None
    for k in chain:
        cells, below = estimates[k]
        if before is None:
            made[k] = [max((2 * cell + below) // (2 * below), 0) for cell in cells]
        else:
            places = cube(range(len(made[before])), [sizes[a] for a in axes[before]])
            made[k] = _divided(cells, below, made[before], list(put(places, axes[before], axes[k], sizes).ravel()))
        before = k
    return [made[k] for k in range(len(axes))]


def _divided(cells: Sequence[int], below: int, totals: Sequence[int], places: Sequence[int]) -> list[int]:
    """The figures of a finer table: `places[n]` is the coarse cell that holds cell n, `totals` their figures."""
    among: list[list[int]] = [[] for _ in totals]
    for n, place in enumerate(places):
        among[place].append(n)
    made = [0] * len(cells)
    for total, group in zip(totals, among, strict=True):
        for n, share in zip(group, shared_out([cells[n] for n in group], below, total), strict=True):
            made[n] = share
    return made


def shared_out(cells: Sequence[int], below: int, total: int) -> list[int]:
    """Non-negative integers that sum to `total` and are near to cells/below.

    First the projection of cells/below onto the reals of this sum that are at least 0 (each cell less one number, or
    0), then rounding of cumulative sums.

    >>> shared_out([5, -2, 4, 1], 1, 8), shared_out([1, 1, 1], 2, 1), shared_out([3, -3], 1, 0)
    ([4, 0, 4, 0], [0, 1, 0], [0, 0])
    """
    if not total:
        return [0] * len(cells)
    less = many = 0
    falling = sorted(cells, reverse=True)
    for n, (cell, upto) in enumerate(zip(falling, accumulate(falling), strict=True), 1):
        # less one number that makes their sum the total, the n largest are all positive as long as the n-th is
        if n * cell > upto - total * below:
            less, many = upto - total * below, n
    unit = many * below
    sums = accumulate(max(many * cell - less, 0) for cell in cells)
    rounded = [(2 * one + unit) // (2 * unit) for one in sums]
    return [b - a for a, b in pairwise([0, *rounded])]
