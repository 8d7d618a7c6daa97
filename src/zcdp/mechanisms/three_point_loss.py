"""The three-point family: mechanisms whose privacy loss is epsilon, 0 or -epsilon, as k-ary randomized response."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import Undecided, lift
from zcdp.numeric.exact import Exact
from zcdp.numeric.functions import Number, exp, expm1, log1p
from zcdp.numeric.search import sign_change
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import Claim, three_point_pair_of_ball

__all__ = ["ThreePoint", "three_point_cumulant", "three_point_peak"]


class ThreePoint(Mechanism):
    """A mechanism whose worst pair has only the losses epsilon, 0 and -epsilon. A subclass defines epsilon and kappa.

    With m the probability of the loss -epsilon, kappa = 1/m + 1 - e^epsilon; in terms of the total variation distance
    it is (e^epsilon - 1)(1/TV - 1). Theorem: docs/theorems/three-point.md; kappa of each mechanism:
    docs/theorems/three-point-maps.md.
    """

    theorem: ClassVar[str] = "three-point-maps"
    epsilon: Exact

    @abstractmethod
    def kappa(self) -> arb:
        """A ball around kappa, which with epsilon fixes the worst pair; k-ary randomized response has kappa = k."""

    def cumulant(self, s: Number) -> Number:
        return three_point_cumulant(s, lift(self.epsilon), self.kappa())

    def peak(self) -> Peak:
        return three_point_peak(lift(self.epsilon), self.kappa())

    def pair(self) -> Claim:
        law = three_point_pair_of_ball(self.epsilon, self.kappa)
        return Claim.exactly(law) if self.is_tight else Claim(law)


def three_point_cumulant(s: Number, epsilon: arb, kappa: arb) -> Number:
    """K(s) = log( (e^{(1+s) epsilon} + e^{-s epsilon} + kappa - 2) / (e^epsilon + kappa - 1) ).

    Written without cancellation at small epsilon or s. Theorem: docs/theorems/three-point.md.
    """
    least = exp(-epsilon) / (kappa * exp(-epsilon) - expm1(-epsilon))  # 1/(e^epsilon + kappa - 1)
    return log1p(-expm1((1 + s) * epsilon) * expm1(-s * epsilon) * least)


def three_point_peak(epsilon: arb, kappa: arb) -> Peak:
    """Balls around rho and the order that attains it, for every real kappa >= 2. Theorem: docs/theorems/three-point.md.

    >>> float(three_point_peak(arb(1), arb(1024)).rho)
    0.038930130166119695
    """
    half = epsilon / 2
    c = (kappa - 2) / 2 * exp(-half)
    if _concave(c, half):
        gain = -expm1(-epsilon)
        return Peak(epsilon * gain / (gain + kappa * exp(-epsilon)), arb(1))
    return _tangent(epsilon, half, c)


def _concave(c: arb, half: arb) -> bool:
    """Whether c <= R(half), so that rho is the KL divergence; decided in balls, else raises `Undecided`.

    R(x) = (sinh x cosh x - x)/(x cosh x - sinh x), which lies in [2, 2 sinh(x)/x].
    """
    if c <= 2:
        return True
    sinh, cosh = half.sinh_cosh()
    if c * half > 2 * sinh:
        return False
    margin = (sinh * cosh - half) - c * (half * cosh - sinh)
    if margin >= 0:
        return True
    if margin < 0:
        return False
    raise Undecided


def _tangent(epsilon: arb, half: arb, c: arb) -> Peak:
    """rho and its order if rho is attained above order 1: the steepest secant of log(c + cosh x) as a function of x^2.

    The secant starts at x = half and is tangent at x = half + w; a ball around w > 0 is found by a certified search.
    """
    base = c + half.cosh()

    def parts(w: arb) -> tuple[arb, arb, arb, arb, arb]:
        sinh, cosh = (half + w).sinh_cosh()
        rise = (2 * (half + w / 2).sinh() * (w / 2).sinh() / base).log1p()
        return half + w, w * (w + epsilon), rise, sinh, cosh

    def overshoot(w: arb) -> tuple[arb, arb]:
        """(Tangent slope - secant slope) times run, positive before the point of tangency; and its derivative in w."""
        x, run, rise, sinh, cosh = parts(w)
        bend = c * (x * cosh - sinh) - (sinh * cosh - x)
        return run * sinh / (2 * x * (c + cosh)) - rise, run * bend / (2 * (x * (c + cosh)) ** 2)

    around = sign_change(overshoot)
    middle = around.mid()
    _, run, rise, _, _ = parts(middle)
    # Mean value form: the secant slope is stationary at the point of tangency, so the bracket enters quadratically.
    x, wide_run, wide_rise, sinh, cosh = parts(around)
    drift = (wide_run * sinh / (c + cosh) - 2 * x * wide_rise) / wide_run**2
    return Peak(epsilon**2 * (rise / run + drift * (around - middle)), 1 + around / epsilon)
