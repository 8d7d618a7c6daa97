"""The estimator of a frequency from supports: unbiased, with its standard error and its exact intervals.

Theorem: docs/theorems/estimator.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.intervals import clients_interval, population_interval
from zcdp.estimation.support import Support, checked

__all__ = ["BySupport", "Estimator"]

Floats = NDArray[Any]


class Estimator(Protocol):
    """What a histogram needs to know of the mechanism."""

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates."""

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies."""

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends, each wrong with probability at most risk/2."""


@dataclass(frozen=True)
class BySupport:
    """f = (c/n - q)/(p - q)."""

    support: Support

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates."""
        return np.asarray((counts / n - self.support.q) / self.support.gain)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies."""
        return np.array([self.support.standard_error(n, float(f), of=of) for f in frequencies])

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends, each wrong with probability at most risk/2."""
        checked(of)
        if of == "population":
            return population_interval(counts, n, self.support, risk)
        low, high = clients_interval(counts, n, self.support, risk)
        return low / n, high / n
