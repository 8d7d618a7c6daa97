"""Laws of every Renyi curve: order, bounds, limits and never NaN."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nextafter

import numpy as np
import pytest
from table import EVERYDAY_ROWS, ROWS

from zcdp import (
    Allocation,
    Channel,
    Gaussian,
    IntegerNoise,
    LossPair,
    Mechanism,
    MemoizedRAPPOR,
    PureGroup,
    Subsampled,
    TruncatedGeometric,
)

ORDERS = (1, 1 + 1e-12, 1.0001, 1.5, 2, 10, 1e3, 1e9, inf)


@pytest.mark.parametrize("m", ROWS, ids=repr)
def test_divergence_grows_from_kl_to_the_pure_epsilon(m: Mechanism) -> None:
    curve = [m.rdp(order) for order in ORDERS]
    assert curve == sorted(curve)
    assert not any(isnan(value) for value in curve)
    assert curve[-1] == m.pure_epsilon
    assert curve[0] > 0


@pytest.mark.parametrize("m", ROWS, ids=repr)
def test_rho_bounds_every_order_and_is_within_the_pure_epsilon(m: Mechanism) -> None:
    assert 0 <= m.rho <= m.pure_epsilon
    for order in ORDERS[:-1]:
        # both sides are rounded up, by one and two units in the last place
        assert m.rdp(order) <= nextafter(nextafter(nextafter(m.rho * float(order), inf), inf), inf)


@pytest.mark.parametrize("m", EVERYDAY_ROWS, ids=repr)
def test_a_float_an_integer_and_a_fraction_are_one_order(m: Mechanism) -> None:
    """The first two are answered in one attempt where that is enough."""
    for order in (2, 1.5, 1 + 2.0**-40, 17.25, 1e6 + 0.1):
        assert m.rdp(order) == m.rdp(Fraction(order)) == m.rdp(np.float64(order)) == m.rdp([order])[0]


SEARCHED = (Allocation, Channel, IntegerNoise, LossPair, MemoizedRAPPOR, Subsampled, TruncatedGeometric)


@pytest.mark.parametrize("m", [m for m in EVERYDAY_ROWS if m.is_tight and m.rho_order < inf], ids=repr)
def test_rho_is_attained_at_its_order(m: Mechanism) -> None:
    at_order = m.rdp(m.rho_order) / m.rho_order
    assert at_order == pytest.approx(m.rho, rel=2e-10 if isinstance(m, SEARCHED) else 1e-13)


@pytest.mark.parametrize("m", [m for m in ROWS if m.is_tight and not isinstance(m, SEARCHED)], ids=repr)
def test_bounds_are_neighbouring_floats_or_nearly_so(m: Mechanism) -> None:
    lower, upper = m.rho_bounds
    assert upper - lower <= 1e-15 * upper


@pytest.mark.parametrize("m", [m for m in EVERYDAY_ROWS if not m.is_tight], ids=repr)
def test_a_bound_that_is_not_tight_says_so_and_encloses(m: Mechanism) -> None:
    lower, upper = m.rho_bounds
    assert lower > 0 or isinstance(m, PureGroup)  # of which nothing is known from below
    assert 0 <= lower < upper == m.rho


def test_order_may_be_a_scalar_of_any_kind_or_an_array() -> None:
    m = EVERYDAY_ROWS[10]
    orders = [[1, 1.5], [2, inf]]
    values = m.rdp(np.array(orders))
    assert values.shape == (2, 2)
    assert values.dtype == np.float64
    assert values.tolist() == [[m.rdp(order) for order in row] for row in orders]
    assert np.array_equal(m.rdp(orders), values)
    assert m.rdp([]).shape == (0,)
    for same in (1.5, Fraction(3, 2), "1.5", "3/2", np.float32(1.5), np.array(1.5)):
        assert m.rdp(same) == m.rdp(1.5)
    assert isinstance(m.rdp(np.float64(1.5)), float)
    assert m.rdp("inf") == m.rdp(inf) == m.pure_epsilon


@pytest.mark.parametrize("order", [0.999, 0, -1, "0.5", -inf, float("nan"), "nan", "two"])
def test_an_order_below_one_or_no_number_is_refused(order: object) -> None:
    with pytest.raises(ValueError, match="order"):
        EVERYDAY_ROWS[0].rdp(order)
    with pytest.raises((ValueError, TypeError), match="order"):
        EVERYDAY_ROWS[0].rdp([2, order])


@pytest.mark.parametrize("order", [None, object(), True, 1j])
def test_an_order_of_the_wrong_type_is_refused(order: object) -> None:
    with pytest.raises(TypeError, match="order"):
        EVERYDAY_ROWS[0].rdp(order)


@pytest.mark.parametrize("sigma", ["0.1", 2, 100])
@pytest.mark.parametrize("rate", ["1e-9", "0.5"])
def test_what_is_hard_to_evaluate_at_an_order_is_bounded_by_rho(sigma: object, rate: str) -> None:
    m = Subsampled(Gaussian(sigma=sigma), rate=rate)
    for order in (1, 1000, 1e5, 1e9, "1e15"):
        for times in (1, 3):
            assert 0 < (times * m).rdp(order) <= times * m.rho * float(order) * (1 + 1e-12)
