"""`MatrixMechanism`: training with correlated noise (DP-FTRL), whose noise is added to a linear map of all steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import L2, Gaussian, Subsampled
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Value, in_domain, integer, literal, positive_rational, rational
from zcdp.numeric.parameter_domains import unlimited
from zcdp.privacy.curve import Curve, Plan
from zcdp.privacy.loss import Claim
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing
from zcdp.training.participation import Map, Move, Participation, ToeplitzMap

__all__ = ["CyclicPoisson", "MatrixMechanism", "square_root_coefficients"]

MOST_STEPS, MOST_DENSE_STEPS = 100_000, 4_000  # of matrices given by their diagonals, and by all entries
SQUARE_BITS = 192  # A squared sensitivity with a longer numerator is rounded up to so many bits.


def square_root_coefficients(bands: Value) -> list[Fraction]:
    """The first coefficients of the square root of the matrix of ones: 1, 1/2, 3/8, 5/16, ...

    With all of them it is the factorization of prefix sums by Fichtenberger, Henzinger and Upadhyay (2022).

    >>> [str(one) for one in square_root_coefficients(4)]
    ['1', '1/2', '3/8', '5/16']
    """
    found = [Fraction(1)]
    for k in range(1, integer(bands, "bands", 1)):
        found.append(found[-1] * Fraction(2 * k - 1, 2 * k))
    return found


@dataclass(frozen=True, init=False, repr=False)
class CyclicPoisson(Participation):
    """Examples are split beforehand into `period` groups; group j is sampled at `rate` in the steps j, j + period, ...

    The split must not depend on the data. The rate is that within the group: with N examples a batch has
    N rate/period of them on average. The matrix must have at most `period` bands.
    """

    period: int
    """How many groups there are, and steps from one turn of a group to the next."""
    rate: Fraction
    """The probability with which an example of the group is drawn."""

    def __init__(self, period: Value, rate: Value) -> None:
        drawn = rational(rate, "rate")
        if not 0 < drawn <= 1:
            raise BadValue(f"rate ({literal(drawn)}) must be above 0 and at most 1")
        object.__setattr__(self, "period", integer(period, "period", 1))
        object.__setattr__(self, "rate", in_domain(drawn, "rate", rate))

    def __repr__(self) -> str:
        return f"CyclicPoisson(period={self.period}, rate={literal(self.rate)})"

    def move(self, matrix: Map) -> Move:
        """The longest column: of how far one step moves, if it is drawn there."""
        return matrix.alone()

    def turns(self, matrix: Map) -> tuple[list[int], bool]:
        """The squared norm of each turn, the largest of all groups, and whether one group has all of them."""
        if matrix.bands > self.period:
            rule = f"must have at most period ({self.period}) bands, so that no two turns of a group share a row"
            raise BadValue(f"the matrix, of {matrix.bands} bands, {rule}")
        starts = range(0, matrix.steps, self.period)
        turns = [matrix.norms[start : start + self.period] for start in starts]
        largest = [max(turn) for turn in turns]
        groups = range(len(turns[-1]))  # of these every turn exists
        return largest, any(all(turn[j] == most for turn, most in zip(turns, largest, strict=True)) for j in groups)


class MatrixMechanism(Plan):
    """Noise of `noise_multiplier` times the clip norm C on each entry of M x, x the clipped sums of all steps.

    M is lower triangular: `matrix`, a list of rows, or `toeplitz`, the entries of its diagonals from the main one down,
    with the number of `steps`. Numbers are taken exactly, floats too. What is released is M x + z, and what is computed
    from it, such as B (x + M^-1 z). `participation` says in which steps one example may take part, `Single()`,
    `Cyclic(period, times)` or `MinSeparated(separation, times)`; in each it moves the sum by up to C.
    Neighbours differ by one example, added or removed.

    All steps together are one Gaussian mechanism, also if gradients depend on what was released before: `sensitivity`
    is how many clip norms one example moves, and `is_exact` says whether some example moves so far, or whether it is an
    upper bound. With `CyclicPoisson(period, rate)` it is a plan of sampled Gaussian noise, amplified.

    It is a plan. Theorem: docs/theorems/participation.md.

    >>> from zcdp.training import Cyclic, MatrixMechanism, Single, square_root_coefficients
    >>> root = square_root_coefficients(1024)
    >>> run = MatrixMechanism(toeplitz=root, steps=1024, noise_multiplier=10, participation=Cyclic(period=128, times=8))
    >>> run.sensitivity, run.is_exact, run.rho
    (7.57608..., True, 0.28698...)
    >>> run.epsilon_at(delta="1e-6")
    3.5726...
    """

    noise_multiplier: Fraction
    participation: Participation
    squared_sensitivity: Fraction
    """The square of the sensitivity, exact, or rounded up to 192 bits."""
    is_exact: bool
    """Whether the sensitivity, or the plan of samples, is attained; else it is a certified upper bound."""

    def __init__(
        self,
        matrix: Sequence[Sequence[Value]] | None = None,
        *,
        toeplitz: Sequence[Value] | None = None,
        steps: Value | None = None,
        noise_multiplier: Value,
        participation: Participation,
    ) -> None:
        self.noise_multiplier = positive_rational(noise_multiplier, "noise_multiplier")
        if not isinstance(participation, Participation):
            raise BadType(f"participation ({thing(participation)}) must be one, as Cyclic(period=100, times=10)")
        if (matrix is None) == (toeplitz is None) or (toeplitz is None) != (steps is None):
            raise BadType("give a matrix, or toeplitz and steps")
        self._given = (matrix, toeplitz, steps)
        self.participation = participation
        columns = _dense(matrix) if matrix is not None else _toeplitz(toeplitz or (), steps or 0)
        square, exact = participation.move(columns)
        self.squared_sensitivity = _rounded_up(square)
        if isinstance(participation, CyclicPoisson):
            turns, exact = participation.turns(columns)
            whole = self._sampled([columns.scaled(turn) for turn in turns], participation.rate, exact=exact)
        else:
            whole = Plan.sum_of(_noise(self.noise_multiplier, self.squared_sensitivity, exact=exact))
        self.is_exact = exact
        self._curve, self._times, self._left, self._relation = whole, 1, None, Relation.ADD_REMOVE

    def _sampled(self, squares: Sequence[Fraction], rate: Fraction, *, exact: bool) -> Plan:
        """One turn of a group after the other, equal ones together."""
        counts: dict[Fraction, int] = {}
        for square in map(_rounded_up, squares):
            counts[square] = counts.get(square, 0) + 1
        noises: list[tuple[Curve, int]] = [
            (Subsampled(_noise(self.noise_multiplier, square, exact=exact), rate=rate), count)
            for square, count in counts.items()
        ]
        return Plan.sum_of(*(count * noise for noise, count in noises))

    @property
    def sensitivity(self) -> float:
        """By how many clip norms one example moves M x, rounded up; with `CyclicPoisson`, in one of its steps."""
        return enclose(lambda: lift(self.squared_sensitivity).sqrt())[1]

    def __repr__(self) -> str:
        matrix, toeplitz, steps = self._given
        what = f"{len(toeplitz or ())} diagonals of {steps} steps" if matrix is None else f"{len(matrix)} steps"
        noise = f"noise_multiplier={literal(self.noise_multiplier)}"
        return f"<MatrixMechanism, {what}, {noise}, participation={self.participation!r}>"

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[Any, ...]]:
        matrix, toeplitz, steps = self._given
        kept = {"matrix": matrix, "toeplitz": toeplitz, "steps": steps}
        return _remade, ({**kept, "noise_multiplier": self.noise_multiplier, "participation": self.participation},)


def _remade(kept: dict[str, Any]) -> MatrixMechanism:
    """A mechanism from its pickle: numbers that a search found may lie beyond what a person may write."""
    return unlimited(MatrixMechanism)(**kept)


class _GaussianAtMost(Gaussian):
    """Gaussian noise on what moves by at most the stated sensitivity: nothing is claimed from below, in any plan."""

    @property
    def is_tight(self) -> bool:
        """False: whether an example moves so far is not known."""
        return False

    def witness(self) -> arb:
        """0: no example is known to move anything."""
        return arb(0)

    def pair(self) -> Claim:
        """The Gaussian pair, which dominates, and nothing that is attained."""
        return Claim(super().pair().upper)

    def __repr__(self) -> str:
        return super().__repr__().replace(type(self).__name__, Gaussian.__name__)


def _noise(noise_multiplier: Fraction, square: Fraction, *, exact: bool) -> Gaussian:
    """Gaussian noise of these multiples of the clip norm on what moves by so many of them, squared, or by less."""
    kind = Gaussian if exact else _GaussianAtMost
    return kind(sigma=noise_multiplier, sensitivity=L2(f"sqrt({square})"))


def _rounded_up(square: Fraction) -> Fraction:
    """The number itself, or, if it is long, the next one above it that has SQUARE_BITS bits."""
    extra = max(square.numerator.bit_length(), square.denominator.bit_length()) - SQUARE_BITS
    if extra <= 0:
        return square
    shift = SQUARE_BITS - square.numerator.bit_length() + square.denominator.bit_length()
    return Fraction(ceil(square * Fraction(2) ** shift)) / Fraction(2) ** shift


def _dense(matrix: Sequence[Sequence[Value]]) -> Map:
    """The matrix of a list of rows, which must be square and lower triangular, with no column of zeros only."""
    if isinstance(matrix, str) or not hasattr(matrix, "__len__") or not len(matrix):
        raise BadType(f"matrix ({thing(matrix)}) must be a list of rows")
    if len(matrix) > MOST_DENSE_STEPS:
        raise BadValue(f"matrix ({len(matrix)} rows) must have at most {MOST_DENSE_STEPS}: give toeplitz and steps")
    rows = [[rational(entry, "entry") for entry in row] for row in matrix]
    if any(len(row) != len(rows) for row in rows):
        raise BadValue(f"matrix must be square, and does not have {len(rows)} columns in every row")
    for t, row in enumerate(rows):
        if any(row[t + 1 :]):
            raise BadValue(f"matrix must be lower triangular, and row {t} uses a later step")
    for i in range(len(rows)):
        if not any(row[i] for row in rows):
            raise BadValue(f"matrix must have an entry other than 0 in each column, and column {i} has none")
    return Map(rows)


def _toeplitz(coefficients: Sequence[Value], steps: Value) -> ToeplitzMap:
    """The lower triangular matrix with these diagonals, of which the main one is not 0."""
    if isinstance(coefficients, str) or not hasattr(coefficients, "__len__") or not len(coefficients):
        raise BadType(f"toeplitz ({thing(coefficients)}) must be a list of numbers")
    size = integer(steps, "steps", 1)
    if size > MOST_STEPS:
        raise BadValue(f"steps ({size}) must be at most {MOST_STEPS}")
    read = [rational(entry, "entry") for entry in coefficients[:size]]
    if not read[0]:
        raise BadValue("toeplitz must begin with the main diagonal, which must not be 0")
    return ToeplitzMap(read, size)
