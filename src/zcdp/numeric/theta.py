"""Jacobi's theta function of real nome, on balls and along series: the normalising sum of a discrete Gaussian."""

from __future__ import annotations

from fractions import Fraction
import math
from math import isqrt, sqrt
from typing import Any

from flint import acb, arb, arb_series, ctx

from zcdp.errors import BadType
from zcdp.numeric.balls import above, lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.functions import Number

__all__ = ["Theta"]

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
