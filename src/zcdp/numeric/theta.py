"""Jacobi's theta function in balls, and what follows from it: tails, moments and transform of the discrete Gaussian.

Each sum over the integers equals, by Poisson summation, a sum over the dual lattice; whichever converges faster is
taken, and a bound on the terms left out is added to the radius.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import isqrt, pi, sqrt
from typing import Any

from flint import acb, arb, arb_series, ctx

from zcdp.errors import BadType
from zcdp.numeric.balls import Undecided, above, lift, working_bits
from zcdp.numeric.functions import Number, log

__all__ = ["MOST_TERMS", "GaussianWave", "Theta", "mass_beyond", "second_moment"]


NARROW_VARIANCE = Fraction(1, 6)  # It is near 1/(2 pi), where both sums converge equally fast.


class Theta:
    """theta(t) = sum over integers x of exp(-(x-t)^2/(2 v))/sqrt(2 pi v), v the variance.

    By Poisson summation that is 1 + 2 sum over n >= 1 of exp(-2 pi^2 v n^2) cos(2 pi n t). An instance is for the
    working precision at which it was made. The argument is a ball, or a series of the form t_0 + t_1 u.
    Theorem: docs/theorems/discrete-gaussian.md.

    >>> Theta(Fraction(1))(arb(0))
    [1.0000000053505...]
    """

    def __init__(self, variance: Fraction) -> None:
        self.narrow, self.width = variance < NARROW_VARIANCE, 2 * lift(variance)
        self.nome = -(arb.pi() ** 2) * self.width
        self.root = (arb.pi() * self.width).sqrt()
        self.slope = min(above(-self.nome), 1e300)
        self.powers: list[arb] = []

    def __call__(self, t: Number) -> Number:
        """theta(t)."""
        value: Number = self._over_integers(t) if self.narrow else self._over_waves(t)
        return value

    def _over_waves(self, t: Any) -> Any:
        """theta(t) by the sum of cosines."""
        turn, rise, terms = _height(t)
        # `last` is such that the next cosine is below the last bit.
        height = 2 * above(rise * arb.pi())
        wanted = (ctx.prec + 2) * math.log(2)
        last = int((height + sqrt(height * height + 4 * self.slope * wanted)) / (2 * self.slope))
        while len(self.powers) <= last:
            self.powers.append((self.nome * (len(self.powers) + 1) ** 2).exp())
        angle, total = t * (2 * arb.pi()), 0 * t + 1
        for n in range(1, last + 1):
            total = total + (angle * n).cos() * (2 * self.powers[n - 1])
        # From there on each cosine is at most half of the one before it, in the value and in each coefficient.
        if not (2 * last + 3) * -self.nome - height > terms * arb(2).log():
            raise Undecided
        first = 4 * self.powers[last] * (rise * (2 * arb.pi() * (last + 1))).cosh()
        return _widened(total, first, 2 * arb.pi() * (last + 1) * turn)

    def _over_integers(self, t: Any) -> Any:
        """theta(t) by the sum of Gaussians at the integers near t."""
        turn, rise, _ = _height(t)
        centre = (t[0] if isinstance(t, arb_series) else t.real).mid()
        whole = centre.floor().unique_fmpz() if centre.is_finite() else None
        if whole is None:
            raise Undecided
        # Terms further than this from t are below the last bit.
        near = isqrt(int(ctx.prec * above(self.width)) + 1) + int(min(2 * above(rise), 1e9)) + 1
        middle, reach = int(whole), 4 + min(isqrt(ctx.prec), near)
        total = 0 * t
        for x in range(middle - reach, middle + reach + 2):
            total = total + (-((x - t) * (x - t)) / self.width).exp()
        # On a circle of radius 1 around t, (x - t)^2 has a real part of at least (reach - 1)^2 - 1 - rise^2 - 2 rise.
        rest = 4 * ((1 + rise * (rise + 2) - (reach - 2) ** 2) / self.width).exp()
        return _widened(total, rest, turn) / self.root


def _height(t: Any) -> tuple[arb, arb, int]:
    """Of a series t_0 + t_1 u: |t_1|, 0 and its number of terms. Of a ball t: 0, an upper bound on |Im t|, and 1."""
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
    """The partial sum with the remainder in its radius: `rest`, or rest turn^n in the n-th coefficient of a series."""
    radius = arb(0, rest.upper())
    if isinstance(total, arb_series):
        size = total.prec
        return total + arb_series([arb(0, (rest * turn**n).upper()) for n in range(size)], prec=size)
    return total + (acb(radius, radius) if isinstance(total, acb) else radius)


# The tail probability and the second moment of a discrete Gaussian, in balls.

MOST_TERMS = 1 << 14  # Sums of more terms are replaced by the Euler-Maclaurin formula.


def mass_beyond(h: int, variance: Fraction) -> arb:
    """The probability that |x| > h, for mass proportional to exp(-x^2/(2 variance)) on the integers.

    It is computed by a sum of h terms, or for large h by the Euler-Maclaurin formula up to the third derivative, whose
    error gives the ball a radius of 0.0125 sigma^-3. Theorem: docs/theorems/accuracy.md.

    >>> mass_beyond(1, Fraction(1))          # 1 - (1 + 2 e^{-1/2})/2.5066...
    [0.11711...]
    """
    twice = 2 * lift(variance)
    whole = (arb.pi() * twice).sqrt() * Theta(variance)(arb(0))
    if h <= MOST_TERMS:
        # Each term takes two products, as e^{-(x+1)^2/2v} = e^{-x^2/2v} e^{-(2x+1)/2v}.
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
    # The density decreases, so the tail sum lies between two integrals of it.
    least, most = (((h + step) / twice.sqrt()).erfc() * (arb.pi() * twice).sqrt() / whole for step in (1, 0))
    between = least.union(most)
    return by_formula.intersection(between)


def second_moment(variance: Fraction) -> arb:
    """The mean of x^2 under mass proportional to exp(-x^2/(2 variance)) on the integers.

    It is computed by theta, or for a small variance by the sums themselves, in which no digits cancel.
    Theorem: docs/theorems/accuracy.md.

    >>> second_moment(Fraction(1, 50))       # 2 e^{-25}, nearly
    [2.777588...e-11...]
    """
    square = lift(variance)
    if variance >= NARROW_VARIANCE:
        # log E e^{x d/v} is d^2/(2v) + log theta(d), up to a constant; v^2 times its second derivative is the moment.
        return square + square**2 * 2 * log(Theta(variance)(arb_series([0, 1], prec=3)))[2]
    last = 1 + isqrt(working_bits())
    terms = [(-(arb(x) ** 2) / (2 * square)).exp() for x in range(1, last + 2)]
    # Each term, and each term times x^2, is less than half of the one before it.
    rest = arb(0).union(4 * terms[-1])
    above = 2 * sum((x * x * term for x, term in enumerate(terms[:-1], 1)), arb(0)) + rest * (last + 1) ** 2
    return above / (1 + 2 * sum(terms[:-1], arb(0)) + rest)


# The characteristic function of a discrete Gaussian, in balls: a sum over the integers or over the dual lattice.

LARGEST_VARIANCE = Fraction(10) ** 300  # Larger variances are clipped in the heuristic size of a term, in floats.
LEFT_OUT = 200
"""Terms below e^-200 are not computed but bounded together."""


class GaussianWave:
    """E cos(angle X) for X of mass proportional to exp(-x^2/(2 v)) on the integers.

    It is the sum over integers k of exp(-v (angle + 2 pi k)^2/2), divided by this sum at angle 0. An instance is for
    the working precision at which it was made.
    Theorem: docs/theorems/noise-sums.md.

    >>> GaussianWave(Fraction(1))(arb(0)), GaussianWave(Fraction(1))(arb(1))          # the latter near e^{-1/2}
    ([1.0000...], [0.606531...])
    """

    def __init__(self, variance: Fraction) -> None:
        self.narrow, self.half = variance < NARROW_VARIANCE, lift(variance) / 2
        self.turn = 2 * arb.pi()
        if self.narrow:
            self.last = 2 + int(sqrt(2 * LEFT_OUT * float(variance)))
            self.masses = [(-(arb(x) ** 2) / (4 * self.half)).exp() for x in range(self.last + 2)]
            self.whole = self.masses[0] + 2 * sum(self.masses[1:-1], arb(0)) + arb(0, 1) * 4 * self.masses[-1]
        else:
            self.last = 1 + int(sqrt(2 * LEFT_OUT / float(min(variance, Fraction(1000)))) / (2 * pi) + 0.5)
            self.whole = Theta(variance)(arb(0))
            # Beyond `last`, |left + 2 pi k| is at least 2 pi |k| - 4, and each term is at most half of the one before.
            rest = 4 * self._term(self.turn * (self.last + 1) - 4) + (2 * self.last + 1) * arb(1 - LEFT_OUT).exp()
            self.rest, self.rough = arb(0, 1) * rest, float(min(variance, LARGEST_VARIANCE)) / 2

    def __call__(self, angle: arb) -> arb:
        """E cos(angle X), as a certified ball."""
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
        """exp(-v angle^2/2)."""
        return (-self.half * angle * angle).exp()
