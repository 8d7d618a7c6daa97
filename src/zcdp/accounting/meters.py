"""Meters of a privacy filter: what a spend costs in rho, or at one Renyi order, and how much of it is left."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import exp, inf, log

from zcdp.accounting.cost import GRID, units
from zcdp.accounting.renyi import best_order, renyi_budget
from zcdp.errors import BadValue
from zcdp.numeric.exact import Value, rational, shown
from zcdp.privacy.curve import Curve

__all__ = ["Meter", "OrderMeter", "RhoMeter", "meters_at"]

SPREAD = 12
"""So many orders where none is told; from the least that leaves anything to a hundred times as far from 1."""


class Meter(ABC):
    """A sum that must not exceed a budget, in whole units, so that it takes constant time to add to it.

    Costs are rounded up to a unit, the budget is a whole number of them. Theorem: docs/theorems/filter.md.
    """

    def __init__(self, budget: Fraction) -> None:
        self.budget = budget
        self._per_one = GRID * budget.denominator
        self._limit = units(budget, self._per_one)
        self._used: int | None = 0
        """None once something of infinite cost was admitted by another meter."""
        self._last: tuple[Curve, int | None] | None = None

    @abstractmethod
    def cost(self, curve: Curve) -> Fraction | None:
        """What a mechanism costs; None where that is infinite."""

    @abstractmethod
    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """What a rho that is known otherwise costs."""

    @abstractmethod
    def said(self, amount: str) -> str:
        """An amount, with its unit."""

    def price(self, what: Curve | Fraction) -> int | None:
        """The cost in whole units; that of the same mechanism again is remembered."""
        if isinstance(what, Fraction):
            return units(self.cost_of_rho(what), self._per_one)
        if self._last is not None and self._last[0] is what:
            return self._last[1]
        cost = self.cost(what)
        price = None if cost is None else units(cost, self._per_one)
        self._last = what, price
        return price

    def fits(self, price: int | None) -> bool:
        """Whether so much may still be spent."""
        return price is not None and self._used is not None and self._used + price <= self._limit

    def add(self, price: int | None) -> None:
        """Charge it, also where it does not fit: another meter may have admitted it."""
        self._used = None if price is None or self._used is None else self._used + price

    @property
    def spent(self) -> Fraction:
        """What was spent, exactly; more than the budget where another meter admitted it."""
        return Fraction(self._limit + 1 if self._used is None else self._used, self._per_one)

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
    """The sum of the divergences of one order, over all neighbours. Theorem: docs/theorems/renyi-filter.md."""

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

    def cost_of_rho(self, rho: Fraction) -> Fraction:
        """The order times rho, which is what zCDP says of it."""
        return self.order * rho

    def said(self, amount: str) -> str:
        """In divergence of the order."""
        return f"divergence of order {shown(self.order, 6)} ({amount})"


def meters_at(
    epsilon: Fraction, delta: Fraction, orders: tuple[Value, ...] | None, workload: Curve | None
) -> tuple[OrderMeter, ...]:
    """One meter for each order, all of delta for one alone, equal shares of it for several.

    The orders as told; the best one for a workload; else a dozen of them.
    """
    if workload is not None:
        chosen: tuple[Fraction, ...] = (best_order(workload, epsilon, delta),)
    elif orders is not None:
        chosen = tuple(rational(order, "order") for order in orders)
        if not chosen or len(set(chosen)) < len(chosen):
            raise BadValue("orders must be different ones, and at least one")
    else:
        chosen = _several(epsilon, delta)
    return tuple(OrderMeter(order, renyi_budget(epsilon, delta / len(chosen), order)) for order in chosen)


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
