"""Integer draws against a distribution function: Pearson's chi-square in cells, Kolmogorov's distance between them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp, mpf


def edges(cdf: Callable[[int], Any], cells: int) -> list[int]:
    """Integers that cut the law into at most so many cells."""
    cuts = []
    for n in range(1, cells):
        low, high = -1, 1
        while cdf(low) >= mpf(n) / cells:
            low *= 2
        while cdf(high) < mpf(n) / cells:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cdf(middle) < mpf(n) / cells else (low, middle)
        cuts.append(high)
    return sorted({cut for cut in cuts if cdf(cut) < 1})


def p_value(drawn: Any, cuts: list[int], cdf: Callable[[int], Any]) -> float:
    """The probability of a chi-square statistic at least as large under the law."""
    sums = [mpf(0), *(cdf(cut) for cut in cuts), mpf(1)]
    expected = [(b - a) * drawn.size for a, b in pairwise(sums)]
    counts = np.bincount(np.searchsorted(np.array(cuts), drawn, side="left"), minlength=len(cuts) + 1)
    if any(count and not e for count, e in zip(counts.tolist(), expected, strict=True)):
        return 0.0
    pairs = [(int(c), e) for c, e in zip(counts, expected, strict=True) if e]
    statistic = sum((c - e) ** 2 / e for c, e in pairs)
    return float(mp.gammainc(mpf(len(pairs) - 1) / 2, statistic / 2, mp.inf, regularized=True))


def largest_distance(drawn: Any, points: list[int], cdf: Callable[[int], Any]) -> float:
    """The largest difference between the two distribution functions at some points."""
    reached = np.searchsorted(np.sort(drawn), np.array(points), side="right") / drawn.size
    return max(abs(float(cdf(point)) - share) for point, share in zip(points, reached.tolist(), strict=True))


def distance_bound(count: int, level: float) -> float:
    """Exceeded with probability at most `level` (Dvoretzky, Kiefer, Wolfowitz; Massart's constant)."""
    return float(mp.sqrt(mp.log(2 / mpf(level)) / (2 * count)))
