"""Staircase noise, continuous on a grid and discrete: geometric stairs, each with an inner and an outer part.

Stair G of the noise covers [G, G+1) sensitivities; its inner share gamma weighs 1, the rest b = e^-epsilon, and each
stair weighs b times the one before. (Geng and Viswanath 2014, Algorithm 1.)
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, lift
from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.geometric import Geometric
from zcdp.samplers.grid import Grid
from zcdp.samplers.lazy import GUARD, WORD, Real
from zcdp.samplers.source import Source, bits, secure, words
from zcdp.samplers.uniform import integers

__all__ = ["DiscreteStaircaseNoise", "GridStaircase"]


class GridStaircase:
    """round(value + staircase noise) to multiples of `step`, halves up; gamma is any real in (0, 1).

    >>> noise = GridStaircase(lambda: arb(1), Fraction(1), lambda: arb(1) / 3, Fraction(1, 4))
    >>> noise.release_one(41.3) % 0.25
    0.0
    """

    def __init__(self, epsilon: Real, sensitivity: Fraction, gamma: Real, step: Fraction) -> None:
        self._grid = Grid(step, refine=1)
        self._stair = Geometric(epsilon)
        self._gamma = gamma
        self._size = sensitivity / step

        def inner() -> arb:
            return gamma() / (gamma() + (1 - gamma()) * (-epsilon()).exp())

        self._inner = Coin(inner)

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        checked = self._grid.check(values)
        return np.array([self.release_one(value, source) for value in checked.tolist()], dtype=np.float64)

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value: the part of the stair is drawn first, the place in it is uniform."""
        stair, inner = self._stair.draw_one(source), self._inner.flip(source)
        sign = 1 - 2 * bits(1, source)
        offset = Fraction(value) / self._grid.step + Fraction(1, 2)
        u, known = 0, 0
        while True:
            u, known = u << WORD | bits(WORD, source), known + WORD
            evaluate = partial(self._floor, offset, sign, stair, inner, u, known)
            if (point := at_precision(known + GUARD, evaluate)) is not None:
                return self._grid.point(point)

    def _floor(self, offset: Fraction, sign: int, stair: int, inner: bool, u: int, known: int) -> int | None:
        """floor(offset + noise/step) if all of [u, u+1)/2^known gives the same."""
        gamma = self._gamma()
        start, length = (arb(stair), gamma) if inner else (stair + gamma, 1 - gamma)
        place = arb(u).union(arb(u + 1)) / arb(2) ** known
        floor = (lift(offset) + sign * (start + length * place) * lift(self._size)).floor()
        whole = floor.unique_fmpz()
        return None if whole is None else int(whole)


class DiscreteStaircaseNoise:
    """P(X = i) proportional to b^(floor(|i|/width) + [|i| mod width >= r]), b = e^-epsilon, on the integers.

    >>> DiscreteStaircaseNoise(lambda: arb(1), 5, 2).draw(10).shape
    (10,)
    """

    def __init__(self, epsilon: Real, width: int, r: int, *, first: int = 16, second: int = 62) -> None:
        self._stair = Geometric(epsilon, first=first, second=second)
        self._width, self._r = width, r
        self._inner = Coin(lambda: r / (r + (width - r) * (-epsilon()).exp()), first=first) if r < width else None

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; raises OverflowError if one does not fit."""
        stair = self._stair.draw(count, source)
        limit = (1 << 63) // self._width - 1
        if stair.max(initial=0) >= limit:
            raise OverflowError(f"a draw of width {self._width} does not fit in 64 bits")
        place = integers(self._r, count, source).astype(np.int64)
        if self._inner is not None:
            outer = self._r + integers(self._width - self._r, count, source).astype(np.int64)
            place = np.where(self._inner.flips(count, source), place, outer)
        size = stair * self._width + place
        negative = words(count, np.uint8, source) >= 128
        drawn = np.where(negative, -size, size)
        again = np.flatnonzero(negative & (size == 0))  # zero has one sign: half of its draws are made again
        if again.size:
            drawn[again] = self.draw(again.size, source)
        return drawn

    def draw_one(self, source: Source = secure) -> int:
        """One draw."""
        return int(self.draw(1, source)[0])
