"""Report noisy max with Laplace noise, level by level: at the winning score's level u the winner is in bounded range.

    K(s) <= log int_0^1 exp K_BR(s; eta(u)) du,    eta(u) = 2 log( 1 + (e^{epsilon/2} - 1)/max(u, 1/2) ),

K_BR and rho_BR those of bounded range; the slope at 0 is int rho_BR(eta(u)) du, and the proof that it bounds the ratio
K(s)/(s(1+s)) at all orders is a certified computation over cells. Theorem: docs/theorems/winning-level.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import frexp, inf

from flint import acb, arb

from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.exact import Exact
from zcdp.numeric.once import cached_property

__all__ = ["WinningLevel", "holds_at_every_order", "levels"]

TINY, HUGE = 2.0**-40, 2.0**19
"""Beyond these epsilons a closed form is as good, or there is nothing to be gained."""
TOLERANCE = Fraction(1, 1 << 21)
"""How far rho may be above the slope at 0: this share of it, or of 1 if it is larger."""
BITS = 128
PROOF, CURVE = 32, 128
"""Panels in u: for the proof over all orders, and for one point of the curve, which is then right to 1e-5."""
STEP, LEAST_STEP, MOST_CELLS = Fraction(3, 2), Fraction(1025, 1024), 1000

Shares = Callable[[arb], list[arb]]


def _sinhc(x: arb) -> arb:
    return x.sinh() / x


def _rho(eta: arb) -> arb:
    """rho_BR(eta) = log( sinh(h)/h ) + h coth h - 1, h = eta/2."""
    half = eta / 2
    return _sinhc(half).log() + half * half.coth() - 1


def _complex_rho(eta: acb, analytic: bool) -> acb:
    """The same for the integral over u: the logarithm says where it is not analytic."""
    half = eta / 2
    sinhc = (half * acb(0, 1)).sinc()
    return sinhc.log(analytic=analytic) + half.cosh() / sinhc - 1


def _cumulant(s: arb, eta: arb) -> arb:
    """K_BR(s; eta) = (1+s) g((1+s) eta) - s g(s eta) - g(eta), g(x) = log( sinh(x/2)/(x/2) )."""
    order = 1 + s
    return order * _sinhc(order * eta / 2).log() - s * _sinhc(s * eta / 2).log() - _sinhc(eta / 2).log()


def levels(panels: int) -> tuple[list[arb], list[arb], list[arb]]:
    """Points u from 1/2 to 1, and weights: of the trapezoids, and of the right ends of all panels.

    A convex function of max(u, 1/2) has at most the first mean, a falling one at least the second.
    """
    points = [arb(2) ** (lift(Fraction(n, panels)) - 1) for n in range(panels + 1)]
    points[0], points[-1] = arb(1) / 2, arb(1)
    widths = [right - left for left, right in pairwise(points)]
    ends = [arb(1) / 2, *widths]
    halves = [*(width / 2 for width in widths), arb(0)]
    return points, [arb(1) / 2 + halves[0], *(w / 2 + h for w, h in zip(widths, halves[1:], strict=True))], ends


def _dot(weights: Sequence[arb], values: Sequence[arb]) -> arb:
    return sum((weight * value for weight, value in zip(weights, values, strict=True)), arb(0))


def _beyond(x: arb) -> arb:
    """e^x - 1 - x."""
    return x.expm1() - x


def holds_at_every_order(shares: Shares, slopes: list[arb], mean: arb, end: arb, panels: int = PROOF) -> bool:
    """Whether E exp k(q, U) <= exp( q (mean + tolerance) ) for all q up to `end`, where E slope <= mean.

    `shares` gives k(q, .) at the levels, convex in u; k(q)/q falls from the slopes as q grows. On a cell [q, g q] the
    inequality follows from its right end, with k(q)/q in place of what is smaller.
    """
    _, trapezoids, ends = levels(panels)
    tolerance = lift(TOLERANCE) * mean.min(arb(1))
    q = (8 * tolerance / mean**2).mid()
    for _ in range(MOST_CELLS):
        if _dot(trapezoids, [_beyond(q * x) for x in slopes]) <= _beyond(q * mean) + q * tolerance:
            break
        q = q / 2
    else:
        return False
    step = STEP
    for _ in range(MOST_CELLS):
        if q >= end:
            return True
        values = shares(q)
        saved = _dot(ends, [q * slope - value for slope, value in zip(slopes, values, strict=True)])
        while True:
            right = lift(step)
            if _dot(trapezoids, [_beyond(right * x) for x in values]) <= _beyond(right * q * mean) + right * saved:
                break
            step = 1 + (step - 1) / 2
            if step < LEAST_STEP:
                return False
        q, step = (q * right).mid(), min(1 + 2 * (step - 1), STEP)
    return False


class WinningLevel:
    """The bound for one epsilon, where noise has scale 1 and scores move by amounts in [0, epsilon]."""

    def __init__(self, epsilon: Exact) -> None:
        self._epsilon = epsilon
        self._size = at_precision(64, lambda: float(lift(epsilon).mid()))
        self.extreme = not TINY < self._size < HUGE
        self._bits = BITS + max(0, -6 * frexp(self._size)[1])  # what cancels where epsilon is small

    def _eta(self, u: arb) -> arb:
        # 1 + (e^{epsilon/2} - 1)/u = e^{epsilon/2} (1 - (1-u) e^{-epsilon/2})/u: no ball overflows
        epsilon = lift(self._epsilon)
        return epsilon + 2 * ((1 - (1 - u) * (-epsilon / 2).exp()) / u).log()

    @cached_property
    def kl(self) -> float:
        """The slope at 0, which is the divergence of order 1; rounded up."""

        def integral() -> float:
            epsilon = lift(self._epsilon)
            small = (-epsilon / 2).exp()

            def at(u: acb, analytic: bool) -> acb:
                eta = epsilon + 2 * ((1 - (1 - u) * small) / u).log(analytic=analytic)
                return _complex_rho(eta, analytic)

            tolerance = arb(2) ** -60
            absolute = tolerance * epsilon.min(arb(1)) ** 2
            whole = acb.integral(at, arb(1) / 2, arb(1), rel_tol=tolerance, abs_tol=absolute)
            return above(_rho(self._eta(arb(1) / 2)) / 2 + whole.real)

        return at_precision(self._bits, integral)

    @cached_property
    def rho(self) -> float:
        """The supremum of K(s)/(s(1+s)), by the slope at 0; infinite where that is not proven."""
        return self.candidate if at_precision(self._bits, self._proven) else inf

    @cached_property
    def candidate(self) -> float:
        """The slope at 0 and a little more: what rho is if the proof succeeds."""
        kl = Fraction(self.kl)
        return at_precision(BITS, lambda: above(lift(kl + min(kl, Fraction(1)) * TOLERANCE)))

    def _proven(self) -> bool:
        mean = arb(self.kl)
        etas = [self._eta(u) for u in levels(PROOF)[0]]

        def shares(q: arb) -> list[arb]:
            s = 2 * q / (1 + (1 + 4 * q).sqrt())
            return [_cumulant(s, eta) for eta in etas]

        ratio = lift(self._epsilon) / mean  # from this order on pure DP is enough
        return bool(ratio <= 1) or holds_at_every_order(shares, [_rho(eta) for eta in etas], mean, ratio * (ratio - 1))

    def bound(self, s: Fraction) -> float:
        """K(s), rounded up."""
        if float(s) > 2 and float(s) * self._size > 16:
            return inf  # pure DP is better
        bits = self._bits + 2 * abs(s.numerator.bit_length() - s.denominator.bit_length())

        def moment(order: arb) -> float:
            points, trapezoids, _ = levels(CURVE)
            return above(_dot(trapezoids, [_cumulant(order, self._eta(u)).expm1() for u in points]).log1p())

        return at_precision(bits, lambda: moment(lift(s)))
