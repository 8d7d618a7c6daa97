"""Basic RAPPOR (symmetric unary encoding): each bit of a one-hot vector goes through binary randomized response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.local.local_randomizer import FractionOrBall
from zcdp.mechanisms.local.unary_encoding import ReportsBits
from zcdp.mechanisms.three_point_loss import three_point_cumulant
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, positive, rational_root
from zcdp.numeric.functions import Number, exp
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import Claim, LossLaw, three_point_pair_of_ball

if TYPE_CHECKING:
    from zcdp.estimation.support import Support

__all__ = ["RAPPOR"]


@dataclass(frozen=True, init=False, repr=False)
class RAPPOR(ReportsBits, Mechanism):
    """Basic RAPPOR: rho = epsilon tanh(epsilon/4), as neighbours differ in two bits, each kept with odds e^{epsilon/2}.

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

    def pair(self) -> Claim:
        return Claim.exactly(_law(self.epsilon))

    def peak(self) -> Peak:
        epsilon = lift(self.epsilon)
        return Peak(epsilon * (epsilon / 4).tanh(), arb(1))

    def _bits(self) -> tuple[arb, arb]:
        odds = (-lift(self.epsilon) / 2).exp()
        return 1 / (1 + odds), odds / (1 + odds)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        """p, q and b as a function of x = e^{-epsilon/2}, not e^-epsilon: each bit gets half of epsilon."""
        p = 1 / (1 + x)
        return p, x * p, x * p * p

    @cached_property
    def support(self) -> Support:
        """The exact probabilities p, q, b that a report supports the true value, a given other value, or both."""
        from zcdp.estimation.support import Support

        root = rational_root(self.epsilon.argument) if isinstance(self.epsilon, Log) else None
        return Support(
            lambda: self._support((-lift(self.epsilon) / 2).exp()),
            self._support(1 / root) if root is not None else None,
        )


def _law(epsilon: Exact) -> LossLaw:
    """The law of two values: their one-hot vectors differ in two bits, each reported with half of epsilon."""
    return three_point_pair_of_ball(epsilon, lambda: 2 + 2 * exp(lift(epsilon) / 2), at=_law)
