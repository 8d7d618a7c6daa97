"""Cumulated counts: noisy counts of bins and of groups of bins, from which ranks are estimated by least squares.

The count of all values below an edge is a sum of few counts of groups, where that of many bins would add up their
noise. Theorem: docs/theorems/cumulated-counts.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from zcdp.tables.forest import Tree, TreeSquares

__all__ = ["CumulatedCounts", "crossing", "group_sizes", "span"]

GOOD_FAN = 3.6
"""How many groups of a level make one of the next: near 4 the errors of ranks are least."""


def group_sizes(bins: int) -> tuple[int, ...]:
    """The number of counts on each level of groups above `bins` bins, from two groups down to the bins themselves.

    A total is not counted: for quantiles two halves tell more.

    >>> group_sizes(100), group_sizes(3)
    ((2, 8, 32, 100), (3,))
    """
    levels = max(round(log(bins / 2) / log(GOOD_FAN)), 0)
    fan = round((bins / 2) ** (1 / levels)) if levels else 1
    return (*(2 * fan**n for n in range(levels)), bins)


@dataclass(frozen=True)
class CumulatedCounts:
    """Counts of `sizes[-1]` bins, and of groups of about equally many bins on coarser levels, all with equal noise.

    >>> one = CumulatedCounts((2, 4))
    >>> one.exact([5, 0, 2, 1])
    [[5, 3], [5, 0, 2, 1]]
    >>> ranks, below = one.ranks(one.exact([5, 0, 2, 1]), Fraction(1, 4))
    >>> [one / below for one in ranks]                     # 4 below - all, at the three edges within
    [12.0, 12.0, 20.0]
    """

    sizes: tuple[int, ...]

    @property
    def bins(self) -> int:
        """The number of bins."""
        return self.sizes[-1]

    @cached_property
    def squares(self) -> TreeSquares:
        """The least squares over bins and groups; a root above them is not measured."""
        sizes = (1, *self.sizes)
        parents = [[n * coarse // fine for n in range(fine)] for coarse, fine in zip(sizes, self.sizes, strict=False)]
        return TreeSquares(Tree.of(parents), (Fraction(0), *[Fraction(1)] * len(self.sizes)))

    def exact(self, counts: Sequence[int]) -> list[list[int]]:
        """The counts of each level, from the coarsest groups to the bins, from those of the bins."""
        tree, made = self.squares.tree, [np.array(counts, dtype=object)]
        for level in reversed(range(1, tree.depth)):
            made.append(tree.summed(level, made[-1]))
        return [one.tolist() for one in reversed(made)]

    def ranks(self, noisy: Sequence[Sequence[int]], q: Fraction) -> tuple[list[int], int]:
        """For q = a/c the estimates of c below - a all at each edge between two bins, and their denominator.

        `below` counts what is below the edge, `all` everything: the sign says on which side the quantile lies.
        """
        counts, denominator = self.squares.estimates([[0], *noisy])[-1]
        sums = np.add.accumulate(counts)
        found = q.denominator * sums[:-1] - q.numerator * sums[-1]
        return found.tolist(), denominator

    def terms(self, q: Fraction, edge: int) -> list[tuple[Fraction, int]]:
        """The error of the estimate at an edge as a sum of noises: coefficients, and how many draws have each."""
        a, c = q.numerator, q.denominator
        factors = [c - a] * (edge + 1) + [-a] * (self.bins - edge - 1)
        wanted: list[Any] = [*[None] * len(self.sizes), factors]
        levels, below = self.squares.coefficients(wanted)
        found = Counter(abs(int(one)) for level in levels[1:] for one in level)
        return [(Fraction(one, below), many) for one, many in sorted(found.items()) if one]

    def spread(self, q: Fraction, edge: int) -> Fraction:
        """The variance of the error at an edge, for noise of variance 1."""
        return sum((many * one * one for one, many in self.terms(q, edge)), Fraction(0))


def crossing(ranks: Sequence[int]) -> int:
    """The bin in which estimates that should rise, made monotone by least squares, cross from below 0 to above.

    Up to that edge the sum of the estimates is least.

    >>> crossing([-5, -1, 2, -1, 4]), crossing([3]), crossing([])
    (2, 0, 0)
    """
    best = place = total = 0
    for n, rank in enumerate(ranks, 1):
        total += rank
        if total < best:
            best, place = total, n
    return place


def span(ranks: Sequence[int], beyond: Callable[[int], bool]) -> tuple[int, int]:
    """The first and the last bin that may hold the quantile; `beyond` says where an estimate is surely not 0.

    A bin may hold it unless the estimate at its upper edge is surely below 0, or that at its lower edge above.

    >>> ranks = [-9, -1, 2, 8]
    >>> span(ranks, lambda edge: abs(ranks[edge]) > 3)
    (1, 3)
    """
    first = next((n for n, rank in enumerate(ranks) if rank >= 0 or not beyond(n)), len(ranks))
    last = next((n + 1 for n in reversed(range(len(ranks))) if ranks[n] <= 0 or not beyond(n)), 0)
    return first, last
