"""Jacobi's theta function of real nome, on balls and along series: the normalising sum of a discrete Gaussian."""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt, pi, sqrt
from typing import Any

from flint import acb, arb, arb_series, ctx

from zcdp.errors import BadType
from zcdp.numeric.balls import Undecided, above, lift, working_bits
from zcdp.numeric.functions import Number, log

__all__ = ["GaussianWave", "Theta", "mass_beyond", "second_moment"]


NARROW = Fraction(1, 6)  # near 1/(2 pi), where both sums converge equally fast


class Theta:
    """theta(t) = sum over integers x of exp(-(x-t)^2/(2 v))/sqrt(2 pi v), v the variance.

    That is 1 + 2 sum over n >= 1 of exp(-2 pi^2 v n^2) cos(2 pi n t). Constants are ready at the working precision; a
    series must be a variable, t_0 + t_1 u.
    Theorem: docs/theorems/discrete-gaussian.md.

    >>> Theta(Fraction(1))(arb(0))
    [1.0000000053505...]
    """

    def __init__(self, variance: Fraction) -> None:
        self.narrow, self.width = variance < NARROW, 2 * lift(variance)
        self.nome = -(arb.pi() ** 2) * self.width
        self.root = (arb.pi() * self.width).sqrt()
        self.slope = min(above(-self.nome), 1e300)
        self.powers: list[arb] = []

    def __call__(self, t: Number) -> Number:
        """theta(t)."""
        value: Number = self._over_integers(t) if self.narrow else self._over_waves(t)
        return value

    def _over_waves(self, t: Any) -> Any:
        turn, rise, terms = _height(t)
        # so many waves that the next one is below the last bit
        height = 2 * above(rise * arb.pi())
        wanted = (ctx.prec + 2) * math.log(2)
        last = int((height + sqrt(height * height + 4 * self.slope * wanted)) / (2 * self.slope))
        while len(self.powers) <= last:
            self.powers.append((self.nome * (len(self.powers) + 1) ** 2).exp())
        angle, total = t * (2 * arb.pi()), 0 * t + 1
        for n in range(1, last + 1):
            total = total + (angle * n).cos() * (2 * self.powers[n - 1])
        # from there each wave is less than half of the one before it, in the value and in each coefficient
        if not (2 * last + 3) * -self.nome - height > terms * arb(2).log():
            raise Undecided
        first = 4 * self.powers[last] * (rise * (2 * arb.pi() * (last + 1))).cosh()
        return _widened(total, first, 2 * arb.pi() * (last + 1) * turn)

    def _over_integers(self, t: Any) -> Any:
        turn, rise, _ = _height(t)
        centre = (t[0] if isinstance(t, arb_series) else t.real).mid()
        whole = centre.floor().unique_fmpz() if centre.is_finite() else None
        if whole is None:
            raise Undecided
        # Beyond it all is below the last bit: the narrower, the sooner.
        near = isqrt(int(ctx.prec * above(self.width)) + 1) + int(min(2 * above(rise), 1e9)) + 1
        middle, reach = int(whole), 4 + min(isqrt(ctx.prec), near)
        total = 0 * t
        for x in range(middle - reach, middle + reach + 2):
            total = total + (-((x - t) * (x - t)) / self.width).exp()
        # on a circle of radius 1 around t, (x - t)^2 has a real part of at least (reach - 1)^2 - 1 - rise^2 - 2 rise
        rest = 4 * ((1 + rise * (rise + 2) - (reach - 2) ** 2) / self.width).exp()
        return _widened(total, rest, turn) / self.root


def _height(t: Any) -> tuple[arb, arb, int]:
    """|t_1| of a series t_0 + t_1 u, else 0; a bound on |Im t|; and the number of terms."""
    if isinstance(t, arb_series):
        if not all(t[n].is_zero() for n in range(2, t.prec)):
            raise BadType("theta is known along a straight line only")
        turn, rise, terms, centre = abs(t[1]).upper(), arb(0), t.prec, t[0]
    else:
        turn, rise, terms, centre = arb(0), abs(t.imag).upper() if isinstance(t, acb) else arb(0), 1, t.real
    if not (centre.is_finite() and rise.is_finite() and centre.rad() < 1):
        raise Undecided
    return turn, rise, terms


def _widened(total: Any, rest: arb, turn: arb) -> Any:
    """The sum with the rest's bound added to it; the n-th coefficient of a series is known to rest turn^n."""
    radius = arb(0, rest.upper())
    if isinstance(total, arb_series):
        size = total.prec
        return total + arb_series([arb(0, (rest * turn**n).upper()) for n in range(size)], prec=size)
    return total + (acb(radius, radius) if isinstance(total, acb) else radius)


# The mass of a discrete Gaussian beyond an integer, and its second moment, on balls: sums and what they leave out.

MOST_TERMS = 1 << 14


def mass_beyond(h: int, variance: Fraction) -> arb:
    """The probability that |x| > h, for mass proportional to exp(-x^2/(2 variance)) on the integers.

    A sum of h terms, or for large h by Euler and Maclaurin's formula to the third derivative: then the ball has a
    radius of 0.0125 sigma^-3. Theorem: docs/theorems/accuracy.md.

    >>> mass_beyond(1, Fraction(1))          # 1 - (1 + 2 e^{-1/2})/2.5066...
    [0.11711...]
    """
    twice = 2 * lift(variance)
    whole = (arb.pi() * twice).sqrt() * Theta(variance)(arb(0))
    if h <= MOST_TERMS:
        # e^{-(x+1)^2/2v} = e^{-x^2/2v} e^{-(2x+1)/2v}: two products a term
        ratio, square = (-1 / twice).exp(), (-2 / twice).exp()
        term, inside = arb(1), arb(1)
        for _ in range(h):
            term = term * ratio
            ratio = ratio * square
            inside = inside + 2 * term
        return 1 - inside / whole
    edge = (-(arb(h) ** 2) / twice).exp()
    inside = (arb.pi() * twice).sqrt() * (h / twice.sqrt()).erf() + edge - edge * h / (3 * twice)
    by_formula = 1 - (inside + arb(0, (arb("0.0304") * 2 / twice).upper())) / whole
    # the density falls, so that the tail lies between two integrals of it
    least, most = (((h + step) / twice.sqrt()).erfc() * (arb.pi() * twice).sqrt() / whole for step in (1, 0))
    between = least.union(most)
    return by_formula.intersection(between)


def second_moment(variance: Fraction) -> arb:
    """The mean of x^2 under the same law: by theta, or for narrow noise by the sums, of which no digits cancel.

    Theorem: docs/theorems/accuracy.md.

    >>> second_moment(Fraction(1, 50))       # 2 e^{-25}, nearly
    [2.777588...e-11...]
    """
    square = lift(variance)
    if variance >= NARROW:
        # a tilt by d has the logarithm of a moment d^2/2v + log theta(d), whose second derivative times v^2 it is
        return square + square**2 * 2 * log(Theta(variance)(arb_series([0, 1], prec=3)))[2]
    last = 1 + isqrt(working_bits())
    terms = [(-(arb(x) ** 2) / (2 * square)).exp() for x in range(1, last + 2)]
    # each term, and each term times x^2, is less than half of the one before it
    rest = arb(0).union(4 * terms[-1])
    above = 2 * sum((x * x * term for x, term in enumerate(terms[:-1], 1)), arb(0)) + rest * (last + 1) ** 2
    return above / (1 + 2 * sum(terms[:-1], arb(0)) + rest)


# The mean of cos(angle x) under a discrete Gaussian, on balls: a sum over integers, or over its dual lattice.

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
