"""The page of a release: the account of its plan, the published tables, and the assumptions about the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zcdp.accounting.plan_account import Account
from zcdp.report.account_report import render
from zcdp.report.charts import escape

__all__ = ["render_release"]


MOST_ROWS = 12
"""Rows shown of each table; the published files have all of them."""
ASSUMED = (
    "Names and types of the columns are public.",
    "Domains, clips, bins and bounds were chosen without looking at the data.",
    "No row was made from the rows of several persons: no imputation, and no choice of one row among those of others.",
    "Intervals are about the noise alone: they hold for the table within its bounds, of which nothing is told here.",
    "How long the computation took was not observed by those who must not know the data.",
)


def render_release(account: Account, tables: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> str:
    """The page of an account with two more sections: the published tables, and the assumptions."""
    shown = "".join(_table(table) for table in tables)
    whose = "one row" if facts["unit"] == "row" else f"all rows of one {facts['unit']}"
    neighbours = "added or removed" if facts["neighbours"] == "add-remove" else "replaced"
    about = f"Neighbours differ in {whose}, {neighbours}; that is one {facts['protects']}."
    assumed = "".join(f"<li>{escape(one)}</li>\n" for one in (about, *ASSUMED))
    sections = (
        f'<section id="tables"><h2>What was published</h2>\n{shown}</section>\n'
        f'<section id="assumed"><h2>What is assumed</h2>\n<ul>\n{assumed}</ul></section>\n'
    )
    return render(account, sections=sections)


def _table(table: Mapping[str, Any]) -> str:
    names = list(table["columns"])
    rows = list(zip(*table["columns"].values(), strict=True))
    first = rows[0] if rows else ("",) * len(names)
    head = "".join(_head(name, value) for name, value in zip(names, first, strict=True))
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>\n" for row in rows[:MOST_ROWS])
    more = f'<p class="soft">The first {MOST_ROWS} of {len(rows):,} rows.</p>\n' if len(rows) > MOST_ROWS else ""
    return (
        f"<h3>{escape(table['name'])}</h3>\n<p>{escape(_sentence(table['about']))}</p>\n"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n{more}"
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _head(name: str, below: Any) -> str:
    """A column heading, aligned like the value below it: numbers to the right."""
    kind = ' class="number"' if _is_number(below) else ""
    return f'<th scope="col"{kind}>{escape(name)}</th>'


def _cell(value: Any) -> str:
    if not _is_number(value):
        return f"<td>{escape(str(value))}</td>"
    return f'<td class="number">{value if isinstance(value, int) else f"{value:.6g}"}</td>'
