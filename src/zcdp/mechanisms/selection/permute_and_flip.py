"""Permute-and-flip (McKenna and Sheldon 2020), which is report noisy max with exponential noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.selection.scores_base import Selects, checked_monotone
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number
from zcdp.numeric.search import sign_change
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss import Claim, laplace_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, init=False, repr=False)
class PermuteAndFlip(Selects, Mechanism):
    """Tries candidates in a random sequence, and takes r with probability exp(epsilon (u(r) - max u)/(2 sensitivity)).

    The worst pair has two candidates: (p, 1-p) against (1-r, r) with 4pr = e^-epsilon, p and r at most 1/2. It is not
    bounded-range: for zCDP the exponential mechanism is cheaper. If all utilities move the same way between
    neighbours, `monotone=True` drops the factor 2 at the same privacy cost.
    Theorems: docs/theorems/permute-and-flip.md, docs/theorems/monotone-selection.md.

    >>> PermuteAndFlip(epsilon=1).rho
    0.3296599...
    """

    theorem: ClassVar[str] = "permute-and-flip"
    epsilon: Exact
    monotone: bool = False

    def __init__(self, *, epsilon: Value, monotone: bool = False) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), monotone=checked_monotone(monotone))

    @property
    def _noise(self) -> str:
        return "exponential"

    is_envelope = True
    adds_up = True

    def _pair(self, z: arb) -> tuple[arb, arb, arb, arb]:
        """p, r and the losses log((1-p)/r) and log((1-r)/p), at p = e^-z/2 with z in [0, epsilon]."""
        rest = lift(self.epsilon) - z
        p, r = (-z).exp() / 2, (-rest).exp() / 2
        return p, r, rest + (2 - 2 * p).log(), z + (2 - 2 * r).log()

    def pair(self) -> Claim:
        """The Laplace pair, which dominates. Theorem: docs/theorems/lipschitz.md.

        Its lower law is the pair at z = epsilon/2: binary randomized response with the loss
        log(2 e^{epsilon/2} - 1).
        """
        loss = enclose(lambda: self._pair(lift(self.epsilon) / 2)[2])[0]
        return Claim(laplace_pair(self.epsilon), lower=Claim.laws(three_point_pair(Fraction(loss)) if loss else None))

    def cumulant(self, s: Number) -> Number:
        """log of the maximum over z of M = p^{1+s} (1-r)^-s + (1-p)^{1+s} r^-s."""
        s_ball = real_s(s)

        def climb(z: arb) -> tuple[arb, arb]:
            """dM/dz divided by p ((1-p)/r)^s, positive before the maximum and negative after; and its derivative."""
            p, r, high, low = self._pair(z)
            fade, odds = (-s_ball * (high + low)).exp(), r / (1 - r)
            weight = 1 + s_ball - s_ball * odds
            slope = 1 / p + fade * (weight * (odds - p / (1 - p)) - odds / (1 - r))
            return 1 + s_ball - s_ball * (1 - p) / p - fade * weight, -s_ball * slope

        def value(z: arb) -> arb:
            p, _, high, low = self._pair(z)
            return (p * (-s_ball * low).exp() + (1 - p) * (s_ball * high).exp()).log()

        around = sign_change(climb, lift(self.epsilon))
        middle, (p, _, high, _) = around.mid(), self._pair(around)
        # Mean value form: the slope vanishes at the maximum, so the width of the bracket enters quadratically.
        slope = p * (s_ball * high - value(around)).exp() * climb(around)[0]
        result: Number = value(middle) + slope * (around - middle)  # type: ignore[assignment]
        return result

    def kl(self) -> arb:
        return self.peak().rho

    def peak(self) -> Peak:
        """rho, attained at order 1: the maximum over z of KL = (1-p) log((1-p)/r) - p log((1-r)/p), concave in p."""

        def climb(z: arb) -> tuple[arb, arb]:
            """dKL/dz divided by p, and the derivative of this quotient in z."""
            p, r, high, low = self._pair(z)
            odds = r / (1 - r)
            # odds * odds, not odds**2: a power of a ball with a huge exponent is NaN, a product is not.
            return high + low + 1 / (1 - r) - 1 / p, -1 / p + p / (1 - p) + odds * odds

        def value(z: arb) -> arb:
            p, _, high, low = self._pair(z)
            return (1 - p) * high - p * low

        around = sign_change(climb, lift(self.epsilon))
        middle, p = around.mid(), self._pair(around)[0]
        return Peak(value(middle) + p * climb(around)[0] * (around - middle), arb(1))

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 0], size), selection.draw([1, 0 if self.monotone else -1], size)
