"""The top of the page: what it is about, whether the budget holds, and the four numbers that matter."""

from __future__ import annotations

from zcdp.accounting.accounts import Account, BudgetUse
from zcdp.display.names import neighbours
from zcdp.display.typeset import at_most, exactly, percent, tagged
from zcdp.report.escaping import escape

__all__ = ["heading", "summary"]


def heading(account: Account) -> str:
    """Title and description, as they were given."""
    title = escape(account.title or "Privacy account")
    described = account.description
    text = "".join(f"<p>{escape(part)}</p>\n" for part in described.split("\n\n")) if described else ""
    return f"<header><h1>{title}</h1>\n{text}{_particulars(account)}</header>\n<main>\n"


def _particulars(account: Account) -> str:
    """When and by whom it was made, about which data, and which two data sets the guarantee compares."""
    unit = escape(account.unit) if account.unit else "not stated: whoever is one record"
    rows = (
        ("Date", f'<time datetime="{escape(account.date)}">{escape(account.date)}</time>'),
        ("Made by", escape(account.author) if account.author else "not stated"),
        ("Data set", escape(account.dataset) if account.dataset else "not stated"),
        ("Unit of privacy", unit),
        ("Neighbours", escape(neighbours(account.total.relation, account.unit))),
    )
    return f'<dl class="particulars">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)}</dl>\n'


def summary(account: Account) -> str:
    """The verdict on the budget in one sentence, then rho, epsilon at delta, pure epsilon, number of releases."""
    total, delta = account.total, account.delta
    releases = sum(query.count for query in account.queries)
    kinds = len(account.queries)
    facts = [
        ("Privacy spent (zCDP)", "\u03c1 = ", total.rho, "adds up over releases; smaller is more private"),
        (
            f"Epsilon at \u03b4 = {exactly(delta)}",
            "\u03b5 = ",
            total.epsilon,
            "the usual (\u03b5, \u03b4) guarantee",
        ),
        ("Pure epsilon (\u03b4 = 0)", "\u03b5 = ", total.pure_epsilon, "the guarantee without any \u03b4"),
    ]
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{sign}{tagged(value, at_most(value))}<small>{note}</small></dd></div>\n'
        for label, sign, value, note in facts
    )
    of = f"in {kinds:,} queries" if kinds != 1 else "of one query"
    cards += f'<div class="fact"><dt>Releases</dt><dd>{releases:,}<small>{of}</small></dd></div>\n'
    return f'{_verdict(account.budget)}<dl class="facts">\n{cards}</dl>\n'


def _verdict(budget: BudgetUse | None) -> str:
    if budget is None:
        return '<p class="verdict">No budget was given; this page states what was spent.</p>\n'
    limits = []
    if budget.rho is not None:
        limits.append(f"\u03c1 = {tagged(budget.rho, exactly(budget.rho))}")
    if budget.epsilon is not None:
        limit = f"\u03b5 = {tagged(budget.epsilon, exactly(budget.epsilon))}"
        at = budget.delta
        limits.append(limit if at is None else f"{limit} at \u03b4 = {exactly(at)}")
    allowed = " and ".join(limits)
    share = tagged(budget.spent, percent(budget.spent, up=True))
    if budget.exceeded:
        return f'<p class="verdict bad">Over budget: {share} of the budget ({allowed}) is spent.</p>\n'
    return f'<p class="verdict good">Within budget: {share} of the budget ({allowed}) is spent.</p>\n'
