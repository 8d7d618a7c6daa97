"""The low bits of a slow geometric variable: uniform bits, kept with probability exp(-rate l), which is nearly one.

P(L = l) is proportional to exp(-rate l) on 0 .. 2^length - 1, and rate 2^length is at most 1/32: the first bits of the
coin keep nearly every proposal, whatever it is. A cubic in floats settles nearly all of the others, lazy bits the rest.
See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import floor
from zcdp.numeric.trusted import settled, thin, trusted
from zcdp.samplers.lazy import Real, rank
from zcdp.samplers.source import Source, bits, words

__all__ = ["LowBits"]

MARGIN = 2.0**-40
"""Far more than what floats lose in the cubic."""


class LowBits:
    """So many low bits; arrays of them for at most 48.

    >>> from flint import arb
    >>> from zcdp.samplers.source import secure
    >>> bool((LowBits(lambda: arb(2) ** -30, 24).draw(100, secure) < 2**24).all())
    True
    """

    def __init__(self, rate: Real, length: int, *, first: int = 16) -> None:
        if not settled(lambda: thin(rate()) * (1 << length) <= 1 / 32):
            raise BadValue(f"length ({length}) must be at most log2(scale) - 5")
        self.length = length
        self._rate = rate
        self._near = settled(lambda: trusted(rate()))
        self._forced = first < 16
        # one word holds the coin's first bits, at least 8, and below them the proposal
        self._word = next((word for word in (np.uint16, np.uint32) if length + 8 <= 8 * word().itemsize), np.uint64)
        self._coin = 8 * self._word().itemsize - length  # bits of it
        self._sure = self._surely_kept(first, self._coin)
        self._sure_one = self._surely_kept(first, 16)

    def _surely_kept(self, first: int, count: int) -> int:
        """Below it, a coin of `count` bits keeps every proposal, by its first bits alone."""
        if count <= 0:
            return 0  # too long for arrays
        first = min(first, count)
        least = settled(lambda: floor(thin((-self._rate() * (1 << self.length)).exp()) * (1 << first)))
        return least << (count - first)

    def draw(self, count: int, source: Source) -> NDArray[Any]:
        """`count` independent draws, as unsigned integers."""
        drawn = words(count, self._word, source)
        low = drawn & self._word((1 << self.length) - 1)
        doubted = np.flatnonzero(drawn >= self._word(self._sure << self.length))
        if doubted.size:
            low[doubted] = self._settle(low[doubted], drawn[doubted] >> self._word(self.length), source)
        return low

    def _settle(self, low: NDArray[Any], coin: NDArray[Any], source: Source) -> NDArray[Any]:
        """The proposals if they are kept, else new draws; the first bits of the coins are given."""
        coin = coin.astype(np.uint64) << np.uint64(16) | words(coin.size, np.uint16, source)
        known = self._coin + 16
        t, scale = low * self._near, 2.0**-known
        top = 1 - t + t * t / 2  # e^-t lies between this less t^3/6 and this
        kept = (coin + 1.0) * scale < top - t * t * t / 6 - MARGIN
        unknown = ~kept & (coin * scale < top + MARGIN)
        if self._forced:
            kept[:], unknown[:] = False, True
        for n in np.flatnonzero(unknown).tolist():
            kept[n] = self._keeps(int(low[n]), int(coin[n]), known, source)
        again = np.flatnonzero(~kept)
        if again.size:
            low[again] = self.draw(again.size, source)
        return low

    def draw_one(self, source: Source) -> int:
        """One draw."""
        while True:
            word = bits(self.length + 16, source)
            low, coin = word >> 16, word & 0xFFFF
            if coin < self._sure_one or self._keeps(low, coin, 16, source):
                return low

    def _keeps(self, low: int, coin: int, known: int, source: Source) -> bool:
        return rank(lambda: [(-self._rate() * low).exp()], source, coin, known) == 0
