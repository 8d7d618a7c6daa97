"""Continuous noise with a symmetric, log-concave density (Gaussian, logistic), added to values and rounded to a grid.

The result has exactly the law of round(value + Z). A bin of Z is drawn from a lazy table of the distribution function
F; then a place inside the bin, where the density f is nearly flat, by rejection: a uniform place is kept with
probability f(place)/f(inner edge). The first 16 bits of this coin nearly always decide without evaluating f.
See docs/theorems/binned-noise.md and docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import frexp
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, floor, lift, settled, thin, trusted
from zcdp.numeric.search import bisect_integers
from zcdp.numeric.threads import cached_property
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_inversion import GUARD_BITS, MOST_BITS, WORD_BITS, Law, LazyTable, Real, unsettled
from zcdp.samplers.source import Source, bits, secure, words

__all__ = ["GridNoise", "Shape", "gaussian_on_grid", "logistic_on_grid"]


COARSE_BIN_BITS, FINE_BIN_BITS = 6, 8
"""The scale has 2^5 to 2^6 bins for few values, 2^7 to 2^8 for long arrays: a longer table, but f is needed less."""
LONG_ARRAY = 10_000  # number of values from which the finer bins are worth their table
MOST_BINS = 1 << 13  # on each side of 0
CELLS = 1 << 16  # values of 16 random bits
BINS_PER_THRESHOLD = 32  # neighbouring bins share a threshold for the coin: the lowest of theirs
USUAL_FINE_BITS = 16  # log2 of fine steps to a grid step: the grid point is then undecided with probability 2^-16
MOST_PLACE_BITS = 48  # bits of the place in a bin that fit in 64 with the 2^13 bins; with more, one value at a time

MOST_FINE_BITS = 60  # with more, fine steps and half a grid step do not add up in 64 bits


@dataclass(frozen=True)
class Shape:
    """A symmetric continuous law with a log-concave density, at scale 1."""

    cdf: Callable[[arb], arb]
    """P(Z <= x)."""
    fall: Callable[[arb, arb], arb]
    """f(x)/f(y), at most 1 where |x| >= |y|."""


class GridNoise:
    """Rounds value + Z/rate to the nearest multiple of `step`, halves up, where Z has the law `shape`.

    >>> gaussian_on_grid(Fraction(1), Fraction(1, 4)).release_one(41.3) % 0.25
    0.0
    """

    def __init__(self, shape: Shape, rate: Real, step: Fraction, *, first: int = 16, second: int = 62) -> None:
        scale = settled(lambda: trusted(1 / (rate() * lift(step))))  # in steps; it only determines the bins
        if not 2.0**-900 < scale < 2.0**60:
            raise BadValue(f"grid ({step}) must be within reach of the scale, which is {scale:.3g} grid steps")
        self._shape, self._step, self._exponent = shape, step, frexp(scale)[1]
        self._rate: Real = lambda: rate() * lift(step)
        self._stages = first, second

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        return (self._coarse if values.size < LONG_ARRAY else self._fine).release(values, source)

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value."""
        return self._coarse.release_one(value, source)

    @cached_property
    def _coarse(self) -> _Bins:
        return self._bins(COARSE_BIN_BITS)

    @cached_property
    def _fine(self) -> _Bins:
        return self._bins(FINE_BIN_BITS)

    def _bins(self, depth: int) -> _Bins:
        return _Bins(self._shape, self._rate, self._step, self._exponent - depth, *self._stages)


class _Bins:
    """The sampler with bins [n, n+1) 2^width grid steps; a grid step has 2^refine fine steps, a bin has 2^place."""

    def __init__(self, shape: Shape, rate: Real, step: Fraction, width: int, first: int, second: int) -> None:
        self._shape = shape
        refine = min(max(USUAL_FINE_BITS if first == 16 else 1, -width), max(MOST_PLACE_BITS - width, 1))
        self._grid = Grid(step, refine=refine)
        self._place = width + refine
        self._bin: Real = lambda: rate() * arb(2) ** width
        reach = settled(self._reach)

        def cdf(n: int) -> arb:
            return shape.cdf(self._bin() * (n + 1))

        def cdfs(bins: range) -> list[arb]:
            length = self._bin()
            right = [shape.cdf(length * n) for n in range(reach + 1)]
            return [right[n + 1] if n >= 0 else 1 - right[-n - 1] for n in bins]

        self._table = LazyTable(Law(cdf, range(-reach, reach), cdfs=cdfs), first=first, second=second)
        self._reached = reach
        sure = settled(lambda: self._thresholds(first))
        self._sure = np.concatenate([[0], sure[::-1], sure, [0]])  # beyond the table every coin is decided in balls
        self._sures: list[int] = self._sure.tolist()

    def _reach(self) -> int:
        """How many bins the table has on each side: they have nearly all of the mass, or are `MOST_BINS`."""
        length = self._bin()
        return bisect_integers(
            lambda n: not thin(self._shape.cdf(-length * n), within=2.0**-80) > arb(2) ** -62, 0, MOST_BINS
        )

    def _thresholds(self, first: int) -> NDArray[Any]:
        """For bins 0, 1, ... a threshold: a coin whose first 16 bits are below it keeps any place of the bin.

        The density falls more across a bin the farther out it is, so the last bin of a group has the least threshold.
        """
        length, sure = self._bin(), []
        for start in range(0, self._reached, BINS_PER_THRESHOLD):
            last = min(start + BINS_PER_THRESHOLD, self._reached) - 1
            fall = thin(self._shape.fall(length * (last + 1), length * last), within=2.0**-40)
            sure += [floor(fall * CELLS)] * (last + 1 - start)
        return np.array(sure) >> (16 - first) << (16 - first)

    def release(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        grid = self._grid
        values = grid.check(values)
        if self._place > MOST_PLACE_BITS or grid.refine > MOST_FINE_BITS:
            return np.array([self.release_one(value, source) for value in values.tolist()], dtype=np.float64)
        return grid.release(values, partial(self._points, source=source))

    def _points(self, fine: NDArray[Any], rest: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
        place, refine, count = self._place, self._grid.refine, fine.size
        half, mask = 1 << (refine - 1), (1 << refine) - 1
        drawn = self._table.draw(count, source)
        places, cells = words(count, np.uint64, source), words(count, np.uint16, source)
        noise = drawn << place
        if place:
            noise |= (places >> np.uint64(64 - place)).astype(np.int64)
        noise += fine
        noise += half
        undecided = (noise & mask) == mask  # the parts below a fine step may carry over
        undecided |= cells >= self._sure.take(drawn + (self._reached + 1), mode="clip")
        noise >>= refine
        for n in np.flatnonzero(undecided).tolist():
            position = int(fine[n]) + half + rest(n)
            noise[n] = self._finish(int(drawn[n]), int(places[n]), int(cells[n]), position, source)
        return noise

    def release_one(self, value: float | Fraction, source: Source) -> float:
        grid, place = self._grid, self._place
        fine, rest = grid.locate_one(value)
        first = bits(96, source)
        drawn, cell, word = self._table.draw_from(first & 0xFFFF, source), first >> 16 & 0xFFFF, first >> 32
        fine += 1 << (grid.refine - 1)
        noisy, mask = fine + (drawn << place) + (word << place >> 64), (1 << grid.refine) - 1
        slot = drawn + self._reached + 1
        if noisy & mask != mask and 0 < slot < len(self._sures) and cell < self._sures[slot]:
            return grid.point(noisy >> grid.refine)
        return grid.point(self._finish(drawn, word, cell, fine + rest(), source))

    def _finish(self, drawn: int, word: int, cell: int, position: Fraction, source: Source) -> int:
        """The grid point at or below position + noise, both in fine steps; exact.

        `word` has the first 64 bits of the place in bin `drawn`, `cell` the first 16 bits of the coin that keeps it.
        """
        word, known = self._kept(drawn, word, cell, source)
        while True:
            low = position + Fraction((drawn << known) + word << self._place, 1 << known)
            high = low + Fraction(1 << self._place, 1 << known)
            point = low.__floor__() >> self._grid.refine
            if high <= (point + 1) << self._grid.refine:
                return point
            word, known = word << WORD_BITS | bits(WORD_BITS, source), known + WORD_BITS

    def _kept(self, drawn: int, word: int, cell: int, source: Source) -> tuple[int, int]:
        """The bits of the first place that is kept, and how many these are; the first proposal is given."""
        known = 64
        while known < MOST_BITS:
            kept = at_precision(known + GUARD_BITS, partial(self._keeps, drawn, word, known, cell))
            if kept:
                return word, known
            if kept is None:
                word, cell, known = (
                    word << WORD_BITS | bits(WORD_BITS, source),
                    cell << WORD_BITS | bits(WORD_BITS, source),
                    known + WORD_BITS,
                )
            else:
                word, cell, known = bits(64, source), bits(16, source), 64
        raise unsettled()

    def _keeps(self, drawn: int, word: int, known: int, cell: int) -> bool | None:
        """Whether U < f(place)/f(inner edge), for U in [cell, cell+1)/2^(known-48); None if balls cannot decide."""
        length = self._bin()
        place = arb(2 * word + 1, 1) / arb(2) ** (known + 1)
        fall = self._shape.fall(length * (drawn + place), length * (drawn if drawn >= 0 else drawn + 1))
        scaled = fall * arb(2) ** (known - 48)
        if scaled >= cell + 1:
            return True
        return False if scaled <= cell else None


def logistic_on_grid(rate: Real, step: Fraction, *, first: int = 16, second: int = 62) -> GridNoise:
    """Logistic noise of scale 1/rate: F(x) = 1/(1 + e^-x), f(x) = 1/(4 cosh^2(x/2))."""
    shape = Shape(lambda x: 1 / (1 + (-x).exp()), lambda x, y: ((y / 2).cosh() / (x / 2).cosh()) ** 2)
    return GridNoise(shape, rate, step, first=first, second=second)


def gaussian_on_grid(variance: Fraction, step: Fraction, *, first: int = 16, second: int = 62) -> GridNoise:
    """Gaussian noise of a rational variance: F(x) = erfc(-x/sqrt 2)/2."""
    shape = Shape(lambda x: (-x / arb(2).sqrt()).erfc() / 2, lambda x, y: ((y - x) * (y + x) / 2).exp())
    return GridNoise(shape, lambda: 1 / lift(variance).sqrt(), step, first=first, second=second)
