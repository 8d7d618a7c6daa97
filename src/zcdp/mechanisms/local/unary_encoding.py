"""Unary encodings: mechanisms that randomize each bit of a one-hot vector independently.

`ReportsBits` draws and counts the reports, also those of RAPPOR. `UnaryEncoding` has any probabilities p > q,
`OptimizedUnaryEncoding` those of least variance for rare values (Wang, Blocki, Li and Jha 2017).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.local.local_randomizer import Collected, FractionOrBall
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, integer, positive, probability
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.support import Support
    from zcdp.samplers.reports import UnaryReports
    from zcdp.samplers.source import Source

__all__ = ["OptimizedUnaryEncoding", "ReportsBits", "UnaryEncoding"]


class ReportsBits(Collected):
    """Mixin for reports of one bit per value: the true one is 1 with probability p, every other with probability q."""

    @abstractmethod
    def _bits(self) -> tuple[arb, arb]:
        """Balls around p and q, at the working precision."""

    @cached_property
    def _reports(self) -> UnaryReports:
        from zcdp.samplers.reports import UnaryReports

        return UnaryReports(lambda: self._bits()[0], lambda: self._bits()[1])

    def release(self, values: ArrayLike, *, d: Value) -> Any:
        """Reports of d bits, packed into rows of bytes as by numpy.packbits."""
        from zcdp.samplers.run_samplers import each

        size = integer(d, "d", 2)
        if _row_length(values) == size:  # one person's bits, which would otherwise be read as `size` values
            raise BadValue(
                f"values must be whole numbers from 0 to {size - 1}, one a person, and not rows of {size} bits: a "
                "person who has the bits 0, 0, 1, 0 has the value 2"
            )
        return each(lambda v: self._reports.report_one(v, size), lambda v: self._reports.report(v, size), values, size)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        return self._reports.report(values, k, source)

    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        from zcdp.estimation.report_counts import bit_counts, integer_reports

        rows = integer_reports(reports, columns=(k + 7) // 8)
        return len(rows), bit_counts(rows, k)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs."""
        import numpy as np

        return self.release(np.zeros(size, dtype=int), d=2), self.release(np.ones(size, dtype=int), d=2)


def _row_length(values: Any) -> int | None:
    """The length of the rows of a matrix or of nested lists, by their shape alone; None if there are no rows."""
    shape = getattr(values, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        return int(shape[-1])
    first = values[0] if isinstance(values, list | tuple) and values else None
    return len(first) if isinstance(first, list | tuple) else None


# The mechanisms: the 1 of a one-hot vector is kept with probability p, and each 0 turns into a 1 with probability q.


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(ReportsBits, ThreePoint):
    """Unary encoding with any p > q: e^epsilon = p(1-q)/(q(1-p)). Theorem: docs/theorems/three-point-maps.md.

    >>> UnaryEncoding(p="3/4", q="1/4").epsilon        # RAPPOR of that epsilon
    Log(argument=Fraction(9, 1))
    """

    local = True

    budget = None
    p: Fraction
    q: Fraction

    def __init__(self, p: Value, q: Value) -> None:
        keep, rise = probability(p, "p"), probability(q, "q")
        if keep <= rise:
            raise BadValue(f"p ({p}) must be above q ({q}): a true bit is more likely set than a false one")
        self._set(p=keep, q=rise)

    @property
    def epsilon(self) -> Exact:  # type: ignore[override]
        """log( p(1-q)/(q(1-p)) ), exactly."""
        return Log(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def kappa(self) -> arb:
        return lift(1 / (self.q * (1 - self.p)) + 1 - self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def _bits(self) -> tuple[arb, arb]:
        return lift(self.p), lift(self.q)

    @cached_property
    def support(self) -> Support:
        """The exact probabilities p, q, b that a report supports the true value, a given other value, or both."""
        from zcdp.estimation.support import Support

        return Support(lambda: (lift(self.p), lift(self.q), lift(self.p * self.q)), (self.p, self.q, self.p * self.q))

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002 - p and q are given
        raise BadType("unary encoding is given by its p and q")


@dataclass(frozen=True, init=False, repr=False)
class OptimizedUnaryEncoding(ReportsBits, ThreePoint):
    """OUE: p = 1/2, q = 1/(e^epsilon + 1). Theorem: docs/theorems/three-point-maps.md.

    rho = (epsilon/2) tanh(epsilon/2) up to epsilon = 3.2122; beyond, it is attained at an order above 1.

    >>> OptimizedUnaryEncoding(epsilon=4).rho
    1.9500483875267445
    """

    local = True

    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() + 3

    def _bits(self) -> tuple[arb, arb]:
        odds = (-lift(self.epsilon)).exp()
        return arb(1) / 2, odds / (1 + odds)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        q = x / (1 + x)
        return (1 + x) / (2 * (1 + x)), q, q / 2
