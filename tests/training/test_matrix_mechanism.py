"""`MatrixMechanism`: one Gaussian pair, a plan of samples, what it is given, and adaptive gradients simulated."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import pytest

from zcdp import Gaussian, Laplace, Plan, RandomizedResponse, Subsampled, ZcdpError
from zcdp.training import (
    Cyclic,
    CyclicPoisson,
    MatrixMechanism,
    MinSeparated,
    Participation,
    Single,
    square_root_coefficients,
)


def root(bands: int, participation: Participation, noise: Any = 10, steps: int = 1024) -> MatrixMechanism:
    return MatrixMechanism(
        toeplitz=square_root_coefficients(bands), steps=steps, noise_multiplier=noise, participation=participation
    )


@pytest.mark.parametrize(
    ("bands", "participation", "sensitivity"),
    [
        (1024, Single(), 1.80902),
        (1024, Cyclic(128, 8), 7.57609),
        (1024, MinSeparated(128, 8), 7.57609),
        (128, MinSeparated(128, 8), 4.56955),
        (16, MinSeparated(128, 8), 3.94348),
    ],
)
def test_square_root_factorization(bands: int, participation: Participation, sensitivity: float) -> None:
    """With all bands the square root of 8 times the norm of a column, 5.117, would be far below the truth."""
    run = root(bands, participation)
    assert run.sensitivity == pytest.approx(sensitivity, abs=1e-5)
    assert run.is_exact
    assert run.rho == pytest.approx(sensitivity**2 / 200, rel=1e-5)


def test_it_is_one_gaussian() -> None:
    run = MatrixMechanism([[1, 0], ["1/2", 1]], noise_multiplier=2, participation=Cyclic(1, 2))
    assert run.squared_sensitivity == Fraction(13, 4)
    assert run == Plan.sum_of(Gaussian(sigma=2, sensitivity="sqrt(13/4)"))
    assert run.epsilon_at(delta="1e-6") == Gaussian(sigma=2, sensitivity="sqrt(13/4)").epsilon_at(delta="1e-6")
    assert Plan.from_json(run.to_json()) == run
    assert (run + Laplace(epsilon=1)).rho > run.rho
    again = pickle.loads(pickle.dumps(run))
    assert isinstance(again, MatrixMechanism)
    assert again == run


def test_independent_noise_is_so_many_steps() -> None:
    run = MatrixMechanism(toeplitz=[1], steps=100, noise_multiplier=3, participation=Cyclic(10, 10))
    known = 10 * Gaussian(sigma=3)
    assert run.epsilon_at(delta="1e-6") == pytest.approx(known.epsilon_at(delta="1e-6"), rel=1e-12)
    sampled = MatrixMechanism(toeplitz=[1], steps=100, noise_multiplier=3, participation=CyclicPoisson(1, "0.1"))
    assert sampled.epsilon_at(delta="1e-6") == (100 * Subsampled(Gaussian(sigma=3), rate="0.1")).epsilon_at(
        delta="1e-6"
    )


def test_bands_and_cyclic_samples_are_a_plan_of_samples() -> None:
    """Two diagonals, 1 and 1/2: the last column has one entry only."""
    run = MatrixMechanism(toeplitz=[1, "1/2"], steps=5, noise_multiplier=2, participation=CyclicPoisson(2, "0.1"))
    long, short = Gaussian(sigma=2, sensitivity="sqrt(5/4)"), Gaussian(sigma=2)
    assert run == 2 * Subsampled(long, rate="0.1") + Subsampled(short, rate="0.1")
    assert run.is_exact
    assert run.relation.value == "add_remove"
    other = MatrixMechanism(
        [[2, 0, 0], [0, 1, 0], [0, 0, 3]], noise_multiplier=2, participation=CyclicPoisson(2, "0.1")
    )
    assert other.is_exact
    mixed = MatrixMechanism(
        [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]],
        noise_multiplier=2,
        participation=CyclicPoisson(2, "0.1"),
    )
    assert not mixed.is_exact
    same = 2 * Subsampled(Gaussian(sigma=2, sensitivity=2), rate="0.1")
    assert mixed.epsilon_at(delta="1e-5") == same.epsilon_at(delta="1e-5")
    assert mixed.epsilon_bounds(delta="1e-5")[0] == 0
    assert mixed.delta_bounds(epsilon=1)[0] == 0
    assert not mixed.is_tight


def test_amplified_noise_costs_less() -> None:
    plain, sampled = root(16, Cyclic(16, 64), 4), root(16, CyclicPoisson(16, "0.1"), 4)
    assert plain.epsilon_at(delta="1e-6") == pytest.approx(16.56127, abs=1e-4)
    assert sampled.epsilon_at(delta="1e-6") == pytest.approx(1.34420, abs=1e-4)


def test_upper_bounds_are_called_so() -> None:
    run = MatrixMechanism([[1, 0], [-1, 1]], noise_multiplier=2, participation=Cyclic(1, 2))
    assert not run.is_exact
    assert run.rho_bounds == (0.0, run.rho)


@pytest.mark.parametrize(
    "make",
    [
        lambda run: run,
        lambda run: 3 * run,
        lambda run: run + Laplace(epsilon="1e-9"),
        lambda run: Subsampled(run, rate="1/2"),
        lambda run: pickle.loads(pickle.dumps(2 * run)),
    ],
)
def test_an_upper_bound_stays_one_in_every_plan(make: Any) -> None:
    """Of a step more that undoes the first an example moves less than the bound: no lower end may rest on it."""
    run = MatrixMechanism([[1, 0], [-1, 1]], noise_multiplier=2, participation=Cyclic(1, 2))
    plan = make(run)
    assert not plan.is_tight
    assert plan.rho_bounds[0] < 1e-15 < plan.rho
    assert plan.epsilon_bounds(delta="1e-6")[0] < 1e-8 < plan.epsilon_at(delta="1e-6")
    assert plan.delta_bounds(epsilon="0.1")[0] == 0 < plan.delta_at(epsilon="0.1")


def test_long_squares_are_rounded_up() -> None:
    run = root(1024, Single())
    coefficients = square_root_coefficients(1024)
    exact = sum((one**2 for one in coefficients), Fraction(0))
    assert exact < run.squared_sensitivity < exact * (1 + Fraction(1, 2**180))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give a matrix, or toeplitz and steps"),
        ({"matrix": [[1]], "toeplitz": [1], "steps": 1}, "give a matrix, or toeplitz and steps"),
        ({"toeplitz": [1]}, "give a matrix, or toeplitz and steps"),
        ({"matrix": [[1, 1], [0, 1]]}, "lower triangular, and row 0 uses a later step"),
        ({"matrix": [[1, 0]]}, "must be square"),
        ({"matrix": [[1, 0], [1, 0]]}, "column 1 has none"),
        ({"matrix": []}, "must be a list of rows"),
        ({"toeplitz": [0, 1], "steps": 3}, "main diagonal"),
        ({"toeplitz": [1, 1, 1], "steps": 9, "participation": CyclicPoisson(2, "0.1")}, "at most period .2. bands"),
        (
            {"toeplitz": [1], "steps": 9, "participation": Cyclic(2, 4)},
            "steps .9. must be at most period times times .8.",
        ),
        ({"matrix": [[1]], "participation": 3}, "participation .3. must be one"),
        ({"matrix": [[1]], "noise_multiplier": 0}, "noise_multiplier .0. must be positive"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        MatrixMechanism(**{"noise_multiplier": 1, "participation": Single(), **given})


def test_neighbours_are_those_of_its_theorem() -> None:
    """A replaced example moves twice as far: beside a part for replaced records it is refused, not counted too low."""
    run = MatrixMechanism(toeplitz=[1, "0.5"], steps=4, noise_multiplier=2, participation=Single())
    assert (2 * run + Gaussian(sigma=1)).relation.value == run.relation.value == "add_remove"
    with pytest.raises(ZcdpError, match="do not compose"):
        run + RandomizedResponse(epsilon=1, k=2)
    for base in (run, 2 * run, run + Gaussian(sigma=1)):
        with pytest.raises(ZcdpError, match="do not compose"):
            Subsampled(base, size=1, of=5)
