"""Every sampler draws from its law, and the test that says so rejects a law that is off by one per cent in scale.

Fresh secure bits in each run. Each chi-square and Kolmogorov test rejects at FALSE_ALARM / (number of tests): a whole
run of correct samplers turns red with probability at most FALSE_ALARM.
"""

from __future__ import annotations

import pytest
from mpmath import mpf
from samplers.chi_square import distance_bound, edges, largest_distance, p_value
from samplers.laws import ROWS, Row

from zcdp.samplers.source import BLOCK, secure

FALSE_ALARM = 1e-6
LEVEL = FALSE_ALARM / (10 * len(ROWS))
FAST = [row for row in ROWS if not row.slow]
CELLS = 24


def draws(row: Row, count: int, first: int = 16, second: int = 62) -> object:
    import numpy as np

    draw = row.make(first, second)
    return np.concatenate([draw(min(BLOCK, count - start), secure) for start in range(0, count, BLOCK)])


def check(row: Row, count: int, wrong: tuple[float, ...], first: int = 16, second: int = 62) -> None:
    drawn = draws(row, count, first, second)
    cuts = edges(lambda k: row.cdf(k, mpf(1)), CELLS)
    assert p_value(drawn, cuts, lambda k: row.cdf(k, mpf(1))) > LEVEL
    between = edges(lambda k: row.cdf(k, mpf(1)), 10 * CELLS)
    assert largest_distance(drawn, between, lambda k: row.cdf(k, mpf(1))) < distance_bound(count, LEVEL)
    for factor in wrong:
        assert p_value(drawn, cuts, lambda k, factor=factor: row.cdf(k, mpf(factor))) < LEVEL


@pytest.mark.parametrize("row", FAST, ids=lambda row: row.name)
def test_law_at_millions_of_draws_and_one_per_cent_off_is_rejected(row: Row) -> None:
    check(row, row.count, ("1.01", "0.99"))


@pytest.mark.parametrize("row", [row for row in ROWS if row.slow], ids=lambda row: row.name)
def test_law_of_the_one_by_one_samplers(row: Row) -> None:
    check(row, 20_000, ("1.5",))


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
    drawn = draws(row, 20_000_000)
    points = edges(lambda k: row.cdf(k, mpf(1)), 10 * CELLS)
    for factor in ("1.01", "0.99"):
        assert largest_distance(drawn, points, lambda k, f=factor: row.cdf(k, mpf(f))) > distance_bound(
            drawn.size, LEVEL
        )
