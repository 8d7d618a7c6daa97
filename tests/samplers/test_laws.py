"""Every sampler draws from its law, and the test that says so rejects a law that is off by one per cent in scale.

Fresh secure bits in each run. Each chi-square and Kolmogorov test rejects at FALSE_ALARM / (number of tests): a whole
run of correct samplers turns red with probability at most FALSE_ALARM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import erfc, exp, floor, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from flint import arb
from independent.bits import seeded
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
from samplers.output_laws import ROWS, Row, real

from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.source import BLOCK, secure
from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

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


DRAWS, CELLS_OF_WIDE = 2000, 20
Source = Callable[[int], bytes]


def laplace(x: float) -> float:
    return exp(x) / 2 if x < 0 else 1 - exp(-x) / 2


def normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def even_stairs(x: float) -> float:
    """Staircase noise at epsilon 1 whose outer parts have no width, in units of a stair."""
    if x < 0:
        return 1 - even_stairs(-x)
    stair, b = floor(x), exp(-1)
    return 1 - b**stair * (1 - (1 - b) * (x - stair)) / 2


def floored(draw: Callable[[Any, Source], Any]) -> Callable[[int, Source], Any]:
    return lambda count, source: draw(np.zeros(count), source).tolist()


def one_by_one(draw: Callable[[Source], Any]) -> Callable[[int, Source], Any]:
    return lambda count, source: [draw(source) for _ in range(count)]


class Wide(NamedTuple):
    """How to draw, a law on the line that noise so wide is as good as, its scale, and the digits that must be fair."""

    draw: Callable[[int, Source], Any]
    law: Callable[[float], float]
    scale: int
    digits: range


def _wide() -> Iterator[tuple[str, Wide]]:
    for power in (47, 50, 51, 52, 61, 64, 90):
        scale, digits = 2**power + 12345, range(power - 6)
        noise = DiscreteLaplaceNoise(real(Fraction(1, scale)))
        yield f"discrete laplace 2^{power}", Wide(noise.draw, laplace, scale, digits)
        yield f"one discrete laplace 2^{power}", Wide(one_by_one(noise.draw_one), laplace, scale, digits)
    for power in (39, 40, 41, 62, 100):
        sigma, digits = 2**power + 12345, range(power - 6)
        gaussian = DiscreteGaussianNoise(Fraction(sigma) ** 2)
        yield f"discrete gaussian 2^{power}", Wide(gaussian.draw, normal, sigma, digits)
        yield f"one discrete gaussian 2^{power}", Wide(one_by_one(gaussian.draw_one), normal, sigma, digits)
    for power in (40, 47, 52, 59):
        scale, digits = 2**power + 12345, range(max(0, power - 44), power - 6)  # of floats
        rate, one = real(Fraction(1, scale)), Fraction(1)
        yield f"laplace 2^{power}", Wide(floored(GridLaplace(rate, one).release), laplace, scale, digits)
        yield f"logistic 2^{power}", Wide(floored(logistic_on_grid(rate, one).release), logistic, scale, digits)
        square = Fraction(scale) ** 2
        yield f"gaussian 2^{power}", Wide(floored(gaussian_on_grid(square, one).release), normal, scale, digits)
    for power, r in ((39, 2**39 - 1), (42, 2**42), (58, 2**58 - 1), (80, 2**80)):
        stairs = DiscreteStaircaseNoise(real(Fraction(1)), 2**power, r)
        yield f"discrete staircase 2^{power}", Wide(stairs.draw, even_stairs, 2**power, range(power - 6))
    for power in (35, 45):
        on_grid = GridStaircase(real(Fraction(1)), Fraction(2**power), lambda: 1 - arb(2) ** -60, Fraction(1))
        yield f"staircase 2^{power}", Wide(floored(on_grid.release), even_stairs, 2**power, range(power - 6))


WIDE_NOISE = dict(_wide())


def uniform_p_value(drawn: list[int], law: Callable[[float], float], scale: int) -> float:
    """That of F(X), which is uniform."""
    ranks = np.array([int(CELLS_OF_WIDE * law(float(Fraction(x, scale)))) for x in drawn])
    return p_value(ranks, list(range(CELLS_OF_WIDE - 1)), lambda k: mpf(k + 1) / CELLS_OF_WIDE)


@pytest.mark.parametrize("name", WIDE_NOISE)
def test_the_law_and_every_digit_of_wide_noise(name: str) -> None:
    """F(X) is uniform; all draws differ; and each binary digit well below the scale is as often 0 as 1."""
    draw, law, scale, digits = WIDE_NOISE[name]
    drawn = [int(x) for x in draw(DRAWS, seeded(len(name)))]
    assert len(set(drawn)) == DRAWS
    assert uniform_p_value(drawn, law, scale) > 1e-4
    for digit in digits:
        assert abs(sum(x >> digit & 1 for x in drawn) - DRAWS / 2) < 5 * sqrt(DRAWS / 4), digit


def test_another_scale_of_wide_noise_is_seen() -> None:
    """The test above can fail: a fifth more or less is rejected."""
    draw, law, scale, _ = WIDE_NOISE["discrete laplace 2^61"]
    drawn = [int(x) for x in draw(DRAWS, seeded(3))]
    assert uniform_p_value(drawn, law, scale * 6 // 5) < 1e-6
    assert uniform_p_value(drawn, law, scale * 4 // 5) < 1e-6
