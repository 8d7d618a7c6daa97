"""Integer noise of given masses on a range, and on request with geometric tails: exact draws by lazy inversion.

See docs/theorems/integer-noise.md and docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import lift
from zcdp.samplers.lazy_inversion import Law, LazyTable
from zcdp.samplers.source import Source, secure

__all__ = ["TableNoise"]

TAIL_REACH = 64  # outcomes of the tails that the table has on each side, as far as they are not negligible


class TableNoise:
    """Draws k with a probability proportional to weights[k - start]; beyond them the weights fall by `ratio` a step.

    >>> TableNoise([Fraction(1)], 7, Fraction(0)).draw_one()
    7
    """

    def __init__(self, weights: Sequence[Fraction], start: int, ratio: Fraction) -> None:
        self._ratio, self._start, self._end = ratio, start, start + len(weights) - 1
        self._left = weights[0] * ratio / (1 - ratio)
        """The weight of all outcomes below the first."""
        self._right = weights[-1] * ratio / (1 - ratio)
        self._sums = [self._left + one for one in accumulate(weights)]
        self._whole = self._sums[-1] + self._right
        if ratio:
            window, ends = range(start - TAIL_REACH, self._end + TAIL_REACH + 1), (None, None)
            self._table = LazyTable(Law(self._cdf, window, *ends))
        else:
            self._table = LazyTable(Law(self._cdf, range(start, self._end + 1), start, self._end))

    def _cdf(self, k: int) -> arb:
        """P(X <= k), at the working precision."""
        if k < self._start:
            return lift(self._left / self._whole) * lift(self._ratio) ** (self._start - 1 - k) if self._left else arb(0)
        if k > self._end:
            return 1 - lift(self._right / self._whole) * lift(self._ratio) ** (k - self._end) if self._right else arb(1)
        return lift(self._sums[k - self._start] / self._whole)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64."""
        return self._table.draw(count, source)

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        return self._table.draw_one(source)
