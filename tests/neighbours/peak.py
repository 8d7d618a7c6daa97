"""Where a function of one number is largest: a grid, then golden section; no proof, so for bounds from below only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GOLDEN = (5**0.5 - 1) / 2


def peak(measure: Callable[[float], float], low: float, high: float, cells: int = 40, rounds: int = 45) -> float:
    """The place of the largest value found between `low` and `high`."""
    grid = np.linspace(low, high, cells + 1)
    best = int(np.argmax([measure(float(x)) for x in grid]))
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, cells)])
    for _ in range(rounds):
        inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        if measure(inner) < measure(outer):
            left = inner
        else:
            right = outer
    return (left + right) / 2
