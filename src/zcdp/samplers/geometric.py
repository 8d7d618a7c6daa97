"""Geometric digits: the digits of a geometric variable are independent, so each comes from a small table of its own.

G has P(G >= g) = exp(-rate g). Write G = high 2^m + low: high is geometric at rate 2^m rate, and each block of low bits
is a geometric variable cut off at its width. See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, ceiling
from zcdp.samplers.lazy import Real
from zcdp.samplers.nearly_uniform import NearlyUniform
from zcdp.samplers.source import Source
from zcdp.samplers.table import Law, LazyTable

__all__ = ["Digits", "Geometric", "tail_window"]

WIDTH = 8
"""Bits in a low digit: a table of 65536 cells then leaves 255 of them open."""


HIGH = 6
"""The part above the low digits has a scale below 2^6: one table of 65536 cells then leaves few of them open."""


WIDEST = 44
"""With at most this many low bits, a draw beyond 64 bits has probability below exp(-2^12)."""


class _Digit(NamedTuple):
    offset: int
    table: LazyTable


def tail_window(rate: arb) -> int:
    """Outcomes beyond this have probability below 2^-62 or so at this rate."""
    return ceiling(44 / rate) + 1


class Digits:
    """The low `length` bits of a geometric variable, and the rate that is left for what is above them."""

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        size = at_precision(64, lambda: ceiling(1 / rate()))  # the scale: it only chooses how to split
        self.length = max(0, size.bit_length() - HIGH)
        self.rate: Real = lambda: rate() * arb(2) ** self.length
        self._digits = []
        lowest = min(32, size.bit_length() - 18)  # bits so slow that they are nearly uniform
        self._lowest = NearlyUniform(rate, lowest, first=first) if lowest > WIDTH else None
        end = lowest if self._lowest else 0
        for offset in range(self.length, end, -WIDTH):
            start = max(end, offset - WIDTH)
            law = _digit_law(rate, start, offset - start)
            self._digits.append(_Digit(start, LazyTable(law, first=first, second=second)))

    def __len__(self) -> int:
        return len(self._digits)

    def add_to(self, drawn: NDArray[Any], source: Source) -> None:
        """Draw low bits for each of `drawn`, whose low bits are zero, in place."""
        for offset, table in self._digits:
            digit = table.draw(drawn.size, source)
            digit <<= offset
            drawn |= digit
        if self._lowest is not None:
            drawn |= self._lowest.draw(drawn.size, source)

    def draw_one(self, cells: memoryview, source: Source) -> int:
        """One draw, its first bits given: 16 for each digit."""
        low = 0 if self._lowest is None else self._lowest.draw_one(source)
        for n, (offset, table) in enumerate(self._digits):
            low |= table.draw_from(cells[n], source) << offset
        return low


def _digit_law(rate: Real, offset: int, width: int) -> Law:
    """P(digit <= d) = (1 - e^{-r (d+1)})/(1 - e^{-r 2^width}), r = rate 2^offset, on 0 .. 2^width - 1."""
    last = (1 << width) - 1

    def cdf(d: int) -> arb:
        r = rate() * arb(2) ** offset
        return (-r * (d + 1)).expm1() / (-r * (last + 1)).expm1()

    return Law(cdf, range(last + 1), 0, last)


class Geometric:
    """P(G >= g) = exp(-rate g), g = 0, 1, 2, ...

    >>> from zcdp.samplers.source import secure
    >>> bool((Geometric(lambda: arb(1) / 1000).draw(100, secure) >= 0).all())
    True
    """

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        self._low = Digits(rate, first=first, second=second)
        high = self._low.rate
        last = at_precision(64, lambda: tail_window(high()))
        law = Law(lambda h: -(-high() * (h + 1)).expm1(), range(last), 0)
        self._high = LazyTable(law, first=first, second=second)
        self.length = self._low.length

    def draw(self, count: int, source: Source) -> NDArray[Any]:
        """`count` independent draws as int64; raises OverflowError if one does not fit."""
        return attach(self._high.draw(count, source), self._low, source)

    def draw_one(self, source: Source) -> int:
        """One draw, as a Python integer of any size."""
        cells = memoryview(source(2 * (1 + len(self._low)))).cast("H")
        return self._high.draw_from(cells[0], source) << self.length | self._low.draw_one(cells[1:], source)


def attach(high: NDArray[Any], digits: Digits, source: Source) -> NDArray[Any]:
    """high 2^m + low, the low digits drawn here, in place; raises OverflowError where int64 cannot hold it."""
    if not digits.length:
        return high
    if digits.length > WIDEST:
        raise OverflowError(f"draws at scale about 2^{digits.length + HIGH} do not fit in 64 bits")
    limit = 1 << (63 - digits.length)
    if not (-limit <= int(high.min(initial=0)) and int(high.max(initial=0)) < limit):
        raise OverflowError(f"a draw at scale about 2^{digits.length + HIGH} does not fit in 64 bits")
    high <<= digits.length
    digits.add_to(high, source)
    return high
