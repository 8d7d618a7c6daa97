"""Filters of several orders and mixed mechanisms, against sums kept by hand; counts inside the text of a plan."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from mpmath import mp, mpf

from zcdp import BudgetExceeded, Filter, Gaussian, Laplace, LossPair, Plan, RandomizedResponse, Subsampled
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import Curve

F = Fraction
Cost = tuple[mpf, mpf]
"""With the person against without, and the other way round."""


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def divergence(p: list[Fraction], q: list[Fraction], order: Fraction) -> mpf:
    """log of the sum of p^a q^{1-a}, over a - 1."""
    a = real(order)
    return mp.log(mp.fsum(real(x) ** a * real(y) ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


def response(order: Fraction) -> Cost:
    """One of five values, at epsilon log 3."""
    p, q = [F(3, 7), F(1, 7), F(3, 7)], [F(1, 7), F(3, 7), F(3, 7)]
    return (divergence(p, q, order),) * 2


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
    (LossPair(p=p, q=q, ordered=True), lambda order, p=p, q=q: (divergence(p, q, order), divergence(q, p, order)))
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


# Counts inside the text of a plan

NESTED = [
    ("Subsampled(20 * Gaussian(sigma=5), rate='1/10')", lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 20),
    ("Subsampled(Gaussian(sigma=5) * 20, rate='1/10')", lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 20),
    ("Subsampled(2 * (3 * Laplace(epsilon='1/4')), size=3, of=10)",
     lambda n: Subsampled(n * Laplace(epsilon="1/4"), size=3, of=10), 6),
    ("Subsampled(mechanism=(4 * Gaussian(sigma=5)) * 2, rate='1/10')",
     lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 8),
    ("Subsampled(Gaussian(sigma=5) + 3 * Gaussian(sigma=5), rate='1/10')",
     lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 4),
    ("Subsampled((2 * Laplace(epsilon='1/4')), rate='1/2')",
     lambda n: Subsampled(n * Laplace(epsilon="1/4"), rate="1/2"), 2),
]  # fmt: skip


@pytest.mark.parametrize(("text", "make", "count"), NESTED, ids=[text for text, _, _ in NESTED])
@pytest.mark.parametrize("times", [1, 7])
def test_counts_inside_a_mechanism_are_read(text: str, make: object, count: int, times: int) -> None:
    """By parts, by its own text, through JSON, and by what it costs; outside and inside are different counts."""
    plan = parse(f"{times} * {text}" if times > 1 else text)
    [(part, outside)] = plan.parts
    assert outside == times
    assert part == make(count)
    assert [n for _, n in part.mechanism.parts] == [count]
    for again in (parse(repr(plan)), Plan.from_json(plan.to_json())):
        assert again == plan
        [(read, _)] = again.parts
        assert [n for _, n in read.mechanism.parts] == [count]
    for other in (make(1), make(count - 1), make(count + 1)):
        assert part != other
        assert parse(repr(other)).parts[0][0] != part
    assert part.rdp(3) == make(count).rdp(3)
    assert make(count - 1).rdp(3) < part.rdp(3) < make(count + 1).rdp(3)


def test_noise_that_is_drawn_so_often_in_a_sample_is_narrower_noise_in_it() -> None:
    """25 answers with sigma 10 are one with sigma 2: a fact of normal laws, not of the text."""
    many = parse("Subsampled(25 * Gaussian(sigma=10), rate='1/10')")
    one = Subsampled(Gaussian(sigma=2), rate="1/10")
    for epsilon in ("0.1", "1"):
        assert many.delta_at(epsilon=epsilon) == pytest.approx(one.delta_at(epsilon=epsilon), rel=1e-6)
    assert many.rdp(4) == pytest.approx(one.rdp(4), rel=1e-6)
