"""Local hashing: the value is hashed to g buckets, the bucket goes through g-randomized response."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive

__all__ = ["LocalHashing"]


@dataclass(frozen=True, init=False, repr=False)
class LocalHashing(ThreePoint):
    """By default the hash is taken as fixed: two values that do not collide are told apart like in g-RR.

    `random_hash` says that the hash is drawn anew for each report, is part of it, and that *every* two values collide
    with probability at least 1/g. (A universal family bounds collisions from above, which is not enough.)
    Theorem: docs/theorems/three-point-maps.md.

    >>> LocalHashing(epsilon=1, g=4).rho, LocalHashing(epsilon=1, g=4, random_hash=True).rho
    (0.30048918189156226, 0.2253668864186717)
    """

    local = True

    epsilon: Exact
    g: int
    random_hash: bool = False

    def __init__(self, *, epsilon: Value, g: Value, random_hash: bool = False) -> None:
        if not isinstance(random_hash, bool):
            raise TypeError(f"random_hash ({random_hash!r}) must be True or False")
        self._set(epsilon=positive(epsilon, "epsilon"), g=integer(g, "g", 2), random_hash=random_hash)

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() / (self.g - 1) + self.g + 1 if self.random_hash else arb(self.g)
