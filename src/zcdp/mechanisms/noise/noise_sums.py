"""Weighted sums of independent integer noises: their standard deviation and certified half-widths.

The tail probability of the sum is a Fourier series in its characteristic function. A little smooth noise is added so
that the series converges fast, and its tail and all other errors are bounded. Theorem: docs/theorems/noise-sums.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, pi
from typing import Protocol, runtime_checkable

from flint import arb

from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.numeric.balls import NotCertified, above, at_precision, enclose, lift
from zcdp.numeric.search import bisection

__all__ = ["KnownLaw", "NoiseSum", "short_variance"]


BALL_BITS = 96
VARIANCE_BITS = 30
"""The accuracy with which `short_variance` knows a variance before it shortens it."""
SHORT_BITS = 20
"""The length of the numerator of a shortened variance."""
SERIES_TERMS = 4750
"""The terms of the Fourier series that are summed."""
REACH_PER_BLUR = 500
"""The added smooth noise is at most the reach of the sum divided by this."""
BLUR_UNIFORMS = 12
"""The smooth noise is a sum of so many independent uniform variables."""
BEYOND_REACH_PART = Fraction(1, 50_000)
"""The probability that the sum exceeds its reach, as a part of the probability that may be missed."""
TRIES = 8
"""The attempts at a certified half-width, each a little wider than the last."""
NEGLIGIBLE_WAVE = arb(0, 2.0**-60)


@runtime_checkable
class KnownLaw(Protocol):
    """Symmetric noise on the integers with known characteristic and moment generating functions."""

    def wave(self) -> Callable[[arb], arb]:
        """The characteristic function, angle -> E cos(angle noise), at the working precision."""

    def growth(self) -> Callable[[arb], arb]:
        """A function of tilt: an upper bound on E e^{tilt noise}, or infinity, at the working precision."""

    def _second_moment(self) -> arb: ...


Term = tuple[KnownLaw, Fraction, int]
"""A noise, its coefficient in a sum, and the number of independent draws of it."""


@dataclass(frozen=True)
class NoiseSum:
    """The sum of coefficient times noise over independent draws: a term says which noise, coefficient and how many.

    >>> from zcdp import DiscreteGaussian
    >>> one = DiscreteGaussian(sigma=10)
    >>> one.accuracy().half_width, NoiseSum(((one, Fraction(1), 1),)).accuracy()
    (20, Accuracy(standard_deviation=10.00000..., half_width=20.08..., level=0.95, answers=1))
    >>> NoiseSum(((one, Fraction(1, 2), 4),)).accuracy().half_width
    19.6...
    """

    terms: tuple[Term, ...]

    def accuracy(self, level: Fraction = Fraction(19, 20)) -> Accuracy:
        """The standard deviation, rounded up, and a half-width exceeded with a probability of at most 1 - level."""
        return _accuracy(self.terms, level)


@lru_cache(256)
def _accuracy(terms: tuple[Term, ...], level: Fraction) -> Accuracy:
    def variance() -> arb:
        return sum((lift(share * share * count) * law._second_moment() for law, share, count in terms), arb(0))

    half = at_precision(BALL_BITS, lambda: _Reach(terms, 1 - level).half_width())
    return Accuracy(enclose(lambda: variance().sqrt())[1], half, float(level))


class _Reach:
    """The Fourier series of a sum of noises plus a smooth noise of at most `blur`, with twice its reach as the period.

    `miss` is the probability with which the sum may exceed the half-width.
    """

    def __init__(self, terms: tuple[Term, ...], miss: Fraction) -> None:
        self.terms, self.miss, self.rare = terms, lift(miss), lift(miss * BEYOND_REACH_PART)
        self.reach = self._reach()
        if not self.reach < inf:
            raise NotCertified("the noise is too wide: no float says how far it reaches")
        self.blur = self.reach / REACH_PER_BLUR
        self.step = arb.pi() / arb(self.reach)
        waves = sorted(
            ((law.wave(), lift(share), count) for law, share, count in terms), key=lambda one: -float(one[1])
        )
        self.waves = [self._wave(self.step * j, waves) for j in range(1, SERIES_TERMS + 1)]

    def _reach(self) -> float:
        """A number that the modulus of the sum exceeds with a probability of at most `rare`, by the Chernoff bound."""
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
        """The characteristic function of the sum with the smooth noise at an angle; a ball around 0 if negligible."""
        blurred = angle * arb(self.blur) / BLUR_UNIFORMS
        value = (blurred.sin() / blurred) ** BLUR_UNIFORMS
        for wave, share, count in waves:
            if abs(value) < 2.0**-60 or abs(one := wave(angle * share)) < 2.0**-60:
                return NEGLIGIBLE_WAVE  # All factors have a modulus of at most 1.
            value = value * one**count
        return value

    def outside(self, h: float) -> arb:
        """A certified upper bound on the probability that the modulus of the sum exceeds h, for h up to the reach."""
        inside = arb(h) - arb(self.blur)
        waves = (wave * (self.step * inside * j).sin() / j for j, wave in enumerate(self.waves, 1))
        return 1 - inside / arb(self.reach) - 2 / arb.pi() * sum(waves, arb(0)) + self.left_out() + self.rare

    @staticmethod
    def left_out() -> arb:
        """What the waves beyond the last one weigh at most."""
        return (
            2 / arb.pi() * (BLUR_UNIFORMS * REACH_PER_BLUR / (arb.pi() * SERIES_TERMS)) ** BLUR_UNIFORMS / BLUR_UNIFORMS
        )

    def half_width(self) -> float:
        """A certified half-width: found by bisection in floats, then verified in balls; at worst the reach itself."""
        import numpy as np

        places = np.arange(1, SERIES_TERMS + 1)
        waves = np.array([float(wave.mid()) for wave in self.waves]) / places
        angles = float(self.step.mid()) * places
        # On a lattice the tail is flat between points: what `outside` adds must fit, or no step further helps.
        wanted = float(self.miss - 2 * self.rare - self.left_out())

        def suffices(h: float) -> bool:
            return 1 - h / self.reach - 2 / pi * float(waves @ np.sin(angles * h)) <= wanted

        found = bisection(suffices, 0.0, self.reach, absolute=1e-6 * self.reach)[1] + self.blur
        for _ in range(TRIES):
            if found < self.reach and self.outside(found) <= self.miss:
                return found
            found *= 1 + 2.0**-12
        return self.reach


def short_variance(law: KnownLaw) -> Fraction:
    """The variance rounded to 20 bits: accurate enough for weights, and short, so that exact estimates stay short.

    >>> from zcdp import DiscreteGaussian
    >>> short_variance(DiscreteGaussian(sigma=9)), short_variance(DiscreteGaussian(sigma="0.3"))
    (Fraction(81, 1), Fraction(257447, 33554432))
    """
    for bits in (BALL_BITS, 4 * BALL_BITS, 16 * BALL_BITS):
        ball = at_precision(bits, law._second_moment)
        if ball.is_finite() and ball.rel_accuracy_bits() > VARIANCE_BITS and ball > arb(2) ** (-16 * BALL_BITS):
            mantissa, exponent = map(int, ball.mid().man_exp())
            extra = mantissa.bit_length() - SHORT_BITS
            return round(Fraction(mantissa) / Fraction(2) ** extra) * Fraction(2) ** (extra + exponent)
    raise NotCertified("the variance of the noise is too small to be told")
