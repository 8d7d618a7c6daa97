"""The statement of a ledger as one HTML page for the privacy office; it needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from zcdp.display.typeset import at_least, at_most, percent
from zcdp.errors import BadValue
from zcdp.report.ledger_sections import account_section, evidence, safe
from zcdp.report.page import POLICY

__all__ = ["render_ledger"]


def render_ledger(facts: Mapping[str, Any]) -> str:
    """What `zcdp ledger report --json` prints, as a page.

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
    """One line an account, where there are several; a record that does not hold together is said first."""
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
