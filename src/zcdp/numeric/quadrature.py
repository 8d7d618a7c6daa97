"""Parts of certified quadrature: Gauss-Legendre rules, and trapezoidal sums of which negligible nodes are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from flint import acb, acb_mat, arb

from zcdp.numeric.work import count_functions, count_products

__all__ = [
    "FIRST_NODES",
    "LARGEST_INDEX",
    "LEAST_WORK",
    "SHORT_CELL",
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
    """Certified upper bound on the maximum of second x^2 + first x for left <= x <= right, where second <= 0."""

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
    """Nodes in (-1, 1) and weights of the Gauss-Legendre rule, at the working precision.

    `bits` must be the working precision: it is only the key of the cache.
    """
    del bits
    return [arb.legendre_p_root(points, k, weight=True) for k in range(points)]


# A trapezoidal sum over nodes 0, 1, 2, ...: which nodes are evaluated, a bound on the others, and the sum with phases.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]


FIRST_NODES = 8  # The nodes 0 to 8 are always evaluated.
LEAST_WORK = 100  # So many nodes, and cells, are allowed however small the work limit is.
SHORT_CELL = 4  # A cell of so few nodes that is not negligible is evaluated rather than divided.
LARGEST_INDEX = 1 << 50  # Node indices up to here are exact as floats, with room for sums.
BLOCK = 32  # So many consecutive nodes share one exponential of the phase.
GROUPS_PER_UNIT = 8  # Cells whose decay exponents share an eighth of a unit are bounded together.


class TooManyNodes(ArithmeticError):
    """The integrand decays so slowly that more nodes or cells would be needed than the work limit allows."""


@contextmanager
def quietly() -> Iterator[None]:
    """Turn off numpy's warnings on overflow and NaN: comparisons with inf or NaN then prove nothing, and are safe."""
    import numpy

    with numpy.errstate(all="ignore"):
        yield


class Nodes(NamedTuple):
    """The indices of the nodes to evaluate, and the cells begin < k <= end of the nodes that are only bounded."""

    kept: list[int]
    begin: Indices
    end: Indices


def octaves(last: int) -> list[tuple[int, int]]:
    """Cells begin < k <= end that cover FIRST_NODES < k <= `last`, each twice as long as the one before."""
    cells, begin = [], FIRST_NODES
    while begin < last:
        cells.append((begin, min(2 * begin, last)))
        begin *= 2
    return cells


def choose(
    cells: list[tuple[int, int]], negligible: Callable[[Floats, Floats], NDArray[np.bool_]], *, most: int, work: int
) -> Nodes:
    """Halve the cells until each is negligible or short; the nodes of the short ones are to be evaluated.

    `negligible` says which cells, given by arrays of begins and ends, may be bounded instead. Raises `TooManyNodes`
    if more than `most` nodes would be evaluated or more than `work` cells examined.
    """
    import numpy

    begin = numpy.array([cell[0] for cell in cells], dtype=numpy.int64)
    end = numpy.array([cell[1] for cell in cells], dtype=numpy.int64)
    kept, left = list(range(FIRST_NODES + 1)), []
    while len(begin):
        work -= len(begin)
        if work < 0:
            raise TooManyNodes
        out = negligible(begin.astype(float), end.astype(float))
        left.append((begin[out], end[out]))
        begin, end = begin[~out], end[~out]
        short = end - begin <= SHORT_CELL
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
    """A certified upper bound on the sum of weight e^{-decay}, for arrays of non-negative floats.

    Decays are rounded down to multiples of 1/8, so that few exponentials are needed.
    """
    import numpy

    groups = numpy.minimum(numpy.floor(decay * GROUPS_PER_UNIT), 1e9).astype(numpy.int64)
    which, inverse = numpy.unique(groups, return_inverse=True)
    sums = numpy.bincount(inverse, weights=weight, minlength=len(which))
    total = arb(0)
    for group, size in zip(which.tolist(), sums.tolist(), strict=True):
        total += arb(size) * (-arb(group) / GROUPS_PER_UNIT).exp()
    return total * (1 + (len(weight) + 8) * 2.0**-52)  # Each weight and each addition has a relative error of 2^-53.


class Phases:
    """Sums of value_k e^{-i k angle} over the evaluated nodes k, as matrix products.

    With k = 32 q + r, only the exponentials of the 32 remainders r and of the blocks q that occur are needed.
    """

    def __init__(self, kept: list[int]) -> None:
        self.blocks = sorted({k // BLOCK for k in kept})
        place = {q: n * BLOCK for n, q in enumerate(self.blocks)}
        self.places = [place[k // BLOCK] + k % BLOCK for k in kept]

    def spread(self, rows: list[list[acb]]) -> acb_mat:
        """The matrix that `sums` takes, from rows of one value for each evaluated node.

        It has one row of 32 entries for each given row and each block, with zeros for nodes that are not evaluated.
        """
        size = len(self.blocks) * BLOCK
        entries = [acb(0)] * (size * len(rows))
        for n, row in enumerate(rows):
            for place, value in zip(self.places, row, strict=True):
                entries[n * size + place] = value
        return acb_mat(len(rows) * len(self.blocks), BLOCK, entries)

    def sums(self, matrix: acb_mat, angle: arb) -> list[arb]:
        """For each row given to `spread`, the real part of the sum of value_k e^{-i k angle}."""
        count_products(matrix.nrows() * BLOCK)
        count_functions(2 * len(self.blocks))
        short = [acb(1), acb(0, -angle).exp()]
        for r in range(2, BLOCK):
            short.append(short[r // 2] * short[r - r // 2])  # Few factors in each power keep the balls thin.
        long = [acb(0, -angle * (q * BLOCK)).exp() for q in self.blocks]
        inner = (matrix * acb_mat(BLOCK, 1, short)).entries()
        outer = acb_mat(len(inner) // len(long), len(long), inner) * acb_mat(len(long), 1, long)
        return [x.real for x in outer.entries()]
