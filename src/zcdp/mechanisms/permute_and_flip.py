"""Permute-and-flip, which is report-noisy-max with exponential noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose, upper_float
from zcdp.numeric.exact import Exact, Value, positive, positive_rational
from zcdp.numeric.functions import Number
from zcdp.numeric.once import cached_property
from zcdp.numeric.root import sign_change
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_order
from zcdp.privacy.loss import LossLaw, laplace_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.selection import PermuteAndFlip as Selection

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, init=False, repr=False)
class PermuteAndFlip(Mechanism):
    """Tries candidates in random order, taking r with probability exp(epsilon (u(r) - max u)/(2 sensitivity)).

    The worst pair has two candidates: (p, 1-p) against (1-r, r) with 4pr = e^-epsilon, p and r at most 1/2. It is not
    bounded-range: for zCDP the exponential mechanism is cheaper. Theorem: docs/theorems/permute-and-flip.md.

    >>> PermuteAndFlip(epsilon=1).rho
    0.3296599...
    """

    theorem: ClassVar[str] = "permute-and-flip"
    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    is_envelope = True
    adds_up = True

    @property
    def relative_error(self) -> float:
        """That of exponential noise of scale 2/epsilon on each score, which selects by the same law."""
        return upper_float(lambda: 2 / lift(self.epsilon))

    def _pair(self, z: arb) -> tuple[arb, arb, arb, arb]:
        """p, r and the losses log((1-p)/r) and log((1-r)/p), at p = e^-z/2 with z in [0, epsilon]."""
        rest = lift(self.epsilon) - z
        p, r = (-z).exp() / 2, (-rest).exp() / 2
        return p, r, rest + (2 - 2 * p).log(), z + (2 - 2 * r).log()

    def pair(self) -> LossLaw:
        """The Laplace pair dominates. Theorem: docs/theorems/lipschitz.md.

        At z = epsilon/2 the two candidates are binary randomized response with the loss log(2 e^{epsilon/2} - 1).
        """
        loss = enclose(lambda: self._pair(lift(self.epsilon) / 2)[2])[0]
        return laplace_pair(self.epsilon, exact=False, witness=three_point_pair(Fraction(loss)) if loss else None)

    def cumulant(self, s: Number) -> Number:
        """log of the maximum over z of M = p^{1+s} (1-r)^-s + (1-p)^{1+s} r^-s."""
        order = real_order(s)

        def climb(z: arb) -> tuple[arb, arb]:
            """dM/dz divided by p ((1-p)/r)^s: positive before the maximum, negative after it. And its slope."""
            p, r, high, low = self._pair(z)
            fade, odds = (-order * (high + low)).exp(), r / (1 - r)
            weight = 1 + order - order * odds
            slope = 1 / p + fade * (weight * (odds - p / (1 - p)) - odds / (1 - r))
            return 1 + order - order * (1 - p) / p - fade * weight, -order * slope

        def value(z: arb) -> arb:
            p, _, high, low = self._pair(z)
            return (p * (-order * low).exp() + (1 - p) * (order * high).exp()).log()

        around = sign_change(climb, lift(self.epsilon))
        middle, (p, _, high, _) = around.mid(), self._pair(around)
        # mean value form: the slope vanishes at the maximum, so the width of the bracket enters to second order only
        slope = p * (order * high - value(around)).exp() * climb(around)[0]
        result: Number = value(middle) + slope * (around - middle)  # type: ignore[assignment]
        return result

    def kl(self) -> arb:
        return self.peak().rho

    def peak(self) -> Peak:
        """The maximum over z of KL = (1-p) log((1-p)/r) - p log((1-r)/p), which is concave in p."""

        def climb(z: arb) -> tuple[arb, arb]:
            """dKL/dz divided by p, and its slope."""
            p, r, high, low = self._pair(z)
            return high + low + 1 / (1 - r) - 1 / p, -1 / p + p / (1 - p) + (r / (1 - r)) ** 2

        def value(z: arb) -> arb:
            p, _, high, low = self._pair(z)
            return (1 - p) * high - p * low

        around = sign_change(climb, lift(self.epsilon))
        middle, p = around.mid(), self._pair(around)[0]
        return Peak(value(middle) + p * climb(around)[0] * (around - middle), arb(1))

    @cached_property
    def _selections(self) -> dict[Fraction, Selection]:
        """The samplers that were built, by the distance of neighbouring scores."""
        return {}

    def _selection(self, sensitivity: Value) -> Selection:
        distance = positive_rational(sensitivity, "sensitivity")  # first: True == 1 would find the sampler of 1
        if (known := self._selections.get(distance)) is not None:
            return known
        from zcdp.samplers.selection import PermuteAndFlip as Selection

        return self._selections.setdefault(distance, Selection(lambda: lift(self.epsilon) / (2 * lift(distance))))

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> int:
        """The index of the selected score; a float score is its exact binary value."""
        return self._selection(sensitivity).select(scores)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 0], size), selection.draw([1, -1], size)
