"""Discrete Gaussian noise: P(X = x) proportional to exp(-x^2/(2 variance)) on the integers.

For sigma below 1024 it is drawn from a table, by lazy inversion. Beyond, by rejection from discrete Laplace noise
(Canonne, Kamath and Steinke 2020, Algorithm 3): y of scale t = floor(sigma) + 1 is kept with probability
exp(-(|y| - variance/t)^2/(2 variance)). See docs/theorems/exponential-coins.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from zcdp.numeric.balls import Undecided, lift, thin
from zcdp.samplers.coins import coin, coins, flip_exp
from zcdp.samplers.geometric import DiscreteLaplaceNoise
from zcdp.samplers.lazy_inversion import Law, LazyTable
from zcdp.samplers.source import BLOCK, Source, secure

__all__ = ["DiscreteGaussianNoise"]


LARGEST_TABLED_SIGMA = 1 << 10  # below this sigma a table is used
LARGEST_FLOAT_SIGMA = 1 << 40  # up to this sigma nearly all coins of the rejection are decided in floats


class DiscreteGaussianNoise:
    """Discrete Gaussian noise with a rational parameter `variance`, sigma^2.

    `first`, `second` and `tabled` force rare branches in tests.

    >>> DiscreteGaussianNoise(Fraction(1, 1000)).draw_one()
    0
    """

    def __init__(self, variance: Fraction, *, first: int = 16, second: int = 62, tabled: bool | None = None) -> None:
        self._variance = variance
        sigma = isqrt(int(variance))
        self._table: LazyTable | None = None
        if sigma < LARGEST_TABLED_SIGMA if tabled is None else tabled:
            reach = 10 * sigma + 12  # 2^-62 is 9.1 standard deviations out
            law = Law(self._cdf, range(-reach, reach), cdfs=self._cdfs)
            self._table = LazyTable(law, first=first, second=second)
        else:
            self._width = sigma + 1
            # For sigma up to 2^40 the exponent in floats has an error far below a cell of the coins.
            if self._width <= LARGEST_FLOAT_SIGMA:
                self._centre, self._factor = float(variance / self._width), float(1 / (2 * variance))
            self._laplace = DiscreteLaplaceNoise(lambda: arb(1) / self._width, first=first, second=second)

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64; as Python integers for a sigma of 2^40 or more."""
        if self._table is not None:
            return self._table.draw(count, source)
        if self._width > LARGEST_FLOAT_SIGMA:
            return np.array([self.draw_one(source) for _ in range(count)], dtype=object)
        out, filled = np.empty(count, dtype=np.int64), 0
        while filled < count:
            kept = self._kept(min(count - filled + 64, BLOCK), source)[: count - filled]
            out[filled : filled + kept.size] = kept
            filled += kept.size
        return out

    def _kept(self, proposals: int, source: Source) -> NDArray[Any]:
        """The draws that are kept of `proposals` draws of discrete Laplace noise."""
        drawn = self._laplace.draw(proposals, source)
        exponents = (np.abs(drawn).astype(np.float64) - self._centre) ** 2 * self._factor
        heads = coins(exponents, lambda n: self._exponent(int(drawn[n])), source)
        kept: NDArray[Any] = drawn[heads]
        return kept

    def _exponent(self, drawn: int) -> Fraction:
        return (abs(drawn) - self._variance / self._width) ** 2 / (2 * self._variance)

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""
        if self._table is not None:
            return self._table.draw_one(source)
        while True:
            drawn = self._laplace.draw_one(source)
            if self._width <= LARGEST_FLOAT_SIGMA:
                kept = coin((abs(drawn) - self._centre) ** 2 * self._factor, lambda d=drawn: self._exponent(d), source)  # type: ignore[misc]
            else:
                kept = flip_exp(self._exponent(drawn), source)
            if kept:
                return drawn

    def _cdf(self, k: int) -> arb:
        return self._cdfs(range(k, k + 1))[0]

    def _cdfs(self, outcomes: range) -> list[arb]:
        """Balls around P(X <= k) for each outcome k, from sums of the upper tail and symmetry."""
        nearly = isqrt(int(2 * self._variance * ctx.prec)) + 1  # beyond it the terms are below 2^-prec
        far = max(nearly, -outcomes[0], outcomes[-1] + 1)
        sums = _tail_sums(self._variance, far, ctx.prec)
        try:
            mass = thin(1 + 2 * sums[-1])
        except Undecided:  # wide balls must not stay in the cache
            _tail_sums.cache_clear()
            raise
        return [1 - sums[far - k] / mass if k >= 0 else sums[far + k + 1] / mass for k in outcomes]


@lru_cache(maxsize=8)
def _tail_sums(variance: Fraction, far: int, bits: int) -> list[arb]:
    """Balls around the sums of exp(-x^2/(2 variance)) over x > n, for n = far, far - 1, ..., 0.

    `bits` is the working precision, which is part of the cache's key.

    The sum beyond `far` lies between 0 and the integral, which is below (variance/far) exp(-far^2/(2 variance)).
    """
    if ctx.prec != bits:  # another thread may have changed it: nothing less precise must be cached for these bits
        raise Undecided
    half = -1 / (2 * lift(variance))
    tail = (half * far * far).exp() * lift(variance) / far
    sums = [tail.union(arb(0))]
    for x in range(far, 0, -1):
        sums.append(sums[-1] + (half * x * x).exp())
    return sums
