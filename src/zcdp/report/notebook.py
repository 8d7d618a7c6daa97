"""Values in a notebook: the tables and charts of the report, each in a frame with the little style that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

from zcdp.numeric.balls import NotCertified
from zcdp.numeric.work import SECOND, done, within
from zcdp.privacy.curve import Curve, Plan
from zcdp.report.charts import curve as curve_chart
from zcdp.report.charts import escape
from zcdp.text.names import NEIGHBOURS, printable, table
from zcdp.text.numbers import at_least, at_most, exactly, grouped, percent, shares

__all__ = ["framed", "html", "shortened", "table_html"]

STYLE = """<style>.zcdp-shown{--ink:#1b1f24;--soft:#57606a;--page:#fff;--rule:#d5dae0;--blue:#0072b2;--bad:#b43c00;\
--good:#00704f;max-width:44rem}
@media(prefers-color-scheme:dark){.zcdp-shown{--ink:#e6e9ed;--soft:#a3acb6;--page:#14171b;--rule:#39414a;\
--blue:#56b4e9;--bad:#ff9b5e;--good:#3fc79a}}
.zcdp-shown table{font-variant-numeric:tabular-nums}.zcdp-shown caption{text-align:left;font-weight:600}
.zcdp-shown svg{max-width:24rem;display:block;overflow:visible}.zcdp-shown text{font:11px system-ui,sans-serif;fill:\
currentColor}.zcdp-shown .grid{stroke:var(--rule)}.zcdp-shown .line{fill:none;stroke:var(--blue);stroke-width:2}
.zcdp-shown .dot,.zcdp-shown .best{fill:var(--blue)}.zcdp-shown .mark{fill:none;stroke:var(--bad);stroke-width:3}
.zcdp-shown .guide{fill:none;stroke:var(--bad);stroke-dasharray:3 3}.zcdp-shown .strong{font-weight:700}
.zcdp-shown .meter{height:10px;border-radius:5px;background:var(--rule);max-width:24rem;overflow:hidden;margin:.3rem 0}
.zcdp-shown .meter span{display:block;height:100%;background:var(--good)}.zcdp-shown .over span{background:var(--bad)}\
</style>"""
LONGEST = 160
"""Characters of a mechanism's text, as of a `Channel` with many rows, before it is shortened."""
MOST_ROWS = 20
CURVE_WORK = SECOND // 4
"""Work of a curve that nobody asked for: what takes more is shown without one."""
CURVE_STEPS = 24
DELTA = Fraction(1, 10**6)


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text with its middle left out, if it is long.

    >>> shortened("a" * 99, 20)
    'aaaaaaaaaaaaa … aaaa'
    """
    text = printable(text)
    return text if len(text) <= longest else f"{text[: longest - 7]} \u2026 {text[-4:]}"


def framed(body: str) -> str:
    """HTML in a frame whose style ends with it."""
    return f'<div class="zcdp-shown">{STYLE}{body}</div>'


def html(value: object) -> str:
    """The HTML of a value of this package, by its class or the nearest one above it."""
    for kind in type(value).__mro__:
        view = VIEWS.get(f"{kind.__module__}.{kind.__qualname__}")
        if view is not None:
            return framed(view(value))
    return framed(f"<pre>{escape(shortened(repr(value)))}</pre>")


def _curve(value: Curve) -> str:
    rows = [("\u03c1 (zCDP)", at_most(value.rho) + ("" if value.is_tight else ", a proven upper bound"))]
    rows.append(("pure \u03b5", at_most(value.pure_epsilon)))
    found = _points(value)
    if found is not None:
        rows.append((f"\u03b5 at \u03b4 = {exactly(float(DELTA))}", at_most(found[0])))
    about = getattr(value, "note", "")
    rows.append(("neighbours", NEIGHBOURS[value.relation.value] + (f": {about}" if about else "")))
    assumed = dict.fromkeys(one for part, _ in value.parts for one in getattr(part, "assumptions", ()))
    rows += [("assumed, not proven", one) for one in assumed]
    if theorem := getattr(value, "theorem", None):
        rows.append(("theorem", f"docs/theorems/{theorem}.md"))
    drawn = "" if found is None else _drawn(found[1], (found[0], float(DELTA)))
    return table(shortened(repr(value)), rows) + drawn


def _points(value: Curve) -> tuple[float, list[tuple[float, float]]] | None:
    """epsilon at delta and points of the profile, if they take a moment; of a copy, which keeps what is coarser."""
    if value.rho == inf:
        return None
    copy = Plan.sum_of(*(Plan.repeated(part, count) for part, count in value.parts))

    def points() -> tuple[float, list[tuple[float, float]]]:
        epsilon, last = copy.epsilon_at(delta=DELTA), copy.epsilon_at(delta=DELTA / 1000)
        steps = [Fraction(last * n / CURVE_STEPS) for n in range(CURVE_STEPS + 1)]
        return epsilon, list(zip(map(float, steps), copy._curve_in_haste(steps, 32), strict=True))

    before = done()
    try:
        found = within(CURVE_WORK, points)
    except (NotCertified, ArithmeticError):
        return None
    return found if done() - before < CURVE_WORK else None  # beyond it answers are true, but not the sharpest


def _drawn(points: Sequence[tuple[float, float]], mark: tuple[float, float]) -> str:
    """The (epsilon, delta) curve as the report draws it."""
    kept = [(epsilon, delta) for epsilon, delta in points if delta > 0]
    if len(kept) < 2:
        return ""
    text = f"Marked: epsilon = {at_most(mark[0])} at delta = {mark[1]:g}"
    return curve_chart(
        kept, mark, f"\u03b5 = {at_most(mark[0])}", name="zcdp-curve", title="delta over epsilon", text=text
    )


def _meter(spent: float, words: str, *, over: bool) -> str:
    return (
        f'<div class="meter{" over" if over else ""}"><span style="width:{min(100 * spent, 100):.1f}%"></span></div>'
        f"<div>{escape(words)}</div>"
    )


def _account(value: Any) -> str:
    shown = shares([query.rho for query in value.queries])
    rows = [
        (printable(query.name), shortened(query.mechanism), f"{query.count:,}", at_most(query.rho), share)
        for query, share in zip(value.queries, shown, strict=True)
    ]
    whole = f"\u03b5 = {at_most(value.total.epsilon)} at \u03b4 = {exactly(value.delta)}"
    rows.append(("together", whole, "", at_most(value.total.rho), "100%"))
    rows += [("assumed, not proven", one, "", "", "") for one in value.assumptions]
    head = ("query", "mechanism", "uses", "\u03c1", "share")
    body = table(shortened(value.title or value.source), rows, head)
    if value.budget is not None:
        words = f"{percent(value.budget.spent, up=True)} of the budget"
        body += _meter(value.budget.spent, words, over=value.budget.exceeded)
    if value.curve and value.total.epsilon < inf:
        points = [(point.epsilon, point.delta) for point in value.curve if point.epsilon < inf]
        body += _drawn(points, (value.total.epsilon, value.delta))
    return body


def _histogram(value: Any) -> str:
    import numpy as np

    found, (low, high) = value.frequencies, value.interval()
    order = np.argsort(-found, kind="stable")[:MOST_ROWS]
    rows = [(str(n), f"{found[n]:.6f}", f"{low[n]:.6f}", f"{high[n]:.6f}") for n in order.tolist()]
    title = f"{len(found):,} values from {value.reports:,} reports, the most frequent first; 95% for all at once"
    return table(title, rows, ("value", "frequency", "at least", "at most")) + _rest(len(found))


def _choice(value: Any) -> str:
    rows = [(*_design(one), "") for one in value.designs]
    rows.append((*_design(value.textbook), "textbook"))
    head = ("mechanism", "rounds", "standard error", "bytes", "")
    return table("Designs that fit the budget, best first", rows, head)


def _design(one: Any) -> tuple[str, str, str, str]:
    error, size = f"{one.standard_error:.3g}", f"{one.bytes:.3g}"
    return shortened(repr(one.mechanism)), f"{one.rounds} of {one.of}", error, size


def _audit(value: Any) -> str:
    rows = (
        ("stated \u03b5", at_most(value.epsilon)),
        ("at least, by experiment", at_least(value.epsilon_lower)),
        ("confidence", exactly(value.confidence)),
        ("event", shortened(value.event)),
        ("draws", f"{value.draws:,}"),
    )
    return table("VIOLATED: the stated epsilon is not true" if value.violated else "Not contradicted", rows)


def _ledger_account(value: Any) -> str:
    """An account of a ledger; its exact fractions are shown as decimals on the safe side."""
    words = {"unit": value.terms.unit, "neighbours": value.terms.neighbours, "counts": value.currency}
    words |= {"under": " under ".join(value.above)} if value.above else {}
    words |= {f"{value.terms.every} ({value.terms.zone})": value.period} if value.terms.every else {}
    words |= {"state": "closed"} if value.closed else {}
    amounts = {"budget": at_least(float(value.budget)), "spent": at_most(float(value.spent))}
    amounts |= {"reserved": at_most(float(value.reserved)), "remaining": at_least(float(value.remaining))}
    if value.delta_budget:
        amounts |= {"delta": at_least(float(value.delta_budget))}
        amounts |= {"delta remaining": at_least(float(value.delta_remaining))}
    rows = [(printable(name), printable(str(text))) for name, text in {**words, **amounts}.items()]
    share = float((value.spent + value.reserved) / value.budget) if value.budget else 1.0
    told = f"{percent(share, up=True)} spent or reserved"
    return table(shortened(value.name), rows) + _meter(share, told, over=value.remaining <= 0)


def _rest(count: int) -> str:
    return f"<div>and {count - MOST_ROWS:,} more</div>" if count > MOST_ROWS else ""


def table_html(name: str, columns: Mapping[str, Sequence[Any]]) -> str:
    """The first rows of a published table."""
    count = len(next(iter(columns.values()), ()))
    rows = [tuple(_cell(values[n]) for values in columns.values()) for n in range(min(count, MOST_ROWS))]
    return framed(table(shortened(name), rows, tuple(map(printable, columns))) + _rest(count))


def _cell(value: Any) -> str:
    if value is None:  # a figure of which nothing is known
        return "not known"
    return grouped(value) if isinstance(value, int | float) and not isinstance(value, bool) else shortened(str(value))


VIEWS: dict[str, Callable[[Any], str]] = {
    "zcdp.privacy.curve.Curve": _curve,
    "zcdp.accounting.plan_account.Account": _account,
    "zcdp.estimation.frequency_estimates.Histogram": _histogram,
    "zcdp.collection.choose.Choice": _choice,
    "zcdp.auditing.Audit": _audit,
    "zcdp.ledger.model.Account": _ledger_account,
}
"""How each class is shown, by its name: so nothing is imported that is not there already."""
