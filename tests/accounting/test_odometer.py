"""The bound for all times at once, at and around the powers of two at which it steps."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp import Gaussian, Odometer


@pytest.mark.parametrize(
    ("spent", "j"),
    [
        ("1/8", -3),
        ("1/7", -2),
        ("1/4", -2),
        ("0.9", 0),
        ("1", 0),
        ("1.0001", 1),
        ("2", 1),
        ("3", 2),
        ("4", 2),
        ("100", 7),
    ],
)
@pytest.mark.parametrize("delta", ["1e-2", "1e-6"])
def test_the_bound_is_that_of_the_least_power_of_two(spent: str, j: int, delta: str) -> None:
    """B + 2 sqrt(B log(1/d)) with B = 2^j, d = delta/(2.3 (1 + |j|)^2): docs/theorems/filter.md. Never below it."""
    odometer = Odometer()
    for share in ("1/4", "3/4"):
        odometer.spend(Gaussian(rho=Fraction(spent) * Fraction(share)))
    with mp.workdps(40):
        power = mpf(2) ** j
        bound = power + 2 * mp.sqrt(power * mp.log(mpf("2.3") * (1 + abs(j)) ** 2 / mpf(delta)))
        found = mpf(odometer.anytime_epsilon(delta=delta))
        assert bound <= found <= bound * (1 + mpf(10) ** -15)


def test_nothing_spent_costs_nothing() -> None:
    odometer = Odometer()
    assert (odometer.rho, odometer.epsilon_at(delta=1e-6), odometer.anytime_epsilon(delta=1e-6)) == (0, 0, 0)
    with pytest.raises(ValueError, match="nothing was spent yet"):
        odometer.plan  # noqa: B018
    with pytest.raises(ValueError, match="delta"):
        odometer.anytime_epsilon(delta=0)
