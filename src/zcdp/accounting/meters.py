"""Meters of a privacy filter: what a spend costs in rho, or at one Renyi order, and how much of it is left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import exp, inf, log

from zcdp.accounting.cost import GRID, units
from zcdp.accounting.renyi import best_order, renyi_budget, renyi_left
from zcdp.errors import BadValue
from zcdp.numeric.exact import Value, rational, shown
from zcdp.privacy.curve import Curve
from zcdp.privacy.each_way import Both, rdp_each_way
from zcdp.privacy.relation import Relation

__all__ = ["Meter", "OrderMeter", "RhoMeter", "meters_at"]

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
