"""The terms of an account: unit of privacy, neighbouring relation, currency, and what a mechanism costs in it.

The currency is rho (zCDP), or the Renyi divergence at one fixed order.
"""

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
"""The neighbouring relations of accounts. `local` is for local differential privacy: each person's own report is
protected by its own randomness, not by being hidden among other people's."""
LARGEST_BUDGET = 10**9
MOST_JOINT_PARTS = 64
"""A plan of at most this many different mechanisms is charged their joint rho, whose search over all orders is slow
for more; a plan of more is charged the sum of their rho."""


@dataclass(frozen=True)
class Terms:
    """What was fixed when the account was opened. Raising the budget changes epsilon at most, nothing else here.

    `order` is None if the account counts rho, else the Renyi order alpha at which it counts divergences.
    """

    unit: str
    neighbours: str = "add-remove"
    order: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None

    @property
    def measure(self) -> str:
        """The currency: "rho", or "renyi" for the Renyi divergence of one order."""
        return "rho" if self.order is None else "renyi"

    def to_json(self) -> str:
        """The JSON text stored in the entry that opens the account."""
        numbers = {"order": self.order, "epsilon": self.epsilon, "delta": self.delta}
        given = {name: str(value) for name, value in numbers.items() if value is not None}
        data = {"measure": self.measure, "neighbours": self.neighbours, "unit": self.unit, **given}
        return json.dumps(data, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """Read what `to_json` wrote; any other text raises `LedgerError`."""
        try:
            return _terms(text)
        except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            raise LedgerError("the terms of an account cannot be read: written by a newer zcdp, or damaged") from None

    def budget(self) -> Fraction:
        """The budget in the account's currency that follows from epsilon and delta; rounded down."""
        if self.epsilon is None or self.delta is None:
            raise BadValue("the budget of this account was given as rho")
        if self.order is not None:
            return charge_down(renyi_budget(self.epsilon, self.delta, self.order))
        return charge_down(approx_to_rho(self.epsilon, self.delta))

    def agree(self, **given: str | None) -> None:
        """Raise `BadValue` if a stated unit or neighbouring relation is not the account's; None is not checked."""
        for what, said in given.items():
            if said is not None and said != (agreed := getattr(self, what)):
                raise BadValue(
                    f"{what} ({said!r}) is not that of the account ({agreed!r}): nothing was spent; spend it from an "
                    f"account opened with {what}={said!r}"
                )

    def strange(self, curve: Curve) -> tuple[str, str] | None:
        """The first part of a plan that is stated for other neighbours than the account's, as (complaint, remedy).

        None if there is none. The cost of such a part would be about other pairs of data sets than the account's
        guarantee. A mechanism stated for either relation, such as noise of a given sensitivity, passes: the caller
        must have given the sensitivity under the account's relation.
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
        """Raise `BadValue` if a part of the plan is stated for other neighbours than the account's."""
        if (wrong := self.strange(curve)) is not None:
            raise BadValue(f"{wrong[0]}: nothing was spent; {wrong[1]}")

    def cost(self, curve: Curve) -> Fraction:
        """What a mechanism or plan is charged, rounded up: its certified rho, or its divergence at the account's order.

        Theorems: docs/theorems/filter.md and docs/theorems/renyi-filter.md.
        """
        self.check_neighbours(curve)
        if curve.unbounded:
            raise BadValue(f"{self.measure} is infinite: the mechanism can give an input away")
        if self.order is not None:
            return charge(rational(curve.rdp(self.order), "the divergence"))
        # The sum over parts makes a mechanism cost the same alone, in a plan of one part, and read back from an entry.
        added = sum((part.rho_fraction * count for part, count in curve.parts), Fraction(0))
        return charge(
            added if len(curve.parts) == 1 or len(curve.parts) > MOST_JOINT_PARTS else min(added, curve.rho_fraction)
        )


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
    """Terms and budget of a new account from the arguments of `Ledger.open_account`."""
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
    """The number, if it is positive and at most 10^9; otherwise raises `BadValue` with the value as `given`."""
    if number > LARGEST_BUDGET:
        raise BadValue(f"{name} ({given}) must be at most 10^9")
    if number <= 0:
        raise BadValue(f"{name} ({given}) is smaller than a ledger can count")
    return number


@lru_cache(256)
def approx_to_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to fifteen digits, such that rho-zCDP implies (epsilon, delta)-DP, by the certified conversion.

    >>> float(approx_to_rho(Fraction(1), Fraction(1, 10**6)))
    0.024355970359538...
    """

    def fits(rho: float) -> bool:
        return zcdp_to_epsilon(rho, delta) <= epsilon

    return Fraction(_largest(fits, float(epsilon)))


def _largest(fits: Callable[[float], bool], start: float) -> float:
    """The largest float that fits, to fifteen digits, by bisection from `start`; `fits` was True for the result."""
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
