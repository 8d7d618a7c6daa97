"""Counts of reports that support each value, and the histogram of frequencies that is estimated from them.

`Counts` of blocks, days or machines add up. `Histogram` has estimates, standard errors and exact intervals, and
`Consistent` their projection to frequencies that sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadValue, MissingExtra
from zcdp.estimation.estimator import Estimator
from zcdp.numeric.exact import Value, probability
from zcdp.text.calls import spoken_class
from zcdp.text.notebook import shown

__all__ = ["Consistent", "Counts", "Estimate", "Histogram", "box_in_simplex", "project"]


@spoken_class
@dataclass(frozen=True, eq=False)
class Counts:
    """How many of `reports` reports support each value. Counts of the same design can be added.

    >>> day = Counts("RandomizedResponse(epsilon=1, k=3)", 6, [1, 2, 3])
    >>> (day + day).supports.tolist()
    [2, 4, 6]
    """

    design: str
    """The mechanism that made the reports, as text. Counts of another design cannot be added or estimated from."""

    reports: int
    supports: NDArray[Any]
    signed: bool = False
    """Whether a report may count against a value as well as for it, as in Hadamard response with several blocks."""

    def __init__(self, design: str, reports: int, supports: ArrayLike, *, signed: bool = False) -> None:
        array = np.asarray(supports)
        if array.ndim != 1 or array.size < 2 or array.dtype.kind not in "iu":
            raise BadValue("supports must be one whole number for each of at least 2 values")
        array = array.astype(np.int64)
        if reports < 0:
            raise BadValue(f"reports ({reports}) must not be negative")
        if not signed and int(array.min()) < 0:
            raise BadValue(f"supports must not be negative: value {int(array.argmin())} has {int(array.min())}")
        if int(np.abs(array).max()) > reports:
            raise BadValue(
                f"supports must be at most the number of reports ({reports}), not {int(np.abs(array).max())}"
            )
        array.flags.writeable = False
        for name, value in (("design", design), ("reports", int(reports)), ("supports", array), ("signed", signed)):
            object.__setattr__(self, name, value)

    @property
    def k(self) -> int:
        """The number of values."""
        return self.supports.size

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if (self.design, self.k) != (other.design, other.k):
            raise BadValue(
                f"counts of different designs do not add up: {self.design} of {self.k} values and "
                f"{other.design} of {other.k}"
            )
        return Counts(self.design, self.reports + other.reports, self.supports + other.supports, signed=self.signed)

    def __radd__(self, other: object) -> Counts:
        return self if other == 0 else NotImplemented  # for sum()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and (self.design, self.reports) == (other.design, other.reports)
            and np.array_equal(self.supports, other.supports)
        )

    __hash__ = None  # type: ignore[assignment]


# Turns raw estimates, which may be negative or not sum to 1, into a probability vector, and tightens their intervals.

Floats = NDArray[Any]


@dataclass(frozen=True)
class Consistent:
    """Frequencies that are at least 0 and sum to 1, with simultaneous intervals.

    These frequencies have no standard errors: the projection makes them biased. All intervals together contain the true
    frequencies with probability at least `level`, if every client's value is one of the k.
    """

    frequencies: Floats = field(repr=False)
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    level: float = 0.95
    possible: bool = True
    """False if no frequencies within the intervals sum to 1: the intervals miss, or the design is not the right one."""


def project(frequencies: Floats) -> Floats:
    """The nearest point of the probability simplex: a common amount is subtracted, and what falls below 0 becomes 0.

    >>> project(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(frequencies)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    nearest: Floats = np.maximum(frequencies - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
    return nearest


def box_in_simplex(lower: Floats, upper: Floats) -> tuple[Floats, Floats, bool]:
    """Simultaneous intervals, tightened by the fact that frequencies sum to 1; and whether that is possible.

    A lower end is at least 1 less the sum of the other upper ends, an upper end at most 1 less that of the others'
    lower ends. If no frequencies within the intervals sum to 1, the intervals are returned as they are.
    """
    room = 1e-12
    possible = bool(lower.sum() <= 1 + room and upper.sum() >= 1 - room)
    if not possible:
        return lower, upper, False
    # `room` is far more than the rounding error of a sum, and only widens the intervals.
    return (
        np.maximum(lower, 1 - (upper.sum() - upper) - room),
        np.minimum(upper, 1 - (lower.sum() - lower) + room),
        True,
    )


@dataclass(frozen=True, eq=False)
class Estimate:
    """What is estimated from counts of reports, of which there is at least one."""

    counts: Counts = field(repr=False)

    def __post_init__(self) -> None:
        if not self.counts.reports:
            raise BadValue("there are no reports: nothing can be estimated")

    @property
    def reports(self) -> int:
        """The number of reports received."""
        return self.counts.reports


# The estimated frequencies of k values, with standard errors, exact intervals and heavy hitters.


@spoken_class
@dataclass(frozen=True, eq=False)
class Histogram(Estimate):
    """Unbiased estimates of the frequency of each value, with standard errors and exact confidence intervals.

    Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.

    >>> from zcdp import UnaryEncoding
    >>> from zcdp.estimation.frequency_estimates import Counts
    >>> m = UnaryEncoding("3/4", "1/4")
    >>> h = m.estimate(Counts(repr(m), 100, [70, 30]))
    >>> h.frequencies.round(9).tolist(), h.interval(simultaneous=False)[0].tolist()
    ([0.9, 0.1], [0.73, 0.0])
    """

    estimator: Estimator = field(repr=False)

    def _repr_html_(self) -> str:
        """What a notebook shows: the most frequent values with their intervals."""
        return shown(self)

    @property
    def frequencies(self) -> Floats:
        """The estimated frequencies. They are unbiased, so some may be below 0, and they need not sum to 1."""
        return self.estimator.frequencies(self.counts.supports, self.reports)

    @property
    def standard_error(self) -> Floats:
        """The standard error of each estimate of a frequency among these clients, if the estimate were the truth."""
        return self.standard_error_of("clients")

    def standard_error_of(self, of: str) -> Floats:
        """The standard errors for frequencies among the "clients", or in the "population" that they are drawn from."""
        return self.estimator.standard_error(np.clip(self.frequencies, 0, 1), self.reports, of=of)

    def interval(self, level: Value = 0.95, *, simultaneous: bool = True, of: str = "clients") -> tuple[Floats, Floats]:
        """Lower and upper ends with coverage of at least `level`: of all values at once, or of each value separately.

        The coverage is guaranteed for every number of reports, not only approximately for many. See
        docs/theorems/intervals.md.
        """
        risk = float(1 - probability(level, "level"))
        risk = risk / self.frequencies.size if simultaneous else risk
        return self.estimator.interval(self.counts.supports.astype(float), self.reports, risk, of=of)

    def consistent(self, level: Value = 0.95, *, of: str = "clients") -> Consistent:
        """The nearest frequencies that are at least 0 and sum to 1, with simultaneous intervals tightened by that."""
        low, high = self.interval(level, of=of)
        lower, upper, possible = box_in_simplex(low, high)
        return Consistent(project(self.frequencies), lower, upper, float(probability(level, "level")), possible)

    def heavy(self, level: Value = 0.95, *, above: float = 0.0, of: str = "clients") -> NDArray[Any]:
        """Heavy hitters: the values whose lower ends are above a threshold, most frequent first.

        With probability at least `level` the frequency of every one of them is above the threshold.
        """
        low, _ = self.interval(level, of=of)
        found = np.flatnonzero(low > above)
        return found[np.argsort(-self.frequencies[found], kind="stable")]

    def plot(self, axes: Any = None, *, names: Sequence[str] | None = None, level: Value = 0.95, top: int = 20) -> Any:
        """The most frequent values as dots, with their simultaneous intervals, on matplotlib's axes (extra `plots`).

        `names` are those of the values 0 .. k-1. The axes are returned, so that they can be changed further.
        """
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError:
            raise MissingExtra("charts need matplotlib", extra="plots", name="matplotlib") from None
        if axes is None:
            _, axes = plt.subplots()
        frequencies, (low, high) = self.frequencies, self.interval(level)
        shown = np.argsort(-frequencies, kind="stable")[:top]
        rows = np.arange(shown.size)
        axes.hlines(rows, low[shown], high[shown])
        axes.plot(frequencies[shown], rows, "o")
        axes.set_yticks(rows, [names[n] if names else str(n) for n in shown.tolist()])
        axes.invert_yaxis()
        axes.set_xlim(left=min(0.0, float(frequencies[shown].min())))
        axes.set_xlabel(
            f"frequency; all {frequencies.size} intervals hold together at level {float(Fraction(str(level))):g}"
        )
        return axes
