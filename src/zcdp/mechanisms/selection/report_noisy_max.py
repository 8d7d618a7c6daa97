"""Report noisy max: the candidate whose utility plus noise is largest, for Laplace, Gumbel and exponential noise.

With Laplace noise the privacy bound goes by the level u of the winning score, the value of its distribution function:
given u, the choice of the winner is a bounded-range mechanism, so that

    K(s) <= log int_0^1 exp K_BR(s; eta(u)) du,    eta(u) = 2 log( 1 + (e^{epsilon/2} - 1)/max(u, 1/2) ),

where K_BR and rho_BR are cumulant and rho of bounded range. The slope of this bound at s = 0 is
int rho_BR(eta(u)) du. That it bounds the ratio K(s)/(s(1+s)) at all orders is shown for each epsilon by a certified
computation over cells of s. Theorem: docs/theorems/winning-level.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import frexp, inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import acb, arb

from zcdp.mechanisms.base import Mechanism, greatest_in_domain
from zcdp.mechanisms.noise.additive import shift_cumulant
from zcdp.mechanisms.noise.laplace import Laplace
from zcdp.mechanisms.selection.bounded_range import BoundedRange
from zcdp.mechanisms.selection.chord_bounds import Chords
from zcdp.mechanisms.selection.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.selection.scores_base import Selects, checked_monotone, checked_noise
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.exact import Exact, Value, positive, positive_rational
from zcdp.numeric.functions import Number
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss import Claim, laplace_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReportNoisyMax", "WinningLevel", "holds_at_every_order", "levels"]


LEAST_EPSILON, LARGEST_EPSILON = 2.0**-40, 2.0**19
"""The levels are used for epsilon between these. Below, a closed form is as good; above, nothing is gained."""
RHO_TOLERANCE = Fraction(1, 1 << 21)
"""rho is stated as the slope at 0 plus this fraction of the smaller of the slope and 1."""
LEVEL_BITS = 128
"""Working precision at epsilon about 1; a smaller epsilon takes more."""
PROOF_PANELS, CURVE_PANELS = 32, 128
"""Panels of the quadrature in u: for the proof over all orders, and for one point of the curve (accurate to 1e-5)."""
LARGEST_CELL_RATIO, LEAST_CELL_RATIO, MOST_CELLS = Fraction(3, 2), Fraction(1025, 1024), 1000
"""The cells of the proof are [q, g q] in q = s(1+s): bounds on g, and on the number of cells."""

Cumulants = Callable[[arb], list[arb]]


def _sinhc(x: arb) -> arb:
    return x.sinh() / x


def _rho(eta: arb) -> arb:
    """rho_BR(eta) = log( sinh(h)/h ) + h coth h - 1, h = eta/2."""
    half = eta / 2
    return _sinhc(half).log() + half * half.coth() - 1


def _complex_rho(eta: acb, analytic: bool) -> acb:
    """rho_BR at a complex eta, for `acb.integral`: with `analytic` set, NaN where the logarithm is not analytic."""
    half = eta / 2
    sinhc = (half * acb(0, 1)).sinc()
    return sinhc.log(analytic=analytic) + half.cosh() / sinhc - 1


def _cumulant(s: arb, eta: arb) -> arb:
    """K_BR(s; eta) = (1+s) g((1+s) eta) - s g(s eta) - g(eta), g(x) = log( sinh(x/2)/(x/2) )."""
    order = 1 + s
    return order * _sinhc(order * eta / 2).log() - s * _sinhc(s * eta / 2).log() - _sinhc(eta / 2).log()


def levels(panels: int) -> tuple[list[arb], list[arb], list[arb]]:
    """Points u from 1/2 to 1, and two lists of weights for means over u in [0, 1] of functions of max(u, 1/2).

    The first weights, trapezoidal, give an upper bound on the mean of a convex function. The second, which put each
    panel on its right end, give a lower bound on the mean of a decreasing function.
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


def holds_at_every_order(cumulants: Cumulants, slopes: list[arb], mean: arb, end: arb) -> bool:
    """Certified: whether E exp k(q, U) <= exp( q (mean + tolerance) ) is proven for all q = s(1+s) up to `end`.

    `cumulants` maps q to k(q, u) at the points u of `levels`, which is convex in u; k(q, u)/q decreases in q from
    `slopes`, whose mean over u is at most `mean`. On a cell [q, g q] the inequality follows from the one at its right
    end with k(q, u)/q, an upper bound, in place of the smaller values inside.
    """
    _, trapezoids, ends = levels(PROOF_PANELS)
    tolerance = lift(RHO_TOLERANCE) * mean.min(arb(1))
    q = (8 * tolerance / mean**2).mid()
    for _ in range(MOST_CELLS):
        if _dot(trapezoids, [_beyond(q * x) for x in slopes]) <= _beyond(q * mean) + q * tolerance:
            break
        q = q / 2
    else:
        return False
    step = LARGEST_CELL_RATIO
    for _ in range(MOST_CELLS):
        if q >= end:
            return True
        values = cumulants(q)
        saved = _dot(ends, [q * slope - value for slope, value in zip(slopes, values, strict=True)])
        while True:
            right = lift(step)
            if _dot(trapezoids, [_beyond(right * x) for x in values]) <= _beyond(right * q * mean) + right * saved:
                break
            step = 1 + (step - 1) / 2
            if step < LEAST_CELL_RATIO:
                return False
        q, step = (q * right).mid(), min(1 + 2 * (step - 1), LARGEST_CELL_RATIO)
    return False


class WinningLevel:
    """The bound by levels for one epsilon, in units where the noise has scale 1 and scores move by at most epsilon."""

    def __init__(self, epsilon: Exact) -> None:
        self._epsilon = epsilon
        self._size = at_precision(64, lambda: float(lift(epsilon).mid()))
        self.extreme = not LEAST_EPSILON < self._size < LARGEST_EPSILON
        self._bits = LEVEL_BITS + max(0, -6 * frexp(self._size)[1])  # as many more as cancel at a small epsilon

    def _eta(self, u: arb) -> arb:
        # 1 + (e^{epsilon/2} - 1)/u = e^{epsilon/2} (1 - (1-u) e^{-epsilon/2})/u, where no ball overflows
        epsilon = lift(self._epsilon)
        return epsilon + 2 * ((1 - (1 - u) * (-epsilon / 2).exp()) / u).log()

    @cached_property
    def kl(self) -> float:
        """A certified upper bound on K'(0), the divergence of order 1: the slope of the bound at s = 0."""

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
        """A certified upper bound on rho, nearly the slope at 0; infinite if the proof over all orders fails."""
        return self.candidate if at_precision(self._bits, self._proven) else inf

    @cached_property
    def candidate(self) -> float:
        """The slope at 0 plus the tolerance: a bound on rho only if the proof over all orders succeeds."""
        kl = Fraction(self.kl)
        return at_precision(LEVEL_BITS, lambda: above(lift(kl + min(kl, Fraction(1)) * RHO_TOLERANCE)))

    def _proven(self) -> bool:
        mean = arb(self.kl)
        etas = [self._eta(u) for u in levels(PROOF_PANELS)[0]]

        def cumulants(q: arb) -> list[arb]:
            s = 2 * q / (1 + (1 + 4 * q).sqrt())
            return [_cumulant(s, eta) for eta in etas]

        ratio = lift(self._epsilon) / mean  # from this order on pure DP is enough
        return bool(ratio <= 1) or holds_at_every_order(
            cumulants, [_rho(eta) for eta in etas], mean, ratio * (ratio - 1)
        )

    def bound(self, s: Fraction) -> float:
        """A certified upper bound on K(s); infinite where the bound by pure DP is known to be better."""
        if float(s) > 2 and float(s) * self._size > 16:
            return inf  # pure DP is better
        bits = self._bits + 2 * abs(s.numerator.bit_length() - s.denominator.bit_length())

        def moment(s_ball: arb) -> float:
            points, trapezoids, _ = levels(CURVE_PANELS)
            return above(_dot(trapezoids, [_cumulant(s_ball, self._eta(u)).expm1() for u in points]).log1p())

        return at_precision(bits, lambda: moment(lift(s)))


# The mechanism, for each of the three kinds of noise.

CLOSED_FORM_BITS = 512
"""Working precision of the closed forms."""


@dataclass(frozen=True, init=False, repr=False)
class ReportNoisyMax(Selects, Mechanism):
    """The index of the largest utility after noise of scale 2 sensitivity/epsilon, or half of it with `monotone=True`.

    `monotone=True` means that all utilities move the same way between neighbours. With Gumbel noise this is
    the exponential mechanism, with exponential noise permute-and-flip, and rho is exact. With Laplace noise rho and the
    curve are proven upper bounds, and `is_tight` is False.
    Theorems: docs/theorems/report-noisy-max.md, docs/theorems/winning-level.md.

    >>> m = ReportNoisyMax(epsilon=1)
    >>> m.is_tight, m.rho_bounds
    (False, (0.16434..., 0.26787457...))
    """

    theorem: ClassVar[str] = "report-noisy-max"
    epsilon: Exact
    noise: str = "laplace"
    monotone: bool = False

    def __init__(self, *, epsilon: Value, noise: str = "laplace", monotone: bool = False) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"), noise=checked_noise(noise), monotone=checked_monotone(monotone))

    @property
    def _noise(self) -> str:
        return self.noise

    @property
    def is_tight(self) -> bool:
        return self.noise != "laplace"

    @cached_property
    @unlimited
    def _bound(self) -> Mechanism:
        """A mechanism with the same curve; for Laplace noise one whose curve is an upper bound."""
        if self.noise == "gumbel":
            return BoundedRange(eta=self.epsilon)
        return PermuteAndFlip(epsilon=self.epsilon) if self.noise == "exponential" else Laplace(epsilon=self.epsilon)

    def usual_divisor(self) -> int:
        return self._bound.usual_divisor()

    is_envelope = True  # a class of pairs, for each kind of noise
    adds_up = True

    def pair(self) -> Claim | None:
        """A dominating pair: the Laplace pair for Laplace noise, else the pair of the mechanism with the same curve.

        Theorem: docs/theorems/lipschitz.md.
        """
        return Claim(laplace_pair(self.epsilon)) if self.noise == "laplace" else self._bound.pair()

    @cached_property
    def _level(self) -> WinningLevel:
        return WinningLevel(self.epsilon)

    @cached_property
    def _least_rho(self) -> float:
        """A certified upper bound on rho with Laplace noise: the least of the bounds that are known."""
        return min(self._bound.rho, self._tiny if self._level.extreme else self._level.rho)

    @property
    def _tiny(self) -> float:
        """(3/2)(e^{epsilon/2} - 1)^2 (1 + 2^-21), a bound on rho at every epsilon that is good at a tiny one."""
        if self._bound.pure_epsilon > 1:
            return inf
        half = partial(lift, self.epsilon)
        return at_precision(
            CLOSED_FORM_BITS, lambda: above(3 * (half() / 2).expm1() ** 2 / 2 * (1 + lift(RHO_TOLERANCE)))
        )

    def _at(self, s: Fraction) -> float:
        """A certified upper bound on K(s) with Laplace noise: the least by levels, rho, a Laplace pair and pure DP."""

        def plain() -> float:
            s_ball, epsilon = lift(s), lift(self.epsilon)
            laplace = shift_cumulant(s_ball, epsilon, s_ball / (1 + s_ball))
            bounds = (laplace, s_ball * epsilon, s_ball * (1 + s_ball) * self._least_rho)
            return min(above(bound) if bound.is_finite() else inf for bound in bounds)

        return min(at_precision(CLOSED_FORM_BITS, plain), self._level.bound(s))

    @cached_property
    def _chords(self) -> Chords:
        return Chords(self._at, min(self._bound.rho, self._level.kl), self.epsilon)

    @property
    def _plain(self) -> bool:
        """Whether the curve is that of `_bound`: with Gumbel or exponential noise, and at an extreme epsilon."""
        return self.noise != "laplace" or self._level.extreme

    def cumulant(self, s: Number) -> Number:
        if self._plain:
            return self._bound.cumulant(s)
        value: Number = self._chords.value(real_s(s))  # type: ignore[assignment]
        return value

    def kl(self) -> arb:
        return self._bound.kl() if self._plain else arb(self._chords.kl)

    def peak(self) -> Peak:
        return self._bound.peak() if self.noise != "laplace" else Peak(arb(self._least_rho), arb(1))

    def _divergence(self, excess: Fraction) -> float:
        if self.noise != "laplace":
            return super()._divergence(excess)
        by_rho = at_precision(CLOSED_FORM_BITS, lambda: above(lift(1 + excess) * self._least_rho))
        return min(self.pure_epsilon, super()._divergence(excess), by_rho)

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism of least noise that is certified to stay within `rho`.

        With Laplace noise the bound on rho needs a proof at each epsilon. The search skips these proofs and makes only
        the one at the epsilon that it returns.
        """
        if "epsilon" not in fixed and fixed.get("noise", "laplace") == "laplace":
            target = positive_rational(rho, "rho")
            best = greatest_in_domain("epsilon", rho, lambda x: cls(epsilon=x, **fixed)._expected <= target)
            if (found := cls(epsilon=best, **fixed)).rho <= target:
                return found
        return super().calibrate(rho=rho, **fixed)

    @property
    def _expected(self) -> float:
        """What `_least_rho` will be with Laplace noise if the proof over all orders succeeds; not certified."""
        return min(self._bound.rho, self._tiny if self._level.extreme else self._level.candidate)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 4], size), selection.draw([1, 4] if self.monotone else [1, 3], size)

    def witness(self) -> arb:
        """A lower bound on rho: KL of a concrete pair, two tied candidates against three tied ones.

        The two are behind by n epsilon/16 on one input and ahead by the rest of epsilon on the other. The result is the
        largest KL over n and both directions.
        """
        epsilon, best = lift(self.epsilon), arb(0)
        for n in range(17):
            win, lose = _two_beat_three(epsilon * n / 16), _two_lose_to_three(epsilon * (16 - n) / 16)
            one = (1 - win) * ((1 - win) / lose).log() + win * (win / (1 - lose)).log()
            other = lose * (lose / (1 - win)).log() + (1 - lose) * ((1 - lose) / win).log()
            best = best.max(one).max(other)
        return best


def _two_beat_three(w: arb) -> arb:
    """P(max of two Laplace variables exceeds w + max of three others), w >= 0: the integral over the first maximum."""
    e = (-w).exp()
    return e**3 / 80 + e**3 * ((1 / e**2 - 1) - (1 / e - 1)) / 16 + e * (arb(15) / 32 - e * 13 / 160)


def _two_lose_to_three(w: arb) -> arb:
    """P(max of three Laplace variables exceeds w + max of two others), w >= 0: the integral over the first maximum."""
    e = (-w).exp()
    middle = 3 * e**2 / 8 * ((1 / e - 1) - w + (1 - e) / 4)
    return 3 * e**2 / 160 + middle + 3 * e / 2 * (arb(7) / 12 - e * 11 / 48 + e**2 / 30)
