"""Randomizers of one value out of finitely many: the rows of their channels, from how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import exp, prod
from random import Random

from neighbours.law import Pair

Rows = list[list[float]]


def _normalised(weights: Iterable[float]) -> list[float]:
    listed = list(weights)
    total = sum(listed)
    return [weight / total for weight in listed]


def every_two(rows: Sequence[Sequence[object]]) -> list[Pair]:
    """Every two inputs are neighbours; the other direction of each is taken where the laws are held to account."""
    return [Pair.exactly(p, q) for p, q in combinations(rows, 2)]


def response(epsilon: Fraction, k: int) -> Rows:
    """k-randomized response: the true value is e^epsilon times as likely as each other one."""
    return [_normalised(exp(epsilon) if y == x else 1.0 for y in range(k)) for x in range(k)]


def bits(p: float | Fraction, q: float | Fraction, d: int) -> list[list[float | Fraction]]:
    """A report of d bits: the true one is set with probability p, every other with q."""

    def mass(x: int, report: tuple[int, ...]) -> float | Fraction:
        chances = (p if bit == x else q for bit in range(d))
        return prod(chance if y else 1 - chance for chance, y in zip(chances, report, strict=True))

    return [[mass(x, report) for report in product((0, 1), repeat=d)] for x in range(d)]


def subsets(epsilon: Fraction, k: int, size: int) -> Rows:
    """A subset that holds the true value is e^epsilon times as likely as one that does not."""
    reports = list(combinations(range(k), size))
    return [_normalised(exp(epsilon) if x in report else 1.0 for report in reports) for x in range(k)]


def windows(epsilon: Fraction, steps: int, width: int) -> Rows:
    """Numbers of a grid, the two ends first, and one between: the cells from i on are e^epsilon times as likely.

    A number between grid points is rounded to one of them at random.
    """
    grid = [0, steps, *range(1, steps)]
    rows = [_normalised(exp(epsilon) if i <= y < i + width else 1.0 for y in range(steps + width)) for i in grid]
    return [*rows, [0.25 * p + 0.75 * q for p, q in zip(rows[0], rows[-1], strict=True)]]


def hybrid(epsilon: Fraction, steps: int, width: int, share: Fraction) -> Rows:
    """A window with probability `share`, else an end of the range, to which the number is rounded, truly or falsely."""
    grid, whole = [0, steps, *range(1, steps)], exp(epsilon) + 1
    rows = []
    for i, window in zip(grid, windows(epsilon, steps, width), strict=False):
        up = (1 + (exp(epsilon) - 1) * i / steps) / whole
        rows.append([*(float(share) * one for one in window), float(1 - share) * (1 - up), float(1 - share) * up])
    return rows


def hadamard(epsilon: Fraction, doublings: int, blocks: int) -> Rows:
    """A value is a block and a row of the Sylvester matrix, not the constant one: its +1s there are the likely outputs.

    The entry of the matrix at (i, j) is minus one to the number of bits that i and j share.
    """
    width = 1 << doublings
    return [
        _normalised(
            exp(epsilon) if y // width == block and (row & (y % width)).bit_count() % 2 == 0 else 1.0
            for y in range(blocks * width)
        )
        for block in range(blocks)
        for row in range(1, width)
    ]


def hashing(epsilon: Fraction, g: int, hashes: Sequence[Sequence[int]]) -> Rows:
    """A hash drawn uniformly, sent along; the bucket of the value goes through g-randomized response."""
    buckets = response(epsilon, g)
    return [[mass / len(hashes) for hashed in hashes for mass in buckets[hashed[x]]] for x in range(len(hashes[0]))]


def families(rng: Random, g: int) -> list[tuple[int, ...]]:
    """Hashes of three values under which every two collide with probability at least 1/g: all, or all and more."""
    every = list(product(range(g), repeat=3))
    return every + [(bucket,) * 3 for bucket in range(rng.choice((0, g)))]


def shuffled(rows: Sequence[Sequence[float]], values: Sequence[int]) -> dict[tuple[int, ...], float]:
    """How likely each multiset of reports is, one report of each client by the row of her value."""
    found: dict[tuple[int, ...], float] = {}
    for sent in product(range(len(rows[0])), repeat=len(values)):
        key = tuple(sorted(sent))
        chance = prod(float(rows[value][report]) for value, report in zip(values, sent, strict=True))
        found[key] = found.get(key, 0.0) + chance
    return found


def linear(g: int, digits: int, k: int) -> list[tuple[int, ...]]:
    """The hashes v -> a . v mod g for all vectors a; a value is its digits in base g."""
    written = [[v // g**place % g for place in range(digits)] for v in range(k)]
    return [
        tuple(sum(one * other for one, other in zip(a, value, strict=True)) % g for value in written)
        for a in product(range(g), repeat=digits)
    ]


def remembered(f: Fraction, p: Fraction, q: Fraction, collections: int) -> list[list[Fraction]]:
    """Two bits, one-hot, remembered once, each flipped with probability f/2; then reported again and again."""

    def mass(x: int, reports: tuple[tuple[int, int], ...]) -> Fraction:
        total = Fraction(0)
        for memory in product((0, 1), repeat=2):
            kept = prod(1 - f / 2 if bit == (place == x) else f / 2 for place, bit in enumerate(memory))
            chances = [q if bit else p for bit in memory]
            total += kept * prod(
                chance if y else 1 - chance for report in reports for chance, y in zip(chances, report, strict=True)
            )
        return total

    outcomes = list(product(list(product((0, 1), repeat=2)), repeat=collections))
    return [[mass(x, reports) for reports in outcomes] for x in range(2)]


def truncated(epsilon: Fraction, sensitivity: int, n: int) -> Rows:
    """Output y on input x with probability proportional to e^{-t|x-y|}, both in 0..n."""
    t = float(epsilon) / sensitivity
    return [_normalised(exp(-t * abs(x - y)) for y in range(n + 1)) for x in range(n + 1)]


def within(rows: Rows, distance: int) -> list[Pair]:
    """Inputs that are numbers: neighbours are at most so far apart. The farthest first."""
    pairs = [(x, y) for x in range(len(rows)) for y in range(x + 1, min(x + distance, len(rows) - 1) + 1)]
    return [Pair.exactly(rows[x], rows[y]) for x, y in sorted(pairs, key=lambda pair: pair[0] - pair[1])]


def some_row(rng: Random, size: int, *, spread: int = 60) -> list[Fraction]:
    """Random probabilities that sum to 1 exactly."""
    weights = [rng.randint(1, spread) for _ in range(size)]
    return [Fraction(weight, sum(weights)) for weight in weights]
