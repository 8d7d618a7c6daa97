"""Running a mechanism that reports a one-hot vector bit by bit: RAPPOR and the unary encodings."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.mechanisms.collected import Collected
from zcdp.numeric.exact import Value, integer
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.unary import UnaryReports

__all__ = ["ReportsBits"]


class ReportsBits(Collected):
    """Each bit is set independently: the true one with probability p, every other with probability q."""

    @abstractmethod
    def _bits(self) -> tuple[arb, arb]:
        """p and q at the working precision."""

    @cached_property
    def _reports(self) -> UnaryReports:
        from zcdp.samplers.unary import UnaryReports

        return UnaryReports(lambda: self._bits()[0], lambda: self._bits()[1])

    def release(self, values: ArrayLike, *, d: Value) -> Any:
        """Reports of d bits, packed into rows of bytes as by numpy.packbits."""
        from zcdp.samplers.release import each

        size = integer(d, "d", 2)
        return each(lambda v: self._reports.report_one(v, size), lambda v: self._reports.report(v, size), values, size)

    def _count(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        from zcdp.estimation.counting import bit_counts, integer_reports

        rows = integer_reports(reports, columns=(k + 7) // 8)
        return len(rows), bit_counts(rows, k)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many outputs for each of two neighbouring inputs."""
        import numpy as np

        return self.release(np.zeros(size, dtype=int), d=2), self.release(np.ones(size, dtype=int), d=2)
