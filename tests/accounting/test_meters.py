"""What a filter says of itself: budget, spent and remaining of the best order, in both orders of the neighbours."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp import Filter, Gaussian, LossPair, Subsampled
from zcdp.accounting.filter import RhoMeter

F = Fraction
P, Q = [F(9, 10), F(1, 10)], [F(3, 5), F(2, 5)]
R, S = [F(1, 5), F(4, 5)], [F(1, 20), F(19, 20)]


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def divergence(p: list[Fraction], q: list[Fraction], order: Fraction) -> mpf:
    a = real(order)
    return mp.log(mp.fsum(real(x) ** a * real(y) ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


def budget(epsilon: int, delta: Fraction, order: Fraction) -> mpf:
    """Theorem: docs/theorems/renyi-filter.md."""
    a = real(order)
    return epsilon + (mp.log(real(delta)) + mp.log(a)) / (a - 1) - mp.log(1 - 1 / a)


@pytest.mark.parametrize("spends", [[], [(P, Q)], [(Q, P)], [(P, Q), (P, Q), (R, S)], [(P, Q), (S, R), (S, R), (S, R)]])
def test_what_is_spent_is_the_larger_of_both_sums(spends: list[tuple[list[Fraction], list[Fraction]]]) -> None:
    """With the person against without, and the other way round: each is added up by itself."""
    order = F(5, 2)
    asked = Filter(epsilon=20, delta="1e-6", order=order)
    for p, q in spends:
        asked.spend(LossPair(p=p, q=q, ordered=True))
    one = mp.fsum(divergence(p, q, order) for p, q in spends)
    other = mp.fsum(divergence(q, p, order) for p, q in spends)
    spent, whole = max(one, other), budget(20, F(1, 10**6), order)
    assert 0 <= real(asked.spent) - spent <= mpf(10) ** -12
    assert 0 <= whole - real(asked.budget) <= mpf(10) ** -12
    assert asked.remaining == asked.budget - asked.spent
    assert len(asked.history) == len(spends)


@pytest.mark.parametrize("uses", [1, 40, 60])
@pytest.mark.parametrize("orders", [(3, 30), (30, 3), (4, 9, 20)])
def test_what_is_left_is_that_of_the_order_with_the_largest_share(uses: int, orders: tuple[int, ...]) -> None:
    """Gaussian noise of sigma 5 costs order/50 at every order; delta is split among the orders."""
    asked = Filter(epsilon=20, delta="1e-6", orders=orders)
    asked.spend(uses * Gaussian(sigma=5))
    budgets = {a: budget(20, F(1, 10**6) / len(orders), F(a)) for a in orders}
    best = max(orders, key=lambda a: 1 - mpf(uses * a) / 50 / budgets[a])
    assert asked.orders == orders
    assert float(asked.budget) == pytest.approx(float(budgets[best]), rel=1e-12)
    assert float(asked.spent) == pytest.approx(uses * best / 50, rel=1e-12)
    assert asked.remaining == asked.budget - asked.spent > 0


def test_a_rho_costs_its_order_times_as_much_and_no_mechanism_less_than_it_spends() -> None:
    for order in (F(3), F(30)):
        asked = Filter(epsilon=20, delta="1e-6", order=order)
        asked.spend(rho="0.01", label="first")
        assert asked.spent == order / 100
        asked.spend(Gaussian(rho="0.01"))
        assert asked.spent == order / 50
        assert asked.history == ((F(1, 100), "first"), (Gaussian(rho="0.01"), None))


def test_whether_something_would_fit_is_not_told_for_other_neighbours() -> None:
    poisson, fixed = Subsampled(Gaussian(sigma=9), rate="0.01"), Subsampled(Gaussian(sigma=9), size=1, of=100)
    for first, second in ((poisson, fixed), (fixed, poisson)):
        asked = Filter(rho=1)
        asked.spend(first)
        assert asked.would_fit(first)
        with pytest.raises(ValueError, match="do not compose"):
            asked.would_fit(second)
        with pytest.raises(ValueError, match="do not compose"):
            asked.spend(second)
        assert len(asked.history) == 1


def test_an_order_that_leaves_nothing_has_no_budget() -> None:
    """epsilon 1 at delta 1e-6: log(1e6) = 13.8 is more than order - 1 until about 15."""
    with pytest.raises(ValueError, match="leaves nothing of epsilon"):
        Filter(epsilon=1, delta="1e-6", order=5)
    with pytest.raises(ValueError, match=r"order \(1\) must be above 1"):
        Filter(epsilon=1, delta="1e-6", order=1)
    assert Filter(epsilon=1, delta="1e-6", order=30).budget > 0


@pytest.mark.parametrize("way", [0, 1])
def test_a_meter_that_cannot_pay_for_what_another_admitted_has_nothing_left(way: int) -> None:
    """A loss without end in one order of the neighbours: nothing fits again, not even what is free."""
    meter = RhoMeter(F(1, 3))
    meter.add((5, 7))
    assert meter.spent == F(7, meter._per_one)
    meter.add((None, 0) if way == 0 else (0, None))
    assert not meter.fits((0, 0))
    assert meter.spent > meter.budget == F(1, 3)
    assert meter.remaining == 0
    assert meter.over((1, 1))[1] == 0
    fresh = RhoMeter(F(1, 3))
    assert fresh.fits((fresh._limit, fresh._limit))
    assert not fresh.fits((fresh._limit, fresh._limit + 1) if way else (fresh._limit + 1, fresh._limit))
    assert not fresh.fits((None, 0) if way == 0 else (0, None))
