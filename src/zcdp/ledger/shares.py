"""Planning from what is left: the noise of a plan within a share of an account's budget, in the account's own currency.

And ways to hold one (epsilon, delta) for a workload, compared by how many such releases each admits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from zcdp.accounting.fill import Filled, fill
from zcdp.accounting.filter import OrderMeter, charge, charge_down, left_of_delta, meters_at
from zcdp.errors import BadType, BadValue
from zcdp.ledger.book import Ledger
from zcdp.ledger.model import Account
from zcdp.ledger.store import BudgetExceeded
from zcdp.ledger.terms import Terms, terms_of
from zcdp.numeric.exact import Value, positive_rational, probability, shown
from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.privacy.curve import Curve, Plan

__all__ = ["Share", "Way", "fill_share", "ways"]

STEPS = 30  # of the bisection for the rho whose divergence fills a share; each answer is certified by its cost


@dataclass(frozen=True)
class Share:
    """A plan whose noise fills a share of an account: nothing was spent."""

    account: Account
    target: Fraction
    """The share, in the account's currency."""
    cost: Fraction
    """What the ledger would charge for the plan; at most the target."""
    filled: Filled
    more: int
    """How many such plans fit what remains, this one included."""


def fill_share(
    ledger: Ledger,
    account: str,
    source: PlanFile | Path,
    share: Value,
    *,
    of: Literal["whole", "remaining"] = "whole",
    objective: Literal["worst", "total"] = "worst",
) -> Share:
    """The plan with its noise set so that it costs at most a share of the account: of its budget, or of what remains.

    Shares are rounded down, so that n plans of a share of 1/n fit to the last. Raises `BudgetExceeded` if the share is
    more than what remains in the account or above it. Nothing is spent or reserved.
    """
    mine, left = ledger.account(account), ledger.remaining(account)
    part = positive_rational(share, "share")
    if part > 1:
        raise BadValue(f"share ({share}) must be at most 1")
    if of not in ("whole", "remaining"):
        raise BadValue(f"of ({of!r}) must be 'whole' or 'remaining'")
    target = charge_down(part * (mine.budget if of == "whole" else left))
    if target > left or target <= 0:
        most = left / mine.budget
        level = min(ledger.levels(account), key=lambda one: one.remaining)
        where = "" if level.name == mine.name else f" of {level.name!r}, above {mine.name!r}"
        raise BudgetExceeded(
            f"a share of {shown(part, 6)} is {float(target):.6g}, and {float(left):.6g} remain{where}: "
            f"the largest share of the whole that fits is {float(most):.4g}",
            account=level.name,
            remaining=left,
        )
    plan = source if isinstance(source, PlanFile) else read_plan(source)
    unit = plan.tables.protects if plan.tables else plan.unit
    mine.terms.agree(unit=unit, neighbours=plan.neighbours.replace("_", "-") if plan.neighbours else None)
    filled = _within(mine.terms, plan, target, objective)
    cost = mine.terms.cost(_whole(filled))
    return Share(mine, target, cost, filled, int(left // cost))


def _whole(filled: Filled) -> Plan:
    return Plan.sum_of(*(Plan.repeated(entry.plan, entry.count) for entry in filled.plan.entries if entry.plan))


def _within(terms: Terms, plan: PlanFile, target: Fraction, objective: Literal["worst", "total"]) -> Filled:
    """The plan filled to a rho such that the ledger charges at most the target; the last one that was seen to fit."""
    # At order alpha a plan of rho costs at most alpha rho; often it costs less, and more rho fits.
    low = target if terms.order is None else charge_down(target / terms.order)
    best = _fitting(terms, plan, low, target, objective)
    if terms.order is None:
        if best is None:  # rho of the whole is searched for, and may lie a float above the sum of the parts
            best = _fitting(terms, plan, low * (1 - Fraction(1, 10**12)), target, objective)
        if best is None:
            raise BadValue("the noise of this plan cannot be set to a share of the account")
        return best
    if best is None:
        raise BadValue("the noise of this plan cannot be set to a share of the account")
    high = 2 * low
    while (more := _fitting(terms, plan, high, target, objective)) is not None and high < target * 2**20:
        low, high, best = high, 2 * high, more
    for _ in range(STEPS):
        middle = charge_down((low + high) / 2)
        more = _fitting(terms, plan, middle, target, objective)
        low, high, best = (middle, high, more) if more is not None else (low, middle, best)
    return best


def _fitting(
    terms: Terms, plan: PlanFile, rho: Fraction, target: Fraction, objective: Literal["worst", "total"]
) -> Filled | None:
    filled = fill(plan, rho=rho, objective=objective)
    return filled if terms.cost(_whole(filled)) <= target else None


# Ways to hold the same (epsilon, delta).


@dataclass(frozen=True)
class Way:
    """One way to hold an (epsilon, delta): what is counted, and how many of the workload it admits."""

    name: str
    orders: tuple[Fraction, ...]
    admits: int


def ways(
    workload: Curve,
    *,
    epsilon: Value,
    delta: Value,
    neighbours: str = "add-remove",
    approximate: Value | None = None,
    each: Value | None = None,
) -> list[Way]:
    """How many of a workload (epsilon, delta) admits through rho, at its best Renyi order, and at several orders.

    A ledger can count the first two; a `Filter` in one process the third as well. `approximate` is the part of delta
    that spends may give away, and `each` the delta of one workload. The way that admits most comes first.

    >>> from zcdp import Laplace
    >>> [(way.name, way.admits) for way in ways(Laplace(epsilon="0.1"), epsilon=1, delta="1e-9")]
    [('one order', 9), ('several orders', 9), ('rho', 3)]
    """
    if not isinstance(workload, Curve):
        raise BadType("workload must be a mechanism or a plan")
    given = {"unit": "person", "neighbours": neighbours, "epsilon": epsilon, "delta": delta, "rho": None}
    mass = None if approximate is None else probability(approximate, "approximate")
    chance = None if each is None else probability(each, "each")
    if chance is not None and mass is None:
        raise BadType("each workload has a delta: give the sum of them that is allowed, approximate")
    found = []
    for name, chosen in (("rho", None), ("one order", workload)):
        terms, budget = terms_of(**given, order=None, workload=chosen, approximate=mass)  # type: ignore[arg-type]
        orders = () if terms.order is None else (terms.order,)
        found.append(Way(name, orders, _capped(int(budget // terms.cost(workload)), mass, chance)))
    meters = meters_at(
        positive_rational(epsilon, "epsilon"), left_of_delta(probability(delta, "delta"), mass), None, None
    )
    times = max(_room(meter, workload) for meter in meters)
    found.append(Way("several orders", tuple(meter.order for meter in meters), _capped(times, mass, chance)))
    return sorted(found, key=lambda way: -way.admits)


def _room(meter: OrderMeter, workload: Curve) -> int:
    """How often the workload fits one order alone, in both directions of the neighbours."""
    costs = meter.costs(workload)
    return min(0 if cost is None else int(meter.budget // charge(cost)) for cost in costs)


def _capped(times: int, mass: Fraction | None, chance: Fraction | None) -> int:
    return times if mass is None or chance is None else min(times, int(mass // chance))
