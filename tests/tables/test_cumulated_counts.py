"""Cumulated counts: ranks by dense least squares, crossings by isotonic regression, spans by trying every bin."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest

from zcdp.tables.cumulated_counts import CumulatedCounts, crossing, group_sizes, span

SIZES = (1, 2, 3, 4, 5, 7, 20, 50, 97, 100, 1000)


def groups(sizes: tuple[int, ...]) -> list[list[list[int]]]:
    """The bins of each group of each level: those of a level are divided evenly among those above."""
    levels = [[[n] for n in range(sizes[-1])]]
    for coarse in reversed(sizes[:-1]):
        below: list[list[list[int]]] = [[] for _ in range(coarse)]
        for n, group in enumerate(levels[0]):
            below[n * coarse // len(levels[0])].append(group)
        levels.insert(0, [list(chain(*one)) for one in below])
    return levels


@pytest.mark.parametrize("bins", SIZES)
def test_groups_divide_the_bins_on_every_level(bins: int) -> None:
    sizes = group_sizes(bins)
    assert sizes[-1] == bins
    assert all(2 * a <= b for a, b in pairwise(sizes))
    counts = list(range(bins))
    levels = groups(sizes)
    assert all(sorted(chain(*level)) == counts and min(map(len, level)) > 0 for level in levels)
    exact = CumulatedCounts(sizes).exact(counts)
    assert exact == [[sum(counts[n] for n in group) for group in level] for level in levels]


@pytest.mark.parametrize("bins", [2, 3, 5, 20, 37])
@pytest.mark.parametrize("q", ["1/2", "1/10", "2/3"])
def test_ranks_and_their_errors_are_those_of_dense_least_squares(bins: int, q: str) -> None:
    target, rng = Fraction(q), np.random.default_rng(bins)
    counts = CumulatedCounts(group_sizes(bins))
    rows = np.array([[n in group for n in range(bins)] for level in groups(counts.sizes) for group in level], float)
    noisy = [rng.integers(-50, 50, size).tolist() for size in counts.sizes]
    cells: Any = np.linalg.lstsq(rows, np.array(list(chain(*noisy))), rcond=None)[0]
    solved = np.linalg.pinv(rows)
    a, c = target.numerator, target.denominator
    ranks, below = counts.ranks(noisy, target)
    for edge, rank in enumerate(ranks):
        factors = np.array([c - a] * (edge + 1) + [-a] * (bins - edge - 1))
        assert rank / below == pytest.approx(factors @ cells, abs=1e-6)
        assert float(counts.spread(target, edge)) == pytest.approx(((factors @ solved) ** 2).sum(), rel=1e-9)
        # the coefficients themselves, sorted by size
        found = sorted(float(one) for one, many in counts.terms(target, edge) for _ in range(many))
        expected = sorted(abs(one) for one in factors @ solved if abs(one) > 1e-9)
        assert found[-len(expected) :] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_groups_of_a_hundred_bins_leave_less_noise_than_the_bins_alone() -> None:
    """For the same rho: each of the levels has that part of it. (28.3 in ranks at rho = 0.005, against 50.)"""
    for q, most in ((Fraction(1, 2), 28.5), (Fraction(9, 10), 32.5)):
        worst = []
        for sizes in (group_sizes(100), (100,)):
            counts = CumulatedCounts(sizes)
            spread = max(counts.spread(q, edge) for edge in range(99)) * len(sizes) / (2 * Fraction(1, 200))
            worst.append(float(spread) ** 0.5 / q.denominator)
        assert worst[0] < most < worst[1]


def isotonic(values: list[float]) -> list[float]:
    """The rising sequence nearest to the values, by pooling neighbours that fall."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value])
        while len(pools) > 1 and sum(pools[-2]) / len(pools[-2]) > sum(pools[-1]) / len(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    return [sum(pool) / len(pool) for pool in pools for _ in pool]


def test_a_crossing_is_that_of_the_nearest_rising_sequence() -> None:
    rng = random.Random(2)
    for _ in range(400):
        ranks = [rng.randrange(-9, 10) + n for n in range(-4, rng.randrange(-4, 9))]
        place, risen = crossing(ranks), isotonic([float(rank) for rank in ranks])
        assert all(one <= 0 for one in risen[:place])
        assert all(one >= 0 for one in risen[place:])


def test_a_span_runs_from_the_first_to_the_last_bin_that_may_hold_the_quantile() -> None:
    rng = random.Random(3)
    for _ in range(400):
        ranks = [rng.randrange(-12, 13) for _ in range(rng.randrange(9))]
        reaches = [rng.randrange(9) for _ in ranks]
        bins = range(len(ranks) + 1)
        may = [
            n
            for n in bins
            if (n == len(ranks) or ranks[n] >= -reaches[n]) and (n == 0 or ranks[n - 1] <= reaches[n - 1])
        ]
        found = span(ranks, lambda edge, r=ranks, h=reaches: abs(r[edge]) > h[edge])
        assert found == (may[0], may[-1])
        assert found[0] <= crossing(ranks) <= found[1]
