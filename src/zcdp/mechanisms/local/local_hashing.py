"""Local hashing: the value is hashed to one of g buckets, and the bucket goes through g-ary randomized response.

`LocalHashing` takes any hash. `LinearHashing` draws a linear hash over Z_g, g prime, anew for each report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb, fmpz

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.reports import LinearHashReports
    from zcdp.samplers.source import Source

__all__ = ["LinearHashing", "LocalHashing", "RunsLinearHash", "is_prime"]


def is_prime(g: int) -> bool:
    """Whether g is a prime below 2^64. False for larger ones: reports have 64 bits, so there are fewer buckets.

    >>> [g for g in range(20) if is_prime(g)], is_prime(65537 * 65539)
    ([2, 3, 5, 7, 11, 13, 17, 19], False)
    """
    return g < 1 << 64 and bool(fmpz(g).is_prime())


class RunsLinearHash(CollectsNumbers):
    """Mixin that runs local hashing with the linear hash v -> a . v over Z_g, g prime, drawn anew for each report.

    Every two values collide with probability 1/g. Theorem: docs/theorems/linear-hashing.md.
    """

    g: int
    """The number of buckets."""

    def release(self, values: ArrayLike, *, k: Value | None = None) -> Any:
        """A report for each value in 0 .. k-1: the hash a, read as digits in base g, and the bucket z, as a g + z."""
        import numpy as np

        from zcdp.samplers.run_samplers import each

        size = self._values(k)
        reports = self._sampler(size)
        return each(lambda v: int(reports.report(np.array([v]))[0]), reports.report, values, size)

    def _sampler(self, k: int) -> LinearHashReports:
        from zcdp.samplers.reports import LinearHashReports

        self._runs()
        return LinearHashReports(lambda: lift(self.epsilon), self.g, k)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        return self._sampler(k).report(values, source)

    def _runs(self) -> None:
        """Raise `BadValue` if the hash cannot be drawn, or if colliding values could not be told apart."""

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        self._runs()
        p = 1 / (1 + (self.g - 1) * x)
        return p, (p + (self.g - 1) * x * p) / self.g, p / self.g

    def _outputs(self, k: int) -> int:
        from zcdp.samplers.reports import digit_count

        self._runs()
        size: int = self.g ** (digit_count(k, self.g) + 1)
        return size

    def _sums(self, reports: ArrayLike, k: int) -> tuple[int, NDArray[Any]]:
        """The number of reports, and how often each report came if there are few different ones.

        If there are many, the second part is how many reports support each value, decoded from this block already.
        """
        import numpy as np

        from zcdp.estimation.linear_hash_decoding import SMALL_TABLE, linear_hash_supports
        from zcdp.estimation.report_counts import integer_reports

        if (size := self._outputs(k)) <= SMALL_TABLE:
            return super()._sums(reports, k)
        array = integer_reports(reports)
        if array.size and (int(array.min()) < 0 or int(array.max()) >= size):
            raise BadValue(f"reports must lie in 0 .. {size - 1}: these are of another design")
        return array.size, linear_hash_supports(array.astype(np.int64), self.g, k)

    def _decode(self, sums: NDArray[Any], k: int) -> NDArray[Any]:
        import numpy as np

        from zcdp.estimation.linear_hash_decoding import linear_hash_supports

        if sums.size != self._outputs(k):
            return sums
        came = np.flatnonzero(sums)
        return linear_hash_supports(came, self.g, k, often=sums[came])

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs."""
        import numpy as np

        k = getattr(self, "k", 2)
        return self.release(np.zeros(size, dtype=int), k=k), self.release(np.ones(size, dtype=int), k=k)


@dataclass(frozen=True, init=False, repr=False)
class LocalHashing(RunsLinearHash, ThreePoint):
    """Local hashing to g buckets. By default the hash is fixed: values that do not collide have the loss of g-ary RR.

    `random_hash=True` means that the hash is drawn anew for each report and is part of the report, and that *every* two
    values collide with probability at least 1/g. (A universal family bounds collisions from above, which is not
    enough.) Theorem: docs/theorems/three-point-maps.md.

    >>> LocalHashing(epsilon=1, g=4).rho, LocalHashing(epsilon=1, g=4, random_hash=True).rho
    (0.30048918189156226, 0.2253668864186717)
    """

    local = True

    epsilon: Exact
    g: int
    random_hash: bool = False
    """Whether the hash is drawn anew for each report."""

    def __init__(self, *, epsilon: Value, g: Value, random_hash: bool = False) -> None:
        if not isinstance(random_hash, bool):
            raise BadType(f"random_hash ({random_hash!r}) must be True or False")
        self._set(epsilon=positive(epsilon, "epsilon"), g=integer(g, "g", 2), random_hash=random_hash)

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() / (self.g - 1) + self.g + 1 if self.random_hash else arb(self.g)

    def _runs(self) -> None:
        if not self.random_hash:
            raise BadValue("a fixed hash does not tell colliding values apart: random_hash=True draws a fresh one")
        if not is_prime(self.g):
            raise BadValue(f"g ({self.g}) must be a prime below 2^64 for the hash to be drawn exactly")


# Linear local hashing: a fresh hash v -> a . v over Z_g, g prime, whose bucket goes through g-ary randomized response.


@dataclass(frozen=True, init=False, repr=False)
class LinearHashing(RunsLinearHash, ThreePoint):
    """Local hashing by a linear hash that is drawn anew for each report; reports are decoded by Fourier transforms.

    Every two of the k values collide with probability exactly 1/g. The privacy is that of
    `LocalHashing(random_hash=True)`, provided that no hash is used twice.
    Theorem: docs/theorems/linear-hashing.md.

    >>> LinearHashing(epsilon=1, g=3, k=100_000).rho
    0.2427835514324958
    """

    local = True

    theorem: ClassVar[str] = "linear-hashing"
    epsilon: Exact
    g: int
    k: int

    def __init__(self, *, epsilon: Value, g: Value, k: Value) -> None:
        buckets = integer(g, "g", 2)
        if buckets >= 1 << 31 or not is_prime(buckets):
            raise BadValue(f"g ({g}) must be a prime below 2^31")
        self._set(epsilon=positive(epsilon, "epsilon"), g=buckets, k=integer(k, "k", 2))

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() / (self.g - 1) + self.g + 1
