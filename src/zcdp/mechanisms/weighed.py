"""Running a channel on values, and estimating how often each came: outputs are weighed, one weight for each input."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.collected import CollectsNumbers, FractionOrBall
from zcdp.numeric.balls import lift
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.counts import Counts
    from zcdp.estimation.estimator import Estimator
    from zcdp.estimation.histogram import Histogram
    from zcdp.estimation.support import Support
    from zcdp.samplers.source import Source
    from zcdp.samplers.table import LazyTable

__all__ = ["Weighed"]

Row = tuple[Fraction, ...]


class Weighed(CollectsNumbers):
    """Row x of a matrix is the law of the report of a client who holds x. Theorem: docs/theorems/estimator.md."""

    rows: tuple[Row, ...]

    @property
    def k(self) -> int:
        """The number of inputs."""
        return len(self.rows)

    @cached_property
    def _laws(self) -> tuple[Row, ...]:
        """The rows divided by their exact sums: what is certified, and what is drawn."""
        return tuple(tuple(entry / sum(row) for entry in row) for row in self.rows)

    def release(self, values: ArrayLike) -> Any:
        """An output for each input, as int64."""
        import numpy as np

        from zcdp.samplers.release import each
        from zcdp.samplers.source import secure

        def many(inputs: NDArray[Any]) -> NDArray[Any]:
            return self._drawn(inputs, self.k, secure)

        return each(lambda x: int(many(np.array([x]))[0]), many, values, self.k)

    @cached_property
    def _tables(self) -> tuple[LazyTable, ...]:
        from zcdp.samplers.table import Law, LazyTable

        def table(row: Row) -> LazyTable:
            last = max(y for y, entry in enumerate(row) if entry)
            steps = list(accumulate(row))
            return LazyTable(Law(lambda y: lift(steps[min(max(y, 0), last)]), range(last + 1), 0, last))

        return tuple(map(table, self._laws))

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        import numpy as np

        out = np.empty(values.size, dtype=np.int64)
        for x in range(k):
            places = np.flatnonzero(values == x)
            if places.size:
                out[places] = self._tables[x].draw(places.size, source)
        return out

    def _outputs(self, k: int) -> int:  # noqa: ARG002 - it has its own
        return len(self.rows[0])

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002
        raise BadType("reports of a channel support no values: they are weighed")

    @property
    def support(self) -> Support:
        """Channels have none: each output has a weight for each input instead."""
        raise BadType("reports of a channel support no values: they are weighed")

    @cached_property
    def weights(self) -> list[list[Fraction]]:
        """What each output adds to the estimate of each input: exact, and unbiased.

        Theorem: docs/theorems/estimator.md.
        """
        from zcdp.estimation.weights import unbiased_weights

        return unbiased_weights(self._laws)

    @cached_property
    def _estimator(self) -> Estimator:
        import numpy as np

        from zcdp.estimation.weights import ByWeights

        return ByWeights(
            *(np.array([list(map(float, row)) for row in matrix]) for matrix in (self._laws, self.weights))
        )

    def estimate(self, counts: Counts) -> Histogram:
        """The frequencies of the inputs, with standard errors and intervals; counts are of the outputs."""
        from zcdp.estimation.histogram import Histogram

        self._own(counts)
        if counts.k != self._outputs(self.k):
            raise BadValue(f"counts must be of the {self._outputs(self.k)} outputs, not of {counts.k}")
        return Histogram(counts, self._estimator)
