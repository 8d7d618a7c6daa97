"""Geometric variables: the high digits come from a table, and the low digits, independent of them, are nearly uniform.

G has P(G >= g) = exp(-rate g). Write G = high 2^m + low: high is geometric at rate 2^m rate, and low is a geometric
variable cut off at 2^m. See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import ceiling, floor
from zcdp.numeric.trusted import settled, thin
from zcdp.samplers.lazy import Real
from zcdp.samplers.low_bits import LowBits
from zcdp.samplers.source import Source, secure
from zcdp.samplers.table import Law, LazyTable

__all__ = ["WIDEST", "Geometric", "TwoSided"]

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
