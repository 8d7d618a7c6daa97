"""Hadamard response: the value's row of a Hadamard matrix says which outputs are e^epsilon times as likely."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive

__all__ = ["HadamardResponse"]


@dataclass(frozen=True, init=False, repr=False)
class HadamardResponse(ThreePoint):
    """One block (rows that are not constant), or several, where the worst two values lie in different blocks.

    Theorem: docs/theorems/three-point-maps.md.

    >>> HadamardResponse(epsilon=1).rho
    0.2310585786300049
    """

    local = True

    epsilon: Exact
    blocks: int = 1

    def __init__(self, *, epsilon: Value, blocks: Value = 1) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), blocks=integer(blocks, "blocks", 1))

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() + 3 if self.blocks == 1 else arb(2 * self.blocks)
