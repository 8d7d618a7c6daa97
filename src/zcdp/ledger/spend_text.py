"""How a spend is written into an entry, as a plan in JSON or as a bare rho, and how it is read and priced again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction

from zcdp.accounting import Plan
from zcdp.accounting.filter import charge
from zcdp.errors import BadType, BadValue
from zcdp.ledger.store import LONGEST_PLAN
from zcdp.ledger.terms import Terms
from zcdp.numeric.exact import Value, positive_rational
from zcdp.privacy.curve import Curve

__all__ = ["bare_rho", "composed", "cost_of", "plan_of", "priced", "written"]


def written(curve: Curve) -> str:
    """A mechanism or plan as the JSON text stored in an entry."""
    text = Plan.sum_of(curve).to_json()
    if len(text) > LONGEST_PLAN:
        raise BadValue(f"the plan is too long to be written down ({len(text)} characters): spend it in parts")
    return text


def priced(terms: Terms, mechanism: Curve | None, rho: Value | None) -> tuple[str, Fraction]:
    """The text to store for a mechanism or a rho, and its cost in the currency of these terms."""
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    if rho is not None:
        if terms.order is not None:
            raise BadValue("this account counts a Renyi divergence: give the mechanism, a bare rho does not tell it")
        cost = charge(positive_rational(rho, "rho"))
        return json.dumps({"rho": str(cost)}), cost
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return written(mechanism), terms.cost(mechanism)


def bare_rho(what: str) -> Fraction | None:
    """The rho of a spend that was given as rho; None for any other text.

    >>> bare_rho('{"rho": "1/10"}')
    Fraction(1, 10)
    """
    if not what.startswith('{"rho": "'):
        return None
    try:
        data = json.loads(what)
        rho = Fraction(data["rho"])
        return rho if set(data) == {"rho"} and rho > 0 else None
    except (ValueError, TypeError, ZeroDivisionError, RecursionError):
        return None


def plan_of(what: str) -> Plan | None:
    """The plan of a spend; None if it was given as rho, or cannot be read."""
    try:
        return None if what.startswith("{") else Plan.from_json(what)
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return None


def cost_of(terms: Terms, what: str) -> Fraction | str:
    """The cost of a stored spend as this version of zcdp computes it; or, as text, why it cannot be one."""
    if (rho := bare_rho(what)) is not None:
        return rho if terms.order is None else "is known by rho alone, in an account that counts a Renyi divergence"
    plan = plan_of(what)
    if plan is None:
        return "has a plan that this zcdp cannot read"
    if (wrong := terms.strange(plan)) is not None:
        return wrong[0]
    try:
        return terms.cost(plan)
    except (ValueError, ArithmeticError):
        return "has a plan that this zcdp cannot price"


def composed(account: str, spends: Iterable[tuple[str, int]]) -> Plan:
    """One plan from pairs of stored spend and count; raises if there are none, or if one has no plan."""
    whole: Plan | None = None
    for what, count in spends:
        plan = plan_of(what)
        if plan is None:
            raise BadValue(f"some spends of {account!r} are known by rho alone: they have no plan")
        more = Plan.repeated(plan, count)
        whole = more if whole is None else whole + more
    if whole is None:
        raise BadValue(f"nothing was spent of {account!r} yet")
    return whole
