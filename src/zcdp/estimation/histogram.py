"""Estimated frequencies of k values: points, standard errors, exact intervals, what is certainly there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.display.calls import Spoken
from zcdp.errors import BadValue
from zcdp.estimation.counts import Counts
from zcdp.estimation.estimator import Estimator
from zcdp.estimation.simplex import Consistent, box_in_simplex, project
from zcdp.numeric.exact import Value, probability

__all__ = ["Histogram"]

Floats = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Histogram(metaclass=Spoken):
    """Unbiased estimates of how often each value is held.

    Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.

    >>> from zcdp import UnaryEncoding
    >>> from zcdp.estimation.counts import Counts
    >>> m = UnaryEncoding("3/4", "1/4")
    >>> h = m.estimate(Counts(repr(m), 100, [70, 30]))
    >>> h.frequencies.round(9).tolist(), h.interval(simultaneous=False)[0].tolist()
    ([0.9, 0.1], [0.73, 0.0])
    """

    counts: Counts = field(repr=False)
    estimator: Estimator = field(repr=False)

    def __post_init__(self) -> None:
        if not self.counts.reports:
            raise BadValue("there are no reports: nothing can be estimated")

    @property
    def reports(self) -> int:
        """How many were received."""
        return self.counts.reports

    @property
    def frequencies(self) -> Floats:
        """The estimates: unbiased, so some may be below 0, and they need not sum to 1."""
        return self.estimator.frequencies(self.counts.supports, self.reports)

    @property
    def standard_error(self) -> Floats:
        """Of each estimate as one of the share among these clients, at the estimate itself."""
        return self.standard_error_of("clients")

    def standard_error_of(self, of: str) -> Floats:
        """The same of the share among the "clients", or in the "population" that they are drawn from."""
        return self.estimator.standard_error(np.clip(self.frequencies, 0, 1), self.reports, of=of)

    def interval(self, level: Value = 0.95, *, simultaneous: bool = True, of: str = "clients") -> tuple[Floats, Floats]:
        """Lower and upper ends that hold with probability at least `level`: all together, or each for itself.

        Exact whatever the counts are; see docs/theorems/intervals.md.
        """
        risk = float(1 - probability(level, "level"))
        risk = risk / self.frequencies.size if simultaneous else risk
        return self.estimator.interval(self.counts.supports.astype(float), self.reports, risk, of=of)

    def consistent(self, level: Value = 0.95, *, of: str = "clients") -> Consistent:
        """The nearest frequencies that sum to 1, with what the simultaneous intervals leave of the simplex."""
        low, high = self.interval(level, of=of)
        lower, upper, possible = box_in_simplex(low, high)
        return Consistent(project(self.frequencies), lower, upper, float(probability(level, "level")), possible)

    def heavy(self, level: Value = 0.95, *, above: float = 0.0, of: str = "clients") -> NDArray[Any]:
        """The values whose frequency is above a threshold, most frequent first: wrong about any only at the risk."""
        low, _ = self.interval(level, of=of)
        found = np.flatnonzero(low > above)
        return found[np.argsort(-self.frequencies[found], kind="stable")]
