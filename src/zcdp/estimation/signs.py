"""Estimates from sums of signs: Hadamard response with several blocks, where reports of other blocks say nothing.

Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.moments import moment_interval
from zcdp.estimation.support import checked

__all__ = ["BySigns"]

Floats = NDArray[Any]
LARGEST = 20.0


@dataclass(frozen=True)
class BySigns:
    """f = r D/n, D the sum of signs; a holder's sign has mean 1/r, and falls into the block with probability t."""

    r: float
    t: float

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates."""
        return np.asarray(counts / n * self.r)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies, where all values share the block: never less than the truth."""
        checked(of)
        spread = self.t * self.r**2 - (frequencies if of == "clients" else frequencies**2)
        return np.asarray(np.sqrt(spread / n))

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends, each wrong with probability at most risk/2."""
        checked(of)
        distinct, where = np.unique(counts, return_inverse=True)

        def excess(z: Floats, mean: float) -> tuple[Floats, Floats, Floats]:
            other, odd = 2 * self.t * np.sinh(z / 2) ** 2, np.sinh(z)
            return other + mean * odd, other, other + abs(mean) * odd

        low, high = moment_interval(
            distinct,
            n,
            risk,
            lambda z: excess(z, 1 / self.r),
            lambda z: excess(z, -1 / self.r),
            largest=LARGEST,
            guess=self.frequencies(distinct, n),
            whole=of == "clients",
        )
        return low[where], high[where]
