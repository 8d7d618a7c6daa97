"""The low bits of a slow geometric variable: uniform bits, kept with probability exp(-rate l), which is nearly one.

P(L = l) is proportional to exp(-rate l) on 0 .. 2^length - 1, and rate 2^length is at most 1/32: the first bits of the
coin keep nearly every proposal, whatever it is. A cubic in floats settles nearly all of the others, lazy bits the rest.
See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.numeric.balls import ceiling, floor, settled, thin, trusted
from zcdp.samplers.lazy_inversion import Law, LazyTable, Real, rank
from zcdp.samplers.source import Source, bits, secure, words

__all__ = ["WIDEST", "DiscreteLaplaceNoise", "Geometric", "LowBits", "TwoSided"]


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


# Geometric variables: the high digits come from a table, and the low digits, independent of them, are nearly uniform.
#
# G has P(G >= g) = exp(-rate g). Write G = high 2^m + low: high is geometric at rate 2^m rate, and low is a geometric
# variable cut off at 2^m. See docs/theorems/geometric-digits.md.

HIGH = 6
"""The part above the low digits has a scale below 2^6: one table of 65536 cells then leaves few of them open."""

WIDEST = 44
"""With at most this many low bits, a draw beyond 64 bits has probability below exp(-2^12)."""


def tail_window(rate: arb) -> int:
    """Outcomes beyond this have probability below 2^-62 or so at this rate."""
    return ceiling(thin(44 / rate)) + 1


def split(rate: Real, *, first: int = 16) -> tuple[Real, LowBits | None]:
    """The rate of the high part, and the low part if there is one."""
    size = settled(lambda: floor(thin(1 / rate())))  # the scale: it only chooses how to split
    length = max(0, size.bit_length() - HIGH)
    return lambda: rate() * arb(2) ** length, LowBits(rate, length, first=first) if length else None


def attach(high: NDArray[Any], low: LowBits | None, source: Source) -> NDArray[Any]:
    """2^m high + low, or 2^m (high + 1) - 1 - low below zero, the low bits drawn here; in place.

    Raises OverflowError where int64 cannot hold it.
    """
    if low is None:
        return high
    if low.length > WIDEST:
        raise OverflowError(f"draws at scale about 2^{low.length + HIGH} do not fit in 64 bits")
    limit = 1 << (62 - low.length)  # one bit is left for a sum with a value
    if not (-limit <= int(high.min(initial=0)) and int(high.max(initial=0)) < limit):
        raise OverflowError(f"a draw at scale about 2^{low.length + HIGH} does not fit in 64 bits")
    flips = high.view(np.uint64) >> np.uint64(64 - low.length)  # all ones below zero, else none
    np.bitwise_xor(flips, low.draw(high.size, source), out=flips)
    high <<= low.length
    high |= flips.view(np.int64)
    return high


def attach_one(high: int, low: LowBits | None, source: Source) -> int:
    """The same for one Python integer."""
    if low is None:
        return high
    drawn = low.draw_one(source)
    return (high << low.length) + (drawn if high >= 0 else (1 << low.length) - 1 - drawn)


class Geometric:
    """P(G >= g) = exp(-rate g), g = 0, 1, 2, ...

    >>> bool((Geometric(lambda: arb(1) / 1000).draw(100) >= 0).all())
    True
    """

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        high, self.low = split(rate, first=first)
        last = settled(lambda: tail_window(high()))
        law = Law(lambda h: -(-high() * (h + 1)).expm1(), range(last), 0)
        self.high = LazyTable(law, first=first, second=second)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; raises OverflowError if one does not fit."""
        return attach(self.high.draw(count, source), self.low, source)

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        return attach_one(self.high.draw_one(source), self.low, source)


class TwoSided:
    """G with probability 1 - negative, else -1 - G, which is G with every bit flipped: G as above.

    >>> len(TwoSided(lambda: arb(1) / 1000, lambda: arb(1) / 2).draw(100))
    100
    """

    def __init__(self, rate: Real, negative: Real, *, first: int = 16, second: int = 62) -> None:
        high, self.low = split(rate, first=first)
        last = settled(lambda: tail_window(high()))

        def cdf(h: int) -> arb:
            """P(signed high part <= h): below 0 it is -1 - H."""
            if h < 0:
                return negative() * (high() * (h + 1)).exp()
            return negative() - (1 - negative()) * (-high() * (h + 1)).expm1()

        self.high = LazyTable(Law(cdf, range(-last, last)), first=first, second=second)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; as Python integers where 64 bits may not hold them."""
        if self.low and self.low.length > WIDEST:
            return np.array([self.draw_one(source) for _ in range(count)], dtype=object)
        return attach(self.high.draw(count, source), self.low, source)

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        return attach_one(self.high.draw_one(source), self.low, source)


# Discrete Laplace noise: P(X = x) = tanh(rate/2) exp(-rate |x|) on the integers.
#
# With G geometric, X is G with probability 1/(1 + e^-rate) and else -1 - G. See docs/theorems/geometric-digits.md.


class DiscreteLaplaceNoise(TwoSided):
    """The noise at a rate of 1/scale.

    >>> noise = DiscreteLaplaceNoise(lambda: arb(1) / 2)
    >>> noise.draw(1000).shape, type(noise.draw_one())
    ((1000,), <class 'int'>)
    """

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        def negative() -> arb:
            q = (-rate()).exp()
            return q / (1 + q)

        super().__init__(rate, negative, first=first, second=second)
