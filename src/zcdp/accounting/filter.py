"""Privacy filter (Rogers, Roth, Ullman and Vadhan 2016): adaptive composition that never exceeds a fixed budget.

The parts of this file: costs as whole numbers of a unit; an (epsilon, delta) budget as one of Renyi divergence at an
order fixed in advance (Feldman and Zrnic 2021); `Meter`, which keeps the sums of one currency; and `Filter` itself.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, lcm, log
from threading import Lock
from typing import Any, NamedTuple, NoReturn

from flint import arb

from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.numeric.balls import at_precision, below, lift
from zcdp.numeric.exact import Value, in_domain, positive_rational, probability, rational, shown
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import give_lock
from zcdp.privacy.curve import Curve
from zcdp.privacy.envelope import Both, rdp_each_way
from zcdp.privacy.relation import Relation
from zcdp.text.calls import spoken_class
from zcdp.text.suggestions import thing

__all__ = [
    "GRID",
    "BudgetExceeded",
    "Filter",
    "Meter",
    "OrderMeter",
    "RhoMeter",
    "Spend",
    "best_order",
    "charge",
    "charge_down",
    "left_of_delta",
    "meters_at",
    "renyi_budget",
    "renyi_left",
    "units",
]


# Costs as whole multiples of a unit: each is rounded up to one, so that sums of any length stay short numbers.

GRID = lcm(10**1000, lcm(*range(1, 101)) ** 2)
"""Every amount is charged as a whole multiple of 1/GRID.

Exact multiples are all decimals of up to 1000 places, all fractions whose denominator is at most 100 or the square of
such a number (a Gaussian of sigma 7 costs 1/98), and all doubles above 2^-948."""


def units(cost: Fraction, per_one: int = GRID) -> int:
    """The cost as an integer number of units, rounded up; `per_one` units are 1.

    Sums of such integers stay short, so that a spend takes constant time, even after a million. With fractions the
    denominators would multiply: the sum of 1/p over primes p grows with each p. Theorem: docs/theorems/filter.md.

    >>> Fraction(units(Fraction("0.1")), GRID), units(Fraction(1, 10**4000))
    (Fraction(1, 10), 1)
    """
    return -(-cost.numerator * per_one // cost.denominator)


def charge(cost: Fraction) -> Fraction:
    """The cost rounded up to a multiple of 1/GRID; numbers as people write them are exact multiples.

    >>> charge(Fraction(1, 10)), charge(Fraction(1, 3))
    (Fraction(1, 10), Fraction(1, 3))
    >>> 0 < charge(Fraction(1, 101)) - Fraction(1, 101) < Fraction(1, GRID)
    True
    """
    return cost if GRID % cost.denominator == 0 else Fraction(units(cost), GRID)


def charge_down(budget: Fraction) -> Fraction:
    """The budget rounded down to a multiple of 1/GRID."""
    return -charge(-budget)


# An (epsilon, delta) budget as a budget of Renyi divergence at one order, which is fixed before anything is spent.

BUDGET_BITS = 256  # precision at which a budget of divergence is computed


def renyi_budget(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """The total Renyi divergence of this order alpha that (epsilon, delta) allows, rounded down; it must be positive.

    It is epsilon + (log delta + log alpha)/(alpha - 1) - log(1 - 1/alpha). Theorem: docs/theorems/renyi-filter.md.

    >>> float(renyi_budget(Fraction(10), Fraction(1, 10**6), Fraction("3.066")))
    4.24996...
    """
    least = renyi_left(epsilon, delta, order)
    if not 0 < least < inf:
        raise BadValue(
            f"order ({float(order):g}) leaves nothing of epsilon = {float(epsilon):g} at delta = {float(delta):g}: "
            "take a larger order"
        )
    return Fraction(least)


def renyi_left(epsilon: Fraction, delta: Fraction, order: Fraction) -> float:
    """The formula of `renyi_budget`, rounded down; if it is not positive, this order leaves nothing to spend.

    >>> renyi_left(Fraction(1), Fraction(1, 10**6), Fraction(2)) < 0
    True
    """
    if order <= 1:
        raise BadValue(f"order ({order}) must be above 1")

    def budget() -> arb:
        alpha = lift(order)
        return lift(epsilon) + (lift(delta).log() + alpha.log()) / (alpha - 1) - (1 - 1 / alpha).log()

    return at_precision(BUDGET_BITS, lambda: below(budget()))


def left_of_delta(delta: Fraction, approximate: Fraction | None) -> Fraction:
    """What is left of delta for the conversion, if spends may have `approximate` of it: (delta - d)/(1 - d).

    A run of d-approximate zCDP is (epsilon, d + (1 - d) delta')-DP where its zCDP part is (epsilon, delta')-DP.
    Theorem: docs/theorems/approximate-filter.md.

    >>> left_of_delta(Fraction(1, 2), Fraction(1, 4))
    Fraction(1, 3)
    """
    mass = approximate or Fraction(0)
    return (delta - mass) / (1 - mass)


def best_order(workload: Curve, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The Renyi order, to six digits, at which the budget admits the workload most often: a heuristic search.

    Every order is equally sound, so that nothing in the guarantee rests on the search.

    >>> from zcdp import RandomizedResponse
    >>> best_order(RandomizedResponse(epsilon=1, k=1000), Fraction(10), Fraction(1, 10**6))
    Fraction(..., ...)
    """
    target, chance = float(epsilon), log(delta)

    def pays_for(s: float) -> float:
        """How often the workload fits at order 1 + s, in floats; 0 if the order leaves nothing to spend."""
        budget = target + (chance + log(1 + s)) / s - log(s / (1 + s))
        return budget / max(float(workload.rdp(1 + s)), 1e-300) if budget > 0 else 0.0

    steps = [n / 8 for n in range(-64, 97)]  # log s: from s = e^-8 to e^12; then ternary search around the best
    top = max(steps, key=lambda u: pays_for(exp(u)))
    if pays_for(exp(top)) == 0:
        raise BadValue(f"no order leaves anything of epsilon = {target:g} at delta = {float(delta):g}")
    low, high = top - 1 / 8, top + 1 / 8
    while high - low > 1e-7:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if pays_for(exp(left)) < pays_for(exp(right)) else (low, right)
    return Fraction(f"{1 + exp((low + high) / 2):.6g}")


# Meters of a privacy filter: the cost of a spend in one currency, rho or divergence of one order, and what is left.

DEFAULT_ORDERS = 12
"""The number of Renyi orders if none are given: alpha - 1 from the least that leaves anything to 100 times as much."""


Price = tuple[int | None, int | None]
"""A cost in whole units, in each of the two directions of the neighbours; None where it is infinite."""


class Meter(ABC):
    """Two sums of costs that must not exceed a budget, in whole units, so that a spend takes constant time.

    There is one sum for each direction of the neighbours (with the person against without, and the reverse). The
    direction is the same in every spend of a run; a mechanism that does not tell the directions apart costs the same in
    both. Costs are rounded up to a unit, and the budget is a whole number of units. Theorem: docs/theorems/filter.md.
    """

    def __init__(self, budget: Fraction) -> None:
        self.budget = budget
        self._per_one = GRID * budget.denominator
        self._limit = units(budget, self._per_one)
        self._used: Price = 0, 0
        """The sums so far; None after a spend of infinite cost, which another meter of the filter admitted."""
        self._last: tuple[Curve, Price] | None = None

    @abstractmethod
    def cost(self, curve: Curve) -> Fraction | None:
        """The cost of a mechanism, certified: the larger of both directions; None if it is infinite."""

    @abstractmethod
    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """The cost of a spend of which only rho is known."""

    @abstractmethod
    def said(self, amount: str) -> str:
        """An amount with its currency, for messages."""

    def costs(self, curve: Curve) -> Both:
        """The cost of a mechanism in each direction of the neighbours: `cost` in both, unless a subclass is tighter."""
        cost = self.cost(curve)
        return cost, cost

    def price(self, what: Curve | Fraction) -> Price:
        """The cost of a mechanism, or of a rho, in whole units; that of the last mechanism is cached."""
        if isinstance(what, Fraction):
            price = units(self.cost_of_rho(what), self._per_one)
            return price, price
        if self._last is not None and self._last[0] is what:
            return self._last[1]
        one, other = (None if cost is None else units(cost, self._per_one) for cost in self.costs(what))
        self._last = what, (one, other)
        return one, other

    def fits(self, price: Price) -> bool:
        """Whether the price fits the rest of the budget, in both directions."""
        return self._fits(self._used[0], price[0]) and self._fits(self._used[1], price[1])

    def _fits(self, used: int | None, price: int | None) -> bool:
        return price is not None and used is not None and used + price <= self._limit

    def add(self, price: Price) -> None:
        """Charge the price, even if it does not fit: another meter of the filter may have admitted the spend."""
        self._used = _sum(self._used[0], price[0]), _sum(self._used[1], price[1])

    def over(self, price: Price) -> tuple[Fraction | None, Fraction]:
        """For a price that does not fit: the cost and what remains, in a direction in which it does not fit."""
        first = not self._fits(self._used[0], price[0])
        used, asked = (self._used[0], price[0]) if first else (self._used[1], price[1])
        left = self._limit - (self._limit if used is None else min(used, self._limit))
        return None if asked is None else Fraction(asked, self._per_one), Fraction(left, self._per_one)

    @property
    def spent(self) -> Fraction:
        """The larger of both sums; it exceeds the budget if another meter admitted what did not fit here."""
        return Fraction(max(self._limit + 1 if used is None else used for used in self._used), self._per_one)

    @property
    def remaining(self) -> Fraction:
        """The rest of the budget, exactly; 0 if it is exceeded."""
        return max(self.budget - self.spent, Fraction(0))


class RhoMeter(Meter):
    """A meter of rho: costs are the tight rho of each mechanism. Theorem: docs/theorems/filter.md."""

    def cost(self, curve: Curve) -> Fraction | None:
        """rho of the mechanism, as an exact upper bound."""
        return None if curve.unbounded else curve.rho_fraction

    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """rho itself."""
        return rho

    def said(self, amount: str) -> str:
        """The amount, named rho."""
        return f"rho ({amount})"


class OrderMeter(Meter):
    """A meter of Renyi divergence at one order, in each direction. Theorem: docs/theorems/renyi-filter.md."""

    def __init__(self, order: Fraction, budget: Fraction) -> None:
        super().__init__(budget)
        self.order = order

    def cost(self, curve: Curve) -> Fraction | None:
        """The Renyi divergence of this order, rounded up, or order * rho if that exact number is below the float."""
        if curve.unbounded:
            return None
        known = curve.rdp(self.order)
        by_rho = self.order * curve.rho_fraction if curve.rho < inf else None
        found = None if known == inf else Fraction(known)
        return min((one for one in (found, by_rho) if one is not None), default=None)

    def costs(self, curve: Curve) -> Both:
        """The Renyi divergence in each direction of the neighbours, rounded up; neither exceeds `cost`."""
        most = self.cost(curve)
        if most is None or curve.relation is not Relation.ADD_REMOVE:
            return most, most
        one, other = rdp_each_way(curve, self.order)
        return (most if one is None else min(one, most)), (most if other is None else min(other, most))

    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """order * rho, the divergence that zCDP bounds."""
        return self.order * rho

    def said(self, amount: str) -> str:
        """The amount, named divergence of this order."""
        return f"divergence of order {shown(self.order, 6)} ({amount})"


def _sum(used: int | None, price: int | None) -> int | None:
    """The sum; None, which stands for infinity, if either is None."""
    return None if used is None or price is None else used + price


def meters_at(
    epsilon: Fraction, delta: Fraction, orders: tuple[Value, ...] | None, workload: Curve | None
) -> tuple[OrderMeter, ...]:
    """One meter for each Renyi order; several orders share delta equally.

    The orders are the best one for the workload if that is given; else those given, without the ones that leave nothing
    of epsilon; else a dozen default ones.
    """
    if workload is not None:
        chosen: tuple[Fraction, ...] = (best_order(workload, epsilon, delta),)
    elif orders is not None:
        chosen = tuple(in_domain(rational(order, "order"), "order", order) for order in orders)
        if not chosen or len(set(chosen)) < len(chosen):
            raise BadValue("orders must be different ones, and at least one")
        chosen = _useful(epsilon, delta, chosen)
    else:
        chosen = _several(epsilon, delta)
    return tuple(OrderMeter(order, renyi_budget(epsilon, delta / len(chosen), order)) for order in chosen)


def _useful(epsilon: Fraction, delta: Fraction, orders: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The orders that leave something of epsilon at their share of delta; at least one.

    They are removed one at a time, the one that leaves least first, as each removal enlarges the shares of the others.
    """
    left = list(orders)
    while len(left) > 1:
        amounts = {order: renyi_left(epsilon, delta / len(left), order) for order in left}
        least = min(left, key=lambda order: amounts[order])
        if amounts[least] > 0:
            break
        left.remove(least)
    return tuple(left)


def _several(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """The default orders alpha, at equal steps of log(alpha - 1), in floats: heuristic, as every order is sound.

    alpha - 1 begins at 1.25 times the least value that leaves anything of epsilon.
    """
    target, chance = float(epsilon), log(float(delta) / DEFAULT_ORDERS)

    def left(s: float) -> float:
        return target + (chance + log(1 + s)) / s - log(s / (1 + s))

    least = 1.25 * exp(bisection(lambda log_s: left(exp(log_s)) > 0, -20.0, 60.0, absolute=1e-3)[1])
    return tuple(Fraction(f"{1 + least * 100 ** (n / (DEFAULT_ORDERS - 1)):.6g}") for n in range(DEFAULT_ORDERS))


# The filter: it admits a spend if some meter has room for it, and charges it to all.


class BudgetExceeded(ZcdpError):
    """The request would overspend; nothing was spent.

    A ledger adds the name of the `account` that refused, which may be above the one that was asked, what is missing
    there, "cost" or "delta", as `what`, and how much of it is `remaining`.
    """

    refused = True

    def __init__(
        self, *words: object, account: str | None = None, remaining: Fraction | None = None, what: str = "cost"
    ) -> None:
        super().__init__(*words)
        self.account, self.remaining, self.what = account, remaining, what


class Spend(NamedTuple):
    """An admitted spend: a mechanism, a plan or a rho, and its label."""

    what: Curve | Fraction
    label: str | None = None


@spoken_class
class Filter:
    """Fully adaptive composition within a budget: each next mechanism may depend on all outputs so far.

    With `rho` the whole run is rho-zCDP, as the sum of what is spent never exceeds rho: adaptivity costs nothing extra.
    With `epsilon` and `delta` it is (epsilon, delta)-DP: Renyi divergences are added at an order that is fixed before
    anything is spent. `workload`, a mechanism or plan like those to come, chooses the order that admits it most often;
    `order` states one order; `orders` states several, which share delta equally, and a spend is admitted while some
    order has room for it. Orders that leave nothing of epsilon are left out and get no share. Without any of the three
    there are a dozen orders. Afterwards no guarantee holds at another order, nor from the profile of the mechanisms
    that happened to run. For mechanisms with add_remove neighbours there are two sums, one for each direction (with the
    person against without, and the reverse).

    With `approximate` a spend may have a delta: what is stated of it holds but for an event of this probability, under
    which it may give everything away (approximate zCDP). Their sum never exceeds `approximate`, which of an (epsilon,
    delta) is a part of delta; a budget of rho is then one of approximate zCDP.

    Sums are exact rational numbers. Each cost is rounded up to a whole multiple of a unit below 1e-1000; decimals of up
    to 1000 places and the budget are exact multiples. So a spend takes constant time, whatever was spent before. It is
    atomic between threads. A filter is one budget: it cannot be copied or pickled, and a forked process may not spend
    from it. Theorems: docs/theorems/filter.md, docs/theorems/renyi-filter.md, docs/theorems/approximate-filter.md.

    >>> f = Filter(rho=1)
    >>> for _ in range(10):
    ...     f.spend(rho="0.1")
    >>> f.remaining, f.would_fit(rho="1e-100")
    (Fraction(0, 1), False)
    >>> from zcdp import RandomizedResponse
    >>> answer = RandomizedResponse(epsilon=1, k=1000)
    >>> f = Filter(epsilon=10, delta="1e-6", workload=answer)
    >>> f.spend(answer, label="first wave"); f
    <Filter: 0.2% of (epsilon, delta) = (10, 1e-06) spent, at order 3.06...>
    """

    _lock: Lock

    def __init__(
        self,
        *,
        rho: Value | None = None,
        epsilon: Value | None = None,
        delta: Value | None = None,
        order: Value | None = None,
        orders: Sequence[Value] | None = None,
        workload: Curve | None = None,
        approximate: Value | None = None,
    ) -> None:
        self.epsilon: Fraction | None = None
        self.delta: Fraction | None = None
        self.approximate = Fraction(0) if approximate is None else probability(approximate, "approximate")
        self._mass = 0  # the sum of delta of the spends, each rounded up to a unit of 1/GRID
        ways = {"order": order, "orders": orders, "workload": workload}
        given = [name for name, value in ways.items() if value is not None]
        if rho is not None:
            if epsilon is not None or delta is not None or given:
                other = given[0] if given else "epsilon and delta"
                raise BadValue(f"give rho ({rho}), or epsilon and delta, not both: rho has no use for {other}")
            self._meters: tuple[Meter, ...] = (RhoMeter(positive_rational(rho, "rho")),)
        elif epsilon is None or delta is None:
            raise BadType("give a budget: rho, or epsilon and delta")
        else:
            if len(given) > 1:
                raise BadValue(f"give {given[0]} or {given[1]}, not both")
            if workload is not None and not isinstance(workload, Curve):
                raise BadType(f"workload ({thing(workload)}) must be a mechanism or a plan")
            self.epsilon, self.delta = positive_rational(epsilon, "epsilon"), probability(delta, "delta")
            told = (order,) if order is not None else None if orders is None else tuple(orders)
            if self.approximate >= self.delta:
                raise BadValue(f"approximate ({approximate}) must be below delta ({delta}), of which it is a part")
            self._meters = meters_at(self.epsilon, left_of_delta(self.delta, self.approximate), told, workload)
        self._history: list[Spend] = []
        self._relation = Relation.EITHER
        give_lock(self)
        self._process = os.getpid()

    def __repr__(self) -> str:
        meter = self._best
        if self.epsilon is None or self.delta is None:
            return f"<Filter: {shown(meter.spent, 6)} of rho = {shown(meter.budget, 6)} spent>"
        limit = f"(epsilon, delta) = ({shown(self.epsilon, 6)}, {shown(self.delta, 6)})"
        assert isinstance(meter, OrderMeter)
        share = min(float(meter.spent / meter.budget), 1.0)
        return f"<Filter: {share:.1%} of {limit} spent, at order {shown(meter.order, 6)}>"

    def __copy__(self) -> NoReturn:
        raise BadType("a filter is one budget, and a copy would be a second one: share the filter itself")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__copy__()

    @property
    def _best(self) -> Meter:
        """The meter with the largest share of its budget left."""
        return max(self._meters, key=lambda meter: meter.remaining / meter.budget)

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The Renyi orders at which divergences are added; empty for a budget in rho."""
        return tuple(meter.order for meter in self._meters if isinstance(meter, OrderMeter))

    @property
    def budget(self) -> Fraction:
        """The whole budget: in rho, or in divergence of the order that has the largest share left."""
        return self._best.budget

    @property
    def spent(self) -> Fraction:
        """What was spent so far, exactly, in the unit of `budget`."""
        return self._best.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly, in the unit of `budget`."""
        return self._best.remaining

    @property
    def delta_spent(self) -> Fraction:
        """The sum of the delta of the spends (approximate zCDP)."""
        return Fraction(self._mass, GRID)

    @property
    def history(self) -> tuple[Spend, ...]:
        """The admitted spends, the first one first."""
        return tuple(self._history)

    def would_fit(
        self, mechanism: Curve | None = None, *, rho: Value | None = None, delta: Value | None = None
    ) -> bool:
        """Whether `spend` would admit the same request now."""
        what, mass = _what(mechanism, rho), _mass(delta)
        if not isinstance(what, Fraction):
            self._relation.joined(what.relation)
        fits = self._has(units(mass)) and any(meter.fits(meter.price(what)) for meter in self._meters)
        return self._is_here() and fits

    def _has(self, mass: int) -> bool:
        """Whether so much delta, in units of 1/GRID, is left for a spend."""
        return mass == 0 or self._mass + mass <= self.approximate * GRID

    def spend(
        self,
        mechanism: Curve | None = None,
        *,
        rho: Value | None = None,
        delta: Value | None = None,
        label: str | None = None,
    ) -> None:
        """Charge a mechanism or plan, or a spend of known rho; raises `BudgetExceeded` if it does not fit."""
        what, chance = _what(mechanism, rho), _mass(delta)
        mass = units(chance)
        if label is not None and not isinstance(label, str):
            raise BadType(f"label ({thing(label)}) must be text")
        if not self._is_here():
            raise BudgetExceeded("a forked process has no share in the budget of its parent: nothing was spent")
        prices = [meter.price(what) for meter in self._meters]
        with self._lock:
            relation = self._relation if isinstance(what, Fraction) else self._relation.joined(what.relation)
            enough = self._has(mass)
            if enough and any(meter.fits(price) for meter, price in zip(self._meters, prices, strict=True)):
                self._relation = relation
                self._history.append(Spend(what, label))
                self._mass += mass
                for meter, price in zip(self._meters, prices, strict=True):
                    meter.add(price)
                return
        if not enough:
            rest = shown(self.approximate - self.delta_spent, 17)
            raise BudgetExceeded(f"delta ({shown(chance, 17)}) exceeds what remains ({rest}): nothing was spent")
        meter = self._best
        cost, left = meter.over(meter.price(what))
        asked = meter.said("inf" if cost is None else shown(cost, 17))
        raise BudgetExceeded(f"{asked} exceeds what remains ({shown(left, 17)}): nothing was spent")

    def _is_here(self) -> bool:
        """Whether this is the process that made the filter."""
        return os.getpid() == self._process


def _mass(delta: Value | None) -> Fraction:
    """The delta of a spend; 0 if none is given."""
    return Fraction(0) if delta is None else probability(delta, "delta")


def _what(mechanism: Curve | None, rho: Value | None) -> Curve | Fraction:
    """The mechanism, or the rho, to charge: exactly one of both must be given."""
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    if mechanism is None:
        assert rho is not None
        return positive_rational(rho, "rho")
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return mechanism
