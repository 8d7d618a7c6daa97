"""The page of a release: published tables with pictures and rules, who paid for them, and the account of the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from math import inf
from pathlib import PurePath
from typing import Any

from zcdp.accounting.plan_account import Account
from zcdp.report.account_report import render
from zcdp.report.charts import escape
from zcdp.report.table_charts import LARGE, Axes, Shown, picture
from zcdp.text.numbers import at_least, at_most, decimals, exactly, grouped, percent, tagged

__all__ = ["Paid", "render_release"]


MOST_ROWS = 12
"""Rows shown of each table at once; up to MOST_FOLDED are there to unfold, and the published files have all of them."""
MOST_FOLDED = 250
ON_A_PHONE, ON_A_SHEET, LONG_WORD = 44, 95, 20
"""Letters in a line of a phone and of a sheet of paper, and in a word that may be broken in two."""
ASSUMED = (
    "Names and types of the columns are public.",
    "Domains, clips, bins and bounds were chosen without looking at the data.",
    "No row was made from the rows of several persons: no imputation, and no choice of one row among those of others.",
    "Intervals are about the noise alone: they hold for the table within its bounds, of which nothing is told here.",
    "How long the computation took was not observed by those who must not know the data.",
)


@dataclass(frozen=True)
class Paid:
    """Who released, and what the ledger knows of it: all empty where no ledger does.

    `head` is the entry of the ledger that paid, as number and hash. The amounts are in the currency of the account;
    `left` is what remained after this release, there and in the accounts above.
    """

    who: str = ""
    account: str = ""
    key: str = ""
    head: str = ""
    currency: str = "rho"
    budget: Fraction = Fraction(0)
    left: Fraction = Fraction(0)
    cost: Fraction = Fraction(0)
    epsilon: float | None = None
    delta: float | None = None
    period: str = ""
    above: tuple[str, ...] = ()


def render_release(account: Account, tables: Sequence[Shown], facts: Mapping[str, Any], paid: Paid) -> str:
    """The page of a release: its tables, where it was paid, what is assumed, then the account of the plan."""
    shown = "".join(_table(table, f"table-{n}") for n, table in enumerate(tables))
    whose = "one row" if facts["unit"] == "row" else f"all rows of one {facts['unit']}"
    neighbours = "added or removed" if facts["neighbours"] == "add-remove" else "replaced"
    about = f"Neighbours differ in {whose}, {neighbours}; that is one {facts['protects']}."
    assumed = "".join(f"<li>{escape(one)}</li>\n" for one in (about, *ASSUMED))
    sections = (
        f'<section id="tables"><h2>What was published</h2>\n{_contents(tables)}{shown}</section>\n'
        f'<section id="paid"><h2>Where it was paid</h2>\n{_paid(paid)}</section>\n'
        f'<section id="assumed"><h2>What is assumed</h2>\n<ul>\n{assumed}</ul></section>\n'
    )
    vintage = facts.get("vintage")
    # the page is published: the plan by its name, without the folder that it is in on some machine
    source = account.source if account.source == account.inputs else PurePath(account.source).name
    named = replace(account, author=account.author or paid.who or None, source=source)
    more = {"Vintage": vintage} if vintage else {}
    return render(named, published=sections, particulars=more, verdict=_verdict(paid))


def _contents(tables: Sequence[Shown]) -> str:
    """Links to the tables, if there are several."""
    if len(tables) < 2:
        return ""
    items = "".join(f'<li><a href="#table-{n}">{escape(one.name)}</a></li>\n' for n, one in enumerate(tables))
    return f'<ul class="contents">\n{items}</ul>\n'


# One table: what it says, its picture, its first rows, and its rules.


def _table(table: Shown, name: str) -> str:
    rows = table.rows
    parts = [f'<h3 id="{name}">{escape(table.name)}</h3>\n']
    if not table.keys and len(rows) == 1 and "value" in rows[0]:
        parts.append(_single(table, rows[0]))
    else:
        parts.append(_beside(picture(table, name), _rows(table, rows)))
    parts.append(f'<p class="soft">{escape(_sentence(table.about))}</p>\n')
    if table.rules:
        items = "".join(f"<li>{escape(rule)}</li>\n" for rule in table.rules)
        parts.append(f'<ul class="rules">\n{items}</ul>\n')
    return "".join(parts)


def _beside(drawn: str, rows: str) -> str:
    """A single picture stands beside the rows where there is room, several above them."""
    if not drawn or 'class="panels"' in drawn or 'class="published stacked' in rows:
        return drawn + rows
    return f'<div class="beside">\n{drawn}<div>{rows}</div></div>\n'


def _single(table: Shown, row: Mapping[str, Any]) -> str:
    """The one figure of a table without keys, in large letters."""
    told = dict(_cells(table, row))
    interval = f"<small>{escape(INTERVAL)}: {told[INTERVAL]}</small>" if INTERVAL in told else ""
    return f'<dl class="facts"><div class="fact"><dt>Value</dt><dd>{told["value"]}{interval}</dd></div></dl>\n'


def _rows(table: Shown, rows: Sequence[Mapping[str, Any]]) -> str:
    """The first rows, and the others to unfold if there are not too many of them."""
    cells = [_cells(table, row) for row in rows[:MOST_FOLDED]]
    names = [name for name, _ in cells[0]] if cells else list(table.columns)
    kinds = ["" if n < len(table.keys) or not _is_figure(cells, n) else NUMBER for n in range(len(names))]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(names, kinds, strict=True))
    more = ""
    if len(rows) > MOST_ROWS:
        link = f'<a href="{escape(table.file)}">{escape(table.file)}</a>' if table.file else "the file"
        more = f'<p class="soft">The first {MOST_ROWS} of {len(rows):,} rows; {link} has all of them.</p>\n'
        if len(rows) <= MOST_FOLDED:
            rest = _html(head, cells[MOST_ROWS:], kinds)
            more += (
                f'<details class="rest"><summary>The other {len(rows) - MOST_ROWS} rows</summary>\n{rest}</details>\n'
            )
    return _html(head, cells[:MOST_ROWS], kinds) + more


NUMBER = ' class="number"'
INTERVAL, BIN = "95% interval", "bin"
NOT_KNOWN = '<span class="soft">not known</span>'
"""What stands for a figure that is noise alone."""
Cell = tuple[str, str]
"""The heading of a cell, and what stands in it, escaped."""


def _is_figure(cells: Sequence[Sequence[Cell]], n: int) -> bool:
    """Whether a column has numbers, which stand to the right."""
    return bool(cells) and (cells[0][n][0] == BIN or any("<data" in row[n][1] for row in cells))


def _html(head: str, rows: Sequence[Sequence[Cell]], kinds: Sequence[str]) -> str:
    """The table; if it is too wide for a phone, its cells have their headings too, and its rows are stacked there."""
    longest = [max(map(len, _words(column))) for column in zip(*rows, strict=True)]
    line = sum(longest) + len(longest)
    kind = "published" + " stacked" * (line > ON_A_PHONE)
    kind += " broken" * (line > ON_A_SHEET or max(longest, default=0) > LONG_WORD)
    body = ""
    for row in rows:
        labels = [f' data-label="{escape(name)}"' if line > ON_A_PHONE else "" for name, _ in row]
        told = zip(row, kinds, labels, strict=True)
        body += f"<tr>{''.join(f'<td{kind}{label}>{text}</td>' for (_, text), kind, label in told)}</tr>\n"
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n'


def _words(column: Sequence[Cell]) -> list[str]:
    """The words of a column and of its heading."""
    return [word for name, text in column for one in (name, re.sub("<[^>]*>", "", text)) for word in one.split()]


def _cells(table: Shown, row: Mapping[str, Any]) -> list[Cell]:
    """The cells of a row for people: an interval is one cell, a bin too, and an error that has an interval none."""
    told = [(_name(one), escape(one.label(row))) for one in table.keys]
    left = [name for name in row if name != "vintage" and not any(name in one.columns for one in table.keys)]
    for name in left:
        what, _, part = name.rpartition("_") if "_" in name else ("", "", name)
        named = {one: f"{what}_{one}" if what else one for one in ("sd", "lower", "upper")}
        if part == "lower" and named["upper"] in row:
            places = _places(row.get(named["sd"]))
            heading = f"{what} {INTERVAL}" if what else INTERVAL
            told.append((heading, _interval_of(row[name], row[named["upper"]], places)))
        elif name == "from" and "to" in row:
            bins = table.bins or Axes(
                ("from", "to"), any(_is_number(end) and end >= LARGE for end in table.columns["to"])
            )
            told.append((BIN, NOT_KNOWN if row[name] is None else escape(bins.interval(row["from"], row["to"]))))
        elif (part == "upper" and named["lower"] in row) or (name == "to" and "from" in row):
            continue
        elif part == "sd":
            if named["lower"] not in row:  # else the interval tells it
                told.append((name.replace("_", " "), _number(row[name], _places(row[name]), ROUND_CEILING)))
        elif part == "error":
            told.append((name.replace("_", " "), _number(row[name], _places(row[name]), ROUND_CEILING)))
        else:
            error = row.get("sd") if name == "value" else row.get(f"{name}_sd")
            told.append((name.replace("_", " "), _number(row[name], _places(error))))
    return told


def _places(error: Any) -> int | None:
    """The digits after the point of a figure with this error; None if there is none."""
    return decimals(float(error)) if _is_number(error) else None


def _interval_of(lower: Any, upper: Any, places: int | None) -> str:
    """An interval in words; one that has no end on a side says so."""
    low, high = _number(lower, places, ROUND_FLOOR), _number(upper, places, ROUND_CEILING)
    if lower == -inf and upper == inf:
        return "anything"
    if lower == -inf:
        return f"up to {high}"
    return f"{low} or more" if upper == inf else f"{low} to {high}"


def _name(key: Axes) -> str:
    return key.columns[0].removesuffix("_from") if key.is_ordered else key.columns[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any, places: int | None, rounding: str | None = None) -> str:
    """A figure as people write it; its full value stands in the source of the page."""
    if value is None:
        return NOT_KNOWN
    if not _is_number(value):
        return escape(str(value))
    text = grouped(value, places, rounding) if rounding else grouped(value, places)
    return f'<data value="{value!r}">{text}</data>'


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


# Where it was paid.


def _verdict(paid: Paid) -> str:
    """One sentence on the account that paid; empty if there is none."""
    if not paid.account or not paid.budget:
        return ""
    left = percent(float(paid.left / paid.budget), up=False)
    said = f"Paid from the account {escape(paid.account)}: {left} of its budget is left."
    return f'<p class="verdict good">{said}</p>\n'


def _paid(paid: Paid) -> str:
    if not paid.account:
        return "<p>No ledger remembers this release: what it cost is not set against any budget.</p>\n"
    show: Callable[[Fraction], str] = lambda value: tagged(float(value), at_least(float(value)))  # noqa: E731
    unit = escape(paid.currency)
    budget = f"{unit} {show(paid.budget)}"
    if paid.epsilon is not None and paid.delta is not None:
        budget += f", for \u03b5 = {exactly(paid.epsilon)} at \u03b4 = {exactly(paid.delta)}"
    more = int(paid.left // paid.cost) if paid.cost else 0
    left = f"{unit} {show(paid.left)}"
    if paid.budget:
        left += f", {percent(float(paid.left / paid.budget), up=False)} of the budget"
    left += f": room for {more:,} more such release{'' if more == 1 else 's'}" if more else ": no room for another such"
    rows = [
        ("Account", escape(paid.account) + (f", in {escape(paid.period)}" if paid.period else "")),
        ("Under", escape(", ".join(paid.above))),
        ("Key", escape(paid.key)),
        ("Budget", budget),
        ("Paid", f"{unit} {tagged(float(paid.cost), at_most(float(paid.cost)))}"),
        ("Left after it", left),
        ("Ledger entry", f"<code>{escape(paid.head)}</code>"),
    ]
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows if text)
    return (
        f'<dl class="particulars">{items}</dl>\n<p class="soft">The entry is a line of the ledger\'s hash chain: '
        "whoever keeps it can see later that nothing before it was changed "
        "(<code>zcdp ledger verify --expect-head</code>).</p>\n"
    )
