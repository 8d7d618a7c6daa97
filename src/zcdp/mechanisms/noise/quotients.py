"""Quotients of two noisy integers: certified intervals of those that their noise allows (Fieller 1954).

The true quotient r of A and B makes noisy A - r noisy B a sum of noises alone, whose law is known: so the interval
holds r whatever A and B are, and is a third shorter than what follows from an interval of each. Theorem:
docs/theorems/quotients.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, expm1, inf, log1p, sqrt
from typing import Any

from zcdp.mechanisms.noise.noise_sums import KnownLaw, NoiseSum
from zcdp.numeric.balls import NotCertified

__all__ = ["End", "Quotients", "magnitude"]

GROWTH = 0.015
"""By how much a half-width grows, in logarithms, from one quotient at which it is computed to the next."""
MOST_STEPS = 64
"""The most quotients at which half-widths are computed where quotients are bounded: else they stand further apart."""
End = Fraction | float
"""An end of an interval: exact, or infinite."""


def magnitude(end: End) -> End:
    """The size of an end."""
    return -end if end < 0 else end


@dataclass(frozen=True)
class Quotients:
    """The quotients of A + X and B + Y for independent noises X and Y; `farthest` is the largest size of one, if any.

    >>> from zcdp import DiscreteGaussian
    >>> some = Quotients(DiscreteGaussian(sigma=1000), DiscreteGaussian(sigma=10), Fraction(100))
    >>> low, high = some.ends(40_000, 1000, Fraction(-100), Fraction(100))
    >>> round(float(low), 1), round(float(high), 1)
    (37.9, 42.2)
    """

    numerator: Any
    denominator: Any
    farthest: Fraction | None = None
    level: Fraction = Fraction(19, 20)
    _halves: dict[int, Fraction | float] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def apart(self) -> tuple[int, int]:
        """Half-widths of X and of Y that hold together at `level`, by a union bound."""
        both = (1 + self.level) / 2
        x, y = (int(one.accuracy(both).half_width) for one in (self.numerator, self.denominator))
        return x, y

    @cached_property
    def spreads(self) -> tuple[float, float]:
        """The standard deviations of X and of Y."""
        x, y = (float(one.accuracy(self.level).standard_deviation) for one in (self.numerator, self.denominator))
        return x, y

    def deviation(self, quotient: float) -> float:
        """The standard deviation of X - r Y at r = quotient."""
        x, y = self.spreads
        return sqrt(x**2 + (quotient * y) ** 2)

    def half_width(self, quotient: End) -> End:
        """A number that X - r Y exceeds in size with probability at most 1 - level, at r = quotient."""
        (x, y), size = self.apart, magnitude(quotient)
        apart: End = x + size * y
        return min(apart, self._half(self._step(size))) if self._ratio else apart

    def tells(self, below: int) -> bool:
        """Whether a noisy B is so large that B is surely not 0, or of another sign; else nothing follows from it."""
        return abs(below) > self.apart[1]

    def ends(self, above: int, below: int, low: End = -inf, high: End = inf) -> tuple[End, End]:
        """The ends of an interval that holds the quotient at `level`, if it surely lies between low and high.

        `above` and `below` are A and B with noise. Where B may be 0 that is all between low and high. Where the noise
        allows no quotient between them, which has at most the probability 1 - level, it is what is near the quotient of
        the noisy numbers.
        """
        if not self.tells(below):
            return low, high
        if below < 0:
            above, below = -above, -below
        high_, low_ = min(high, self._crude(above, below)), max(low, -self._crude(-above, below))
        top = self._largest(above, below, low_, high_)
        if top is not None:
            bottom = self._largest(-above, below, -high_, -low_)
            assert bottom is not None
            return -bottom, top
        value = min(max(Fraction(above, below), low), high)
        reach = self.half_width(value) / below
        return max(low, value - reach), min(high, value + reach)

    def _crude(self, above: int, below: int) -> Fraction:
        """The largest r with above - r below >= -(x + |r| y), x and y the half-widths of the noises."""
        x, y = self.apart
        return Fraction(above + x, below - y if above + x >= 0 else below + y)

    def _largest(self, above: int, below: int, low: End, high: End) -> End | None:
        """The largest r from low to high with |above - r below| <= half-width at r; None if there is none.

        `below` is positive. Half-widths are known step by step of |r|; the steps are tried from the largest r on.
        """
        if low > high or not self._ratio:
            return high if low <= high else None
        side, step = (1 if high > 0 else -1), self._step(magnitude(high))
        while True:
            inner, outer = self._place(step - 1), self._place(step)
            start, end = (inner, outer) if side > 0 else (-outer, -inner)
            if end < low:
                return None
            half = self._half(step)
            found = min(high, end, (above + half) / below)
            if found >= max(low, start, (above - half) / below):
                return found
            if side > 0 and step == 1:
                side = -1
            else:
                step -= side

    @cached_property
    def _ratio(self) -> float:
        """The quotient at which both noises weigh the same; 0 if only their union bound is used."""
        x, y = self.spreads
        known = isinstance(self.numerator, KnownLaw) and isinstance(self.denominator, KnownLaw)
        return x / y if known and 0 < y < inf and 1e-250 < x / y < 1e250 else 0.0

    @cached_property
    def _growth(self) -> float:
        if self.farthest is None:
            return GROWTH
        return max(GROWTH, log1p((float(self.farthest) / self._ratio) ** 2) / 2 / MOST_STEPS)

    def _place(self, step: int) -> Fraction:
        """The quotient of a step: its deviation is e^{growth step} times that of quotient 0."""
        return Fraction(self._ratio * sqrt(expm1(2 * self._growth * step)))

    def _step(self, size: End) -> int:
        """The least step from 1 on whose quotient is not below the size."""
        step = max(ceil(log1p((float(size) / self._ratio) ** 2) / 2 / self._growth), 1)
        while self._place(step) < size:
            step += 1
        while step > 1 and self._place(step - 1) >= size:
            step -= 1
        return step

    def _half(self, step: int) -> Fraction | float:
        """A half-width of X - r Y for every |r| up to the quotient of the step: that at the step, and 1 more."""
        if step not in self._halves:
            terms = (self.numerator, Fraction(1), 1), (self.denominator, self._place(step), 1)
            try:
                self._halves[step] = Fraction(NoiseSum(terms).accuracy(self.level).half_width) + 1
            except NotCertified:  # noise too wide for its sums: the union bound is left
                self._halves[step] = inf
        return self._halves[step]
