"""Filling a plan file: parameters written `?` are found by `allocate`, within the file's budget or a given one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from zcdp.accounting.allocation import NOISE, Query, TargetsDoNotFit, allocate
from zcdp.accounting.risk_targets import RiskTarget
from zcdp.errors import BadValue, ZcdpError
from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.revealing_event import without_events
from zcdp.numeric.exact import Value, literal, positive_rational, rational
from zcdp.plans.plan_file import THRESHOLD, Budget, Entry, PlanFile, PlanFileError, read_plan
from zcdp.plans.plan_text import FREE, PlanError, parse, parse_open
from zcdp.privacy.curve import Plan

__all__ = ["Filled", "fill"]

_SET = re.compile(r"""\b((?:scale|sigma|rho|epsilon)\s*=\s*)(?:'[^']*'|"[^"]*"|[^\s,()]+)""")


@dataclass(frozen=True)
class Filled:
    """A plan without open parameters; `found` has the queries whose noise was set, with their mechanisms."""

    plan: PlanFile
    budget: Budget
    found: tuple[tuple[Entry, Mechanism], ...]
    held: Fraction
    """The sum of rho of the queries that were not changed."""
    risk: RiskTarget | None = None
    """The limit on an attacker's gain, where that is the budget; `budget` is then empty."""


def fill(
    source: PlanFile | Path,
    *,
    rho: Value | None = None,
    epsilon: Value | None = None,
    delta: Value | None = None,
    advantage: Value | None = None,
    tpr: Value | None = None,
    fpr: Value | None = None,
    objective: Literal["worst", "total"] = "worst",
) -> Filled:
    """The plan with the noise of its open queries found, within the given budget or the file's own.

    Queries without a `?` are not changed, and the budget pays for them first; if no query has a `?`, the noise of all
    is set anew. `objective` says which error is minimized, as in `allocate`.

    >>> text = '[budget]\\nepsilon = 1\\ndelta = 1e-9\\n[[query]]\\nname = "a"\\nmechanism = "Gaussian(sigma=?)"'
    >>> fill(read_plan("plan.toml", text)).plan.entries[0].text
    'Gaussian(sigma=5.4952...)'
    """
    plan = source if isinstance(source, PlanFile) else read_plan(source)
    risk = RiskTarget.given(advantage=advantage, tpr=tpr, fpr=fpr)
    if risk is not None and any(one is not None for one in (rho, epsilon, delta)):
        raise BadValue("give one budget: rho, or epsilon and delta, or advantage, or tpr and fpr")
    budget = _budget(plan, rho, epsilon, delta) if risk is None else Budget(None, None, None)
    # the threshold of found keys, and the delta it costs, follow from their noise: both stay as they are written
    events = {e.name: e for e in plan.entries if e.field == "delta"}
    kept = {*events, *(name.removesuffix(THRESHOLD) for name in events)}
    movable = [e for e in plan.entries if e.name not in kept]
    chosen = [entry for entry in movable if entry.plan is None] or [e for e in movable if _has_noise(e)]
    if not chosen:
        raise PlanFileError(f"{plan.source}: no parameter is written '?', and no query has noise to set")
    fixed = [
        Plan.repeated(e.plan, e.count)
        for e in plan.entries
        if e not in chosen and e.plan is not None and e.name not in events
    ]
    spent = sum((without_events(e.plan)[1] for e in events.values() if e.plan), Fraction(0))
    if risk is not None and spent:
        raise PlanFileError(
            f"{plan.source}: found keys have a delta of their own: give epsilon and delta as the budget"
        )
    limits = _left(plan, budget, spent) if risk is None else {"advantage": advantage, "tpr": tpr, "fpr": fpr}
    queries = [_query(plan, entry, objective) for entry in chosen]
    try:
        found = allocate(queries, **limits, objective=objective, beside=Plan.sum_of(*fixed) if fixed else None)
    except TargetsDoNotFit as error:
        raise TargetsDoNotFit(f"{plan.source}: {error}", error.factor, error.needed) from None
    except BadValue as error:
        raise PlanFileError(f"{plan.source}: {error}") from None
    texts = [_text(*one) for one in zip(chosen, queries, found, strict=True)]
    filled = {
        entry.name: replace(entry, text=text, plan=Plan.sum_of(mechanism), open=None)
        for entry, text, mechanism in zip(chosen, texts, found, strict=True)
    }
    entries = tuple(filled.get(entry.name, entry) for entry in plan.entries)
    pairs = tuple((filled[entry.name], mechanism) for entry, mechanism in zip(chosen, found, strict=True))
    return Filled(replace(plan, entries=entries), budget, pairs, _rho(fixed), risk)


def _left(plan: PlanFile, budget: Budget, spent: Fraction) -> dict[str, Any]:
    """What is left of the budget for noise once found keys took `spent` of its delta.

    Theorem: docs/theorems/approximate-filter.md.
    """
    if not spent or budget.delta is None:
        return vars(budget)
    delta = rational(str(budget.delta), "delta")
    if delta <= spent:
        raise PlanFileError(f"{plan.source}: delta ({budget.delta}) must be above {float(spent):g}, that of found keys")
    return {**vars(budget), "delta": str((delta - spent) / (1 - spent))}


def _rho(plans: Sequence[Plan]) -> Fraction:
    return sum((plan.rho_fraction for plan in plans), Fraction(0))


def _budget(plan: PlanFile, rho: Value | None, epsilon: Value | None, delta: Value | None) -> Budget:
    """The given budget, with the file's delta if none is given; or the budget of the file."""
    if rho is not None or epsilon is not None:
        own = plan.budget.delta if plan.budget is not None else None
        chance = None if epsilon is None else delta if delta is not None else plan.delta or own
        return Budget(*(None if value is None else str(value) for value in (rho, epsilon, chance)))
    if plan.budget is None:
        raise PlanFileError(f"{plan.source}: has no [budget]: give rho, or epsilon and delta")
    if delta is not None:
        raise BadValue(f"delta ({delta}) needs an epsilon beside it")
    return Budget(*(None if value is None else str(value) for value in vars(plan.budget).values()))


def _has_noise(entry: Entry) -> bool:
    """Whether the entry is one use of one mechanism that adds noise."""
    parts = entry.plan.parts if entry.plan else ()
    if len(parts) != 1 or parts[0][1] != 1:
        return False
    part = parts[0][0]
    return isinstance(part, Mechanism) and hasattr(part, "accuracy")


def _query(plan: PlanFile, entry: Entry, objective: str) -> Query:
    """The entry as a query for `allocate`: its noise parameter is free, all others are kept."""
    # rho follows the weight where the largest error is made least, and its square root where the sum of errors is
    part = entry.part if objective == "worst" else entry.part**2
    try:
        mechanism, parameters = entry.open or parse_open(entry.text)
        free = [name for name, value in parameters.items() if value is FREE]
        given = [name for name in parameters if name in (*NOISE, mechanism.budget)]
        kept = {name: value for name, value in parameters.items() if name not in (*free, *given)}
        return Query(
            mechanism,
            weight=positive_rational(entry.weight, "weight") * part,
            count=entry.count,
            sd=entry.sd,
            half_width=entry.half_width,
            level=entry.level,
            free=next(iter((*free, *given)), None),
            **kept,
        )
    except ZcdpError as error:
        raise PlanFileError(f"{plan.where(entry)}: {entry.field}: {getattr(error, 'reason', error)}") from None


def _text(entry: Entry, query: Query, mechanism: Mechanism) -> str:
    """The text of the entry with the number that was found; the repr of the mechanism if that cannot be done."""
    value = getattr(mechanism, "exact_rho" if query.free == "rho" else query.free)
    if not isinstance(value, Fraction):
        return repr(mechanism)
    number = literal(value)
    if entry.open:
        return entry.text.replace("?", number)
    text = _SET.sub(rf"\g<1>{number}", entry.text, count=1)
    try:
        return text if parse(text) == Plan.sum_of(mechanism) else repr(mechanism)
    except PlanError:  # the old value was not a plain number, such as Fraction(1, 3)
        return repr(mechanism)
