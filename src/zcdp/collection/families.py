"""The families of local randomizers that `choose` compares, each with a *shape* to tune beside its epsilon.

Formulas here are in floats and serve the search; the mechanism that is chosen is certified by the library itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import exp, inf, log
from typing import NamedTuple

from zcdp.collection.collection_budget import Budget
from zcdp.collection.limits import UNLIMITED, Limits, Size, whole_bytes
from zcdp.estimation.linear_hash_decoding import LARGEST_TABLE
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
from zcdp.samplers.reports import digit_count, hadamard_width

__all__ = ["FAMILIES", "Family", "Tuned", "certified", "tune"]


DIGITS = 9  # of the parameters of a chosen mechanism: enough for accuracy, and plans stay readable
REACH = 400  # how far from the best real shape a prime is looked for
COUNT, COMPLEX = 8, 16  # bytes of one count, and of one complex number, in a server's memory


class Family(ABC):
    """A family of local randomizers on k inputs, with its formulas; e is e^epsilon throughout.

    Only members within the limits are proposed, if there are any.
    """

    def __init__(self, k: int, limits: Limits = UNLIMITED) -> None:
        self.k, self.limits = k, limits

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
    def build(self, epsilon: float, shape: float) -> Mechanism:
        """The mechanism, with its parameters rounded so that its epsilon is not larger."""

    @abstractmethod
    def size(self, shape: float) -> Size:
        """What one report takes on the wire, of the client and of the server."""

    @property
    def blanket(self) -> int:
        """The k of the randomized response whose shuffling bound is valid: docs/theorems/shuffling.md."""
        return 2

    def fits(self, shape: float) -> bool:
        """Whether the member of this shape is within the limits."""
        return self.limits.hold(self.size(shape))

    @abstractmethod
    def variance(self, epsilon: float, shape: float, frequency: float) -> float:
        """The variance of the estimate from one report, at a frequency, or at a number in units of its range."""


class ValueFamily(Family):
    """A family whose reports support values: k of them, of which frequencies are estimated."""

    @abstractmethod
    def chances(self, e: float, shape: float) -> tuple[float, float, float]:
        """Support probabilities (p, 1 - p, q): docs/theorems/estimator.md.

        1 - p is computed by itself, as it is lost in the rounding of p at a large epsilon.
        """

    def variance(self, epsilon: float, shape: float, frequency: float) -> float:
        """The variance of the estimate of a frequency from one report."""
        p, not_p, q = self.chances(exp(epsilon), shape)
        return (frequency * p * not_p + (1 - frequency) * q * (1 - q)) / (p - q) ** 2


def down(number: float) -> str:
    """The number as a decimal of `DIGITS` significant digits, rounded down."""
    context = Context(prec=DIGITS, rounding=ROUND_FLOOR)
    return str(context.create_decimal(Decimal(number)).normalize(context))


class Response(ValueFamily):
    """k-randomized response; there is no shape."""

    @property
    def blanket(self) -> int:
        """Randomized response is its own."""
        return self.k

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

    def size(self, shape: float) -> Size:  # noqa: ARG002
        """A report is one of k values; whether it is the true one, and which other, are drawn."""
        return Size(whole_bytes(self.k), 2, COUNT * self.k)


class Subsets(ValueFamily):
    """Subset selection; the shape is the size w of the subsets."""

    def shapes(self) -> tuple[float, float] | None:
        """Sizes from 2 (size 1 is randomized response) to k/2, beyond which no size is better, or what limits allow."""
        least, most = min(2, self.k - 1), self._most()
        return log(least), log(max(min(self.k // 2, most), least))

    def _most(self) -> int:
        """The largest size of a subset within the limits, or k - 1."""
        per, limits = whole_bytes(self.k), self.limits
        return min(
            self.k - 1,
            self.k if limits.bytes is None else limits.bytes // per,
            self.k if limits.draws is None else limits.draws - 1,
        )

    def whole(self, shape: float) -> list[float]:
        """The integers on both sides, within the range of sizes."""
        least, most = min(2, self.k - 1), self._most()
        low = max(least, min(int(shape + 1e-9), most))
        return [low, max(least, min(low + 1, most))]

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

    def size(self, shape: float) -> Size:
        """A report lists the members of the subset, each of which is drawn."""
        members = int(shape)
        return Size(members * whole_bytes(self.k), members + 1, COUNT * self.k)


class Unary(ValueFamily):
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

    def size(self, shape: float) -> Size:  # noqa: ARG002
        """A report has a bit for each value, each a coin; a server counts the 256 contents of each byte."""
        length = -(-self.k // 8)
        return Size(length, self.k, COUNT * 256 * length)


class Hashing(ValueFamily):
    """Linear hashing; the shape is the number g of buckets, a prime."""

    def shapes(self) -> tuple[float, float] | None:
        """From 2 buckets to k, or to what a table of LARGEST_TABLE counts allows."""
        return log(2.0), log(max(2.0, min(self.k, LARGEST_TABLE // max(self.k, 1))))

    def whole(self, shape: float) -> list[float]:
        """For each number of digits of the values the nearest admissible primes on both sides; 2 if there are none.

        Limits on the number of outcomes g^(digits + 1) leave gaps between the admissible primes.
        """
        found = []
        for digits in range(1, self.k.bit_length() + 1):
            least = _root(self.k, digits)
            most = _root(self.k, digits - 1) - 1 if digits > 1 else max(least + REACH, int(shape) + REACH)
            place = min(max(int(shape), least), most)
            down = range(place, max(least, place - REACH) - 1, -1)
            up = range(place + 1, min(most, place + REACH) + 1)
            found += [g for way in (down, up) for g in islice((g for g in way if self._serves(g)), 1)]
        return list(found) or [2]

    def _serves(self, g: int) -> bool:
        """Whether g buckets are admissible: a prime, and the table of counts not too large."""
        return is_prime(g) and self._outcomes(g) <= LARGEST_TABLE and self.fits(g)

    def _outcomes(self, g: int) -> int:
        """How many different reports there are with g buckets."""
        return int(g ** (digit_count(self.k, g) + 1))

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

    def size(self, shape: float) -> Size:
        """A report is the random vector of the hash and a bucket; each has a count, and a term of a Fourier sum."""
        outcomes = self._outcomes(int(shape))
        return Size(whole_bytes(outcomes), 3, (COUNT + COMPLEX) * outcomes)


def _root(k: int, digits: int) -> int:
    """The least g from 2 on with g^digits >= k.

    >>> _root(1000, 3), _root(1001, 3), _root(9, 1)
    (10, 11, 9)
    """
    g = max(2, int(k ** (1 / digits)) - 1)
    while g**digits < k:
        g += 1
    return g


class Hadamard(ValueFamily):
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

    def size(self, shape: float) -> Size:  # noqa: ARG002
        """A report is the index of a column of the Hadamard matrix."""
        width = hadamard_width(self.k, 1)
        return Size(whole_bytes(width), 3, 2 * COUNT * width)


FAMILIES: tuple[type[ValueFamily], ...] = (Response, Subsets, Unary, Hashing, Hadamard)


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


def tune(
    family: Family, budget: Budget, count: int, frequency: float, largest: Callable[[float], float] | None = None
) -> Tuned:
    """The member of least variance at which `count` reports fit the budget: heuristic, in floats.

    `largest` is the largest epsilon of a shape, if something else than the budget decides it. The variance of a member
    beyond the limits of the family is infinite.
    """

    def at(shape: float) -> Tuned:
        if largest is not None:
            epsilon = largest(shape)
        else:
            epsilon = budget.largest_epsilon(lambda e: family.kappa(e, shape), count)
        return Tuned(family, shape, epsilon, family.variance(epsilon, shape, frequency))

    def within(shape: float) -> Tuned:
        return at(shape) if family.fits(shape) else Tuned(family, shape, 0.0, inf)

    span = family.shapes()
    if span is None:
        return within(1.0)
    best = _best_shape(lambda x: at(exp(x)).variance, *span)
    return min((within(shape) for shape in family.whole(exp(best))), key=lambda one: one.variance)


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
