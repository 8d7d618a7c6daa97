"""The curve of all tests of a pair against every test there is, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from zcdp.privacy.loss.tradeoff_hull import Atom, Point, both_directions, hull, prefixes, within_ratios

GROWTHS = [Fraction(n, 12) for n in (0, 1, 3, 6, 9, 11, 12, 13, 16, 20, 30, 60, 200, 2000)]


def row(random: Random, size: int) -> list[Fraction]:
    parts = [random.choice([0, 0, 1, 2, 5, 9]) for _ in range(size)]
    parts[random.randrange(size)] += 1
    return [Fraction(part, sum(parts)) for part in parts]


def points_of(p: list[Fraction], q: list[Fraction]) -> list[Point]:
    """(Q(S), P(S)) of every set S of outcomes."""
    sets = product((0, 1), repeat=len(p))
    return [(sum(b for b, s in zip(q, one, strict=True) if s), sum(a for a, s in zip(p, one, strict=True) if s))
            for one in sets]  # fmt: skip


def delta(points: list[Point], growth: Fraction) -> Fraction:
    return max(y - growth * x for x, y in points)


def delta_of(atoms: list[Atom], growth: Fraction) -> Fraction:
    return sum((max(p - growth * q, Fraction(0)) for p, q in atoms), Fraction(0))


@pytest.mark.parametrize("seed", range(16))
def test_the_curve_is_that_of_the_best_of_all_tests(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 5)
    rows = [(row(random, size), row(random, size)) for _ in range(random.randint(1, 3))]
    every = [point for p, q in rows for point in points_of(p, q)]
    for p, q in rows:
        edges = hull(prefixes(p, q))
        assert all(delta_of(edges, g) == delta(points_of(p, q), g) for g in GROWTHS)
    both = hull(both_directions([prefixes(p, q) for p, q in rows]))
    every += [point for p, q in rows for point in points_of(q, p)]
    assert all(delta_of(both, g) == delta(every, g) for g in GROWTHS)
    assert all(delta_of([(q, p) for p, q in both], g) == delta(every, g) for g in GROWTHS)  # It is symmetric.
    for curve in (edges, both):
        assert sum(p for p, _ in curve) == sum(q for _, q in curve) == 1
        slopes = [(p / q if q else Fraction(10**9)) for p, q in curve]
        assert slopes == sorted(set(slopes), reverse=True)


def test_of_points_at_one_place_the_highest_counts() -> None:
    third = Fraction(1, 3)
    for points in ([(third, third * 2), (third, Fraction(9, 10))], [(third, Fraction(9, 10)), (third, third * 2)]):
        assert hull(points) == [(Fraction(9, 10), third), (Fraction(1, 10), 2 * third)]


@pytest.mark.parametrize("seed", range(8))
def test_a_curve_within_ratios_is_the_least_of_it_and_the_two_lines(seed: int) -> None:
    """At x the curve is at most `most` x, and 1 - y at least (1 - x)/most_back, or as it was."""
    random = Random(seed)
    size = random.randint(2, 6)
    edges = hull(prefixes(row(random, size), row(random, size)))
    for most, back in product((None, Fraction(1), Fraction(5, 4), Fraction(3), Fraction(50)), repeat=2):
        found = within_ratios(edges, most, back)
        assert sum(p for p, _ in found) == sum(q for _, q in found) == 1
        for n in range(41):
            x = Fraction(n, 40)
            limits = [height(edges, x)]
            limits += [most * x] if most is not None else []
            limits += [1 - (1 - x) / back] if back is not None else []
            assert height(found, x) == min(limits), (most, back, x)


def height(edges: list[Atom], x: Fraction) -> Fraction:
    """The curve at x; where it jumps, its upper end."""
    total = Fraction(0)
    for p, q in edges:
        if q == 0:
            total += p
        elif x > 0:
            part = min(x / q, Fraction(1))
            total, x = total + part * p, x - part * q
    return total
