"""Selection from scores: the exponential mechanism and permute-and-flip, both by coins of probability exp(-rate gap).

The exponential mechanism proposes an index and keeps it if its coin is heads; from arrays it proposes index n with
weight 2^-k, k the whole halvings of n, and the coin makes up for the rest. Permute-and-flip goes through the indices in
random order up to the first head (McKenna and Sheldon 2020); flipping all coins and choosing among the heads at random
is the same law. The best score has gap 0, so neither goes on for ever. See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.samplers.exponential_coins import FIRST, Rate
from zcdp.samplers.lazy import Real
from zcdp.samplers.scores import Scores, few
from zcdp.samplers.source import BLOCK, Source, blocks, secure, words
from zcdp.samplers.uniform import each_below, integers, one_below, one_below_from

__all__ = ["ExponentialSelection", "PermuteAndFlip"]

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
