"""Bounded-range mechanisms (Durfee and Rogers 2019), the exponential mechanism among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.selection.scores_base import Selects, checked_monotone
from zcdp.numeric.balls import enclose, lift, upper_float
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number, log, sinhc
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import Claim, logistic_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoundedRange", "ExponentialMechanism"]


class _BoundedRange(Mechanism):
    """Curve of the class of all pairs whose loss lies in an interval of length eta.

    K(s) = (1+s) g((1+s) eta) - s g(s eta) - g(eta) with g(x) = log( sinh(x/2)/(x/2) ) is the largest cumulant of any
    pair of the class, attained by a different pair for each s.
    """

    theorem: ClassVar[str] = "bounded-range"

    is_envelope = True
    adds_up = True

    def _eta(self) -> arb:
        return lift(getattr(self, self.budget or "epsilon"))

    @property
    def relative_error(self) -> float:
        """Standard deviation of Gumbel noise of scale 2/epsilon: such noise on each score selects by the same law."""
        return upper_float(lambda: 2 * arb.pi() / (arb(6).sqrt() * self._eta()))

    def usual_divisor(self) -> int:
        return 8

    def cumulant(self, s: Number) -> Number:
        eta, order = self._eta(), 1 + s
        return order * log(sinhc(order * eta / 2)) - s * log(sinhc(s * eta / 2)) - log(sinhc(eta / 2))

    def pair(self) -> Claim:
        eta: Exact = getattr(self, self.budget or "")
        # Two candidates with symmetric utilities are binary randomized response at half the range: a lower bound.
        half = eta / 2 if isinstance(eta, Fraction) else Fraction(enclose(lambda: lift(eta) / 2)[0])
        return Claim(logistic_pair(eta), lower=Claim.laws(three_point_pair(half) if half else None))

    def peak(self) -> Peak:
        half = self._eta() / 2
        return Peak(log(sinhc(half)) + half * half.coth() - 1, arb(1))


@dataclass(frozen=True, init=False, repr=False)
class BoundedRange(_BoundedRange):
    """Any mechanism whose loss lies, for each pair of neighbours, in some interval of length eta.

    rho = eta/(e^eta - 1) + log((e^eta - 1)/eta) - 1. Theorem: docs/theorems/bounded-range.md.

    >>> BoundedRange(eta=1).rho
    0.12330156148224454
    """

    budget = "eta"
    eta: Exact
    """The range of the privacy loss."""

    def __init__(self, *, eta: Value) -> None:
        self._set(eta=positive(eta, "eta"))


@dataclass(frozen=True, init=False, repr=False)
class ExponentialMechanism(Selects, _BoundedRange):
    """Selects r with probability proportional to exp(epsilon u(r) / (2 sensitivity)): epsilon-bounded-range.

    If all utilities move the same way between neighbours, as counts do, `monotone=True` selects with
    probability proportional to exp(epsilon u(r) / sensitivity) at the same privacy cost. The curve is tight for two or
    more candidates with real utilities.
    Theorems: docs/theorems/bounded-range.md, docs/theorems/monotone-selection.md.

    >>> ExponentialMechanism(epsilon=1).rho == BoundedRange(eta=1).rho
    True
    >>> ExponentialMechanism(epsilon=1, monotone=True).release([0, 1000, 3], sensitivity=1)
    1
    """

    epsilon: Exact
    monotone: bool = False

    def __init__(self, *, epsilon: Value, monotone: bool = False) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), monotone=checked_monotone(monotone))

    @property
    def _noise(self) -> str:
        return "gumbel"

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 4], size), selection.draw([1, 4] if self.monotone else [1, 3], size)
