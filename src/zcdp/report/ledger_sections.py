"""The parts of the page of a ledger: how an account stands, who spent what on what, and what the numbers promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from zcdp.accounting.printable import spelled
from zcdp.display.typeset import at_least, at_most, exactly, percent
from zcdp.report.ledger_charts import months_chart, periods, spending_chart

__all__ = ["account_section", "evidence", "safe"]

NEIGHBOURS = {
    "add-remove": "added or removed",
    "replace": "replaced by another",
    "local": "given any other answer",
}


def safe(text: str) -> str:
    """Text that someone wrote into the ledger: nothing in it is markup, turns around, or hides."""
    return escape(spelled(text))


def _value(number: Mapping[str, Any], text: str) -> str:
    return f'<data value="{safe(number["exact"][:2200])}">{text}</data>'


def account_section(account: Mapping[str, Any], number: int, made: str) -> str:
    """Everything about one account."""
    budget, spent, rest = account["budget"], account["spent"], account["remaining"]
    share = account["share"]
    state = "bad" if rest["value"] <= 0 else "good"
    said = (
        "The budget is used up."
        if rest["value"] <= 0
        else f"{at_least(rest['value'])} of {at_most(budget['value'])} remain."
    )
    facts = (
        ("Budget", _value(budget, at_most(budget["value"])), _symbol(account)),
        ("Spent", _value(spent, at_most(spent["value"])), f"{percent(share, up=True)} of the budget"),
        ("Remains", _value(rest, at_least(rest["value"])), "exact to the last digit"),
        ("Spends", f"{account['spends']:,}", f"{account['delivered']:,} delivered"),
    )
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{text}<small>{note}</small></dd></div>\n' for label, text, note in facts
    )
    return (
        f'<article id="account-{number}"><h2>{safe(account["name"])}</h2>\n'
        f'<p class="verdict {state}">{said} {percent(share, up=True)} of the budget is spent.</p>\n'
        f'<div class="meter"><span style="width:{min(100 * share, 100):.1f}%"></span></div>\n'
        f'<dl class="facts">\n{cards}</dl>\n{_promise(account)}{_charts(account, number, made)}'
        f"{_who_and_what(account)}{_raises(account)}{_spends(account)}</article>\n"
    )


def _symbol(account: Mapping[str, Any]) -> str:
    if account["measure"] == "rho":
        return "\u03c1 (zCDP)"
    return f"R\u00e9nyi divergence of order {account['order']['value']:g}"


def _promise(account: Mapping[str, Any]) -> str:
    """The guarantee of the budget, and beside it, as information, that of what ran."""
    given, known = account["guarantee"], account["information"]
    unit = safe(account["unit"])
    changed = NEIGHBOURS.get(account["neighbours"], "changed")
    rho = "" if given["rho"] is None else f"\u03c1 = {at_most(given['rho'])} (zCDP), and so "
    text = (
        "<p><strong>The promise.</strong> Whatever was asked, and however later questions depended on earlier answers, "
        f"all results paid for by this account together satisfy {rho}(\u03b5, \u03b4)-differential privacy with "
        f"\u03b5 = {at_most(given['epsilon'])} at \u03b4 = {exactly(given['delta'])}, "
        f"when one {unit} is {changed}.</p>\n"
    )
    if account["raises"]:
        text += (
            '<p class="soft">The budget was raised: that is part of the promise only if the raise was not decided by '
            "looking at results.</p>\n"
        )
    if known:
        text += (
            f'<p class="soft">For information: had exactly these mechanisms been fixed in advance, \u03b5 would be '
            f"{at_most(known['epsilon'])} at \u03b4 = {exactly(known['delta'])}. This does not hold for mechanisms "
            "that were chosen by looking at results, and nothing is admitted by it.</p>\n"
        )
    return text


def _charts(account: Mapping[str, Any], number: int, made: str) -> str:
    if not account["months"]:
        return '<p class="soft">Nothing was spent yet.</p>\n'
    try:
        rows = periods(account["months"])
        first = spending_chart(account, name=f"spending-{number}", until=made)
        second = months_chart(rows, name=f"months-{number}")
    except ValueError:  # a time that is none: the ledger was edited, and the page says so elsewhere
        return ""
    table = "".join(
        f'<tr><th scope="row">{safe(period)}</th><td class="number">{count:,}</td>'
        f'<td class="number">{at_most(cost)}</td></tr>\n'
        for period, count, cost in rows
    )
    return (
        f'<h3>Over time</h3>\n<div class="halves"><figure>{first}<figcaption>The sum of all spends, under the budget'
        f"</figcaption></figure>\n<figure>{second}<figcaption>Spent in each period</figcaption></figure></div>\n"
        '<details><summary>The same as a table</summary><table class="narrow"><thead><tr><th scope="col">Period</th>'
        '<th scope="col" class="number">Spends</th><th scope="col" class="number">Cost</th></tr></thead>'
        f"<tbody>{table}</tbody></table></details>\n"
    )


def _who_and_what(account: Mapping[str, Any]) -> str:
    if not account["spends"]:
        return ""
    whole = account["spent"]["value"]

    def person(row: Mapping[str, Any]) -> str:
        said = f' <span class="soft">{safe(row["who"])}</span>' if row.get("who") else ""
        return safe(row["login"]) + said

    people = _shares("By whom", "Login", account["people"], person, whole)
    purposes = _shares("On what", "Purpose", account["purposes"], lambda row: safe(row["why"]), whole)
    return f'<div class="halves"><div>{people}</div><div>{purposes}</div></div>\n'


def _shares(title: str, column: str, rows: Sequence[Mapping[str, Any]], name: Any, whole: float) -> str:
    body = ""
    for row in rows:
        label = f"{row['others']:,} others" if "others" in row else name(row)
        part = row["cost"]["value"] / whole if whole else 0.0
        bar = f'<span class="share" style="width:{100 * part:.1f}%"></span>'
        body += (
            f'<tr><th scope="row">{label}</th><td class="number">{row["spends"]:,}</td>'
            f'<td class="number">{_value(row["cost"], at_most(row["cost"]["value"]))}</td>'
            f'<td class="number">{percent(part, up=True)}{bar}</td></tr>\n'
        )
    return (
        f'<h3>{title}</h3>\n<table><thead><tr><th scope="col">{column}</th><th scope="col" class="number">Spends</th>'
        f'<th scope="col" class="number">Cost</th><th scope="col" class="number">Share</th></tr></thead>'
        f"<tbody>\n{body}</tbody></table>\n"
    )


def _raises(account: Mapping[str, Any]) -> str:
    if not account["raises"]:
        return ""
    items = "".join(
        f"<li>{_day(one['at'])}: to {at_most(one['to']['value'])}, by {safe(one['login'])}"
        f"{' (' + safe(one['who']) + ')' if one['who'] else ''}: {safe(one['why'])}</li>\n"
        for one in account["raises"]
    )
    return f"<h3>The budget was raised</h3>\n<ul>\n{items}</ul>\n"


def _spends(account: Mapping[str, Any]) -> str:
    parts = []
    lists = [("The costliest spends", account["largest"]), ("The latest spends", account["recent"])]
    if account["spends"] <= len(account["recent"]):  # both would be the same
        lists = [("All spends", account["recent"])]
    for title, rows in lists:
        body = "".join(
            f'<tr><th scope="row">{safe(one["key"])}<br><code>{safe(one["mechanism"][:300])}</code>'
            f'{"<br>" if one["why"] else ""}<span class="soft">{safe(one["why"][:300])}</span></th>'
            f'<td data-label="When">{_day(one["at"])}</td>'
            f'<td data-label="By">{safe(one["login"])}{" (" + safe(one["who"]) + ")" if one["who"] else ""}</td>'
            f'<td class="number" data-label="Cost">{_value(one["cost"], at_most(one["cost"]["value"]))}</td></tr>\n'
            for one in rows
        )
        if body:
            parts.append(
                f'<h3>{title}</h3>\n<table class="queries"><thead><tr><th scope="col">Spend</th>'
                '<th scope="col">When</th><th scope="col">By</th><th scope="col" class="number">Cost</th></tr>'
                "</thead>\n"
                f"<tbody>{body}</tbody></table>\n"
            )
    return "".join(parts)


def _day(at: str) -> str:
    return f'<time datetime="{safe(at)}">{safe(at[:10])}</time>'


def evidence(facts: Mapping[str, Any]) -> str:
    """Whether the record is whole, and the head to keep."""
    if facts["passed"]:
        said = f'<p class="verdict good">All {facts["entries"]:,} entries are as they were written.</p>\n'
    else:
        items = "".join(f"<li>{safe(text)}</li>\n" for text in facts["findings"])
        said = f'<p class="verdict bad">The record does not hold together:</p>\n<ul>\n{items}</ul>\n'
    return (
        f'<section id="evidence"><h2>Is the record whole?</h2>\n{said}'
        "<p>Each entry carries a hash of itself and of all before it. Keep this head where nobody who may write the "
        "ledger can change it; with it a restored backup or a rewritten history is found:</p>\n"
        f'<pre class="head">{safe(facts["head"])}</pre>\n'
        f"<pre>zcdp ledger verify {safe(_quoted(facts['source']))} --expect-head {safe(facts['head'])}</pre>\n"
        f'<p class="soft">Made {safe(facts["made"][:16].replace("T", " "))} UTC by zcdp {safe(facts["zcdp"])}, from '
        f"{safe(facts['source'])}.</p>\n</section>\n"
    )


def _quoted(text: str) -> str:
    plain = text.replace("/", "").replace(".", "").replace("-", "").replace("_", "").replace(":", "")
    return text if plain.isalnum() and plain.isascii() else "'" + text.replace("'", "'\\''") + "'"
