"""Integer draws against a distribution function: Pearson's chi-square in cells, Kolmogorov's distance between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp, mpf

NOTHING = mpf(10) ** -12  # so little of the law is left beyond its last cut that rounding may have made it


def edges(cdf: Callable[[int], Any], cells: int) -> list[int]:
    """Integers that cut the law into at most so many cells."""
    return cuts_of(quantiles(cdf, cells))


def quantiles(cdf: Callable[[int], Any], cells: int) -> list[int]:
    """The least integers that reach 1/cells, 2/cells, ... of the law, below its last."""
    found: list[int] = []
    for n in range(1, cells):
        low, step = (found[-1] - 1 if found else -1), 1
        while cdf(low) >= mpf(n) / cells:
            low, step = low - step, 2 * step
        high, step = low + 1, 1
        while cdf(high) < mpf(n) / cells:
            low, high, step = high, high + step, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cdf(middle) < mpf(n) / cells else (low, middle)
        if cdf(high) > 1 - NOTHING:
            break
        found.append(high)
    return found


def cuts_of(found: list[int]) -> list[int]:
    """Each once."""
    return sorted(set(found))


def reached(drawn: Any, points: list[int]) -> list[int]:
    """How many of the draws are at most each point."""
    cells = np.bincount(np.searchsorted(np.array(points), drawn, side="left"), minlength=len(points) + 1)
    return [int(count) for count in np.cumsum(cells)[:-1]]


def p_value(drawn: Any, cuts: list[int], cdf: Callable[[int], Any]) -> float:
    """The probability of a chi-square statistic at least as large under the law."""
    return p_value_of_counts(reached(drawn, cuts), drawn.size, cuts, cdf)


def p_value_of_counts(below: list[int], count: int, cuts: list[int], cdf: Callable[[int], Any]) -> float:
    """The same where it is known how many of the draws are at most each cut."""
    sums = [mpf(0), *(cdf(cut) for cut in cuts), mpf(1)]
    expected = [(b - a) * count for a, b in pairwise(sums)]
    counts = [b - a for a, b in pairwise([0, *below, count])]
    if any(seen and not e for seen, e in zip(counts, expected, strict=True)):
        return 0.0
    pairs = [(seen, e) for seen, e in zip(counts, expected, strict=True) if e]
    statistic = sum((seen - e) ** 2 / e for seen, e in pairs)
    return float(mp.gammainc(mpf(len(pairs) - 1) / 2, statistic / 2, mp.inf, regularized=True))


def largest_distance(below: list[int], count: int, points: list[int], cdf: Callable[[int], Any]) -> float:
    """The largest difference between the two distribution functions at some points."""
    return max(abs(float(cdf(point)) - seen / count) for point, seen in zip(points, below, strict=True))


def distance_bound(count: int, level: float) -> float:
    """Exceeded with probability at most `level` (Dvoretzky, Kiefer, Wolfowitz; Massart's constant)."""
    return float(mp.sqrt(mp.log(2 / mpf(level)) / (2 * count)))
