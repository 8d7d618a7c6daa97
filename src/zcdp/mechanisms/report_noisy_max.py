"""Report noisy max: the candidate whose utility plus noise is largest, for three kinds of noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.bounded_range import BoundedRange
from zcdp.mechanisms.laplace import Laplace
from zcdp.mechanisms.noise import shift_cumulant
from zcdp.mechanisms.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.selects import Selects, checked_monotone, checked_noise
from zcdp.mechanisms.winning_level import TOLERANCE, WinningLevel
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.exact import Exact, Value, positive, positive_rational
from zcdp.numeric.floats import greatest_float
from zcdp.numeric.functions import Number
from zcdp.numeric.once import cached_property
from zcdp.privacy.chords import Chords
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_order
from zcdp.privacy.loss import LossLaw, laplace_pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ReportNoisyMax"]

BITS = 512


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
        return at_precision(BITS, lambda: above(3 * (half() / 2).expm1() ** 2 / 2 * (1 + lift(TOLERANCE))))

    def _at(self, s: Fraction) -> float:
        """K(s) with Laplace noise, rounded up: by the levels, by rho, as Laplace, or by pure DP."""

        def plain() -> float:
            order, epsilon = lift(s), lift(self.epsilon)
            laplace = shift_cumulant(order, epsilon, order / (1 + order))
            bounds = (laplace, order * epsilon, order * (1 + order) * self._least_rho)
            return min(above(bound) if bound.is_finite() else inf for bound in bounds)

        return min(at_precision(BITS, plain), self._level.bound(s))

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
        value: Number = self._chords.value(real_order(s))  # type: ignore[assignment]
        return value

    def kl(self) -> arb:
        return self._bound.kl() if self._plain else arb(self._chords.kl)

    def peak(self) -> Peak:
        return self._bound.peak() if self.noise != "laplace" else Peak(arb(self._least_rho), arb(1))

    def _divergence(self, excess: Fraction) -> float:
        if self.noise != "laplace":
            return super()._divergence(excess)
        by_rho = at_precision(BITS, lambda: above(lift(1 + excess) * self._least_rho))
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
