"""Exact geometric and discrete Laplace variables at any scale: high digits from a table, low digits by rejection.

The high and the low binary digits of a geometric variable are independent. The low digits L have P(L = l) proportional
to exp(-rate l) on 0 .. 2^length - 1, where rate 2^length is at most 1/32: uniform bits l are kept with probability
exp(-rate l), which is nearly 1. The first bits of this coin keep nearly every proposal, whatever l is; a cubic in
floats decides nearly all others, and balls with more bits the rest. See docs/theorems/geometric-digits.md.
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

__all__ = ["MOST_LOW_BITS", "DiscreteLaplaceNoise", "Geometric", "LowBits", "TwoSided"]


CUBIC_MARGIN = 2.0**-40
"""Far more than the rounding error of the cubic in floats."""


class LowBits:
    """The low `length` binary digits of a geometric variable of this rate. Arrays are drawn for a length up to 48.

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
        # One random word holds the first bits of the coin, at least 8, and below them the proposal.
        self._word = next((word for word in (np.uint16, np.uint32) if length + 8 <= 8 * word().itemsize), np.uint64)
        self._coin = 8 * self._word().itemsize - length  # bits of the coin in the word
        self._sure = self._surely_kept(first, self._coin)
        self._sure_one = self._surely_kept(first, 16)

    def _surely_kept(self, first: int, count: int) -> int:
        """A coin whose first `count` bits are below this integer keeps every proposal; only `first` bits are used."""
        if count <= 0:
            return 0  # a word has no room for the coin: no arrays are drawn
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
        """The proposals that are kept, and new draws for the others; `coin` has the first bits of the coins."""
        coin = coin.astype(np.uint64) << np.uint64(16) | words(coin.size, np.uint16, source)
        known = self._coin + 16
        t, scale = low * self._near, 2.0**-known
        top = 1 - t + t * t / 2  # e^-t lies between top - t^3/6 and top
        kept = (coin + 1.0) * scale < top - t * t * t / 6 - CUBIC_MARGIN
        unknown = ~kept & (coin * scale < top + CUBIC_MARGIN)
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


# Geometric variables: the high digits come from a lazy table, the low digits from `LowBits`.
#
# G has P(G >= g) = exp(-rate g). Write G = high 2^m + low: high is geometric at rate 2^m rate, and low, independent of
# it, is a geometric variable conditioned to lie below 2^m. See docs/theorems/geometric-digits.md.

HIGH_BITS = 6
"""The high part has a scale below 2^6: a table of 65536 cells then leaves few of them open."""

MOST_LOW_BITS = 44
"""Arrays of int64 have at most this many low bits: a draw that does not fit then has probability below exp(-2^12)."""


def tail_window(rate: arb) -> int:
    """An integer beyond which a geometric variable of this rate falls with probability of at most about 2^-62."""
    return ceiling(thin(44 / rate)) + 1


def split(rate: Real, *, first: int = 16) -> tuple[Real, LowBits | None]:
    """The rate of the high part, and the sampler of the low part; None if the scale is so small that all is high."""
    size = settled(lambda: floor(thin(1 / rate())))  # about the scale: it only decides how many digits are low
    length = max(0, size.bit_length() - HIGH_BITS)
    return lambda: rate() * arb(2) ** length, LowBits(rate, length, first=first) if length else None


def attach(high: NDArray[Any], low: LowBits | None, source: Source) -> NDArray[Any]:
    """2^m high + low, or 2^m (high + 1) - 1 - low for a negative high; draws the m low bits and writes into `high`.

    Raises OverflowError if a result does not fit in int64.
    """
    if low is None:
        return high
    if low.length > MOST_LOW_BITS:
        raise OverflowError(f"draws at scale about 2^{low.length + HIGH_BITS} do not fit in 64 bits")
    limit = 1 << (62 - low.length)  # leaves one bit for the sum with a value
    if not (-limit <= int(high.min(initial=0)) and int(high.max(initial=0)) < limit):
        raise OverflowError(f"a draw at scale about 2^{low.length + HIGH_BITS} does not fit in 64 bits")
    flips = high.view(np.uint64) >> np.uint64(64 - low.length)  # m ones for a negative high, else 0
    np.bitwise_xor(flips, low.draw(high.size, source), out=flips)
    high <<= low.length
    high |= flips.view(np.int64)
    return high


def attach_one(high: int, low: LowBits | None, source: Source) -> int:
    """`attach` for one Python integer, of any size."""
    if low is None:
        return high
    drawn = low.draw_one(source)
    return (high << low.length) + (drawn if high >= 0 else (1 << low.length) - 1 - drawn)


class Geometric:
    """Geometric variables G: P(G >= g) = exp(-rate g) for g = 0, 1, 2, ...

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
    """Two-sided variables: G with probability 1 - negative, else -1 - G, where G is `Geometric` at this rate.

    In two's complement -1 - G is G with every bit flipped.

    >>> len(TwoSided(lambda: arb(1) / 1000, lambda: arb(1) / 2).draw(100))
    100
    """

    def __init__(self, rate: Real, negative: Real, *, first: int = 16, second: int = 62) -> None:
        high, self.low = split(rate, first=first)
        last = settled(lambda: tail_window(high()))

        def cdf(h: int) -> arb:
            """P(signed high part <= h), where the signed high part is H or -1 - H."""
            if h < 0:
                return negative() * (high() * (h + 1)).exp()
            return negative() - (1 - negative()) * (-high() * (h + 1)).expm1()

        self.high = LazyTable(Law(cdf, range(-last, last)), first=first, second=second)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; as Python integers where 64 bits may not hold them."""
        if self.low and self.low.length > MOST_LOW_BITS:
            return np.array([self.draw_one(source) for _ in range(count)], dtype=object)
        return attach(self.high.draw(count, source), self.low, source)

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        return attach_one(self.high.draw_one(source), self.low, source)


# Discrete Laplace noise: P(X = x) = tanh(rate/2) exp(-rate |x|) on the integers.
#
# With G geometric, X is G with probability 1/(1 + e^-rate) and else -1 - G. See docs/theorems/geometric-digits.md.


class DiscreteLaplaceNoise(TwoSided):
    """Discrete Laplace noise; the rate is 1/scale.

    >>> noise = DiscreteLaplaceNoise(lambda: arb(1) / 2)
    >>> noise.draw(1000).shape, type(noise.draw_one())
    ((1000,), <class 'int'>)
    """

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        def negative() -> arb:
            q = (-rate()).exp()
            return q / (1 + q)

        super().__init__(rate, negative, first=first, second=second)
