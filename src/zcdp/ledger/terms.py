"""The terms of an account: unit of privacy, neighbouring relation, currency, and what a mechanism costs in it.

The currency is rho (zCDP), or the Renyi divergence at one fixed order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from zcdp.accounting.filter import GRID, best_order, charge, charge_down, left_of_delta, renyi_budget
from zcdp.errors import BadType, BadValue
from zcdp.ledger.periods import EVERY, check_period
from zcdp.ledger.store import LedgerError
from zcdp.numeric.exact import Value, in_domain, positive_rational, probability, rational
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.search import bisection, gallop
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

__all__ = ["NEIGHBOURS", "Terms", "approx_to_rho", "terms_of"]

NEIGHBOURS = {"add-remove": Relation.ADD_REMOVE, "replace": Relation.REPLACE, "local": Relation.REPLACE}
"""The neighbouring relations of accounts. `local` is for local differential privacy: each person's own report is
protected by its own randomness, not by being hidden among other people's."""
NUMBERS = ("order", "epsilon", "delta", "approximate")
OPTIONAL = (*NUMBERS, "under", "every", "zone")
"""The fields of `Terms` that are written only where they are given."""
LARGEST_BUDGET = 10**9
MOST_JOINT_PARTS = 64
"""A plan of at most this many different mechanisms is charged their joint rho, whose search over all orders is slow
for more; a plan of more is charged the sum of their rho."""


@dataclass(frozen=True)
class Terms:
    """What was fixed when the account was opened. Raising or lowering the budget changes epsilon at most.

    `order` is None if the account counts rho, else the Renyi order alpha at which it counts divergences. `approximate`
    is the sum of delta that spends of approximate zCDP may have, None if there may be no such spends. `under` is the
    account above this one, which every spend is charged to as well. An account with `every` has its whole budget anew
    in each such period of the calendar in the time zone `zone`.
    """

    unit: str
    neighbours: str = "add-remove"
    order: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    approximate: Fraction | None = None
    under: str | None = None
    every: str | None = None
    zone: str | None = None

    @property
    def measure(self) -> str:
        """The currency: "rho", or "renyi" for the Renyi divergence of one order."""
        return "rho" if self.order is None else "renyi"

    def to_json(self) -> str:
        """The JSON text stored in the entry that opens the account."""
        given = {name: str(value) for name in OPTIONAL if (value := getattr(self, name)) is not None}
        data = {"measure": self.measure, "neighbours": self.neighbours, "unit": self.unit, **given}
        return json.dumps(data, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """Read what `to_json` wrote; any other text raises `LedgerError`."""
        try:
            return _terms(text)
        except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            raise LedgerError("the terms of an account cannot be read: written by a newer zcdp, or damaged") from None

    @unlimited  # the terms of an earlier version may lie beyond the domain of this one
    def budget(self) -> Fraction:
        """The budget in the account's currency that follows from epsilon and delta; rounded down."""
        if self.epsilon is None or self.delta is None:
            raise BadValue("the budget of this account was given as rho")
        left = left_of_delta(self.delta, self.approximate)  # docs/theorems/approximate-filter.md
        if self.order is not None:
            return charge_down(renyi_budget(self.epsilon, left, self.order))
        return charge_down(approx_to_rho(self.epsilon, left))

    def check_above(self, above: Terms) -> None:
        """Raise `BadValue` unless an account on these terms may stand under one on those of `above`.

        One spend has one cost, which is charged to both: so both count the same, for the same people.
        Theorem: docs/theorems/budget-levels.md.
        """
        for what in ("unit", "neighbours", "order"):
            mine, its = getattr(self, what), getattr(above, what)
            if mine != its:
                said = " and ".join(f"{what} {'none, so rho' if one is None else one}" for one in (mine, its))
                raise BadValue(f"a spend is charged to the account and to the one above: they cannot have {said}")

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
            if note := getattr(part, "note", ""):
                return f"{part!r}: {note}, {mine}", "give its cost as rho, if the account's neighbours are joined by it"
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
            divergence = unlimited(curve.rdp)(self.order)  # the order of an earlier version may be a larger one
            return charge(rational(divergence, "the divergence"))
        # The sum over parts makes a mechanism cost the same alone, in a plan of one part, and read back from an entry.
        added = sum((part.rho_fraction * count for part, count in curve.parts), Fraction(0))
        return charge(
            added if len(curve.parts) == 1 or len(curve.parts) > MOST_JOINT_PARTS else min(added, curve.rho_fraction)
        )


@lru_cache(1024)
def _terms(text: str) -> Terms:
    data = json.loads(text)
    known = {"measure", "neighbours", "unit", *OPTIONAL}
    if not isinstance(data, dict) or set(data) - known or not all(isinstance(value, str) for value in data.values()):
        raise BadValue(text)
    given: dict[str, Any] = {name: data[name] for name in OPTIONAL if name in data}
    given |= {name: Fraction(data[name]) for name in NUMBERS if name in data}
    terms = Terms(data["unit"], data["neighbours"], **given)
    whole = (terms.epsilon is None) == (terms.delta is None) and (terms.order is None or terms.epsilon is not None)
    if terms.to_json() != text or terms.neighbours not in NEIGHBOURS or not terms.unit or not whole:
        raise BadValue(text)
    if (terms.every is None) != (terms.zone is None) or (terms.every is not None and terms.every not in EVERY):
        raise BadValue(text)
    if terms.approximate is not None and (
        not 0 < terms.approximate < (terms.delta or 1) or GRID % terms.approximate.denominator
    ):
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
    approximate: Value | None = None,
    under: str | None = None,
    every: str | None = None,
    zone: str | None = None,
) -> tuple[Terms, Fraction]:
    """Terms and budget of a new account from the arguments of `Ledger.open_account`."""
    if not isinstance(neighbours, str) or neighbours not in NEIGHBOURS:
        raise BadValue(f"neighbours ({neighbours!r}) must be one of {', '.join(NEIGHBOURS)}")
    if every is None and zone is not None:
        raise BadType("zone is the time zone of a period: give every too")
    if every is not None:
        zone = "UTC" if zone is None else zone
        check_period(every, zone)
    beside: dict[str, Any] = {"under": under, "every": every, "zone": zone}
    mass = None if approximate is None else charge_down(probability(approximate, "approximate"))
    if mass == 0:
        raise BadValue(f"approximate ({approximate}) is smaller than a ledger can count")
    if rho is not None:
        if any(value is not None for value in (epsilon, delta, order, workload)):
            raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
        budget = small(charge_down(positive_rational(rho, "rho")), rho, "rho")
        return Terms(unit, neighbours, approximate=mass, **beside), budget
    if epsilon is None or delta is None:
        raise BadType("give a budget: rho, or epsilon and delta")
    target, chance = positive_rational(epsilon, "epsilon"), probability(delta, "delta")
    small(target, epsilon, "epsilon")
    if mass is not None and mass >= chance:
        raise BadValue(f"approximate ({approximate}) must be below delta ({delta}), of which it is a part")
    if order is not None and workload is not None:
        raise BadValue(f"give the order ({order}), or a workload to choose it by, not both")
    fixed = None if order is None else in_domain(rational(order, "order"), "order", order)
    if workload is not None:
        if not isinstance(workload, Curve):
            raise BadType(f"workload ({thing(workload)}) must be a mechanism or a plan")
        Terms(unit, neighbours).check_neighbours(workload)
        fixed = best_order(workload, target, left_of_delta(chance, mass))
    terms = Terms(unit, neighbours, fixed, target, chance, mass, **beside)
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

    return Fraction(_largest_rho(fits, float(epsilon)))


def _largest_rho(fits: Callable[[float], bool], start: float) -> float:
    """The largest float that fits, to fifteen digits, by bisection from `start`; `fits` was True for the result."""
    around = gallop(fits, start, 2.0)
    if around is None:
        raise BadValue("the budget is so small that no rho fits")
    return bisection(fits, *around, relative=1e-15)[1]
