"""Where reports add weights or signs, coverage in exact integers: every number of holders, whatever the others hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import gcd, lcm
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from flint import fmpz_poly

import zcdp

LEVELS = ("0.95", "0.999")
Law = dict[Fraction, Fraction]
"""What the report of one client adds to a sum, and with which probability."""


@dataclass(frozen=True)
class Sums:
    """A value's sum over all reports, told apart by what a client holds: the value itself first, then others."""

    name: str
    laws: Sequence[Law]
    ends: Callable[[Any, int, float], tuple[Any, Any]]
    """Of the interval, for each sum of n reports, at a risk."""
    estimate: Callable[[Any, int], tuple[Any, Any]]
    """Its point and its standard error there, likewise: for the interval that must fail."""

    @property
    def lattice(self) -> tuple[Fraction, Fraction]:
        """The least that a report adds, and the step: it adds the least and some steps."""
        places = sorted({place for law in self.laws for place in law})
        unit = lcm(*(place.denominator for place in places))
        return places[0], Fraction(gcd(*(int((b - a) * unit) for a, b in pairwise(places))), unit)

    def polynomials(self) -> tuple[list[Any], int]:
        """The laws as polynomials of whole numbers, the power of x for the steps; and what the numbers are parts of."""
        least, step = self.lattice
        unit = lcm(*(mass.denominator for law in self.laws for mass in law.values()))
        rows = []
        for law in self.laws:
            row = [0] * (1 + int((max(law) - least) / step))
            for place, mass in law.items():
                row[int((place - least) / step)] += int(mass * unit)
            rows.append(fmpz_poly(row))
        return rows, unit


def splits(n: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way in which n clients are of so many kinds."""
    if kinds == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in splits(n - first, kinds - 1):
            yield (first, *rest)


def worst_miss(sums: Sums, n: int, risk: float) -> Fraction:
    """The largest probability, over all that n clients may hold, that the interval misses the share of holders."""
    laws, unit = sums.polynomials()
    least, step = sums.lattice
    powers = [[law**m for m in range(n + 1)] for law in laws]
    places = np.array([float(n * least + m * step) for m in range(n * max(law.degree() for law in laws) + 1)])
    low, high = sums.ends(places, n, risk)
    missed = [np.flatnonzero((low > N / n + 1e-12) | (high < N / n - 1e-12)).tolist() for N in range(n + 1)]
    worst = 0
    for held in splits(n, len(laws)):
        law = reduce(lambda a, b: a * b, (powers[kind][m] for kind, m in enumerate(held)))
        worst = max(worst, sum(int(law[place]) for place in missed[held[0]]))
    return Fraction(worst, unit**n)


def of_channel(name: str, rows: Sequence[Sequence[str]], values: Sequence[int]) -> Iterator[Sums]:
    channel = zcdp.Channel(rows)
    for v in values:
        weights = channel.weights[v]
        order = [v, *(x for x in range(channel.k) if x != v)]
        laws: list[Law] = []
        for x in order:
            law: Law = {}
            for weight, mass in zip(weights, channel.rows[x], strict=True):
                law[weight] = law.get(weight, Fraction(0)) + mass
            laws.append({place: mass for place, mass in law.items() if mass})

        def ends(places: Any, n: int, risk: float, v: int = v) -> tuple[Any, Any]:
            return channel._estimator.ends(v, places, n, risk, of="clients")

        def estimate(places: Any, n: int, v: int = v) -> tuple[Any, Any]:
            points = places / n
            errors = [
                channel._estimator.standard_error(np.full(channel.k, point), n, of="clients")[v]
                for point in np.clip(points, 0, 1)
            ]
            return points, np.array(errors)

        yield Sums(f"{name}, value {v}", laws, ends, estimate)


def of_blocks(e: int, blocks: int) -> Sums:
    """A report falls into the block of its value with probability (e + 1)/(e + 2B - 1), else it is of any other."""
    whole = e + 2 * blocks - 1
    own = {
        Fraction(1): Fraction(e, whole),
        Fraction(0): Fraction(2 * blocks - 2, whole),
        Fraction(-1): Fraction(1, whole),
    }
    same = {Fraction(s): Fraction(e + 1, 2 * whole) for s in (1, -1)} | {Fraction(0): Fraction(2 * blocks - 2, whole)}
    other = {Fraction(s): Fraction(1, whole) for s in (1, -1)} | {Fraction(0): Fraction(whole - 2, whole)}
    m = zcdp.HadamardResponse(epsilon=f"log({e})", blocks=blocks)

    def ends(places: Any, n: int, risk: float) -> tuple[Any, Any]:
        return m._estimator.interval(places, n, risk, of="clients")

    def estimate(places: Any, n: int) -> tuple[Any, Any]:
        points = m._estimator.frequencies(places, n)
        return points, m._estimator.standard_error(np.clip(points, 0, 1), n, of="clients")

    return Sums(f"Hadamard, e^epsilon = {e}, {blocks} blocks", [own, same, other], ends, estimate)


SUMS = [
    *of_channel("an output that tells nothing", [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]], (0,)),
    *of_channel("mostly true", [["9/10", "1/20", "1/20"], ["1/20", "9/10", "1/20"], ["1/10", "1/10", "4/5"]], (0, 2)),
    *of_channel(
        "four outputs",
        [["1/8", "1/4", "3/8", "1/4"], ["3/8", "1/4", "1/8", "1/4"], ["3/8", "3/8", "1/8", "1/8"]],
        (0, 1, 2),
    ),
    of_blocks(3, 2),
    of_blocks(40, 3),
    of_blocks(400, 2),
]
"""The values that are left out stand to the others as one that is in."""


def wald(sums: Sums) -> Sums:
    """The same sums with the interval of the textbook: the estimate and its standard error, as if it were normal."""

    def ends(places: Any, n: int, risk: float) -> tuple[Any, Any]:
        points, errors = sums.estimate(places, n)
        half = NormalDist().inv_cdf(1 - risk / 2) * errors
        return points - half, points + half

    return replace(sums, ends=ends)


def named(sums: Sums) -> str:
    return sums.name


def holds(sums: Sums, level: str, sizes: Sequence[int]) -> bool:
    risk = 1 - Fraction(level)
    return all(worst_miss(sums, n, float(risk)) <= risk for n in sizes)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_intervals_hold(sums: Sums, level: str) -> None:
    assert holds(sums, level, (3, 8))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_a_wald_interval_is_caught(sums: Sums, level: str) -> None:
    assert not holds(wald(sums), level, (8, 40))


@pytest.mark.deep
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_intervals_hold_for_every_n_up_to_40(sums: Sums, level: str) -> None:
    assert holds(sums, level, range(1, 41))
