"""Which nodes of a trapezoidal sum are evaluated, and what the others weigh at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from flint import arb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

__all__ = ["FIRST", "LEAST", "Nodes", "TooManyNodes", "charge", "choose", "octaves", "quietly"]

FIRST = 8  # nodes that are always kept
LEAST = 100  # nodes, and cells, are always allowed
FEWEST = 4  # a cell of so few nodes is kept rather than divided
LARGEST_INDEX = 1 << 50
PER_UNIT = 8  # classes of decay in which cells are charged together


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
    return total * (1 + (len(weight) + 8) * 2.0**-52)  # the weights and each addition err by 2^-53 of themselves
