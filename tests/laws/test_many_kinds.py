"""More kinds than an exact account is made of by itself: what is said from rho alone still covers every count."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import exp, log

import pytest
from table import KINDS, OTHERS

from zcdp import Laplace, Plan, RandomizedResponse
from zcdp.accounting import plan_account as accounts
from zcdp.accounting.plan_account import curve_points, total_of
from zcdp.privacy.relation import Relation

MANY = 64
DELTA = Fraction(1, 10**6)
COUNT = 3


@pytest.fixture(autouse=True)
def _rho_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer kinds than the limit really is: it is the way that is tested, and some thousand kinds would take long."""
    monkeypatch.setattr(accounts, "MOST_KINDS_IN_FULL", MANY)


@cache
def plan() -> Plan:
    """Of every kind in the table with a finite rho, and more, each several times."""
    few = [kind.at(Fraction(1, 10), **kind.fixed[0]) for kind in KINDS]
    few += [m for m in OTHERS if m.rho < 1 and m.relation is not Relation.ADD_REMOVE]
    few += [Laplace(epsilon=Fraction(1, n)) for n in range(5, 40)]
    few += [RandomizedResponse(epsilon=Fraction(1, 4), k=n) for n in range(2, 40)]
    found = Plan.sum_of(*(COUNT * m for m in few))
    assert len(found.parts) > MANY
    return found


def delta_of(rho: float, epsilon: float) -> float:
    """The least over a fine grid of orders of the bound of Canonne, Kamath and Steinke; at most 0.1% too large."""
    orders = (exp(n / 200) for n in range(-1400, 1401))
    return exp(min(0.0, *(rho * s * (1 + s) - s * epsilon + s * log(s) - (1 + s) * log(1 + s) for s in orders)))


def test_every_part_is_charged_as_often_as_it_runs() -> None:
    total = total_of(plan(), DELTA)
    assert not total.full
    each = [(part.rho, count) for part, count in plan().parts]
    assert total.rho == pytest.approx(sum(rho * count for rho, count in each), rel=1e-12)
    for order in (1, 1.01, 2, 5, 20):
        assert sum(count * part.rdp(order) for part, count in plan().parts) <= total.rho * order * (1 + 1e-12)
    lower, upper = total.rho_bounds
    assert lower <= upper == total.rho
    assert total.epsilon == min(total.routes.values())
    assert delta_of(total.rho, total.routes["zcdp"]) == pytest.approx(float(DELTA), rel=1e-3)
    if "pure" in total.routes:
        assert total.routes["pure"] == pytest.approx(sum(n * part.pure_epsilon for part, n in plan().parts), rel=1e-12)


def test_the_curve_follows_from_the_whole_of_rho() -> None:
    total = total_of(plan(), DELTA)
    points = list(curve_points(plan(), total, DELTA, lambda *_: None))
    assert len(points) > 10
    for epsilon, delta in points:
        if 0 < epsilon < plan().pure_epsilon:
            assert delta == pytest.approx(delta_of(total.rho, epsilon), rel=1e-2)


def test_more_kinds_do_not_cost_less_than_some_of_them() -> None:
    some = Plan.sum_of(*(count * part for part, count in plan().parts[-30:]))
    whole = total_of(plan(), DELTA)
    assert some.epsilon_bounds(delta=DELTA)[0] <= whole.epsilon
    assert some.rho_bounds[0] <= whole.rho
