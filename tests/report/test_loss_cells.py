"""The cells of the privacy loss hold what the law holds, infinite losses among it."""

from __future__ import annotations

from math import erf, exp, sqrt

import pytest

from zcdp import Gaussian, Laplace, LossPair, Plan, RandomizedResponse
from zcdp.report.loss_cells import cells_of_loss, points_of_profile


def between(cells: list[tuple[float, float, float]], low: float, high: float) -> float:
    return sum(mass for start, end, mass in cells if low <= (start + end) / 2 < high)


def test_gaussian_noise_has_a_normal_loss() -> None:
    """Of mean mu^2/2 and variance mu^2."""
    cells = cells_of_loss(1 * Gaussian(sigma=1), 6.0)
    assert sum(mass for _, _, mass in cells) == pytest.approx(1, abs=1e-3)
    for low, high in ((-3.0, -1.0), (-1.0, 1.0), (1.0, 3.0)):
        ends = [0.5 * (1 + erf((x - 0.5) / sqrt(2))) for x in (low, high)]
        assert between(cells, low, high) == pytest.approx(ends[1] - ends[0], abs=0.03)


def test_laplace_noise_has_half_of_its_mass_at_epsilon() -> None:
    plan = 1 * Laplace(epsilon=1)
    cells = cells_of_loss(plan, plan.epsilon_at(delta="1e-7"))
    assert cells[-1][2] == pytest.approx(0.5, abs=0.02)
    assert cells[0][2] == pytest.approx(exp(-1) / 2, abs=0.02)
    assert sum(mass for _, _, mass in cells) == pytest.approx(1, abs=0.02)


def test_a_single_report() -> None:
    plan = 1 * RandomizedResponse(epsilon=1, k=2)
    cells = cells_of_loss(plan, 0.999)
    assert cells[-1][2] == pytest.approx(exp(1) / (1 + exp(1)), abs=0.01)
    assert cells[0][2] == pytest.approx(1 / (1 + exp(1)), abs=0.01)


def test_outcomes_that_give_a_person_away_are_in_the_last_cell() -> None:
    pair = LossPair(p=["1/2", "1/2", 0], q=["1/2", 0, "1/2"])
    cells = cells_of_loss(Plan.sum_of(pair), 3.0)
    assert cells[-1][2] == pytest.approx(0.5, abs=0.01)


def test_points_are_certified() -> None:
    plan = 10 * Laplace(epsilon="0.3")
    for epsilon, delta in points_of_profile(plan, 2.0, 5):
        assert delta >= plan.delta_bounds(epsilon=epsilon)[0]
    assert cells_of_loss(plan, 0.0) == []
