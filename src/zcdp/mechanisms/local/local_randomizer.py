"""Base classes of the local randomizers: support probabilities, counting of reports, estimates of frequencies."""

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
    from zcdp.estimation.frequency_estimates import Counts, Histogram
    from zcdp.estimation.support import Support
    from zcdp.samplers.source import Source

__all__ = ["Collected", "CollectsNumbers"]


FractionOrBall = TypeVar("FractionOrBall", Fraction, arb)
"""Fractions or balls: a formula for support probabilities is written once and evaluated in either."""


class Collected:
    """A randomizer of one value out of k, each of whose reports supports a set of values (a "pure" LDP protocol).

    Frequencies are estimated from how many reports support each value. Theorem: docs/theorems/estimator.md.
    """

    epsilon: Exact

    @abstractmethod
    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        """The probabilities p, q and b of `support` as a function of x = e^-epsilon."""

    @cached_property
    def support(self) -> Support:
        """The exact probabilities p, q, b that a report supports the true value, a given other value, or both."""
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
        """A report for each of a one-dimensional array of int64 in 0 .. k-1; all random bits come from `source`."""

    @abstractmethod
    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        """The number of reports, and an array of sums. Sums of several blocks are added before `_decode` is called."""

    def _decode(self, sums: NDArray[Any], k: int) -> NDArray[Any]:  # noqa: ARG002 - most sums are the supports
        """How many reports support each value, from the sums that `_sums` returns; by default these are the same."""
        return sums

    def _values(self, k: Value | None) -> int:
        """The number of values: the mechanism's own k if it has one, which a given k must equal; else the given k."""
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
        """The counts of several blocks from what `_sums` returned for each; the total is decoded once."""
        from zcdp.estimation.frequency_estimates import Counts

        received, total = 0, None
        for count, sums in parts:
            received, total = received + count, sums if total is None else total + sums
        if total is None:
            raise BadValue("there are no reports: nothing can be estimated")
        return Counts(repr(self), received, self._decode(total, self._values(k)), signed=self._signed)

    @property
    def _signed(self) -> bool:
        """Whether a report may count against a value as well as for it, so that `Counts` may be negative."""
        return False

    def estimate(self, counts: Counts) -> Histogram:
        """The frequencies of the values, with standard errors and exact intervals."""
        from zcdp.estimation.frequency_estimates import Histogram

        self._own(counts)
        self._values(counts.k)
        return Histogram(counts, self._estimator)

    def _own(self, counts: Counts) -> None:
        if counts.design != repr(self):
            raise BadValue(f"these are counts of {counts.design}, not of {self!r}")

    def standard_error(self, *, clients: Value, frequency: Value = 0, of: str = "clients") -> float:
        """The standard error of the estimate of one frequency from the reports of `clients` clients.

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
    """A randomizer whose report is one whole number: a histogram of reports, from any database, is enough to decode."""

    @abstractmethod
    def _outputs(self, k: int) -> int:
        """The number n of different reports, which are 0 .. n-1."""

    def tally(self, often: ArrayLike, *, k: Value | None = None) -> Counts:
        """The `Counts` that `count` returns, from how often each report 0, 1, 2 ... came."""
        import numpy as np

        from zcdp.estimation.linear_hash_decoding import LARGEST_TABLE
        from zcdp.estimation.report_counts import integer_reports

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
        from zcdp.estimation.report_counts import integer_reports, value_counts

        array = integer_reports(reports)
        return array.size, value_counts(array, self._outputs(k))
