"""In which steps one example may take part, and how far it can then move a linear map of all steps: its sensitivity.

Noise is added to C x, of which row i of x is the clipped sum of step i. An example that takes part in the steps of a
set pi moves C x by the sum of its columns i in pi, each times a vector of norm at most 1. With X = C^T C the square of
that is at most the sum of |X_ij| over i, j in pi, with equality if no X_ij there is negative.
Theorem: docs/theorems/participation.md.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple

from flint import fmpz_mat

from zcdp.errors import BadValue
from zcdp.numeric.exact import Value, integer
from zcdp.text.calls import spoken_class

__all__ = ["Cyclic", "Map", "MinSeparated", "Move", "Participation", "Single", "ToeplitzMap"]

UP = 1 + 2.0**-50  # makes up for the rounding of a sum or quotient of positive floats, and of this product
TINY = 1e-300  # Smaller quotients are rounded up to it.


class Move(NamedTuple):
    """How far one example moves the map: the square of it, and whether some example moves so far."""

    square: Fraction
    exact: bool


class Map:
    """A lower triangular matrix C of rational entries, as whole numbers over one denominator, and X = C^T C of it."""

    def __init__(self, rows: Sequence[Sequence[Fraction]]) -> None:
        self.denominator = lcm(*(entry.denominator for row in rows for entry in row))
        self.rows = [[int(entry * self.denominator) for entry in row] for row in rows]
        self.steps = len(self.rows[0])

    @cached_property
    def gram(self) -> list[list[int]]:
        """X, times the square of the denominator."""
        matrix = fmpz_mat(self.rows)
        return [[int(entry) for entry in row] for row in (matrix.transpose() * matrix).tolist()]

    def scaled(self, square: int) -> Fraction:
        """A sum of entries of `gram` as it is in X."""
        return Fraction(square, self.denominator**2)

    @cached_property
    def norms(self) -> list[int]:
        """The squares of the norms of the columns, times the square of the denominator: the diagonal of `gram`."""
        return [sum(row[i] ** 2 for row in self.rows) for i in range(self.steps)]

    @property
    def bands(self) -> int:
        """How many diagonals, from the main one down, have entries: C_ti = 0 for t - i >= bands."""
        return max(t - i for t, row in enumerate(self.rows) for i, entry in enumerate(row) if entry) + 1

    def alone(self) -> Move:
        """One step at most: the longest column, whatever its signs."""
        return Move(self.scaled(max(self.norms)), exact=True)

    def among(self, patterns: Sequence[Sequence[int]]) -> Move:
        """The largest sum of |X_ij| over a pattern; it is attained if nothing is negative in a pattern that has it."""
        sums = [sum(abs(self.gram[i][j]) for i in pattern for j in pattern) for pattern in patterns]
        most = max(sums)
        exact = any(
            all(self.gram[i][j] >= 0 for i in pattern for j in pattern)
            for pattern, total in zip(patterns, sums, strict=True)
            if total == most
        )
        return Move(self.scaled(most), exact)

    def separated(self, gap: int, times: int) -> Move:
        """Any at most so many steps that are at least `gap` apart.

        If columns that far apart are orthogonal, the best set is found exactly; else each row of |X| has its own best
        set, and the best set of these sums is an upper bound.
        """
        if self.bands <= gap:
            return Move(self.scaled(_best(self.norms, gap, times)), exact=True)
        return Move(self._two_stages(gap, times), exact=False)

    def _two_stages(self, gap: int, times: int) -> Fraction:
        """The upper bound, in floats that are rounded up."""
        import numpy as np

        top = max(self.norms)  # |X_ij| is at most this, by the inequality of Cauchy and Schwarz
        sizes = np.maximum(np.array([[abs(entry) / top for entry in row] for row in self.gram]) * UP, TINY)
        rows = _best_rows(sizes, gap, times)
        whole = _best_rows(rows[None, :], gap, times)[0]
        return self.scaled(top) * Fraction(float(whole))


class ToeplitzMap(Map):
    """A lower triangular matrix with equal entries along each diagonal: the coefficients, from the main one down."""

    def __init__(self, coefficients: Sequence[Fraction], steps: int) -> None:
        kept = list(coefficients[:steps])
        while len(kept) > 1 and not kept[-1]:
            kept.pop()
        self.denominator = lcm(*(entry.denominator for entry in kept))
        self.coefficients = [int(entry * self.denominator) for entry in kept]
        self.steps = steps

    @cached_property
    def rows(self) -> list[list[int]]:  # type: ignore[override]
        """The matrix written out."""
        full = self.coefficients + [0] * (self.steps - len(self.coefficients))
        return [[full[t - i] if t >= i else 0 for i in range(self.steps)] for t in range(self.steps)]

    @cached_property
    def norms(self) -> list[int]:
        """A column further right has fewer entries of the same ones."""
        total, found = 0, []
        for length in range(1, self.steps + 1):
            total += self.coefficients[length - 1] ** 2 if length <= len(self.coefficients) else 0
            found.append(total)
        return found[::-1]

    @property
    def bands(self) -> int:
        """How many diagonals have entries."""
        return len(self.coefficients)

    @property
    def _positive(self) -> bool:
        return all(entry >= 0 for entry in self.coefficients)

    @property
    def _falling(self) -> bool:
        """Whether the coefficients are not negative and do not increase."""
        pairs = zip(self.coefficients, self.coefficients[1:], strict=False)
        return self._positive and all(after <= before for before, after in pairs)

    def among(self, patterns: Sequence[Sequence[int]]) -> Move:
        """The pattern of the first column is the worst of those that are shifts of it, if nothing is negative."""
        shifts = (
            all([i - pattern[0] for i in pattern] == patterns[0][: len(pattern)] for pattern in patterns)
            and patterns[0][0] == 0
        )
        return self._summed(patterns[0]) if self._positive and shifts else super().among(patterns)

    def separated(self, gap: int, times: int) -> Move:
        """Coefficients that do not increase: the steps 0, gap, 2 gap, ... are the worst."""
        if self._falling and self.bands > gap:
            return self._summed(_first(self.steps, gap, times))
        return super().separated(gap, times)

    def _summed(self, pattern: Sequence[int]) -> Move:
        """The square of the sum of these columns."""
        total = [0] * self.steps
        for i in pattern:
            for n, entry in enumerate(self.coefficients[: self.steps - i]):
                total[i + n] += entry
        return Move(self.scaled(sum(entry**2 for entry in total)), exact=True)


def _first(steps: int, gap: int, times: int) -> list[int]:
    """The steps 0, gap, 2 gap, ..., at most so many."""
    return list(range(0, steps, gap))[:times]


def _best(weights: Sequence[int], gap: int, times: int) -> int:
    """The largest sum of at most so many weights that are at least `gap` apart.

    F(i, k) = max(w_i + F(i + gap, k-1), F(i+1, k)).
    """
    count = len(weights)
    before = [0] * (count + gap + 1)
    for _ in range(min(times, -(-count // gap))):
        here = [0] * (count + gap + 1)
        for i in range(count - 1, -1, -1):
            here[i] = max(weights[i] + before[i + gap], here[i + 1])
        before = here
    return before[0]


def _best_rows(weights: Any, gap: int, times: int) -> Any:
    """`_best` of each row of an array of positive floats, rounded up."""
    import numpy as np

    rows, count = weights.shape
    before = np.zeros((rows, count + gap + 1))
    for _ in range(min(times, -(-count // gap))):
        here = np.zeros((rows, count + gap + 1))
        for i in range(count - 1, -1, -1):
            here[:, i] = np.maximum((weights[:, i] + before[:, i + gap]) * UP, here[:, i + 1])
        before = here
    return before[:, 0]


# What people say of the steps that one example may take part in.


@spoken_class
@dataclass(frozen=True, init=False, repr=False)
class Participation(metaclass=ABCMeta):
    """In which steps one example may take part. The sets must not depend on the data of the example."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrong arguments raise an error that names the class and the parameter, as the caller wrote them."""
        super().__init_subclass__(**options)
        spoken_class(cls)

    @abstractmethod
    def move(self, matrix: Map) -> Move:
        """How far one example moves the map."""

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)}" for field in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _set(self, **parameters: int) -> None:
        for name, value in parameters.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, init=False, repr=False)
class Single(Participation):
    """In one step at most: a single epoch."""

    def __init__(self) -> None:
        pass

    def move(self, matrix: Map) -> Move:
        """The longest column."""
        return matrix.alone()


@dataclass(frozen=True, init=False, repr=False)
class Cyclic(Participation):
    """In the steps j, j + period, j + 2 period, ... for one j: `times` epochs, each in the same sequence."""

    period: int
    """How many steps an epoch has."""
    times: int
    """How many epochs there are."""

    def __init__(self, period: Value, times: Value) -> None:
        self._set(period=integer(period, "period", 1), times=integer(times, "times", 1))

    def move(self, matrix: Map) -> Move:
        """The largest over all j."""
        if matrix.steps > self.period * self.times:
            rule = f"must be at most period times times ({self.period * self.times}): in each epoch once"
            raise BadValue(f"steps ({matrix.steps}) {rule}")
        firsts = range(min(self.period, matrix.steps))
        return matrix.among([list(range(j, matrix.steps, self.period)) for j in firsts])


@dataclass(frozen=True, init=False, repr=False)
class MinSeparated(Participation):
    """In any at most `times` steps that are at least `separation` apart."""

    separation: int
    """How many steps apart two of them are, at least."""
    times: int
    """How many of them there are, at most."""

    def __init__(self, separation: Value, times: Value) -> None:
        self._set(separation=integer(separation, "separation", 1), times=integer(times, "times", 1))

    def move(self, matrix: Map) -> Move:
        """The largest over all such sets, or an upper bound."""
        return matrix.separated(self.separation, self.times)
