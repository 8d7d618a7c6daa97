"""Subset selection: a uniform w-subset of 0 .. k-1 that holds the true value with a chosen probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import Source, secure
from zcdp.samplers.uniform import integers

__all__ = ["SubsetSelection"]


class SubsetSelection:
    """Each w-subset with weight e^epsilon if it holds the value, else 1 (Ye and Barg 2018).

    The value is in with probability w e^epsilon/(w e^epsilon + k - w); the rest is a uniform subset of the others.

    >>> SubsetSelection(lambda: arb(100), 5, 1).report(np.array([3, 0])).tolist()
    [[3], [0]]
    """

    def __init__(self, epsilon: Real, k: int, w: int, *, first: int = 16) -> None:
        def held() -> arb:
            return w / (w + (k - w) * (-epsilon()).exp())

        self._held, self._k, self._w = Coin(held, first=first), k, w

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One row of w increasing numbers for each value."""
        held = self._held.flips(values.size, source)
        # numbers among the other k-1 values: w-1 of them, and one more to stand in for the value where it is out
        others = self._distinct(values.size, source)
        others += others >= values[:, None]  # close the gap that the value leaves
        others[held, -1] = values[held]
        others.sort(axis=1)  # a set: the order in which it was drawn would tell the value
        return others

    def _distinct(self, count: int, source: Source) -> NDArray[Any]:
        """Rows of w distinct numbers below k-1 in uniformly random order: a Fisher-Yates shuffle cut short."""
        chosen = np.empty((count, self._w), dtype=np.int64)
        for n in range(self._w):
            fresh = integers(self._k - 1 - n, count, source).astype(np.int64)
            # the fresh-th of the numbers not chosen yet: step over the chosen ones in increasing order
            for earlier in np.sort(chosen[:, :n], axis=1).T:
                fresh += fresh >= earlier
            chosen[:, n] = fresh
        return chosen
