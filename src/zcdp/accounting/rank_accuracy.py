"""The accuracy of quantiles, known before any data is read: how far ranks are off, by either method.

Theorem: docs/theorems/cumulated-counts.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, isqrt
from typing import Any

from zcdp.mechanisms.noise.gaussian import DiscreteGaussian
from zcdp.mechanisms.noise.gaussian_sums import reach_in_deviations
from zcdp.mechanisms.noise.noise_sums import NoiseSum
from zcdp.tables.cumulated_counts import CumulatedCounts, span

__all__ = ["RankErrors", "rank_errors", "selected_rank_errors"]

LEVEL = Fraction(19, 20)  # of intervals
NEAR_ENOUGH = 2.01
"""Half-widths of at most so many deviations need no series of their own: 1.96 is the least."""


def root(number: Fraction) -> Fraction:
    """The square root of a number, rounded up by at most 2^-40.

    >>> root(Fraction(9)) >= 3, float(root(Fraction(2)))
    (True, 1.41421356...)
    """
    return Fraction(isqrt(ceil(number * 2**80)) + 1, 2**40)


@dataclass(frozen=True)
class RankErrors:
    """The errors of ranks that are estimated from cumulated counts with noise of one law on each count.

    For q = a/c and an edge the error is that of c below - a all: an exact weighted sum of the noises. Half-widths are
    computed where they are asked for, and kept.
    """

    counts: CumulatedCounts
    law: Any
    kept: dict[tuple[Fraction, int], tuple[Fraction, Fraction | None]] = field(default_factory=dict, compare=False)

    def half_width(self, q: Fraction, edge: int) -> Fraction:
        """A number that the error at the edge exceeds in size with probability at most 1 - LEVEL."""
        variance, half = self._known(q, edge)
        if half is None:
            if self._factor <= NEAR_ENOUGH:
                half = Fraction(self._factor) * root(variance)
            else:
                terms = tuple((self.law, one, many) for one, many in self.counts.terms(q, edge))
                half = Fraction(NoiseSum(terms).accuracy(LEVEL).half_width)
            self.kept[q, edge] = variance, half
        return half

    @property
    def _factor(self) -> float:
        """A half-width of every weighted sum of the noises, in deviations; infinite for noise that is not Gaussian."""
        if not isinstance(self.law, DiscreteGaussian):
            return inf
        return reach_in_deviations({self.law.variance: sum(self.counts.sizes)}, LEVEL)

    def is_beyond(self, q: Fraction, edge: int, rank: int, below: int) -> bool:
        """Whether the estimate rank/below exceeds a half-width of its error.

        Far out Chebyshev's inequality tells it, for which no half-width need be computed.
        """
        variance, _ = self._known(q, edge)
        if rank * rank * (1 - LEVEL) > variance * below * below:
            return True
        return abs(rank) > self.half_width(q, edge) * below

    def span(self, q: Fraction, ranks: list[int], below: int) -> tuple[int, int]:
        """The first and the last bin of an interval that holds the quantile at LEVEL."""
        return span(ranks, lambda edge: self.is_beyond(q, edge, ranks[edge], below))

    def widest(self, q: Fraction) -> tuple[float, float]:
        """Standard deviation and half-width, in ranks, at the edge of the largest error."""
        edges = range(self.counts.bins - 1)
        if not edges:
            return 0.0, 0.0
        worst = max(edges, key=lambda edge: self._known(q, edge)[0])
        deviation = float(self._known(q, worst)[0]) ** 0.5
        return deviation / q.denominator, float(self.half_width(q, worst)) / q.denominator

    @property
    def _variance(self) -> Fraction:
        """The variance of one noise, rounded up; of a discrete Gaussian its parameter sigma^2, which is above it."""
        if isinstance(self.law, DiscreteGaussian):
            return self.law.variance
        return Fraction(self.law.accuracy(LEVEL).standard_deviation) ** 2

    def _known(self, q: Fraction, edge: int) -> tuple[Fraction, Fraction | None]:
        """The variance of the error, rounded up, and its half-width if it was computed before."""
        if (q, edge) not in self.kept:
            self.kept[q, edge] = self.counts.spread(q, edge) * self._variance, None
        return self.kept[q, edge]


@lru_cache(16)
def rank_errors(sizes: tuple[int, ...], law: Any) -> RankErrors:
    """The errors of ranks for groups of these sizes: one object for each, as it keeps its half-widths."""
    return RankErrors(CumulatedCounts(sizes), law)


def selected_rank_errors(
    mechanism: Any, sensitivities: list[Fraction], quantiles: tuple[Fraction, ...], bins: int
) -> list[float]:
    """For each quantile a bound on how far its rank is from those of the bin that is selected by rank scores.

    All hold at once with probability LEVEL, before the bins are sorted.
    """
    level = 1 - (1 - LEVEL) / len(quantiles)
    return [
        float(mechanism.falls_behind(bins, sensitivity=distance, level=level)) / q.denominator
        for q, distance in zip(quantiles, sensitivities, strict=True)
    ]
