"""Lazy inversion: one draw from any law on the integers, its bits asked for one word at a time.

U is uniform on [0, 1) and known to `bits` bits: U lies in [u, u+1)/2^bits. The draw is the least k with U < F(k).
Balls decide; where they cannot, U and F get more bits. See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import NotCertified, Undecided, at_precision, ceiling, floor, settled, thin
from zcdp.samplers.source import Source, bits, words

__all__ = ["MOST_BITS", "Law", "LazyTable", "Real", "invert", "rank", "unsettled"]


Real: TypeAlias = Callable[[], arb]
"""An exact real number: gives a ball around it at the working precision."""

WORD = 64
GUARD = 64
"""Bits of working precision beyond those of U: enough that a ball is thinner than a cell of U."""


MOST_BITS = 1 << 13
"""A draw that needs so many bits has a probability below 2^-8000: something else holds the precision down."""


def unsettled() -> NotCertified:
    """The error for a draw that so many bits have not settled."""
    return NotCertified(f"a draw is not settled by {MOST_BITS} bits: another thread may be setting flint's precision")


def _reached(cut: arb, u: int, known: int) -> bool:
    """Whether U >= cut."""
    scaled = cut * arb(2) ** known
    if scaled <= u:
        return True
    if scaled >= u + 1:
        return False
    raise Undecided


def _count(cuts: Callable[[], list[arb]], u: int, known: int) -> int:
    return sum(_reached(cut, u, known) for cut in cuts())


def rank(cuts: Callable[[], list[arb]], source: Source, u: int = 0, known: int = 0) -> int:
    """How many of a few increasing cuts U has reached, given its first `known` bits.

    >>> from zcdp.samplers.source import secure
    >>> rank(lambda: [arb(0), arb(1)], secure)
    1
    """
    while known < MOST_BITS:
        u, known = u << WORD | bits(WORD, source), known + WORD
        try:
            return at_precision(known + GUARD, partial(_count, cuts, u, known))
        except Undecided:
            pass
    raise unsettled()


def invert(
    cdf: Callable[[int], arb],
    source: Source,
    u: int = 0,
    known: int = 0,
    *,
    guess: Callable[[float], int] | None = None,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """A draw from the law P(X <= k) = cdf(k) on [least, most], given the first `known` bits of U.

    `guess` proposes an outcome from U as a float; nothing rests on it but speed.

    >>> from zcdp.samplers.source import secure
    >>> invert(lambda k: arb(0) if k < 7 else arb(1), secure)
    7
    """
    while known < MOST_BITS:
        u, known = u << WORD | bits(WORD, source), known + WORD
        start = guess(u / (1 << known)) if guess else 0
        try:
            return at_precision(known + GUARD, partial(_search, cdf, u, known, start, least, most))
        except Undecided:
            pass
    raise unsettled()


def _search(cdf: Callable[[int], arb], u: int, known: int, start: int, least: int | None, most: int | None) -> int:
    """The least k with U < cdf(k), by galloping from `start` and bisecting; raises `Undecided` if undecided."""

    def beyond(k: int) -> bool:  # X > k
        if least is not None and k < least:
            return True
        if most is not None and k >= most:
            return False
        return _reached(cdf(k), u, known)

    low, step = start - 1, 1
    while not beyond(low):
        low, step = low - step, 2 * step
    high, step = max(start, low + 1), 1
    while beyond(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return high


# The lazy table: vectorised draws from any discrete law with a rigorous CDF.
#
# 16 random bits index a table of outcomes. Only a cell with a step of the CDF inside asks for more bits: a search among
# 62-bit cuts, then lazy inversion without end. See docs/theorems/lazy-inversion.md.

FIRST = 16
SECOND = 62
CLOSE = 2.0**-80


@dataclass(frozen=True)
class Law:
    """P(X <= k), and a window of outcomes that holds nearly all of the mass (nothing rests on it but speed)."""

    cdf: Callable[[int], arb]
    window: range
    least: int | None = None
    most: int | None = None
    cdfs: Callable[[range], list[arb]] | None = None
    """The same for a run of outcomes, where that is cheaper than one by one."""

    def steps(self, outcomes: range) -> list[arb]:
        """P(X <= k) for each outcome."""
        return self.cdfs(outcomes) if self.cdfs else [self.cdf(k) for k in outcomes]


class LazyTable:
    """Draws from a law; `first` and `second` below 16 and 62 force the deep stages to run, for tests.

    >>> from zcdp.samplers.source import secure
    >>> fair = LazyTable(Law(lambda k: arb(k + 1) / 2, range(2), 0, 1))
    >>> sorted(set(fair.draw(100, secure).tolist()))
    [0, 1]
    """

    def __init__(self, law: Law, *, first: int = FIRST, second: int = SECOND) -> None:
        self._law = law
        self._second = second
        outcomes = law.window
        self._base = outcomes.start
        # the last outcome's own step is no cut if the law ends there: it is 1
        ends = law.most == outcomes[-1]
        inner = range(outcomes.start, outcomes.stop - 1) if ends else outcomes
        lower, upper = settled(lambda: _cuts(law.steps(inner)))
        self._slots = len(inner)
        self._open_low = law.least != outcomes.start
        self._open_high = not ends
        shift = SECOND - second
        self._lower, self._upper = lower >> shift, -(-upper >> shift)
        cells = np.arange(1 << FIRST, dtype=np.int64) >> (FIRST - first)
        decided, known = self._decide(cells, lower >> (SECOND - first), -(-upper >> (SECOND - first)))
        self._table, self._mark = _compact(decided, known, outcomes)
        self._list: list[int] = np.where(known, decided, outcomes.stop).tolist()

    def _decide(self, u: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outcomes for cells [u, u+1) of the cuts' resolution, and whether they are decided."""
        surely = np.searchsorted(upper, u, side="right")
        known = lower[surely] > u  # the next cut lies above for certain
        if self._open_low:
            known &= surely > 0
        if self._open_high:
            known &= surely < self._slots
        return self._base + surely, known

    def draw(self, count: int, source: Source, dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
        """`count` independent draws; best for counts of a block at a time."""
        cells = words(count, np.uint16, source)
        small = self._table.take(cells, mode="wrap")
        open_cells = np.flatnonzero(small == self._mark)
        drawn = small.astype(dtype, copy=False)
        if open_cells.size:
            drawn[open_cells] = self._resolve(cells[open_cells], source)
        return drawn

    def draw_one(self, source: Source) -> int:
        """One draw, as a Python integer of any size."""
        return self.draw_from(int.from_bytes(source(2), "little"), source)

    def draw_few(self, cells: list[int], source: Source) -> list[int]:
        """A draw for each of a few cells of 16 bits."""
        drawn = [self._list[cell] for cell in cells]
        if self._law.window.stop in drawn:  # an open cell
            drawn = [self.draw_from(cell, source) for cell in cells]
        return drawn

    def draw_from(self, cell: int, source: Source) -> int:
        """One draw whose first 16 bits are given."""
        outcome = self._list[cell]
        if outcome != self._law.window.stop:
            return outcome
        rest = SECOND - FIRST
        u = cell << rest | bits(rest, source)
        drawn, known = self._decide(np.array([u >> (SECOND - self._second)]), self._lower, self._upper)
        return int(drawn[0]) if known[0] else self._invert(u, SECOND, source)

    def _resolve(self, cells: NDArray[Any], source: Source) -> NDArray[Any]:
        """Draws for the cells that the table leaves open."""
        rest = SECOND - FIRST
        u = cells.astype(np.int64) << rest | (words(cells.size, np.uint64, source) >> np.uint64(64 - rest)).astype(
            np.int64
        )
        drawn, known = self._decide(u >> (SECOND - self._second), self._lower, self._upper)
        for n in np.flatnonzero(~known).tolist():
            drawn[n] = self._invert(int(u[n]), SECOND, source)
        return drawn

    def _invert(self, u: int, known: int, source: Source) -> int:
        law = self._law
        middle = law.window[len(law.window) // 2]
        return invert(law.cdf, source, u, known, guess=lambda _: middle, least=law.least, most=law.most)


def _cuts(steps: list[arb]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The integers floor and ceiling of 2^62 F, from the outer ends of the balls, and one lower cut beyond all.

    Wide balls would leave the table right but open for good: they are refused, and made again.
    """
    scaled = [thin(step, within=CLOSE) * arb(2) ** SECOND for step in steps]
    lower = [*map(floor, scaled), 1 << SECOND]
    upper = list(map(ceiling, scaled))
    return np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)


def _compact(decided: NDArray[Any], known: NDArray[Any], outcomes: range) -> tuple[NDArray[Any], int]:
    """The table in the smallest type, with a mark for open cells: the last outcome itself where the type is full."""
    for dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64):
        limits = np.iinfo(dtype)
        if limits.min <= outcomes.start and outcomes[-1] <= limits.max:
            break
    mark = min(outcomes.stop, int(limits.max))
    return np.where(known, decided, mark).astype(dtype), mark
