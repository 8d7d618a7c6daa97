"""Exact Bernoulli draws ("coins"): for rational p, for exp(-x), for any p given as a `Real`, and for 2^k exp(-x)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import log
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import ceiling, floor, lift, settled, thin, trusted
from zcdp.numeric.threads import cached_property
from zcdp.samplers.lazy_inversion import Real, rank
from zcdp.samplers.source import Source, words

__all__ = ["FIRST_BITS", "Coin", "Rate", "coin", "coins", "flip_exp"]


def flip_exp(x: Fraction, source: Source) -> bool:
    """True with probability exactly exp(-x), x >= 0 rational: a uniform U is compared with exp(-x) in balls.

    >>> from zcdp.samplers.source import secure
    >>> flip_exp(Fraction(0), secure)
    True
    """
    return x == 0 or rank(lambda: [(-lift(x)).exp()], source) == 0


COIN_RADIUS = 2.0**-60  # the balls that tables are made of have at most this radius


def _ends(ball: arb) -> tuple[int, int]:
    """Integers around the ball: the floor of its lower end and the ceiling of its upper end."""
    return floor(ball), ceiling(ball)


class Coin:
    """True with probability exactly p, a real number strictly between 0 and 1.

    The first 16 bits of U decide, but for at most two of their 65536 values; only these take more bits and balls.
    `first` below 16 makes those cells more, for tests.

    >>> from zcdp.samplers.source import secure
    >>> Coin(lambda: arb(1) / 3).flips(1000, secure).dtype
    dtype('bool')
    """

    def __init__(self, p: Real, *, first: int = 16) -> None:
        self._p = p
        low, high = settled(lambda: _ends(thin(p(), within=COIN_RADIUS) * arb(2) ** first))
        shift = 16 - first
        self._low = max(0, low) << shift  # below it: True for certain
        self._high = min(1 << first, high) << shift  # from here on: False for certain

    def flip(self, source: Source) -> bool:
        """One coin."""
        return self.flip_from(int.from_bytes(source(2), "little"), source)

    def flip_from(self, cell: int, source: Source) -> bool:
        """One coin from U whose first 16 bits, `cell`, are given."""
        if self._low <= cell < self._high:
            return rank(lambda: [self._p()], source, cell, 16) == 0
        return cell < self._low

    def flips(self, count: int, source: Source) -> NDArray[Any]:
        """`count` independent coins."""
        cells = words(count, np.uint16, source)
        heads = cells < self._low
        for n in np.flatnonzero(cells - np.uint16(self._low) < self._high - self._low).tolist():
            heads[n] = self.flip_from(int(cells[n]), source)
        return heads


# Coins of probability 2^k exp(-rate gap), by comparing numbers of halvings (logarithms to base 2).
#
# exp(-rate gap) = 2^-y with y = rate gap/log 2, and a coin is heads if U < 2^(k-y), that is if y - k < -log2(U). y is
# computed in floats almost exactly, and the first 16 bits of U leave an interval for -log2(U). Only if y - k lies in it
# are more bits of U drawn, and the comparison is made in balls. See docs/theorems/exponential-coins.md.

FIRST_BITS = 16  # bits of U that nearly always decide
LEAST_FLOAT_RATE = 2.0**-900  # y is computed in floats for rates between this and its reciprocal
LEVEL_MARGIN = 2.0**-30  # more than all errors of y and of the levels together
HALVINGS_PER_UNIT = 1 / log(2)
ROUNDED_DOWN = 1 - 2.0**-40  # a factor that keeps y in floats from exceeding the true y


@cache
def _edges() -> NDArray[Any]:
    """-log2(n/2^16) for n = 0 .. 2^16, to within 2^-40."""
    half, edges = 1 << (FIRST_BITS - 1), np.full((1 << FIRST_BITS) + 1, np.inf)

    def build() -> list[float]:
        unit = arb(2).log()
        return [trusted(FIRST_BITS - arb(n).log() / unit, within=COIN_RADIUS) for n in range(half, 2 * half + 1)]

    edges[half:] = settled(build)
    while half > 1:
        edges[half // 2 : half] = edges[half : 2 * half : 2] + 1
        half //= 2
    return edges


@cache
def _levels(first: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """For U in cell n of 2^16 a number below every -log2(U), and one above; only the first `first` bits are used."""
    width = 1 << (FIRST_BITS - first)
    edges = _edges()[::width].repeat(width)
    surely, possibly = edges[width : width + (1 << FIRST_BITS)] - LEVEL_MARGIN, edges[: 1 << FIRST_BITS] + LEVEL_MARGIN
    for table in (surely, possibly):
        table.flags.writeable = False
    return surely, possibly


def coins(exponents: NDArray[Any], exact: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
    """An array of coins: coin n is heads with probability exactly exp(-exact(n)).

    exponents[n] is a float that differs from exact(n) by at most 2^-35, or both exceed 15.

    >>> from zcdp.samplers.source import secure
    >>> coins(np.zeros(3), lambda n: Fraction(0), secure)
    array([ True,  True,  True])
    """
    surely, possibly = _levels(FIRST_BITS)
    y, cells = exponents * HALVINGS_PER_UNIT, words(exponents.size, np.uint16, source)
    heads: NDArray[Any] = y < surely.take(cells, mode="wrap")
    undecided = y <= possibly.take(cells, mode="wrap")
    undecided &= ~heads
    for n in undecided.nonzero()[0].tolist():
        heads[n] = _decide(exact(n), int(cells[n]), source)
    return heads


def coin(exponent: float, exact: Callable[[], Fraction], source: Source) -> bool:
    """One coin that is heads with probability exactly exp(-exact()); `exponent` is a float near it, as in `coins`."""
    surely, possibly = _levels(FIRST_BITS)
    y, cell = exponent * HALVINGS_PER_UNIT, int.from_bytes(source(2), "little")
    if y < surely.data[cell] or y > possibly.data[cell]:
        return bool(y < surely.data[cell])
    return _decide(exact(), cell, source)


def _decide(exponent: Fraction, cell: int, source: Source) -> bool:
    """Whether U < exp(-exponent), in balls, given the first 16 bits of U."""
    return exponent == 0 or rank(lambda: [(-lift(exponent)).exp()], source, cell, 16) == 0


class Rate:
    """An exact rate, with the tables that decide coins of probability 2^k exp(-rate gap) in floats.

    `first` below 16 leaves more coins to exact comparison, for tests.

    >>> from zcdp.samplers.source import secure
    >>> Rate(lambda: arb(1)).flip(Fraction(0), 0, 12345, secure)
    True
    """

    def __init__(self, exact: Real, *, first: int = FIRST_BITS) -> None:
        self.exact = exact
        nearest = settled(lambda: trusted(exact() / arb(2).log()))
        known = LEAST_FLOAT_RATE < nearest < 1 / LEAST_FLOAT_RATE
        self.halvings = nearest * ROUNDED_DOWN if known else 0.0
        """y for a gap of 1; 0 if the rate is too small or large for floats, and every coin is decided in balls."""
        self.surely, self.possibly = _levels(first if known else 0)
        """Indexed by the first 16 bits of U: heads if y - k in floats is below `surely`, tails if above `possibly`."""
        self.surely_one, self.possibly_one = self.surely.data, self.possibly.data

    @cached_property
    def reach(self) -> NDArray[Any]:
        """`possibly` in units of the gap: by the first 16 bits of U, a coin is tails if its gap is above this."""
        return self.possibly / self.halvings if self.halvings else np.full(1 << FIRST_BITS, np.inf)

    def flip(self, gap: Fraction, k: int, cell: int, source: Source) -> bool:
        """The coin of probability 2^k exp(-rate gap) from U with first bits `cell`, decided in balls by more bits."""
        return gap == 0 or rank(lambda: [(-self.exact() * lift(gap)).exp() * (1 << k)], source, cell, FIRST_BITS) == 0
