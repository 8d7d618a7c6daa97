"""Where a function of one number is largest: a grid, then its best cells again; no proof, so from below only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neighbours.law import Array

GOLDEN = (5**0.5 - 1) / 2
FINER = 16  # cells of the grid that is laid over the two best cells of the grid before


def peak(measure: Callable[[float], float], low: float, high: float, cells: int = 40, rounds: int = 30) -> float:
    """The place of the largest value found between `low` and `high`: a grid, then golden section.

    Some 1e-8 of the width away from a smooth peak, so that the value is off by the square of that; a peak at an end
    has no slope of 0 there, and is a point of the grid.
    """
    grid = np.linspace(low, high, cells + 1)
    values = [measure(float(x)) for x in grid]
    best = int(np.argmax(values))
    left, right = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, cells)])
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_inner, at_outer = measure(inner), measure(outer)
    for _ in range(rounds):
        if at_inner < at_outer:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + GOLDEN * (right - left)
            at_outer = measure(outer)
        else:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - GOLDEN * (right - left)
            at_inner = measure(inner)
    found, value = max((inner, at_inner), (outer, at_outer), key=lambda one: one[1])
    return found if value > values[best] else float(grid[best])


def peak_of_many(measure: Callable[[Array], Array], low: float, high: float, cells: int = 45, rounds: int = 7) -> float:
    """The same of a function of many places at once: each round lays a grid over the best two cells of the last."""
    grid = np.linspace(low, high, cells + 1)
    for _ in range(rounds):
        best = int(np.argmax(measure(grid)))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], FINER + 1)
    return float(grid[int(np.argmax(measure(grid)))])
