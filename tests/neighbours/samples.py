"""Poisson samples: what mechanisms tell that run on a random part of the records, and data sets with and without one.

Each record is drawn by itself, so the law of the output on a data set is the mean over all of its subsets, each with
its chance. Nothing is said here of which data sets are the worst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import erfc, exp, expm1, prod, sqrt

import numpy as np

from neighbours.law import Array, Law, Pair

Output = Callable[[Sequence[float]], Array]
"""The masses of all outcomes on a sample."""


def mean_over_samples(output: Output, records: Sequence[float], rate: float) -> Array:
    total: Array | float = 0.0
    for drawn in product((False, True), repeat=len(records)):
        chance = prod(rate if taken else 1 - rate for taken in drawn)
        total = total + chance * output([record for record, taken in zip(records, drawn, strict=True) if taken])
    assert not isinstance(total, float)
    return total


def with_and_without(output: Output, others: Sequence[float], record: float, rate: float) -> Pair:
    """A data set that holds one record more than its neighbour."""
    return Pair.exactly(
        mean_over_samples(output, [*others, record], rate), mean_over_samples(output, list(others), rate)
    )


def mean_over_sets(output: Output, records: Sequence[float], size: int) -> Array:
    """Over all sets of so many of the records, each alike."""
    found = [output(chosen) for chosen in combinations(records, size)]
    return np.asarray(sum(found) / len(found))


def with_another(output: Output, others: Sequence[float], pair: tuple[float, float], size: int) -> Pair:
    """Two data sets of which one record differs, and samples of a fixed size."""
    return Pair.exactly(*(mean_over_sets(output, [*others, record], size) for record in pair))


def drawn(pair: Pair, rate: float) -> Pair:
    """No record but one: with it the output is that of the first law if it is drawn, and of the second if not."""
    low, high = (Law(rate * law.p + (1 - rate) * law.q, law.q) for law in (pair.low, pair.high))
    return Pair(low, high)


def counts(t: float, least: int, most: int) -> Output:
    """The sum of integer records with noise of masses as e^{-t|i|}; beyond all sums, on either side, one outcome."""

    def output(records: Sequence[float]) -> Array:
        middle = int(sum(records))
        tail = -1 / expm1(-t)
        inside = [exp(-t * abs(y - middle)) for y in range(least, most + 1)]
        beyond = exp(-t * (middle - least + 1)) * tail, exp(-t * (most + 1 - middle)) * tail
        masses = np.array([beyond[0], *inside, beyond[1]])
        return masses / masses.sum()

    return output


def sums(sigma: float, least: float, most: float, bins: int = 400) -> Output:
    """The sum of records with normal noise, in bins: a bound from below."""
    edges = np.linspace(least - 9 * sigma, most + 9 * sigma, bins)

    def tail(x: float) -> float:
        return erfc(x / (sigma * sqrt(2))) / 2

    def output(records: Sequence[float]) -> Array:
        middle = sum(records)
        # each bin from the side on which nothing cancels
        masses = [
            tail(left - middle) - tail(right - middle) if left > middle else tail(middle - right) - tail(middle - left)
            for left, right in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        ]
        return np.array([tail(middle - float(edges[0])), *masses, tail(float(edges[-1]) - middle)])

    return output


def report(rows: Sequence[Sequence[float]]) -> Output:
    """The report of the one person of interest, whose record is her value above 0; 0 if she is not in the sample."""
    known = [np.array([float(mass) for mass in row]) for row in rows]
    return lambda records: known[int(next((record for record in records if record), 0))]
