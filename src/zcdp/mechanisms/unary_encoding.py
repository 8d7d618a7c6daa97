"""Unary encoding: a one-hot vector whose 1 is kept with probability p and whose 0s turn to 1 with probability q."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.collected import FractionOrBall
from zcdp.mechanisms.reports import ReportsBits
from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, positive, probability
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    from zcdp.estimation.support import Support

__all__ = ["OptimizedUnaryEncoding", "UnaryEncoding"]


@dataclass(frozen=True, init=False, repr=False)
class UnaryEncoding(ReportsBits, ThreePoint):
    """Any p > q: e^epsilon = p(1-q)/(q(1-p)). Theorem: docs/theorems/three-point-maps.md.

    >>> UnaryEncoding(p="3/4", q="1/4").epsilon        # RAPPOR of that epsilon
    Log(argument=Fraction(9, 1))
    """

    local = True

    budget = None
    p: Fraction
    q: Fraction

    def __init__(self, p: Value, q: Value) -> None:
        keep, rise = probability(p, "p"), probability(q, "q")
        if keep <= rise:
            raise BadValue(f"p ({p}) must be above q ({q}): a true bit is more likely set than a false one")
        self._set(p=keep, q=rise)

    @property
    def epsilon(self) -> Exact:  # type: ignore[override]
        """log( p(1-q)/(q(1-p)) ), exactly."""
        return Log(self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def kappa(self) -> arb:
        return lift(1 / (self.q * (1 - self.p)) + 1 - self.p * (1 - self.q) / (self.q * (1 - self.p)))

    def _bits(self) -> tuple[arb, arb]:
        return lift(self.p), lift(self.q)

    @cached_property
    def support(self) -> Support:
        """The probabilities p, q, b that a report supports the true value, another one, both: exact."""
        from zcdp.estimation.support import Support

        return Support(lambda: (lift(self.p), lift(self.q), lift(self.p * self.q)), (self.p, self.q, self.p * self.q))

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002 - p and q are given
        raise BadType("unary encoding is given by its p and q")


@dataclass(frozen=True, init=False, repr=False)
class OptimizedUnaryEncoding(ReportsBits, ThreePoint):
    """OUE: p = 1/2, q = 1/(e^epsilon + 1). Theorem: docs/theorems/three-point-maps.md.

    rho = (epsilon/2) tanh(epsilon/2) up to epsilon = 3.2122, beyond it attained at an order above 1.

    >>> OptimizedUnaryEncoding(epsilon=4).rho
    1.9500483875267445
    """

    local = True

    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def kappa(self) -> arb:
        return lift(self.epsilon).exp() + 3

    def _bits(self) -> tuple[arb, arb]:
        odds = (-lift(self.epsilon)).exp()
        return arb(1) / 2, odds / (1 + odds)

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:
        q = x / (1 + x)
        return (1 + x) / (2 * (1 + x)), q, q / 2
