"""Bounded-range mechanisms, the exponential mechanism among them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose, upper_float
from zcdp.numeric.exact import Exact, Value, positive, positive_rational
from zcdp.numeric.functions import Number, log, sinhc
from zcdp.numeric.once import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, logistic_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.selection import ExponentialSelection

__all__ = ["BoundedRange", "ExponentialMechanism"]


class _BoundedRange(Mechanism):
    """The class of all pairs whose loss lies in an interval of length eta.

    K(s) = (1+s) g((1+s) eta) - s g(s eta) - g(eta) with g(x) = log( sinh(x/2)/(x/2) ), an envelope of pairs.
    """

    theorem: ClassVar[str] = "bounded-range"

    is_envelope = True
    adds_up = True

    def _eta(self) -> arb:
        return lift(getattr(self, self.budget or "epsilon"))

    @property
    def relative_error(self) -> float:
        """That of Gumbel noise of scale 2/epsilon on each score, which selects by the same law."""
        return upper_float(lambda: 2 * arb.pi() / (arb(6).sqrt() * self._eta()))

    def usual_divisor(self) -> int:
        return 8

    def cumulant(self, s: Number) -> Number:
        eta, order = self._eta(), 1 + s
        return order * log(sinhc(order * eta / 2)) - s * log(sinhc(s * eta / 2)) - log(sinhc(eta / 2))

    def pair(self) -> LossLaw:
        eta: Exact = getattr(self, self.budget or "")
        # two candidates with symmetric utilities are binary randomized response at half the range
        half = eta / 2 if isinstance(eta, Fraction) else Fraction(enclose(lambda: lift(eta) / 2)[0])
        return logistic_pair(eta, exact=False, witness=three_point_pair(half) if half else None)

    def peak(self) -> Peak:
        half = self._eta() / 2
        return Peak(log(sinhc(half)) + half * half.coth() - 1, arb(1))


@dataclass(frozen=True, init=False, repr=False)
class BoundedRange(_BoundedRange):
    """Any mechanism whose loss lies, for each pair, in an interval of length eta (of any position).

    rho = eta/(e^eta - 1) + log((e^eta - 1)/eta) - 1. Theorem: docs/theorems/bounded-range.md.

    >>> BoundedRange(eta=1).rho
    0.12330156148224454
    """

    budget = "eta"
    eta: Exact

    def __init__(self, *, eta: Value) -> None:
        self._set(eta=positive(eta, "eta"))


@dataclass(frozen=True, init=False, repr=False)
class ExponentialMechanism(_BoundedRange):
    """Selects r with probability proportional to exp(epsilon u(r) / (2 sensitivity)): epsilon-bounded-range.

    Tight for two or more candidates with real utilities. Theorem: docs/theorems/bounded-range.md.

    >>> ExponentialMechanism(epsilon=1).rho == BoundedRange(eta=1).rho
    True
    """

    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    @cached_property
    def _selections(self) -> dict[Fraction, ExponentialSelection]:
        """The samplers that were built, by the distance of neighbouring scores."""
        return {}

    def _selection(self, sensitivity: Value) -> ExponentialSelection:
        distance = positive_rational(sensitivity, "sensitivity")  # first: True == 1 would find the sampler of 1
        if (known := self._selections.get(distance)) is not None:
            return known
        from zcdp.samplers.selection import ExponentialSelection

        return self._selections.setdefault(
            distance, ExponentialSelection(lambda: lift(self.epsilon) / (2 * lift(distance)))
        )

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> int:
        """The index of the selected score; a float score is its exact binary value."""
        return self._selection(sensitivity).select(scores)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 4], size), selection.draw([1, 3], size)
