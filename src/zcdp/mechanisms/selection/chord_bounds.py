"""Upper bounds on a convex cumulant K from upper bounds at points: chords between the points bound K as well.

K is the largest cumulant over all neighbours, so it is convex and K(0) = 0. The bounds at different points may come
from different theorems, and need not be convex in s: K lies below the chord of any two of its upper bounds.
Report noisy max and the sparse vector technique use it. Theorem: docs/theorems/supremum.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, frexp, inf, nextafter, sqrt

from flint import arb

from zcdp.numeric.balls import NotCertified, above, enclose, lift
from zcdp.numeric.exact import Exact
from zcdp.numeric.search import GOLDEN
from zcdp.numeric.work import count_work

__all__ = ["Chords"]


OCTAVE_BITS = 12
"""An octave of s (a factor of 2) has 2^12 points: a chord is then above its curve by at most a part in 10^8."""
FIRST_POINT, LAST_POINT = -(40 << OCTAVE_BITS), 40 << OCTAVE_BITS
ABSOLUTE_SLACK, RELATIVE_SLACK = Fraction(9, 10**7), Fraction(1, 1 << 12)
"""The proven supremum exceeds the largest ratio at a point by the smaller of these two; less slack needs more cells."""
OCTAVE_POINTS = 1 << OCTAVE_BITS
FIRST_PROPOSED_POINT = -10 << OCTAVE_BITS
"""The point s = 2^-10, below which no peak is proposed: the ratio there is nearly its limit at order 1."""
MOST_CELLS = 10_000
"""Chords that the proof of one supremum may take."""
NANOSECONDS_PER_POINT = 3_000_000  # charged to the work limit for the bound at one point


class Chords:
    """A certified upper bound on K, from upper bounds at the points s = (1 + j/2^12) 2^e and from K(s) <= s largest.

    `bound` gives the certified upper bound at s, and is called when a point is first needed. `kl` is an upper bound on
    K'(0), and `largest` is the largest privacy loss.
    """

    def __init__(self, bound: Callable[[Fraction], float], kl: float, largest: Exact) -> None:
        self._bound, self.kl, self._largest = bound, kl, largest
        self._known: dict[int, float] = {}

    def _at(self, n: int) -> float:
        """The upper bound on K at point n."""
        if (known := self._known.get(n)) is not None:
            return known
        count_work(NANOSECONDS_PER_POINT)
        return self._known.setdefault(n, self._bound(_point(n)))

    def value(self, s: arb) -> arb:
        """A ball whose upper end is at least K at every point of the positive ball s, however wide: K does not fall."""
        pure = s * lift(self._largest)
        high = above(s)
        if not high < float(_point(LAST_POINT)):
            return pure
        if high <= float(_point(FIRST_POINT)):
            return (s * self._at(FIRST_POINT) / lift(_point(FIRST_POINT))).min(pure)
        return self._chord(_index(high), s).min(pure)

    def _chord(self, n: int, s: arb) -> arb:
        left, right, x = self._at(n), self._at(n + 1), lift(_point(n))
        return left + (arb(right) - left) * (s - x) / (lift(_point(n + 1)) - x)

    def _ratio(self, n: int) -> Fraction:
        s = _point(n)
        return Fraction(self._at(n)) / (s * (1 + s))

    def steepest(self) -> tuple[float, float, float]:
        """Floats (lower, upper, s) with a certified upper: K(s) <= upper s(1+s) for all s > 0.

        lower is the largest ratio bound(s)/(s(1+s)) that was found, at s (0 for the limit at order 1), rounded down:
        no better upper follows from these bounds.
        """
        largest = Fraction(enclose(lambda: lift(self._largest))[1])
        peak = self._propose(largest)
        best = max(Fraction(self.kl), self._ratio(peak))
        at = 0.0 if best == self.kl else float(_point(peak))
        bound = _more(best)
        n = peak - OCTAVE_POINTS // 4
        while Fraction(self._at(n)) > bound * _point(n):  # K(s)/s does not decrease: below point n all is proven
            n -= 2 * OCTAVE_POINTS
            if n <= FIRST_POINT:
                raise NotCertified("no certified supremum over orders: the parameters are too extreme")
        for _ in range(MOST_CELLS):
            if (1 + _point(n)) * bound >= largest:
                return nextafter(float(best), 0.0), float(bound), at
            step = self._reach(float(bound), n)
            while not _covers(bound, _point(n), self._at(n), _point(n + step), self._at(n + step)):
                if step == 1:  # The peak is higher than was proposed. Cells proven for the smaller bound stay proven.
                    higher = max(n, n + 1, key=self._ratio)
                    if self._ratio(higher) > best:
                        best, at = self._ratio(higher), float(_point(higher))
                    bound = _more(max(bound, best))
                else:
                    step = (step + 1) // 2
            n += step
        raise NotCertified("no certified supremum over orders within so many cells")

    def _reach(self, bound: float, n: int) -> int:
        """Heuristic: how many points ahead a chord from point n may end and still stay below bound s(1+s).

        A chord of width h stays below it if its ends are below it by a and b with
        sqrt(a) + sqrt(b) >= h sqrt(bound);
        b at the other end y is predicted as a y/s, so that y = s (1 + sqrt(a/bound)/s)^2.
        """
        s, at = float(_point(n)), self._at(n)
        part = sqrt(max(1 + s - at / s / bound, 0.0) / s) if at < inf else 0.0  # sqrt(a / bound) / s
        return max(1, min(_index(s * (1 + part) ** 2) - n, OCTAVE_POINTS))

    def _propose(self, largest: Fraction) -> int:
        """Heuristic: the point of the largest ratio K(s)/(s(1+s)).

        Goes down in octaves, then by golden sections, then to the vertex of a parabola.
        """

        def ratio(n: int) -> float:
            s = float(_point(n))
            return self._at(n) / s / (1 + s)

        n = best = min(_index(max(float(largest / Fraction(self.kl)), 2.0**-20)), LAST_POINT)
        falling = 0
        while falling < 2 and n > FIRST_PROPOSED_POINT:
            n -= OCTAVE_POINTS
            best, falling = (n, 0) if ratio(n) > ratio(best) else (best, falling + 1)
        if best == n:  # the ratio rises all the way down: the supremum is the limit at order 1
            return best
        left, right = best - OCTAVE_POINTS, best + OCTAVE_POINTS
        while right - left > OCTAVE_POINTS // 8:
            inner, outer = right - round((right - left) * GOLDEN), left + round((right - left) * GOLDEN)
            left, right = (inner, right) if ratio(inner) < ratio(outer) else (left, outer)
        middle, width = (left + right) // 2, (right - left) // 2
        low, at, high = (ratio(middle + side * width) / ratio(middle) for side in (-1, 0, 1))
        bend = low - 2 * at + high
        vertex = middle + round(width * (low - high) / (2 * bend)) if bend < 0 else middle
        return max((middle, min(max(vertex, left), right), best), key=ratio)


def _more(bound: Fraction) -> Fraction:
    """A float, as a fraction, that exceeds `bound` by the slack, rounded up."""
    return Fraction(nextafter(float(bound + min(ABSOLUTE_SLACK, bound * RELATIVE_SLACK)), inf))


def _point(n: int) -> Fraction:
    """The s of point n: (1 + j/2^12) 2^e with n = 2^12 e + j."""
    octave, j = n >> OCTAVE_BITS, n & (OCTAVE_POINTS - 1)
    mantissa = OCTAVE_POINTS + j
    power = octave - OCTAVE_BITS
    return Fraction(mantissa << power) if power >= 0 else Fraction(mantissa, 1 << -power)


def _index(s: float) -> int:
    """The number n of the last point that is not above s."""
    mantissa, exponent = frexp(s)
    return ((exponent - 1) << OCTAVE_BITS) + floor((2 * mantissa - 1) * OCTAVE_POINTS)


def _covers(bound: Fraction, x: Fraction, at_x: float, y: Fraction, at_y: float) -> bool:
    """Whether the chord from (x, at_x) to (y, at_y) stays below bound s(1+s), decided in exact fractions."""
    if inf in (at_x, at_y):
        return False
    low, high = Fraction(at_x), Fraction(at_y)
    if low > bound * x * (1 + x) or high > bound * y * (1 + y):
        return False
    slope = (high - low) / (y - x)
    where = (slope - bound) / (2 * bound)  # where the difference, a quadratic in s, is least
    return not x < where < y or low + slope * (where - x) <= bound * where * (1 + where)
