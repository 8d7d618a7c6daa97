"""What an attacker gains: the trade-off between false positives and true positives, from the certified profile.

An attacker sees the output and guesses whether a person's data were used. T(a) is the largest share of members that a
test finds at a share a of false alarms, over all neighbours in both orders, as the least concave function above them:
1 - T is the largest f for which the mechanism is f-DP (Dong, Roth and Su, 2022). With H(g) = delta(log g) for g >= 1
and H(g) = 1 - g + g H(1/g) below, T(a) is the least over g >= 0 of H(g) + g a, and H is convex. Each delta that is
known from above puts a line above T; where some are known from below as well, the lines through neighbouring points
bound H from below between them, and so T. Theorem: docs/theorems/tradeoff.md.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, log
from typing import NamedTuple

from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import log_of

__all__ = ["FARTHEST", "Ends", "Knot", "TradeOff", "knot", "lowest_line"]

Ends = tuple[float, float]
"""Certified floats around a number: its lower and upper end."""

FARTHEST = 700.0  # the largest epsilon that is tried: e^700 is a float
ENOUGH, MOST = 1e-12, 48  # the relative gap at which a search ends, and the number of new deltas after which it does
NARROW = 1e-14  # two points nearer than this, relatively, are one
WINDOW = 3  # lines through so many points on either side of a cell are tried as lower bounds in it


class Knot(NamedTuple):
    """What one certified delta says of H: H(left) >= least and H(right) <= most, at rationals around g = e^t."""

    t: float
    left: Fraction
    least: Fraction
    right: Fraction
    most: Fraction

    def above(self, rate: Fraction) -> Fraction:
        """An upper bound on T(rate): the line of this point."""
        return self.most + self.right * rate

    def below(self, rate: Fraction) -> Fraction:
        """A lower bound on H(left) + left * rate."""
        return self.least + self.left * rate


ORIGIN = Knot(-inf, Fraction(0), Fraction(1), Fraction(0), Fraction(1))
"""H(0) = 1."""


def knot(t: float, ends: Ends) -> Knot:
    """The knot at g = e^t, with epsilon = |t|, from certified ends of delta(epsilon).

    H decreases: a rational below g has a value at least as large, one above g at most as large.

    >>> knot(0.0, (0.25, 0.5))[1:]
    (Fraction(1, 1), Fraction(1, 4), Fraction(1, 1), Fraction(1, 2))
    """
    least, most = map(Fraction, ends)
    if not t:
        return Knot(t, Fraction(1), least, Fraction(1), most)
    left, right = (Fraction(end) for end in enclose(lambda: lift(Fraction(t)).exp()))
    if t > 0:
        return Knot(t, left, least, right, most)
    return Knot(t, left, 1 - right * (1 - least), right, 1 - left * (1 - most))


def lowest_line(knots: Sequence[Knot], rate: Fraction) -> Fraction:
    """The least upper bound on T(rate) that the knots give; 1 if there are none."""
    return min([Fraction(1), *(one.above(rate) for one in knots)])


def _odds(prior: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around |log((1 - prior)/prior)|, the epsilon whose delta decides a guess at this prior.

    >>> _odds(Fraction(1, 2))
    (Fraction(0, 1), Fraction(0, 1))
    """
    small = min(prior, 1 - prior)
    if small == Fraction(1, 2):
        return Fraction(0), Fraction(0)
    low, high = enclose(lambda: lift((1 - small) / small).log())
    return Fraction(low), Fraction(high)


class TradeOff:
    """T of one mechanism or plan, from questions about its delta; each delta is asked for once."""

    def __init__(
        self,
        upper: Callable[[Fraction], float],
        both: Callable[[Fraction], Ends] | None,
        pure: float,
        revealed: float = 0.0,
        enough: float = ENOUGH,
    ) -> None:
        """`upper` gives the upper end of delta at an epsilon, `both` its two ends; None if none is known from below.

        `pure` is the pure epsilon, or inf, `revealed` a lower end of P(L = +inf), the limit of delta, and `enough` the
        relative gap at which a search ends.
        """
        self._upper, self._both, self._pure, self._revealed, self._enough = upper, both, pure, revealed, enough
        self._known: dict[tuple[float, bool], Ends] = {}

    def _knot(self, t: float, *, both: bool) -> Knot:
        """The knot at g = e^t; without `both` nothing is asked, and little known, from below."""
        if (key := (abs(t), both and self._both is not None)) not in self._known:
            epsilon = Fraction(abs(t))
            self._known[key] = self._both(epsilon) if key[1] and self._both else (0.0, self._upper(epsilon))
        low, high = self._known[key]
        return knot(t, (max(low, self._revealed), high))

    def upper(self, rate: Fraction) -> Fraction:
        """An upper bound on T(rate), for 0 <= rate <= 1."""
        return lowest_line(self._searched(rate, [], both=False), rate)

    def ends(self, rate: Fraction) -> tuple[Fraction, Fraction]:
        """Rationals around T(rate), for 0 <= rate <= 1."""
        return self.curve([rate])[0]

    def curve(self, rates: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
        """Rationals around T at each of the rates; in less time than one by one, as each search serves the next."""
        found, knots = [], list[Knot]()
        for rate in rates:
            knots = self._searched(rate, knots, both=True)
            upper = lowest_line(knots, rate)
            found.append((min(self._lower(rate, knots), upper), upper))
        return found

    def success(self, prior: Fraction, *, upper_only: bool = False) -> tuple[Fraction, Fraction]:
        """Rationals around the largest chance of a right guess at a prior; the lower is trivial if `upper_only`."""
        small, (near, far) = min(prior, 1 - prior), _odds(prior)
        low = 0.0 if upper_only or self._both is None else self._both(far)[0]
        return 1 - small + small * Fraction(low), 1 - small + small * Fraction(self._upper(near))

    def _searched(self, rate: Fraction, known: Sequence[Knot], *, both: bool) -> list[Knot]:
        """The known knots and those that a search for the lowest line asks for, sorted."""
        end = min(self._pure, FARTHEST)
        if rate:
            end = min(end, max(-log_of(rate), 0.0))
        there = {one.t for one in known}
        knots = sorted([*(known or [ORIGIN]), *(self._knot(t, both=both) for t in {0.0, end} - there)])
        a = float(rate)
        for _ in range(MOST if 0 < rate < 1 else 0):
            found = _proposal([(float(one.right), float(one.most)) for one in knots], a, self._enough)
            if found is None or any(abs(found - one.t) <= NARROW * max(abs(found), 1e-6) for one in knots):
                break
            insort(knots, self._knot(found, both=both))
        return knots

    def _lower(self, rate: Fraction, knots: Sequence[Knot]) -> Fraction:
        """A lower bound on T(rate) from the knots: T(a) >= a, and by lines between points where delta has both ends."""
        trivial = max(rate, Fraction(self._revealed))
        if self._both is None or not 0 < rate < 1:
            return trivial
        best = min(range(len(knots)), key=lambda n: knots[n].above(rate))
        top = knots[best].above(rate)
        # H(g) + g a is convex: beyond a point that is surely not below the best one it stays above that point.
        # (The best one itself is no such point: the least may lie on either side of it.)
        first = next((n for n in range(best - 1, -1, -1) if knots[n].below(rate) >= top), 0)
        last = next((n for n in range(best + 1, len(knots)) if knots[n].below(rate) >= top), len(knots) - 1)
        bounds = [knots[first].below(rate), *(self._cell(knots, n, rate) for n in range(first, last))]
        if knots[last].below(rate) >= top:
            bounds.append(knots[last].below(rate))
        else:  # to the right of the last point H is at least P(L = +inf)
            bounds.append(Fraction(self._revealed) + knots[last].left * rate)
        return max(trivial, min(bounds))

    def _cell(self, knots: Sequence[Knot], n: int, rate: Fraction) -> Fraction:
        """The least that H(g) + g rate can be between the knots n and n + 1."""
        one, other = knots[n], knots[n + 1]
        x, y = one.left, other.left
        # through a point known from above and one known from below, a convex function lies above the line beyond it
        rises = [_line((k.right, k.most), (x, one.least)) for k in knots[max(n - WINDOW, 0) : n] if k.right < x]
        falls = [_line((y, other.least), (k.right, k.most)) for k in knots[n + 2 : n + 2 + WINDOW] if k.right > y]
        rises.append((one.least + x, Fraction(-1)))  # H falls by at most 1 over a unit,
        falls.append((other.least, Fraction(0)))  # and does not rise
        a, b = max(rises, key=lambda line: line[0] + line[1] * y), max(falls, key=lambda line: line[0] + line[1] * x)
        places = [x, y]
        if a[1] != b[1] and x < (crossing := (b[0] - a[0]) / (a[1] - b[1])) < y:
            places.append(crossing)
        return min(max(start + slope * g for start, slope in (a, b)) + g * rate for g in places)


def _line(one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    """Start and slope of the line through two points."""
    slope = (other[1] - one[1]) / (other[0] - one[0])
    return one[1] - slope * one[0], slope


def _proposal(points: Sequence[tuple[float, float]], rate: float, enough: float) -> float | None:
    """The t at which the next delta helps most, in floats; None if the points are near enough to the least.

    It is where the lines through neighbouring points leave room for the least H(g) + g rate; for a profile that is a
    polygon this is its corner.
    """
    values = [h + g * rate for g, h in points]
    lowest, g, n = min(_room(points, n, rate) for n in range(len(points) - 1) if points[n][0] < points[n + 1][0])
    if min(values) - lowest <= enough * min(values):
        return None
    x, y = points[n][0], points[n + 1][0]
    if (
        x > 0 and len(points) % 4 == 3
    ):  # now and then the middle, lest one side of a cell shrinks and the other does not
        return (log(x) + log(y)) / 2
    near = (y - x) * 1e-3
    g = min(max(g, x + near), y - near) if near > x * 1e-9 else g
    return log(g) if g > 0 else None


def _room(points: Sequence[tuple[float, float]], n: int, rate: float) -> tuple[float, float, int]:
    """The least that H(g) + g rate may be between the points n and n + 1, where, and n: in floats."""
    (x, h), (y, k) = points[n], points[n + 1]
    rise, fall = -1.0, 0.0
    if n and x > points[n - 1][0]:
        rise = max((h - points[n - 1][1]) / (x - points[n - 1][0]), -1.0)
    if n + 2 < len(points) and points[n + 2][0] > y:
        fall = min((points[n + 2][1] - k) / (points[n + 2][0] - y), 0.0)
    if not fall > rise:  # a straight piece
        return min(h + x * rate, k + y * rate), (x + y) / 2, n
    g = min(max((k - fall * y - h + rise * x) / (rise - fall), x), y)
    return max(h + rise * (g - x), k + fall * (g - y)) + g * rate, g, n
