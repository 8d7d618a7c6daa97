"""Estimates from any channel: weights of the outputs, found from its matrix, whose means are the indicators of inputs.

Theorems: docs/theorems/estimator.md, docs/theorems/intervals.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.estimation.moments import moment_interval
from zcdp.estimation.support import checked

__all__ = ["ByWeights", "unbiased_weights"]

Floats = NDArray[Any]
Rows = Sequence[Sequence[Fraction]]
LARGEST = 40.0  # of z, in units of the range of the weights


def unbiased_weights(rows: Rows) -> list[list[Fraction]]:
    """W with the sum over y of R[x, y] W[v, y] equal to [v = x], exactly.

    W = (R D^-1 R^T)^-1 R D^-1, D the mean of the rows on the diagonal: the least variance where all values are equally
    frequent. None exists if some row is a mixture of others.

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
    """f_v is the mean of W[v, y] over the reports y."""

    rows: Floats
    weights: Floats

    def frequencies(self, counts: Floats, n: int) -> Floats:
        """Unbiased estimates."""
        return np.asarray(self.weights @ counts / n)

    def standard_error(self, frequencies: Floats, n: int, *, of: str) -> Floats:
        """At these true frequencies, whatever the other values are: never less than the truth. One: the worst value."""
        checked(of)
        second = self.weights**2 @ self.rows.T  # of value v from a client who holds x
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
        """Of value v alone, for each total that the weights of n reports may have."""
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
            largest=LARGEST / float(np.ptp(weight)),
            guess=totals / n,
            whole=of == "clients",
        )
