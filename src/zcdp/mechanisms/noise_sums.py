"""Weighted sums of independent integer noises: their standard deviation, and how far they reach, from the exact law.

Theorem: docs/theorems/noise-sums.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, pi
from typing import Protocol, runtime_checkable

from flint import arb

from zcdp.mechanisms.accuracy import Accuracy
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.certify import NotCertified, enclose

__all__ = ["KnownLaw", "NoiseSum", "short_variance"]

BITS = 96
LEAST = 30
"""To so many bits a variance is known before it is shortened."""
SHORT = 20
TERMS = 4750
FINE = 500
"""The noise is smoothed over its reach, divided by this."""
POWER = 12
"""That of the smoothing, by a sum of so many uniform laws."""
RARE = Fraction(1, 50_000)
"""The share of what may be missed that is left to what lies beyond the reach."""
TRIES = 8
NOTHING = arb(0, 2.0**-60)


@runtime_checkable
class KnownLaw(Protocol):
    """Symmetric noise on the integers whose transforms are known, both as functions at the working precision."""

    def wave(self) -> Callable[[arb], arb]:
        """E cos(angle noise)."""

    def growth(self) -> Callable[[arb], arb]:
        """A bound on E e^{tilt noise}, infinite where there is none."""

    def _second_moment(self) -> arb: ...


Term = tuple[KnownLaw, Fraction, int]


@dataclass(frozen=True)
class NoiseSum:
    """The sum of coefficient times noise, over so many independent draws of each law.

    >>> from zcdp import DiscreteGaussian
    >>> one = DiscreteGaussian(sigma=10)
    >>> one.accuracy().half_width, NoiseSum(((one, Fraction(1), 1),)).accuracy()
    (20, Accuracy(standard_deviation=10.00000..., half_width=20.08..., level=0.95, answers=1))
    >>> NoiseSum(((one, Fraction(1, 2), 4),)).accuracy().half_width
    19.6...
    """

    terms: tuple[Term, ...]

    def accuracy(self, level: Fraction = Fraction(19, 20)) -> Accuracy:
        """Standard deviation, rounded up, and a half-width exceeded with a probability of at most 1 - level."""
        return _accuracy(self.terms, level)


@lru_cache(64)
def _accuracy(terms: tuple[Term, ...], level: Fraction) -> Accuracy:
    def variance() -> arb:
        return sum((lift(share * share * count) * law._second_moment() for law, share, count in terms), arb(0))

    half = at_precision(BITS, lambda: _Reach(terms, 1 - level).half_width())
    return Accuracy(enclose(lambda: variance().sqrt())[1], half, float(level))


class _Reach:
    """The law of a sum of noises with a smooth one of at most `blur` added, folded into a period of twice its reach."""

    def __init__(self, terms: tuple[Term, ...], miss: Fraction) -> None:
        self.terms, self.miss, self.rare = terms, lift(miss), lift(miss * RARE)
        self.reach = self._reach()
        if not self.reach < inf:
            raise NotCertified("the noise is too wide: no float says how far it reaches")
        self.blur = self.reach / FINE
        self.step = arb.pi() / arb(self.reach)
        waves = sorted(
            ((law.wave(), lift(share), count) for law, share, count in terms), key=lambda one: -float(one[1])
        )
        self.waves = [self._wave(self.step * j, waves) for j in range(1, TERMS + 1)]

    def _reach(self) -> float:
        """A number that the sum reaches in size with a probability of at most `rare`, by Chernoff's bound."""
        growths = [(law.growth(), lift(share), count) for law, share, count in self.terms]

        def beyond(tilt: arb) -> arb:
            logs = (count * growth(tilt * share).log() for growth, share, count in growths)
            return (sum(logs, arb(0)) + (2 / self.rare).log()) / tilt

        variance = sum((share * share * count * short_variance(law) for law, share, count in self.terms), Fraction(0))
        power = 4 - (variance.numerator.bit_length() - variance.denominator.bit_length()) // 2
        best = beyond(arb(2) ** power)
        while not best.is_finite() or beyond(arb(2) ** (power - 1)) < best:
            power -= 1
            best = beyond(arb(2) ** power)
        near = (beyond(arb(2) ** power * part / 8) for part in range(5, 16))
        return min(above(one) for one in near if one.is_finite())

    def _wave(self, angle: arb, waves: list[tuple[Callable[[arb], arb], arb, int]]) -> arb:
        blurred = angle * arb(self.blur) / POWER
        value = (blurred.sin() / blurred) ** POWER
        for wave, share, count in waves:
            if abs(value) < 2.0**-60 or abs(one := wave(angle * share)) < 2.0**-60:
                return NOTHING  # all factors are at most 1 in size
            value = value * one**count
        return value

    def outside(self, h: float) -> arb:
        """At least the probability that the sum exceeds h, which is at most the reach, in size."""
        inside = arb(h) - arb(self.blur)
        waves = (wave * (self.step * inside * j).sin() / j for j, wave in enumerate(self.waves, 1))
        return 1 - inside / arb(self.reach) - 2 / arb.pi() * sum(waves, arb(0)) + self.left_out() + self.rare

    @staticmethod
    def left_out() -> arb:
        """What the waves beyond the last one weigh at most."""
        return 2 / arb.pi() * (POWER * FINE / (arb.pi() * TERMS)) ** POWER / POWER

    def half_width(self) -> float:
        import numpy as np

        places = np.arange(1, TERMS + 1)
        waves = np.array([float(wave.mid()) for wave in self.waves]) / places
        angles, low, high = float(self.step.mid()) * places, 0.0, self.reach
        # On a lattice the tail is flat between points: what `outside` adds must fit, or no step further helps.
        wanted = float(self.miss - 2 * self.rare - self.left_out())
        while high - low > 1e-6 * self.reach:
            middle = (low + high) / 2
            missed = 1 - middle / self.reach - 2 / pi * float(waves @ np.sin(angles * middle))
            low, high = (low, middle) if missed <= wanted else (middle, high)
        found = high + self.blur
        for _ in range(TRIES):
            if found < self.reach and self.outside(found) <= self.miss:
                return found
            found *= 1 + 2.0**-12
        return self.reach


def short_variance(law: KnownLaw) -> Fraction:
    """The variance to twenty bits: close enough for weights, and short, so that exact estimates are.

    >>> from zcdp import DiscreteGaussian
    >>> short_variance(DiscreteGaussian(sigma=9)), short_variance(DiscreteGaussian(sigma="0.3"))
    (Fraction(81, 1), Fraction(257447, 33554432))
    """
    for bits in (BITS, 4 * BITS, 16 * BITS):
        ball = at_precision(bits, law._second_moment)
        if ball.is_finite() and ball.rel_accuracy_bits() > LEAST and ball > arb(2) ** (-16 * BITS):
            mantissa, exponent = map(int, ball.mid().man_exp())
            extra = mantissa.bit_length() - SHORT
            return round(Fraction(mantissa) / Fraction(2) ** extra) * Fraction(2) ** (extra + exponent)
    raise NotCertified("the variance of the noise is too small to be told")
