"""Designs for the mean of a number: never worse than the published ones at the same budget, and certified."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from collection.published_designs import LATER, MEANS

from zcdp import HybridResponse, SquareWave
from zcdp.collection.choose import compare, design_of
from zcdp.collection.choose_number import choose_number, compare_number
from zcdp.estimation.number_estimates import share_deviation, share_weights


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 3, 4, 8])
def test_no_published_mechanism_has_less_error_at_the_same_epsilon(epsilon: str | int) -> None:
    found = choose_number(low=-1, high=1, clients=10_000, epsilon=epsilon)
    published = [
        SquareWave.one_bit(epsilon=epsilon),
        SquareWave.piecewise(epsilon=epsilon, steps=256),
        SquareWave.of_densities(epsilon=epsilon, steps=256),
        HybridResponse.best(epsilon=epsilon, steps=256),
    ]
    for one in published:
        assert found.best.standard_error <= 1.0001 * one.standard_error(clients=10_000, low=-1, high=1)
    closed = [error(float(Fraction(epsilon))) / 100 for error in MEANS.values()]  # as the papers have them
    assert found.best.standard_error <= 1.0001 * min(closed)
    assert found.best.standard_error <= 1.02 * min(error(float(Fraction(epsilon))) / 100 for error in LATER.values())
    for design in found.designs:
        m = design.mechanism
        assert m.pure_epsilon <= Fraction(epsilon)
        told = m.standard_error(clients=10_000, low=-1, high=1)  # type: ignore[attr-defined]
        assert design.standard_error == pytest.approx(told, rel=1e-9)
        assert design.range == (-1, 1)


def test_budgets_of_rho_and_of_delta_hold_over_rounds() -> None:
    for given in ({"rho": "0.3"}, {"epsilon": 3, "delta": "1e-6"}):
        found = choose_number(low=0, high=120, clients=10**5, rounds=10, **given)
        for design in found.designs:
            if "rho" in given:
                assert design.plan.rho <= Fraction("0.3")
            else:
                assert design.plan.delta_at(epsilon=3) <= 1e-6
        assert found.best.standard_error < found.textbook.standard_error
    every = choose_number(low=0, high=120, clients=10**5, rounds=10, every_round=True, rho="0.3")
    assert {one.rounds for one in every.designs} == {10}
    assert choose_number(low=0, high=120, clients=10**5, rho="0.3", most_bytes=1).best.bytes == 1


def test_the_line_of_a_kind_is_that_of_its_best_member() -> None:
    """One bit and windows are one kind, and so are hybrids of all shares: the design lies on the line of its kind."""
    found = choose_number(low=0, high=1, clients=10**5, rounds=12, epsilon=3, delta="1e-6")
    kinds = {type(one.mechanism).__name__ for one in found.designs}
    assert kinds == set(found.over_rounds) == {"SquareWave", "HybridResponse"}
    for kind, line in found.over_rounds.items():
        best = min((one for one in found.designs if type(one.mechanism).__name__ == kind), key=lambda one: one.variance)
        assert dict(line)[best.rounds] == pytest.approx(best.standard_error, rel=1e-4)
        assert min(error for _, error in line) == dict(line)[best.rounds]


def test_a_mean_that_is_known_beforehand_has_its_own_error() -> None:
    worst = choose_number(low=0, high=10, clients=1000, epsilon=4).best
    middle = choose_number(low=0, high=10, clients=1000, epsilon=4, mean=5).best
    assert middle.standard_error < worst.standard_error
    with pytest.raises(ValueError, match=r"mean \(11\) must lie between low \(0\) and high \(10\)"):
        choose_number(low=0, high=10, clients=1000, epsilon=4, mean=11)


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4, 8])
@pytest.mark.parametrize("steps", [8, 32, 64])
def test_quantiles_have_at_most_the_error_of_the_published_widths(epsilon: str | int, steps: int) -> None:
    """Beside the square wave of Li et al. (2020), the piecewise mechanism and randomized response on the grid."""
    found = choose_number(low=0, high=1, clients=10_000, epsilon=epsilon, quantiles=True, steps=steps)
    assert {one.mechanism.steps for one in found.designs} == {steps}  # type: ignore[attr-defined]
    for one in (
        SquareWave.of_densities(epsilon=epsilon, steps=steps),
        SquareWave.piecewise(epsilon=epsilon, steps=steps),
        SquareWave(epsilon=epsilon, steps=steps, width=1),
    ):
        rows = np.array([[float(p) for p in one._row(i)] for i in range(steps + 1)])
        assert found.best.standard_error <= 1.0001 * share_deviation(rows) / 100
    assert found.best.mechanism.pure_epsilon <= Fraction(epsilon)
    assert (found.best.told, found.best.quantiles, found.best.range) == ("the share below a number", True, (0, 1))


def test_the_error_of_a_share_is_as_told() -> None:
    """The standard deviation over 2000 collections of the share below the worst grid point, known to 1.6 per cent."""
    n, steps = 200, 4
    best = choose_number(low=0, high=4, clients=n, epsilon=2, quantiles=True, steps=steps).best
    m: Any = best.mechanism
    weights = share_weights(np.array([[float(p) for p in m._row(i)] for i in range(steps + 1)]))
    numbers = np.random.default_rng(4).integers(0, steps + 1, 2000 * n)
    found = weights[:, m.release(numbers, low=0, high=4).reshape(2000, n)].mean(axis=2)
    assert found.mean(axis=1) == pytest.approx(np.arange(1, steps + 1) / (steps + 1), abs=0.02)
    assert found.std(axis=1).max() == pytest.approx(best.standard_error, rel=0.08)


def test_quantiles_ask_for_a_coarse_grid_and_no_mean() -> None:
    ask: dict[str, Any] = {"low": 0, "high": 1, "clients": 100, "epsilon": 1}
    for wrong in ({"steps": 65}, {"mean": "1/2"}):
        with pytest.raises(ValueError, match="quantiles are of at most 64 steps, and not of a mean"):
            choose_number(quantiles=True, **ask, **wrong)
    assert choose_number(quantiles=True, **ask).best.k == 33
    assert choose_number(**ask, steps=10).best.k in (2, 11)
    over = choose_number(quantiles=True, rounds=12, low=0, high=1, clients=10**5, rho="0.5")
    assert over.best.plan.rho <= Fraction("0.5")
    assert over.best.standard_error < over.textbook.standard_error


def test_designs_for_a_number_are_compared_in_its_units() -> None:
    made = design_of(
        SquareWave.piecewise(epsilon=2), 257, rounds=1, answered=1, clients=100, range=(Fraction(0), Fraction(120))
    )
    assert made.standard_error == pytest.approx(SquareWave.piecewise(epsilon=2).standard_error(clients=100, high=120))
    beside = compare_number(made, epsilon=2)
    assert beside.best.standard_error < made.standard_error < 1.2 * beside.best.standard_error
    with pytest.raises(ValueError, match="is compared by compare_number"):
        compare(made, epsilon=2)
