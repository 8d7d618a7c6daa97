"""When is the first positive? The cumulant of two geometric laws whose success probabilities are shifted Laplace tails.

S is the tail of the standard Laplace law. log V(s; a) is the largest cumulant of Geom(S(z)) against Geom(S(z + a)) over
all z. It is attained between 0 and -a; there, with A = e^-v/2, B = e^{v-b}/2, 0 <= v <= b = |a|,

    U = (1-A) ((1-A)/B)^s,   D = A (A/(1-B))^s,   f(v) = log( 1 + (U + D - 1)/(1 - w) ),   w = D if a > 0, U if a < 0,

rises and then falls, so that the signs of its slope at two points enclose the maximum. At s = 0 everything is divided
by s first: the divergence of order 1. Theorem: docs/theorems/sparse-vector.md.
"""

from __future__ import annotations

from math import exp, expm1, inf, log1p

from flint import arb

from zcdp.numeric.certify import Undecided

__all__ = ["log_v", "near_log_v"]

NEAR = 2.0**-24
"""How far from the maximum as floats see it signs are asked for, in widths of the window: 1e-12 of f are lost."""
WIDER = 32
TURNS = 60
CLOSE = 1e-6  # of the window: the last secant, which comes much closer


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


def near_log_v(s: float, a: float, *, enough: float = CLOSE) -> tuple[float, float]:
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
