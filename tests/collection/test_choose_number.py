"""Designs for the mean of a number: never worse than the published ones at the same budget, and certified."""

from __future__ import annotations

from fractions import Fraction

import pytest
from collection.published_designs import MEANS

from zcdp import HybridResponse, SquareWave
from zcdp.collection.choose_number import choose_number


@pytest.mark.parametrize("epsilon", ["1/2", 1, 2, 4, 8])
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


def test_a_mean_that_is_known_beforehand_has_its_own_error() -> None:
    worst = choose_number(low=0, high=10, clients=1000, epsilon=4).best
    middle = choose_number(low=0, high=10, clients=1000, epsilon=4, mean=5).best
    assert middle.standard_error < worst.standard_error
    with pytest.raises(ValueError, match=r"mean \(11\) must lie between low \(0\) and high \(10\)"):
        choose_number(low=0, high=10, clients=1000, epsilon=4, mean=11)
