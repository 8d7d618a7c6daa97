"""Subset selection: a random subset of fixed size that holds the true value e^epsilon times as often as not."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive

__all__ = ["SubsetSelection"]


@dataclass(frozen=True, init=False, repr=False)
class SubsetSelection(ThreePoint):
    """Subsets of `size` out of k; size 1 is k-randomized response. Theorem: docs/theorems/three-point-maps.md.

    >>> SubsetSelection(epsilon=1, k=100, size=27).rho
    0.23368116462067204
    """

    epsilon: Exact
    k: int
    size: int

    def __init__(self, *, epsilon: Value, k: Value, size: Value) -> None:
        budget, values, chosen = positive(epsilon, "epsilon"), integer(k, "k", 2), integer(size, "size", 1)
        if chosen >= values:
            raise ValueError(f"size ({size}) must be below k ({k})")
        self._set(epsilon=budget, k=values, size=chosen)

    def kappa(self) -> arb:
        grown = lift(self.epsilon).exp() * (self.size - 1) / (self.k - self.size)
        return grown + arb(self.k - 1) / self.size + 1
