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

__all__ = ["BySupport", "ByTwoSupports", "Estimator"]

Floats = NDArray[Any]


class Estimator(Protocol):
    """What a histogram needs to know of the mechanism."""

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates."""

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies."""

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""


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
        distinct, where = np.unique(counts, return_inverse=True)
        if of == "population":
            low, high = population_interval(distinct, n, self.support, risk)
        else:
            low, high = (end / n for end in clients_interval(distinct, n, self.support, risk))
        return low[where], high[where]


@dataclass(frozen=True)
class ByTwoSupports:
    """Two values, 0 and 1, that are not supported alike: each by its own probabilities."""

    zero: Support
    one: Support

    def _each(self) -> tuple[BySupport, BySupport]:
        return BySupport(self.zero), BySupport(self.one)

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates, which sum to 1."""
        return np.concatenate([part.frequencies(counts[v : v + 1], n) for v, part in enumerate(self._each())])

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies; of one frequency alone, that of value 1."""
        if frequencies.size == 1:
            return BySupport(self.one).standard_error(frequencies, n, of=of)
        parts = [part.standard_error(frequencies[v : v + 1], n, of=of) for v, part in enumerate(self._each())]
        return np.concatenate(parts)

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""
        ends = [part.interval(counts[v : v + 1], n, risk, of=of) for v, part in enumerate(self._each())]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])
