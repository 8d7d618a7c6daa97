"""Coins: Bernoulli(p) for rational p, for exp(-x), and for any p with a ball around it."""

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
from zcdp.samplers.source import Source, one_below, words

__all__ = ["FIRST", "Coin", "Rate", "coin", "coins", "flip_exp", "flip_rational"]


def flip_rational(p: Fraction, source: Source) -> bool:
    """True with probability p, exactly: a uniform integer below the denominator.

    >>> from zcdp.samplers.source import secure
    >>> flip_rational(Fraction(1), secure)
    True
    """
    return one_below(p.denominator, source) < p.numerator


def flip_exp(x: Fraction, source: Source) -> bool:
    """True with probability exp(-x), x >= 0 rational: U < exp(-x), decided in balls.

    >>> from zcdp.samplers.source import secure
    >>> flip_exp(Fraction(0), secure)
    True
    """
    return x == 0 or rank(lambda: [(-lift(x)).exp()], source) == 0


CLOSE = 2.0**-60


def _ends(ball: arb) -> tuple[int, int]:
    return floor(ball), ceiling(ball)


class Coin:
    """True with probability p, a real number strictly between 0 and 1: 16 bits decide all but two cells at most.

    >>> from zcdp.samplers.source import secure
    >>> Coin(lambda: arb(1) / 3).flips(1000, secure).dtype
    dtype('bool')
    """

    def __init__(self, p: Real, *, first: int = 16) -> None:
        self._p = p
        low, high = settled(lambda: _ends(thin(p(), within=CLOSE) * arb(2) ** first))
        shift = 16 - first
        self._low = max(0, low) << shift  # below it: True for certain
        self._high = min(1 << first, high) << shift  # from here on: False for certain

    def flip(self, source: Source) -> bool:
        """One coin."""
        return self.flip_from(int.from_bytes(source(2), "little"), source)

    def flip_from(self, cell: int, source: Source) -> bool:
        """One coin whose first 16 bits are given."""
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


# Coins of probability 2^k exp(-rate gap), by comparing halvings.
#
# exp(-rate gap) = 2^-y with y = rate gap/log 2, and a coin is heads if U < 2^(k-y), that is if y - k < -log2(U). Floats
# know y almost exactly, and the first 16 bits of U leave -log2(U) an interval: only a y inside of it asks for more.
# See docs/theorems/exponential-coins.md.

FIRST = 16
SMALLEST = 2.0**-900
MARGIN = 2.0**-30  # beyond every error of y and of the levels
HALVINGS = 1 / log(2)
BELOW = 1 - 2.0**-40  # keeps the float y from exceeding the true one


@cache
def _edges() -> NDArray[Any]:
    """-log2(n/2^16) for n = 0 .. 2^16, to within 2^-40."""
    half, edges = 1 << (FIRST - 1), np.full((1 << FIRST) + 1, np.inf)

    def build() -> list[float]:
        unit = arb(2).log()
        return [trusted(FIRST - arb(n).log() / unit, within=CLOSE) for n in range(half, 2 * half + 1)]

    edges[half:] = settled(build)
    while half > 1:
        edges[half // 2 : half] = edges[half : 2 * half : 2] + 1
        half //= 2
    return edges


@cache
def _levels(first: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """For U in cell n of 2^16: a little below the least -log2(U), a little above the largest; `first` bits are told."""
    width = 1 << (FIRST - first)
    edges = _edges()[::width].repeat(width)
    surely, possibly = edges[width : width + (1 << FIRST)] - MARGIN, edges[: 1 << FIRST] + MARGIN
    for table in (surely, possibly):
        table.flags.writeable = False
    return surely, possibly


def coins(exponents: NDArray[Any], exact: Callable[[int], Fraction], source: Source) -> NDArray[Any]:
    """Coin n is heads with probability exp(-exact(n)); exponents[n] is a float within 2^-35, or both exceed 15.

    >>> from zcdp.samplers.source import secure
    >>> coins(np.zeros(3), lambda n: Fraction(0), secure)
    array([ True,  True,  True])
    """
    surely, possibly = _levels(FIRST)
    y, cells = exponents * HALVINGS, words(exponents.size, np.uint16, source)
    heads: NDArray[Any] = y < surely.take(cells, mode="wrap")
    undecided = y <= possibly.take(cells, mode="wrap")
    undecided &= ~heads
    for n in undecided.nonzero()[0].tolist():
        heads[n] = _decide(exact(n), int(cells[n]), source)
    return heads


def coin(exponent: float, exact: Callable[[], Fraction], source: Source) -> bool:
    """One such coin."""
    surely, possibly = _levels(FIRST)
    y, cell = exponent * HALVINGS, int.from_bytes(source(2), "little")
    if y < surely.data[cell] or y > possibly.data[cell]:
        return bool(y < surely.data[cell])
    return _decide(exact(), cell, source)


def _decide(exponent: Fraction, cell: int, source: Source) -> bool:
    return exponent == 0 or rank(lambda: [(-lift(exponent)).exp()], source, cell, 16) == 0


class Rate:
    """The exact rate, and what floats may say about its coins; `first` below 16 forces the deep stage, for tests.

    >>> from zcdp.samplers.source import secure
    >>> Rate(lambda: arb(1)).flip(Fraction(0), 0, 12345, secure)
    True
    """

    def __init__(self, exact: Real, *, first: int = FIRST) -> None:
        self.exact = exact
        nearest = settled(lambda: trusted(exact() / arb(2).log()))
        known = SMALLEST < nearest < 1 / SMALLEST
        self.halvings = nearest * BELOW if known else 0.0
        """y for a gap of 1, or 0 where floats cannot tell and every coin is left to lazy bits."""
        self.surely, self.possibly = _levels(first if known else 0)
        """A coin with these first 16 bits is heads if the float y - k is below the one, tails if above the other."""
        self.surely_one, self.possibly_one = self.surely.data, self.possibly.data

    @cached_property
    def reach(self) -> NDArray[Any]:
        """`possibly` in units of the scores: a coin with these first 16 bits is tails if its gap is above this."""
        return self.possibly / self.halvings if self.halvings else np.full(1 << FIRST, np.inf)

    def flip(self, gap: Fraction, k: int, cell: int, source: Source) -> bool:
        """The coin of probability 2^k exp(-rate gap) whose first 16 bits are given, by lazy bits."""
        return gap == 0 or rank(lambda: [(-self.exact() * lift(gap)).exp() * (1 << k)], source, cell, FIRST) == 0
