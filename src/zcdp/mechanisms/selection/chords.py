"""A convex cumulant that is known by upper bounds at points: chords between the points are upper bounds, too.

K is the largest cumulant over all neighbours, so it is convex and K(0) = 0. Each bound may come from a theorem of its
own, and need not be convex in s: K lies below the chord of any two of its upper bounds. See docs/theorems/supremum.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, frexp, inf, nextafter, sqrt

from flint import arb

from zcdp.numeric.balls import NotCertified, above, enclose, lift
from zcdp.numeric.exact import Exact
from zcdp.numeric.work import count_work

__all__ = ["Chords"]


FINE = 12
"""2^12 points to the octave: a chord is above its curve by a part in 10^8 at most."""
LEAST, MOST = -(40 << FINE), 40 << FINE
ABSOLUTE, RELATIVE = Fraction(9, 10**7), Fraction(1, 1 << 12)
"""How far a proven supremum may be above the bounds at points, the less of both: a narrow chord is a cell more."""
COARSE = 1 << FINE
SMALL = -10 << FINE
"""Below 2^-10 the ratio is that of order 1, up to what a proof finds on its way."""
MOST_CELLS = 10_000
POINT = 3_000_000  # nanoseconds that a point takes
GOLDEN = 0.6180339887498949


class Chords:
    """K by its upper bounds at the points (1 + j/2^12) 2^e, found when they are asked for, and K(s) <= s largest."""

    def __init__(self, bound: Callable[[Fraction], float], kl: float, largest: Exact) -> None:
        self._bound, self.kl, self._largest = bound, kl, largest
        self._known: dict[int, float] = {}

    def _at(self, n: int) -> float:
        """The bound at point n."""
        if (known := self._known.get(n)) is not None:
            return known
        count_work(POINT)
        return self._known.setdefault(n, self._bound(_point(n)))

    def value(self, s: arb) -> arb:
        """A ball whose upper end is not below K at any point of a positive ball, however wide: K does not fall."""
        pure = s * lift(self._largest)
        high = above(s)
        if not high < float(_point(MOST)):
            return pure
        if high <= float(_point(LEAST)):
            return (s * self._at(LEAST) / lift(_point(LEAST))).min(pure)
        return self._chord(_index(high), s).min(pure)

    def _chord(self, n: int, s: arb) -> arb:
        left, right, x = self._at(n), self._at(n + 1), lift(_point(n))
        return left + (arb(right) - left) * (s - x) / (lift(_point(n + 1)) - x)

    def _ratio(self, n: int) -> Fraction:
        s = _point(n)
        return Fraction(self._at(n)) / (s * (1 + s))

    def steepest(self) -> tuple[float, float, float]:
        """Floats (lower, upper, s): K(s) <= upper s(1+s) for all s > 0 is proven, and the bounds at s give lower."""
        largest = Fraction(enclose(lambda: lift(self._largest))[1])
        peak = self._propose(largest)
        best = max(Fraction(self.kl), self._ratio(peak))
        at = 0.0 if best == self.kl else float(_point(peak))
        bound = _more(best)
        n = peak - COARSE // 4
        while Fraction(self._at(n)) > bound * _point(n):  # K(s)/s does not decrease: below point n all is proven
            n -= 2 * COARSE
            if n <= LEAST:
                raise NotCertified("no certified supremum over orders: the parameters are too extreme")
        for _ in range(MOST_CELLS):
            if (1 + _point(n)) * bound >= largest:
                return nextafter(float(best), 0.0), float(bound), at
            step = self._reach(float(bound), n)
            while not _covers(bound, _point(n), self._at(n), _point(n + step), self._at(n + step)):
                if step == 1:  # a higher peak than was proposed: what was proven before it stays proven
                    higher = max(n, n + 1, key=self._ratio)
                    if self._ratio(higher) > best:
                        best, at = self._ratio(higher), float(_point(higher))
                    bound = _more(max(bound, best))
                else:
                    step = (step + 1) // 2
            n += step
        raise NotCertified("no certified supremum over orders within so many cells")

    def _reach(self, bound: float, n: int) -> int:
        """How many points a chord from point n may cover, as floats foresee it.

        A chord of width h stays below bound s(1+s) if its ends are below it by a and b with
        sqrt(a) + sqrt(b) >= h sqrt(bound);
        b is foreseen as a y/s, so that y = s (1 + sqrt(a/bound)/s)^2.
        """
        s, at = float(_point(n)), self._at(n)
        part = sqrt(max(1 + s - at / s / bound, 0.0) / s) if at < inf else 0.0  # sqrt(a / bound) / s
        return max(1, min(_index(s * (1 + part) ** 2) - n, COARSE))

    def _propose(self, largest: Fraction) -> int:
        """The point of largest ratio, roughly: octaves downwards, golden sections, and the vertex of a parabola."""

        def ratio(n: int) -> float:
            s = float(_point(n))
            return self._at(n) / s / (1 + s)

        n = best = min(_index(max(float(largest / Fraction(self.kl)), 2.0**-20)), MOST)
        falling = 0
        while falling < 2 and n > SMALL:
            n -= COARSE
            best, falling = (n, 0) if ratio(n) > ratio(best) else (best, falling + 1)
        if best == n:  # it rises all the way down: the supremum is that of order 1
            return best
        left, right = best - COARSE, best + COARSE
        while right - left > COARSE // 8:
            inner, outer = right - round((right - left) * GOLDEN), left + round((right - left) * GOLDEN)
            left, right = (inner, right) if ratio(inner) < ratio(outer) else (left, outer)
        middle, width = (left + right) // 2, (right - left) // 2
        low, at, high = (ratio(middle + side * width) / ratio(middle) for side in (-1, 0, 1))
        bend = low - 2 * at + high
        vertex = middle + round(width * (low - high) / (2 * bend)) if bend < 0 else middle
        return max((middle, min(max(vertex, left), right), best), key=ratio)


def _more(bound: Fraction) -> Fraction:
    """A float that is larger by a little more than the tolerance."""
    return Fraction(nextafter(float(bound + min(ABSOLUTE, bound * RELATIVE)), inf))


def _point(n: int) -> Fraction:
    octave, j = n >> FINE, n & (COARSE - 1)
    mantissa = COARSE + j
    power = octave - FINE
    return Fraction(mantissa << power) if power >= 0 else Fraction(mantissa, 1 << -power)


def _index(s: float) -> int:
    """The last point that is not above s."""
    mantissa, exponent = frexp(s)
    return ((exponent - 1) << FINE) + floor((2 * mantissa - 1) * COARSE)


def _covers(bound: Fraction, x: Fraction, at_x: float, y: Fraction, at_y: float) -> bool:
    """Whether the chord from (x, at_x) to (y, at_y) stays below bound s(1+s), exactly."""
    if inf in (at_x, at_y):
        return False
    low, high = Fraction(at_x), Fraction(at_y)
    if low > bound * x * (1 + x) or high > bound * y * (1 + y):
        return False
    slope = (high - low) / (y - x)
    where = (slope - bound) / (2 * bound)  # the least of the difference, a quadratic
    return not x < where < y or low + slope * (where - x) <= bound * where * (1 + where)
