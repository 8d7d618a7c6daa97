"""Running a mechanism that reports a one-hot vector bit by bit: RAPPOR and the unary encodings."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.collected import Collected
from zcdp.numeric.exact import Value, integer
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.source import Source
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
        if _row_length(values) == size:  # a person's bits, which would be taken for as many values
            raise BadValue(
                f"values must be whole numbers from 0 to {size - 1}, one a person, and not rows of {size} bits: a "
                "person who has the bits 0, 0, 1, 0 has the value 2"
            )
        return each(lambda v: self._reports.report_one(v, size), lambda v: self._reports.report(v, size), values, size)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        return self._reports.report(values, k, source)

    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        from zcdp.estimation.bits import bit_counts
        from zcdp.estimation.counting import integer_reports

        rows = integer_reports(reports, columns=(k + 7) // 8)
        return len(rows), bit_counts(rows, k)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many outputs for each of two neighbouring inputs."""
        import numpy as np

        return self.release(np.zeros(size, dtype=int), d=2), self.release(np.ones(size, dtype=int), d=2)


def _row_length(values: Any) -> int | None:
    """How long the rows of a matrix are, from its form alone; None where there are no rows."""
    shape = getattr(values, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        return int(shape[-1])
    first = values[0] if isinstance(values, list | tuple) and values else None
    return len(first) if isinstance(first, list | tuple) else None
