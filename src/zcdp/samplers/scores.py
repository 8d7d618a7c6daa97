"""Scores to select from: finite numbers, each standing for its exact value, and how far they fall behind the best.

See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, isfinite
from numbers import Integral, Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue
from zcdp.samplers.arrays import exact_array
from zcdp.samplers.exponential_coins import Rate
from zcdp.samplers.source import Source

__all__ = ["Scores", "few"]

FEW = 64
"""Up to so many scores in a list, plain Python is faster than arrays."""


def few(scores: Any) -> list[float | int] | None:
    """`scores` if they are a short list of finite Python floats, or of integers of 64 bits."""
    if type(scores) is not list or not 0 < len(scores) <= FEW:
        return None
    kinds = set(map(type, scores))
    if kinds == {float}:
        return scores if isfinite(sum(scores)) else None  # a sum beyond floats is left to arrays
    return scores if kinds == {int} and min(scores) >= -1 << 63 and max(scores) < 1 << 63 else None


class Scores:
    """An array of scores whose coins are heads with probability exp(-rate gap), gap = max(scores) - scores.

    >>> from flint import arb
    >>> Scores([1.0, 5.0], Rate(lambda: arb(1))).gap(0)
    Fraction(4, 1)
    """

    def __init__(self, scores: ArrayLike, rate: Rate) -> None:
        array = exact_array(scores, "scores")
        if array.ndim != 1 or not array.size:
            raise BadValue(f"scores must be a list of at least one number, not of shape {array.shape}")
        if array.dtype == object:
            array = _rationals(array)
        kind = array.dtype.kind
        if kind not in "iufO" or array.dtype.itemsize > 8:
            raise BadType(f"scores must be integers or floats of at most 64 bits, or fractions, not {array.dtype}")
        self.array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        self.size: int = array.size
        self.rate = rate
        best, least = self.array.item(self.array.argmax()), self.array.item(self.array.argmin())
        if kind == "f" and not (isfinite(best) and isfinite(least)):  # both show a NaN, if there is one
            raise BadValue("scores must be finite")
        self.best, self._widest = best, _float(best - least)
        self._plain = array.dtype == np.float64 and self._widest < inf

    def gaps(self, block: slice) -> NDArray[Any]:
        """How far the scores are behind the best, in floats; infinite where that is beyond floats."""
        scores = self.array[block]
        if scores.dtype == object:
            return np.array([_float(self.best - score) for score in scores.tolist()])
        if self._plain:
            gaps: NDArray[Any] = self.best - scores
            return gaps
        if scores.dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.float64(self.best) - scores.astype(np.float64)
        best = np.array(self.best, dtype=scores.dtype).astype(np.uint64)
        return (best - scores.astype(np.uint64)).astype(np.float64)

    def halvings(self, gaps: NDArray[Any]) -> NDArray[Any]:
        """y = rate gap/log 2 in floats, never above the true one; infinite where it is beyond floats."""
        if not self.rate.halvings:
            return np.zeros(gaps.size)
        if self._widest * self.rate.halvings < inf:
            return gaps * self.rate.halvings
        with np.errstate(over="ignore"):
            return gaps * self.rate.halvings

    def gap(self, n: int) -> Fraction:
        """How far a score is behind the best, exactly."""
        return Fraction(self.best) - Fraction(self.array.item(n))

    def flip(self, n: int, k: int, cell: int, source: Source) -> bool:
        """The coin of probability 2^k exp(-rate gap) of one score, from its first 16 bits."""
        behind = _float(self.best - self.array.item(n)) * self.rate.halvings - k
        if behind < self.rate.surely_one[cell]:
            return True
        return not behind > self.rate.possibly_one[cell] and self.rate.flip(self.gap(n), k, cell, source)

    def flips(
        self,
        which: Callable[[int], int],
        y: NDArray[Any],
        k: NDArray[Any] | None,
        cells: NDArray[Any],
        source: Source,
    ) -> NDArray[Any]:
        """One such coin for each y, coin n being that of score which(n); without `k` they are 0."""
        behind = y if k is None else y - k
        heads: NDArray[Any] = behind < self.rate.surely.take(cells, mode="wrap")
        undecided = ~(behind > self.rate.possibly.take(cells, mode="wrap"))
        undecided &= ~heads
        for n in undecided.nonzero()[0].tolist():
            heads[n] = self.rate.flip(self.gap(which(n)), 0 if k is None else k.item(n), cells.item(n), source)
        return heads


def _rationals(array: NDArray[Any]) -> NDArray[Any]:
    """Objects, of which some are fractions and others may be integers and floats: each as its exact value."""
    given = array.tolist()
    known = all(isinstance(one, Rational | float) and not isinstance(one, bool) for one in given)
    if not known or not any(isinstance(one, Fraction) for one in given):
        raise BadType("scores must be integers or floats of at most 64 bits, or fractions, not object")
    if not all(isfinite(one) for one in given if isinstance(one, float)):
        raise BadValue("scores must be finite")
    exact = np.empty(len(given), dtype=object)
    exact[:] = [Fraction(int(one) if isinstance(one, Integral) else one) for one in given]
    return exact


def _float(gap: float | int | Fraction) -> float:
    """The nearest float; infinite where it is beyond floats."""
    try:
        return float(gap)
    except OverflowError:
        return inf
