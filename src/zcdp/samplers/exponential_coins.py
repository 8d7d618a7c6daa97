"""Coins of probability exp(-x) for a whole array of real x at once.

x is known to within 2^-12 from floats whose rounding error is far below that; a table of 16-bit enclosures of exp(-x)
on each such cell decides nearly every coin, and lazy bits against the exact x decide the others.
See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, ceiling, floor, lift
from zcdp.samplers.lazy import Real, rank
from zcdp.samplers.source import Source, words

__all__ = ["ExponentialCoins", "FewCoins", "Rate"]

CELL = 12  # x is told apart to 2^-12
SMALLEST = 2.0**-900
CELLS = 1 << 16  # up to x = 16; beyond it exp(-x) < 2^-23


@cache
def _enclosures() -> tuple[NDArray[Any], NDArray[Any]]:
    """For x in [n-1, n+2]/2^12: 2^16 exp(-x) lies between low[n] and high[n]; the last cell has no end."""

    def build() -> tuple[NDArray[Any], NDArray[Any]]:
        edges = [(arb(1 - n) / (1 << CELL)).exp() * (1 << 16) for n in range(CELLS + 3)]
        high = [min(1 << 16, ceiling(edge)) for edge in edges[:CELLS]]
        low = [floor(edge) for edge in edges[3:]]
        low[-1] = 0
        return np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)

    return at_precision(128, build)


def coins(exponents: NDArray[Any], exact: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
    """Coin n is heads with probability exp(-exact(n)); exponents[n] >= 0 is a float within 2^-13 of exact(n).

    >>> from zcdp.samplers.source import secure
    >>> coins(np.zeros(3), lambda n: Fraction(0), secure)
    array([ True,  True,  True])
    """
    low, high = _enclosures()
    places = np.minimum(exponents * (1 << CELL), CELLS - 1).astype(np.int64)
    cells = words(exponents.size, np.uint16, source)
    heads: NDArray[Any] = cells < low[places]
    for n in np.flatnonzero(~heads & (cells < high[places])).tolist():
        heads[n] = _decide(exact(n), int(cells[n]), source)
    return heads


def coin(exponent: float, exact: Callable[[], Fraction], source: Source) -> bool:
    """One such coin."""
    low, high = _lists()
    place, cell = int(min(exponent * (1 << CELL), CELLS - 1)), int.from_bytes(source(2), "little")
    if cell < low[place] or cell >= high[place]:
        return cell < low[place]
    return _decide(exact(), cell, source)


def _decide(exponent: Fraction, cell: int, source: Source) -> bool:
    return exponent == 0 or rank(lambda: [(-lift(exponent)).exp()], source, cell, 16) == 0


class Rate:
    """The exact rate, and a float to sort by; 0 where floats cannot tell and every coin is left to lazy bits."""

    def __init__(self, exact: Real) -> None:
        self.exact = exact
        nearest = at_precision(128, lambda: float(exact().mid()))
        self.cells = nearest * (1 << CELL) if SMALLEST < nearest < 1 / SMALLEST else 0.0

    def flip(self, gap: Fraction, cell: int, source: Source) -> bool:
        """The coin of probability exp(-rate gap) whose first 16 bits are given, by lazy bits."""
        return gap == 0 or rank(lambda: [(-self.exact() * lift(gap)).exp()], source, cell, 16) == 0


class ExponentialCoins:
    """Coin n is heads with probability exp(-rate gap(n)), gap = max(scores) - scores, scores finite.

    >>> from zcdp.samplers.source import secure
    >>> bool(ExponentialCoins(np.array([1.0, 5.0]), Rate(lambda: arb(1))).flips(np.array([1]), secure)[0])
    True
    """

    def __init__(self, scores: NDArray[Any], rate: Rate) -> None:
        self._scores = scores
        self._rate = rate
        self._best = int(scores.argmax())
        low, high = _enclosures()
        if not rate.cells:
            self._low, self._high = np.zeros(scores.size, np.int32), np.full(scores.size, 1 << 16, np.int32)
            return
        with np.errstate(over="ignore"):  # an infinite gap is one above 2^1023
            if scores.dtype.kind == "f":
                gaps = scores[self._best].astype(np.float64) - scores.astype(np.float64)
            else:
                best = scores[self._best : self._best + 1].astype(np.uint64)
                gaps = (best - scores.astype(np.uint64)).astype(np.float64)
            cells = np.minimum(gaps * rate.cells, CELLS - 1).astype(np.int64)
        self._low, self._high = low[cells], high[cells]

    def flips(self, which: NDArray[Any], source: Source) -> NDArray[Any]:
        """One coin for each of these indices."""
        cells = words(which.size, np.uint16, source).astype(np.int32)
        low = self._low[which]
        heads: NDArray[Any] = cells < low
        for n in np.flatnonzero((cells >= low) & (cells < self._high[which])).tolist():
            score = self._scores[int(which[n])]
            gap = Fraction(self._scores[self._best].item()) - Fraction(score.item())
            heads[n] = self._rate.flip(gap, int(cells[n]), source)
        return heads


class FewCoins:
    """The same for a short list of Python floats or integers of at most 64 bits, without the cost of arrays."""

    def __init__(self, scores: list[float | int], rate: Rate) -> None:
        self._scores, self._rate, self._best = scores, rate, max(scores)
        self._low, self._high = _lists()

    def flip(self, index: int, cell: int, source: Source) -> bool:
        """One coin whose first 16 bits are given."""
        best, score, factor = self._best, self._scores[index], self._rate.cells
        if factor:
            n = int(min((best - score) * factor, CELLS - 1))
            if cell < self._low[n]:
                return True
            if cell >= self._high[n]:
                return False
        return self._rate.flip(Fraction(best) - Fraction(score), cell, source)


@cache
def _lists() -> tuple[list[int], list[int]]:
    low, high = _enclosures()
    return low.tolist(), high.tolist()
