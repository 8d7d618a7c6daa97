"""Any continuous noise on a grid: round(value + Z), drawn by lazy inversion of the law of the rounded sum.

P(round(v + Z) <= step k) = F(step (k + 1/2) - v), F the distribution function of Z: one ball decides each comparison,
a float proposes where to look. See docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log
from statistics import NormalDist
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, lift
from zcdp.samplers.grid import Grid
from zcdp.samplers.lazy import Real, invert
from zcdp.samplers.source import Source, secure

__all__ = ["GridNoise", "gaussian_on_grid", "logistic_on_grid"]


class GridNoise:
    """round(value + scale Z) to multiples of `step`, halves up, for standard noise Z with a distribution function.

    >>> gaussian_on_grid(Fraction(1), Fraction(1, 4)).release_one(41.3) % 0.25
    0.0
    """

    def __init__(
        self, cdf: Callable[[arb], arb], quantile: Callable[[float], float], rate: Real, step: Fraction
    ) -> None:
        self._cdf, self._quantile, self._rate = cdf, quantile, rate
        self._grid = Grid(step, refine=1)
        self._step = float(step)
        self._known: dict[int, tuple[arb, arb]] = {}
        self._scale = at_precision(64, lambda: float((1 / (rate() * lift(step))).mid()))  # in steps, for the proposal

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One rounded noisy value."""
        return self._grid.point(self._draw(value, source))

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One rounded noisy value for each of a one-dimensional array of values."""
        checked = self._grid.check(values)
        drawn = [self.release_one(value, source) for value in checked.tolist()]
        return np.array(drawn, dtype=np.float64)

    def _draw(self, value: float | Fraction, source: Source) -> int:
        top, bottom = value.as_integer_ratio()
        centre = top / bottom / self._step

        def cdf(k: int) -> arb:
            rate, step = self._at(ctx.prec)
            return self._cdf(rate * (step * (2 * k + 1) / 2 - arb(top) / bottom))

        def guess(u: float) -> int:
            return round(centre + self._scale * self._quantile(min(max(u, 1e-300), 1 - 2.0**-53)))

        return invert(cdf, source, guess=guess)

    def _at(self, bits: int) -> tuple[arb, arb]:
        """Balls around rate and step at this working precision, kept for the next draw."""
        if (known := self._known.get(bits)) is None:
            known = self._known[bits] = (self._rate(), lift(self._grid.step))
        return known


def logistic_on_grid(rate: Real, step: Fraction) -> GridNoise:
    """Logistic noise of scale 1/rate: F(x) = 1/(1 + e^-x)."""
    return GridNoise(lambda x: 1 / (1 + (-x).exp()), lambda u: log(u / (1 - u)), rate, step)


def gaussian_on_grid(variance: Fraction, step: Fraction) -> GridNoise:
    """Gaussian noise of a rational variance: F(x) = erfc(-x/sqrt 2)/2."""
    normal = NormalDist()
    return GridNoise(
        lambda x: (-x / arb(2).sqrt()).erfc() / 2,
        normal.inv_cdf,
        lambda: 1 / lift(variance).sqrt(),
        step,
    )
