"""Estimates from sums of signs: Hadamard response with several blocks, where reports of other blocks say nothing.

Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.inversion import crossing
from zcdp.estimation.support import checked

__all__ = ["BySigns"]

Floats = NDArray[Any]
STEPS, LARGEST = 60, 20.0


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
        whole = of == "clients"
        unit = n if whole else 1
        top = np.full(counts.size, float(unit))
        gap = 1.0 if whole else max(1e-5 * self.r * float(np.sqrt(self.t / n)), 1e-15)
        guess = np.clip(self.frequencies(counts, n), 0, 1) * unit

        def at_least(which: NDArray[Any], holders: Floats) -> Floats:
            return self._bound(counts[which], holders / unit, n, 1 / self.r, mixed=not whole)

        def at_most(which: NDArray[Any], others: Floats) -> Floats:
            return self._bound(-counts[which], 1 - others / unit, n, -1 / self.r, mixed=not whole)

        outside, lower = crossing(at_least, risk / 2, top, gap, guess)
        beyond, fewest = crossing(at_most, risk / 2, top, gap, unit - guess)
        return (lower / n, (n - fewest) / n) if whole else (outside, 1 - beyond)

    def _bound(self, d: Floats, share: Floats, n: int, mean: float, *, mixed: bool) -> Floats:
        """On P[D >= d], D the sum of n signs of which a share has this mean: the least moment bound that is found."""
        low, high = np.zeros(d.size), np.full(d.size, LARGEST)
        for _ in range(STEPS):
            third = (high - low) / 3
            left = self._log_moment(low + third, d, share, n, mean, mixed=mixed)
            right = self._log_moment(high - third, d, share, n, mean, mixed=mixed)
            low, high = np.where(left > right, low + third, low), np.where(left > right, high, high - third)
        bound: Floats = np.exp(np.minimum(self._log_moment(low, d, share, n, mean, mixed=mixed), 0.0))
        return bound

    def _log_moment(self, z: Floats, d: Floats, share: Floats, n: int, mean: float, *, mixed: bool) -> Floats:
        """log of e^{-zd} E e^{zD}: of clients of whom a share holds the value, or who are drawn to hold it."""
        others = 2 * self.t * np.sinh(z / 2) ** 2
        holders = others + mean * np.sinh(z)
        if mixed:
            return np.asarray(n * np.log1p(others + share * mean * np.sinh(z)) - z * d)
        return np.asarray(n * (share * np.log1p(holders) + (1 - share) * np.log1p(others)) - z * d)
