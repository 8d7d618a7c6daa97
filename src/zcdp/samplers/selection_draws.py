"""Scores to select from: finite numbers, each standing for its exact value, and how far they fall behind the best.

See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import inf, isfinite
from numbers import Integral, Rational
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue
from zcdp.samplers.coins import FIRST, Rate
from zcdp.samplers.lazy_inversion import Real
from zcdp.samplers.run_samplers import exact_array
from zcdp.samplers.source import BLOCK, Source, blocks, each_below, integers, one_below, one_below_from, secure, words

__all__ = ["ExponentialSelection", "PermuteAndFlip", "Scores", "Selection", "count_first", "few", "peel"]


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


# Several selections, one after another: each among the candidates that are left.

TIED = 4


class Selection(Protocol):
    """What selects from scores."""

    def select(self, scores: ArrayLike, source: Source = ...) -> int:
        """The index of one score."""
        ...

    def draw(self, scores: ArrayLike, count: int, source: Source = ...) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        ...


def peel(selection: Selection, scores: ArrayLike, k: int, source: Source = secure) -> list[int]:
    """The indices of k selected scores, in the order of selection.

    >>> from flint import arb
    >>> from zcdp.samplers.selection_draws import ExponentialSelection
    >>> peel(ExponentialSelection(lambda: arb(1)), [0, 1000, 3000, 2000], 3)
    [2, 3, 1]
    """
    left: Any = list(scores) if isinstance(scores, list | tuple) else exact_array(scores, "scores")
    size = len(left) if isinstance(left, list) or left.ndim == 1 else 0
    if size and k > size:  # what is no list of numbers at all is refused by the selection
        raise BadValue(f"k ({k}) must be at most the number of scores ({size})")
    names, chosen = list(range(size)), []
    for _ in range(k):
        place = selection.select(left, source)
        chosen.append(names.pop(place))
        if isinstance(left, list):
            del left[place]
        else:
            left = np.delete(left, place)
    return chosen


def count_first(selection: Selection, first: int, other: int, rounds: int, size: int) -> NDArray[Any]:
    """How many of so many rounds go to the first of two groups of tied scores, in so many independent runs."""

    def run(left: tuple[int, int], rounds: int, size: int) -> NDArray[Any]:
        if not rounds or not size:
            return np.zeros(size, dtype=np.int64)
        scores = [first] * left[0] + [other] * left[1]
        hits = selection.draw(scores, size) < left[0]
        found = hits.astype(np.int64)
        taken = int(hits.sum())
        found[hits] += run((left[0] - 1, left[1]), rounds - 1, taken)
        found[~hits] += run((left[0], left[1] - 1), rounds - 1, size - taken)
        return found

    return run((TIED, TIED), rounds, size)


# Selection from scores: the exponential mechanism and permute-and-flip, both by coins of probability exp(-rate gap).
#
# The exponential mechanism proposes an index and keeps it if its coin is heads; from arrays it proposes index n with
# weight 2^-k, k the whole halvings of n, and the coin makes up for the rest. Permute-and-flip goes through the indices
# in random order up to the first head (McKenna and Sheldon 2020); flipping all coins and choosing among the heads at
# random is the same law. The best score has gap 0, so neither goes on for ever. See docs/theorems/exponential-coins.md.

MOST = 16
"""Whole halvings that are told apart: beyond them every weight is 1 in 2^16."""
UNIT = np.int64(1 << MOST)
TRIES = 32
"""Proposals of permute-and-flip before it flips the coins of more than one block."""


def _first_head(scores: list[float | int], rate: Rate, source: Source) -> int:
    """Proposes indices at random up to the first head."""
    best, count, halvings = max(scores), len(scores), rate.halvings
    surely, possibly, surplus = rate.surely_one, rate.possibly_one, (1 << 16) % count
    while True:
        cells = iter(memoryview(source(128)).cast("H"))
        for word, cell in zip(cells, cells, strict=True):
            place = word * count  # its high half is uniform unless its low half is in the surplus: as in `integers`
            behind = (best - scores[place >> 16]) * halvings
            if behind > possibly[cell] or place & 0xFFFF < surplus:
                continue
            n = place >> 16
            if behind < surely[cell] or rate.flip(Fraction(best) - Fraction(scores[n]), 0, cell, source):
                return n


def _first_head_once(scores: list[float | int], rate: Rate, source: Source) -> int:
    """The same, but each coin is flipped when its index is first proposed, and only then: a random order."""
    best, count, halvings = max(scores), len(scores), rate.halvings
    surely, possibly, surplus = rate.surely_one, rate.possibly_one, (1 << 16) % count
    tails = set()
    while True:
        cells = iter(memoryview(source(128)).cast("H"))
        for word, cell in zip(cells, cells, strict=True):
            place = word * count
            if place & 0xFFFF < surplus:
                continue
            n = place >> 16
            behind = (best - scores[n]) * halvings
            if behind > possibly[cell] or n in tails:
                tails.add(n)
            elif behind < surely[cell] or rate.flip(Fraction(best) - Fraction(scores[n]), 0, cell, source):
                return n
            else:
                tails.add(n)


class ExponentialSelection:
    """Index n with probability proportional to exp(rate scores[n]).

    >>> from flint import arb
    >>> ExponentialSelection(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real, *, first: int = FIRST) -> None:
        self._rate = Rate(rate, first=first)

    def select(self, scores: ArrayLike, source: Source = secure) -> int:
        """One selection."""
        if (short := few(scores)) is not None:
            return _first_head(short, self._rate, source)
        candidates = Scores(scores, self._rate)
        weighted = _Weighted(candidates)
        surplus = (1 << 64) % weighted.total
        while True:
            word = int.from_bytes(source(10), "little")
            place = (word >> 16) * weighted.total
            if place & 0xFFFF_FFFF_FFFF_FFFF < surplus:
                continue
            n, k = weighted.at(place >> 64)
            if candidates.flip(n, k, word & 0xFFFF, source):
                return n

    def draw(self, scores: ArrayLike, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        candidates = Scores(scores, self._rate)
        y = candidates.halvings(candidates.gaps(slice(None)))
        k = _whole(y)
        ends = (UNIT >> k).cumsum()
        out, filled = np.empty(count, dtype=np.int64), 0
        while filled < count:
            trials = min(BLOCK, 2 * (count - filled) + 8)
            which = ends.searchsorted(integers(int(ends[-1]), trials, source), side="right")
            cells = words(trials, np.uint16, source)
            kept = which[candidates.flips(which.item, y[which], k[which], cells, source)][: count - filled]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out


class _Weighted:
    """Index n with weight 2^(16-k): the sums of all blocks are at hand, and the weights of one of them."""

    def __init__(self, candidates: Scores) -> None:
        self._candidates = candidates
        self._blocks = list(blocks(candidates.size))
        if len(self._blocks) == 1:
            self._at, self._ends = 0, self._weights(0).cumsum()
            self._sums = [self._ends.item(-1)]
        else:
            self._at = -1
            self._sums = list(accumulate(int(self._weights(at).sum()) for at in range(len(self._blocks))))
        self.total: int = self._sums[-1]

    def _weights(self, at: int) -> NDArray[Any]:
        self._k = _whole(self._candidates.halvings(self._candidates.gaps(self._blocks[at])))
        weights: NDArray[Any] = UNIT >> self._k
        return weights

    def at(self, place: int) -> tuple[int, int]:
        """The index at this place below the total, and its k."""
        at = bisect_right(self._sums, place)
        if at != self._at:
            self._at, self._ends = at, self._weights(at).cumsum()
        n = int(self._ends.searchsorted(place - (self._sums[at - 1] if at else 0), side="right"))
        return self._blocks[at].start + n, self._k.item(n)


def _whole(y: NDArray[Any]) -> NDArray[Any]:
    k: NDArray[Any] = np.minimum(y, MOST).astype(np.int64)
    return k


class PermuteAndFlip:
    """The first head in random order, coin n being heads with probability exp(-rate (max(scores) - scores[n])).

    >>> from flint import arb
    >>> PermuteAndFlip(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real, *, first: int = FIRST) -> None:
        self._rate = Rate(rate, first=first)

    def select(self, scores: ArrayLike, source: Source = secure) -> int:
        """One selection."""
        if (short := few(scores)) is not None:
            return _first_head_once(short, self._rate, source)
        return _among_heads(Scores(scores, self._rate), source)

    def draw(self, scores: ArrayLike, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        candidates = Scores(scores, self._rate)
        rows = BLOCK // candidates.size
        if rows < 2:
            return np.array([_among_heads(candidates, source) for _ in range(count)], dtype=np.int64)
        gaps, out = np.tile(candidates.gaps(slice(None)), min(rows, count)), np.empty(count, dtype=np.int64)
        for start in range(0, count, rows):
            part = out[start : start + rows]
            part[:] = _rows(candidates, gaps[: candidates.size * part.size], source)
        return out


def _alive(rate: Rate, gaps: NDArray[Any], cells: NDArray[Any]) -> NDArray[Any]:
    """The places of the coins that are not tails by their first 16 bits."""
    places: NDArray[Any] = (gaps <= rate.reach.take(cells, mode="wrap")).nonzero()[0]
    return places


def _heads(candidates: Scores, gaps: NDArray[Any], start: int, source: Source) -> NDArray[Any]:
    """The places of the heads, one coin for each gap: those of the scores from `start` on, and round again."""
    cells = words(gaps.size, np.uint16, source)
    alive = _alive(candidates.rate, gaps, cells)

    def which(n: int) -> int:
        return (start + int(alive[n])) % candidates.size

    heads: NDArray[Any] = alive[candidates.flips(which, candidates.halvings(gaps[alive]), None, cells[alive], source)]
    return heads


def _rows(candidates: Scores, gaps: NDArray[Any], source: Source) -> NDArray[Any]:
    """One selection for each repetition of the gaps."""
    size = candidates.size
    heads = _heads(candidates, gaps, 0, source)
    counts = np.bincount(heads // size, minlength=gaps.size // size)
    places = counts.cumsum() - counts + each_below(counts, source)
    chosen: NDArray[Any] = heads[places] % size
    return chosen


def _among_heads(candidates: Scores, source: Source) -> int:
    """Flips all coins and chooses among the heads."""
    size = candidates.size
    if size > BLOCK:
        return _among_many(candidates, source)
    drawn = source(2 * size + 8)
    cells = np.frombuffer(drawn, np.uint16, size)
    alive = _alive(candidates.rate, candidates.gaps(slice(None)), cells)
    place = one_below_from(int.from_bytes(drawn[-8:], "little"), alive.size, source)
    # in random order up to the first head, which nearly always is the first of all
    while not candidates.flip(n := int(alive[place]), 0, cells.item(n), source):
        alive = np.delete(alive, place)
        place = one_below(alive.size, source)
    return n


def _among_many(candidates: Scores, source: Source) -> int:
    """The first head in random order: a few proposals, and if none is heads a choice among all other heads.

    That goes block by block; after each, the choice is uniform among the heads so far.
    """
    tails = set[int]()
    for n, cell in zip(integers(candidates.size, TRIES, source).tolist(), words(TRIES, np.uint16, source), strict=True):
        if n not in tails and candidates.flip(n, 0, int(cell), source):
            return int(n)
        tails.add(n)
    flipped = np.array(sorted(tails))
    seen = chosen = 0
    for part in blocks(candidates.size):
        heads = part.start + _heads(candidates, candidates.gaps(part), part.start, source)
        heads = heads[flipped.take(flipped.searchsorted(heads), mode="clip") != heads]
        seen += heads.size
        if heads.size and (place := one_below(seen, source)) < heads.size:
            chosen = int(heads[place])
    return chosen
