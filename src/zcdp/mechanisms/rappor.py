"""Basic RAPPOR (symmetric unary encoding): each bit of a one-hot vector through binary randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.reports import ReportsBits
from zcdp.mechanisms.three_point import three_point_cumulant
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number, exp
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, three_point_pair

__all__ = ["RAPPOR"]


@dataclass(frozen=True, init=False, repr=False)
class RAPPOR(ReportsBits, Mechanism):
    """Neighbours differ in two bits, each kept with odds e^{epsilon/2}: rho = epsilon tanh(epsilon/4).

    Theorem: docs/theorems/rappor.md.

    >>> RAPPOR(epsilon=1).rho
    0.24491866240370913
    """

    local = True

    theorem: ClassVar[str] = "rappor"
    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def cumulant(self, s: Number) -> Number:
        return 2 * three_point_cumulant(s, lift(self.epsilon) / 2, arb(2))

    def pair(self) -> LossLaw:
        kappa = lambda: 2 + 2 * exp(lift(self.epsilon) / 2)  # noqa: E731 - a formula, evaluated at each precision
        return three_point_pair(self.epsilon, kappa, at=lambda epsilon: RAPPOR(epsilon=epsilon).pair())

    def peak(self) -> Peak:
        epsilon = lift(self.epsilon)
        return Peak(epsilon * (epsilon / 4).tanh(), arb(1))

    def _bits(self) -> tuple[arb, arb]:
        odds = (-lift(self.epsilon) / 2).exp()
        return 1 / (1 + odds), odds / (1 + odds)
