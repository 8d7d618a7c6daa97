"""The factor for sums of discrete Gaussian noise, against exact laws of sums by convolution."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from math import exp, sqrt

import pytest

from zcdp.mechanisms.noise.gaussian_sums import reach_in_deviations


def law(v: float) -> dict[int, float]:
    far = int(12 * sqrt(v)) + 3
    masses = {x: exp(-x * x / (2 * v)) for x in range(-far, far + 1)}
    whole = sum(masses.values())
    return {x: one / whole for x, one in masses.items()}


def tail(noises: list[tuple[int, float]], reach: float) -> float:
    """The probability that the sum of coefficient times noise is beyond the reach, by convolution of the laws."""
    found = {0: 1.0}
    for coefficient, v in noises:
        added: dict[int, float] = {}
        for (a, p), (x, q) in product(found.items(), law(v).items()):
            added[a + coefficient * x] = added.get(a + coefficient * x, 0.0) + p * q
        found = added
    return sum(p for z, p in found.items() if abs(z) > reach)


@pytest.mark.parametrize("level", [Fraction(19, 20), Fraction(1, 2), Fraction(999, 1000)])
def test_no_sum_is_beyond_it_more_often(level: Fraction) -> None:
    """Coefficients at which laws are lattices of any step: a single one, equal ones, one large among small ones."""
    rng = random.Random(1)
    for _ in range(12):
        noises = [
            (rng.choice((1, 1, 2, 7)), rng.choice((0.05, 0.3, 1.0, 4.0, 30.0))) for _ in range(rng.randrange(1, 4))
        ]
        counts: dict[Fraction, int] = {}
        for _, v in noises:
            counts[Fraction(v)] = counts.get(Fraction(v), 0) + 1
        deviation = sqrt(sum(a * a * v for a, v in noises))
        assert tail(noises, reach_in_deviations(counts, level) * deviation) <= float(1 - level)


@pytest.mark.parametrize(("sigma", "most"), [(10, 2.125), (20, 2.055), (50, 2.006), (100, 1.986), (1000, 1.964)])
def test_it_is_near_that_of_normal_noise(sigma: int, most: float) -> None:
    assert 1.9599 < reach_in_deviations({Fraction(sigma**2): 1000}) < most


def test_more_noises_and_smaller_ones_reach_further() -> None:
    one = reach_in_deviations({Fraction(100): 1})
    assert (
        one < reach_in_deviations({Fraction(100): 10**5}) < reach_in_deviations({Fraction(100): 10**5, Fraction(4): 9})
    )


def test_where_noise_is_too_small_it_is_the_plain_bound() -> None:
    """2 exp(-c^2/2) = 1/20, which every sum of these noises obeys."""
    assert reach_in_deviations({Fraction(1, 10): 10**6}) == pytest.approx(2.7162, abs=1e-4)
    assert reach_in_deviations({Fraction(10) ** 60: 10**6}) == pytest.approx(1.96, abs=1e-2)
