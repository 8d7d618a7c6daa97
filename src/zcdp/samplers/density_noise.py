"""Noise of any density, added to values and rounded to a grid: a bin by lazy inversion, a place in it by rejection.

The result has exactly the law of round(value + Z). The bin of Z is drawn from a lazy table of its certified
distribution function; a uniform place in the bin is kept with probability f(place)/m, where m is at least as large as f
anywhere in the bin.
See docs/theorems/own-noise.md, docs/theorems/lazy-inversion.md and docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from math import ceil, floor, frexp
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.density import Density, wider
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_inversion import GUARD_BITS, MOST_BITS, WORD_BITS, Law, LazyTable, unsettled
from zcdp.samplers.source import Source, bits, secure

__all__ = ["DensityNoiseOnGrid", "NoiseOfDensity"]

BIN_BITS = 4  # A width of the density has 2^4 to 2^5 bins.
MOST_BINS = 1 << 10  # of the table; beyond, bins are found by bisection
BOUND_PARTS = 8  # parts of a bin on each of which f is bounded, for the rejection


class NoiseOfDensity(Protocol):
    """What is drawn from: a density with its support and its integral."""

    @property
    def density(self) -> Density:
        """The density, up to a constant."""

    @property
    def top_near(self) -> float:
        """About where the density is largest."""

    @property
    def support(self) -> tuple[Fraction | None, Fraction | None]:
        """Where it ends; None where it does not."""

    def mass(self, low: Fraction, high: Fraction, *, moved: bool) -> arb:
        """The probability of an interval."""

    def outside(self, side: int, place: Fraction) -> arb:
        """The probability of all that lies beyond a place on one side."""


class DensityNoiseOnGrid:
    """Rounds value + Z to the nearest multiple of `step`, halves up, where Z has the density of `noise`."""

    def __init__(self, noise: NoiseOfDensity, step: Fraction, *, first: int = 16, second: int = 62) -> None:
        self._noise, self._step, self._grid = noise, step, Grid(step, refine=1)
        width = noise.density.width
        if not 2.0**-900 < width / float(step) < 2.0**60:
            raise BadValue(f"grid ({step}) must be within reach of the noise, whose width is {width:.3g}")
        self._bin = Fraction(2) ** (frexp(width)[1] - 1 - BIN_BITS)
        low, high = noise.support
        middle = noise.top_near
        reach = MOST_BINS // 2
        centre = floor(Fraction(middle) / self._bin)
        least = None if low is None else floor(low / self._bin)
        most = None if high is None else ceil(high / self._bin) - 1
        start = max(centre - reach, centre - reach if least is None else least)
        stop = min(centre + reach, centre + reach if most is None else most)
        law = Law(self._cdf, range(start, stop + 1), least, most, cdfs=self._cdfs)
        self._table = LazyTable(law, first=first, second=second)
        self._bounds: dict[int, arb] = {}

    def _edge(self, n: int) -> Fraction:
        """Where bin n begins."""
        return n * self._bin

    def _cdf(self, n: int) -> arb:
        """P(Z < the end of bin n), from the side on which less lies."""
        return self._cdfs(range(n, n + 1))[0]

    def _cdfs(self, bins: range) -> list[arb]:
        noise, begin, end = self._noise, self._edge(bins[0]), self._edge(bins[-1] + 1)
        if len(bins) == 1:
            right = begin > Fraction(noise.top_near)
            share = noise.outside(1 if right else -1, end)
            return [1 - share if right else share]
        masses = [noise.mass(self._edge(n), self._edge(n + 1), moved=False) for n in bins]
        return list(accumulate(masses, initial=noise.outside(-1, begin)))[1:]

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        checked = self._grid.check(values)
        return np.array([self.release_one(value, source) for value in checked.tolist()], dtype=np.float64)

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value."""
        drawn = self._table.draw_one(source)
        word, known = self._kept(drawn, source)
        base = Fraction(value) / self._step + Fraction(1, 2)
        scale = self._bin / self._step
        while True:
            low = base + scale * (drawn + Fraction(word, 1 << known))
            high = low + scale / (1 << known)
            point = low.__floor__()
            if high <= point + 1:
                return self._grid.point(point)
            word, known = word << WORD_BITS | bits(WORD_BITS, source), known + WORD_BITS

    def _bound(self, n: int) -> arb:
        """A number that f does not exceed in bin n."""
        found = self._bounds.get(n)
        if found is None:
            size, density, (low, high) = self._bin / BOUND_PARTS, self._noise.density, self._noise.support
            found = arb(0)
            for part in range(BOUND_PARTS):
                a, b = self._edge(n) + part * size, self._edge(n) + (part + 1) * size
                a, b = (a if low is None else max(a, low)), (b if high is None else min(b, high))
                if a >= b:
                    continue
                cuts = [a, *(kink for kink in density.kinks if a < kink < b), b]
                for x, y in pairwise(cuts):
                    found = found.max(density.f(lift(x).union(lift(y))).upper())
            self._bounds[n] = found
        return found

    def _kept(self, n: int, source: Source) -> tuple[int, int]:
        """The bits of the first place in bin n that is kept, and how many they are."""
        word, coin, known = bits(WORD_BITS, source), bits(WORD_BITS, source), WORD_BITS
        while known < MOST_BITS:
            kept = at_precision(known + GUARD_BITS, partial(self._keeps, n, word, coin, known))
            if kept:
                return word, known
            if kept is None:
                word, coin = word << WORD_BITS | bits(WORD_BITS, source), coin << WORD_BITS | bits(WORD_BITS, source)
                known += WORD_BITS
            else:
                word, coin, known = bits(WORD_BITS, source), bits(WORD_BITS, source), WORD_BITS
        raise unsettled()

    def _keeps(self, n: int, word: int, coin: int, known: int) -> bool | None:
        """Whether the coin, a uniform number, is below f(place)/m; None if balls cannot tell."""
        size, (low, high) = 1 << known, self._noise.support
        a, b = self._edge(n) + self._bin * Fraction(word, size), self._edge(n) + self._bin * Fraction(word + 1, size)
        if (low is not None and b <= low) or (high is not None and a >= high):
            return False
        if (low is not None and a < low) or (high is not None and b > high):
            return None
        share = self._noise.density.f(wider(lift(a).union(lift(b)))) / self._bound(n) * size
        if share >= coin + 1:
            return True
        return False if share <= coin else None
