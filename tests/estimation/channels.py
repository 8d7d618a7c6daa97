"""Local randomizers as tables in exact fractions, written from how they are run: reports and their laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

import zcdp

E = Fraction(3)  # e^epsilon
LOG = "log(3)"


@dataclass(frozen=True)
class Case:
    mechanism: zcdp.Mechanism
    k: int
    reports: Sequence[Any]
    weight: Callable[[int, Any], Fraction]
    """Of a report on a value, up to a factor that may depend on the value."""
    shape: Callable[[Any], Any] = np.array

    def laws(self) -> list[list[Fraction]]:
        rows = [[self.weight(x, y) for y in self.reports] for x in range(self.k)]
        return [[mass / total for mass in row] for row in rows for total in [sum(row)]]

    def supports(self) -> list[list[int]]:
        """Which values each report supports, as the library counts them."""
        return [self.mechanism.count(self.shape([y]), k=self.k).supports.tolist() for y in self.reports]


def response(k: int) -> Case:
    return Case(zcdp.RandomizedResponse(epsilon=LOG, k=k), k, range(k), lambda x, y: E if x == y else Fraction(1))


def bits(mechanism: zcdp.Mechanism, p: Fraction, q: Fraction, k: int) -> Case:
    def weight(x: int, report: tuple[int, ...]) -> Fraction:
        mass = Fraction(1)
        for bit, y in enumerate(report):
            chance = p if bit == x else q
            mass *= chance if y else 1 - chance
        return mass

    return Case(
        mechanism, k, list(product((0, 1), repeat=k)), weight, lambda y: np.packbits(np.array(y, np.uint8), axis=1)
    )


def subsets(k: int, size: int) -> Case:
    return Case(
        zcdp.SubsetSelection(epsilon=LOG, k=k, size=size),
        k,
        list(combinations(range(k), size)),
        lambda x, y: E if x in y else Fraction(1),
    )


def hadamard(k: int, width: int) -> Case:
    def weight(x: int, y: int) -> Fraction:
        return E if ((x + 1) & y).bit_count() % 2 == 0 else Fraction(1)

    return Case(zcdp.HadamardResponse(epsilon=LOG), k, range(width), weight)


def hashing(mechanism: zcdp.Mechanism, g: int, digits: int, k: int) -> Case:
    """A report is the digits of a vector and a bucket, as one number."""

    def weight(x: int, y: int) -> Fraction:
        vector, bucket = divmod(y, g)
        product = sum(vector // g**place % g * (x // g**place % g) for place in range(digits))
        return E if product % g == bucket else Fraction(1)

    return Case(mechanism, k, range(g ** (digits + 1)), weight)


CASES = [
    hadamard(3, 4),
    hadamard(5, 8),
    hashing(zcdp.LocalHashing(epsilon=LOG, g=3, random_hash=True), 3, 2, 7),
    hashing(zcdp.LinearHashing(epsilon=LOG, g=2, k=5), 2, 3, 5),
    hashing(zcdp.LinearHashing(epsilon=LOG, g=5, k=4), 5, 1, 4),
    hashing(zcdp.LinearHashing(epsilon=LOG, g=3, k=9), 3, 2, 9),
    bits(
        zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=9),
        Fraction(3, 4) * Fraction(3, 4) + Fraction(1, 4) * Fraction(1, 4),
        Fraction(3, 4) * Fraction(1, 4) + Fraction(1, 4) * Fraction(3, 4),
        4,
    ),
    response(2),
    response(5),
    bits(zcdp.RAPPOR(epsilon="log(9)"), Fraction(3, 4), Fraction(1, 4), 3),
    bits(zcdp.UnaryEncoding("0.6", "1/7"), Fraction(3, 5), Fraction(1, 7), 9),
    bits(zcdp.OptimizedUnaryEncoding(epsilon=LOG), Fraction(1, 2), Fraction(1, 4), 5),
    subsets(5, 2),
    subsets(6, 5),
    subsets(3, 1),
]


def ids(case: Case) -> str:
    return f"{case.mechanism!r}-{case.k}"


def estimates(case: Case) -> list[list[Fraction]]:
    """Of each value from each single report."""
    p, q, _ = case.mechanism.support.exact
    return [[(c - q) / (p - q) for c in supports] for supports in case.supports()]
