"""The families of local randomizers that compete: each with one shape to tune beside its epsilon."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import exp, log, log2

from zcdp.mechanisms import (
    HadamardResponse,
    LinearHashing,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from zcdp.mechanisms.local_hashing import is_prime

__all__ = ["FAMILIES", "Family"]

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
