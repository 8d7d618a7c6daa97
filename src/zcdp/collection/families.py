"""The families of local randomizers that `choose` compares, each with a *shape* to tune beside its epsilon.

Formulas here are in floats and serve the search; the mechanism that is chosen is certified by the library itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import exp, log, log2
from typing import NamedTuple

from zcdp.collection.collection_budget import Budget
from zcdp.mechanisms import (
    HadamardResponse,
    LinearHashing,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from zcdp.mechanisms.local.local_hashing import is_prime
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.search import golden_section
from zcdp.samplers.reports import digit_count

__all__ = ["FAMILIES", "Family", "Tuned", "certified", "tune"]


DIGITS = 9  # of the parameters of a chosen mechanism: enough for accuracy, and plans stay readable
LARGEST_TABLE = 1 << 26  # entries of the table of counts from which linear hashing is decoded


class Family(ABC):
    """A family of local randomizers on k values, with its formulas; e is e^epsilon throughout."""

    def __init__(self, k: int) -> None:
        self.k = k

    def shapes(self) -> tuple[float, float] | None:
        """The range of log(shape); None if the family has no shape to tune."""
        return None

    def whole(self, shape: float) -> list[float]:
        """The admissible shapes next to a real one."""
        return [shape]

    @abstractmethod
    def kappa(self, e: float, shape: float) -> float:
        """kappa of the worst pair of inputs: docs/theorems/three-point-maps.md."""

    @abstractmethod
    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """Support probabilities (p, 1 - p, q): docs/theorems/estimator.md.

        1 - p is computed by itself, as it is lost in the rounding of p at a large epsilon.
        """

    @abstractmethod
    def build(self, epsilon: float, shape: float) -> Mechanism:
        """The mechanism, with its parameters rounded so that its epsilon is not larger."""

    @abstractmethod
    def bytes(self, shape: float) -> float:
        """The size of one report."""

    def variance(self, epsilon: float, shape: float, frequency: float) -> float:
        """The variance of the estimate of a frequency from one report."""
        p, not_p, q = self.chances(exp(epsilon), shape)
        return (frequency * p * not_p + (1 - frequency) * q * (1 - q)) / (p - q) ** 2


def down(number: float) -> str:
    """The number as a decimal of `DIGITS` significant digits, rounded down."""
    context = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    return str(context.create_decimal(Decimal(number)).normalize(context))


class Response(Family):
    """k-randomized response; there is no shape."""

    def kappa(self, e: float, shape: float) -> float:  # noqa: ARG002
        """kappa is k."""
        return self.k

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:  # noqa: ARG002
        """p = e/(e + k - 1), q = 1/(e + k - 1)."""
        total = e + self.k - 1
        return e / total, (self.k - 1) / total, 1 / total

    def build(self, epsilon: float, shape: float) -> Mechanism:  # noqa: ARG002
        """Randomized response at epsilon, rounded down."""
        return RandomizedResponse(epsilon=down(epsilon), k=self.k)

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """A report is one of k values."""
        return log2(self.k) / 8


class Subsets(Family):
    """Subset selection; the shape is the size w of the subsets."""

    def shapes(self) -> tuple[float, float] | None:
        """Sizes from 2 (size 1 is randomized response) to k/2, beyond which no size is better."""
        return log(min(2, self.k - 1)), log(max(self.k // 2, min(2, self.k - 1)))

    def whole(self, shape: float) -> list[float]:
        """The integers on both sides, within the range of sizes."""
        low = max(min(2, self.k - 1), min(int(shape), self.k - 1))
        return [low, min(low + 1, self.k - 1)]

    def kappa(self, e: float, shape: float) -> float:
        """e (w - 1)/(k - w) + (k - 1)/w + 1."""
        return e * (shape - 1) / (self.k - shape) + (self.k - 1) / shape + 1

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """p = w e/(w e + k - w), q = (w - p)/(k - 1)."""
        total = shape * e + self.k - shape
        p = shape * e / total
        return p, (self.k - shape) / total, (shape - 1 + (self.k - shape) / total) / (self.k - 1)

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """Subset selection at epsilon, rounded down."""
        return SubsetSelection(epsilon=down(epsilon), k=self.k, size=int(shape))

    def bytes(self, shape: float) -> float:
        """A report lists the members of the subset, or has a bit for each value, if that is shorter."""
        return min(shape * log2(self.k), self.k) / 8


class Unary(Family):
    """Unary encoding; the shape is 1/q, q the probability that a bit of another value is set."""

    def shapes(self) -> tuple[float, float] | None:
        """q from 1/2 down to 1e-12."""
        return log(2.0), log(1e12)

    def kappa(self, e: float, shape: float) -> float:
        """1/(q(1-p)) + 1 - e = 1/q + 1 + e q/(1-q)."""
        q = 1 / shape
        return 1 / q + 1 + e * q / (1 - q)

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """p from q: the odds of p are e times the odds of q."""
        q = 1 / shape
        total = q * e + 1 - q
        return q * e / total, (1 - q) / total, q

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """Unary encoding with q rounded up and p rounded down, both towards more privacy."""
        up = Context(prec=DIGITS, rounding=ROUND_CEILING)
        p, not_p, q = self.chances(exp(epsilon), shape)
        keep = Fraction(down(p)) if p < 0.5 else 1 - Fraction(up.create_decimal(Decimal(not_p)))
        return UnaryEncoding(p=keep, q=Fraction(up.create_decimal(Decimal(q))))

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """A report has a bit for each value."""
        return self.k / 8


class Hashing(Family):
    """Linear hashing; the shape is the number g of buckets, a prime."""

    def shapes(self) -> tuple[float, float] | None:
        """From 2 buckets to k, or to what a table of LARGEST_TABLE counts allows."""
        return log(2.0), log(max(2.0, min(self.k, LARGEST_TABLE // max(self.k, 1))))

    def whole(self, shape: float) -> list[float]:
        """The nearest primes on both sides whose table of counts is not too large."""
        low = max(2, int(shape))
        while not self._serves(low):
            low -= 1
        beyond = range(low + 1, max(4 * low, int(self.k ** (1 / 3)) + 100))
        return [low, *islice((g for g in beyond if self._serves(g)), 1)]

    def _serves(self, g: int) -> bool:
        """Whether g buckets are admissible: a prime, and the table of counts not too large."""
        return g == 2 or (is_prime(g) and g ** (digit_count(self.k, g) + 1) <= LARGEST_TABLE)

    def kappa(self, e: float, shape: float) -> float:
        """e/(g - 1) + g + 1."""
        return e / (shape - 1) + shape + 1

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """p = e/(e + g - 1), q = 1/g."""
        total = e + shape - 1
        return e / total, (shape - 1) / total, 1 / shape

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """Linear hashing at epsilon, rounded down."""
        return LinearHashing(epsilon=down(epsilon), g=int(shape), k=self.k)

    def bytes(self, shape: float) -> float:
        """A report is the random vector of the hash and a bucket."""
        return (digit_count(self.k, int(shape)) + 1) * log2(shape) / 8


class Hadamard(Family):
    """Hadamard response with one block; there is no shape."""

    def kappa(self, e: float, shape: float) -> float:  # noqa: ARG002
        """kappa is e + 3."""
        return e + 3

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:  # noqa: ARG002
        """p = e/(e + 1), q = 1/2."""
        return e / (e + 1), 1 / (e + 1), 0.5

    def build(self, epsilon: float, shape: float) -> Mechanism:  # noqa: ARG002
        """Hadamard response at epsilon, rounded down."""
        return HadamardResponse(epsilon=down(epsilon))

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """A report is the index of a column of the Hadamard matrix."""
        return self.k.bit_length() / 8


FAMILIES: tuple[type[Family], ...] = (Response, Subsets, Unary, Hashing, Hadamard)


# The best member of a family within a budget: its shape by golden section search (heuristic), then certified to fit.

GRID_CELLS, GOLDEN_STEPS = 12, 22  # of the search for the best shape
SHRINKS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)  # relative reductions of epsilon that are tried until one is certified


class Tuned(NamedTuple):
    """A heuristic proposal, computed in floats: a member of a family and its epsilon."""

    family: Family
    shape: float
    epsilon: float
    variance: float
    """The variance of the estimate from one report."""


def tune(family: Family, budget: Budget, count: int, frequency: float) -> Tuned:
    """The member of least variance at which `count` reports fit the budget: heuristic, in floats."""

    def at(shape: float) -> Tuned:
        epsilon = budget.largest_epsilon(lambda e: family.kappa(e, shape), count)
        return Tuned(family, shape, epsilon, family.variance(epsilon, shape, frequency))

    span = family.shapes()
    if span is None:
        return at(1.0)
    best = _best_shape(lambda x: at(exp(x)).variance, *span)
    return min((at(shape) for shape in family.whole(exp(best))), key=lambda one: one.variance)


def _best_shape(measure: Callable[[float], float], low: float, high: float) -> float:
    """About where a function is least: a grid, then golden section around its best point (heuristic)."""
    if high - low < 1e-9:
        return low
    grid = [low + (high - low) * n / GRID_CELLS for n in range(GRID_CELLS + 1)]
    best = min(range(GRID_CELLS + 1), key=lambda n: measure(grid[n]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, GRID_CELLS)]
    return golden_section(measure, left, right, steps=GOLDEN_STEPS, tolerance=log(1.001))


def certified(proposal: Tuned, budget: Budget, count: int) -> Mechanism:
    """The proposed mechanism, certified: `count` reports stay within the budget; its epsilon is reduced if needed."""
    for shrink in SHRINKS:
        mechanism = proposal.family.build(proposal.epsilon * (1 - shrink), proposal.shape)
        if budget.holds(count * mechanism):
            return mechanism
    raise NotCertified(f"{count} reports of {proposal.family.build(proposal.epsilon, proposal.shape)!r} do not fit")
