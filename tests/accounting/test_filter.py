"""The filter: exact sums, no overspending, not even between threads; in (epsilon, delta) at every order."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from math import e, exp, inf, log
from random import Random
from time import sleep
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from zcdp import (
    BudgetExceeded,
    Channel,
    ExponentialMechanism,
    Filter,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Mechanism,
    Odometer,
    PureDP,
    RandomizedResponse,
    Subsampled,
)
from zcdp.accounting.filter import GRID, RhoMeter, charge, charge_down, units
from zcdp.privacy.curve import Curve
from zcdp.privacy.envelope import rdp_each_way


@pytest.mark.parametrize("tenth", ["0.1", Fraction(1, 10)])
def test_ten_tenths_fit_exactly_and_nothing_more(tenth: object) -> None:
    f = Filter(rho=1)
    for _ in range(10):
        f.spend(rho=tenth)
    assert f.remaining == 0
    assert not f.would_fit(rho=1e-100)  # the least that is spent
    with pytest.raises(BudgetExceeded, match="nothing was spent"):
        f.spend(rho="1e-100")
    assert f.spent == 1


def test_a_unit_above_the_budget_is_refused() -> None:
    """No unit is a multiple of 1/101: both parts of the budget are rounded up, and are one unit more than all of it."""
    f = Filter(rho=1)
    f.spend(rho=Fraction(1, 101))
    with pytest.raises(BudgetExceeded):
        f.spend(rho=Fraction(100, 101))


def test_a_hair_above_the_budget_is_refused() -> None:
    f = Filter(rho=1)
    with pytest.raises(BudgetExceeded):
        f.spend(rho=1.0000000000000002)
    f.spend(rho=1.0)
    assert f.remaining == 0


def test_ten_float_tenths_exceed_one() -> None:
    """0.1 the float is more than a tenth: the filter sees it."""
    f = Filter(rho=1)
    for _ in range(9):
        f.spend(rho=0.1)
    assert not f.would_fit(rho=0.1)


@settings(deadline=None, max_examples=200)
@given(st.decimals("0.001", 5, places=40), st.lists(st.decimals("0.000001", 2, places=60), min_size=1, max_size=30))
def test_admits_all_that_fits_and_only_that(budget: Decimal, requests: list[Decimal]) -> None:
    f, total = Filter(rho=budget), Fraction(0)
    for request in requests:
        fits = total + Fraction(request) <= Fraction(budget)
        assert f.would_fit(rho=request) == fits
        if fits:
            f.spend(rho=request)
            total += Fraction(request)
        else:
            with pytest.raises(BudgetExceeded):
                f.spend(rho=request)
        assert f.spent == total
        assert f.remaining == Fraction(budget) - total >= 0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.fractions(Fraction(1, 10**6), 2), min_size=1, max_size=30))
def test_any_fraction_is_charged_from_above_by_less_than_a_hair(requests: list[Fraction]) -> None:
    f = Filter(rho=100)
    for request in requests:
        f.spend(rho=request)
    assert 0 <= f.spent - sum(requests) < len(requests) * Fraction(1, 10**1000)


def test_sums_of_random_denominators_stay_short() -> None:
    """The exact sum of these has a denominator of a million digits, and to add them takes minutes."""
    f, o, draw = Filter(rho=1000), Odometer(), Random(7)
    costs = [Fraction(draw.getrandbits(13000) | 1, draw.getrandbits(13000) | 1 << 12999) for _ in range(200)]
    for cost in costs:
        f.spend(rho=cost)
        o.spend(Gaussian(rho=cost))
    assert f.spent.denominator.bit_length() < 4000
    assert abs(float(f.spent) - sum(map(float, costs))) < 1e-9
    assert o.anytime_epsilon(delta=1e-6) < inf


@pytest.mark.parametrize("budget", ["1/3", "1/97", "0.3", Fraction(7, 10**9 + 7)])
def test_a_budget_fits_itself(budget: object) -> None:
    f = Filter(rho=budget)
    f.spend(rho=budget)
    assert f.remaining == 0
    assert not f.would_fit(rho="1e-100")


def test_a_plan_costs_no_more_than_its_parts() -> None:
    assert Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1"))
    assert not Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1") + Gaussian(rho="1e-50"))
    f = Filter(rho="0.5")
    f.spend(9 * Gaussian(sigma=3))
    assert f.remaining == 0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(1e-6, 3), min_size=1, max_size=20))
def test_mechanisms_are_charged_at_least_their_rho(epsilons: list[float]) -> None:
    """rho of Laplace noise is e - 1 + exp(-e), here by its series in rationals."""
    f, truth = Filter(rho=1000), Fraction(0)
    for epsilon in epsilons:
        f.spend(Laplace(epsilon=epsilon))
        e, term = Fraction(epsilon), Fraction(1)
        for n in range(1, 60):
            term = -term * e / n
            truth += term if n > 1 else 0
    assert truth <= f.spent <= truth * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("make", [lambda: Filter(rho=1), lambda: Filter(epsilon=9, delta="1e-6"), Odometer])
def test_mechanisms_for_two_kinds_of_neighbours_are_not_added_up(make: Callable[[], Filter | Odometer]) -> None:
    """Whichever comes first says what the budget is about; what is stated for either goes with both."""
    poisson, fixed = Subsampled(Gaussian(sigma=9), rate="0.01"), Subsampled(Gaussian(sigma=9), size=1, of=100)
    for first, second in ((poisson, fixed), (fixed, poisson)):
        budget = make()
        budget.spend(Laplace(epsilon="0.01") + first)
        before = repr(budget)
        for other in (second, Laplace(epsilon="0.01") + second):
            with pytest.raises(ValueError, match="do not compose"):
                budget.spend(other)
        assert repr(budget) == before
        budget.spend(Laplace(epsilon="0.01"))
        budget.spend(first)


@pytest.mark.parametrize("make", [lambda: Filter(rho=1), Odometer], ids=["filter", "odometer"])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_there_is_no_second_budget(make: Callable[[], Filter | Odometer], again: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="share the"):
        again(make())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_no_budget_of_its_own() -> None:
    f = Filter(rho=1)
    child = os.fork()
    if not child:
        refused = False
        try:
            f.spend(rho="0.1")
        except BudgetExceeded:
            refused = True
        os._exit(0 if refused and not f.would_fit(rho="0.1") else 1)
    assert os.waitpid(child, 0)[1] == 0
    f.spend(rho=1)


def test_an_infinite_cost_fits_no_budget() -> None:
    f = Filter(rho="1e9")
    assert repr(f) == "<Filter: 0 of rho = 1e+09 spent>"
    with pytest.raises(BudgetExceeded, match=r"rho \(2000000000\) exceeds"):
        f.spend(rho="2e9")
    with pytest.raises(BudgetExceeded, match=r"rho \(inf\) exceeds"):
        f.spend(Channel([[1, 0], ["0.5", "0.5"]]))
    assert not f.would_fit(Channel([[1, 0], ["0.5", "0.5"]]))
    assert f.spent == 0


def at_every_line(frame: FrameType, event: str, argument: object) -> object:
    """Give way to the other threads before each line of the filter, and of the sum of plans."""
    if frame.f_code.co_filename.endswith(("filter.py", "odometer.py", "plan.py")):
        sleep(0)
        return at_every_line
    return None


@pytest.fixture
def giving_way() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threading.settrace(at_every_line)
    yield
    threading.settrace(None)  # type: ignore[arg-type]
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("giving_way")
def test_threads_do_not_overspend() -> None:
    f = Filter(rho=1)

    def spend(_: int) -> int:
        admitted = 0
        for _ in range(40):
            try:
                f.spend(rho="0.01")
                admitted += 1
            except BudgetExceeded:
                pass
        return admitted

    with ThreadPoolExecutor(8) as pool:
        admitted = sum(pool.map(spend, range(8)))
    assert admitted == 100
    assert f.remaining == 0


@pytest.mark.usefixtures("giving_way")
def test_threads_do_not_lose_what_was_spent() -> None:
    o, one = Odometer(), Gaussian(rho="0.01")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [o.spend(one) for _ in range(40)], range(8)))
    assert o.plan == 320 * one
    assert repr(o) == "<Odometer: rho = 3.2 spent>"


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"rho \(0\) must be positive"):
        Filter(rho=0)
    f = Filter(rho=1)
    with pytest.raises(TypeError, match="give a mechanism, or rho"):
        f.spend()
    with pytest.raises(TypeError, match="give a mechanism, or rho"):
        f.spend(Laplace(epsilon=1), rho=1)
    with pytest.raises(TypeError, match=r"rho=0\.1"):
        f.spend(0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        f.spend(rho=-1)
    assert f.spent == 0


# Whole units: a cost is never rounded down, a budget never up, and what people write is not rounded at all.


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


# What a filter says of itself: budget, spent and remaining of the best order, in both orders of the neighbours.


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


# Filters of several orders and mixed mechanisms, against sums kept by hand; counts inside the text of a plan.


Cost = tuple[mpf, mpf]
"""With the person against without, and the other way round."""


def exact_divergence(p: list[Fraction], q: list[Fraction], order: Fraction) -> mpf:
    """log of the sum of p^a q^{1-a}, over a - 1."""
    a = real(order)
    return mp.log(mp.fsum(real(x) ** a * real(y) ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


def response(order: Fraction) -> Cost:
    """One of five values, at epsilon log 3."""
    p, q = [F(3, 7), F(1, 7), F(3, 7)], [F(1, 7), F(3, 7), F(3, 7)]
    return (exact_divergence(p, q, order),) * 2


def laplace(order: Fraction) -> Cost:
    """At epsilon 1/2: a/(2a-1) e^{(a-1) epsilon} + (a-1)/(2a-1) e^{-a epsilon}."""
    a, e = real(order), mpf(1) / 2
    return (mp.log((a * mp.exp((a - 1) * e) + (a - 1) * mp.exp(-a * e)) / (2 * a - 1)) / (a - 1),) * 2


ONE, OTHER = ([F(9, 10), F(1, 10)], [F(3, 5), F(2, 5)]), ([F(1, 5), F(4, 5)], [F(1, 20), F(19, 20)])
KINDS: list[tuple[Curve | Fraction, object]] = [
    (RandomizedResponse(epsilon="log(3)", k=5), response),
    (Laplace(epsilon="1/2"), laplace),
    (Gaussian(sigma=3), lambda order: (real(order) / 18,) * 2),
    (F(1, 50), lambda order: (real(order) / 50,) * 2),
    (2 * Gaussian(sigma=4) + Laplace(epsilon="1/2"), lambda order: (real(order) / 16 + laplace(order)[0],) * 2),
]
ORDERED: list[tuple[Curve | Fraction, object]] = [
    (
        LossPair(p=p, q=q, ordered=True),
        lambda order, p=p, q=q: (exact_divergence(p, q, order), exact_divergence(q, p, order)),
    )
    for p, q in (ONE, OTHER)
]


ORDERED.append(
    (
        2 * ORDERED[0][0] + 3 * ORDERED[1][0],
        lambda order: tuple(2 * a + 3 * b for a, b in zip(*(cost(order) for _, cost in ORDERED[:2]), strict=True)),
    )
)


class ByHand:
    """One sum for each order and each way; delta is split among the orders."""

    def __init__(self, epsilon: Fraction, delta: Fraction, orders: list[Fraction]) -> None:
        self.orders, share = orders, real(delta) / len(orders)
        self.budgets = [
            real(epsilon) + (mp.log(share) + mp.log(real(a))) / (real(a) - 1) - mp.log(1 - 1 / real(a)) for a in orders
        ]
        self.sums = [[mpf(0), mpf(0)] for _ in orders]

    def room(self, costs: list[Cost]) -> mpf:
        """What is left after them, in the order and the way that leave most; negative where nothing admits them."""
        return max(
            min(budget - used - cost for used, cost in zip(sums, each, strict=True))
            for budget, sums, each in zip(self.budgets, self.sums, costs, strict=True)
        )

    def add(self, costs: list[Cost]) -> None:
        for sums, each in zip(self.sums, costs, strict=True):
            sums[:] = [used + cost for used, cost in zip(sums, each, strict=True)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("orders", [("5/2",), ("3", "7"), ("5/2", "6", "15", "40")], ids=len)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_spend_is_admitted_while_some_order_has_room_and_charged_at_all_of_them(
    seed: int, orders: tuple[str, ...], ordered: bool
) -> None:
    random, kinds = Random(seed), KINDS[1:] + ORDERED if ordered else KINDS  # responses are for replaced values
    epsilon, delta = F(random.randint(8, 12)), F(1, 10 ** random.randint(3, 4))
    whole = [F(order) for order in orders]
    found, by_hand = Filter(epsilon=epsilon, delta=delta, orders=list(orders)), ByHand(epsilon, delta, whole)
    admitted = refused = 0
    weights = [random.random() for _ in kinds]
    for _ in range(400):
        what, cost = random.choices(kinds, weights)[0]
        costs = [cost(order) for order in whole]
        room = by_hand.room(costs)
        if abs(room) < 1e-9:
            continue
        spent = {"rho": what} if isinstance(what, Fraction) else {"mechanism": what}
        assert found.would_fit(**spent) == (room > 0)
        if room > 0:
            found.spend(**spent)
            by_hand.add(costs)
            admitted += 1
        else:
            with pytest.raises(BudgetExceeded):
                found.spend(**spent)
            refused += 1
        if refused > 12:
            break
    assert admitted > 5
    assert refused > 5
    assert len(found.history) == admitted
    for order, budget, sums in zip(whole, by_hand.budgets, by_hand.sums, strict=True):
        meter = next(one for one in found._meters if one.order == order)
        assert real(meter.spent) == pytest.approx(max(sums), rel=1e-12)
        assert real(meter.budget) == pytest.approx(budget, rel=1e-12)


def test_what_one_order_admits_is_charged_at_the_others_too() -> None:
    """Gaussian noise fits at the small order alone; what it cost at the large one is gone there."""
    both = Filter(epsilon=6, delta="1e-3", orders=[3, 60])
    for _ in range(4):
        both.spend(Gaussian(sigma=2))
    large = next(meter for meter in both._meters if meter.order == 60)
    assert large.spent >= 4 * F(60, 8)
    assert large.remaining == 0
    assert not large.fits(large.price(Laplace(epsilon="1/1000")))


# The filter in (epsilon, delta): against the exact best of all adaptive adversaries, and what it admits.


RR = RandomizedResponse(epsilon=1, k=1000)


def test_orders_that_leave_nothing_have_no_share() -> None:
    """At epsilon = 1 and delta = 1e-6 orders 2 and 3 leave nothing: what is left is what order 40 has alone."""
    mixed, alone = Filter(epsilon=1, delta="1e-6", orders=[2, 40, 3]), Filter(epsilon=1, delta="1e-6", order=40)
    assert mixed.orders == (40,)
    assert mixed.budget == alone.budget
    both = Filter(epsilon=1, delta="1e-6", orders=[40, 60])
    assert both.orders == (40, 60)
    with pytest.raises(ValueError, match=r"order \(3\) leaves nothing of epsilon = 1 at delta = 1e-06"):
        Filter(epsilon=1, delta="1e-6", orders=[2, 3])
    with pytest.raises(ValueError, match=r"order \(1\) must be above 1"):
        Filter(epsilon=1, delta="1e-6", orders=[1, 40])


def test_one_of_two_orders_may_have_all_of_delta_where_neither_has_enough_with_half() -> None:
    """Order 2 leaves 1 + log(4 delta) of epsilon = 1: nothing of it at 0.05, and 0.0837 at 0.1."""
    one = Filter(epsilon=1, delta="0.1", orders=[2, "2.001"])
    assert len(one.orders) == 1
    assert float(one.budget) == pytest.approx(1 + log(0.4), abs=1e-2)


def admitted(f: Filter, m: object, most: int = 2000) -> int:
    for n in range(most):
        try:
            f.spend(m)
        except BudgetExceeded:
            return n
    return most


def test_a_thousand_answers() -> None:
    """The rho that gives (10, 1e-6) is 1.5392, and 39 answers at 0.0390747 fill it."""
    assert admitted(Filter(epsilon=10, delta="1e-6", workload=RR), RR) == 496
    assert admitted(Filter(epsilon=10, delta="1e-6"), RR) >= 340
    assert admitted(Filter(epsilon=10, delta="1e-6", order=40), RR) == 11
    assert admitted(Filter(rho="1.5392"), RR) == 39


def worst(epsilon: float, moves: list[tuple[list[tuple[float, float]], int]], room: object) -> float:
    """max over adaptive strategies of the sum of (p - e^epsilon q)_+, exactly.

    A move is the probabilities of its outcomes under both neighbours, and the number of the mechanism it charges for.
    Only counts matter: how often each outcome of each move was seen says p, q and what was charged.
    """

    @cache
    def value(seen: tuple[tuple[int, ...], ...]) -> float:
        p = q = 1.0
        charged = [0] * (1 + max(kind for _, kind in moves))
        for (outcomes, kind), counts in zip(moves, seen, strict=True):
            for (one, other), n in zip(outcomes, counts, strict=True):
                p, q = p * one**n, q * other**n
                charged[kind] += n
        best = max(p - exp(epsilon) * q, 0.0)
        for i, (outcomes, kind) in enumerate(moves):
            if not room(tuple(charged), kind):
                continue
            total = 0.0
            for k in range(len(outcomes)):
                after = tuple(n + (j == k) for j, n in enumerate(seen[i]))
                total += value((*seen[:i], after, *seen[i + 1 :]))
            best = max(best, total)
        return best

    return value(tuple((0,) * len(outcomes) for outcomes, _ in moves))


def room_in(make: object, mechanisms: list[object]) -> object:
    """Whether the filter, after so many spends of each, admits one more."""

    @cache
    def room(charged: tuple[int, ...], kind: int) -> bool:
        f = make()
        for m, n in zip(mechanisms, charged, strict=True):
            for _ in range(n):
                for meter in f._meters:
                    meter.add(meter.price(m))
        return f.would_fit(mechanisms[kind])

    return room


def binary(one: str, other: str) -> tuple[LossPair, list[tuple[float, float]]]:
    """Outcome 0 with probability `one` under one neighbour, `other` under the other."""
    p, q = Fraction(one), Fraction(other)
    outcomes = [(float(p), float(q)), (float(1 - p), float(1 - q))]
    return LossPair(p=[p, 1 - p], q=[q, 1 - q]), outcomes


def mirrored(outcomes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(q, p) for p, q in outcomes]


PAIRS = [("0.6", "0.4"), ("0.75", "0.25"), ("0.9", "0.8"), ("0.3", "0.1"), ("0.55", "0.5"), ("0.99", "0.9")]


@settings(deadline=None, max_examples=12)
@given(
    chosen=st.lists(st.sampled_from(PAIRS), min_size=2, max_size=2, unique=True),
    epsilon=st.sampled_from(["0.4", "0.8", "1.5"]),
    delta=st.sampled_from(["0.02", "0.1"]),
    orders=st.sampled_from([("order", 8), ("order", 20), ("orders", (6, 12, 30)), ("workload", 0)]),
)
def test_no_adaptive_adversary_gets_more_than_delta(
    chosen: list[tuple[str, str]], epsilon: str, delta: str, orders: tuple[str, object]
) -> None:
    """Each pair may be played in either direction, and the choice depends on everything seen."""
    made = [binary(*one) for one in chosen]
    mechanisms = [m for m, _ in made]
    way = {orders[0]: mechanisms[0] if orders[0] == "workload" else orders[1]}
    try:
        Filter(epsilon=epsilon, delta=delta, **way)
    except ValueError:  # an order that leaves nothing
        return
    room = room_in(lambda: Filter(epsilon=epsilon, delta=delta, **way), mechanisms)
    moves = [(side, kind) for kind, (_, outcomes) in enumerate(made) for side in (outcomes, mirrored(outcomes))]
    limited = cap(room, 7)
    assert worst(float(epsilon), moves, limited) <= float(delta)


def cap(room: object, most: int) -> object:
    return lambda charged, kind: sum(charged) < most and room(charged, kind)


def test_an_adversary_does_find_a_filter_that_is_too_generous() -> None:
    """Four times the budget is overspent: the test above can fail."""
    m, outcomes = binary("0.75", "0.25")

    def make() -> Filter:
        f = Filter(epsilon="0.8", delta="0.02", order=8)
        for meter in f._meters:
            meter._limit *= 6
        return f

    moves = [(outcomes, 0), (mirrored(outcomes), 0)]
    assert worst(0.8, moves, cap(room_in(make, [m]), 12)) > 0.02


def ordered(one: str, other: str) -> tuple[LossPair, list[tuple[float, float]]]:
    """The same, `one` always with the person."""
    m, outcomes = binary(one, other)
    return LossPair(p=m.p, q=m.q, ordered=True), outcomes


@settings(deadline=None, max_examples=12)
@given(
    chosen=st.sampled_from(
        [
            (("0.3", "0.1"), ("0.1", "0.3")),  # one costs more with the person, the other without
            (("0.99", "0.9"), ("0.3", "0.1")),
            (("0.05", "0.2"), ("0.9", "0.8")),
        ]
    ),
    epsilon=st.sampled_from(["0.4", "0.8"]),
    delta=st.sampled_from(["0.02", "0.1"]),
    orders=st.sampled_from([("order", 8), ("order", 20), ("orders", (6, 12, 30)), ("workload", 0)]),
)
def test_no_ordered_adversary_gets_more_than_delta(
    chosen: tuple[tuple[str, str], ...], epsilon: str, delta: str, orders: tuple[str, object]
) -> None:
    """All pairs face the way that the neighbours do, and either way; one that may face both ways is among them."""
    made = [ordered(*one) for one in chosen]
    either, both = binary("0.6", "0.4")
    mechanisms = [*(m for m, _ in made), either]
    way = {orders[0]: mechanisms[0] if orders[0] == "workload" else orders[1]}
    try:
        Filter(epsilon=epsilon, delta=delta, **way)
    except ValueError:  # an order that leaves nothing
        return
    room = cap(room_in(lambda: Filter(epsilon=epsilon, delta=delta, **way), mechanisms), 6)
    for turned in (False, True):
        moves = [(mirrored(outcomes) if turned else outcomes, kind) for kind, (_, outcomes) in enumerate(made)]
        moves += [(both, len(made)), (mirrored(both), len(made))]
        assert worst(float(epsilon), moves, room) <= float(delta)


def test_ordered_costs_are_those_of_the_pair_by_hand() -> None:
    """D_3 of (.3, .7) against (.1, .9) and back; what may face either way costs the larger in both."""
    there, back = (
        log(sum(p**3 / q**2 for p, q in pair)) / 2 for pair in ([(0.3, 0.1), (0.7, 0.9)], [(0.1, 0.3), (0.9, 0.7)])
    )
    one, other, either = ordered("0.3", "0.1")[0], ordered("0.1", "0.3")[0], binary("0.3", "0.1")[0]
    [meter] = Filter(epsilon=20, delta="1e-3", order=3)._meters
    for m, expected in ((one, (there, back)), (other, (back, there)), (either, (there, there)), (one + other, None)):
        costs = [float(cost) for cost in meter.costs(m)]
        assert costs == pytest.approx(expected or (there + back, there + back), rel=1e-13)
        assert all(float(Fraction(x, meter._per_one)) >= y for x, y in zip(meter.price(m), costs, strict=True))
    f = Filter(epsilon=20, delta="1e-3", order=3)
    f.spend(one)
    assert float(f.spent) == pytest.approx(there)
    f.spend(other)
    assert float(f.spent) == pytest.approx(there + back)  # not twice the larger


def test_pairs_that_cost_most_in_different_orders_are_admitted_tightly() -> None:
    """Spent in turn they cost the mean of both orders: as many as that says, and more than twice the larger would."""
    one, other = ordered("0.3", "0.1")[0], ordered("0.1", "0.3")[0]
    f = Filter(epsilon=20, delta="1e-3", order=3)
    there, back = f._meters[0].costs(one)
    turns = 0
    while f.would_fit((one, other)[turns % 2]):
        f.spend((one, other)[turns % 2])
        turns += 1
    full = f.budget // (there + back)
    assert turns in (2 * full, 2 * full + 1)
    assert turns > f.budget // max(there, back)
    with pytest.raises(BudgetExceeded, match="divergence of order 3"):
        f.spend((one, other)[turns % 2])


def test_sampled_noise_is_charged_in_each_order() -> None:
    """Without the record against with it costs less: by hand for binary response at rate 1/2."""
    m = Subsampled(RandomizedResponse(epsilon="log(3)", k=2), rate="1/2")
    [meter] = Filter(epsilon=20, delta="1e-3", order=2)._meters
    with_it, without = (0.5, 0.5), (0.25, 0.75)
    for told, (p, q) in zip(meter.costs(m), ((with_it, without), (without, with_it)), strict=True):
        assert float(told) == pytest.approx(log(sum(x * x / y for x, y in zip(p, q, strict=True))), rel=1e-12)


def test_several_orders_go_on_while_one_has_room() -> None:
    """Tiny losses fit large orders, rare large losses small ones: the split admits what its best order would."""
    for m in (RR, Laplace(epsilon="0.05"), Gaussian(sigma=30)):
        both = Filter(epsilon=4, delta="1e-6", orders=(5, 20))
        alone = [Filter(epsilon=4, delta="5e-7", order=order) for order in (5, 20)]
        assert admitted(both, m) == max(admitted(f, m) for f in alone)


def test_a_spend_that_is_refused_costs_nothing() -> None:
    f = Filter(epsilon=1, delta="1e-6", order=30)
    f.spend(Gaussian(sigma=40), label="counts")
    before = f.spent
    with pytest.raises(BudgetExceeded, match=r"divergence of order 30 \(15\) exceeds what remains \(0.665"):
        f.spend(Gaussian(sigma=1))
    assert f.spent == before == 30 * Fraction(1, 3200)
    f.spend(rho="0.001")
    assert f.spent == before + Fraction(30, 1000)
    assert [(str(s.what), s.label) for s in f.history] == [("Gaussian(sigma=40)", "counts"), ("1/1000", None)]


def test_an_unbounded_loss_and_other_relations_are_refused() -> None:
    f = Filter(epsilon=1, delta="1e-6")
    open_ = LossPair(p=[1, 0], q=["1/2", "1/2"])
    assert not f.would_fit(open_)
    with pytest.raises(BudgetExceeded, match="inf"):
        f.spend(open_)
    f.spend(Subsampled(Gaussian(sigma=5), rate="0.01"))
    with pytest.raises(ValueError, match="do not compose"):
        f.spend(RandomizedResponse(epsilon="0.001", k=3))
    assert len(f.history) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give a budget: rho, or epsilon and delta"),
        ({"epsilon": 1}, "give a budget"),
        ({"rho": 1, "epsilon": 1}, r"give rho \(1\), or epsilon and delta, not both"),
        ({"rho": 1, "order": 2}, "rho has no use for order"),
        ({"epsilon": 1, "delta": 1}, r"delta \(1\) must lie strictly between"),
        ({"epsilon": 1, "delta": "1e-6", "order": 1}, r"order \(1\) must be above 1"),
        ({"epsilon": 1, "delta": "1e-6", "order": 2}, r"order \(2\) leaves nothing of epsilon = 1"),
        ({"epsilon": 1, "delta": "1e-6", "order": 20, "orders": [3]}, "give order or orders, not both"),
        ({"epsilon": 1, "delta": "1e-6", "orders": [30, 30]}, "orders must be different ones"),
        ({"epsilon": 1, "delta": "1e-6", "workload": 3}, r"workload \(3\) must be a mechanism or a plan"),
    ],
)
def test_bad_filters(asked: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Filter(**asked)


def test_the_budget_is_the_exact_formula_rounded_down() -> None:
    mp = pytest.importorskip("mpmath")
    for epsilon, delta, order in product(("0.5", "10"), ("1e-6", "1e-12"), ("33", "100.5")):
        try:
            f = Filter(epsilon=epsilon, delta=delta, order=order)
        except ValueError:
            continue
        with mp.workdps(40):
            a = mp.mpf(order)
            exact = mp.mpf(epsilon) + (mp.log(mp.mpf(delta)) + mp.log(a)) / (a - 1) - mp.log(1 - 1 / a)
            assert exact * (1 - mp.mpf(2) ** -52) <= mp.mpf(f.budget.numerator) / f.budget.denominator <= exact


def test_pure_and_binary_responses_by_their_own_divergence() -> None:
    """Binary randomized response of epsilon 1: D_2 = log((e^2 + e^-1)/(1 + e)), by hand."""
    f = Filter(epsilon=10, delta="1e-3", order=2)
    f.spend(PureDP(epsilon=1))

    assert float(f.spent) == pytest.approx(log((e**2 + 1 / e) / (1 + e)), rel=1e-12)
    assert f.remaining > 0


@pytest.mark.parametrize("base", [Logistic(epsilon=1), ExponentialMechanism(epsilon=1), Laplace(epsilon=30)], ids=str)
@pytest.mark.parametrize("order", [10**6, 10**15])
def test_at_orders_beyond_all_use_each_order_is_near_its_largest_loss(base: Mechanism, order: int) -> None:
    """log w(epsilon), and -log w(-epsilon) the other way, w(x) = 1 - q + q e^x; less some logarithms over the order."""
    q, epsilon = 0.01, base.pure_epsilon
    forward, backward = rdp_each_way(Subsampled(base, rate="0.01"), Fraction(order))
    assert forward is not None
    assert backward is not None
    assert forward >= log(1 - q + q * exp(epsilon)) * (1 - 1e-12) - 100 / order
    assert backward >= -log(1 - q + q * exp(-epsilon)) * (1 - 1e-12) - 100 / order
    Filter(epsilon=100, delta="1e-6", order=order).spend(Subsampled(base, rate="0.01"))
