"""Coins: Bernoulli(p) for rational p, for exp(-x), and for any p with a ball around it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import ceiling, floor, lift
from zcdp.numeric.trusted import settled, thin
from zcdp.samplers.lazy import Real, rank
from zcdp.samplers.source import Source, words
from zcdp.samplers.uniform import one_below

__all__ = ["Coin", "flip_exp", "flip_rational"]


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
