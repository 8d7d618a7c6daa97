"""Subset selection (Ye and Barg 2018): a random subset of fixed size.

A subset that contains the true value is e^epsilon times as likely as one that does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.local.local_randomizer import Collected, FractionOrBall
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.reports import SubsetSelection as Subsets
    from zcdp.samplers.source import Source

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(Collected, ThreePoint):
    """Reports a subset of `size` of the k values; size 1 is k-ary randomized response.

    Theorem: docs/theorems/three-point-maps.md.

    >>> SubsetSelection(epsilon=1, k=100, size=27).rho
    0.23368116462067204
    """

    local = True

    epsilon: Exact
    k: int
    size: int

    def __init__(self, *, epsilon: Value, k: Value, size: Value) -> None:
        budget, values, chosen = positive(epsilon, "epsilon"), integer(k, "k", 2), integer(size, "size", 1)
        if chosen >= values:
            raise BadValue(f"size ({size}) must be below k ({k})")
        self._set(epsilon=budget, k=values, size=chosen)

    def kappa(self) -> arb:
        grown = lift(self.epsilon).exp() * (self.size - 1) / (self.k - self.size)
        return grown + arb(self.k - 1) / self.size + 1

    @cached_property
    def _subsets(self) -> Subsets:
        from zcdp.samplers.reports import SubsetSelection as Subsets

        return Subsets(lambda: lift(self.epsilon), self.k, self.size)

    def release(self, values: ArrayLike) -> Any:
        """One row of `size` increasing numbers for each value, in the values' type, which must have room for k - 1."""
        import numpy as np

        from zcdp.samplers.run_samplers import each_in_its_type

        report = self._subsets.report
        return each_in_its_type(lambda v: report(np.array([v]))[0], report, values, self.k)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        p = self.size / (self.size + (self.k - self.size) * x)
        return p, (self.size - p) / (self.k - 1), p * (self.size - 1) / (self.k - 1)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:  # noqa: ARG002 - it has its k
        return self._subsets.report(values, source)

    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        from zcdp.estimation.report_counts import integer_reports, member_counts

        rows = integer_reports(reports, columns=self.size)
        return len(rows), member_counts(rows, k)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        return self.release(np.zeros(size, dtype=int)), self.release(np.ones(size, dtype=int))
