"""How a spend is written into an entry, as a plan in JSON or as a bare rho, and how it is read and priced again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from zcdp.accounting import Plan
from zcdp.accounting.filter import charge
from zcdp.errors import BadType, BadValue
from zcdp.ledger.model import Cost
from zcdp.ledger.store import LONGEST_PLAN
from zcdp.ledger.terms import Terms
from zcdp.mechanisms.revealing_event import Lone, lone_keys, without_events
from zcdp.numeric.exact import Value, positive_rational, probability
from zcdp.numeric.parameter_domains import unlimited
from zcdp.plans.plan_file import PlanFile
from zcdp.privacy.curve import Curve
from zcdp.tables.discovered_keys import MOST_CELLS

__all__ = ["bare_rho", "composed", "cost_of", "plan_of", "priced", "reason_of", "said", "written"]


def written(curve: Curve) -> str:
    """A mechanism or plan as the JSON text stored in an entry."""
    text = Plan.sum_of(curve).to_json()
    if len(text) > LONGEST_PLAN:
        raise BadValue(f"the plan is too long to be written down ({len(text)} characters): spend it in parts")
    return text


def priced(terms: Terms, mechanism: Curve | None, rho: Value | None, delta: Value | None = None) -> tuple[str, Cost]:
    """The text to store for a mechanism or a rho, and its cost in the currency of these terms.

    With `delta` the spend is delta-approximate zCDP: what is given holds but for an event of that probability.
    """
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    mass = Fraction(0) if delta is None else charge(probability(delta, "delta"))
    more: dict[str, Any] = {"delta": str(mass)} if mass else {}
    if rho is not None:
        if terms.order is not None:
            raise BadValue("this account counts a Renyi divergence: give the mechanism, a bare rho does not tell it")
        cost = charge(positive_rational(rho, "rho"))
        return json.dumps({**more, "rho": str(cost)}), Cost(cost, mass)
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    finite, event = without_events(mechanism)
    if finite is None:
        raise BadValue("a spend needs a mechanism beside an event that gives a person away")
    if event:  # what is told but for the event is what is written down, with its delta
        terms.check_neighbours(mechanism)
        mass = charge(event + (Fraction(0) if delta is None else probability(delta, "delta")))
        lone = lone_keys(mechanism) if delta is None else None
        mechanism, more = finite, {"delta": str(mass)}
        if lone:  # what the delta follows from, so that whoever verifies the ledger computes it again
            more |= {"keys": [[str(one.variance), one.least, one.keys] for one in lone]}
    text = written(mechanism)
    return json.dumps({**more, "plan": text}) if mass else text, Cost(terms.cost(mechanism), mass)


class Said(NamedTuple):
    """A stored spend as it was given: a plan or a rho, and the delta of approximate zCDP."""

    plan: Plan | None
    rho: Fraction | None
    delta: Fraction
    keys: tuple[Lone, ...] = ()
    """Where the delta is that of found keys: what it follows from."""


@lru_cache(4096)  # the same few plans are read many times
@unlimited  # what was written was in the domain of the version that wrote it
def said(what: str) -> Said | None:
    """Read what `priced` wrote; None for any other text.

    >>> said('{"delta": "1/1000", "rho": "1/10"}')
    Said(plan=None, rho=Fraction(1, 10), delta=Fraction(1, 1000), keys=())
    """
    try:
        if not what.startswith("{"):
            return Said(Plan.from_json(what), None, Fraction(0))
        data = json.loads(what)
        if (
            json.dumps(data) != what
            or set(data) - {"delta", "keys", "rho", "plan"}
            or ("rho" in data) == ("plan" in data)
        ):
            return None
        delta, rho = Fraction(data.get("delta", "0")), Fraction(data.get("rho", "1"))
        if not 0 <= delta < 1 or ("delta" in data) != (delta > 0) or rho <= 0 or ("plan" in data and not delta):
            return None
        keys = _keys(data["keys"]) if "keys" in data else ()
        if keys is None or (keys and ("plan" not in data)):
            return None
        plan = Plan.from_json(data["plan"]) if "plan" in data else None
        return Said(plan, rho if "rho" in data else None, delta, keys)
    except (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None


def _keys(data: Any) -> tuple[Lone, ...] | None:
    """The found keys of a stored spend; None if they are not written as `priced` writes them."""
    found = tuple(Lone(Fraction(variance), least, keys) for variance, least, keys in data)
    whole = all(type(one.least) is int and type(one.keys) is int for one in found)
    fine = whole and all(one.variance > 0 and one.least >= 2 and 1 <= one.keys <= MOST_CELLS for one in found)
    return found if found and fine else None


def bare_rho(what: str) -> Fraction | None:
    """The rho of a spend that was given as rho; None for any other text.

    >>> bare_rho('{"rho": "1/10"}')
    Fraction(1, 10)
    """
    found = said(what)
    return None if found is None else found.rho


def plan_of(what: str) -> Plan | None:
    """The plan of a spend; None if it was given as rho, or cannot be read."""
    found = said(what)
    return None if found is None else found.plan


@unlimited
def cost_of(terms: Terms, what: str) -> Cost | str:
    """The cost of a stored spend as this version of zcdp computes it; or, as text, why it cannot be one."""
    found = said(what)
    if found is None:
        return "has a plan that this zcdp cannot read"
    if found.rho is not None:
        if terms.order is not None:
            return "is known by rho alone, in an account that counts a Renyi divergence"
        return Cost(found.rho, found.delta)
    assert found.plan is not None
    if (wrong := terms.strange(found.plan)) is not None:
        return wrong[0]
    try:
        delta = charge(sum((one.delta for one in found.keys), Fraction(0))) if found.keys else Fraction(0)
        return Cost(terms.cost(found.plan), max(delta, found.delta))
    except (ValueError, ArithmeticError):
        return "has a plan that this zcdp cannot price"


def reason_of(plan: PlanFile) -> str:
    """What a plan file says it is for: its title, data set and author; empty if it says nothing.

    >>> from zcdp.plans.plan_file import read_plan
    >>> query = '[[query]]\\nname = "a"\\nmechanism = "PureDP(epsilon=1)"'
    >>> text = 'title = "Ages"\\nauthor = "Office"\\ndataset = "Census"\\n' + query
    >>> reason_of(read_plan("plan.toml", text))
    'Ages (Census, by Office)'
    """
    more = ", ".join([*([plan.dataset] if plan.dataset else []), *([f"by {plan.author}"] if plan.author else [])])
    return f"{plan.title or plan.source} ({more})" if more else plan.title or ""


def composed(account: str, spends: Iterable[tuple[str, int]]) -> Plan:
    """One plan from pairs of stored spend and count; raises if there are none, or if one has no plan."""
    whole: Plan | None = None
    for what, count in spends:
        plan = plan_of(what)
        if plan is None:
            raise BadValue(f"some spends of {account!r} are known by rho alone: they have no plan")
        found = said(what)
        if found is not None and found.delta:
            raise BadValue(f"some spends of {account!r} have a delta: a plan does not tell it")
        more = Plan.repeated(plan, count)
        whole = more if whole is None else whole + more
    if whole is None:
        raise BadValue(f"nothing was spent of {account!r} yet")
    return whole
