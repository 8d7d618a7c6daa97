"""Upper bounds on the cumulant of the sparse vector technique, by shifting the threshold with the neighbour.

Condition on the noisy threshold z. With the neighbour it is moved by a shift a, in scales of the query noise, so that
the number of queries up to the first positive is Geom(S(z)) against Geom(S(z + a)), S the tail of the standard Laplace
law. log V(s; a), the cost of waiting for one positive, is the largest cumulant of these two over all z; the first part
of the file computes it, and `ShiftedThreshold`, the second part, is the bound on the mechanism.

The maximum is attained for z between 0 and -a. There, with A = e^-v/2, B = e^{v-b}/2, 0 <= v <= b = |a|, the cumulant
is

    f(v) = log( 1 + (U + D - 1)/(1 - w) ),   U = (1-A) ((1-A)/B)^s,   D = A (A/(1-B))^s,   w = D if a > 0, U if a < 0.

f rises and then falls, so that the signs of its slope at two points enclose the maximum. With s = 0 the
functions return the limit of K(s)/s, which is the KL divergence, instead of K(0) = 0.
Theorem: docs/theorems/sparse-vector.md.
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
from zcdp.numeric.search import GOLDEN
from zcdp.numeric.threads import cached_property

__all__ = ["Move", "ShiftedThreshold", "log_v", "near_laplace", "near_log_v"]


FIRST_REACH = 2.0**-24
"""Signs of the slope are first certified this far from the proposed maximum, in widths of the window [0, b].

The bound on f is then too large by a part of 1e-12."""
REACH_GROWTH = 32  # the factor for the distance if the signs are not as expected
MOST_SECANTS = 60
LAST_SECANT = 1e-6  # the search ends with a secant step shorter than this part of the window; its end is much closer


def _near(s: float, b: float, v: float, *, rising: bool) -> tuple[float, float]:
    """Heuristic: f(v) and its slope in floats, for a > 0 if `rising`, else a < 0; (inf, 0) where w >= 1."""
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
    """Heuristic: log V(s; a), or its quotient by s in the limit s = 0, and the v that attains it; in floats.

    The secant method ends with a step shorter than `enough` times the window.
    """
    b, rising = abs(a), a > 0
    if b == 0:
        return 0.0, 0.0
    if not rising and s > 0:  # w is largest at A = s/(1 + 2s), or at the end of the window
        low = max(s / (1 + 2 * s), exp(-b) / 2)
        if _near(s, b, min(-_log(2 * low), b), rising=False)[0] == inf:
            return inf, 0.0
    left, right, before, at_before = 0.0, b, 0.0, 0.0
    v = b / 4 / (1 + b / 2 + s * b / 2) if rising else b * 3 / 4  # a start that is not far off at any s
    for _ in range(MOST_SECANTS):
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
    """Balls around f(v) and its slope; not finite, or `Undecided` is raised, where w < 1 is not certain."""
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
    """Whether w < 1 is certain in the whole window, for a < 0.

    log w = log(1-A) + s log((1-A)/B) peaks at A = s/(1+2s).
    """
    low = (-b).exp() / 2
    if not s / (1 + 2 * s) < low:
        low = s / (1 + 2 * s)  # the peak over all v: at least that over the window
    return bool((1 - low).log() * (1 + s) + s * (4 * low).log() + s * b < 0)


def log_v(s: arb, a: arb, near: float) -> arb:
    """A ball with a certified upper end for log V(s; a), given a proposal `near` for the v that attains it.

    Infinite if w < 1, or the signs of the slope around the maximum, cannot be certified.
    """
    b, rising = abs(a), bool(a > 0)
    if a.is_zero():
        return arb(0)
    if not rising and not s.is_zero() and not _certainly_finite(s, b):
        return arb.pos_inf()
    width, start = float(b.mid()), arb(near)
    reach = arb(FIRST_REACH * width)
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
        reach = reach * REACH_GROWTH


# The bound on the mechanism, with the best shift of the threshold at each s.
#
# The run with noisy threshold t on one input is compared with the run at t + c on the other. kappa in [0, 1] divides
# what is left of the move of a query between the outcomes "above" and "below". For any number of adaptive queries
#
#     K(s) <= K_L(s; theta e1) + k max( log V(s; kappa eta), log V(s; -(1-kappa) eta) ),    eta = e2/k,
#
# where K_L is the cumulant of Laplace noise and |c| = theta. The bound is valid for every kappa: kappa is chosen in
# floats near the minimum, and the bound at it is certified. Theorem: docs/theorems/sparse-vector.md.

Share = TypeVar("Share", float, Fraction)


SHIFT_BITS = 128  # working precision of the bound
LEAST_RATE, LARGEST_RATE = 2.0**-30, 2.0**8
"""Kappa is searched in floats for rates between these; beyond, the plain bound with V <= e^{2 K_L} is used."""
S_OF_ORDER_1 = 2.0**-30
"""Below this s the kappa of order 1 (s = 0) is used: the bound is monotone there."""
MORE_BITS_BELOW = 2.0**-16  # an s or eta below this takes twice the bits, because of cancellation
LARGEST_S_ETA = 500.0  # beyond this s eta the bound by pure epsilon is as good
START_ODDS = 0.5, 2.0  # start of the search for equal costs: log-odds of kappa, and slope of the log ratio there
ODDS_ACCURACY = 1e-5  # the search ends with a step of this length in log-odds; the secant then is good to 1e-8
ROUGH_SECANT = 1e-3  # last secant step for `near_log_v` during the search for kappa
EQUAL_WITHIN = 1e-4  # costs whose logarithms differ by less count as equal


class Move(Enum):
    """How queries may move from the first input to the second, by at most 1 each. The bound for UP includes DOWN."""

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
    """The bound for one way that queries move; e1 and eta = e2/k are the rates, k is the number of positives."""

    e1: Fraction
    eta: Fraction
    k: int
    move: Move

    @property
    def extreme(self) -> bool:
        """Whether a rate is so small or large that kappa is not searched in floats."""
        return not all(LEAST_RATE < rate < LARGEST_RATE for rate in (self.e1, self.eta))

    def bound(self, s: Fraction) -> float:
        """A certified upper bound on K(s), perhaps infinite; at s = 0 on the slope, the divergence of order 1."""
        if self.extreme or s * self.eta > LARGEST_S_ETA:
            return inf
        # Kappa is cut to [0, 1], as rounding may leave it.
        kappa = min(max(self._kappa(0.0 if s < S_OF_ORDER_1 else float(s)), 0.0), 1.0)
        bits = SHIFT_BITS if s > MORE_BITS_BELOW and self.eta > MORE_BITS_BELOW else 2 * SHIFT_BITS
        bound = at_precision(bits, lambda: above(self._certified(s, kappa)))
        if self.move is Move.UP and kappa < 0.5:  # else DOWN at the same kappa costs no more
            return max(bound, replace(self, move=Move.DOWN).bound(s))
        return bound

    def _certified(self, exact_s: Fraction, kappa: float) -> arb:
        s, rise = lift(exact_s), Fraction(kappa) * self.eta
        fall = self.eta - rise
        threshold = lift(self.move.theta(Fraction(kappa)) * self.e1)
        cost = threshold + ball_expm1(-threshold) if exact_s == 0 else shift_cumulant(s, threshold, s / (1 + s))
        shares = [log_v(s, lift(a), near_log_v(float(exact_s), float(a))[1]) for a in (rise, -fall)]
        return cost + self.k * shares[0].max(shares[1])

    def _shares(self, s: float, kappa: float) -> tuple[float, float]:
        """Heuristic: the costs log V of "above" and of "below" at kappa, in floats."""
        eta = float(self.eta)
        rising = near_log_v(s, kappa * eta, enough=ROUGH_SECANT)[0]
        return rising, near_log_v(s, -(1 - kappa) * eta, enough=ROUGH_SECANT)[0]

    @cached_property
    def _first(self) -> tuple[float, float]:
        """Log-odds of the kappa of equal costs at order 1, and the slope there: a start for s up to 1."""
        return _equal_costs(partial(self._shares, 0.0), *START_ODDS)[:2]

    def _kappa(self, s: float) -> float:
        """Heuristic: the kappa of the least bound, at equal costs or between there and the kappa of no shift."""
        e1 = float(self.e1)

        def shares(kappa: float) -> tuple[float, float]:
            return self._shares(s, kappa)

        def whole(kappa: float, share: float | None = None) -> float:
            threshold = near_laplace(s, self.move.theta(kappa) * e1)
            return threshold + self.k * (max(shares(kappa)) if share is None else share)

        odds, _, share = _equal_costs(shares, *(self._first if 0 < s < 1 else START_ODDS))
        equal = _kappa_at(odds)
        still = {Move.ANY: 0.5, Move.UP: 0.0, Move.DOWN: 1.0}[self.move]
        nearer = equal + (still - equal) * 1e-3
        return _best_kappa(whole, equal, still) if whole(nearer) < whole(equal, share) else equal


def near_laplace(s: float, epsilon: float) -> float:
    """Heuristic: the Laplace cumulant K_L(s; epsilon) in floats; at s = 0 its slope."""
    if s == 0:
        return epsilon + expm1(-epsilon)
    return s * epsilon + log1p(s / (1 + 2 * s) * expm1(-(1 + 2 * s) * epsilon))


def _equal_costs(
    shares: Callable[[float], tuple[float, float]], odds: float, slope: float
) -> tuple[float, float, float]:
    """Heuristic: log-odds of the kappa at which both costs are equal, slope of the log ratio there, and the cost.

    One cost rises from 0 with kappa, the other falls to 0. The secant method is applied to the logarithm of their ratio
    as a function of the log-odds of kappa, which is nearly a straight line.
    """
    before, left, right = None, -40.0, 40.0
    for _ in range(MOST_SECANTS):
        rising, falling = shares(_kappa_at(odds))
        excess = log(rising / falling) if falling < inf else -inf
        left, right = (odds, right) if excess < 0 else (left, odds)
        if before is not None and -inf < excess and odds != before[0]:
            slope = (excess - before[1]) / (odds - before[0])
        step = 1.0 if excess == -inf else -excess / slope if slope > 0 else 0.0
        before = (odds, excess) if excess > -inf else None
        following = odds + step if left < odds + step < right else (left + right) / 2
        near, odds = abs(following - odds) <= ODDS_ACCURACY, following
        if near and abs(excess) <= EQUAL_WITHIN:
            return odds, slope, max(rising, falling)
        if near:
            break
    for last in (odds, right):  # where "below" falls from infinity, the last secant may end where it is infinite
        rising, falling = shares(_kappa_at(last))
        if falling <= rising * (1 + EQUAL_WITHIN):
            break
    return last, slope, max(rising, falling)


def _kappa_at(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _best_kappa(whole: Callable[[float], float], equal: float, still: float) -> float:
    """Heuristic: the kappa between `equal` and `still` where `whole` is least.

    Goes by golden sections, finer where the bound falls from infinity, then to the vertex of a parabola.
    """
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
