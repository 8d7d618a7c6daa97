"""The accuracy of means, of their sums, and of ratios, known before any data is read.

Theorem: docs/theorems/quotients.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.mechanisms.noise.noise_sums import KnownLaw, NoiseSum
from zcdp.mechanisms.noise.quotients import Quotients
from zcdp.tables.clipped_sums import Amount
from zcdp.tables.table_query import TableQuery

__all__ = ["HALF_LEVEL", "mean_quotients", "ratio_quotients", "square_quotients", "sum_accuracy"]

LEVEL = Fraction(19, 20)  # of intervals
HALF_LEVEL = (1 + LEVEL) / 2
"""The level of each of two intervals that hold together at LEVEL, by a union bound."""


@lru_cache(64)
def mean_quotients(one: Amount, total: Any, count: Any, level: Fraction = LEVEL) -> Quotients:
    """The quotients of a noisy sum, of distances from the middle of the clip, and a noisy number of persons."""
    return Quotients(total, count, Fraction(one.farthest), level)


def square_quotients(one: Amount, squares: Any, count: Any) -> Quotients:
    """The quotients of noisy squares of distances from the middle, less half of the largest, and a noisy count."""
    return mean_quotients(Amount(one.column, one.grid**2, 0, one.farthest**2), squares, count, level=HALF_LEVEL)


@lru_cache(64)
def ratio_quotients(query: TableQuery, total: Any, over: Any) -> Quotients:
    """The quotients of two noisy sums, in grid steps of either; bounded only where the second clip excludes 0."""
    assert query.amount is not None
    assert query.over is not None
    least = min(abs(query.over.low), abs(query.over.high)) if query.over.low > 0 or query.over.high < 0 else 0
    return Quotients(total, over, Fraction(query.amount.reach, least) if least else None, LEVEL)


def sum_accuracy(one: Amount, total: Any, count: Any) -> Accuracy:
    """The accuracy, in grid steps, of a sum that is a noisy sum of distances from the middle, and middle x persons."""
    middle = Fraction(abs(one.middle))
    if isinstance(total, KnownLaw) and isinstance(count, KnownLaw):
        terms = ((total, Fraction(1), 1), (count, middle, 1)) if middle else ((total, Fraction(1), 1),)
        return NoiseSum(terms).accuracy(LEVEL)
    halves = [noise.accuracy(HALF_LEVEL) for noise in (total, count)]  # a union bound, where laws are not known
    spread = (halves[0].standard_deviation ** 2 + (float(middle) * halves[1].standard_deviation) ** 2) ** 0.5
    return Accuracy(spread, halves[0].half_width + float(middle) * halves[1].half_width, float(LEVEL))
