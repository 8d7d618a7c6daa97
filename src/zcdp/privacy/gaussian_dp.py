"""(mu, slack)-Gaussian DP: the least mu whose Gaussian mechanism, with `slack` added to its delta, covers a profile.

delta(epsilon) <= delta_mu(epsilon) + slack for every epsilon >= 0, where delta_mu is the profile of two normal laws
that are mu standard deviations apart. Between two points the profile, convex in g = e^epsilon, is below its chord, and
delta_mu is above its tangents: a cell is certified by comparing straight lines. Theorem: docs/theorems/tradeoff.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import inf

from flint import arb

from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.privacy.tradeoff import FARTHEST, Ends, Knot, knot

__all__ = ["covering_mu", "gaussian_delta"]

BITS = 192
FIRST, MOST = 8, 144  # cells to begin with, and deltas after which the search ends
CLOSE = 1e-5  # relative distance of the two ends at which it ends
LARGEST = 1e6  # no larger mu is tried


def gaussian_delta(mu: arb, epsilon: arb) -> tuple[arb, arb]:
    """delta of two normal laws mu standard deviations apart at epsilon, and -dH/dg, the weight of g = e^epsilon in it.

    Theorem: docs/theorems/tradeoff.md.
    """
    first, second = (_normal(sign * mu / 2 - epsilon / mu) for sign in (1, -1))
    return first - epsilon.exp() * second, second


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def covering_mu(
    both: Callable[[Fraction], Ends],
    upper: Callable[[Fraction], float],
    end: float,
    slack: Fraction,
    known: float = inf,
    close: float = CLOSE,
) -> Ends:
    """Certified floats around the least mu; `end` is an epsilon from which on delta is at most `slack`.

    `known` is a mu that covers the profile without any slack, where there is one: then only the lower end is searched.
    `close` is the relative distance of the two ends at which the search ends.
    """
    return at_precision(BITS, lambda: _Cover(both, upper, slack).search(end, known, close))


class _Cover:
    """A profile, given by its certified ends, and the comparison of it with delta_mu + slack, cell by cell."""

    def __init__(self, both: Callable[[Fraction], Ends], upper: Callable[[Fraction], float], slack: Fraction) -> None:
        self.both, self.upper, self.slack = both, upper, lift(slack)

    def search(self, end: float, known: float, close: float) -> Ends:
        """Halve the cell that asks for the largest mu, until the ends are close or the work is done."""
        last = min(end, FARTHEST)
        places = [last * (n / FIRST) for n in range(FIRST + 1)]
        low = max(self.needed_alone(self.both(Fraction(t))[0], Fraction(t)) for t in places[:-1:2])
        if known < inf or end > FARTHEST:
            return min(low, known), known
        knots = [knot(t, (0.0, self.upper(Fraction(t)))) for t in places]
        cells = {(one.t, other.t): (one, other) for one, other in pairwise(knots)}
        needed: dict[tuple[float, float], float] = {}
        while True:
            needed |= {name: self.needed(cell, low) for name, cell in cells.items() if name not in needed}
            worst = max(needed, key=lambda name: needed[name])
            middle = (worst[0] + worst[1]) / 2
            high = max(needed.pop(worst), low)
            if len(cells) >= MOST or high <= low * (1 + close) or not worst[0] < middle < worst[1]:
                return low, high
            one, other = cells.pop(worst)
            ends = self.both(Fraction(middle))
            between = knot(middle, (0.0, ends[1]))
            cells[one.t, middle], cells[middle, other.t] = (one, between), (between, other)
            low = max(low, self.needed_alone(ends[0], Fraction(middle)))

    def needed_alone(self, delta: float, epsilon: Fraction) -> float:
        """A mu below which the profile is surely not covered at this epsilon; 0 if there is none."""
        rest = lift(Fraction(delta)) - self.slack
        if not rest > 0:
            return 0.0

        def short(mu: float) -> bool:
            return bool(gaussian_delta(arb(mu), lift(epsilon))[0] < rest)

        return _last(short)

    def needed(self, cell: tuple[Knot, Knot], least: float) -> float:
        """A mu, at least `least` and near the smallest one, that surely covers the profile on the whole cell."""
        if least and self.covers(cell, least):
            return least
        mu = _last(lambda mu: not self.covers(cell, mu), least)
        for step in (2.0**-50, 2.0**-48, 2.0**-44, 2.0**-40):
            if self.covers(cell, found := mu * (1 + step) + 5e-324):
                return found
        if mu >= LARGEST:
            return inf
        raise NotCertified("no mu covers the profile: it is too extreme")

    def covers(self, cell: tuple[Knot, Knot], mu: float) -> bool:
        """Whether the chord over the cell is surely below delta_mu + slack.

        True is certified; False only says that there was no proof.
        """
        (x, h), (y, k) = ((lift(one.right), lift(one.most)) for one in cell)
        if h <= self.slack:  # and beyond it the profile is not larger
            return True
        slope = (k - h) / (y - x)
        lines = []
        for one, g, most in zip(cell, (x, y), (h, k), strict=True):
            epsilon = lift(Fraction(one.t))
            value, weight = gaussian_delta(arb(mu), epsilon)
            start = value + weight * epsilon.exp()
            if not start - weight * g + self.slack >= most:
                return False
            lines.append((start, -weight))
        (a, m), (b, n) = lines
        if not (gap := n - m) > 0:  # one tangent is as good as the other, in balls: each covers both ends or fails
            return bool(a + m * x + self.slack >= h) and bool(a + m * y + self.slack >= k)
        crossing = (a - b) / gap
        return bool(a + m * crossing + self.slack >= h + slope * (crossing - x))


def _last(holds: Callable[[float], bool], start: float = 0.0) -> float:
    """The largest mu, to 40 bits, with `holds`, which is true of small ones and false of large ones."""
    high = max(start, 2.0**-60)
    low = start
    while holds(high) and high < LARGEST:
        low, high = high, high * 2
    for _ in range(48):
        middle = (low + high) / 2
        if high - low <= high * 2.0**-42:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
