"""The report on the account of a plan as one HTML page, section by section; `render` puts them together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil, inf

from zcdp.accounting.baselines import EIGHTH
from zcdp.accounting.plan_account import Account, BudgetUse, Charge, QueryCost, TotalCost
from zcdp.accounting.theorem_pages import page_text
from zcdp.report.charts import Bar, bars, curve, escape, page
from zcdp.text.names import attack, neighbours, route, typeset
from zcdp.text.numbers import at_least, at_most, exactly, in_percent, more, percent, shares, tagged

__all__ = [
    "blocks",
    "certainty",
    "curve_section",
    "expected",
    "heading",
    "queries",
    "recompute",
    "render",
    "risk_section",
    "routes_section",
    "savings",
    "statement",
    "summary",
    "theorems",
]


def heading(account: Account, more: Mapping[str, str] | None = None) -> str:
    """Title, description and particulars, as the plan gives them, and `more` particulars after the data set."""
    title = escape(account.title or "Privacy account")
    described = account.description
    text = "".join(f"<p>{escape(part)}</p>\n" for part in described.split("\n\n")) if described else ""
    return f"<header><h1>{title}</h1>\n{text}{_particulars(account, more or {})}</header>\n<main>\n"


def _particulars(account: Account, more: Mapping[str, str]) -> str:
    """Date, author, data set, unit of privacy and neighbouring relation."""
    unit = escape(account.unit) if account.unit else "not stated: whoever is one record"
    rows = (
        ("Date", f'<time datetime="{escape(account.date)}">{escape(account.date)}</time>'),
        ("Made by", escape(account.author) if account.author else "not stated"),
        ("Data set", escape(account.dataset) if account.dataset else "not stated"),
        *((name, escape(text)) for name, text in more.items()),
        ("Unit of privacy", unit),
        ("Neighbours", escape(neighbours(account.total.relation, account.unit))),
    )
    return f'<dl class="particulars">{"".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)}</dl>\n'


def summary(account: Account, verdict: str = "") -> str:
    """The verdict on the budget in one sentence, then rho, epsilon at delta, pure epsilon, number of releases.

    Another `verdict`, as HTML, stands in the place of that on a plan without a budget of its own.
    """
    total, delta = account.total, account.delta
    uses = sum(query.count for query in account.queries)
    kinds = len(account.queries)
    facts = [
        (
            "Privacy spent (zCDP)",
            "\u03c1 = ",
            total.rho,
            "adds up over releases; smaller is more private" if total.rho < inf else "the cause stands at the query",
        ),
        (
            f"Epsilon at \u03b4 = {exactly(delta)}",
            "\u03b5 = ",
            total.epsilon,
            "the usual (\u03b5, \u03b4) guarantee",
        ),
    ]
    if total.pure_epsilon < inf:  # Gaussian noise has none
        facts.append(("Pure epsilon (\u03b4 = 0)", "\u03b5 = ", total.pure_epsilon, "the guarantee without any \u03b4"))
    cards = "".join(
        f'<div class="fact"><dt>{label}</dt><dd>{sign}{tagged(value, at_most(value))}<small>{note}</small></dd></div>\n'
        for label, sign, value, note in facts
    )
    of = f"in {kinds:,} queries" if kinds != 1 else "of one query"
    cards += f'<div class="fact"><dt>Uses of mechanisms</dt><dd>{uses:,}<small>{of}</small></dd></div>\n'
    said = verdict if verdict and account.budget is None else _verdict(account.budget)
    return f'{said}<dl class="facts">\n{cards}</dl>\n'


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


# Statements of theorems: copied from their pages in docs/theorems, as a report has no links to other pages.

_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_STRESSED = re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])")
_ESCAPED = re.compile(r"\\([_*])")
_CODE = re.compile(r"`([^`]+)`")


@cache
def statement(theorem: str) -> str | None:
    """The section "Statement" of a theorem's page as HTML; None if there is no such page.

    >>> statement("laplace")[:3], statement("no-such-theorem")
    ('<p>', None)
    """
    if (text := page_text(theorem)) is None:
        return None
    return blocks(text.split("## Statement\n", 1)[-1].split("\n## ", 1)[0])


def blocks(text: str) -> str:
    """The Markdown of a theorem's section as HTML: paragraphs, lists and formulas.

    >>> blocks("Let *x* be\\n\\n    y")
    '<p>Let <em>x</em> be</p>\\n<pre>y</pre>\\n'
    """
    return "".join(_block(part) for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip())


def _block(text: str) -> str:
    if all(line.startswith("    ") for line in text.split("\n") if line):
        return f"<pre>{escape(re.sub('^    ', '', text, flags=re.MULTILINE))}</pre>\n"
    items = re.split(r"^(?:\* |- |\d+\. )", text, flags=re.MULTILINE)
    lead = f"<p>{_inline(items[0])}</p>\n" if items[0].strip() else ""
    listed = "".join(f"<li>{_inline(item)}</li>\n" for item in items[1:])
    return lead + (f"<ul>\n{listed}</ul>\n" if listed else "")


def _inline(text: str) -> str:
    """Inline Markdown as HTML: emphasis and code; links are reduced to their text, as a report cannot follow them."""
    plain = escape(_LINK.sub(r"\1", " ".join(text.split())))
    strong = _STRESSED.sub(r"<em>\1</em>", _BOLD.sub(r"<strong>\1</strong>", plain))
    return _CODE.sub(r"<code>\1</code>", _ESCAPED.sub(r"\1", strong))


# Sections in words and tables: certainty, savings, queries, theorems, and how to recompute.


def _section(name: str, title: str, content: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>\n{content}</section>\n'


def certainty(account: Account) -> str:
    """The section on what "certified" means, with the certified lower and upper ends of rho and epsilon."""
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
        f"<p>{tight}</p>\n{_assumed(account)}"
        '<table class="inputs"><caption>The true value lies between these two numbers</caption><thead><tr><th></th>'
        '<th class="number">at least</th><th class="number">at most</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>\n",
    )


def _assumed(account: Account) -> str:
    """What was stated, not proven, as a list; empty if nothing was."""
    if not account.assumptions:
        return ""
    each = "".join(f"<li>{escape(one)}</li>" for one in account.assumptions)
    return f"<p><strong>Assumed, not proven:</strong> whoever wrote a mechanism states that</p>\n<ul>{each}</ul>\n"


def risk_section(account: Account) -> str:
    """The section on what an attacker gains, in words and two tables; nothing if it was not computed."""
    risk = account.risk
    if risk is None:
        return ""
    who = escape(account.unit or "person")
    asked = escape(attack(account.total.relation, account.unit))
    rates = "".join(
        f'<tr><th scope="row">{_one_in(one.fpr)}</th><td class="number">'
        f"{tagged(one.tpr_at_most, in_percent(one.tpr_at_most, up=True))}</td></tr>\n"
        for one in risk.rates
    )
    guesses = "".join(
        f'<tr><th scope="row">{_one_in(one.prior)}</th>'
        f'<td class="number">{tagged(one.before, in_percent(one.before, up=False))}</td>'
        '<td class="number">'
        f"{tagged(one.at_most, in_percent(one.at_most, up=True, digits=2, over=one.before))}</td></tr>\n"
        for one in risk.guesses
    )
    gauss = (
        f" No attack does better than on normal noise of \u03bc = {tagged(risk.mu, at_most(risk.mu, 4))}, "
        f"but for a probability of {exactly(risk.slack)}."
        if risk.mu is not None
        else ""
    )
    return _section(
        "risk",
        "What an attacker gains",
        f"<p>Someone knows all about a {who} and about everyone else, looks at all results, and guesses {asked}. "
        "Whatever they compute, they do at most this well.</p>\n"
        '<table class="inputs"><caption>Those who are found, by how many others are taken for '
        'them</caption><thead><tr><th scope="col">False alarms</th><th scope="col" class="number">Found, at most</th>'
        f"</tr></thead><tbody>{rates}</tbody></table>\n"
        '<table class="inputs"><caption>Right guesses without the results and with them, by how likely it '
        'is beforehand</caption><thead><tr><th scope="col">Likely</th><th scope="col" class="number">Without</th>'
        '<th scope="col" class="number">With, at most</th></tr></thead>'
        f"<tbody>{guesses}</tbody></table>\n"
        f"<p>The share found exceeds the share of false alarms by at most "
        f"{tagged(risk.advantage[1], in_percent(risk.advantage[1], up=True))} (the advantage).{gauss}</p>\n",
    )


def _one_in(share: float) -> str:
    """A share in words: 1 in 1,000."""
    return f"1 in {round(1 / share):,}"


def savings(account: Account) -> str:
    """The section on what the same releases are charged by the bounds in common use."""
    total = account.total
    said = [_best(total, account.delta), *(_saving(total, account.delta, *one) for one in total.usual.items())]
    text = "".join(one for one in said if one)
    if text and any(EIGHTH in query.usual for query in account.queries):
        text += '<p class="soft">Selections by the exponential mechanism count as \u03b5\u00b2/8 in the first.</p>\n'
    if not text:
        text = "<p>The usual bounds do not apply to all of these mechanisms, so there is nothing to compare with.</p>\n"
    return _section("savings", "What sharp accounting saves", text + _saved_table(account))


def _saved_table(account: Account) -> str:
    """A folded table of rho of each query beside the charge of the usual bound; queries without one are left out."""
    rows = "".join(
        f'<tr><th scope="row">{escape(query.name)}</th>'
        f'<td class="number">{tagged(usual, at_most(usual))}</td>'
        f'<td class="number">{tagged(query.rho, at_most(query.rho))}</td>'
        f'<td class="number">{tagged(query.saved, percent(query.saved, up=False))}</td></tr>\n'
        for query in account.queries
        if (usual := next((value for value in query.usual.values() if value is not None), None)) is not None
    )
    if not rows:
        return ""
    head = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("Usual \u03c1", "\u03c1 here", "Saved"))
    return (
        "<details><summary>Query by query</summary>\n"
        f'<table class="inputs"><thead><tr><th scope="col">Query</th>{head}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table>\n</details>\n"
    )


def _best(total: TotalCost, delta: float) -> str:
    """A sentence comparing epsilon with the best method in use elsewhere; empty if none applies."""
    if not total.elsewhere:
        return ""
    best = total.elsewhere[0]
    words = (
        f"<p>The best that is in use elsewhere for these releases, <strong>{escape(typeset(best.name))}</strong>, "
        f"gives \u03b5 = {tagged(best.epsilon, at_most(best.epsilon))} at \u03b4 = {exactly(delta)}. "
    )
    if not total.epsilon < best.epsilon < inf:
        return f"{words}The certified \u03b5 is as large.</p>\n"
    return f"{words}The certified \u03b5 is {percent(1 - total.epsilon / best.epsilon, up=False)} smaller.</p>\n"


def _saving(total: TotalCost, delta: float, bound: str, charge: Charge) -> str:
    words = (
        f"<p>Under the bound <strong>{escape(typeset(bound))}</strong> the same releases would be charged "
        f"\u03c1 = {tagged(charge.rho, at_most(charge.rho))}, which is \u03b5 = "
        f"{tagged(charge.epsilon, at_most(charge.epsilon))} at \u03b4 = {exactly(delta)}"
    )
    if not total.rho < charge.rho < inf:
        return f"{words}. The certified cost is {'as much' if total.rho == charge.rho else at_most(total.rho)}.</p>\n"
    words += f". The certified \u03c1 is {percent(1 - total.rho / charge.rho, up=False)} smaller"
    return f"{words}: that charge pays for {more(charge.rho / total.rho)} times as many such releases.</p>\n"


def queries(account: Account) -> str:
    """The section with one row for each query: mechanism, count, accuracy, and cost in rho."""
    total = account.total
    shown = shares([query.rho for query in account.queries])
    linked = {theorem.id for theorem in account.theorems}
    rows = "".join(_query(query, share, linked) for query, share in zip(account.queries, shown, strict=True))
    number = ' class="number"'
    head = "".join(
        f'<th scope="col"{kind}>{name}</th>'
        for name, kind in (
            ("Query", ""),
            ("Times", number),
            ("Std dev", number),
            ("95% within", number),
            ("\u03c1 each", number),
            ("\u03c1 of all", number),
            ("Share", ' class="bar-cell"'),
        )
    )
    whole = tagged(total.rho, at_most(total.rho))
    foot = (
        '<tr><th scope="row">Together</th><td></td><td></td><td></td><td></td>'
        f'<td class="number" data-label="\u03c1 of all">{whole}</td>'
        '<td class="bar-cell" data-label="Share">100.0%</td></tr>'
    )
    note = (
        "The standard deviation is that of the noise on one answer, and 95 of 100 answers are within the next number "
        "of the true one: both exact, from the law of the noise."
    )
    if any(query.alone for query in account.queries):
        note += (
            " Of tables that are made to add up they are those of the adjusted figures, before these are rounded to "
            "whole steps of their grid."
        )
    if total.rho < sum(query.rho for query in account.queries) * (1 - 1e-9):
        note += " The queries are worst at different orders, so the whole costs less than the sum of its parts."
    return _section(
        "queries",
        "What it was spent on",
        f'<table class="queries"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody><tfoot>{foot}</tfoot></table>\n'
        f'<p class="soft">{note}</p>\n{_derived(account)}',
    )


def expected(account: Account) -> str:
    """The section on tables whose errors depend on how many persons a cell has; nothing if there are none."""
    told = [query for query in account.queries if query.predicted]
    if not told:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(query.name)}</th>'
        f'<td class="number" data-label="Persons a cell">{f"{one.persons:,}" if one.persons else "any"}</td>'
        f"<td>{escape(one.words(at_most))}</td></tr>\n"
        for query in told
        for one in query.predicted
    )
    advice = dict.fromkeys((query.name, one.note) for query in told for one in query.predicted if one.note)
    notes = "".join(f'<p class="soft">{escape(name)}: {escape(note or "")}.</p>\n' for name, note in advice)
    return _section(
        "expected",
        "What to expect before any data is read",
        '<table class="queries"><thead><tr><th scope="col">Table</th><th scope="col" class="number">Persons a cell</th>'
        f'<th scope="col">At 95%</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\n{notes}'
        '<p class="soft">How many persons a cell has is a guess of the plan, or one of 100, 1,000 and 10,000; nothing '
        "was looked up in data.</p>\n",
    )


def _derived(account: Account) -> str:
    """The columns that the plan derives from each row, or from each person's rows; nothing if there are none."""
    if not account.derived:
        return ""
    listed = "".join(f"<dt>{escape(one.name)}</dt><dd>{escape(one.words)}</dd>\n" for one in account.derived)
    said = "Derived from each row alone, or from one person's rows alone, with no value where one is missing:"
    return f"<p>{said}</p>\n<dl>\n{listed}</dl>\n"


def _query(query: QueryCost, share: str, linked: set[str]) -> str:
    remark = f'<br><span class="soft">{escape(query.note)}</span>' if query.note else ""
    remark += f"<br>{escape(query.about)}" if query.about else ""
    loose = "" if query.is_tight else ' <span class="soft">(upper bound)</span>'
    why = f' <a class="soft" href="#theorem-{escape(query.theorem)}">proof</a>' if query.theorem in linked else ""
    sd, half = (query.accuracy.standard_deviation, query.accuracy.half_width) if query.accuracy else (None, None)
    cells = (
        ("Times", f"{query.count:,}"),
        ("Std dev", tagged(sd, at_most(sd, 4))),
        ("95% within", tagged(half, at_most(half, 4))),
        ("\u03c1 each", tagged(query.rho_one, at_most(query.rho_one))),
        ("\u03c1 of all", tagged(query.rho, at_most(query.rho))),
    )
    data = "".join(f'<td class="number" data-label="{label}">{text}</td>' for label, text in cells)
    bar = f'<span class="track"><span class="share" style="width:{share}"></span></span>'
    data += f'<td class="bar-cell" data-label="Share"><span>{tagged(query.share, share)}{bar}</span></td>'
    return (
        f'<tr><th scope="row">{escape(query.name)}<br><code>{escape(query.mechanism)}</code>{loose}{why}{remark}</th>'
        f"{data}</tr>\n"
    )


def theorems(account: Account) -> str:
    """The section of the theorems used, each with its statement to unfold and the path of its proof."""
    items = []
    for theorem in account.theorems:
        said = statement(theorem.id) or "<p>Its page is not part of this installation.</p>\n"
        items.append(
            f'<details id="theorem-{escape(theorem.id)}"><summary>{escape(theorem.title)}</summary>\n{said}'
            f'<p class="soft">The proof: <code>{escape(theorem.path)}</code></p></details>\n'
        )
    return _section(
        "theorems",
        "Theorems used",
        f"<p>What the numbers rest on, stated here, and proved on the pages that are named.</p>\n{''.join(items)}",
    )


def recompute(account: Account) -> str:
    """The section on how to repeat the computation: versions, the command, and the inputs as given."""
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


# Sections with a chart, its text equivalent and a table of its values.


def curve_section(account: Account) -> str:
    """The section on the (epsilon, delta) curve; its points are certified, the lines only join them."""
    total, delta = account.total, account.delta
    points = [(point.epsilon, point.delta) for point in account.curve if point.epsilon < inf]
    drawn = [(epsilon, chance) for epsilon, chance in points if chance > 0]
    mark = (total.epsilon, delta) if total.epsilon < inf else None
    name = f"\u03b5 = {at_most(total.epsilon)}"
    if len(drawn) < 2:
        return ""
    first, last = drawn[0], drawn[-1]
    text = (
        f"The curve falls from delta = {at_most(first[1])} at epsilon = {at_most(first[0])} to "
        f"delta = {at_most(last[1])} at epsilon = {at_most(last[0])}. "
        f"Marked: epsilon = {at_most(total.epsilon)} at delta = {exactly(delta)}. "
        "All points stand in the table below."
    )
    chart = curve(drawn, mark, name, name="curve", title="delta as a function of epsilon, logarithmic scale", text=text)
    return (
        '<section id="curve"><h2>The whole (\u03b5, \u03b4) curve</h2>\n<div class="pair">\n'
        f"<figure>{chart}</figure>\n<div><p>Every point is a guarantee of its own; all hold at once, for the same "
        "releases. Change the data of one person, and the probability of any set of results changes from P to at most "
        "e<sup>\u03b5</sup> P + \u03b4.</p>\n"
        '<p class="soft">The dots are certified values, rounded up; the line only joins them. '
        f"The ring marks \u03b4 = {exactly(delta)}.</p></div></div>\n{_chunks(points)}</section>\n"
    )


def _chunks(points: Sequence[tuple[float, float]], count: int = 4) -> str:
    size = max(ceil(len(points) / count), 1)
    tables = []
    for start in range(0, len(points), size):
        rows = "".join(
            f'<tr><td class="number">{tagged(epsilon, at_most(epsilon))}</td>'
            f'<td class="number">{tagged(chance, at_most(chance))}</td></tr>\n'
            for epsilon, chance in points[start : start + size]
        )
        tables.append(
            '<table><thead><tr><th scope="col" class="number">\u03b5</th>'
            f'<th scope="col" class="number">\u03b4</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>\n"
        )
    return (
        f"<details><summary>All {len(points)} points as a table</summary>\n"
        f'<div class="chunks" role="group" aria-label="Points of the curve">\n{"".join(tables)}</div>\n</details>\n'
    )


def routes_section(account: Account) -> str:
    """The section that compares epsilon at delta by each accounting route, the smallest first; all are upper bounds."""
    total, delta = account.total, account.delta
    found = [(typeset(route(name)), value, name == total.route) for name, value in total.routes.items() if value < inf]
    found += [
        (f"{typeset(bound)} per release, by zCDP", charge.epsilon, False)
        for bound, charge in total.usual.items()
        if charge.epsilon < inf
    ]
    found.sort(key=lambda item: (item[1], not item[2]))
    items: list[Bar] = [(label, value, at_most(value), chosen) for label, value, chosen in found]
    if not items:
        return ""
    text = "; ".join(f"{label}: epsilon = {value}" for label, _, value, _ in items) + "."
    chart = bars(items, name="routes", title=f"epsilon at delta = {exactly(delta)} by accounting route", text=text)
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}{" (used here)" if chosen else ""}</th>'
        f'<td class="number">{tagged(value, at_most(value))}</td></tr>\n'
        for label, value, chosen in found
    )
    return (
        '<section id="routes"><h2>The same releases under each accounting route</h2>\n<div class="pair">\n'
        f"<figure>{chart}</figure>\n<div><table><caption>\u03b5 at \u03b4 = {exactly(delta)}; every value is valid, "
        'the least is the sharpest</caption><thead><tr><th scope="col">Route</th>'
        f'<th scope="col" class="number">\u03b5</th></tr></thead><tbody>{rows}</tbody></table></div></div></section>\n'
    )


# The whole page.


def render(
    account: Account,
    *,
    published: str = "",
    sections: str = "",
    particulars: Mapping[str, str] | None = None,
    verdict: str = "",
) -> str:
    """The account as one self-contained HTML page.

    `published` and `sections` are HTML inserted before and after the table of queries, `particulars` more lines of the
    heading, and `verdict` is said in the place of "no budget was given".

    >>> from zcdp import account
    >>> render(account("Laplace(epsilon=1)", curve=False)).count("<section")
    6
    """
    body = "".join(
        (
            heading(account, particulars),
            summary(account, verdict),
            published,
            queries(account),
            "" if published else expected(account),
            sections,
            risk_section(account),
            certainty(account),
            curve_section(account),
            routes_section(account),
            savings(account),
            theorems(account),
            recompute(account),
        )
    )
    return page(account.title or "Privacy account", body)
