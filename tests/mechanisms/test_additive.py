"""What noise is added to, and on which grid: of samples that are kept, of two neighbours, of types that overflow."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from zcdp import (
    L1,
    L2,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Logistic,
    Staircase,
)
from zcdp.mechanisms.noise.additive import default_grid

REAL = [Laplace(scale=1), Logistic(scale=1), Gaussian(sigma=1), Staircase(epsilon=1, sensitivity=1)]


def coarsest(values: Any) -> Fraction:
    """The largest power of two of which all of these are multiples."""
    parts = [Fraction(value) for value in np.ravel(values).tolist()]
    step = Fraction(1, max(part.denominator for part in parts))
    while all(part / (2 * step) % 1 == 0 for part in parts):
        step *= 2
    return step


@pytest.mark.parametrize("scale", [1, 2, 3, Fraction(1, 10), 0.7, 1e-5, 12345.678, Fraction(2) ** 70, 2.0**-70])
def test_the_default_grid_is_a_power_of_two_near_a_millionth_of_the_scale(scale: Any) -> None:
    grid = default_grid(scale)
    assert 1 in (grid.numerator, grid.denominator)
    assert (grid.numerator * grid.denominator).bit_count() == 1
    assert Fraction(scale) / 2**21 < grid <= Fraction(scale) / 2**20


@pytest.mark.parametrize("mechanism", REAL, ids=repr)
@pytest.mark.parametrize("grids", [("1/2", 4, "1/2"), (4, "1/1024", None), (None, "1/2", 4)], ids=str)
def test_each_release_is_on_the_grid_that_it_asks_for(mechanism: Any, grids: tuple[Any, ...]) -> None:
    """Whatever the grid before it was; all of 300 draws are even multiples with a probability of 2^-300 or so."""
    values = np.linspace(-500, 500, 300)
    for grid in grids:
        asked = Fraction(1, 2**20) if grid is None else Fraction(grid)
        assert coarsest(mechanism.release(values, grid=grid)) == asked
        assert Fraction(mechanism.release(7.3, grid=grid)) / asked % 1 == 0


@pytest.mark.parametrize("mechanism", REAL[:3], ids=repr)
def test_each_sample_is_on_the_grid_that_it_asks_for(mechanism: Any) -> None:
    for grid in ("1/8", None, "1/1024", "1/8"):
        asked = Fraction(1, 2**20) if grid is None else Fraction(grid)
        drawn = mechanism.sample((20, 30), grid=grid)
        assert drawn.shape == (20, 30)
        assert coarsest(drawn) == asked
        assert 0.5 < np.abs(drawn).mean() < 2  # within nine deviations of the mean of each law
        assert Fraction(mechanism.sample(grid=grid)) / asked % 1 == 0


def test_a_staircase_is_drawn_for_the_sensitivity_of_each_release() -> None:
    """The mean size of the noise is about 0.97 sensitivities; the grid is the same in all of them."""
    open_to_any = Staircase(epsilon=1)
    for sensitivity in (1, 100, "0.125", 1):
        drawn = open_to_any.release(np.zeros(2000), sensitivity=sensitivity, grid="1/1024")
        assert np.abs(drawn).mean() / float(Fraction(sensitivity)) == pytest.approx(0.97, abs=0.25)


NEIGHBOURS = [
    (DiscreteLaplace(scale="1/50", sensitivity=3), 3),
    (DiscreteLaplace(epsilon=100, sensitivity=L1("2.5")), 2),
    (DiscreteGaussian(sigma="1/50", sensitivity=L0LInf(1, 4)), 4),
    (DiscreteStaircase(epsilon=60, sensitivity=5, r=1), 5),
    (Laplace(scale="1/1000", sensitivity="2.5"), 2.5),
    (Laplace(scale="1/1000", sensitivity=L1LInf(2, 5)), 2),
    (Logistic(scale="1/1000", sensitivity=L0LInf(1, 7)), 7),
    (Gaussian(sigma="1/1000", sensitivity=3), 3),
]


@pytest.mark.parametrize(("mechanism", "distance"), NEIGHBOURS, ids=repr)
def test_outputs_of_neighbours_are_the_sensitivity_apart(mechanism: Any, distance: float) -> None:
    """Next to no noise: a draw that is off by a half has a probability below e^-45."""
    one, other = mechanism.neighbouring_outputs(40)
    assert len(one) == len(other) == 40
    assert np.abs(one).max() < 0.5
    assert np.abs(other - distance).max() < 0.5


@pytest.mark.parametrize("bound", [L0LInf(2, 1), L1LInf(7, 3), L2(2)], ids=repr)
@pytest.mark.parametrize("kind", [Laplace, Logistic, DiscreteLaplace])
def test_no_one_pair_of_numbers_stands_for_a_vector(kind: Any, bound: object) -> None:
    with pytest.raises(ValueError, match=r"sensitivity \(.*\) is of vectors"):
        kind(scale=1, sensitivity=bound).neighbouring_outputs(3)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=100), DiscreteGaussian(sigma=100)], ids=repr)
def test_integers_that_do_not_fit_their_type_are_refused_unless_asked_for(mechanism: Any) -> None:
    values = np.full(400, 127, dtype=np.int8)
    with pytest.raises(OverflowError):
        mechanism.release(values)
    with pytest.raises(OverflowError):
        mechanism.release(values, overflow="raise")
    moved = mechanism.release(values, overflow="saturate")
    assert moved.dtype == np.int8
    assert 100 < (moved == 127).sum() < 300  # half of the noise is not negative
    assert moved.min() >= -128


def test_noise_beyond_floats_needs_a_grid() -> None:
    for scale, message in ((Fraction(2) ** 1000, "must be below"), (Fraction(10) ** 400, "is beyond floats")):
        with pytest.raises(ValueError, match=rf"scale \(.*\) {message}"):
            Laplace(scale=scale).release(0.0)
    assert default_grid(Fraction(2) ** 999) == Fraction(2) ** 979


def test_the_noise_is_of_the_stated_scale_where_epsilon_is_a_logarithm() -> None:
    """e^epsilon = 4 for a move by 1: a half of all draws lies within half a unit, 1 - 4^-1/2."""
    drawn = np.abs(Laplace(epsilon=Log(16), sensitivity=2).release(np.zeros(20_000)))
    assert (drawn <= 0.5).mean() == pytest.approx(0.5, abs=0.025)
