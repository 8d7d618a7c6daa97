"""Quotients of noisy numbers: half-widths by convolution of the laws, and intervals that hold at 95% for all truths."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from release.noise_laws import chances, gaussian, laplace

from zcdp import DiscreteGaussian, DiscreteLaplace, DiscreteStaircase
from zcdp.mechanisms.noise.quotients import Quotients

PAIRS: list[tuple[Any, Any, Any, Any]] = [
    (DiscreteGaussian(sigma=60), DiscreteGaussian(sigma=4), gaussian(60), gaussian(4)),
    (DiscreteLaplace(scale=30), DiscreteGaussian(sigma=3), laplace(30), gaussian(3)),
    (DiscreteGaussian(sigma=5), DiscreteLaplace(scale=4), gaussian(5), laplace(4)),
]
WIDE = Quotients(DiscreteGaussian(sigma=60), DiscreteGaussian(sigma=4), Fraction(60))


def missed(x: tuple[Any, Any], y: tuple[Any, Any], quotient: float, half: float) -> float:
    """P[|X - r Y| > half], by adding up all pairs."""
    apart = np.abs(x[0][:, None] - quotient * y[0][None, :])
    return float(((apart > half + 1e-9) * x[1][:, None] * y[1][None, :]).sum())


@pytest.mark.parametrize("pair", range(len(PAIRS)))
def test_a_half_width_is_that_of_the_convolution(pair: int) -> None:
    above, below, law, other = PAIRS[pair]
    x, y = chances(law, 600), chances(other, 120)
    some = Quotients(above, below, Fraction(20))
    for quotient in (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(-7, 2), Fraction(11), Fraction(20)):
        half = float(some.half_width(quotient))
        assert missed(x, y, float(quotient), half) <= 0.05 + 1e-12
        # of the least one it is at most 2% and two steps longer: one for a step, one for the lattice
        assert missed(x, y, float(quotient), half / 1.03 - 2) > 0.05


def coverage(pair: tuple[Any, Any, Any, Any], reach: tuple[int, int], count: int, mean: int) -> tuple[float, float]:
    """The probability of all draws whose interval holds the quotient, and that of |X - rY| within its half-width."""
    above, below, law, other = pair
    x, y = chances(law, reach[0]), chances(other, reach[1])
    some = Quotients(above, below, Fraction(20))
    held = 0.0
    for b, weight in zip(y[0].tolist(), y[1].tolist(), strict=True):
        for a, chance in zip(x[0].tolist(), x[1].tolist(), strict=True):
            low, high = some.ends(count * mean + a, count + b, Fraction(-20), Fraction(20))
            held += weight * chance * (low <= mean <= high)
    return held, 1 - missed(x, y, mean, float(some.half_width(Fraction(mean))))


TRUTHS = [(6, -20), (15, 11), (200, 0), (200, 9)]
"""Counts, from below the noise on, and means."""


SMALL = (DiscreteGaussian(sigma=12), DiscreteGaussian(sigma=2), gaussian(12), gaussian(2))
REACH = [(400, 30), (500, 30), (40, 80)]
"""How far the noises of each pair reach, but for 1e-6."""


@pytest.mark.parametrize(("count", "mean"), [(3, 11), *TRUTHS])
def test_an_interval_holds_every_truth_at_its_level(count: int, mean: int) -> None:
    """All draws of a pair of small noises but for 1e-6 of them."""
    held, within = coverage(SMALL, (64, 10), count, mean)
    assert held > 0.95 - 1e-6
    if count == 200:  # where nothing is cut the interval holds the quotient just if the noise is within its half-width
        assert held == pytest.approx(within, abs=1e-6)
        assert held < 0.968  # one step more, as half-widths serve for all quotients: 0.08 of sd 12


@pytest.mark.deep
@pytest.mark.parametrize("pair", range(len(PAIRS)))
@pytest.mark.parametrize(("count", "mean"), TRUTHS)
def test_an_interval_holds_every_truth_over_all_draws(pair: int, count: int, mean: int) -> None:
    """All draws but for 1e-6 of them: never below 95%, and where nothing is cut as the law of the noise says."""
    held, within = coverage(PAIRS[pair], REACH[pair], count, mean)
    assert held > 0.95 - 1e-6
    if count == 200:
        assert held == pytest.approx(within, abs=1e-5)
        assert held < (0.965 if pair < 2 else 0.98)  # one step more: 0.2 of sd 5


def test_where_the_count_may_be_none_the_interval_is_everything() -> None:
    some = WIDE
    reach = DiscreteGaussian(sigma=4).accuracy(Fraction(39, 40)).half_width
    assert not some.tells(int(reach))
    assert some.tells(int(reach) + 1)
    assert some.ends(500, int(reach), Fraction(-20), Fraction(20)) == (-20, 20)
    assert some.ends(500, -2) == (-inf, inf)


@pytest.mark.parametrize("numbers", [(4000, 100), (-4000, 100), (4000, -100), (-90, 40), (0, 30), (10**6, 12)])
def test_an_interval_is_the_hull_of_all_quotients_within_their_half_widths(numbers: tuple[int, int]) -> None:
    """By trying a fine grid of quotients; what none fits has an interval of one half-width beside its clip."""
    above, below = numbers
    some = WIDE
    low, high = some.ends(above, below, Fraction(-60), Fraction(60))
    tried = [
        Fraction(n, 40) for n in range(-2400, 2401) if abs(above - Fraction(n, 40) * below) < 3 * (60 + abs(n) // 10)
    ]
    fits = [r for r in tried if abs(above - r * below) <= some.half_width(r)]
    if fits:
        assert low <= fits[0] <= low + Fraction(1, 40)
        assert high - Fraction(1, 40) <= fits[-1] <= high
    else:
        assert low < high == 60


def test_turning_both_signs_changes_nothing_and_one_turns_the_interval() -> None:
    some = WIDE
    low, high = some.ends(900, 50)
    assert some.ends(-900, -50) == (low, high)
    assert some.ends(-900, 50) == (-high, -low)
    assert low < 18 < high


def test_a_noise_whose_sums_are_not_known_has_the_union_of_two_intervals() -> None:
    noise = DiscreteStaircase(epsilon=1, sensitivity=5, r=2)
    some = Quotients(DiscreteGaussian(sigma=60), noise, Fraction(20))
    x, y = (int(one.accuracy(Fraction(39, 40)).half_width) for one in (DiscreteGaussian(sigma=60), noise))
    assert some.half_width(Fraction(3)) == x + 3 * y
    assert some.ends(1000, 100) == (Fraction(1000 - x, 100 + y), Fraction(1000 + x, 100 - y))


def test_noise_of_any_size_has_an_interval() -> None:
    for above, below in ((1, 2**52), (2**52, 1), (2**52, 2**52)):
        some = Quotients(DiscreteGaussian(sigma=above), DiscreteGaussian(sigma=below), Fraction(100))
        low, high = some.ends(above * 5000, below * 100, Fraction(-100), Fraction(100))
        assert low <= 50 * Fraction(above, below) or low == -100
        assert low < high
