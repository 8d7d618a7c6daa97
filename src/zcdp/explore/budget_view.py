"""The area Budget: what is left in a ledger, its history, and what this plan would take. Nothing is spent here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp.errors import ZcdpError
from zcdp.ledger import Ledger
from zcdp.ledger.ledger_statement import statement
from zcdp.ledger.model import Account, least_of
from zcdp.ledger.spend_text import priced
from zcdp.numeric.exact import float_above, float_below
from zcdp.plans.plan_file import PlanFile
from zcdp.privacy.curve import Plan
from zcdp.report.charts import escape
from zcdp.report.ledger_report import account_section, evidence
from zcdp.text.names import spelled
from zcdp.text.numbers import at_least, at_most, percent, tagged

__all__ = ["area", "take", "told"]

MOST_ACCOUNTS = 50
"""Accounts whose fit is shown where none is named."""


def area() -> str:
    """A form without fields, which asks once, and the places of the answer."""
    return (
        '<h1>The budget</h1><form class="asked" data-ask="budget"><p class="soft">Read only: nothing is spent from '
        'here.</p><button>Read it again</button></form>\n<div id="takes"></div><div id="ledger" class="ledger drawn" '
        'aria-busy="true"></div>\n'
    )


@dataclass(frozen=True)
class Taking:
    """What a plan would take of an account, and what remains there or in the scarcest account above it."""

    own: Account
    least: Account
    cost: float
    rest: float
    fits: bool

    @property
    def share(self) -> str:
        """The cost as a share of what remains; nothing where nothing does."""
        return percent(self.cost / self.rest, up=True) if self.rest > 0 else ""


def take(ledger: Ledger, name: str | None, plan: PlanFile, *, unsaved: bool = False) -> str:
    """What the plan would take of an account, or of each where none is named, and whether it fits."""
    known = [(one.name, one.currency) for one in ledger.accounts()]
    if not known:
        return ""
    if any(entry.plan is None for entry in plan.entries):
        return '<p class="verdict">Some noise of this plan is open: allocate it to see what it would take.</p>'
    this = "This plan, with its changes that are not saved yet," if unsaved else "This plan"
    if name is None and len(known) > 1:
        return _each(ledger, known, plan, this)
    found = _taking(ledger, name or known[0][0], plan)
    where = "" if found.least.name == found.own.name else f" of {escape(spelled(found.least.name))}, above it"
    words = (
        f"{this} would take {_cost(found)} of the {_rest(found)} that remain{where} in account "
        f"{escape(spelled(found.own.name))} ({escape(found.own.currency)}){', ' if found.share else ''}{found.share}"
        f"{' of that' if found.share else ''}"
    )
    if found.fits:
        return f'<p class="verdict good" id="takes-words">{words}. It fits.</p>'
    return f'<p class="verdict bad" id="takes-words">{words}. It does not fit.</p>'


def _taking(ledger: Ledger, name: str, plan: PlanFile) -> Taking:
    """The cost in the account's own currency; a plan of other neighbours or of another unit raises an error."""
    levels = ledger.levels(name)
    own, least = levels[0], least_of(levels)
    unit = plan.tables.protects if plan.tables else plan.unit
    neighbours = plan.neighbours.replace("_", "-") if plan.neighbours else None
    stated = {"unit": unit, "neighbours": neighbours}
    own.terms.agree(**{what: said for what, said in stated.items() if said is not None})
    whole = Plan.sum_of(*(Plan.repeated(entry.plan, entry.count) for entry in plan.entries if entry.plan is not None))
    price = priced(own.terms, whole, None)[1]
    left = Fraction(0) if any(level.closed for level in levels) else least.remaining
    fits = price.size <= left and all(price.delta <= level.delta_remaining for level in levels)
    return Taking(own, least, float_above(price.size), float_below(left), fits)


def _cost(found: Taking) -> str:
    return tagged(found.cost, at_most(found.cost))


def _rest(found: Taking) -> str:
    return tagged(found.rest, at_least(found.rest))


def _each(ledger: Ledger, accounts: Sequence[tuple[str, str]], plan: PlanFile, this: str) -> str:
    """A table with what the plan would take of each account, by name and currency."""
    rows = ""
    for name, currency in accounts[:MOST_ACCOUNTS]:
        head = f'<th scope="row">{escape(spelled(name))}<span class="soft">{escape(currency)}</span></th>'
        try:
            found = _taking(ledger, name, plan)
        except ZcdpError as error:
            rows += f'<tr>{head}<td colspan="4">{escape(str(error))}</td></tr>'
            continue
        where = "" if found.least.name == name else f" in {escape(spelled(found.least.name))}, above it"
        fits = '<td class="good">It fits</td>' if found.fits else '<td class="bad">It does not fit</td>'
        rows += (
            f'<tr>{head}<td class="number" data-label="takes">{_cost(found)}</td>'
            f'<td class="number" data-label="of">{_rest(found)}{where}</td>'
            f'<td class="number">{found.share}</td>{fits}</tr>'
        )
    more = len(accounts) - MOST_ACCOUNTS
    rest = f'<p class="soft">and {more:,} more accounts: start with --account NAME.</p>' if more > 0 else ""
    return (
        f'<table id="takes-table"><caption>{this} would take, of each account that one could spend it from:</caption>'
        '<thead><tr><th scope="col">Account</th><th scope="col" class="number">takes</th>'
        '<th scope="col" class="number">of what remains</th><th scope="col" class="number">share</th>'
        '<th scope="col"><span class="hidden">Whether it fits</span></th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{rest}"
    )


def told(ledger: Ledger, name: str | None, delta: str) -> str:
    """The accounts with their history, as the report of the ledger shows them, with promises at the plan's delta."""
    facts: Mapping[str, Any] = statement(ledger, [name] if name else [], delta=delta)
    warning = "" if facts["passed"] else '<p class="verdict bad">This record was tampered with or is damaged.</p>'
    articles = "".join(account_section(one, n, facts["made"]) for n, one in enumerate(facts["accounts"]))
    return f"{warning}{articles or '<p>There are no accounts yet.</p>'}{evidence(facts)}"
