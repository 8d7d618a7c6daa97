"""The area Budget: what is left in a ledger, its history, and what this plan would take. Nothing is spent here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.ledger.model import least_of
from zcdp.ledger.spend_text import priced
from zcdp.plans.plan_file import PlanFile
from zcdp.privacy.curve import Plan
from zcdp.report.charts import escape
from zcdp.report.ledger_report import account_section, evidence
from zcdp.text.names import spelled
from zcdp.text.numbers import at_least, at_most, percent, tagged

__all__ = ["area", "take", "told"]


def area() -> str:
    """A form without fields, which asks once, and the places of the answer."""
    return (
        '<h1>The budget</h1><form class="asked" data-ask="budget"><p class="soft">Read only: nothing is spent from '
        'here.</p><button>Read it again</button></form>\n<div id="takes"></div><div id="ledger" class="ledger drawn" '
        'aria-busy="true"></div>\n'
    )


def take(ledger: Ledger, name: str | None, plan: PlanFile) -> str:
    """One sentence on what the plan would take of an account, and whether it fits; nothing is spent."""
    known = [one.name for one in ledger.accounts()]
    if name is None and len(known) == 1:
        name = known[0]
    if name is None:
        return '<p class="verdict">Name an account by --account to see what this plan would take of it.</p>'
    if any(entry.plan is None for entry in plan.entries):
        return '<p class="verdict">Some noise of this plan is open: allocate it to see what it would take.</p>'
    levels = ledger.levels(name)
    own, least = levels[0], least_of(levels)
    unit = plan.tables.protects if plan.tables else plan.unit
    neighbours = plan.neighbours.replace("_", "-") if plan.neighbours else None
    stated = {"unit": unit, "neighbours": neighbours}
    own.terms.agree(**{what: said for what, said in stated.items() if said is not None})
    whole = Plan.sum_of(*(Plan.repeated(entry.plan, entry.count) for entry in plan.entries if entry.plan is not None))
    price = priced(own.terms, whole, None)[1]
    left = 0 if least.closed else least.remaining
    fits = price.size <= left and all(price.delta <= level.delta_remaining for level in levels)
    where = "" if least.name == own.name else f" of {escape(spelled(least.name))}, above it"
    cost, rest = float(price.size), float(left)
    share = f", {percent(cost / rest, up=True)} of that" if rest > 0 else ""
    words = (
        f"This plan would take {tagged(cost, at_most(cost))} of the {tagged(rest, at_least(rest))} that "
        f"remain{where} in account {escape(spelled(own.name))} ({escape(own.currency)}){share}"
    )
    if fits:
        return f'<p class="verdict good" id="takes-words">{words}. It fits.</p>'
    return f'<p class="verdict bad" id="takes-words">{words}. It does not fit.</p>'


def told(ledger: Ledger, name: str | None, delta: str) -> str:
    """The accounts with their history, as the report of the ledger shows them, with promises at the plan's delta."""
    facts: Mapping[str, Any] = statement(ledger, [name] if name else [], delta=delta)
    warning = "" if facts["passed"] else '<p class="verdict bad">This record was tampered with or is damaged.</p>'
    articles = "".join(account_section(one, n, facts["made"]) for n, one in enumerate(facts["accounts"]))
    return f"{warning}{articles or '<p>There are no accounts yet.</p>'}{evidence(facts)}"
