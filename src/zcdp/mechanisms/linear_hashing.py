"""Linear local hashing: a fresh hash v -> a . v over Z_g, g prime, its bucket through g-randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.local_hashing import RunsLinearHash, is_prime
from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive

__all__ = ["LinearHashing"]


@dataclass(frozen=True, init=False, repr=False)
class LinearHashing(RunsLinearHash, ThreePoint):
    """Every two of k values collide with probability exactly 1/g, and reports are decoded by Fourier transforms.

    The privacy is that of `LocalHashing(random_hash=True)`, if no hash is used twice.
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
