"""Pieces of certified quadrature: Gauss-Legendre rules, and the largest value of a parabola."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from flint import acb, acb_mat, arb

from zcdp.numeric.work import count_functions, count_products

__all__ = [
    "FEWEST",
    "FIRST",
    "LARGEST_INDEX",
    "LEAST",
    "Nodes",
    "Phases",
    "TooManyNodes",
    "charge",
    "choose",
    "highest_parabola",
    "legendre",
    "octaves",
    "quietly",
]


def highest_parabola(second: arb, first: arb, left: arb, right: arb) -> arb:
    """Not below the maximum of second x^2 + first x between left and right, second <= 0."""

    def at(x: arb) -> arb:
        return (second * x + first) * x

    slopes = 2 * second * left + first, 2 * second * right + first
    if slopes[0] <= 0:
        return at(left)
    if slopes[1] >= 0:
        return at(right)
    if second < 0:
        return -first * first / (4 * second)
    return at(left).max(at(right))


@cache
def legendre(points: int, bits: int) -> list[tuple[arb, arb]]:
    """Places and weights of the Gauss-Legendre rule, at the working precision, which the caller names."""
    del bits
    return [arb.legendre_p_root(points, k, weight=True) for k in range(points)]


# A trapezoidal sum: which nodes are evaluated, what the others weigh at most, and sums over phases.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]


FIRST = 8  # So many nodes are always kept.
LEAST = 100  # So many nodes, and cells, are always allowed.
FEWEST = 4  # A cell of so few nodes is kept rather than divided.
LARGEST_INDEX = 1 << 50
BLOCK = 32  # So many nodes share an exponential.
PER_UNIT = 8  # Cells whose decay is in the same part of a unit are charged together.


class TooManyNodes(ArithmeticError):
    """The integrand decays too slowly for the work that is allowed."""


@contextmanager
def quietly() -> Iterator[None]:
    """Without numpy's warnings: what overflows is no proof of anything, and is not taken for one."""
    import numpy

    with numpy.errstate(all="ignore"):
        yield


class Nodes(NamedTuple):
    """The nodes 0, 1, ..., that are kept, and the cells begin < k <= end of those that are not."""

    kept: list[int]
    begin: Indices
    end: Indices


def octaves(last: int) -> list[tuple[int, int]]:
    """Cells begin < k <= end from FIRST to `last`, each twice as long as the one before."""
    cells, begin = [], FIRST
    while begin < last:
        cells.append((begin, min(2 * begin, last)))
        begin *= 2
    return cells


def choose(
    cells: list[tuple[int, int]], negligible: Callable[[Floats, Floats], NDArray[np.bool_]], *, most: int, work: int
) -> Nodes:
    """Divide the cells until each is negligible or short; at most `most` nodes kept and `work` cells looked at."""
    import numpy

    begin = numpy.array([cell[0] for cell in cells], dtype=numpy.int64)
    end = numpy.array([cell[1] for cell in cells], dtype=numpy.int64)
    kept, left = list(range(FIRST + 1)), []
    while len(begin):
        work -= len(begin)
        if work < 0:
            raise TooManyNodes
        out = negligible(begin.astype(float), end.astype(float))
        left.append((begin[out], end[out]))
        begin, end = begin[~out], end[~out]
        short = end - begin <= FEWEST
        if len(kept) + int((end - begin)[short].sum()) > most or len(begin) > most:
            raise TooManyNodes
        for i, j in zip(begin[short].tolist(), end[short].tolist(), strict=True):
            kept.extend(range(i + 1, j + 1))
        begin, end = begin[~short], end[~short]
        middle = (begin + end) // 2
        begin, end = numpy.concatenate([begin, middle]), numpy.concatenate([middle, end])
    kept.sort()
    return Nodes(
        kept,
        numpy.concatenate([cell[0] for cell in left]) if left else begin,
        numpy.concatenate([cell[1] for cell in left]) if left else end,
    )


def charge(weight: Floats, decay: Floats) -> arb:
    """An upper bound on the sum of weight e^{-decay}, of non-negative floats: cells of like decay together."""
    import numpy

    groups = numpy.minimum(numpy.floor(decay * PER_UNIT), 1e9).astype(numpy.int64)
    which, inverse = numpy.unique(groups, return_inverse=True)
    sums = numpy.bincount(inverse, weights=weight, minlength=len(which))
    total = arb(0)
    for group, size in zip(which.tolist(), sums.tolist(), strict=True):
        total += arb(size) * (-arb(group) / PER_UNIT).exp()
    return total * (1 + (len(weight) + 8) * 2.0**-52)  # The weights and each addition err by 2^-53 of themselves.


class Phases:
    """Sums over the nodes k that are kept of value_k e^{-i k angle}: with k = 32 q + r few exponentials serve all."""

    def __init__(self, kept: list[int]) -> None:
        self.blocks = sorted({k // BLOCK for k in kept})
        place = {q: n * BLOCK for n, q in enumerate(self.blocks)}
        self.places = [place[k // BLOCK] + k % BLOCK for k in kept]

    def spread(self, rows: list[list[acb]]) -> acb_mat:
        """A matrix for `sums`, of one row for each row and block; each row holds a value for each node that is kept."""
        size = len(self.blocks) * BLOCK
        entries = [acb(0)] * (size * len(rows))
        for n, row in enumerate(rows):
            for place, value in zip(self.places, row, strict=True):
                entries[n * size + place] = value
        return acb_mat(len(rows) * len(self.blocks), BLOCK, entries)

    def sums(self, matrix: acb_mat, angle: arb) -> list[arb]:
        """The real part of the sum of each row."""
        count_products(matrix.nrows() * BLOCK)
        count_functions(2 * len(self.blocks))
        short = [acb(1), acb(0, -angle).exp()]
        for r in range(2, BLOCK):
            short.append(short[r // 2] * short[r - r // 2])  # The powers are made by halves, so that balls hardly grow.
        long = [acb(0, -angle * (q * BLOCK)).exp() for q in self.blocks]
        inner = (matrix * acb_mat(BLOCK, 1, short)).entries()
        outer = acb_mat(len(inner) // len(long), len(long), inner) * acb_mat(len(long), 1, long)
        return [x.real for x in outer.entries()]
