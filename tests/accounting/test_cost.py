"""Whole units: a cost is never rounded down, a budget never up, and what people write is not rounded at all."""

from __future__ import annotations

from fractions import Fraction

import pytest

from zcdp.accounting.filter import GRID, charge, charge_down, units

ODD = [Fraction(1, 101), Fraction(22, 7 * 103), Fraction(10**9 + 7, 10**9 + 9), Fraction(3, 127**2)]
WRITTEN = [Fraction(1, 3), Fraction("0.1"), Fraction(0.1), Fraction(1, 98), Fraction(7), Fraction("1e-900")]


@pytest.mark.parametrize("amount", ODD)
def test_what_is_no_multiple_is_rounded_away_from_harm(amount: Fraction) -> None:
    hair = Fraction(1, GRID)
    assert 0 < charge(amount) - amount < hair
    assert 0 < amount - charge_down(amount) < hair
    assert charge(amount) - charge_down(amount) == hair
    assert (charge(amount) * GRID).denominator == (charge_down(amount) * GRID).denominator == 1
    assert units(amount) == charge(amount) * GRID


@pytest.mark.parametrize("amount", WRITTEN)
def test_what_is_a_multiple_stays(amount: Fraction) -> None:
    assert charge(amount) == charge_down(amount) == amount == Fraction(units(amount), GRID)


@pytest.mark.parametrize("per_one", [1, 10, 97])
def test_units_are_the_least_number_that_pays(per_one: int) -> None:
    for amount in [*ODD, *WRITTEN, Fraction(0)]:
        found = units(amount, per_one)
        assert found >= amount * per_one > found - 1
