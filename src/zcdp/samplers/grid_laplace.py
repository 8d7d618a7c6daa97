"""Continuous Laplace noise, added to a real value and rounded to a grid: exactly the law of the rounded sum.

The value is located on a fine grid, many steps of which make up the scale of the noise. In fine steps, with Z Laplace
of rate lambda and the remainder r of the value in [0, 1), floor(r + Z) is

    -1 - G  with probability e^{-lambda r}/2,    1 + G  with probability e^{-lambda (1-r)}/2,    else 0,

where G is geometric at rate lambda. It is drawn as a fair sign and G, and replaced by 0 with a probability below 2^-16
that depends on r. All but one of the 65536 values of 16 random bits decide this without looking at r.
See docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import lift, settled, trusted
from zcdp.samplers.geometric import TwoSided
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_inversion import Real, rank
from zcdp.samplers.source import Source, secure, words

__all__ = ["GridLaplace"]


MOST_FINE_BITS = 40  # for noise below 2^-24 grid steps fine steps do not fit in 64 bits: then one value at a time
CELLS = 1 << 16  # values of 16 random bits


class GridLaplace:
    """Rounds value + Laplace noise to the nearest multiple of `step`, halves up; `rate` is 1/scale.

    >>> noise = GridLaplace(lambda: arb(1) / 2, Fraction(1, 4))
    >>> float(noise.release(np.array([41.3]))[0]) % 0.25
    0.0
    """

    def __init__(self, rate: Real, step: Fraction, *, first: int = 16, second: int = 62) -> None:
        scale = settled(lambda: trusted(1 / (rate() * lift(step))))  # in steps: `refine` makes `_rate` small by it
        if not 2.0**-900 < scale < 2.0**60:
            raise BadValue(f"grid ({step}) must be within reach of the scale, which is {scale:.3g} grid steps")
        self._grid = Grid(step, refine=max(1, 18 - int(np.frexp(scale)[1])))
        fine = step / (1 << self._grid.refine)
        self._rate: Real = lambda: rate() * lift(fine)  # at most 2^-16
        self._signed = TwoSided(self._rate, lambda: arb(1) / 2, first=first, second=second)
        self._doubt = CELLS - (1 << (16 - first))  # a cell from here on needs the remainder

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        grid = self._grid
        values = grid.check(values)
        if grid.refine > MOST_FINE_BITS:
            return np.array([self.release_one(value, source) for value in values.tolist()], dtype=np.float64)
        return grid.release(values, partial(self._points, source=source))

    def _points(self, fine: NDArray[Any], rest: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
        noise = self._floors(fine.size, rest, source)
        noise += fine
        noise += 1 << (self._grid.refine - 1)
        noise >>= self._grid.refine
        return noise

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value."""
        fine, rest = self._grid.locate_one(value)
        noise, cell = self._signed.draw_one(source), int.from_bytes(source(2), "little")
        if cell >= self._doubt and self._stays(noise, rest(), cell, source):
            return self._grid.round_one(fine)
        return self._grid.round_one(fine + noise + (noise >= 0))

    def _floors(self, count: int, rest: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
        """floor(rest(n) + Z), in fine steps, for each n below `count`; rest(n) is called only where it matters."""
        noise = self._signed.draw(count, source)
        cells = words(count, np.uint16, source)
        stays = [
            n
            for n in np.flatnonzero(cells >= self._doubt).tolist()
            if self._stays(int(noise[n]), rest(n), int(cells[n]), source)
        ]
        noise += noise >= 0
        noise[stays] = 0
        return noise

    def _stays(self, noise: int, rest: Fraction, cell: int, source: Source) -> bool:
        """Whether floor(r + Z) is 0, given the sign of the noise and the first 16 bits of the coin that decides it."""
        way = rest if noise < 0 else 1 - rest
        return rank(lambda: [(-self._rate() * lift(way)).exp()], source, cell, 16) == 1
