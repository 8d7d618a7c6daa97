"""The page of a ledger for a privacy office: each account's state, its spends, its guarantee, and the verification.

It renders the data of `ledger/ledger_statement.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files
from math import ceil, floor, log10
from typing import Any

from zcdp.errors import BadValue
from zcdp.report.account_report import POLICY
from zcdp.text.names import spelled
from zcdp.text.numbers import at_least, at_most, exactly, percent

__all__ = ["account_section", "evidence", "months_chart", "periods", "render_ledger", "safe", "spending_chart"]


# SVG charts: cumulative spending below the budget, and the cost of each month.

WIDTH, HEIGHT = 360, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 18, 26
MOST_BARS = 24
"""Beyond this many months the bars are years."""


def spending_chart(account: Mapping[str, Any], *, name: str, until: str) -> str:
    """An SVG chart of the sum of all spends as steps, below the budget, a line that steps up when it is raised."""
    spent = [(_time(at), value) for at, value in account["points"]]
    budgets = [(_time(at), value) for at, value in account["budgets"]]
    start = min(at for at, _ in budgets)
    end = max(_time(until), *(at for at, _ in [*budgets, *spent]), start + timedelta(minutes=1))
    top = float(max(value for _, value in [*budgets, *spent])) * 1.04
    span: float = (end - start).total_seconds()

    def across(at: datetime) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - start).total_seconds() / span

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)

    base = HEIGHT - BOTTOM
    shown = _levels(top, down)
    for at, label in _dates(start, end):
        x = across(at)
        shown.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
        anchor = "end" if x > WIDTH - 30 else "middle"
        shown.append(f'<text x="{min(x, WIDTH - 2):.1f}" y="{base + 17}" text-anchor="{anchor}">{label}</text>')
    steps = _steps([(start, 0.0), *spent, (end, spent[-1][1] if spent else 0.0)], across, down)
    shown.append(f'<path class="area" d="M{LEFT} {base}L{steps}V{base}Z"/><path class="line" d="M{steps}"/>')
    limit = _steps([*budgets, (end, budgets[-1][1])], across, down)
    shown.append(f'<path class="limit" d="M{limit}"/>')
    y = down(budgets[-1][1])
    shown.append(f'<text class="strong halo" x="{WIDTH - RIGHT}" y="{y - 5:.1f}" text-anchor="end">budget</text>')
    text = (
        f"From {start:%Y-%m-%d} to {end:%Y-%m-%d} {account['spends']} spends add up to {account['spent']['value']:.6g} "
        f"of {account['budget']['value']:.6g}. The months stand in the table beside it."
    )
    return _figure(shown, name, "what was spent over time, under the budget", text)


def _steps(points: Sequence[tuple[datetime, float]], across: Any, down: Any) -> str:
    """An SVG path of steps: horizontally to each point's time, then vertically to its value."""
    (first, value), *rest = points
    path = [f"{across(first):.1f} {down(value):.1f}"]
    path += [f"H{across(at):.1f}V{down(height):.1f}" for at, height in rest]
    return "".join(path)


def _levels(top: float, down: Any) -> list[str]:
    shown = []
    for level in _round_numbers(top):
        y = down(level)
        shown.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shown.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{level:g}</text>')
    return shown


def _round_numbers(largest: float) -> list[float]:
    if not largest > 0:
        return [0.0]
    power = 10.0 ** floor(log10(largest / 3))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if largest / (power * m) <= 4.5)
    return [float(f"{n * step:.12g}") for n in range(floor(largest / step) + 1)]


def _dates(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Up to six times with labels for the axis: years, months, days or hours, depending on the span."""
    days = (end - start).total_seconds() / 86400
    if days < 60:
        form = "%H:%M" if days < 2 else "%d %b"
        return [(at, at.strftime(form)) for at in (start + (end - start) * n / 4 for n in range(1, 4))]
    firsts = [
        datetime(year, month, 1, tzinfo=UTC) for year in range(start.year, end.year + 1) for month in range(1, 13)
    ]
    inside = [at for at in firsts if start <= at <= end]
    step = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 1200) if len(inside) / n <= 6)
    chosen = [at for at in inside if ((at.year * 12 + at.month - 1) % step) == 0]
    return [(at, f"{at.year}" if step >= 12 or at.month == 1 else at.strftime("%b")) for at in chosen]


def periods(months: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, float]]:
    """(month, spends, cost) from the first month to the last, empty ones too; years if months exceed MOST_BARS."""
    known = {row["month"]: (row["spends"], row["cost"]["value"]) for row in months}
    if not known:
        return []
    first, last = (int(month[:4]) * 12 + int(month[5:7]) - 1 for month in (min(known), max(known)))
    if last - first > 12 * 500:
        raise BadValue("no ledger is five hundred years old")
    whole = [
        (f"{n // 12:04}-{n % 12 + 1:02}", *known.get(f"{n // 12:04}-{n % 12 + 1:02}", (0, 0.0)))
        for n in range(first, last + 1)
    ]
    if len(whole) <= MOST_BARS:
        return whole
    years: dict[str, tuple[int, float]] = {}
    for month, count, cost in whole:
        before = years.get(month[:4], (0, 0.0))
        years[month[:4]] = before[0] + count, before[1] + cost
    return [(year, *sums) for year, sums in years.items()]


def months_chart(rows: Sequence[tuple[str, int, float]], *, name: str) -> str:
    """An SVG chart of the rows of `periods`, one bar for each month or year."""
    largest = max((cost for _, _, cost in rows), default=0.0) or 1.0
    room = (WIDTH - LEFT - RIGHT) / max(len(rows), 6)

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / (1.04 * largest))

    shown = _levels(1.04 * largest, down)
    every = ceil(len(rows) / 6)
    for n, (period, _, cost) in enumerate(rows):
        x, y = LEFT + room * n, down(cost)
        size = HEIGHT - BOTTOM - y
        shown.append(
            f'<rect class="best" x="{x + room * 0.12:.1f}" y="{y:.1f}" width="{room * 0.76:.1f}" height="{size:.1f}"/>'
        )
        if n % every == 0:
            label = (
                period if len(period) == 4 else datetime.strptime(period, "%Y-%m").replace(tzinfo=UTC).strftime("%b %y")
            )
            shown.append(f'<text x="{x + room / 2:.1f}" y="{HEIGHT - 9}" text-anchor="middle">{escape(label)}</text>')
    kind = "year" if rows and len(rows[0][0]) == 4 else "month"
    text = "; ".join(f"{period}: {cost:.6g} in {count} spends" for period, count, cost in rows) + "."
    return _figure(shown, name, f"what was spent in each {kind}", text)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _figure(shown: Sequence[str], name: str, title: str, text: str) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(text)}</desc>{"".join(shown)}</svg>'
    )


# Sections of the page: one for each account, and one on the verification of the record.

NEIGHBOURS = {
    "add-remove": "added or removed",
    "replace": "replaced by another",
    "local": "given any other answer",
}


def safe(text: str) -> str:
    """Escape text from the ledger: no markup, no hidden characters, no change of the writing direction."""
    return escape(spelled(text))


def _value(number: Mapping[str, Any], text: str) -> str:
    return f'<data value="{safe(number["exact"][:2200])}">{text}</data>'


def account_section(account: Mapping[str, Any], number: int, made: str) -> str:
    """The section of one account."""
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
    """The guarantee of the budget; and, as information, epsilon of the mechanisms that ran."""
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
    except ValueError:  # an invalid time: the ledger was edited, which `evidence` reports
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
    if account["spends"] <= len(account["recent"]):  # both lists would have the same rows
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
    """The section on the verification: its findings, and the head of the chain to keep."""
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


# The whole page.


def render_ledger(facts: Mapping[str, Any]) -> str:
    """The data that `zcdp ledger report --json` prints, as one self-contained HTML page.

    >>> render_ledger({"accounts": []})
    Traceback (most recent call last):
    ...
    zcdp.errors.BadValue: the statement has no 'head'
    """
    for field in ("head", "entries", "passed", "findings", "made", "source", "zcdp", "accounts"):
        if field not in facts:
            raise BadValue(f"the statement has no {field!r}")
    style = "".join(
        files("zcdp.report").joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "ledger.css")
    )
    articles = "".join(account_section(one, n, facts["made"]) for n, one in enumerate(facts["accounts"]))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>Privacy ledger</title>\n<style>\n{style}</style></head>\n"
        f'<body class="ledger">\n<header><h1>Privacy ledger</h1>\n<p class="soft">{safe(facts["source"])}, '
        f"{safe(facts['made'][:10])}</p></header>\n<main>\n{_overview(facts)}{articles}{evidence(facts)}</main>\n"
        "</body></html>\n"
    )


def _overview(facts: Mapping[str, Any]) -> str:
    """A warning if the verification failed; then a table of the accounts, if there are several."""
    warning = (
        ""
        if facts["passed"]
        else '<p class="verdict bad">This record was tampered with or is damaged: see below.</p>\n'
    )
    if len(facts["accounts"]) < 2:
        return warning if facts["accounts"] else f"{warning}<p>There are no accounts yet.</p>\n"
    rows = "".join(
        f'<tr><th scope="row"><a href="#account-{n}">{safe(one["name"])}</a></th>'
        f'<td class="number" data-label="Budget">{at_most(one["budget"]["value"])}</td>'
        f'<td class="number" data-label="Spent">{at_most(one["spent"]["value"])}</td>'
        f'<td class="number" data-label="Share">{percent(one["share"], up=True)}'
        f'<span class="share" style="width:{min(100 * one["share"], 100):.1f}%"></span></td>'
        f'<td class="number" data-label="Remains">{at_least(one["remaining"]["value"])}</td></tr>\n'
        for n, one in enumerate(facts["accounts"])
    )
    head = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("Budget", "Spent", "Share", "Remains"))
    return (
        f'{warning}<table class="queries"><thead><tr><th scope="col">Account</th>{head}</tr></thead>'
        f"<tbody>\n{rows}</tbody></table>\n"
    )
