"""The truncated geometric mechanism: two-sided geometric noise, renormalised to the outputs 0..n."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive
from zcdp.privacy.envelope import FiniteEnvelope
from zcdp.privacy.finite_pair import FinitePair

__all__ = ["TruncatedGeometric"]


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

    def pairs(self) -> Sequence[FinitePair]:
        t = lift(self.epsilon) / self.sensitivity
        falls = [(-t * d).exp() for d in range(self.n + 1)]
        norms = [sum(falls[: x + 1], arb(0)) + sum(falls[1 : self.n - x + 1], arb(0)) for x in range(self.n + 1)]

        def pair(x: int, other: int) -> FinitePair:
            shift = (norms[other] / norms[x]).log()
            return FinitePair(
                [falls[abs(x - y)] / norms[x] for y in range(self.n + 1)],
                [t * (abs(other - y) - abs(x - y)) + shift for y in range(self.n + 1)],
            )

        near = [d for d in range(-self.sensitivity, self.sensitivity + 1) if d]
        # the mirrored pair (n - x, n - x - d) has the same losses: one of the two is enough
        inputs = [(x, x + d) for x in range(self.n + 1) for d in near if 0 <= x + d <= self.n and 2 * x + d <= self.n]
        return [pair(x, other) for x, other in inputs]
