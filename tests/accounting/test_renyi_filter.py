"""The filter in (epsilon, delta): against the exact best of all adaptive adversaries, and what it admits."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import e, exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zcdp import (
    BudgetExceeded,
    ExponentialMechanism,
    Filter,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Mechanism,
    PureDP,
    RandomizedResponse,
    Subsampled,
)
from zcdp.privacy.envelope import rdp_each_way

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
@pytest.mark.parametrize("order", [10**6, 10**30])
def test_at_orders_beyond_all_use_each_order_is_near_its_largest_loss(base: Mechanism, order: int) -> None:
    """log w(epsilon), and -log w(-epsilon) the other way, w(x) = 1 - q + q e^x; less some logarithms over the order."""
    q, epsilon = 0.01, base.pure_epsilon
    forward, backward = rdp_each_way(Subsampled(base, rate="0.01"), Fraction(order))
    assert forward is not None
    assert backward is not None
    assert forward >= log(1 - q + q * exp(epsilon)) * (1 - 1e-12) - 100 / order
    assert backward >= -log(1 - q + q * exp(-epsilon)) * (1 - 1e-12) - 100 / order
    Filter(epsilon=100, delta="1e-6", order=order).spend(Subsampled(base, rate="0.01"))
