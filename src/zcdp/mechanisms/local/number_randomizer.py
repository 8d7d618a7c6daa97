"""The base class of local randomizers of a bounded number: rounding to a grid, reports, and estimates of the mean."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.numeric.exact import Value, integer, rational

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.frequency_estimates import Counts
    from zcdp.estimation.number_estimates import NumberEstimate, Scores
    from zcdp.estimation.support import Support
    from zcdp.samplers.source import Source

__all__ = ["CollectsBounded", "bounds", "rounded"]


class CollectsBounded(CollectsNumbers):
    """A randomizer of a grid point 0 .. steps, whose report is one of finitely many cells.

    A cell has a *score*, whose mean is the grid point divided by `steps`, whatever that is.
    Theorem: docs/theorems/numbers.md.
    """

    steps: int

    @property
    def k(self) -> int:
        """The number of grid points."""
        return self.steps + 1

    @property
    @abstractmethod
    def _scores(self) -> Scores:
        """The score of each cell, and means over the report on each grid point, in floats."""

    @abstractmethod
    def _row(self, value: int) -> list[Fraction]:
        """How likely each cell is on an input."""

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002
        raise BadType("reports of a number support no values: they have scores")

    @property
    def support(self) -> Support:
        """Not available: reports of a number support no values."""
        raise BadType("reports of a number support no values: they have scores")

    def release(self, numbers: ArrayLike, *, low: Value = 0, high: Value = 1) -> NDArray[Any]:
        """One report, a cell from 0 on as int64, for each number of the range; numbers beyond it are refused.

        A number is rounded to a grid point next to it, up or down at random and without bias.

        >>> from zcdp import SquareWave
        >>> SquareWave(epsilon=1, steps=10, width=6).release([0, 60, 120], low=0, high=120).shape
        (3,)
        """
        from zcdp.samplers.source import secure

        return self._drawn(rounded(numbers, low, high, self.steps, secure), self.k, secure)

    def estimate(self, counts: Counts, *, low: Value = 0, high: Value = 1) -> NumberEstimate:  # type: ignore[override]
        """The mean of the clients' numbers, with exact intervals; `low` and `high` are the range of the numbers."""
        from zcdp.estimation.number_estimates import NumberEstimate

        self._own(counts)
        if counts.supports.size != self._outputs(self.k):
            raise BadValue(f"counts must be of {self._outputs(self.k)} cells, not {counts.supports.size}")
        ends = bounds(low, high)
        return NumberEstimate(counts, self._scores, float(ends[0]), float(ends[1]), self._rows)

    def _rows(self) -> list[list[Fraction]]:
        """How likely each cell is on each input: the whole channel."""
        return [self._row(value) for value in range(self.k)]

    def standard_error(  # type: ignore[override]
        self, *, clients: Value, mean: Value | None = None, low: Value = 0, high: Value = 1
    ) -> float:
        """The standard error of the mean from so many clients, who all hold this number; the worst one unless told.

        >>> from zcdp import SquareWave
        >>> SquareWave.piecewise(epsilon=1).standard_error(clients=10_000)
        0.01143...
        """
        ends, n = bounds(low, high), integer(clients, "clients", 1)
        reach = float(ends[1] - ends[0])
        if mean is None:
            return float(reach * self._scores.worst_deviation / n**0.5)
        place = (rational(mean, "mean") - ends[0]) / (ends[1] - ends[0])
        if not 0 <= place <= 1:
            raise BadValue(f"mean ({mean}) must lie between low ({low}) and high ({high})")
        return float(reach * self._scores.deviation(float(place)) / n**0.5)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        return self.release(np.zeros(size)), self.release(np.ones(size))


def bounds(low: Value, high: Value) -> tuple[Fraction, Fraction]:
    """The ends of a range, checked: low is below high."""
    ends = rational(low, "low"), rational(high, "high")
    if not ends[0] < ends[1]:
        raise BadValue(f"low ({low}) must be below high ({high})")
    return ends


def rounded(numbers: ArrayLike, low: Value, high: Value, steps: int, source: Source) -> NDArray[Any]:
    """Grid points 0 .. steps of numbers in a range: each is rounded up or down at random, without bias.

    Privacy does not rest on this rounding, which is done before a report is drawn; its bias is below 2^-50 steps.

    >>> from zcdp.samplers.source import secure
    >>> rounded([-1, 0.5, 2], -1, 2, 6, secure).tolist()
    [0, 3, 6]
    """
    import numpy as np

    from zcdp.samplers.run_samplers import plain_array
    from zcdp.samplers.source import words

    ends = bounds(low, high)
    array = np.atleast_1d(plain_array(numbers, "numbers"))
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise BadType("numbers must be one row of real numbers")
    array = array.astype(np.float64)
    if array.size and not (array.min() >= float(ends[0]) and array.max() <= float(ends[1])):
        raise BadValue(f"numbers must lie between low ({low}) and high ({high}): clip them first")
    place = np.clip((array - float(ends[0])) / float(ends[1] - ends[0]) * steps, 0, steps)
    floor = np.minimum(np.floor(place), steps - 1)
    uniform = (words(array.size, np.uint64, source) >> np.uint64(11)) * 2.0**-53
    return (floor + (uniform < place - floor)).astype(np.int64)
