"""Discrete Laplace noise: P(X = x) = tanh(rate/2) exp(-rate |x|) on the integers.

With G geometric, X is G with probability 1/(1 + e^-rate) and else -1 - G, which is G with every bit flipped: so sign
and high digits come from one table, and the low digits are flipped with the sign.
See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision
from zcdp.samplers.geometric import WIDEST, Digits, attach, tail_window
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import Source, secure
from zcdp.samplers.table import Law, LazyTable

__all__ = ["DiscreteLaplaceNoise"]


class DiscreteLaplaceNoise:
    """The noise at a rate of 1/scale.

    >>> noise = DiscreteLaplaceNoise(lambda: arb(1) / 2)
    >>> noise.draw(1000).shape, type(noise.draw_one())
    ((1000,), <class 'int'>)
    """

    def __init__(self, rate: Real, *, first: int = 16, second: int = 62) -> None:
        self._low = Digits(rate, first=first, second=second)
        high = self._low.rate
        last = at_precision(64, lambda: tail_window(high()))

        def cdf(h: int) -> arb:
            """P(signed high part <= h): below 0 it is -1 - H."""
            q = (-rate()).exp()
            negative = q / (1 + q)
            if h < 0:
                return negative * (high() * (h + 1)).exp()
            return negative - (1 - negative) * (-high() * (h + 1)).expm1()

        self._high = LazyTable(Law(cdf, range(-last, last)), first=first, second=second)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64, a block at most; as Python integers where 64 bits may not hold them."""
        if self._low.length > WIDEST:
            return np.array([self.draw_one(source) for _ in range(count)], dtype=object)
        high = self._high.draw(count, source)
        if not self._low.length:
            return high
        sign = high >> 63
        high ^= sign
        high = attach(high, self._low, source)
        high ^= sign
        return high

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        cells = memoryview(source(2 + 2 * len(self._low))).cast("H")
        high = self._high.draw_from(cells[0], source)
        if not self._low.length:
            return high
        low = self._low.draw_one(cells[1:], source)
        if high < 0:
            return ~((~high) << self._low.length | low)
        return high << self._low.length | low
