"""The families of local randomizers that compete: each with one shape to tune beside its epsilon."""

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

__all__ = ["FAMILIES", "Family", "Tuned", "certified", "tune"]


DIGITS = 9  # of what is written: nothing is lost, and plans stay readable
LARGEST_TABLE = 1 << 26


class Family(ABC):
    """Probabilities are (p, 1 - p, q): at a large epsilon 1 - p is far below what p tells."""

    def __init__(self, k: int) -> None:
        self.k = k

    def shapes(self) -> tuple[float, float] | None:
        """The range of the logarithm of the shape; None if there is nothing to tune."""
        return None

    def whole(self, shape: float) -> list[float]:
        """The admissible shapes next to this one."""
        return [shape]

    @abstractmethod
    def kappa(self, e: float, shape: float) -> float:
        """From e^epsilon: docs/theorems/three-point-maps.md."""

    @abstractmethod
    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """Support probabilities: docs/theorems/estimator.md."""

    @abstractmethod
    def build(self, epsilon: float, shape: float) -> Mechanism:
        """The mechanism itself, at an epsilon that is not larger."""

    @abstractmethod
    def bytes(self, shape: float) -> float:
        """Of one report."""

    def variance(self, epsilon: float, shape: float, frequency: float) -> float:
        """Of one report's estimate."""
        p, not_p, q = self.chances(exp(epsilon), shape)
        return (frequency * p * not_p + (1 - frequency) * q * (1 - q)) / (p - q) ** 2


def down(number: float, digits: int = DIGITS) -> str:
    """The number to so many digits, rounded down."""
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return str(context.create_decimal(Decimal(number)).normalize(context))


class Response(Family):
    """k-randomized response."""

    def kappa(self, e: float, shape: float) -> float:  # noqa: ARG002
        """k."""
        return self.k

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:  # noqa: ARG002
        """e/(e + k - 1)."""
        total = e + self.k - 1
        return e / total, (self.k - 1) / total, 1 / total

    def build(self, epsilon: float, shape: float) -> Mechanism:  # noqa: ARG002
        """As named."""
        return RandomizedResponse(epsilon=down(epsilon), k=self.k)

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """One value."""
        return log2(self.k) / 8


class Subsets(Family):
    """Subset selection; the shape is the size."""

    def shapes(self) -> tuple[float, float] | None:
        """From 2 (one is randomized response) to k/2, beyond which no size is better."""
        return log(min(2, self.k - 1)), log(max(self.k // 2, min(2, self.k - 1)))

    def whole(self, shape: float) -> list[float]:
        """Both integers next to it."""
        low = max(min(2, self.k - 1), min(int(shape), self.k - 1))
        return [low, min(low + 1, self.k - 1)]

    def kappa(self, e: float, shape: float) -> float:
        """With w the size."""
        return e * (shape - 1) / (self.k - shape) + (self.k - 1) / shape + 1

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """w e/(w e + k - w)."""
        total = shape * e + self.k - shape
        p = shape * e / total
        return p, (self.k - shape) / total, (shape - 1 + (self.k - shape) / total) / (self.k - 1)

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """As named."""
        return SubsetSelection(epsilon=down(epsilon), k=self.k, size=int(shape))

    def bytes(self, shape: float) -> float:
        """Its members, or a bit for each value."""
        return min(shape * log2(self.k), self.k) / 8


class Unary(Family):
    """Unary encoding; the shape is 1/q."""

    def shapes(self) -> tuple[float, float] | None:
        """q from 1/2 down."""
        return log(2.0), log(1e12)

    def kappa(self, e: float, shape: float) -> float:
        """1/(q(1-p)) + 1 - e = 1/q + 1 + e q/(1-q)."""
        q = 1 / shape
        return 1 / q + 1 + e * q / (1 - q)

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """Odds of p are e times the odds of q."""
        q = 1 / shape
        total = q * e + 1 - q
        return q * e / total, (1 - q) / total, q

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """q rounded up and p down: both towards more privacy."""
        up = Context(prec=DIGITS, rounding=ROUND_CEILING)
        p, not_p, q = self.chances(exp(epsilon), shape)
        keep = Fraction(down(p)) if p < 0.5 else 1 - Fraction(up.create_decimal(Decimal(not_p)))
        return UnaryEncoding(p=keep, q=Fraction(up.create_decimal(Decimal(q))))

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """A bit for each value."""
        return self.k / 8


class Hashing(Family):
    """Linear hashing; the shape is the number of buckets, a prime."""

    def shapes(self) -> tuple[float, float] | None:
        """Two buckets to as many as there are values, or as a table of counts has room for."""
        return log(2.0), log(max(2.0, min(self.k, LARGEST_TABLE // max(self.k, 1))))

    def whole(self, shape: float) -> list[float]:
        """Primes on both sides whose table is not too large."""
        low = max(2, int(shape))
        while not self._serves(low):
            low -= 1
        beyond = range(low + 1, max(4 * low, int(self.k ** (1 / 3)) + 100))
        return [low, *islice((g for g in beyond if self._serves(g)), 1)]

    def _serves(self, g: int) -> bool:
        return g == 2 or (is_prime(g) and g ** (self._digits(g) + 1) <= LARGEST_TABLE)

    def _digits(self, g: int) -> int:
        count = 1
        while g**count < self.k:
            count += 1
        return count

    def kappa(self, e: float, shape: float) -> float:
        """With g buckets."""
        return e / (shape - 1) + shape + 1

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """e/(e + g - 1), and 1/g."""
        total = e + shape - 1
        return e / total, (shape - 1) / total, 1 / shape

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """As named."""
        return LinearHashing(epsilon=down(epsilon), g=int(shape), k=self.k)

    def bytes(self, shape: float) -> float:
        """The vector and the bucket."""
        return (self._digits(int(shape)) + 1) * log2(shape) / 8


class Hadamard(Family):
    """Hadamard response with one block."""

    def kappa(self, e: float, shape: float) -> float:  # noqa: ARG002
        """e + 3."""
        return e + 3

    def chances(self, e: float, shape: float) -> tuple[float, float, float]:  # noqa: ARG002
        """e/(e + 1), and 1/2."""
        return e / (e + 1), 1 / (e + 1), 0.5

    def build(self, epsilon: float, shape: float) -> Mechanism:  # noqa: ARG002
        """As named."""
        return HadamardResponse(epsilon=down(epsilon))

    def bytes(self, shape: float) -> float:  # noqa: ARG002
        """One column of the matrix."""
        return self.k.bit_length() / 8


FAMILIES: tuple[type[Family], ...] = (Response, Subsets, Unary, Hashing, Hadamard)


# The best member of a family within a budget: its shape by golden section, its budget certified by the library.

GOLDEN = (5**0.5 - 1) / 2
CELLS, ROUNDS = 12, 22
SHRINKS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)


class Tuned(NamedTuple):
    """A proposal in floats."""

    family: Family
    shape: float
    epsilon: float
    variance: float
    """Of one report's estimate."""


def tune(family: Family, budget: Budget, count: int, frequency: float) -> Tuned:
    """The member of least variance of which `count` reports fit."""

    def at(shape: float) -> Tuned:
        epsilon = budget.largest_epsilon(lambda e: family.kappa(e, shape), count)
        return Tuned(family, shape, epsilon, family.variance(epsilon, shape, frequency))

    span = family.shapes()
    if span is None:
        return at(1.0)
    best = _least(lambda x: at(exp(x)).variance, *span)
    return min((at(shape) for shape in family.whole(exp(best))), key=lambda one: one.variance)


def _least(measure: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is least: a grid, then golden section. A proposal: nothing rests on it."""
    if high - low < 1e-9:
        return low
    grid = [low + (high - low) * n / CELLS for n in range(CELLS + 1)]
    best = min(range(CELLS + 1), key=lambda n: measure(grid[n]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, CELLS)]
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_inner, at_outer = measure(inner), measure(outer)
    for _ in range(ROUNDS):
        if at_inner < at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - GOLDEN * (right - left)
            at_inner = measure(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + GOLDEN * (right - left)
            at_outer = measure(outer)
        if right - left < log(1.001):
            break
    return (left + right) / 2


def certified(proposal: Tuned, budget: Budget, count: int) -> Mechanism:
    """The mechanism, after the library itself has certified that so many reports stay within the budget."""
    for shrink in SHRINKS:
        mechanism = proposal.family.build(proposal.epsilon * (1 - shrink), proposal.shape)
        if budget.holds(count * mechanism):
            return mechanism
    raise NotCertified(f"{count} reports of {proposal.family.build(proposal.epsilon, proposal.shape)!r} do not fit")
