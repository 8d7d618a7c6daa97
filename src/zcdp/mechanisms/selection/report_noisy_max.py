"""Report noisy max with Laplace noise, level by level: at the winning score's level u the winner is in bounded range.

    K(s) <= log int_0^1 exp K_BR(s; eta(u)) du,    eta(u) = 2 log( 1 + (e^{epsilon/2} - 1)/max(u, 1/2) ),

K_BR and rho_BR those of bounded range; the slope at 0 is int rho_BR(eta(u)) du, and the proof that it bounds the ratio
K(s)/(s(1+s)) at all orders is a certified computation over cells. Theorem: docs/theorems/winning-level.md.
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

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.additive import shift_cumulant
from zcdp.mechanisms.noise.laplace import Laplace
from zcdp.mechanisms.selection.bounded_range import BoundedRange
from zcdp.mechanisms.selection.by_scores import Selects, checked_monotone, checked_noise
from zcdp.mechanisms.selection.chords import Chords
from zcdp.mechanisms.selection.permute_and_flip import PermuteAndFlip
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.exact import Exact, Value, positive, positive_rational
from zcdp.numeric.functions import Number
from zcdp.numeric.search import greatest_float
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss import LossLaw, laplace_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReportNoisyMax", "WinningLevel", "holds_at_every_order", "levels"]


TINY, HUGE = 2.0**-40, 2.0**19
"""Beyond these epsilons a closed form is as good, or there is nothing to be gained."""
TOLERANCE = Fraction(1, 1 << 21)
"""How far rho may be above the slope at 0: this share of it, or of 1 if it is larger."""
LEVEL_BITS = 128
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
        self._bits = LEVEL_BITS + max(0, -6 * frexp(self._size)[1])  # what cancels where epsilon is small

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
        return at_precision(LEVEL_BITS, lambda: above(lift(kl + min(kl, Fraction(1)) * TOLERANCE)))

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


# Report noisy max: the candidate whose utility plus noise is largest, for three kinds of noise.

PAIR_BITS = 512


@dataclass(frozen=True, init=False, repr=False)
class ReportNoisyMax(Selects, Mechanism):
    """Noise of scale 2 sensitivity/epsilon; with `monotone=True`, if all utilities move the same way, half of it.

    With Gumbel noise it is the exponential mechanism, with exponential noise permute-and-flip: both exact. With Laplace
    noise rho and the curve are proven upper bounds, `is_tight` False.
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
    def _bound(self) -> Mechanism:
        """The mechanism that it is; for Laplace noise one that it never exceeds, and that the levels improve on."""
        if self.noise == "gumbel":
            return BoundedRange(eta=self.epsilon)
        return PermuteAndFlip(epsilon=self.epsilon) if self.noise == "exponential" else Laplace(epsilon=self.epsilon)

    def usual_divisor(self) -> int:
        return self._bound.usual_divisor()

    is_envelope = True  # a class of pairs, for each kind of noise
    adds_up = True

    def pair(self) -> LossLaw | None:
        """That of bounded range, or the Laplace pair. Theorem: docs/theorems/lipschitz.md."""
        return laplace_pair(self.epsilon) if self.noise == "laplace" else self._bound.pair()

    @cached_property
    def _level(self) -> WinningLevel:
        return WinningLevel(self.epsilon)

    @cached_property
    def _least_rho(self) -> float:
        """rho with Laplace noise: by the levels, or that of Laplace."""
        return min(self._bound.rho, self._tiny if self._level.extreme else self._level.rho)

    @property
    def _tiny(self) -> float:
        """(3/2)(e^{epsilon/2} - 1)^2, which holds for every epsilon and is of use where it is tiny."""
        if self._bound.pure_epsilon > 1:
            return inf
        half = partial(lift, self.epsilon)
        return at_precision(PAIR_BITS, lambda: above(3 * (half() / 2).expm1() ** 2 / 2 * (1 + lift(TOLERANCE))))

    def _at(self, s: Fraction) -> float:
        """K(s) with Laplace noise, rounded up: by the levels, by rho, as Laplace, or by pure DP."""

        def plain() -> float:
            order, epsilon = lift(s), lift(self.epsilon)
            laplace = shift_cumulant(order, epsilon, order / (1 + order))
            bounds = (laplace, order * epsilon, order * (1 + order) * self._least_rho)
            return min(above(bound) if bound.is_finite() else inf for bound in bounds)

        return min(at_precision(PAIR_BITS, plain), self._level.bound(s))

    @cached_property
    def _chords(self) -> Chords:
        return Chords(self._at, min(self._bound.rho, self._level.kl), self.epsilon)

    @property
    def _plain(self) -> bool:
        """Whether the curve is that of another mechanism: exact, or of Laplace noise where epsilon is extreme."""
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
        by_rho = at_precision(PAIR_BITS, lambda: above(lift(1 + excess) * self._least_rho))
        return min(self.pure_epsilon, super()._divergence(excess), by_rho)

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism of least noise that is certified to stay within `rho`.

        With Laplace noise rho at each epsilon has a proof of its own: all but the last are taken as given.
        """
        if "epsilon" not in fixed and fixed.get("noise", "laplace") == "laplace":
            target = positive_rational(rho, "rho")
            best = greatest_float(lambda epsilon: cls(epsilon=epsilon, **fixed)._expected <= target)
            if best is not None and (found := cls(epsilon=best, **fixed)).rho <= target:
                return found
        return super().calibrate(rho=rho, **fixed)

    @property
    def _expected(self) -> float:
        """rho with Laplace noise, if the proof over all orders succeeds."""
        return min(self._bound.rho, self._tiny if self._level.extreme else self._level.candidate)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        selection = self._selection(1)
        return selection.draw([0, 4], size), selection.draw([1, 4] if self.monotone else [1, 3], size)

    def witness(self) -> arb:
        """KL for two tied candidates against three: behind by some share of epsilon, then ahead by the rest of it."""
        epsilon, best = lift(self.epsilon), arb(0)
        for n in range(17):
            win, lose = _two_beat_three(epsilon * n / 16), _two_lose_to_three(epsilon * (16 - n) / 16)
            one = (1 - win) * ((1 - win) / lose).log() + win * (win / (1 - lose)).log()
            other = lose * (lose / (1 - win)).log() + (1 - lose) * ((1 - lose) / win).log()
            best = best.max(one).max(other)
        return best


def _two_beat_three(w: arb) -> arb:
    """P(max of two Laplace variables exceeds w + max of three), w >= 0, by integrating over the former."""
    e = (-w).exp()
    return e**3 / 80 + e**3 * ((1 / e**2 - 1) - (1 / e - 1)) / 16 + e * (arb(15) / 32 - e * 13 / 160)


def _two_lose_to_three(w: arb) -> arb:
    """P(max of three Laplace variables exceeds w + max of two), w >= 0, by integrating over the former."""
    e = (-w).exp()
    middle = 3 * e**2 / 8 * ((1 / e - 1) - w + (1 - e) / 4)
    return 3 * e**2 / 160 + middle + 3 * e / 2 * (arb(7) / 12 - e * 11 / 48 + e**2 / 30)
