"""Subset selection: a uniform w-subset of 0 .. k-1 that holds the true value with a chosen probability."""

from __future__ import annotations

from math import ceil, isqrt, log1p
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import BLOCK, Source, secure, words
from zcdp.samplers.uniform import integers

__all__ = ["SubsetSelection", "distinct"]


class SubsetSelection:
    """Each w-subset with weight e^epsilon if it holds the value, else 1 (Ye and Barg 2018).

    The value is in with probability w e^epsilon/(w e^epsilon + k - w); the rest is a uniform subset of the others.

    >>> SubsetSelection(lambda: arb(100), 5, 1).report(np.array([3, 0])).tolist()
    [[3], [0]]
    """

    def __init__(self, epsilon: Real, k: int, w: int, *, first: int = 16) -> None:
        if k > 1 << 63:
            raise BadValue(f"k ({k}) must be at most 2^63 for reports in 64 bits")

        def held() -> arb:
            return w / (w + (k - w) * (-epsilon()).exp())

        self._held, self._k, self._w = Coin(held, first=first), k, w

    def report(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One row of w increasing numbers for each value."""
        values = values.astype(np.int64)
        held = self._held.flips(values.size, source)
        # numbers among the other k-1 values: w-1 of them, and one more to stand in for the value where it is out
        others = distinct(self._k - 1, self._w, values.size, source)
        others += others >= values[:, None]  # close the gap that the value leaves
        others[held, -1] = values[held]
        others.sort(axis=1)  # a set: the order in which it was drawn would tell the value
        return others


def distinct(n: int, w: int, count: int, source: Source) -> NDArray[Any]:
    """So many rows of w distinct numbers below n, in uniformly random order.

    Up to n/2 of them are the first distinct ones of a row of uniform numbers, more are the first places in the order of
    n random words. A row with too few distinct numbers, or with two equal words, is drawn again: that does not depend
    on which number has which name, and so every order of distinct numbers remains equally likely.

    >>> from zcdp.samplers.source import secure
    >>> sorted(distinct(3, 3, 1, secure)[0].tolist())
    [0, 1, 2]
    """
    out = np.empty((count, w), dtype=np.int64)
    if w == 1:
        out[:, 0] = integers(n, count, source)
        return out
    draw, width = (_first_places, n) if 2 * w > n else (_first_seen, _enough(n, w))
    rows = max(1, BLOCK // width)
    for start in range(0, count, rows):
        part = out[start : start + rows]
        missing = np.arange(len(part))
        while missing.size:
            drawn, good = draw(n, w, missing.size, source)
            part[missing[good]] = drawn
            missing = missing[~good]
    return out


def _enough(n: int, w: int) -> int:
    """Uniform numbers of which w are distinct more often than not: n log(n/(n-w)) on average, and some more."""
    return ceil(w if n > 1 << 40 else -n * log1p(-w / n)) + isqrt(w) + 2


def _first_seen(n: int, w: int, count: int, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first w distinct ones of uniform numbers, for those rows that have so many, and which rows these are."""
    width = _enough(n, w)
    drawn = integers(n, count * width, source).reshape(count, width)
    order = drawn.argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    new = np.ones(drawn.shape, dtype=bool)
    np.put_along_axis(new, order[:, 1:], ranked[:, 1:] != ranked[:, :-1], axis=1)
    seen = new.cumsum(axis=1)
    good = seen[:, -1] >= w
    new &= seen <= w
    return drawn[good][new[good]].reshape(-1, w).astype(np.int64), good


def _first_places(n: int, w: int, count: int, source: Source) -> tuple[NDArray[Any], NDArray[Any]]:
    """The places of the least w of n words in their order, for those rows whose words are distinct."""
    keys = words(count * n, np.uint64, source).reshape(count, n)
    order = keys.argsort(axis=1)
    ranked = np.take_along_axis(keys, order, axis=1)
    good = (ranked[:, 1:] != ranked[:, :-1]).all(axis=1)
    return order[good, :w], good
