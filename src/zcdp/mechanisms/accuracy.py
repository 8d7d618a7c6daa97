"""Accuracy of noise: its standard deviation, and how far from the truth an answer is at most, at a level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Protocol

from flint import arb

from zcdp.mechanisms.sensitivity import Sensitivity
from zcdp.numeric.balls import Undecided, at_precision, enclose, lift, upper_float
from zcdp.numeric.exact import Value, integer, probability
from zcdp.text.calls import spoken_class

__all__ = ["Accuracy", "Noise", "largest_move", "least_whole", "noise_accuracy", "noise_relative_error"]

PRECISIONS = (128, 512, 2048)
FARTHEST = 1 << 1100
"""Beyond floats: where noise reaches further no number says how far."""


@spoken_class
@dataclass(frozen=True)
class Accuracy:
    """With a probability of at least `level` all of so many `answers` are within `half_width` of the truth.

    Both numbers are rounded up: `standard_deviation` by less than two units in the last place, and so is `half_width`
    of real noise; of integer noise it is the least whole number that has the property.
    """

    standard_deviation: float
    half_width: float
    level: float
    answers: int = 1


class Noise(ABC):
    """Independent noise on each answer, with a distribution that does not depend on the data, for `isinstance`.

    Classes that add noise register themselves and use `noise_accuracy` and `noise_relative_error` as methods, so that
    they need not inherit from this one. Releases of real noise are rounded to a grid, which adds an error of at most
    half a grid step. Theorem: docs/theorems/accuracy.md.
    """

    sensitivity: Any

    @abstractmethod
    def _second_moment(self) -> arb:
        """The variance of the noise, at the working precision."""

    @abstractmethod
    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h at which |noise| exceeds h with a probability of at most `miss`, rounded up."""

    @abstractmethod
    def accuracy(self, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
        """Standard deviation, and the half-width of an interval that holds the truth."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""


class NoiseLaw(Protocol):
    """What `noise_accuracy` and `noise_relative_error` ask of the class whose methods they are."""

    def _second_moment(self) -> arb: ...

    def _half_width(self, miss: Callable[[], arb]) -> float: ...

    @property
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""


def noise_accuracy(self: NoiseLaw, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
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


def largest_move(sensitivity: Any) -> Fraction:
    """The largest change of one answer between neighbours."""
    return sensitivity.largest() if isinstance(sensitivity, Sensitivity) else Fraction(sensitivity)


def noise_relative_error(noise: NoiseLaw) -> float:
    """The standard deviation of the noise divided by the largest change of one answer; it has no unit."""
    return upper_float(lambda: noise._second_moment().sqrt() / lift(noise.unit))


def least_whole(outside: Callable[[int], arb], miss: Callable[[], arb], start: int) -> float:
    """The least h >= 0 with outside(h) <= miss, for a falling `outside`; inf beyond floats.

    Where balls of 2048 bits cannot tell, as where both are equal, the inequality is taken to fail: the answer is then
    too large by one. Theorem: docs/theorems/accuracy.md.

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
