"""Intervals from moments: the exact law is not known, but the moments of what a report adds are, or a bound on them.

Theorem: docs/theorems/intervals.md, part 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.inversion import crossing
from zcdp.estimation.tails import ROUNDING

__all__ = ["Excess", "moment_interval"]

Floats = NDArray[Any]
Excess = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""E e^{zX} - 1 of a holder's X and at most of anyone else's, at each z; and the size of the terms they are made of."""

STEPS = 60


def moment_interval(
    sums: Floats, n: int, risk: float, up: Excess, down: Excess, *, largest: float, guess: Floats, whole: bool
) -> tuple[Floats, Floats]:
    """The shares of holders among n for which neither tail of the sum of all X is bounded by risk/2.

    `up` is of X and `down` of -X, for z from 0 to `largest`. Whole: of these clients, else of whom they are drawn from.
    """
    unit = n if whole else 1
    top = np.full(sums.size, float(unit))
    gap = 1.0 if whole else max(1e-5 / np.sqrt(n), 1e-15)
    place = np.clip(guess, 0, 1) * unit

    def at_least(which: NDArray[Any], holders: Floats) -> Floats:
        return _bound(sums[which], holders / unit, n, up, largest, whole=whole)

    def at_most(which: NDArray[Any], others: Floats) -> Floats:
        return _bound(-sums[which], 1 - others / unit, n, down, largest, whole=whole, falling=True)

    outside, lower = crossing(at_least, risk / 2, top, gap, place)
    beyond, fewest = crossing(at_most, risk / 2, top, gap, unit - place)
    if whole:
        return lower / n, (n - fewest) / n
    return outside, np.minimum(np.nextafter(1 - beyond, 2), 1.0)


def _bound(
    d: Floats, share: Floats, n: int, excess: Excess, largest: float, *, whole: bool, falling: bool = False
) -> Floats:
    """On P[sum >= d]: the least moment bound that is found, each of them valid, and what rounding can change added."""
    low, high = np.zeros(d.size), np.full(d.size, largest)
    for _ in range(STEPS):
        third = (high - low) / 3
        left = _log_moment(low + third, d, share, n, excess, whole=whole, falling=falling)
        right = _log_moment(high - third, d, share, n, excess, whole=whole, falling=falling)
        low, high = np.where(left > right, low + third, low), np.where(left > right, high, high - third)
    found = _log_moment(low, d, share, n, excess, whole=whole, falling=falling)
    bound: Floats = np.exp(np.minimum(found, 0.0)) * (1 + ROUNDING)
    return bound


def _log_moment(z: Floats, d: Floats, share: Floats, n: int, excess: Excess, *, whole: bool, falling: bool) -> Floats:
    """log of e^{-zd} E e^{z sum}, or more: of clients of whom a share holds the value, or who are drawn to hold it."""
    holder, other, size = excess(z)
    # the bound must rise, or fall, with the holders: where it does not, the larger of both moments stands for both
    if falling:
        other = np.maximum(holder, other)
    else:
        holder = np.maximum(holder, other)
    if whole:
        log = share * np.log1p(holder) + (1 - share) * np.log1p(other)
    else:
        log = np.log1p(share * holder + (1 - share) * other)
    slack = ROUNDING * (n * (size / (1 + np.minimum(holder, other)) + np.abs(log)) + np.abs(z * d))
    return np.asarray(n * log - z * d + slack)
