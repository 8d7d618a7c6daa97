"""The worst epsilon-DP mechanism there is: binary randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.three_point import three_point_cumulant
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number
from zcdp.privacy.curve import Peak
from zcdp.privacy.pair import Pair, three_point_pair

__all__ = ["PureDP"]


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Mechanism):
    """Any epsilon-DP mechanism of which nothing more is known: rho = epsilon tanh(epsilon/2).

    Theorem: docs/theorems/pure-dp.md.

    >>> PureDP(epsilon=1).rho
    0.4621171572600098
    """

    theorem: ClassVar[str] = "pure-dp"
    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def cumulant(self, s: Number) -> Number:
        return three_point_cumulant(s, lift(self.epsilon), arb(2))

    def pair(self) -> Pair:
        return three_point_pair(self.epsilon)

    def peak(self) -> Peak:
        epsilon = lift(self.epsilon)
        return Peak(epsilon * (epsilon / 2).tanh(), arb(1))
