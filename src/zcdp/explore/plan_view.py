"""The area Plan: queries as rows that can be changed, and what the whole costs beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import inf, log10

from zcdp.accounting.alternatives import SELECTIONS, Priced, mechanism_of
from zcdp.accounting.plan_account import Account, BudgetUse, QueryCost
from zcdp.explore.edits import Noise, noise_of, raw_text
from zcdp.explore.frame import certified, tidy
from zcdp.mechanisms.noise.additive import AddedNoise, AddsIntegers
from zcdp.mechanisms.sensitivity import L1, L0LInf, L1LInf, Sensitivity
from zcdp.plans.plan_edit import query_at
from zcdp.plans.plan_file import Entry, PlanFile
from zcdp.report.account_report import curve_section, routes_section
from zcdp.report.charts import escape
from zcdp.text.names import neighbours, typeset
from zcdp.text.numbers import at_least, at_most, exactly, percent, shares, tagged

__all__ = [
    "MOST_ROWS",
    "allocated",
    "cells",
    "heading",
    "pictures",
    "rows",
    "said",
    "strip",
    "summary",
    "to_allocate",
    "values",
    "which",
]

MOST_ROWS = 200
"""Rows that can be changed; a plan of more queries is counted whole, and the others are changed in the file."""
SPAN = 30.0
"""A slider goes from a part of so many of its value to so many times its value."""
STEPS = 200
NOISES = ("DiscreteLaplace", "DiscreteGaussian", "Laplace", "Gaussian", "Logistic", "Staircase")
RANDOMIZERS = ("RandomizedResponse", "SubsetSelection", "HadamardResponse", "RAPPOR", "OptimizedUnaryEncoding")
NEARLY_ALL = 0.9995
"""A budget of which more is spent has nothing left to speak of."""
FAR_ABOVE = 1.05
"""A share of the budget from which on an epsilon in haste, some millionths too large, tells that it is exceeded."""
ASSUMED = " (assumed; another is written in the text, as sensitivity=2)"
DASH, MINUS = "\u2013", "\u2212"


def heading(plan: PlanFile) -> str:
    """Title and what the plan is about."""
    about = [plan.dataset, plan.author]
    told = " \u00b7 ".join(escape(one) for one in about if one)
    paragraphs = re.split(r"\n\s*\n", plan.description.strip()) if plan.description else []
    described = "".join(f"<p>{escape(' '.join(one.split()))}</p>" for one in paragraphs)  # lines end where they fit
    title = (
        '<div class="field"><label for="plan-title">Title</label><input id="plan-title" data-edit="title" size="32" '
        f'value="{escape(plan.title or "")}" autocomplete="off" aria-describedby="plan-title-problem">'
        '<p class="problem" id="plan-title-problem" hidden></p></div>'
    )
    more = f"<details><summary>About this plan</summary>{described}{title}</details>"
    return f"<h1>{escape(plan.title or 'Untitled plan')}</h1>" + (f'<p class="soft">{told}</p>' if told else "") + more


# Rows.


def rows(plan: PlanFile, account: Account | None) -> str:
    """One list item for each query, with its fields."""
    costs = {query.name: query for query in account.queries} if account else {}
    items = "".join(_row(plan, n, entry, costs.get(entry.name)) for n, entry in enumerate(plan.entries[:MOST_ROWS]))
    more = len(plan.entries) - MOST_ROWS
    if more > 0:
        items += f'<li class="row rest"><p>and {more:,} more queries, counted here and changed in the file.</p></li>'
    return items


def _kinds(entry: Entry) -> Sequence[str]:
    """The mechanisms that may stand in the place of this one, itself among them."""
    own = mechanism_of(entry)
    name = entry.open[0].__name__ if entry.open else type(own).__name__ if own is not None else ""
    if entry.open or own is None:
        return (name,) if name else ()
    if entry.statistic is not None:
        return ("DiscreteLaplace", "DiscreteGaussian") if isinstance(own, AddsIntegers) else (name,)
    if isinstance(own, AddedNoise):
        return NOISES if name in NOISES else (*NOISES, name)
    if isinstance(own, SELECTIONS):
        return tuple(kind.__name__ for kind in SELECTIONS)
    if hasattr(own, "standard_error"):
        known = RANDOMIZERS if getattr(own, "k", None) else RANDOMIZERS[-2:]
        return known if name in known else (*known, name)
    return (name,)


def _field(name: str, n: int, label: str, control: str, of: str) -> str:
    """A control with its label above, which says for those who listen whose it is."""
    hidden = f'<span class="hidden"> of {escape(of)}</span>'
    return f'<div class="field {name}"><label for="{name}-{n}">{label}{hidden}</label>{control}</div>'


def _problems(n: int, *names: str) -> str:
    """The places of the fields' errors, below all of them, where a sentence has room."""
    return "".join(f'<p class="problem" id="{name}-{n}-problem" hidden></p>' for name in names)


def _input(name: str, n: int, value: str, wide: int) -> str:
    where, kind = f"{name}-{n}", "text" if name in ("name", "text", "note") else "decimal"
    return (
        f'<input id="{where}" data-edit="{name}" data-row="{n}" value="{escape(value)}" size="{wide}" '
        f'autocomplete="off" spellcheck="false" inputmode="{kind}" aria-describedby="{where}-problem">'
    )


def slider_ends(value: str) -> tuple[float, float] | None:
    """The logarithms of both ends of a slider around a value; None if it is no number."""
    try:
        number = float(Fraction(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return (log10(number / SPAN), log10(number * SPAN)) if 1e-200 < number < 1e200 else None


def _noise(n: int, name: str, noise: Noise) -> str:
    ends = slider_ends(noise.value)
    letter = typeset(noise.name)
    slider = ""
    if ends is not None:
        slider = (
            f'<input type="range" id="slide-{n}" data-slides="noise-{n}" min="0" max="{STEPS}" value="{STEPS // 2}" '
            f'data-low="{ends[0]!r}" data-high="{ends[1]!r}" data-rises="{int(noise.rises)}" '
            f'aria-label="Noise of {escape(name)}, less to more" aria-valuetext="{letter} {escape(noise.value)}">'
        )
    label, typed = f'Noise <span class="unit">{letter}</span>', _input("noise", n, noise.value, 9)
    return _field("noise", n, label, f'<span class="both">{slider}{typed}</span>', name)


def _row(plan: PlanFile, n: int, entry: Entry, cost: QueryCost | None) -> str:
    name, text = entry.name, raw_text(plan, entry)
    noise, kinds = noise_of(text), _kinds(entry)
    own = "" if not kinds else (entry.open[0].__name__ if entry.open else type(mechanism_of(entry)).__name__)
    fixed = query_at(plan.text, entry.line) is None
    parts = []
    if len(kinds) > 1 and not fixed:
        options = "".join(f"<option{' selected' if one == own else ''}>{escape(one)}</option>" for one in kinds)
        parts.append(
            _field(
                "kind",
                n,
                "Mechanism",
                f'<select id="kind-{n}" data-edit="kind" data-row="{n}" aria-describedby="kind-{n}-problem">'
                f"{options}</select>{_sensitivity(plan, entry)}",
                name,
            )
        )
    else:
        shown = own or "a sum"
        parts.append(
            f'<div class="field kind"><span class="label">Mechanism</span><code>{escape(shown)}</code>'
            f"{_sensitivity(plan, entry)}</div>"
        )
    if noise is not None and not fixed:
        parts.append(_noise(n, name, noise))
    elif not fixed:
        parts.append(
            '<div class="field noise"><span class="label">Noise</span><span class="soft bound">not one number: '
            "change it in the text</span></div>"
        )
    if entry.statistic is None and not fixed:
        parts.append(_field("uses", n, "Uses", _input("uses", n, str(entry.count), 4), name))
    else:
        parts.append(f'<div class="field uses"><span class="label">Uses</span><span>{entry.count:,}</span></div>')
    if (cost is not None and cost.accuracy is not None) or (entry.open and issubclass(entry.open[0], AddedNoise)):
        sd, half = _accuracy(cost)
        parts.append(_field("sd", n, "Std dev", _input("sd", n, sd, 8), name))
        parts.append(_field("half", n, "95% within", _input("half", n, half, 8), name))
        if cost is not None and cost.alone is not None:
            parts.append('<p class="soft bound adjusted">as published, after sums are made to agree</p>')
    note = f'<p class="note">{escape(entry.note)}</p>' if entry.note else ""
    return (
        f'<li class="row" id="row-{n}"><div role="group" aria-labelledby="title-{n}">'
        f'<div class="head"><h3 id="title-{n}">{escape(name)}</h3>{note}</div>'
        f'<div class="price" id="price-{n}">{_price(cost)}</div>'
        f'<div class="controls">{"".join(parts)}</div>'
        f'<div class="problems">{_problems(n, "kind", "noise", "uses", "sd", "half", "remove")}</div>'
        f"{_foot(n, entry, text, fixed=fixed, several=len(kinds) > 1)}"
        f'<div class="which" id="which-{n}" hidden></div></div></li>'
    )


def _sensitivity(plan: PlanFile, entry: Entry) -> str:
    """By how much one person moves the answers, in words: all rests on it, so it stands in sight."""
    one = mechanism_of(entry)
    bound = entry.open[1].get("sensitivity", 1) if entry.open else getattr(one, "sensitivity", None)
    if bound is None:
        return ""
    unit = plan.tables.protects if plan.tables else plan.unit
    who = unit if unit and re.fullmatch(r"[^\W\d]+", unit) else "person"
    assumed = "" if entry.statistic is not None or "sensitivity" in entry.text else ASSUMED
    return f'<span class="soft bound">one {escape(who)} moves {escape(moved(bound))}{assumed}</span>'


def moved(bound: object) -> str:
    """What one person moves by a sensitivity, in words.

    >>> moved(L0LInf(2, 1)), moved(1)
    ('2 cells by 1 each', 'it by 1')
    """
    if isinstance(bound, L0LInf):
        return f"{bound.m} cell{'s' if bound.m > 1 else ''} by {bound.c}{' each' if bound.m > 1 else ''}"
    if isinstance(bound, L1):
        return f"all cells together by {bound.d}"
    if isinstance(bound, L1LInf):
        return f"all cells together by {bound.a}, each by {bound.c}"
    return f"all cells within {bound}" if isinstance(bound, Sensitivity) else f"it by {bound}"


def _foot(n: int, entry: Entry, text: str, *, fixed: bool, several: bool) -> str:
    """The buttons of a row, and its fields as text, unfolded on demand."""
    if fixed:
        return '<p class="note">Found in the data: changed in the file.</p>'
    name = escape(entry.name)
    asks = (
        f'<button type="button" class="quiet" id="asks-{n}" data-which="{n}" aria-expanded="false" '
        f'aria-controls="which-{n}">'
        f'Which mechanism?<span class="hidden"> For {name}</span></button>'
        if several
        else ""
    )
    as_text = (
        f'<details><summary>Name, text, note<span class="hidden"> of {name}</span></summary><div class="controls">'
        + _field("name", n, "Name", _input("name", n, entry.name, 24), entry.name)
        + _field("text", n, "Mechanism as text", _input("text", n, text, 44), entry.name)
        + _field("note", n, "Note", _input("note", n, entry.note or "", 44), entry.name)
        + f"</div>{_problems(n, 'name', 'text', 'note')}</details>"
    )
    gone = (
        f'<button type="button" class="quiet" id="gone-{n}" data-remove="{n}">Remove<span class="hidden"> {name}</span>'
        "</button>"
        if entry.field == "mechanism"
        else ""
    )
    return f'<div class="foot">{asks}{gone}{as_text}</div>'


def _accuracy(cost: QueryCost | None) -> tuple[str, str]:
    """Standard deviation and half-width as a field shows them: to four digits, rounded up, without typography."""
    if cost is None or cost.accuracy is None:
        return "", ""
    return short(cost.accuracy.standard_deviation), short(cost.accuracy.half_width)


def short(value: float) -> str:
    """A number for a field, rounded up to four digits, as one would type it.

    >>> short(14.136244), short(1234567.0), short(30.0)
    ('14.14', '1235000', '30')
    """
    from zcdp.text.numbers import cost

    if value == inf:
        return ""
    text = cost(value, 4)
    return f"{float(text):.0f}" if "e" in text and 1 < value < 1e15 else text


def _price(cost: QueryCost | None, share: str = "") -> str:
    if cost is None:
        return '<span class="open">open: Allocate finds it</span>'
    share = share or (percent(cost.share, up=False) if cost.share is not None else DASH)
    loose = "" if cost.is_tight else ' <span class="soft" title="a proven upper bound">(at most)</span>'
    found = f' <span class="soft">and \u03b4 = {at_most(cost.delta, 3)}</span>' if cost.delta else ""
    wide = min(max(100 * (cost.share or 0), 0), 100)
    return (
        f'<span class="rho">\u03c1 {tagged(cost.rho, at_most(cost.rho))}{loose}{found}</span>'
        f'<span class="share-text">{share}</span>'
        f'<span class="track" aria-hidden="true"><span class="share" style="width:{wide:.1f}%"></span></span>'
    )


def cells(plan: PlanFile, account: Account | None) -> dict[str, str]:
    """The costs of all rows, by the ids of their places."""
    costs = {query.name: query for query in account.queries} if account else {}
    shown = dict(zip(costs, shares([query.rho for query in costs.values()]), strict=True))
    return {
        f"price-{n}": _price(costs.get(entry.name), shown.get(entry.name, ""))
        for n, entry in enumerate(plan.entries[:MOST_ROWS])
    }


def values(plan: PlanFile, account: Account | None) -> dict[str, str]:
    """What stands in the fields, by their ids; a field in which a person types is left alone by the page."""
    costs = {query.name: query for query in account.queries} if account else {}
    found: dict[str, str] = {}
    for n, entry in enumerate(plan.entries[:MOST_ROWS]):
        noise = noise_of(entry.text)
        sd, half = _accuracy(costs.get(entry.name))
        found |= {f"uses-{n}": str(entry.count), f"sd-{n}": sd, f"half-{n}": half, f"text-{n}": raw_text(plan, entry)}
        found |= {f"name-{n}": entry.name, f"note-{n}": entry.note or ""}
        if noise is not None:
            found[f"noise-{n}"] = noise.value
    return found | {"plan-title": plan.title or ""} | _of_budget(plan, account)


def _of_budget(plan: PlanFile, account: Account | None) -> dict[str, str]:
    kind = "epsilon" if plan.budget is not None and plan.budget.epsilon is not None else "rho"
    limit = None if plan.budget is None else plan.budget.epsilon if kind == "epsilon" else plan.budget.rho
    delta = plan.delta or (plan.budget and plan.budget.delta) or (account.delta if account else "1e-6")
    return {"budget-kind": kind, "budget-limit": "" if limit is None else str(limit), "delta": tidy(str(delta))}


# What the whole costs.

RHO = (
    "privacy loss in a unit that adds up over queries; smaller is more private: "
    '<a href="understand">what an attacker could do</a>'
)


def summary(account: Account | None, open_queries: int = 0, *, last: bool = False) -> str:
    """epsilon, rho and the budget; of an account that is not the `last` also that sharper numbers follow."""
    if account is None:
        return '<p class="verdict">Every query is open: Allocate finds their noise, once there is a budget.</p>'
    total, delta = account.total, account.delta
    pending = "profile" not in total.routes and not last
    low = total.epsilon_bounds[0]
    if pending:
        note = "at most; the exact profile follows\u2026"
    elif "profile" not in total.routes:
        note = f"{certified(0, 1)}; by \u03c1 alone: so many different mechanisms"
    else:
        note = certified(low, total.epsilon)
    releases = sum(query.count for query in account.queries)
    facts = [
        (f"\u03b5 at \u03b4 = {exactly(delta)}", "epsilon", total.epsilon, note),
        ("\u03c1 (zCDP)", "rho", total.rho, RHO),
    ]
    cards = "".join(
        f'<div class="total {name}"><dt>{label}</dt>'
        f'<dd><span id="{name}">{tagged(value, at_most(value))}</span><small>{words}</small></dd></div>'
        for label, name, value, words in facts
    )
    for_whom = escape(re.sub(r" \(.*\)", "", neighbours(total.relation, account.unit)))
    count = f"{releases:,} release" + ("s" if releases != 1 else "")
    left_out = ""
    if open_queries:
        left_out = f'<p class="verdict">{open_queries} open, and not counted yet: Allocate finds the noise.</p>'
    return (
        f'{left_out}<dl class="totals{" pending" if pending else ""}">{cards}</dl>'
        f"{_meter(account, open_queries, last=last)}"
        f'<p class="soft">{count}; neighbours: {for_whom}.</p>'
    )


def _limit(budget: BudgetUse) -> str:
    if budget.rho is not None:
        return f"\u03c1 = {exactly(budget.rho)}"
    return f"\u03b5 = {exactly(budget.epsilon)} at \u03b4 = {exactly(budget.delta)}"


def _state(account: Account, budget: BudgetUse, *, last: bool) -> str:
    """Whether the budget is kept: "good", "bad", or "waits" where a first epsilon is above it and the last may not be.

    rho is the same at once and in the end.
    """
    if not budget.exceeded:
        return "good"
    near = "profile" not in account.total.routes or budget.spent < FAR_ABOVE
    return "waits" if near and budget.rho is None and not last else "bad"


def _meter(account: Account, open_queries: int = 0, *, last: bool) -> str:
    """The budget as a bar with its words."""
    budget = account.budget
    if budget is None:
        return '<p class="soft">No budget is set.</p>'
    share, wide = percent(budget.spent, up=True), min(100 * budget.spent, 100)
    state = _state(account, budget, last=last)
    words = {
        "good": f"Within budget: {share} of {_limit(budget)}",
        "bad": f"Over budget: {share} of {_limit(budget)}",
        "waits": f"At most {share} of {_limit(budget)}",
    }[state]
    if state == "good" and open_queries:  # which is not the plan yet
        state, words = "waits", f"Without the open queries: {share} of {_limit(budget)}"
    letter = "\u03c1" if budget.rho is not None else "\u03b5"
    rest = f"; {letter}\u00a0{at_least(budget.left)} left" if state == "good" and budget.spent < NEARLY_ALL else ""
    return (
        f'<div class="budget {state}"><div class="meter" aria-hidden="true">'
        f'<span style="width:{wide:.2f}%"></span></div><p id="verdict">{words}{rest}</p></div>'
    )


def strip(account: Account | None, *, last: bool = False) -> str:
    """The numbers in one line, which stays in sight where the rows fill the screen of a phone."""
    if account is None:
        return ""
    total, budget = account.total, account.budget
    share = f" \u00b7 {percent(budget.spent, up=True)} of the budget" if budget is not None else ""
    state = " bad" if budget is not None and _state(account, budget, last=last) == "bad" else ""
    words = f"\u03b5 {at_most(total.epsilon, 4)} \u00b7 \u03c1 {at_most(total.rho, 4)}{share}"
    return f'<a href="#cost-title" tabindex="-1" class="words{state}">{words}</a>'


def said(account: Account | None, *, last: bool = False) -> str:
    """The result in one sentence, for those who listen."""
    if account is None:
        return "All queries are open."
    total, budget = account.total, account.budget
    words = f"epsilon {at_most(total.epsilon, 4)}, rho {at_most(total.rho, 4)}"
    if budget is None:
        return words
    told = {"good": "within budget", "bad": "over budget", "waits": "at most"}[_state(account, budget, last=last)]
    return f"{words}, {told}, {percent(budget.spent, up=True)} spent"


def pictures(account: Account) -> dict[str, str]:
    """The curve and the routes, as the report draws them: the picture beside the rows, words and tables below them."""
    found = {"routes": _plainer(routes_section(account))}
    if account.curve:
        drawn = _plainer(curve_section(account))
        picture = re.search(r"<figure>.*?</figure>", drawn, re.DOTALL)
        if picture is not None:
            found["curve"] = picture[0]
            found["points"] = drawn.replace(picture[0], "").replace('<div class="pair">', "<div>")
    return found


def _plainer(section: str) -> str:
    """A section of the report without its frame, to stand in the page."""
    return re.sub(r'<section id="\w+">|</section>', "", section)


# Allocate.


def to_allocate(plan: PlanFile, open_queries: int) -> str:
    """What Allocate would do now."""
    if plan.budget is None:
        return "Set a budget first: then Allocate finds the noise that it pays for."
    if open_queries == len(plan.entries):
        return "Every query is open: finds the noise of all of them, with the whole budget."
    if open_queries:
        count = f"the {open_queries} open queries" if open_queries > 1 else "the open query"
        return f"Finds the noise of {count}, with what the others leave of the budget; those stay as they are."
    return (
        f"Nothing is open: sets the noise of <em>all</em> queries that add noise anew, so that they use the whole "
        f"budget{_kept(plan)}. To keep some as they are, type <code>?</code> as the noise of the others."
    )


def _kept(plan: PlanFile) -> str:
    """Which queries Allocate leaves alone if nothing is open, as their noise is none on an answer."""
    names = [entry.name for entry in plan.entries if not hasattr(mechanism_of(entry), "accuracy")]
    if not names:
        return ""
    others = f" and {len(names) - 3} others" if len(names) > 3 else ""
    told = ", ".join(f"<q>{escape(name)}</q>" for name in names[:3])
    return f"; {told}{others} {'stay' if len(names) > 1 else 'stays'} as {'they are' if len(names) > 1 else 'it is'}"


def allocated(plan: PlanFile, made: PlanFile, before: Account | None, after: Account | None) -> str:
    """What Allocate changed: the noise of each query and the cost of the whole, before and after."""
    changed = [
        (old, new, noise_of(old.text), noise_of(new.text))
        for old, new in zip(plan.entries, made.entries, strict=True)
        if old.text != new.text
    ]
    if not changed:
        return '<p role="status">Allocate changed nothing: the plan uses its budget already.</p>'
    count = f"{len(changed)} queries" if len(changed) > 1 else "1 query"
    cost = ""
    if after is not None:
        # with open queries, which were not counted, the number before is that of another plan
        whole = before is not None and all(entry.plan is not None for entry in plan.entries)
        then = f"from {at_most(before.total.epsilon)} to" if whole and before is not None else "now"
        cost = f", \u03b5 {then} {at_most(after.total.epsilon)}"
    stays = " The rest of the plan stays as it was." if len(changed) < len(plan.entries) else ""
    listed = "".join(
        f'<tr><th scope="row">{escape(new.name)}</th><td class="number">{escape(one.value) if one else DASH}</td>'
        f'<td class="number">{escape(short(float(two.value))) if two else DASH}</td></tr>'
        for _, new, one, two in changed[:MOST_ROWS]
    )
    return (
        f'<p role="status">Allocate set the noise of {count}{cost}. Undo takes it back.{stays}</p>'
        "<details><summary>Noise before and after</summary><table><thead><tr>"
        '<th scope="col">Query</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th>'
        f"</tr></thead><tbody>{listed}</tbody></table></details>"
    )


# Which mechanism?


def which(n: int, found: Iterable[Priced], *, by: str = "epsilon", waiting: int = 0) -> str:
    """A table of alternatives of equal accuracy with what the whole plan would cost, the cheapest in `by` first."""
    listed = sorted(found, key=lambda one: (getattr(one.total, by), not one.alternative.own))
    own = next((getattr(one.total, by) for one in listed if one.alternative.own), None)
    body = "".join(_option(n, one, own, by, least=k == 0) for k, one in enumerate(listed))
    kind = "standard deviation of each answer"
    if listed and listed[0].alternative.accuracy is None:
        local = hasattr(listed[0].alternative.mechanism, "standard_error")
        kind = "standard error of a frequency" if local else "standard deviation of the noise on each score"
    state = f'<p class="soft" role="status">{waiting} more to come\u2026</p>' if waiting else ""
    alone = "" if len(listed) > 1 or waiting else '<p class="soft">There is no other of equal accuracy.</p>'
    first, second = ("\u03c1", "\u03b5") if by == "rho" else ("\u03b5", "\u03c1")
    return (
        f"<table><caption>Equal accuracy ({kind}); what the <em>whole plan</em> would cost, least {first} first"
        "</caption>"
        f'<thead><tr><th scope="col">Mechanism</th><th scope="col" class="number">{first}</th>'
        '<th scope="col" class="number">against now</th>'
        f'<th scope="col" class="number">{second}</th><th scope="col"><span class="hidden">Take it</span></th></tr>'
        "</thead>"
        f"<tbody>{body}</tbody></table>{state}{alone}"
    )


def _option(n: int, one: Priced, own: float | None, by: str, *, least: bool) -> str:
    option, total = one.alternative, one.total
    name = type(option.mechanism).__name__
    change = ""
    if own and not option.own and own < inf:
        ratio = getattr(total, by) / own - 1
        sign = "+" if ratio >= 0 else MINUS
        shown = f"{abs(ratio):.1%}"
        change = f"{sign}{shown}" if shown != "0.0%" else "\u00b10.0%"
    take = (
        '<span class="soft">in use</span>'
        if option.own
        else f'<button type="button" data-take="{escape(name)}" data-row="{n}">Use'
        f'<span class="hidden"> {name}</span></button>'
    )
    answers = ""
    if isinstance(option.mechanism, AddedNoise):
        whole = isinstance(option.mechanism, AddsIntegers)
        answers = f' <span class="soft answers">{"whole numbers" if whole else "with decimals"}</span>'
    costs = {"rho": ("\u03c1", total.rho), "epsilon": ("\u03b5", total.epsilon)}
    (letter, cost), (other, beside) = costs.pop(by), *costs.values()
    return (
        f'<tr class="{"least" if least else ""}"><th scope="row">{escape(name)}{answers}<br>'
        f"<code>{escape(option.text)}</code></th>"
        f'<td class="number" data-label="{letter}">{tagged(cost, at_most(cost))}</td>'
        f'<td class="number soft">{change}</td>'
        f'<td class="number" data-label="{other}">{tagged(beside, at_most(beside))}</td><td>{take}</td></tr>'
    )
