"""Every sampler draws from its law, and the test that says so rejects a law that is off by one per cent in scale.

Fresh secure bits in each run. Each chi-square and Kolmogorov test rejects at FALSE_ALARM / (number of tests): a whole
run of correct samplers turns red with probability at most FALSE_ALARM.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from mpmath import mpf
from samplers.chi_square import (
    cuts_of,
    distance_bound,
    largest_distance,
    p_value,
    p_value_of_counts,
    quantiles,
    reached,
)
from samplers.laws import ROWS, Row

from zcdp.samplers.source import BLOCK, secure

FALSE_ALARM = 1e-6
LEVEL = FALSE_ALARM / (10 * len(ROWS))
FAST = [row for row in ROWS if not row.slow]
CELLS = 24


def draws(row: Row, count: int, first: int = 16, second: int = 62) -> Any:
    draw = row.make(first, second)
    return np.concatenate([draw(min(BLOCK, count - start), secure) for start in range(0, count, BLOCK)])


@cache
def cells(name: str) -> tuple[list[int], list[int]]:
    """The points that cut the law of a row into few cells, and into ten times as many."""
    [row] = [row for row in ROWS if row.name == name]
    points = quantiles(cache(lambda k: row.cdf(k, mpf(1))), 10 * CELLS)
    return cuts_of(points[9::10]), cuts_of(points)


def check(row: Row, count: int, wrong: tuple[float, ...], first: int = 16, second: int = 62) -> None:
    cuts, between = cells(row.name)
    below = dict(zip(between, reached(draws(row, count, first, second), between), strict=True))

    def p_value_at(factor: object) -> float:
        return p_value_of_counts([below[cut] for cut in cuts], count, cuts, lambda k: row.cdf(k, mpf(factor)))

    assert p_value_at(1) > LEVEL
    distance = largest_distance(list(below.values()), count, between, lambda k: row.cdf(k, mpf(1)))
    assert distance < distance_bound(count, LEVEL)
    for factor in wrong:
        assert p_value_at(factor) < LEVEL


@pytest.mark.parametrize("row", FAST, ids=lambda row: row.name)
def test_law_at_millions_of_draws_and_one_per_cent_off_is_rejected(row: Row) -> None:
    check(row, row.count, ("1.01", "0.99"))


@pytest.mark.parametrize("row", [row for row in ROWS if row.slow], ids=lambda row: row.name)
def test_law_of_the_one_by_one_samplers(row: Row) -> None:
    check(row, 5_000, ("1.5",))


@pytest.mark.deep
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_law_at_many_draws(row: Row) -> None:
    count, wrong = row.deep if row.slow else (20_000_000, ("1.01", "0.99"))
    check(row, count, wrong)


@pytest.mark.parametrize("row", FAST, ids=lambda row: row.name)
def test_law_when_every_stage_is_forced(row: Row) -> None:
    """Two bits in the first stage and six in the second: most draws go on to the last."""
    check(row, 2_000, (), first=2, second=6)


WIDE = (
    "discrete laplace 1099511627776",
    "geometric 1000000",
    "laplace scale 2 grid 1/1048576 at 41.3",
    "logistic grid 1/1024",
    "gaussian grid 1/1024",
)


@pytest.mark.parametrize("name", WIDE)
def test_the_low_digits_are_uniform(name: str) -> None:
    """Cells of equal weight do not see the low digits: all residues modulo 32 are equally likely, nearly."""
    [row] = [row for row in ROWS if row.name == name]
    residues = draws(row, 2_000_000) % 32
    assert p_value(residues, list(range(31)), lambda k: mpf(k + 1) / 32) > LEVEL


@pytest.mark.deep
@pytest.mark.parametrize("name", WIDE)
def test_the_largest_distance_sees_one_per_cent_too(name: str) -> None:
    [row] = [row for row in ROWS if row.name == name]
    count, (_, points) = 20_000_000, cells(name)
    below = reached(draws(row, count), points)
    for factor in ("1.01", "0.99"):
        distance = largest_distance(below, count, points, lambda k, f=factor: row.cdf(k, mpf(f)))
        assert distance > distance_bound(count, LEVEL)
