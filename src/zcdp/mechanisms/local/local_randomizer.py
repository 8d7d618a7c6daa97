"""What local randomizers share: support probabilities, counting reports, estimating frequencies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, integer, rational
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.estimator import Estimator
    from zcdp.estimation.histogram import Counts, Histogram
    from zcdp.estimation.support import Support
    from zcdp.samplers.source import Source

__all__ = ["Collected", "CollectsNumbers"]


FractionOrBall = TypeVar("FractionOrBall", Fraction, arb)
"""A formula for support probabilities is written once, for exact numbers and for balls."""


class Collected:
    """A randomizer of one value out of k, whose reports support sets of values. Theorem: docs/theorems/estimator.md."""

    epsilon: Exact

    @abstractmethod
    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        """p, q and b from x = e^-epsilon."""

    @cached_property
    def support(self) -> Support:
        """The probabilities p, q, b that a report supports the true value, another one, both: exact."""
        from zcdp.estimation.support import Support

        epsilon = self.epsilon
        return Support(
            lambda: self._support((-lift(epsilon)).exp()),
            self._support(1 / epsilon.argument) if isinstance(epsilon, Log) else None,
        )

    @property
    def _estimator(self) -> Estimator:
        from zcdp.estimation.estimator import BySupport

        return BySupport(self.support)

    @abstractmethod
    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        """A report for each of a one-dimensional array of int64 in 0 .. k-1, from these bits alone."""

    @abstractmethod
    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        """The number of reports, and what is to be added up over blocks of them before it is decoded."""

    def _decode(self, sums: NDArray[Any], k: int) -> NDArray[Any]:  # noqa: ARG002 - most sums are the supports
        """How many reports support each value, from the sums."""
        return sums

    def _values(self, k: Value | None) -> int:
        """How many values there are: the mechanism's own number, or as told."""
        own: int | None = getattr(self, "k", None)
        if k is None and own is None:
            raise BadType("say how many values there are: k")
        told = own if k is None else integer(k, "k", 2)
        if own is not None and told != own:
            raise BadValue(f"k ({k}) must be the {own} of the mechanism")
        assert told is not None
        return told

    def count(self, reports: ArrayLike, *, k: Value | None = None) -> Counts:
        """How many reports support each of k values; counts of blocks, days and machines add up."""
        return self._counts([self._sums(reports, self._values(k))], k=k)

    def _counts(self, parts: Iterable[tuple[int, NDArray[Any]]], *, k: Value | None) -> Counts:
        """From the sums of blocks, decoded once."""
        from zcdp.estimation.histogram import Counts

        received, total = 0, None
        for count, sums in parts:
            received, total = received + count, sums if total is None else total + sums
        if total is None:
            raise BadValue("there are no reports: nothing can be estimated")
        return Counts(repr(self), received, self._decode(total, self._values(k)), signed=self._signed)

    @property
    def _signed(self) -> bool:
        """Whether reports speak for and against values."""
        return False

    def estimate(self, counts: Counts) -> Histogram:
        """The frequencies of the values, with standard errors and exact intervals."""
        from zcdp.estimation.histogram import Histogram

        self._own(counts)
        self._values(counts.k)
        return Histogram(counts, self._estimator)

    def _own(self, counts: Counts) -> None:
        if counts.design != repr(self):
            raise BadValue(f"these are counts of {counts.design}, not of {self!r}")

    def standard_error(self, *, clients: Value, frequency: Value = 0, of: str = "clients") -> float:
        """Of the estimate of one frequency from the reports of so many clients.

        >>> from zcdp import RandomizedResponse
        >>> RandomizedResponse(epsilon=8, k=256).standard_error(clients=10**6, frequency="1/256")
        2.64053868...e-05
        """
        share = rational(frequency, "frequency")
        if not 0 <= share <= 1:
            raise BadValue(f"frequency ({frequency}) must lie between 0 and 1")
        import numpy as np

        one = np.array([float(share)])
        return float(self._estimator.standard_error(one, integer(clients, "clients", 1), of=of)[0])


class CollectsNumbers(Collected):
    """A report is one whole number: so it is enough to know how often each of them came, as any engine counts it."""

    @abstractmethod
    def _outputs(self, k: int) -> int:
        """How many different reports there are: 0 and on."""

    def tally(self, often: ArrayLike, *, k: Value | None = None) -> Counts:
        """The same as `count`, from how often each report 0, 1, 2 ... came."""
        import numpy as np

        from zcdp.estimation.counting import integer_reports
        from zcdp.estimation.linear_hash_decoding import LARGEST_TABLE

        values = self._values(k)
        given = integer_reports(often)
        size = self._outputs(values)
        if size > LARGEST_TABLE:
            raise BadValue(f"{self!r} on {values} values has {size} different reports: count the reports themselves")
        if given.size > size:
            raise BadValue(f"reports must lie in 0 .. {size - 1}: these are of another design")
        if given.size and int(given.min()) < 0:
            raise BadValue("a report cannot have come less than 0 times")
        whole = np.zeros(size, dtype=np.int64)
        whole[: given.size] = given
        return self._counts([(int(whole.sum()), whole)], k=values)

    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        from zcdp.estimation.counting import integer_reports, value_counts

        array = integer_reports(reports)
        return array.size, value_counts(array, self._outputs(k))
