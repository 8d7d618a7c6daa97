"""k-ary randomized response: each value kept with some probability, else replaced by a uniform one of the k.

To tell the truth with probability e^epsilon/(e^epsilon + k - 1), keep it with probability
(e^epsilon - 1)/(e^epsilon - 1 + k): the uniform replacement is the truth with probability 1/k.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.samplers.bernoulli import Coin
from zcdp.samplers.lazy import Real
from zcdp.samplers.source import Source, blocks, secure
from zcdp.samplers.uniform import integers, one_below

__all__ = ["Response"]


class Response:
    """Randomized response on 0 .. k-1 at an exact epsilon.

    >>> Response(lambda: arb(100), 4).respond(np.array([1, 2, 3]))
    array([1, 2, 3])
    """

    def __init__(self, epsilon: Real, k: int, *, first: int = 16) -> None:
        def keep() -> arb:
            gain = -(-epsilon()).expm1()  # 1 - e^-epsilon: no ball overflows at a large epsilon
            return gain / (gain + k * (-epsilon()).exp())

        self._keep = Coin(keep, first=first)
        self._k = k

    def respond(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """One response for each of a one-dimensional array of values, in its type."""
        out = np.empty_like(values)
        for block in blocks(values.size):
            count = block.stop - block.start
            kept = self._keep.flips(count, source)
            fresh = integers(self._k, count, source).astype(values.dtype, copy=False)  # it holds k - 1
            keeps = np.negative(kept.view(np.int8)).astype(values.dtype)  # all bits or none: faster than a branch
            out[block] = fresh ^ ((fresh ^ values[block]) & keeps)
        return out

    def respond_one(self, value: int, source: Source = secure) -> int:
        """One response."""
        return value if self._keep.flip(source) else one_below(self._k, source)
