"""The bound on sparse vector: how far the threshold is shifted with the neighbour, best for each order.

Compare threshold t on one input with t + c on the other. With kappa in [0, 1] for how the rest of the move is shared
out between "above" and "below", unlimited adaptive queries cost at most

    K(s) <= K_L(s; theta e1) + k max( log V(s; kappa eta), log V(s; -(1-kappa) eta) ),    eta = e2/k,

K_L the cumulant of Laplace noise, V of `first_positive`. Any kappa is sound: it is chosen in floats, near the least of
the bound, and the bound at it is certified. Theorem: docs/theorems/sparse-vector.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from math import exp, expm1, inf, log, log1p
from typing import TypeVar

from flint import arb

from zcdp.mechanisms.first_positive import log_v, near_log_v
from zcdp.mechanisms.noise import shift_cumulant
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.functions import expm1 as ball_expm1
from zcdp.numeric.once import cached_property

Share = TypeVar("Share", float, Fraction)

__all__ = ["Move", "ShiftedThreshold", "near_laplace"]

BITS = 128
TINY, HUGE = 2.0**-30, 2.0**8
"""Rates beyond which floats choose no kappa: then kappa is 1, and V is bounded by e^{2 K_L}."""
FLAT = 2.0**-30
"""Orders up to 1 + this share the kappa of order 1: the bound is monotone there."""
DEEP = 2.0**-16  # below it cancellation asks for more bits
STEEP = 500.0  # at so large an s eta the pure epsilon is as good
TURNS = 60
START = 0.5, 2.0  # where the search for equal shares begins, and its slope there, in log-odds of kappa
CLOSE = 1e-5  # from there a secant is good to 1e-8
ROUGH = 1e-3
STEEPNESS = 1e-4
GOLDEN = 0.6180339887498949


class Move(Enum):
    """How queries may move from the first input to the second: by at most 1 each. The bound for UP covers DOWN."""

    ANY = "any"
    UP = "up"
    DOWN = "down"

    def theta(self, kappa: Share) -> Share:
        """How far the threshold is shifted, |c|."""
        if self is Move.ANY:
            return abs(2 * kappa - 1)
        return kappa if self is Move.UP else 1 - kappa


@dataclass(frozen=True)
class ShiftedThreshold:
    """The bound for one way that queries move; e1 and eta are the rates, k the number of positives."""

    e1: Fraction
    eta: Fraction
    k: int
    move: Move

    @property
    def extreme(self) -> bool:
        """Whether the rates are beyond what floats can choose a kappa for."""
        return not all(TINY < rate < HUGE for rate in (self.e1, self.eta))

    def bound(self, s: Fraction) -> float:
        """K(s), rounded up; at s = 0 the slope, which is the divergence of order 1."""
        if self.extreme or s * self.eta > STEEP:
            return inf
        kappa = min(max(self._kappa(0.0 if s < FLAT else float(s)), 0.0), 1.0)  # whatever floats make of the ends
        bits = BITS if s > DEEP and self.eta > DEEP else 2 * BITS
        bound = at_precision(bits, lambda: above(self._certified(s, kappa)))
        if self.move is Move.UP and kappa < 0.5:  # else the way down costs no more, by the same kappa
            return max(bound, replace(self, move=Move.DOWN).bound(s))
        return bound

    def _certified(self, order: Fraction, kappa: float) -> arb:
        s, rise = lift(order), Fraction(kappa) * self.eta
        fall = self.eta - rise
        threshold = lift(self.move.theta(Fraction(kappa)) * self.e1)
        cost = threshold + ball_expm1(-threshold) if order == 0 else shift_cumulant(s, threshold, s / (1 + s))
        shares = [log_v(s, lift(a), near_log_v(float(order), float(a))[1]) for a in (rise, -fall)]
        return cost + self.k * shares[0].max(shares[1])

    def _shares(self, s: float, kappa: float) -> tuple[float, float]:
        """What "above" and "below" cost at kappa, in floats."""
        eta = float(self.eta)
        rising = near_log_v(s, kappa * eta, enough=ROUGH)[0]
        return rising, near_log_v(s, -(1 - kappa) * eta, enough=ROUGH)[0]

    @cached_property
    def _first(self) -> tuple[float, float]:
        """Equal shares at order 1, as log-odds and slope: near those of all orders that are not large."""
        return _equal(partial(self._shares, 0.0), *START)[:2]

    def _kappa(self, s: float) -> float:
        """Where the bound is least, in floats: at the kappa of equal shares, or between it and no shift at all."""
        e1 = float(self.e1)

        def shares(kappa: float) -> tuple[float, float]:
            return self._shares(s, kappa)

        def whole(kappa: float, share: float | None = None) -> float:
            threshold = near_laplace(s, self.move.theta(kappa) * e1)
            return threshold + self.k * (max(shares(kappa)) if share is None else share)

        odds, _, share = _equal(shares, *(self._first if 0 < s < 1 else START))
        equal = _kappa_at(odds)
        still = {Move.ANY: 0.5, Move.UP: 0.0, Move.DOWN: 1.0}[self.move]
        nearer = equal + (still - equal) * 1e-3
        return _least(whole, equal, still) if whole(nearer) < whole(equal, share) else equal


def near_laplace(s: float, epsilon: float) -> float:
    """K_L(s; epsilon), its slope at s = 0: in floats, a proposal."""
    if s == 0:
        return epsilon + expm1(-epsilon)
    return s * epsilon + log1p(s / (1 + 2 * s) * expm1(-(1 + 2 * s) * epsilon))


def _equal(shares: Callable[[float], tuple[float, float]], odds: float, slope: float) -> tuple[float, float, float]:
    """Log-odds of the kappa at which both shares are equal, their slope there, and what the shares are.

    The one share rises from 0, the other falls to 0. Secants for the logarithm of their ratio, over the log-odds of
    kappa: nearly a straight line.
    """
    before, left, right = None, -40.0, 40.0
    for _ in range(TURNS):
        rising, falling = shares(_kappa_at(odds))
        excess = log(rising / falling) if falling < inf else -inf
        left, right = (odds, right) if excess < 0 else (left, odds)
        if before is not None and -inf < excess and odds != before[0]:
            slope = (excess - before[1]) / (odds - before[0])
        step = 1.0 if excess == -inf else -excess / slope if slope > 0 else 0.0
        before = (odds, excess) if excess > -inf else None
        following = odds + step if left < odds + step < right else (left + right) / 2
        near, odds = abs(following - odds) <= CLOSE, following
        if near and abs(excess) <= STEEPNESS:
            return odds, slope, max(rising, falling)
        if near:
            break
    for last in (odds, right):  # where the second share falls from infinity, the last secant may end on its wrong side
        rising, falling = shares(_kappa_at(last))
        if falling <= rising * (1 + STEEPNESS):
            break
    return last, slope, max(rising, falling)


def _kappa_at(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _least(whole: Callable[[float], float], equal: float, still: float) -> float:
    """Golden sections, finer where the bound falls from infinity, then the vertex of a parabola."""
    left, right = min(equal, still), max(equal, still)
    inner, outer = right - (right - left) * GOLDEN, left + (right - left) * GOLDEN
    known = {kappa: whole(kappa) for kappa in (inner, outer)}
    infinite = False
    while right - left > (1e-4 if infinite else 1e-2):
        if known[inner] > known[outer] or known[inner] == inf:
            infinite = known[inner] == inf
            left, inner = inner, outer
            outer = left + (right - left) * GOLDEN
            known[outer] = whole(outer)
        else:
            right, outer = outer, inner
            inner = right - (right - left) * GOLDEN
            known[inner] = whole(inner)
    middle, width = (inner + outer) / 2, (right - left) / 2
    low, at, high = (known.setdefault(kappa, whole(kappa)) for kappa in (middle - width, middle, middle + width))
    bend = low - 2 * at + high
    vertex = middle + width * (low - high) / (2 * bend) if 0 < bend < inf else middle
    vertex = min(max(vertex, left), right)
    known |= {vertex: whole(vertex), equal: whole(equal)}
    return min(known, key=known.__getitem__)
