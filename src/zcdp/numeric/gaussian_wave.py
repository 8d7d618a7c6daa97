"""The mean of cos(angle x) under a discrete Gaussian, on balls: a sum over integers, or over its dual lattice."""

from __future__ import annotations

from fractions import Fraction
from math import pi, sqrt

from flint import arb

from zcdp.numeric.balls import Undecided, lift
from zcdp.numeric.theta import NARROW, Theta

__all__ = ["GaussianWave"]

LARGE = Fraction(10) ** 300
LEFT_OUT = 200
"""Terms below e^-200 of the largest are bounded together."""


class GaussianWave:
    """E cos(angle X) for X of mass proportional to exp(-x^2/(2 v)) on the integers, ready at the working precision.

    It is the sum over k of exp(-v (angle + 2 pi k)^2/2), over the same sum at angle 0.
    Theorem: docs/theorems/noise-sums.md.

    >>> GaussianWave(Fraction(1))(arb(0)), GaussianWave(Fraction(1))(arb(1))          # the latter near e^{-1/2}
    ([1.0000...], [0.606531...])
    """

    def __init__(self, variance: Fraction) -> None:
        self.narrow, self.half = variance < NARROW, lift(variance) / 2
        self.turn = 2 * arb.pi()
        if self.narrow:
            self.last = 2 + int(sqrt(2 * LEFT_OUT * float(variance)))
            self.masses = [(-(arb(x) ** 2) / (4 * self.half)).exp() for x in range(self.last + 2)]
            self.whole = self.masses[0] + 2 * sum(self.masses[1:-1], arb(0)) + arb(0, 1) * 4 * self.masses[-1]
        else:
            self.last = 1 + int(sqrt(2 * LEFT_OUT / float(min(variance, Fraction(1000)))) / (2 * pi) + 0.5)
            self.whole = Theta(variance)(arb(0))
            # beyond the last, |left + 2 pi k| is at least 2 pi |k| - 4, and each term less than half of the one before
            rest = 4 * self._term(self.turn * (self.last + 1) - 4) + (2 * self.last + 1) * arb(1 - LEFT_OUT).exp()
            self.rest, self.rough = arb(0, 1) * rest, float(min(variance, LARGE)) / 2

    def __call__(self, angle: arb) -> arb:
        """The mean at an angle."""
        if self.narrow:
            waves = sum((2 * mass * (angle * x).cos() for x, mass in enumerate(self.masses[1:-1], 1)), self.masses[0])
            return (waves + arb(0, 1) * 4 * self.masses[-1]) / self.whole
        turns = (angle.mid() / self.turn.mid() + arb(0.5)).floor().unique_fmpz()
        if turns is None:
            raise Undecided
        left = angle - self.turn * int(turns)
        if not abs(left) < 4:
            raise Undecided
        near, sums = float(left.mid()), self.rest
        for k in range(-self.last, self.last + 1):
            if self.rough * (near + 2 * pi * k) ** 2 < LEFT_OUT:
                sums = sums + self._term(left + self.turn * k)
        return sums / self.whole

    def _term(self, angle: arb) -> arb:
        return (-self.half * angle * angle).exp()
