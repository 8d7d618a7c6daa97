"""Accuracy of additive noise: its standard deviation, and the half-width of a confidence interval for the truth."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from flint import arb

from zcdp.mechanisms.sensitivity import Sensitivity
from zcdp.numeric.balls import Undecided, at_precision, enclose, lift, upper_float
from zcdp.numeric.exact import Value, integer, probability
from zcdp.text.calls import Spoken

__all__ = ["Accuracy", "IntegerNoise", "Noise", "RealNoise", "least_whole"]

PRECISIONS = (128, 512, 2048)
"""The bits at which `least_whole` compares two probabilities, one after the other."""
FARTHEST = 1 << 1100
"""A half-width beyond the range of floats: `least_whole` returns inf from here on."""


@dataclass(frozen=True)
class Accuracy(metaclass=Spoken):
    """With a probability of at least `level` all of so many `answers` are within `half_width` of the truth.

    Both numbers are rounded up: `standard_deviation` by less than two units in the last place, and `half_width` of real
    noise too. For integer noise `half_width` is the least integer with that property.
    """

    standard_deviation: float
    half_width: float
    level: float
    answers: int = 1


class Noise:
    """Independent noise on each answer, with a distribution that does not depend on the data.

    Releases of real noise are rounded to a grid, which adds an error of at most half a grid step.
    Theorem: docs/theorems/accuracy.md.
    """

    sensitivity: Any

    @abstractmethod
    def _second_moment(self) -> arb:
        """The variance of the noise, at the working precision."""

    @abstractmethod
    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h such that |noise| exceeds h with a probability of at most `miss`, rounded up."""

    def accuracy(self, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
        """Standard deviation of the noise on each answer, and the half-width of an interval that contains the truth.

        With a probability of at least `level` the noise on all of so many `answers` is at most the half-width in size,
        which is computed from the exact distribution of the noise. Theorem: docs/theorems/accuracy.md.

        >>> from zcdp import DiscreteLaplace, Laplace
        >>> Laplace(scale=10).accuracy()
        Accuracy(standard_deviation=14.142135623730..., half_width=29.95732273553991, level=0.95, answers=1)
        >>> DiscreteLaplace(scale=10).accuracy(level=0.99, answers=100).half_width
        92
        """
        chance, many = probability(level, "level"), integer(answers, "answers", 1)

        def miss() -> arb:
            return lift(1 - chance) if many == 1 else -(lift(chance).log() / many).expm1()

        deviation = enclose(lambda: self._second_moment().sqrt())[1]
        return Accuracy(deviation, self._half_width(miss), float(chance), many)

    @property
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""
        sensitivity = self.sensitivity
        return sensitivity.largest() if isinstance(sensitivity, Sensitivity) else Fraction(sensitivity)

    @property
    def relative_error(self) -> float:
        """The standard deviation of the noise divided by the largest change of one answer; it has no unit."""
        return upper_float(lambda: self._second_moment().sqrt() / lift(self.unit))


class RealNoise(Noise):
    """Noise with a density: subclasses have a formula for its quantiles."""

    @abstractmethod
    def _quantile(self, miss: arb) -> arb:
        """The value that |noise| exceeds with probability `miss`, at the working precision."""

    def _half_width(self, miss: Callable[[], arb]) -> float:
        return enclose(lambda: self._quantile(miss()))[1]


class IntegerNoise(Noise):
    """Noise on the integers: subclasses have a formula for its tails."""

    @abstractmethod
    def _outside(self, h: int) -> arb:
        """The probability that |noise| exceeds h, at the working precision."""

    def _half_width(self, miss: Callable[[], arb]) -> float:
        return least_whole(self._outside, miss, self._near(miss))

    def _near(self, _: Callable[[], arb]) -> int:
        """The integer at which the search for the half-width starts: a heuristic."""
        return 0


def least_whole(outside: Callable[[int], arb], miss: Callable[[], arb], start: int) -> float:
    """The least integer h >= 0 with outside(h) <= miss, for a decreasing `outside`; inf beyond the range of floats.

    If balls of 2048 bits cannot decide the inequality, for example because both sides are equal, it counts as false;
    the result is then too large by one. Theorem: docs/theorems/accuracy.md.

    >>> least_whole(lambda h: arb(2) ** -h, lambda: arb(1) / 1000, 0)
    10
    """

    def fits(h: int) -> bool:
        for bits in PRECISIONS:
            try:
                difference = at_precision(bits, lambda: outside(h) - miss())
            except Undecided:
                continue
            if difference <= 0:
                return True
            if difference > 0:
                return False
        return False

    step = 1
    low, high = start - 1, start  # fits(low) is False, or low is -1
    if fits(start):
        while low >= 0 and fits(low):
            high, low, step = low, max(low - step, -1), 2 * step
    else:
        low, high = start, start + 1
        while not fits(high):
            low, step = high, 2 * step
            high = low + step
            if high > FARTHEST:
                return inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
