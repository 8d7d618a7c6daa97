"""Exact staircase noise, continuous and rounded to a grid, or discrete (Geng and Viswanath 2014, Algorithm 1).

The size of the noise lies on stair G, [G, G+1) sensitivities, with G geometric: each stair has b = e^-epsilon times the
density of the one before. In a stair the inner fraction gamma has density 1, and the outer rest b.
docs/theorems/binned-noise.md covers the computation in floats.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, lift, settled, trusted
from zcdp.samplers.coins import Coin
from zcdp.samplers.geometric import MOST_LOW_BITS, Geometric
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_inversion import GUARD_BITS, MOST_BITS, WORD_BITS, Real, unsettled
from zcdp.samplers.run_samplers import add
from zcdp.samplers.source import Source, bits, blocks, integers, one_below, secure, words

__all__ = ["DiscreteStaircaseNoise", "GridStaircase"]


LARGEST_FLOAT_NOISE = 2.0**40  # in grid steps: larger noise is placed exactly, not in floats


class GridStaircase:
    """Rounds value + staircase noise to the nearest multiple of `step`, halves up; gamma is any real in (0, 1).

    The stair and its inner or outer part are drawn first; the place in the part is uniform. 53 bits of the place, in
    floats with a bound on their error, decide the grid point of nearly every value; balls and more bits decide the
    others.

    >>> noise = GridStaircase(lambda: arb(1), Fraction(1), lambda: arb(1) / 3, Fraction(1, 4))
    >>> noise.release_one(41.3) % 0.25
    0.0
    """

    def __init__(
        self,
        epsilon: Real,
        sensitivity: Fraction,
        gamma: Real,
        step: Fraction,
        *,
        first: int = 16,
        second: int = 62,
    ) -> None:
        self._grid = Grid(step, refine=30 if first == 16 else 1)
        self._stair = Geometric(epsilon, first=first, second=second)
        self._gamma = gamma
        self._size = sensitivity / step

        def inner() -> arb:
            return gamma() / (gamma() + (1 - gamma()) * (-epsilon()).exp())

        self._inner = Coin(inner, first=first)
        near = settled(lambda: (trusted(gamma()), trusted(1 - gamma())))
        tame = min(near) > 2.0**-900 and 2.0**-900 < self._size < LARGEST_FLOAT_NOISE
        self._near = (*near, float(self._size)) if tame else None

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        checked = self._grid.check(values)
        if self._near is None or (self._stair.low and self._stair.low.length > MOST_LOW_BITS):
            return np.array([self.release_one(value, source) for value in checked.tolist()], dtype=np.float64)
        out = np.empty(checked.size, dtype=np.float64)
        for block in blocks(checked.size):
            out[block] = self._release(checked[block], source)
        return out

    def _release(self, values: NDArray[Any], source: Source) -> NDArray[Any]:
        assert self._near is not None
        gamma, outer, size = self._near
        whole, fine, rest = self._grid.locate(values)
        stair, inner = self._stair.draw(values.size, source), self._inner.flips(values.size, source)
        drawn = words(values.size, np.uint64, source)
        place, sign = (
            (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53,
            1 - 2 * (drawn & np.uint64(1)).astype(np.int64),
        )
        reach = (stair + 1) * size
        noise = sign * (stair + np.where(inner, gamma * place, gamma + outer * place)) * size
        noise += fine * 2.0**-self._grid.refine + 0.5
        error = (reach + 1) * 2.0**-48 + 2.0**-self._grid.refine
        low, high = np.floor(noise - error), np.floor(noise + error)
        undecided = (low != high) | (reach > LARGEST_FLOAT_NOISE)
        points = np.where(undecided, 0, low).astype(np.int64)
        if reach.max(initial=0) > 2.0**62:
            points = points.astype(object)  # so that `add` refuses what does not fit
        for n in np.flatnonzero(undecided).tolist():
            offset = Fraction(1, 2) + (int(fine[n]) + rest(n)) / (1 << self._grid.refine)
            points[n] = self._place(
                offset, int(sign[n]), int(stair[n]), bool(inner[n]), int(drawn[n]) >> 11, 53, source
            )
        return self._grid.to_floats(add(whole, points, "raise"))

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value."""
        stair, inner, drawn = self._stair.draw_one(source), self._inner.flip(source), bits(64, source)
        u, sign = drawn >> 11, 1 - 2 * (drawn & 1)
        if self._near is not None and stair < LARGEST_FLOAT_NOISE and type(value) is float:
            gamma, outer, size = self._near
            whole, fine = divmod(self._grid.locate_one(value)[0], 1 << self._grid.refine)
            place, reach = u * 2.0**-53, (stair + 1) * size
            noise = sign * (stair + (gamma * place if inner else gamma + outer * place)) * size
            noise += fine * 2.0**-self._grid.refine + 0.5
            error = (reach + 1) * 2.0**-48 + 2.0**-self._grid.refine
            if reach < LARGEST_FLOAT_NOISE and (point := floor(noise - error)) == floor(noise + error):
                return self._grid.point(whole + point)
        offset = Fraction(value) / self._grid.step + Fraction(1, 2)
        return self._grid.point(self._place(offset, sign, stair, inner, u, 53, source))

    def _place(self, offset: Fraction, sign: int, stair: int, inner: bool, u: int, known: int, source: Source) -> int:
        """floor(offset + noise/step), exact, given the first `known` bits u of the place in the part of the stair."""
        while known < MOST_BITS:
            evaluate = partial(self._floor, offset, sign, stair, inner, u, known)
            if (point := at_precision(known + stair.bit_length() + GUARD_BITS, evaluate)) is not None:
                return point
            u, known = u << WORD_BITS | bits(WORD_BITS, source), known + WORD_BITS
        raise unsettled()

    def _floor(self, offset: Fraction, sign: int, stair: int, inner: bool, u: int, known: int) -> int | None:
        """floor(offset + noise/step) if it is the same for all places in [u, u+1)/2^known, else None."""
        gamma = self._gamma()
        start, length = (arb(stair), gamma) if inner else (stair + gamma, 1 - gamma)
        place = arb(u).union(arb(u + 1)) / arb(2) ** known
        whole = (lift(offset) + sign * (start + length * place) * lift(self._size)).floor().unique_fmpz()
        return None if whole is None else int(whole)


class DiscreteStaircaseNoise:
    """Discrete staircase noise: P(X = i) proportional to b^(floor(|i|/width) + [|i| mod width >= r]), b = e^-epsilon.

    >>> DiscreteStaircaseNoise(lambda: arb(1), 5, 2).draw(10).shape
    (10,)
    """

    def __init__(self, epsilon: Real, width: int, r: int, *, first: int = 16, second: int = 62) -> None:
        self._stair = Geometric(epsilon, first=first, second=second)
        self._width, self._r = width, r
        self._inner = Coin(lambda: r / (r + (width - r) * (-epsilon()).exp()), first=first) if r < width else None

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; as Python integers where 64 bits may not hold them."""
        if self._width > 1 << 62 or (self._stair.low and self._stair.low.length > MOST_LOW_BITS):
            return np.array([self.draw_one(source) for _ in range(count)], dtype=object)
        stair = self._stair.draw(count, source)
        if stair.max(initial=0) >= (1 << 62) // self._width - 1:
            stair = stair.astype(object)
        place = integers(self._r, count, source).astype(np.int64)
        if self._inner is not None:
            outer = self._r + integers(self._width - self._r, count, source).astype(np.int64)
            place = np.where(self._inner.flips(count, source), place, outer)
        size = stair * self._width + place
        negative = words(count, np.uint8, source) >= 128
        drawn: NDArray[Any] = np.where(negative, -size, size)
        again = np.flatnonzero(negative & (size == 0))  # zero would come with both signs: "minus zero" is drawn again
        if again.size:
            drawn[again] = self.draw(again.size, source)
        return drawn

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        while True:
            inner = self._inner is None or self._inner.flip(source)
            place = one_below(self._r, source) if inner else self._r + one_below(self._width - self._r, source)
            size, negative = self._stair.draw_one(source) * self._width + place, bits(1, source)
            if size or not negative:
                return -size if negative else size
