"""The sections in words and tables: how sure we are, what was saved, the queries, the theorems, how to recompute."""

from __future__ import annotations

import re
from math import inf

from zcdp.accounting.accounts import Account, Charge, QueryCost, TotalCost
from zcdp.display.names import typeset
from zcdp.display.rounding import shares
from zcdp.display.typeset import at_least, at_most, exactly, more, percent, tagged
from zcdp.report.escaping import escape

__all__ = ["certainty", "queries", "recompute", "savings", "theorems"]


def _section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>\n{content}</section>\n'


def certainty(account: Account) -> str:
    """What "certified" means here, and how far the numbers can be from the truth."""
    total = account.total
    bounds = [
        ("\u03c1", total.rho_bounds),
        (f"\u03b5 at \u03b4 = {exactly(account.delta)}", total.epsilon_bounds),
    ]
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="number">{tagged(low, at_least(low, 10))}</td>'
        f'<td class="number">{tagged(high, at_most(high, 10))}</td></tr>\n'
        for name, (low, high) in bounds
    )
    loose = [query.name for query in account.queries if not query.is_tight]
    tight = (
        "Every query has its exact cost: no smaller \u03c1 would be true."
        if not loose
        else "For these queries the cost is a proven upper bound, and the exact value may be smaller: "
        + ", ".join(escape(name) for name in loose[:20])
        + (f" and {len(loose) - 20} more." if len(loose) > 20 else ".")
    )
    return _section(
        "certainty",
        "How sure are we?",
        "<p>The numbers are <strong>certified</strong>: each follows from a theorem with a written proof, was computed "
        "with rigorous error bounds (ball arithmetic), and was rounded up. The true privacy cost is never above the "
        "numbers on this page, provided the queries were run as described and their sensitivities are right.</p>\n"
        f"<p>{tight}</p>\n"
        '<table class="inputs"><caption>The true value lies between these two numbers</caption><thead><tr><th></th>'
        '<th class="number">at least</th><th class="number">at most</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>\n",
    )


def savings(account: Account) -> str:
    """What the same releases are charged by the bounds in common use, in words."""
    total = account.total
    said = [_saving(total, account.delta, bound, charge) for bound, charge in total.usual.items()]
    text = "".join(one for one in said if one)
    if text and any("epsilon^2/8" in query.usual for query in account.queries):
        text += '<p class="soft">Selections by the exponential mechanism count as \u03b5\u00b2/8 in the first.</p>\n'
    if not text:
        text = "<p>The usual bounds do not apply to all of these mechanisms, so there is nothing to compare with.</p>\n"
    return _section("savings", "What sharp accounting saves", text)


def _saving(total: TotalCost, delta: float, bound: str, charge: Charge) -> str:
    words = (
        f"<p>Under the bound <strong>{escape(typeset(bound))}</strong> the same releases would be charged "
        f"\u03c1 = {tagged(charge.rho, at_most(charge.rho))}, which is \u03b5 = "
        f"{tagged(charge.epsilon, at_most(charge.epsilon))} at \u03b4 = {exactly(delta)}"
    )
    if not total.rho < charge.rho < inf:
        return f"{words}. The certified cost is {'as much' if total.rho == charge.rho else at_most(total.rho)}.</p>\n"
    words += f". The certified \u03c1 is {percent(1 - total.rho / charge.rho, up=False)} smaller"
    if total.epsilon < charge.epsilon < inf:
        words += f", \u03b5 {percent(1 - total.epsilon / charge.epsilon, up=False)} smaller"
    return f"{words}: that charge pays for {more(charge.rho / total.rho)} times as many such releases.</p>\n"


def queries(account: Account) -> str:
    """One row a query: what ran, how often, what it cost, what the usual bound charges."""
    total = account.total
    shown = shares([query.rho for query in account.queries])
    rows = "".join(_query(query, share) for query, share in zip(account.queries, shown, strict=True))
    head = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("Query", ""),
            ("Times", ' class="number"'),
            ("\u03c1 each", ' class="number"'),
            ("\u03c1 of all", ' class="number"'),
            ("Share", ' class="number"'),
            ("Usual \u03c1", ' class="number"'),
            ("Saved", ' class="number"'),
        )
    )
    whole = tagged(total.rho, at_most(total.rho))
    foot = (
        '<tr><th scope="row">Together</th><td></td><td></td>'
        f'<td class="number" data-label="\u03c1 of all">{whole}</td><td></td><td></td><td></td></tr>'
    )
    note = "The usual \u03c1 is \u03b5\u00b2/2, for selection by the exponential mechanism \u03b5\u00b2/8."
    if total.rho < sum(query.rho for query in account.queries) * (1 - 1e-9):
        note += " The queries are worst at different orders, so the whole costs less than the sum of its parts."
    return _section(
        "queries",
        "What it was spent on",
        f'<table class="queries"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody><tfoot>{foot}</tfoot></table>\n'
        f'<p class="soft">{note}</p>\n',
    )


def _query(query: QueryCost, share: str) -> str:
    usual = next((value for value in query.usual.values() if value is not None), None)
    remark = f'<br><span class="soft">{escape(query.note)}</span>' if query.note else ""
    loose = "" if query.is_tight else ' <span class="soft">(upper bound)</span>'
    bar = f'<span class="share" style="width:{share}"></span>'
    saved = query.saved
    cells = (
        ("Times", f"{query.count:,}"),
        ("\u03c1 each", tagged(query.rho_one, at_most(query.rho_one))),
        ("\u03c1 of all", tagged(query.rho, at_most(query.rho))),
        ("Share", f"<span>{tagged(query.share, share)}{bar}</span>"),
        ("Usual \u03c1", tagged(usual, at_most(usual))),
        ("Saved", "\u2013" if saved is None else tagged(saved, percent(saved, up=False))),
    )
    data = "".join(f'<td class="number" data-label="{label}">{text}</td>' for label, text in cells)
    return (
        f'<tr><th scope="row">{escape(query.name)}<br><code>{escape(query.mechanism)}</code>{loose}{remark}</th>'
        f"{data}</tr>\n"
    )


def theorems(account: Account, links: str) -> str:
    """Each theorem with a link to its page; a path that is not a plain relative one stays text."""
    items = []
    for theorem in account.theorems:
        title, path = escape(theorem.title), theorem.path
        plain = re.fullmatch(r"\w[\w./-]*", path)
        shown = f'<a href="{escape(links + path)}">{title}</a>' if plain else title
        items.append(f"<li>{shown} <code>{escape(path)}</code></li>\n")
    return _section(
        "theorems",
        "Theorems used",
        f"<p>Each page has the statement and a full proof.</p>\n<ul>\n{''.join(items)}</ul>\n",
    )


def recompute(account: Account) -> str:
    """Versions, the command, and the inputs as they were given."""
    versions = (("zcdp", "zcdp"), ("Python", "python"), ("python-flint", "python_flint"))
    used = ", ".join(f"{name} {escape(getattr(account, key))}" for name, key in versions)
    source = escape(account.source)
    how = "Run" if account.source == account.inputs else "Save the inputs below under the same name and run"
    return (
        _section(
            "recompute",
            "Recompute it",
            f"<p>Computed with {used}. {how}</p>\n"
            f"<pre>zcdp account {_quoted(account.source)} --delta {account.delta!r} --json</pre>\n"
            "<p>Each number on this page carries all its digits in the page's source.</p>\n"
            f"<p>Inputs ({source}):</p>\n<pre>{escape(account.inputs)}</pre>\n",
        )
        + "</main>\n"
    )


def _quoted(text: str) -> str:
    plain = re.fullmatch(r"[\w./-]+", text)
    return escape(text) if plain else escape("'" + text.replace("'", "'\\''") + "'")
