"""What a spend is charged: exactly its cost, or a hair more, so that sums of any length stay short numbers."""

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
from zcdp.numeric.exact import Value, positive_rational, probability, rational, shown
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
    "meters_at",
    "renyi_budget",
    "renyi_left",
    "units",
]


GRID = lcm(10**1000, lcm(*range(1, 101)) ** 2)
"""Every amount is a whole multiple of 1/GRID: so is every decimal of up to 1000 places, every fraction of a
denominator up to 100 or of the square of one (a Gaussian of sigma 7 costs 1/98), and every double above 2^-948."""


def units(cost: Fraction, per_one: int = GRID) -> int:
    """The cost as a number of units, `per_one` of which make 1, rounded up: exact where it is a whole number of them.

    Sums of such numbers never grow longer, so that adding one more takes as long after a million as at the start.
    Without such a rule the sum of 1/p over primes p would grow by each of them. Theorem: docs/theorems/filter.md.

    >>> Fraction(units(Fraction("0.1")), GRID), units(Fraction(1, 10**4000))
    (Fraction(1, 10), 1)
    """
    return -(-cost.numerator * per_one // cost.denominator)


def charge(cost: Fraction) -> Fraction:
    """The least multiple of 1/GRID that is not below the cost: the cost itself, for all that people write.

    >>> charge(Fraction(1, 10)), charge(Fraction(1, 3))
    (Fraction(1, 10), Fraction(1, 3))
    >>> 0 < charge(Fraction(1, 101)) - Fraction(1, 101) < Fraction(1, GRID)
    True
    """
    return cost if GRID % cost.denominator == 0 else Fraction(units(cost), GRID)


def charge_down(budget: Fraction) -> Fraction:
    """The greatest multiple of 1/GRID that is not above the budget."""
    return -charge(-budget)


# An (epsilon, delta) budget counted at one Renyi order, fixed before anything is spent.

BITS = 256


def renyi_budget(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """How much divergence of that order may be spent in all, rounded down.

    epsilon + (log delta + log alpha)/(alpha - 1) - log(1 - 1/alpha). Theorem: docs/theorems/renyi-filter.md.

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
    """The same formula, rounded down, where it need not be positive: nothing may be spent then.

    >>> renyi_left(Fraction(1), Fraction(1, 10**6), Fraction(2)) < 0
    True
    """
    if order <= 1:
        raise BadValue(f"order ({order}) must be above 1")

    def budget() -> arb:
        alpha = lift(order)
        return lift(epsilon) + (lift(delta).log() + alpha.log()) / (alpha - 1) - (1 - 1 / alpha).log()

    return at_precision(BITS, lambda: below(budget()))


def best_order(workload: Curve, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order, to six digits, at which the budget pays for the most of such a workload: any other is as sound.

    >>> from zcdp import RandomizedResponse
    >>> best_order(RandomizedResponse(epsilon=1, k=1000), Fraction(10), Fraction(1, 10**6))
    Fraction(..., ...)
    """
    target, chance = float(epsilon), log(delta)

    def pays_for(s: float) -> float:
        """Times that the workload fits, in floats; 0 where nothing does."""
        budget = target + (chance + log(1 + s)) / s - log(s / (1 + s))
        return budget / max(float(workload.rdp(1 + s)), 1e-300) if budget > 0 else 0.0

    steps = [n / 8 for n in range(-64, 97)]  # from e^-8 to e^12
    top = max(steps, key=lambda u: pays_for(exp(u)))
    if pays_for(exp(top)) == 0:
        raise BadValue(f"no order leaves anything of epsilon = {target:g} at delta = {float(delta):g}")
    low, high = top - 1 / 8, top + 1 / 8
    while high - low > 1e-7:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if pays_for(exp(left)) < pays_for(exp(right)) else (low, right)
    return Fraction(f"{1 + exp((low + high) / 2):.6g}")


# Meters of a privacy filter: what a spend costs in rho, or at one Renyi order, and how much of it is left.

SPREAD = 12
"""So many orders where none is told; from the least that leaves anything to a hundred times as far from 1."""


Price = tuple[int | None, int | None]
"""In whole units, in each of the two orders of the neighbours; None where it is infinite."""


class Meter(ABC):
    """Two sums that must not exceed a budget, in whole units, so that it takes constant time to add to them.

    One for each order of the neighbours: what is ordered faces the same way in every spend, and all else costs the
    same in both. Costs are rounded up to a unit, the budget is a whole number of them.
    Theorem: docs/theorems/filter.md.
    """

    def __init__(self, budget: Fraction) -> None:
        self.budget = budget
        self._per_one = GRID * budget.denominator
        self._limit = units(budget, self._per_one)
        self._used: Price = 0, 0
        """None once something of infinite cost was admitted by another meter."""
        self._last: tuple[Curve, Price] | None = None

    @abstractmethod
    def cost(self, curve: Curve) -> Fraction | None:
        """What a mechanism costs; None where that is infinite."""

    @abstractmethod
    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """What a rho that is known otherwise costs."""

    @abstractmethod
    def said(self, amount: str) -> str:
        """An amount, with its unit."""

    def costs(self, curve: Curve) -> Both:
        """What a mechanism costs in each order of the neighbours; the same in both unless a meter knows better."""
        cost = self.cost(curve)
        return cost, cost

    def price(self, what: Curve | Fraction) -> Price:
        """The cost in whole units; that of the same mechanism again is remembered."""
        if isinstance(what, Fraction):
            price = units(self.cost_of_rho(what), self._per_one)
            return price, price
        if self._last is not None and self._last[0] is what:
            return self._last[1]
        one, other = (None if cost is None else units(cost, self._per_one) for cost in self.costs(what))
        self._last = what, (one, other)
        return one, other

    def fits(self, price: Price) -> bool:
        """Whether so much may still be spent, in both orders."""
        return self._fits(self._used[0], price[0]) and self._fits(self._used[1], price[1])

    def _fits(self, used: int | None, price: int | None) -> bool:
        return price is not None and used is not None and used + price <= self._limit

    def add(self, price: Price) -> None:
        """Charge it, also where it does not fit: another meter may have admitted it."""
        self._used = _sum(self._used[0], price[0]), _sum(self._used[1], price[1])

    def over(self, price: Price) -> tuple[Fraction | None, Fraction]:
        """Of a price that does not fit: what it costs, and what remains, in an order in which it does not."""
        first = not self._fits(self._used[0], price[0])
        used, asked = (self._used[0], price[0]) if first else (self._used[1], price[1])
        left = self._limit - (self._limit if used is None else min(used, self._limit))
        return None if asked is None else Fraction(asked, self._per_one), Fraction(left, self._per_one)

    @property
    def spent(self) -> Fraction:
        """What was spent in the order that has cost more; more than the budget where another meter admitted it."""
        return Fraction(max(self._limit + 1 if used is None else used for used in self._used), self._per_one)

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly."""
        return max(self.budget - self.spent, Fraction(0))


class RhoMeter(Meter):
    """The sum of the rhos. Theorem: docs/theorems/filter.md."""

    def cost(self, curve: Curve) -> Fraction | None:
        """rho."""
        return None if curve.unbounded else curve.rho_fraction

    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """Itself."""
        return rho

    def said(self, amount: str) -> str:
        """In rho."""
        return f"rho ({amount})"


class OrderMeter(Meter):
    """The sums of the divergences of one order, in each order of neighbours. Theorem: docs/theorems/renyi-filter.md."""

    def __init__(self, order: Fraction, budget: Fraction) -> None:
        super().__init__(budget)
        self.order = order

    def cost(self, curve: Curve) -> Fraction | None:
        """The divergence, rounded up, or order times rho, which is at least as large and may be an exact number."""
        if curve.unbounded:
            return None
        known = curve.rdp(self.order)
        by_rho = self.order * curve.rho_fraction if curve.rho < inf else None
        found = None if known == inf else Fraction(known)
        return min((one for one in (found, by_rho) if one is not None), default=None)

    def costs(self, curve: Curve) -> Both:
        """The divergence in each order of the neighbours, rounded up; none is above the larger of both."""
        most = self.cost(curve)
        if most is None or curve.relation is not Relation.ADD_REMOVE:
            return most, most
        one, other = rdp_each_way(curve, self.order)
        return (most if one is None else min(one, most)), (most if other is None else min(other, most))

    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """The order times rho, which is what zCDP says of it."""
        return self.order * rho

    def said(self, amount: str) -> str:
        """In divergence of the order."""
        return f"divergence of order {shown(self.order, 6)} ({amount})"


def _sum(used: int | None, price: int | None) -> int | None:
    return None if used is None or price is None else used + price


def meters_at(
    epsilon: Fraction, delta: Fraction, orders: tuple[Value, ...] | None, workload: Curve | None
) -> tuple[OrderMeter, ...]:
    """One meter for each order, all of delta for one alone, equal shares of it for several.

    The orders as told, but for those that leave nothing of epsilon; the best one for a workload; else a dozen of them.
    """
    if workload is not None:
        chosen: tuple[Fraction, ...] = (best_order(workload, epsilon, delta),)
    elif orders is not None:
        chosen = tuple(rational(order, "order") for order in orders)
        if not chosen or len(set(chosen)) < len(chosen):
            raise BadValue("orders must be different ones, and at least one")
        chosen = _useful(epsilon, delta, chosen)
    else:
        chosen = _several(epsilon, delta)
    return tuple(OrderMeter(order, renyi_budget(epsilon, delta / len(chosen), order)) for order in chosen)


def _useful(epsilon: Fraction, delta: Fraction, orders: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Without the orders that leave nothing of epsilon at their share of delta: the others share what those would have.

    One after another, that which leaves least first, as each that goes makes the shares larger; one always stays.
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
    """Orders at equal steps of log(alpha - 1), from a quarter beyond the least that leaves anything of epsilon."""
    target, chance = float(epsilon), log(float(delta) / SPREAD)

    def left(s: float) -> float:
        return target + (chance + log(1 + s)) / s - log(s / (1 + s))

    low, high = -20.0, 60.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if left(exp(middle)) > 0 else (middle, high)
    least = 1.25 * exp(high)
    return tuple(Fraction(f"{1 + least * 100 ** (n / (SPREAD - 1)):.6g}") for n in range(SPREAD))


# A privacy filter: admits what fits the rest of a budget, and refuses the rest; exact to the last digit.


class BudgetExceeded(ZcdpError):
    """The request would overspend; nothing was spent."""


class Spend(NamedTuple):
    """What was admitted: a mechanism or plan, or a rho; and what it was called."""

    what: Curve | Fraction
    label: str | None = None


@spoken_class
class Filter:
    """Fully adaptive composition within a budget: each next mechanism may depend on all outputs so far.

    With `rho` the whole run is rho-zCDP if the sum of what is spent never exceeds rho: adaptivity costs nothing extra.
    With `epsilon` and `delta` it is (epsilon, delta)-DP: divergences of an order are added, which is fixed before
    anything is spent. `workload`, a mechanism or plan of the kind to come, chooses the order that admits most of it;
    `order` states one; `orders` several, among which delta is split, and a spend is admitted while some order has room
    for it; of these, such as leave nothing of epsilon are left out and have no share. Without any of these there are a
    dozen orders. No other order, and no profile of what happened to run, may be claimed afterwards. Of mechanisms for
    add_remove neighbours, which all face the same way, one sum is kept with the person against without, and one the
    other way round.

    Sums are rational numbers. Each cost is rounded up to a whole multiple of a unit below 1e-1000, of which decimals
    of up to 1000 places and the budget itself are multiples already: so a spend takes constant time, whatever was spent
    before. It is atomic between threads. A filter is one budget: it cannot be copied or pickled, and a forked process
    may not spend from it. Theorems: docs/theorems/filter.md, docs/theorems/renyi-filter.md.

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
    ) -> None:
        self.epsilon: Fraction | None = None
        self.delta: Fraction | None = None
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
            self._meters = meters_at(self.epsilon, self.delta, told, workload)
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
        """The meter with the largest share left."""
        return max(self._meters, key=lambda meter: meter.remaining / meter.budget)

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders at which divergences are added; none for a budget in rho."""
        return tuple(meter.order for meter in self._meters if isinstance(meter, OrderMeter))

    @property
    def budget(self) -> Fraction:
        """What may be spent in total: rho, or divergence of the order that has the largest share left."""
        return self._best.budget

    @property
    def spent(self) -> Fraction:
        """What was spent so far, exactly, in the same unit."""
        return self._best.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly, in the same unit."""
        return self._best.remaining

    @property
    def history(self) -> tuple[Spend, ...]:
        """What was admitted, in its order."""
        return tuple(self._history)

    def would_fit(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> bool:
        """Whether the request would be admitted now."""
        what = _what(mechanism, rho)
        if not isinstance(what, Fraction):
            self._relation.joined(what.relation)
        return self._is_here() and any(meter.fits(meter.price(what)) for meter in self._meters)

    def spend(self, mechanism: Curve | None = None, *, rho: Value | None = None, label: str | None = None) -> None:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit."""
        what = _what(mechanism, rho)
        if label is not None and not isinstance(label, str):
            raise BadType(f"label ({thing(label)}) must be text")
        if not self._is_here():
            raise BudgetExceeded("a forked process has no share in the budget of its parent: nothing was spent")
        prices = [meter.price(what) for meter in self._meters]
        with self._lock:
            relation = self._relation if isinstance(what, Fraction) else self._relation.joined(what.relation)
            if any(meter.fits(price) for meter, price in zip(self._meters, prices, strict=True)):
                self._relation = relation
                self._history.append(Spend(what, label))
                for meter, price in zip(self._meters, prices, strict=True):
                    meter.add(price)
                return
        meter = self._best
        cost, left = meter.over(meter.price(what))
        asked = meter.said("inf" if cost is None else shown(cost, 17))
        raise BudgetExceeded(f"{asked} exceeds what remains ({shown(left, 17)}): nothing was spent")

    def _is_here(self) -> bool:
        return os.getpid() == self._process


def _what(mechanism: Curve | None, rho: Value | None) -> Curve | Fraction:
    """What to charge."""
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    if mechanism is None:
        assert rho is not None
        return positive_rational(rho, "rho")
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return mechanism
