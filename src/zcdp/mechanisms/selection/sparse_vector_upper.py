"""When is the first positive? The cumulant of two geometric laws whose success probabilities are shifted Laplace tails.

S is the tail of the standard Laplace law. log V(s; a) is the largest cumulant of Geom(S(z)) against Geom(S(z + a)) over
all z. It is attained between 0 and -a; there, with A = e^-v/2, B = e^{v-b}/2, 0 <= v <= b = |a|,

    U = (1-A) ((1-A)/B)^s,   D = A (A/(1-B))^s,   f(v) = log( 1 + (U + D - 1)/(1 - w) ),   w = D if a > 0, U if a < 0,

rises and then falls, so that the signs of its slope at two points enclose the maximum. At s = 0 everything is divided
by s first: the divergence of order 1. Theorem: docs/theorems/sparse-vector.md.
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

from zcdp.mechanisms.noise.additive import shift_cumulant
from zcdp.numeric.balls import Undecided, above, at_precision, lift
from zcdp.numeric.functions import expm1 as ball_expm1
from zcdp.numeric.threads import cached_property

__all__ = ["Move", "ShiftedThreshold", "log_v", "near_laplace", "near_log_v"]


NEAR = 2.0**-24
"""How far from the maximum as floats see it signs are asked for, in widths of the window: 1e-12 of f are lost."""
WIDER = 32
TURNS = 60
LAST_SECANT = 1e-6  # of the window: the last secant, which comes much closer


def _near(s: float, b: float, v: float, *, rising: bool) -> tuple[float, float]:
    """f and its slope in floats, for a > 0 if `rising`; (inf, 0) where w >= 1."""
    low, high = exp(-v) / 2, exp(v - b) / 2
    alpha, beta = -expm1(-v) / (1 - low), -expm1(v - b) / (1 - high)
    gap = -(expm1(-v) + expm1(v - b)) / 2  # 1 - A - B
    up, down = log1p(gap / high), log1p(gap / low)
    if s == 0:
        over = (1 - low) / low
        kl = (1 - low) * up - low * down
        if rising:
            return kl / (1 - low), -alpha + (down / (1 - low) - beta) / over
        return kl / low, -beta - over * alpha + up / low
    more, less = expm1(s * up), expm1(-s * down)
    u, d = (1 - low) * (1 + more), low * (1 + less)
    excess = (1 - low) * more + low * less  # U + D - 1
    if rising:
        return log1p(excess / (1 - d)), -s * alpha - (s * beta * d + low * less / (1 - low)) / (1 - d)
    if u >= 1:
        return inf, 0.0
    return log1p(excess / (1 - u)), -s * beta + (more - s * alpha * u) / (1 - u)


def near_log_v(s: float, a: float, *, enough: float = LAST_SECANT) -> tuple[float, float]:
    """log V(s; a), divided by s in the limit at 0, and the v that attains it: in floats, a proposal.

    The last secant is shorter than `enough` of the window.
    """
    b, rising = abs(a), a > 0
    if b == 0:
        return 0.0, 0.0
    if not rising and s > 0:  # w is largest at A = s/(1 + 2s), or at the end of the window
        low = max(s / (1 + 2 * s), exp(-b) / 2)
        if _near(s, b, min(-_log(2 * low), b), rising=False)[0] == inf:
            return inf, 0.0
    left, right, before, at_before = 0.0, b, 0.0, 0.0
    v = b / 4 / (1 + b / 2 + s * b / 2) if rising else b * 3 / 4  # not far off, at any s
    for _ in range(TURNS):
        slope = _near(s, b, v, rising=rising)[1]
        left, right = (v, right) if slope > 0 else (left, v)
        change = slope - at_before
        following = v - slope * (v - before) / change if before and change else v * (1.1 if slope > 0 else 0.9)
        if not left < following < right:
            following = (left + right) / 2
        before, at_before, v = v, slope, following
        if abs(v - before) <= enough * b:
            break
    return _near(s, b, v, rising=rising)[0], v


def _log(x: float) -> float:
    return log1p(x - 1)


def _slope(s: arb, b: arb, v: arb, *, rising: bool) -> tuple[arb, arb]:
    """f and its slope in balls; not finite where w < 1 is not certain."""
    low, high = (-v).exp() / 2, (v - b).exp() / 2
    alpha, beta = (1 - 2 * low) / (1 - low), (1 - 2 * high) / (1 - high)
    up, down = (-low).log1p() - high.log(), (-high).log1p() - low.log()
    if s.is_zero():
        over = (1 - low) / low
        kl = (1 - low) * up - low * down
        if rising:
            return kl / (1 - low), -alpha + (down / (1 - low) - beta) / over
        return kl / low, -beta - over * alpha + up / low
    more, less = (s * up).expm1(), (-s * down).expm1()
    u, d = (1 - low) * (1 + more), low * (1 + less)
    excess = (1 - low) * more + low * less
    if rising:
        return (excess / (1 - d)).log1p(), -s * alpha - (s * beta * d + low * less / (1 - low)) / (1 - d)
    if not u < 1:
        raise Undecided
    return (excess / (1 - u)).log1p(), -s * beta + (more - s * alpha * u) / (1 - u)


def _certainly_finite(s: arb, b: arb) -> bool:
    """Whether w < 1 in the whole window, a < 0: log w = log(1-A) + s log((1-A)/B) peaks at A = s/(1+2s)."""
    low = (-b).exp() / 2
    if not s / (1 + 2 * s) < low:
        low = s / (1 + 2 * s)  # the peak over all v: at least that over the window
    return bool((1 - low).log() * (1 + s) + s * (4 * low).log() + s * b < 0)


def log_v(s: arb, a: arb, near: float) -> arb:
    """log V(s; a), from above, given about where it is attained; infinite where that cannot be told."""
    b, rising = abs(a), bool(a > 0)
    if a.is_zero():
        return arb(0)
    if not rising and not s.is_zero() and not _certainly_finite(s, b):
        return arb.pos_inf()
    width, start = float(b.mid()), arb(near)
    reach = arb(NEAR * width)
    while True:
        left, right = (start - reach).max(arb(0)), (start + reach).min(b)
        try:
            value, slope = _slope(s, b, left, rising=rising)
            rises = left.is_zero() or slope >= 0
            if rises and (start + reach >= b or _slope(s, b, right, rising=rising)[1] <= 0):
                slope = _slope(s, b, left.union(right), rising=rising)[1]
                bound = value + abs(slope) * (right - left)
                return bound if bound.is_finite() else arb.pos_inf()
        except Undecided:
            return arb.pos_inf()
        if reach > width:
            return arb.pos_inf()
        reach = reach * WIDER


# The bound on sparse vector: how far the threshold is shifted with the neighbour, best for each order.
#
# Compare threshold t on one input with t + c on the other. With kappa in [0, 1] for how the rest of the move is shared
# out between "above" and "below", unlimited adaptive queries cost at most
#
#     K(s) <= K_L(s; theta e1) + k max( log V(s; kappa eta), log V(s; -(1-kappa) eta) ),    eta = e2/k,
#
# K_L the cumulant of Laplace noise, V of `first_positive`. Any kappa is sound: it is chosen in floats, near the least
# of the bound, and the bound at it is certified. Theorem: docs/theorems/sparse-vector.md.

Share = TypeVar("Share", float, Fraction)


BITS = 128
TINY, HUGE = 2.0**-30, 2.0**8
"""Rates beyond which floats choose no kappa: then kappa is 1, and V is bounded by e^{2 K_L}."""
FLAT = 2.0**-30
"""Orders up to 1 + this share the kappa of order 1: the bound is monotone there."""
DEEP = 2.0**-16  # below it cancellation asks for more bits
STEEP = 500.0  # at so large an s eta the pure epsilon is as good
START = 0.5, 2.0  # where the search for equal shares begins, and its slope there, in log-odds of kappa
SHIFT_ACCURACY = 1e-5  # from there a secant is good to 1e-8
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
        near, odds = abs(following - odds) <= SHIFT_ACCURACY, following
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
