"""Selection from scores: the exponential mechanism and permute-and-flip, both by coins of probability exp(-rate gap).

The exponential mechanism proposes an index at random and keeps it if its coin is heads. Permute-and-flip goes through
the indices in random order up to the first head (McKenna and Sheldon 2020); flipping all coins and choosing among the
heads at random is the same law. The best score has gap 0, so neither goes on for ever.
See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.samplers.exponential_coins import ExponentialCoins, FewCoins, Rate
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import BLOCK, Source, secure
from zcdp.samplers.uniform import integers, one_below

__all__ = ["ExponentialSelection", "PermuteAndFlip", "score_array"]

FEW = 64
"""Up to so many scores in a list, plain Python is faster than arrays."""


def score_array(scores: ArrayLike) -> NDArray[Any]:
    """`scores` as a one-dimensional array of finite floats or integers, each standing for its exact value."""
    array = np.asarray(scores)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"scores must be a list of at least one number, not of shape {array.shape}")
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise TypeError(f"scores must be integers or floats of at most 64 bits, not {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"scores ({array[~np.isfinite(array)][0]}) must be finite")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def few(scores: Any) -> list[float | int] | None:
    """`scores` if they are a short list of finite Python floats, or of integers of 64 bits."""
    if type(scores) is not list or not 0 < len(scores) <= FEW:
        return None
    kinds = set(map(type, scores))
    if kinds == {float}:
        return scores if all(map(isfinite, scores)) else None
    return scores if kinds == {int} and max(map(abs, scores)) < 1 << 63 else None


class ExponentialSelection:
    """Index n with probability proportional to exp(rate scores[n]).

    >>> from flint import arb
    >>> ExponentialSelection(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real) -> None:
        self._rate = Rate(rate)

    def select(self, scores: ArrayLike, source: Source = secure) -> int:
        """One selection."""
        if (short := few(scores)) is not None:
            return self._select_few(short, source)
        array = score_array(scores)
        coins, trials = ExponentialCoins(array, self._rate), 32
        while not (kept := _trial(coins, array.size, trials, source)).size:
            trials = min(4 * trials, BLOCK)
        return int(kept[0])

    def _select_few(self, scores: list[float | int], source: Source) -> int:
        coins, count = FewCoins(scores, self._rate), len(scores)
        surplus = (1 << 16) % count
        while True:
            cells = memoryview(source(64)).cast("H")
            for place, cell in zip(cells[::2], cells[1::2], strict=True):
                # a uniform index as in `integers`, then its coin
                if (place * count & 0xFFFF) >= surplus and coins.flip(place * count >> 16, cell, source):
                    return place * count >> 16

    def draw(self, scores: ArrayLike, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        array = score_array(scores)
        coins = ExponentialCoins(array, self._rate)
        out, filled = np.empty(count, dtype=np.int64), 0
        while filled < count:
            kept = _trial(coins, array.size, BLOCK, source)[: count - filled]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out


def _trial(coins: ExponentialCoins, count: int, trials: int, source: Source) -> NDArray[Any]:
    """The proposals that are kept out of so many: independent draws, in order."""
    proposed = integers(count, trials, source)
    kept: NDArray[Any] = proposed[coins.flips(proposed, source)]
    return kept


class PermuteAndFlip:
    """The first head in random order, coin n being heads with probability exp(-rate (max(scores) - scores[n])).

    >>> from flint import arb
    >>> PermuteAndFlip(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real) -> None:
        self._rate = Rate(rate)

    def select(self, scores: ArrayLike, source: Source = secure) -> int:
        """One selection."""
        if (short := few(scores)) is not None:
            flip, cells = FewCoins(short, self._rate).flip, memoryview(source(2 * len(short))).cast("H")
            heads = [n for n, cell in enumerate(cells) if flip(n, cell, source)]
            return heads[one_below(len(heads), source)]
        array = score_array(scores)
        return self._select(ExponentialCoins(array, self._rate), array.size, source)

    def _select(self, coins: ExponentialCoins, count: int, source: Source) -> int:
        heads = [
            start + np.flatnonzero(coins.flips(np.arange(start, min(start + BLOCK, count)), source))
            for start in range(0, count, BLOCK)
        ]
        standing = np.concatenate(heads)
        return int(standing[one_below(standing.size, source)])

    def draw(self, scores: ArrayLike, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        array = score_array(scores)
        coins = ExponentialCoins(array, self._rate)
        return np.array([self._select(coins, array.size, source) for _ in range(count)], dtype=np.int64)
