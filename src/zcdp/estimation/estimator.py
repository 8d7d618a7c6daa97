"""Unbiased estimators of frequencies from counts of reports, with standard errors and exact confidence intervals.

`BySupport` is for randomizers whose reports support values with probabilities p and q, `ByTwoSupports` for binary
randomized response, `BySigns` for Hadamard response with several blocks, `ByWeights` for any channel.
Theorem: docs/theorems/estimator.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.estimation.frequency_intervals import ROUNDING, clients_interval, crossing, population_interval
from zcdp.estimation.support import Support, checked

__all__ = [
    "BySigns",
    "BySupport",
    "ByTwoSupports",
    "ByWeights",
    "Estimator",
    "Excess",
    "moment_interval",
    "unbiased_weights",
]


Floats = NDArray[Any]


class Estimator(Protocol):
    """What a `Histogram` needs of a mechanism, for counts from n reports.

    `of` is "clients" for the frequencies among these clients, "population" for those in the population that the clients
    are drawn from.
    """

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates of the frequencies."""

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """The standard errors of the estimates if these are the true frequencies."""

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""


@dataclass(frozen=True)
class BySupport:
    """The estimate f = (c/n - q)/(p - q), where c of n reports support the value."""

    support: Support

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates of the frequencies."""
        return np.asarray((counts / n - self.support.q) / self.support.gain)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """The standard errors of the estimates if these are the true frequencies."""
        checked(of)
        variance: Any = self.support.variance
        return np.asarray(np.sqrt(variance(frequencies, of=of) / n))

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""
        checked(of)
        distinct, where = np.unique(counts, return_inverse=True)
        if of == "population":
            low, high = population_interval(distinct, n, self.support, risk)
        else:
            low, high = (end / n for end in clients_interval(distinct, n, self.support, risk))
        return low[where], high[where]


@dataclass(frozen=True)
class ByTwoSupports:
    """Estimates of two values, 0 and 1, with support probabilities of their own each."""

    zero: Support
    one: Support

    def _each(self) -> tuple[BySupport, BySupport]:
        return BySupport(self.zero), BySupport(self.one)

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates of both frequencies, which sum to 1."""
        return np.concatenate([part.frequencies(counts[v : v + 1], n) for v, part in enumerate(self._each())])

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """The standard errors if these are the true frequencies; a single frequency is taken for that of value 1."""
        if frequencies.size == 1:
            return BySupport(self.one).standard_error(frequencies, n, of=of)
        parts = [part.standard_error(frequencies[v : v + 1], n, of=of) for v, part in enumerate(self._each())]
        return np.concatenate(parts)

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""
        ends = [part.interval(counts[v : v + 1], n, risk, of=of) for v, part in enumerate(self._each())]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])


# Intervals from Chernoff bounds: of the amount X that a report adds to a sum, moments or bounds on them are known.
#
# Theorem: docs/theorems/intervals.md, part 4.

Excess = Callable[[Floats], tuple[Floats, Floats, Floats]]
"""For each z: E e^{zX} - 1 for a client who holds the value, an upper bound on it for any other client, and the sum of
the sizes of the terms that these are computed from, for rounding errors."""

TERNARY_STEPS = 60  # of the ternary search for the best z


def moment_interval(
    sums: Floats, n: int, risk: float, up: Excess, down: Excess, *, largest: float, guess: Floats, whole: bool
) -> tuple[Floats, Floats]:
    """Ends of the range of frequencies for which both tails of the sum of all X have Chernoff bounds above risk/2.

    `up` gives the moments of X and `down` those of -X, for z from 0 to `largest`. With `whole` the frequency is that
    among these n clients, else that in the population. `guess` is where the search starts.
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
    """An upper bound on P[sum >= d]: the least Chernoff bound over z that is found, plus an allowance for rounding.

    Every z gives a valid bound, so the search for z is heuristic and the result holds all the same.
    """
    low, high = np.zeros(d.size), np.full(d.size, largest)
    for _ in range(TERNARY_STEPS):
        third = (high - low) / 3
        left = _log_moment(low + third, d, share, n, excess, whole=whole, falling=falling)
        right = _log_moment(high - third, d, share, n, excess, whole=whole, falling=falling)
        low, high = np.where(left > right, low + third, low), np.where(left > right, high, high - third)
    found = _log_moment(low, d, share, n, excess, whole=whole, falling=falling)
    bound: Floats = np.exp(np.minimum(found, 0.0)) * (1 + ROUNDING)
    return bound


def _log_moment(z: Floats, d: Floats, share: Floats, n: int, excess: Excess, *, whole: bool, falling: bool) -> Floats:
    """An upper bound on log( e^{-zd} E e^{z sum} ) for n clients; rounding errors are added.

    With `whole` exactly the fraction `share` of these clients holds the value, else each does with this probability.
    """
    holder, other, size = excess(z)
    # The bound must be monotone in the number of holders: where it is not, the larger moment replaces the other.
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


# Estimates from sums of signs, for Hadamard response with several blocks: a report in another block counts 0.
#
# Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.

LARGEST_TILT_OF_SIGNS = 20.0  # the largest z of the Chernoff bounds


@dataclass(frozen=True)
class BySigns:
    """The estimate f = r D/n, where D is the sum of signs of the reports in the block of the value.

    The report of a client who holds the value falls into the block with probability t, and its sign has mean 1/r.
    """

    r: float
    t: float

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates of the frequencies."""
        return np.asarray(counts / n * self.r)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """Upper bounds on the standard errors at these true frequencies, exact if all clients' values share a block."""
        checked(of)
        spread = self.t * self.r**2 - (frequencies if of == "clients" else frequencies**2)
        return np.asarray(np.sqrt(spread / n))

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""
        checked(of)
        distinct, where = np.unique(counts, return_inverse=True)

        def excess(z: Floats, mean: float) -> tuple[Floats, Floats, Floats]:
            other, odd = 2 * self.t * np.sinh(z / 2) ** 2, np.sinh(z)
            return other + mean * odd, other, other + abs(mean) * odd

        low, high = moment_interval(
            distinct,
            n,
            risk,
            lambda z: excess(z, 1 / self.r),
            lambda z: excess(z, -1 / self.r),
            largest=LARGEST_TILT_OF_SIGNS,
            guess=self.frequencies(distinct, n),
            whole=of == "clients",
        )
        return low[where], high[where]


# Estimates from any channel: each output has a weight for each value, and a weight's mean is 1 for a client who holds
# the value and 0 for any other.
#
# Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.

Rows = Sequence[Sequence[Fraction]]
LARGEST_TILT_OF_WEIGHTS = 40.0  # the largest z of the Chernoff bounds, times the range of the weights


def unbiased_weights(rows: Rows) -> list[list[Fraction]]:
    """The exact weights W of least variance with sum over y of R[x, y] W[v, y] = [v = x], R being the rows.

    W = (R D^-1 R^T)^-1 R D^-1, where D has the mean of the rows on its diagonal; the variance is least if all values
    are equally frequent. Raises `BadValue` if the rows are linearly dependent: then no such weights exist.

    >>> unbiased_weights([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])[0]
    [Fraction(3, 2), Fraction(-1, 2)]
    """
    columns = [y for y in range(len(rows[0])) if any(row[y] for row in rows)]
    matrix = fmpq_mat([[fmpq(row[y].numerator, row[y].denominator) for y in columns] for row in rows])
    mean = [sum((row[y] for row in rows), Fraction(0)) / len(rows) for y in columns]
    scaled = fmpq_mat(
        [[matrix[x, n] * fmpq(one.denominator, one.numerator) for n, one in enumerate(mean)] for x in range(len(rows))]
    )
    try:
        found = (scaled * matrix.transpose()).inv() * scaled
    except ZeroDivisionError:
        raise BadValue("rows must be linearly independent: else frequencies are not told apart by reports") from None
    weights = [[Fraction(0)] * len(rows[0]) for _ in rows]
    for v in range(len(rows)):
        for n, y in enumerate(columns):
            weights[v][y] = Fraction(int(found[v, n].p), int(found[v, n].q))
    return weights


@dataclass(frozen=True)
class ByWeights:
    """The estimate f_v, which is the mean of W[v, y] over the reports y."""

    rows: Floats
    weights: Floats

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates of the frequencies."""
        return np.asarray(self.weights @ counts / n)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """Upper bounds on the standard errors at these true frequencies, whatever values the other clients hold.

        For a single frequency it is the largest bound over all values.
        """
        checked(of)
        second = self.weights**2 @ self.rows.T  # [v, x]: second moment of the weight of v for a client who holds x
        own = np.diag(second)
        other = np.where(np.eye(len(own), dtype=bool), 0.0, second).max(axis=1)
        known = frequencies if frequencies.size == own.size else np.full(own.size, frequencies[0])
        spread = known * own + (1 - known) * other - (known if of == "clients" else known**2)
        errors = np.sqrt(np.maximum(spread, 0.0) / n)
        return errors if frequencies.size == own.size else np.array([errors.max()])

    def interval(self, counts: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value, each wrong with probability at most risk/2."""
        totals = self.weights @ counts
        ends = [self.ends(v, totals[v : v + 1], n, risk, of=of) for v in range(len(self.rows))]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    def ends(self, v: int, totals: Floats, n: int, risk: float, *, of: str) -> tuple[Floats, Floats]:
        """Lower and upper ends for value v, for each of an array of totals of its weights over n reports."""
        checked(of)
        weight = self.weights[v]
        others = np.delete(self.rows, v, axis=0)

        def excess(z: Floats, sign: float) -> tuple[Floats, Floats, Floats]:
            rise = np.expm1(sign * np.multiply.outer(weight, z))
            size = (self.rows @ np.abs(rise)).max(axis=0)
            return self.rows[v] @ rise, (others @ rise).max(axis=0), size

        return moment_interval(
            totals,
            n,
            risk,
            lambda z: excess(z, 1.0),
            lambda z: excess(z, -1.0),
            largest=LARGEST_TILT_OF_WEIGHTS / float(np.ptp(weight)),
            guess=totals / n,
            whole=of == "clients",
        )
