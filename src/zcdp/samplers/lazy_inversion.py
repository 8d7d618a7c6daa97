"""Lazy inversion: exact draws from any law on the integers, with random bits drawn only as far as they are needed.

This is inversion of the distribution function F in the manner of Knuth and Yao. U is uniform on [0, 1), and its first
`known` bits are u: U lies in [u, u+1)/2^known. The draw is the least k with U < F(k). The comparison is made in balls;
where these cannot decide, more bits of U are drawn and F is evaluated at a higher precision. `LazyTable` makes this
fast for arrays. See docs/theorems/lazy-inversion.md.
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
from zcdp.numeric.search import least_integer
from zcdp.samplers.source import Source, bits, words

__all__ = ["MOST_BITS", "Law", "LazyTable", "Real", "invert", "rank", "unsettled"]


Real: TypeAlias = Callable[[], arb]
"""An exact real number, as a function that returns a ball around it at the working precision."""

WORD_BITS = 64  # random bits that are drawn at a time
GUARD_BITS = 64
"""Bits of working precision beyond the known bits of U, so that a ball of F is thinner than what is known of U."""


MOST_BITS = 1 << 13
"""A draw that needs so many bits has probability below 2^-8000: it means that something else limits the precision."""


def unsettled() -> NotCertified:
    """The error for a draw that `MOST_BITS` bits have not decided."""
    return NotCertified(f"a draw is not settled by {MOST_BITS} bits: another thread may be setting flint's precision")


def _reached(cut: arb, u: int, known: int) -> bool:
    """Whether U >= cut, for U in [u, u+1)/2^known; raises `Undecided` if this cannot be told."""
    scaled = cut * arb(2) ** known
    if scaled <= u:
        return True
    if scaled >= u + 1:
        return False
    raise Undecided


def _count(cuts: Callable[[], list[arb]], u: int, known: int) -> int:
    return sum(_reached(cut, u, known) for cut in cuts())


def rank(cuts: Callable[[], list[arb]], source: Source, u: int = 0, known: int = 0) -> int:
    """How many of a few increasing cuts are at most U, a uniform number whose first `known` bits u are given.

    >>> from zcdp.samplers.source import secure
    >>> rank(lambda: [arb(0), arb(1)], secure)
    1
    """
    while known < MOST_BITS:
        u, known = u << WORD_BITS | bits(WORD_BITS, source), known + WORD_BITS
        try:
            return at_precision(known + GUARD_BITS, partial(_count, cuts, u, known))
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
    """An exact draw from the law P(X <= k) = cdf(k) on [least, most], given the first `known` bits u of U.

    `guess` proposes an outcome from U as a float. It is heuristic: the law of the draw does not depend on it.

    >>> from zcdp.samplers.source import secure
    >>> invert(lambda k: arb(0) if k < 7 else arb(1), secure)
    7
    """
    while known < MOST_BITS:
        u, known = u << WORD_BITS | bits(WORD_BITS, source), known + WORD_BITS
        start = guess(u / (1 << known)) if guess else 0
        try:
            return at_precision(known + GUARD_BITS, partial(_outcome, cdf, u, known, start, least, most))
        except Undecided:
            pass
    raise unsettled()


def _outcome(cdf: Callable[[int], arb], u: int, known: int, start: int, least: int | None, most: int | None) -> int:
    """The least k with U < cdf(k), by galloping from `start`; raises `Undecided` if balls cannot tell."""
    return least_integer(lambda k: not _reached(cdf(k), u, known), start, least=least, most=most)


# The lazy table: vectorised draws from any discrete law whose distribution function is known in balls.
#
# 16 random bits are the index of a table of outcomes. Only a cell in which the distribution function makes a step is
# open and needs more bits: first by a search among cuts of 62 bits, then by lazy inversion with any number of bits.
# See docs/theorems/lazy-inversion.md.

FIRST_BITS = 16
SECOND_BITS = 62
CUT_RADIUS = 2.0**-80  # the balls that the cuts are made from have at most this radius


@dataclass(frozen=True)
class Law:
    """A law on the integers in [least, most], by its distribution function in balls.

    `window` is a range of outcomes with nearly all of the mass. It is heuristic: only speed depends on it.
    """

    cdf: Callable[[int], arb]
    window: range
    least: int | None = None
    most: int | None = None
    cdfs: Callable[[range], list[arb]] | None = None
    """The values of `cdf` for a range of outcomes, if that is cheaper than one by one."""

    def steps(self, outcomes: range) -> list[arb]:
        """Balls around P(X <= k) for each outcome k."""
        return self.cdfs(outcomes) if self.cdfs else [self.cdf(k) for k in outcomes]


class LazyTable:
    """Exact draws from a law; `first` below 16 and `second` below 62 make the later stages more frequent, for tests.

    >>> from zcdp.samplers.source import secure
    >>> fair = LazyTable(Law(lambda k: arb(k + 1) / 2, range(2), 0, 1))
    >>> sorted(set(fair.draw(100, secure).tolist()))
    [0, 1]
    """

    def __init__(self, law: Law, *, first: int = FIRST_BITS, second: int = SECOND_BITS) -> None:
        self._law = law
        self._second = second
        outcomes = law.window
        self._base = outcomes.start
        # If the law ends with the window, the value at the last outcome is 1 and no cut.
        ends = law.most == outcomes[-1]
        inner = range(outcomes.start, outcomes.stop - 1) if ends else outcomes
        lower, upper = settled(lambda: _cuts(law.steps(inner)))
        self._slots = len(inner)
        self._open_low = law.least != outcomes.start
        self._open_high = not ends
        shift = SECOND_BITS - second
        self._lower, self._upper = lower >> shift, -(-upper >> shift)
        cells = np.arange(1 << FIRST_BITS, dtype=np.int64) >> (FIRST_BITS - first)
        decided, known = self._decide(cells, lower >> (SECOND_BITS - first), -(-upper >> (SECOND_BITS - first)))
        self._table, self._mark = _compact(decided, known, outcomes)
        self._list: list[int] = np.where(known, decided, outcomes.stop).tolist()

    def _decide(self, u: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The outcome for each cell [u, u+1), in units of the cuts, and whether the cell decides it."""
        surely = np.searchsorted(upper, u, side="right")
        known = lower[surely] > u  # the next cut is certainly above the cell
        if self._open_low:
            known &= surely > 0
        if self._open_high:
            known &= surely < self._slots
        return self._base + surely, known

    def draw(self, count: int, source: Source, dtype: type[np.integer[Any]] = np.int64) -> NDArray[Any]:
        """`count` independent draws as an array; fastest for about a `BLOCK` at a time."""
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
        """A draw for each of a few given cells, which are 16 random bits each."""
        drawn = [self._list[cell] for cell in cells]
        if self._law.window.stop in drawn:  # an open cell
            drawn = [self.draw_from(cell, source) for cell in cells]
        return drawn

    def draw_from(self, cell: int, source: Source) -> int:
        """One draw from U whose first 16 bits, `cell`, are given."""
        outcome = self._list[cell]
        if outcome != self._law.window.stop:
            return outcome
        rest = SECOND_BITS - FIRST_BITS
        u = cell << rest | bits(rest, source)
        drawn, known = self._decide(np.array([u >> (SECOND_BITS - self._second)]), self._lower, self._upper)
        return int(drawn[0]) if known[0] else self._invert(u, SECOND_BITS, source)

    def _resolve(self, cells: NDArray[Any], source: Source) -> NDArray[Any]:
        """Draws for given cells that the table leaves open."""
        rest = SECOND_BITS - FIRST_BITS
        u = cells.astype(np.int64) << rest | (words(cells.size, np.uint64, source) >> np.uint64(64 - rest)).astype(
            np.int64
        )
        drawn, known = self._decide(u >> (SECOND_BITS - self._second), self._lower, self._upper)
        for n in np.flatnonzero(~known).tolist():
            drawn[n] = self._invert(int(u[n]), SECOND_BITS, source)
        return drawn

    def _invert(self, u: int, known: int, source: Source) -> int:
        law = self._law
        middle = law.window[len(law.window) // 2]
        return invert(law.cdf, source, u, known, guess=lambda _: middle, least=law.least, most=law.most)


def _cuts(steps: list[arb]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cuts as integers: floor and ceiling of 2^62 F, from the outer ends of the balls, and a last lower cut of 2^62.

    Raises `Undecided` for wide balls: with them the table would be right, but its cells would stay open for good.
    """
    scaled = [thin(step, within=CUT_RADIUS) * arb(2) ** SECOND_BITS for step in steps]
    lower = [*map(floor, scaled), 1 << SECOND_BITS]
    upper = list(map(ceiling, scaled))
    return np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)


def _compact(decided: NDArray[Any], known: NDArray[Any], outcomes: range) -> tuple[NDArray[Any], int]:
    """The table in the smallest integer type, and the mark of open cells in it.

    The mark is the integer after the last outcome, or the last outcome itself if the type has no more: then the cells
    of this outcome are treated as open, which is slower but right.
    """
    for dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64):
        limits = np.iinfo(dtype)
        if limits.min <= outcomes.start and outcomes[-1] <= limits.max:
            break
    mark = min(outcomes.stop, int(limits.max))
    return np.where(known, decided, mark).astype(dtype), mark
