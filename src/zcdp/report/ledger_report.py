"""The page of a ledger for a privacy office: each account's state, its spends, its guarantee, and the verification.

It renders the data of `ledger/ledger_statement.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import Any

from zcdp.errors import BadValue
from zcdp.report.charts import WIDTH, Axis, Drawing, Point, escape, even_ticks, page
from zcdp.text.names import spelled
from zcdp.text.numbers import at_least, at_most, exactly, percent

__all__ = [
    "account_section",
    "evidence",
    "months_chart",
    "periods",
    "render_ledger",
    "safe",
    "spending_chart",
    "tree_chart",
]


# SVG charts: cumulative spending below the budget, and the cost of each month.

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 18, 26
MOST_BARS = 24
"""Beyond this many months the bars are years."""
DIGITS, MOST_DIGITS = 6, 17


def spending_chart(account: Mapping[str, Any], *, name: str, until: str) -> str:
    """An SVG chart of the sum of all spends as steps, below the budget, a line that steps up when it is raised.

    In an account that renews the sum begins at 0 with each period.
    """
    spent = [(_time(at), value) for at, value in account["points"]]
    budgets = [(_time(at), value) for at, value in account["budgets"]]
    start = min(at for at, _ in budgets)
    end = max(_time(until), *(at for at, _ in [*budgets, *spent]), start + timedelta(minutes=1))
    top = float(max(value for _, value in [*budgets, *spent])) * 1.04
    drawn = _drawing(top, (end - start).total_seconds())

    def at(moment: datetime, value: float) -> Point:
        return drawn.across((moment - start).total_seconds()), drawn.down(value)

    drawn.ticks(((moment - start).total_seconds(), label) for moment, label in _dates(start, end))
    steps = _steps([at(*one) for one in [(start, 0.0), *spent, (end, spent[-1][1] if spent else 0.0)]])
    base = HEIGHT - BOTTOM
    drawn.add("path", kind="area", d=f"M{LEFT} {base}L{steps}V{base}Z")
    drawn.add("path", kind="line", d=f"M{steps}")
    drawn.add("path", kind="limit", d=f"M{_steps([at(*one) for one in [*budgets, (end, budgets[-1][1])]])}")
    drawn.text(WIDTH - RIGHT, drawn.down(budgets[-1][1]) - 5, "budget", anchor="end", kind="strong halo")
    used = f"{account['spent']['value']:.6g} of {account['budget']['value']:.6g}"
    if account.get("every"):
        used = f"{account['all_time']['value']:.6g}; in {account['period']} {used} is spent"
    told = f"{account['spends']} spends add up to {used}"
    text = f"From {start:%Y-%m-%d} to {end:%Y-%m-%d} {told}. The months stand in the table beside it."
    return drawn.figure(name, "what was spent over time, under the budget", text)


def _drawing(top: float, wide: float) -> Drawing:
    """An empty chart of values up to `top` over 0 to `wide`, with round numbers at its left."""
    drawn = Drawing(HEIGHT, Axis(LEFT, WIDTH - RIGHT, 0, wide), Axis(HEIGHT - BOTTOM, TOP, 0, top))
    drawn.levels((level, f"{level:g}") for level in even_ticks(top, 4))
    return drawn


def _steps(places: Sequence[Point]) -> str:
    """An SVG path of steps: horizontally to each place, then vertically."""
    (x, y), *rest = places
    return f"{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)


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
    drawn = _drawing(1.04 * largest, max(len(rows), 6))
    every = ceil(len(rows) / 6)
    room = drawn.across(1) - LEFT
    for n, (period, _, cost) in enumerate(rows):
        x, y = drawn.across(n), drawn.down(cost)
        drawn.add("rect", kind="best", x=x + room * 0.12, y=y, width=room * 0.76, height=HEIGHT - BOTTOM - y)
        if n % every == 0:
            is_year = len(period) == 4
            label = period if is_year else datetime.strptime(period, "%Y-%m").replace(tzinfo=UTC).strftime("%b %y")
            drawn.text(x + room / 2, HEIGHT - 9, label, anchor="middle")
    kind = "year" if rows and len(rows[0][0]) == 4 else "month"
    text = "; ".join(f"{period}: {cost:.6g} in {count} spends" for period, count, cost in rows) + "."
    return drawn.figure(name, f"what was spent in each {kind}", text)


INDENT, ROW = 14, 34


def tree_chart(accounts: Sequence[Mapping[str, Any]]) -> str:
    """The tree of budgets: a bar for each account below the one it is under, filled as far as it is spent.

    The length of a bar is its budget, as a share of the largest in its tree, which may be a cap; what is reserved is
    light.
    """
    ordered = sorted(accounts, key=lambda one: [*reversed(one["above"]), one["name"]])
    largest: dict[str, float] = {}
    for one in ordered:
        top = [one["name"], *one["above"]][-1]
        largest[top] = max(largest.get(top, 0.0), one["budget"]["value"])
    drawn = Drawing(4 + ROW * len(ordered), Axis(0, WIDTH - 60, 0, 1), Axis(0, 0, 0, 1))
    said = []
    for n, one in enumerate(ordered):
        budget, spent, held = (one[name]["value"] for name in ("budget", "spent", "reserved"))
        whole = largest[[one["name"], *one["above"]][-1]] or 1.0
        x, y = INDENT * len(one["above"]), 4 + ROW * n
        wide = max((drawn.across(1) - x) * budget / whole, 1.0)
        share = budget or 1.0
        drawn.text(x, y + 10, spelled(one["name"]))
        drawn.add("rect", kind="bar", x=x, y=y + 14, width=wide, height=12, rx=2)
        drawn.add("rect", kind="area", x=x, y=y + 14, width=wide * min((spent + held) / share, 1.0), height=12, rx=2)
        drawn.add("rect", kind="best", x=x, y=y + 14, width=wide * min(spent / share, 1.0), height=12, rx=2)
        drawn.text(x + wide + 6, y + 24, percent(one["share"], up=True))
        under = f" under {spelled(one['above'][0])}" if one["above"] else ""
        said.append(f"{spelled(one['name'])}{under}: {spent:.6g} of {budget:.6g} spent")
    text = "; ".join(said) + "."
    figure = drawn.figure("tree", "accounts under accounts, and what is spent of each", text)
    caption = "Accounts under accounts: a bar is a budget, its dark part is spent"
    return f"<figure>{figure}<figcaption>{caption}</figcaption></figure>\n"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


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


def _digits(account: Mapping[str, Any]) -> int:
    """So many digits that what is spent, rounded up, is not above the budget, rounded down, unless it really is.

    >>> _digits({"budget": {"value": 2.0}, "spent": {"value": 1.0}})
    6
    >>> _digits({"budget": {"value": 0.0149730803}, "spent": {"value": 0.0149730802}})
    11
    """
    budget, spent = account["budget"]["value"], account["spent"]["value"]
    if not 0 < spent <= budget:
        return DIGITS
    return min(max(DIGITS, 2 - floor(log10(1 - spent / budget))), MOST_DIGITS) if spent < budget else MOST_DIGITS


def account_section(account: Mapping[str, Any], number: int, made: str) -> str:
    """The section of one account."""
    budget, spent, rest = account["budget"], account["spent"], account["remaining"]
    share, inside = account["share"], f" in {safe(account['period'])}" if account.get("every") else ""
    digits = _digits(account)
    state = "bad" if rest["value"] <= 0 or account.get("closed") else "good"
    said = (
        f"The budget is used up{inside}."
        if rest["value"] <= 0
        else f"{at_least(rest['value'])} of {at_least(budget['value'])} remain{inside}."
    )
    if account.get("closed"):
        said = f"The account is closed. {said}"
    held = account.get("reserved") or {"value": 0}
    kept = (("Reserved", _value(held, at_most(held["value"])), "not spent yet"),) if held["value"] else ()
    facts = (
        ("Budget", _value(budget, at_least(budget["value"], digits)), _symbol(account)),
        ("Spent", _value(spent, at_most(spent["value"], digits)), f"{percent(share, up=True)} of the budget{inside}"),
        *kept,
        ("Remains", _value(rest, at_least(rest["value"])), "exact to the last digit"),
        ("Spends", f"{account['spends']:,}", f"{account['delivered']:,} delivered"),
    )
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{text}<small>{note}</small></dd></div>\n' for label, text, note in facts
    )
    return (
        f'<article id="account-{number}"><h2>{safe(account["name"])}</h2>\n'
        f'<p class="verdict {state}">{said} {percent(share, up=True)} of the budget is spent{inside}.</p>\n'
        f'<div class="meter"><span style="width:{min(100 * share, 100):.1f}%"></span></div>\n'
        f'<dl class="facts">\n{cards}</dl>\n{_promise(account)}{_charts(account, number, made)}'
        f"{_who_and_what(account)}{_raises(account)}{_spends(account)}</article>\n"
    )


def _symbol(account: Mapping[str, Any]) -> str:
    if account["measure"] == "rho":
        return "\u03c1 (zCDP)"
    return f"R\u00e9nyi divergence of order {account['order']['value']:g}"


def _promise(account: Mapping[str, Any]) -> str:
    """The guarantee of the budget in words; and, as information, epsilon of the mechanisms that ran."""
    known = account["information"]
    text = _part_promise(account) if account.get("above") or account.get("every") else _own_promise(account)
    if account.get("every"):
        text += _periods_promise(account)
    if account["raises"]:
        text += (
            '<p class="soft">The budget was raised: that is part of the promise only if the raise was not decided by '
            "looking at results.</p>\n"
        )
    if account.get("lowers") and account.get("every"):
        text += (
            '<p class="soft">The budget was lowered: earlier periods may have spent more, so the promise is that of '
            "the largest budget there was.</p>\n"
        )
    elif account.get("lowers"):
        text += (
            '<p class="soft">The budget was lowered: the promise is that of the lower one only if that was not decided '
            "by looking at results, else that of the highest there was.</p>\n"
        )
    if known:
        text += (
            f'<p class="soft">For information: had exactly these mechanisms been fixed in advance, \u03b5 would be '
            f"{at_most(known['epsilon'])} at \u03b4 = {exactly(known['delta'])}. This does not hold for mechanisms "
            "that were chosen by looking at results, and nothing is admitted by it.</p>\n"
        )
    return text


def _satisfied(account: Mapping[str, Any]) -> str:
    """rho, if the account counts it, and (epsilon, delta), with the neighbours."""
    given = account["guarantee"]
    changed = NEIGHBOURS.get(account["neighbours"], "changed")
    rho = "" if given["rho"] is None else f"\u03c1 = {at_most(given['rho'])} (zCDP), and so "
    if rho and account.get("approximate"):
        mass = exactly(account["approximate"]["value"])
        rho = f"\u03c1 = {at_most(given['rho'])} and \u03b4 = {mass} (approximate zCDP), and so "
    return (
        f"{rho}(\u03b5, \u03b4)-differential privacy with \u03b5 = {at_most(given['epsilon'])} at "
        f"\u03b4 = {exactly(given['delta'])}, when one {safe(account['unit'])} is {changed}"
    )


def _but_for(account: Mapping[str, Any]) -> str:
    """The event that a level with a delta leaves out: that of its own spends (docs/theorems/budget-levels.md)."""
    mass = account.get("approximate")
    return f", but for an event of probability at most {at_most(mass['value'])}" if mass else ""


def _own_promise(account: Mapping[str, Any]) -> str:
    """What a budget of its own promises: of all results paid for by it, and of those alone."""
    below = (
        " Results paid for by the accounts under it are among them; their caps may add up to more than this budget: "
        "that takes nothing from it."
        if account.get("below")
        else ""
    )
    return (
        "<p><strong>The promise.</strong> Whatever was asked, and however later questions depended on earlier answers, "
        f"all results paid for by this account together satisfy {_satisfied(account)}.{below} Results about the same "
        "people that were paid for elsewhere are not among them: where a question was chosen by looking at those, the "
        "bound is what both have spent together.</p>\n"
    )


def _part_promise(account: Mapping[str, Any]) -> str:
    """What a cap within a budget promises, and what a period: a bound on the part of a loss that its results make."""
    every, above = account.get("every"), account.get("above") or ()
    charged = f" What is paid for here is charged to {', '.join(map(safe, above))} as well." if above else ""
    here = f"here in one {every}" if every else "here"
    others = " and ".join(([f"in other {every}s"] if every else []) + (["elsewhere"] if above else []))
    top = (
        f" All results together are the matter of the account at the top, {safe(above[-1])}."
        if above and account.get("lasting")
        else ""
    )
    return (
        f"<p><strong>The promise of this {'period' if every else 'cap'}.</strong>{charged} Of all that somebody who "
        f"sees every result can learn of one {safe(account['unit'])}, the part that comes from results paid for {here} "
        f"is bounded by this budget{_but_for(account)}, whatever else was asked. If no question was chosen by looking "
        f"at results about these people that were paid for {others}, the results paid for {here} together satisfy "
        f"{_satisfied(account)}; otherwise the choice of a question may tell more.{top}</p>\n"
    )


def _periods_promise(account: Mapping[str, Any]) -> str:
    """What is promised in each period, and that the sum over all time is something else."""
    every, lasting = account["every"], account.get("lasting")
    opened = "1 was" if account["periods"] == 1 else f"{account['periods']:,} were"
    over = (
        f"Over the whole time the budget of {safe(lasting)} is the bound, which does not renew."
        if lasting
        else f"Over the whole time nothing is promised: each further {every} adds as much."
    )
    return (
        f"<p>This budget is there anew in each {every} of the calendar ({safe(account['zone'])}). {over} So far "
        f"{opened} opened, and {at_most(account['all_time']['value'])} was spent in all of them together.</p>\n"
    )


def _charts(account: Mapping[str, Any], number: int, made: str) -> str:
    if not account["months"]:
        return '<p class="soft">Nothing was spent yet.</p>\n'
    try:
        rows = periods(account["months"])
        first = spending_chart(account, name=f"spending-{number}", until=made)
        second = months_chart(rows, name=f"months-{number}")
    except ValueError:  # an invalid time: the ledger was edited, which `evidence` reports
        return ""
    each = f"The sum of the spends of each {account['every']}" if account.get("every") else "The sum of all spends"
    table = "".join(
        f'<tr><th scope="row">{safe(period)}</th><td class="number">{count:,}</td>'
        f'<td class="number">{at_most(cost)}</td></tr>\n'
        for period, count, cost in rows
    )
    return (
        f'<h3>Over time</h3>\n<div class="halves"><figure>{first}<figcaption>{each}, under the budget'
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
    articles = "".join(account_section(one, n, facts["made"]) for n, one in enumerate(facts["accounts"]))
    return page(
        "Privacy ledger",
        f'<header><h1>Privacy ledger</h1>\n<p class="soft">{safe(facts["source"])}, '
        f"{safe(facts['made'][:10])}</p></header>\n<main>\n{_overview(facts)}{articles}{evidence(facts)}</main>\n",
        styles=("style.css", "ledger.css"),
        kind="ledger",
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
        f'<td class="number" data-label="Budget">{at_least(one["budget"]["value"], _digits(one))}</td>'
        f'<td class="number" data-label="Spent">{at_most(one["spent"]["value"], _digits(one))}</td>'
        f'<td class="number" data-label="Share">{percent(one["share"], up=True)}'
        f'<span class="share" style="width:{min(100 * one["share"], 100):.1f}%"></span></td>'
        f'<td class="number" data-label="Remains">{at_least(one["remaining"]["value"])}</td></tr>\n'
        for n, one in enumerate(facts["accounts"])
    )
    head = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("Budget", "Spent", "Share", "Remains"))
    picture = tree_chart(facts["accounts"]) if any(one.get("above") for one in facts["accounts"]) else ""
    return (
        f'{warning}{picture}<table class="queries"><thead><tr><th scope="col">Account</th>{head}</tr></thead>'
        f"<tbody>\n{rows}</tbody></table>\n"
    )
