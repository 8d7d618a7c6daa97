"""Tails of a sum of two binomials, from above and to ten digits at any size: a contour through the saddle point.

With G(z) = (1 + p(z-1))^N (1 + q(z-1))^{n-N} and any r > 1 the mean of G(z) z^{1-c}/(z-1) over M points of |z| = r is
the sum over all whole m of P[S >= c + mM] r^{mM}: the tail, and more that is positive and small if M is large. At the
saddle point the terms are a bell of width 1/sd, of which few count. What rounding and the terms left out can change is
added, so that the result is never below the tail. Theorem: docs/theorems/intervals.md, part 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUNDING", "upper_tail"]

ROUNDING = 2.0**-47
"""64 units in the last place: more than any step here is off by, relative to its own terms."""

REACH = 9.0  # e^{-REACH^2/2}: about what the bell weighs beyond
SPREAD = 20.0  # standard deviations around the circle, beyond which coefficients are as small
DECAY = 30.0  # e^{-DECAY}: about what comes from below
NODES = 64
LEAST, MOST = 1e-12, 1e12
CHUNK = 1 << 15

Floats = NDArray[Any]
Chance = tuple[Floats | float, Floats | float]


def upper_tail(c: Floats, first: Floats, n: int, p: Chance, q: Chance) -> Floats:
    """P[Bin(first, p) + Bin(n - first, q) >= c] or a little more, elementwise; 1 where c is at most the mean.

    p and q come with their complements, and may be off by a few units in the last place.

    >>> half = (np.array([0.5]), np.array([0.5]))
    >>> upper_tail(np.array([2.0]), np.array([1.0]), 2, half, half).round(12).tolist()
    [0.25]
    """
    c, first, p0, p1, q0, q1 = np.broadcast_arrays(*map(np.asarray, (c, first, *p, *q)))
    flat = [np.ravel(part).astype(float) for part in (c, first, p0, p1, q0, q1)]
    out = np.where(flat[0] > n, 0.0, 1.0)
    above = (flat[0] > flat[1] * flat[2] + (n - flat[1]) * flat[4]) & (flat[0] > 0) & (flat[0] <= n)
    places = np.flatnonzero(above)
    for start in range(0, places.size, CHUNK):
        some = places[start : start + CHUNK]
        out[some] = _above_the_mean(n, *(column[some] for column in flat))
    return out.reshape(c.shape)


def _above_the_mean(n: int, c: Floats, first: Floats, p: Floats, p1: Floats, q: Floats, q1: Floats) -> Floats:
    rest = n - first
    x = _saddle(c, first, rest, p, q)  # r - 1
    r = 1 + x
    # tilted to r: the chances of a 1, and 4 times those times the others, of which |G| on the circle is made
    yes = p * r / (1 + p * x), q * r / (1 + q * x)
    both = 4 * yes[0] * p1 / (1 + p * x), 4 * yes[1] * q1 / (1 + q * x)
    deviation = np.sqrt((first * both[0] + rest * both[1]) / 4)
    points = np.ceil(np.maximum(SPREAD * (deviation + 1), DECAY / np.log1p(x)))
    most = np.ceil(np.minimum(points / 2, REACH / np.maximum(deviation, 1e-9) * points / (2 * np.pi))) + 1
    parts = first * np.log1p(p * x), rest * np.log1p(q * x), (c - 1) * np.log1p(x)
    log_peak = (
        parts[0] + parts[1] - parts[2] + ROUNDING * (parts[0] + parts[1] + parts[2] + first * yes[0] + rest * yes[1])
    )

    def size(angle: Floats) -> tuple[Floats, Floats]:
        """log |G(z)/G(r)|, and its error in units of rounding."""
        square = np.sin(angle / 2) ** 2
        one, other = np.minimum(both[0] * square, 1 - 1e-15), np.minimum(both[1] * square, 1 - 1e-15)
        log = (first * np.log1p(-one) + rest * np.log1p(-other)) / 2
        return log, first * one / (1 - one) + rest * other / (1 - other) - log

    total = np.zeros(c.size)
    for start in range(0, int(most.max(initial=1)) + 1, NODES):
        index = np.arange(start, min(start + NODES, int(most.max(initial=1)) + 1))[:, None]
        angle = 2 * np.pi * index / points
        counted = (2 * index <= points) & (index <= most)
        weight = np.where((index == 0) | (2 * index == points), 1.0, 2.0) * counted
        angle = np.where(counted, angle, 0.0)
        sine, square = np.sin(angle), np.sin(angle / 2) ** 2
        log, off = size(angle)
        turns = (
            first * np.arctan2(yes[0] * sine, 1 - 2 * yes[0] * square),
            rest * np.arctan2(yes[1] * sine, 1 - 2 * yes[1] * square),
        )
        phase = turns[0] + turns[1] - (c - 1) * angle
        real, imaginary = x - 2 * r * square, r * sine  # of z - 1
        distance = np.sqrt(x**2 + 4 * r * square)
        term = weight * np.exp(log) / distance
        off = off + np.abs(turns[0]) + np.abs(turns[1]) + (c - 1) * angle + 8
        total += (term * ((np.cos(phase) * real + np.sin(phase) * imaginary) / distance + ROUNDING * off)).sum(axis=0)
    first_left = np.minimum(2 * np.pi * (most + 1) / points, np.pi)
    left = np.where(2 * most < points, np.exp(size(first_left)[0] * (1 - ROUNDING)) / x, 0.0)
    bound: Floats = np.minimum(np.exp(log_peak) * (total / points + left) * (1 + ROUNDING), 1.0)
    return bound


def _saddle(c: Floats, first: Floats, rest: Floats, p: Floats, q: Floats) -> Floats:
    """r - 1 where log G(r) - (c-1) log r - log(r-1) is least: any r > 1 is right, this one is accurate.

    Bisection in log(r - 1): the derivative times r, sum of tilted means - (c-1) - r/(r-1), increases.
    """
    low, high = np.full(c.shape, np.log(LEAST)), np.full(c.shape, np.log(MOST))
    for _ in range(40):
        middle = (low + high) / 2
        x = np.exp(middle)
        slope = first * p * (1 + x) / (1 + p * x) + rest * q * (1 + x) / (1 + q * x) - (c - 1) - (1 + x) / x
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray(np.exp((low + high) / 2))
