"""Discrete Laplace noise: P(X = x) = tanh(rate/2) exp(-rate |x|) on the integers.

With G geometric, X is G with probability 1/(1 + e^-rate) and else -1 - G. See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from flint import arb

from zcdp.samplers.geometric import TwoSided
from zcdp.samplers.lazy import Real

__all__ = ["DiscreteLaplaceNoise"]


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
