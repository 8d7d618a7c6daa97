"""Tails of a sum of two binomials, to ten digits at any size: a contour through the saddle point.

With G(z) = (1 + p(z-1))^N (1 + q(z-1))^{n-N} and any r > 1,
    P[S >= c] = (1/2 pi i) times the integral over |z| = r of G(z) z^{-c}/(z - 1) dz,
a trigonometric sum: M points on the circle give the sum over all whole m of P[S >= c + mM] r^{mM}. Where M is many
standard deviations, or above n, the terms m > 0 vanish and those of m < 0 are r^{-M} + r^{-2M} + ..., which is taken
off. At the saddle point the integrand is a bell of width 1/sd, of which few points count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MARGIN", "upper_tail"]

MARGIN = 1e-7
"""Tails are compared with a level less this part of it; they are off by less (a test compares them with balls)."""

REACH = 9.0  # e^{-REACH^2/2}: what the bell weighs beyond
SPREAD = 20.0  # standard deviations around the circle, beyond which coefficients are as small
NODES = 64
LEAST, MOST = 1e-12, 1e12
CHUNK = 1 << 15

Floats = NDArray[Any]
Chance = tuple[Floats | float, Floats | float]


def upper_tail(c: Floats, first: Floats, n: int, p: Chance, q: Chance) -> Floats:
    """P[Bin(first, p) + Bin(n - first, q) >= c], elementwise; p and q come with their complements.

    >>> half = (np.array([0.5]), np.array([0.5]))
    >>> upper_tail(np.array([2.0]), np.array([1.0]), 2, half, half).round(12).tolist()
    [0.25]
    """
    c, first, p0, p1, q0, q1 = np.broadcast_arrays(*map(np.asarray, (c, first, *p, *q)))
    flat = [np.ravel(part).astype(float) for part in (c, first, p0, p1, q0, q1)]
    out = np.empty(flat[0].size)
    for start in range(0, out.size, CHUNK):
        part = slice(start, start + CHUNK)
        out[part] = _tail(n, *(column[part] for column in flat))
    return out.reshape(c.shape)


def _tail(n: int, c: Floats, first: Floats, p: Floats, p1: Floats, q: Floats, q1: Floats) -> Floats:
    rest = n - first
    mean = first * p + rest * q
    above = c > mean
    # below the mean the other tail is the small one, and this one is what it leaves
    mirrored = _small(
        n,
        np.where(above, c, n - c + 1),
        first,
        np.where(above, p, p1),
        np.where(above, p1, p),
        np.where(above, q, q1),
        np.where(above, q1, q),
    )
    tail = np.where(above, mirrored, 1 - mirrored)
    return np.where(c <= 0, 1.0, np.where(c > n, 0.0, tail))


def _small(n: int, c: Floats, first: Floats, p: Floats, p1: Floats, q: Floats, q1: Floats) -> Floats:
    """The tail above the mean, relative to itself."""
    rest = n - first
    x = _saddle(c, first, rest, p, q)  # r - 1
    tilted_p, tilted_q = p * (1 + x) / (1 + p * x), q * (1 + x) / (1 + q * x)
    variance = first * tilted_p * p1 / (1 + p * x) + rest * tilted_q * q1 / (1 + q * x)
    spread = np.sqrt(variance) + 1
    points = np.minimum(np.ceil(SPREAD * spread), 2 * n + 4)
    most = np.ceil(np.minimum(points / 2, REACH / np.maximum(np.sqrt(variance), 1e-9) * points / (2 * np.pi))) + 1
    size = int(max(most.max(initial=1), 1))
    log_peak = first * np.log1p(p * x) + rest * np.log1p(q * x) - (c - 1) * np.log1p(x)
    total = np.zeros(c.size)
    for start in range(0, size + 1, NODES):
        index = np.arange(start, min(start + NODES, size + 1))[:, None]
        angle = 2 * np.pi * index / points
        whole = 2 * index < points
        lone = (index == 0) | (2 * index == points)
        weight = np.where(lone, 1.0, 2.0) * (whole | (2 * index == points))
        # z - 1 = x e^{i angle} + (e^{i angle} - 1), without cancellation
        turn = -2 * np.sin(angle / 2) ** 2 + 1j * np.sin(angle)
        shift = (1 + x) * turn  # z - r
        exponent = first * np.log1p(p * shift / (1 + p * x)) + rest * np.log1p(q * shift / (1 + q * x))
        exponent -= 1j * (c - 1) * angle
        total += (weight * (np.exp(exponent) / (x + shift)).real).sum(axis=0)
    tail: Floats = np.clip(
        np.exp(log_peak) * total / points - 1 / np.expm1(np.minimum(points * np.log1p(x), 700.0)), 0.0, 1.0
    )
    return tail


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
