"""The terms of an account: whom it protects, in which currency it counts, and what a spend costs in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from zcdp.accounting.filter import best_order, charge, charge_down, renyi_budget
from zcdp.errors import BadType, BadValue
from zcdp.ledger.store import LedgerError
from zcdp.numeric.exact import Value, positive_rational, probability, rational
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["NEIGHBOURS", "Terms", "approx_to_rho", "terms_of"]

NEIGHBOURS = {"add-remove": Relation.ADD_REMOVE, "replace": Relation.REPLACE, "local": Relation.REPLACE}
"""What an account may be opened for; `local` is a person's own report, which is not hidden among those of others."""
LARGEST_BUDGET = 10**9
MANY = 64
"""Beyond so many different mechanisms in one spend their rho are added, which is quick; their joint rho is slow."""


@dataclass(frozen=True)
class Terms:
    """What was agreed when the account was opened, and is never changed: a raise changes epsilon or the budget only.

    `order` is None where the account counts rho, else the Renyi order at which it counts.
    """

    unit: str
    neighbours: str = "add-remove"
    order: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None

    @property
    def measure(self) -> str:
        """The currency: rho, or the Renyi divergence of one order."""
        return "rho" if self.order is None else "renyi"

    def to_json(self) -> str:
        """As it is written into the chain."""
        numbers = {"order": self.order, "epsilon": self.epsilon, "delta": self.delta}
        given = {name: str(value) for name, value in numbers.items() if value is not None}
        data = {"measure": self.measure, "neighbours": self.neighbours, "unit": self.unit, **given}
        return json.dumps(data, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """The inverse of `to_json`; anything else is refused."""
        try:
            return _terms(text)
        except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            raise LedgerError("the terms of an account cannot be read: written by a newer zcdp, or damaged") from None

    def budget(self) -> Fraction:
        """What may be spent in the account's currency, where epsilon and delta say it; rounded down."""
        if self.epsilon is None or self.delta is None:
            raise BadValue("the budget of this account was given as rho")
        if self.order is not None:
            return charge_down(renyi_budget(self.epsilon, self.delta, self.order))
        return charge_down(approx_to_rho(self.epsilon, self.delta))

    def agree(self, **given: str | None) -> None:
        """Refuse a unit or a relation that is not that of the account."""
        for what, said in given.items():
            if said is not None and said != (agreed := getattr(self, what)):
                raise BadValue(
                    f"{what} ({said!r}) is not that of the account ({agreed!r}): nothing was spent; spend it from an "
                    f"account opened with {what}={said!r}"
                )

    def strange(self, curve: Curve) -> tuple[str, str] | None:
        """What of a mechanism or plan is stated for other neighbours than the account's, and what to do; None if none.

        Its cost would be about data sets that the account does not speak of. What is stated for either relation, as
        noise of a given sensitivity is, must have the sensitivity that belongs to the account's.
        """
        agreed = NEIGHBOURS[self.neighbours]
        mine = f"and the account is for {self.neighbours} neighbours"
        for part, _ in curve.parts:
            local = getattr(part, "local", False)
            if part.relation not in (agreed, Relation.EITHER):
                right = "add-remove" if part.relation is Relation.ADD_REMOVE else "local" if local else "replace"
                what = f"{part!r} is stated for {right} neighbours, {mine}"
                return what, f"spend it from an account opened with neighbours={right!r}"
            if self.neighbours == "local" and part.relation is agreed and not local:
                what = f"{part!r} hides a person among others, {mine}, of whom nobody else hides anything"
                return what, "spend it from an account opened with neighbours='replace'"
        return None

    def check_neighbours(self, curve: Curve) -> None:
        """Refuse what is stated for other neighbours than the account's."""
        if (wrong := self.strange(curve)) is not None:
            raise BadValue(f"{wrong[0]}: nothing was spent; {wrong[1]}")

    def cost(self, curve: Curve) -> Fraction:
        """What a mechanism or plan is charged: its certified rho, or its divergence at the account's order.

        Theorems: docs/theorems/filter.md and docs/theorems/renyi-filter.md.
        """
        self.check_neighbours(curve)
        if curve.unbounded:
            raise BadValue(f"{self.measure} is infinite: the mechanism can give an input away")
        if self.order is not None:
            return charge(rational(curve.rdp(self.order), "the divergence"))
        # asked of the parts, so that a mechanism costs the same alone, in a plan, and read back from the record
        added = sum((part.rho_fraction * count for part, count in curve.parts), Fraction(0))
        return charge(added if len(curve.parts) == 1 or len(curve.parts) > MANY else min(added, curve.rho_fraction))


@lru_cache(1024)
def _terms(text: str) -> Terms:
    data = json.loads(text)
    known = {"measure", "neighbours", "unit", "order", "epsilon", "delta"}
    if not isinstance(data, dict) or set(data) - known or not all(isinstance(value, str) for value in data.values()):
        raise BadValue(text)
    numbers = {name: Fraction(data[name]) for name in ("order", "epsilon", "delta") if name in data}
    terms = Terms(data["unit"], data["neighbours"], **numbers)
    whole = (terms.epsilon is None) == (terms.delta is None) and (terms.order is None or terms.epsilon is not None)
    if terms.to_json() != text or terms.neighbours not in NEIGHBOURS or not terms.unit or not whole:
        raise BadValue(text)
    return terms


def terms_of(
    *,
    unit: str,
    neighbours: str,
    rho: Value | None,
    epsilon: Value | None,
    delta: Value | None,
    order: Value | None,
    workload: Curve | None,
) -> tuple[Terms, Fraction]:
    """Terms and budget of a new account, from what a person gives."""
    if not isinstance(neighbours, str) or neighbours not in NEIGHBOURS:
        raise BadValue(f"neighbours ({neighbours!r}) must be one of {', '.join(NEIGHBOURS)}")
    if rho is not None:
        if any(value is not None for value in (epsilon, delta, order, workload)):
            raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
        return Terms(unit, neighbours), small(charge_down(positive_rational(rho, "rho")), rho, "rho")
    if epsilon is None or delta is None:
        raise BadType("give a budget: rho, or epsilon and delta")
    target, chance = positive_rational(epsilon, "epsilon"), probability(delta, "delta")
    small(target, epsilon, "epsilon")
    if order is not None and workload is not None:
        raise BadValue(f"give the order ({order}), or a workload to choose it by, not both")
    fixed = None if order is None else rational(order, "order")
    if workload is not None:
        if not isinstance(workload, Curve):
            raise BadType(f"workload ({thing(workload)}) must be a mechanism or a plan")
        Terms(unit, neighbours).check_neighbours(workload)
        fixed = best_order(workload, target, chance)
    terms = Terms(unit, neighbours, fixed, target, chance)
    return terms, terms.budget()


def small(number: Fraction, given: object, name: str) -> Fraction:
    """A budget that someone can mean."""
    if number > LARGEST_BUDGET:
        raise BadValue(f"{name} ({given}) must be at most 10^9")
    if number <= 0:
        raise BadValue(f"{name} ({given}) is smaller than a ledger can count")
    return number


@lru_cache(256)
def approx_to_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to fifteen digits, of which (epsilon, delta)-DP follows: checked by a certified bound.

    >>> float(approx_to_rho(Fraction(1), Fraction(1, 10**6)))
    0.024355970359538...
    """

    def fits(rho: float) -> bool:
        return zcdp_to_epsilon(rho, delta) <= epsilon

    return Fraction(_largest(fits, float(epsilon)))


def _largest(fits: Callable[[float], bool], start: float) -> float:
    """By bisection; whatever it does, the answer was seen to fit."""
    low, high = start, start
    while not fits(low):
        low, high = low / 2, low
        if low < 1e-290:
            raise BadValue("the budget is so small that no rho fits")
    while fits(high):
        low, high = high, high * 2
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
