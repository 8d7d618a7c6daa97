"""The truncated geometric mechanism: two-sided geometric noise, renormalised to the outputs 0..n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NoReturn

from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Exact, Log, Value, integer, positive
from zcdp.privacy.envelope import FiniteEnvelope
from zcdp.privacy.finite_pair import FinitePair
from zcdp.privacy.loss import LossLaw, envelope_of_balls

__all__ = ["TruncatedGeometric"]

LARGEST = 2_000  # outcomes of all pairs together
BITS = 320


@dataclass(frozen=True, init=False, repr=False)
class TruncatedGeometric(FiniteEnvelope, Mechanism):
    """Output y in 0..n on input x in 0..n with probability proportional to e^{-t|x-y|}, t = epsilon/sensitivity.

    Renormalising is not clamping: the constant depends on x, and the pure epsilon exceeds `epsilon`. Certified over
    every pair of inputs within the sensitivity. (Clamping the unrestricted noise costs what the noise costs.)
    Theorem: docs/theorems/truncated-geometric.md.

    >>> m = TruncatedGeometric(epsilon=1, n=5)
    >>> m.rho, m.pure_epsilon
    (0.47346323346307695, 1.206080588268287)
    """

    theorem: ClassVar[str] = "truncated-geometric"
    budget = None
    epsilon: Exact
    n: int
    sensitivity: int = 1

    def __init__(self, *, epsilon: Value, n: Value, sensitivity: Value = 1) -> None:
        rate, top, distance = positive(epsilon, "epsilon"), integer(n, "n", 1), integer(sensitivity, "sensitivity", 1)
        if distance > top:
            raise ValueError(f"sensitivity ({sensitivity}) must be at most n ({n}), the largest distance there is")
        self._set(epsilon=rate, n=top, sensitivity=distance)

    @property
    def largest_loss(self) -> NoReturn:
        raise AttributeError("the largest loss of a truncated geometric has no closed form: see pure_epsilon")

    def group(self, size: Value) -> TruncatedGeometric:
        """Inputs at a distance of `size` neighbours: the noise as it is, at a larger sensitivity (n at most)."""
        distance = min(integer(size, "size", 1) * self.sensitivity, self.n)
        if isinstance(self.epsilon, Log):
            raise ValueError(f"epsilon ({self.epsilon}) of a group is no logarithm of a rational: give it as a number")
        return TruncatedGeometric(epsilon=self.epsilon * distance / self.sensitivity, n=self.n, sensitivity=distance)

    def pair(self) -> LossLaw | None:
        """The envelope of all pairs of inputs; of too many, binary randomized response.

        Theorem: docs/theorems/envelope.md.
        """
        if self.n * self.sensitivity * (self.sensitivity + 2) > LARGEST:
            return super().pair()

        def law() -> LossLaw | None:
            pairs = [zip(pair.masses, pair.losses, strict=True) for pair in self.pairs()]
            points = [[(mass, mass * (-loss).exp()) for mass, loss in pair] for pair in pairs]
            return envelope_of_balls(points, coarser=pure)

        pure = super().pair()
        return at_precision(BITS, law) or pure

    def pairs(self) -> Sequence[FinitePair]:
        t = lift(self.epsilon) / self.sensitivity
        falls = [(-t * d).exp() for d in range(self.n + 1)]
        sums = list(accumulate(falls))
        norms = [sums[x] + sums[self.n - x] - 1 for x in range(self.n + 1)]

        def pair(x: int, other: int) -> FinitePair:
            """All outputs beyond x have one loss, and all beyond the other: d + 1 different ones."""
            d = abs(x - other)
            near, far = (sums[x], sums[self.n - other]) if x < other else (sums[self.n - x], sums[other])
            masses = [near, *falls[1:d], falls[d] * far]
            shift = (norms[other] / norms[x]).log()
            return FinitePair([mass / norms[x] for mass in masses], [t * (d - 2 * y) + shift for y in range(d + 1)])

        near = [d for d in range(-self.sensitivity, self.sensitivity + 1) if d]
        # the mirrored pair (n - x, n - x - d) has the same losses: one of the two is enough
        inputs = [(x, x + d) for x in range(self.n + 1) for d in near if 0 <= x + d <= self.n and 2 * x + d <= self.n]
        return [pair(x, other) for x, other in inputs]
