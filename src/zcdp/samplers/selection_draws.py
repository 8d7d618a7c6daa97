"""Exact selection by scores: the exponential mechanism, permute-and-flip, and several selections one after another.

Scores are finite numbers that stand for their exact values. Everything goes by coins of probability exp(-rate gap),
where the gap is how far a score is behind the best. See docs/theorems/exponential-coins.md.
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
from zcdp.samplers.coins import FIRST_BITS, Rate
from zcdp.samplers.lazy_inversion import Real
from zcdp.samplers.run_samplers import exact_array
from zcdp.samplers.source import BLOCK, Source, blocks, each_below, integers, one_below, one_below_from, secure, words

__all__ = ["ExponentialSelection", "PermuteAndFlip", "Scores", "Selection", "count_first", "few", "peel"]


SHORT_LIST = 64
"""For at most this many scores in a list, plain Python is faster than arrays."""


def few(scores: Any) -> list[float | int] | None:
    """`scores` if they are a short list of finite Python floats, or of Python integers of 64 bits; else None."""
    if type(scores) is not list or not 0 < len(scores) <= SHORT_LIST:
        return None
    kinds = set(map(type, scores))
    if kinds == {float}:
        return scores if isfinite(sum(scores)) else None  # NaN, infinities and overflow are left to `Scores`
    return scores if kinds == {int} and min(scores) >= -1 << 63 and max(scores) < 1 << 63 else None


class Scores:
    """Checked scores and their coins: that of score n is heads with probability exp(-rate (max(scores) - scores[n])).

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
        if kind == "f" and not (isfinite(best) and isfinite(least)):  # a NaN would be one of the two
            raise BadValue("scores must be finite")
        self.best, self._widest = best, _float(best - least)
        self._plain = array.dtype == np.float64 and self._widest < inf

    def gaps(self, block: slice) -> NDArray[Any]:
        """The gaps of these scores to the best, in floats; infinite on overflow."""
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
        """y = rate gap/log 2 in floats, not above the true y but for underflow; infinite on overflow."""
        if not self.rate.halvings:
            return np.zeros(gaps.size)
        if self._widest * self.rate.halvings < inf:
            return gaps * self.rate.halvings
        with np.errstate(over="ignore"):
            return gaps * self.rate.halvings

    def gap(self, n: int) -> Fraction:
        """The exact gap of score n to the best."""
        return Fraction(self.best) - Fraction(self.array.item(n))

    def flip(self, n: int, k: int, cell: int, source: Source) -> bool:
        """The coin of probability 2^k exp(-rate gap) of score n, from U whose first 16 bits, `cell`, are given."""
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
        """An array of coins as in `flip`: coin n is that of score which(n), with y[n], k[n] and cells[n].

        Without `k` all are 0.
        """
        behind = y if k is None else y - k
        heads: NDArray[Any] = behind < self.rate.surely.take(cells, mode="wrap")
        undecided = ~(behind > self.rate.possibly.take(cells, mode="wrap"))
        undecided &= ~heads
        for n in undecided.nonzero()[0].tolist():
            heads[n] = self.rate.flip(self.gap(which(n)), 0 if k is None else k.item(n), cells.item(n), source)
        return heads


def _rationals(array: NDArray[Any]) -> NDArray[Any]:
    """Scores of dtype object, of which at least one is a Fraction, as exact Fractions; others are refused."""
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
    """The nearest float; infinite on overflow."""
    try:
        return float(gap)
    except OverflowError:
        return inf


# Several selections one after another, each among the candidates that are left ("peeling").

TIED_EACH = 4  # candidates in each of the two tied groups of `count_first`


class Selection(Protocol):
    """A sampler that selects an index by scores."""

    def select(self, scores: ArrayLike, source: Source = ...) -> int:
        """One selection: the index of a score."""
        ...

    def draw(self, scores: ArrayLike, count: int, source: Source = ...) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        ...


def peel(selection: Selection, scores: ArrayLike, k: int, source: Source = secure) -> list[int]:
    """The indices of k scores, each selected among those that are left; the first selected first.

    >>> from flint import arb
    >>> from zcdp.samplers.selection_draws import ExponentialSelection
    >>> peel(ExponentialSelection(lambda: arb(1)), [0, 1000, 3000, 2000], 3)
    [2, 3, 1]
    """
    left: Any = list(scores) if isinstance(scores, list | tuple) else exact_array(scores, "scores")
    size = len(left) if isinstance(left, list) or left.ndim == 1 else 0
    if size and k > size:  # an input that is no list of numbers is refused by `select`
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
    """How many of `rounds` selections go to the first of two tied groups, with scores `first` and `other`.

    Returns an array with this count for each of `size` independent runs.
    """

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

    return run((TIED_EACH, TIED_EACH), rounds, size)


# One selection: the exponential mechanism and permute-and-flip, both by coins of probability exp(-rate gap).
#
# The exponential mechanism is drawn by rejection: an index is proposed, and kept if its coin is heads. For arrays index
# n is proposed with weight 2^-k, where k = floor(y) and y = rate gap/log 2 is its number of halvings, and kept by a
# coin of probability 2^k exp(-rate gap). Permute-and-flip goes through the indices in a random sequence up to the first
# head (McKenna and Sheldon 2020); flipping all coins and choosing one of the heads at random has the same law. The best
# score has gap 0, its coin is always heads, so both end. See docs/theorems/exponential-coins.md.

MOST_HALVINGS = 16
"""Proposal weights go down to 2^-16: an index with more halvings has this weight as well."""
FULL_WEIGHT = np.int64(1 << MOST_HALVINGS)
"""The integer that stands for weight 1."""
TRIES = 32
"""If there is more than one block, permute-and-flip tries this many single coins before it flips all of them."""


def _first_head(scores: list[float | int], rate: Rate, source: Source) -> int:
    """The exponential mechanism on a short list: proposes uniform indices until the coin of one is heads."""
    best, count, halvings = max(scores), len(scores), rate.halvings
    surely, possibly, surplus = rate.surely_one, rate.possibly_one, (1 << 16) % count
    while True:
        cells = iter(memoryview(source(128)).cast("H"))
        for word, cell in zip(cells, cells, strict=True):
            place = word * count  # Lemire's method: the high half is uniform unless the low half is below the surplus
            behind = (best - scores[place >> 16]) * halvings
            if behind > possibly[cell] or place & 0xFFFF < surplus:
                continue
            n = place >> 16
            if behind < surely[cell] or rate.flip(Fraction(best) - Fraction(scores[n]), 0, cell, source):
                return n


def _first_head_once(scores: list[float | int], rate: Rate, source: Source) -> int:
    """Permute-and-flip on a short list: proposes uniform indices until the coin of one is heads.

    Each coin is flipped only once, when its index is first proposed, so that coins are flipped in a random sequence.
    """
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
    """The exponential mechanism: selects index n with probability proportional to exp(rate scores[n]); exact.

    >>> from flint import arb
    >>> ExponentialSelection(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real, *, first: int = FIRST_BITS) -> None:
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
        ends = (FULL_WEIGHT >> k).cumsum()
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
    """Finds the index at a place in the cumulative weights 2^(16-k), where k is min(floor(y), 16) of the index.

    Only the sums of the blocks and the weights of one block are stored.
    """

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
        weights: NDArray[Any] = FULL_WEIGHT >> self._k
        return weights

    def at(self, place: int) -> tuple[int, int]:
        """The index at a place in [0, total), and its k."""
        at = bisect_right(self._sums, place)
        if at != self._at:
            self._at, self._ends = at, self._weights(at).cumsum()
        n = int(self._ends.searchsorted(place - (self._sums[at - 1] if at else 0), side="right"))
        return self._blocks[at].start + n, self._k.item(n)


def _whole(y: NDArray[Any]) -> NDArray[Any]:
    k: NDArray[Any] = np.minimum(y, MOST_HALVINGS).astype(np.int64)
    return k


class PermuteAndFlip:
    """Permute-and-flip: the first head in a random sequence of the coins; exact.

    The coin of index n is heads with probability exp(-rate (max(scores) - scores[n])).

    >>> from flint import arb
    >>> PermuteAndFlip(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real, *, first: int = FIRST_BITS) -> None:
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
    """The positions of the coins that are not certainly tails by the first 16 bits of U."""
    places: NDArray[Any] = (gaps <= rate.reach.take(cells, mode="wrap")).nonzero()[0]
    return places


def _heads(candidates: Scores, gaps: NDArray[Any], start: int, source: Source) -> NDArray[Any]:
    """The positions of the heads among one coin for each gap.

    The gaps are those of the scores from `start` on, and from the first score again after the last.
    """
    cells = words(gaps.size, np.uint16, source)
    alive = _alive(candidates.rate, gaps, cells)

    def which(n: int) -> int:
        return (start + int(alive[n])) % candidates.size

    heads: NDArray[Any] = alive[candidates.flips(which, candidates.halvings(gaps[alive]), None, cells[alive], source)]
    return heads


def _rows(candidates: Scores, gaps: NDArray[Any], source: Source) -> NDArray[Any]:
    """One selection for each repetition of the scores' gaps in `gaps`: a uniform one of its heads."""
    size = candidates.size
    heads = _heads(candidates, gaps, 0, source)
    counts = np.bincount(heads // size, minlength=gaps.size // size)
    places = counts.cumsum() - counts + each_below(counts, source)
    chosen: NDArray[Any] = heads[places] % size
    return chosen


def _among_heads(candidates: Scores, source: Source) -> int:
    """One selection: flips all coins, as far as needed, and takes a uniform one of the heads."""
    size = candidates.size
    if size > BLOCK:
        return _among_many(candidates, source)
    drawn = source(2 * size + 8)
    cells = np.frombuffer(drawn, np.uint16, size)
    alive = _alive(candidates.rate, candidates.gaps(slice(None)), cells)
    place = one_below_from(int.from_bytes(drawn[-8:], "little"), alive.size, source)
    # Candidates are tried in a random sequence up to the first head, which is nearly always the first candidate.
    while not candidates.flip(n := int(alive[place]), 0, cells.item(n), source):
        alive = np.delete(alive, place)
        place = one_below(alive.size, source)
    return n


def _among_many(candidates: Scores, source: Source) -> int:
    """One selection among more than a block of scores: a few proposals, and if none is heads, one of all other heads.

    The latter goes block by block, and after each block the choice is uniform among the heads so far.
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
