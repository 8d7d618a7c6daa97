"""The page of a collection: what it cost, estimates with intervals, and what other designs would have given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

from zcdp.display.typeset import at_most, exactly
from zcdp.report.charts import WIDTH
from zcdp.report.design_map import design_map
from zcdp.report.escaping import escape

__all__ = ["collection_section", "render_estimates"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SHOWN, ROW, LONGEST = 40, 18, 18
ALL = "for all answers of a client"


def render_estimates(facts: Mapping[str, Any]) -> str:
    """What `zcdp estimate --json` prints, as one HTML file that needs nothing from outside.

    >>> row = {"value": 0, "frequency": 0.5, "standard_error": 0.1, "lower": 0.2, "upper": 0.8}
    >>> page = render_estimates({"title": "<b>", "mechanism": "m", "k": 1, "rounds": 1, "answered": 1, "reports": 9,
    ...     "level": "0.95", "of": "clients", "rho": 0.1, "delta": "1e-6", "epsilon": 1.0, "estimates": [row]})
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    style = files("zcdp.report").joinpath("style.css").read_text(encoding="utf-8")
    title = escape(str(facts.get("title") or "Collection"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{title}</title>\n<style>\n{style}</style></head>\n<body>\n<header><h1>{title}</h1>"
        f"<p class='soft'>{facts['reports']} reports of <code>{escape(str(facts['mechanism']))}</code></p></header>\n"
        f"<main>\n{_cost(facts)}{_estimates(facts)}{_designs(facts)}</main></body></html>\n"
    )


def collection_section(text: str) -> str:
    """For the report of a plan that collects: who is asked, and what comes of it.

    >>> collection_section("3 values")
    '<section id="collection"><h2>The collection</h2><p>3 values</p></section>\\n'
    """
    return f'<section id="collection"><h2>The collection</h2><p>{escape(text)}</p></section>\n'


def _cost(facts: Mapping[str, Any]) -> str:
    delta = exactly(float(Fraction(facts["delta"])))
    told = [
        ("A client answers", f"{facts['answered']} of {facts['rounds']}", "rounds"),
        (f"Epsilon at \u03b4 = {delta}", f"\u03b5 = {at_most(facts['epsilon'], 4)}", ALL),
        ("Privacy spent (zCDP)", f"\u03c1 = {at_most(facts['rho'], 4)}", ALL),
    ]
    if facts.get("design"):
        shown = f"{facts['design']['standard_error']:.3g}"
        told.append(("Standard error by design", shown, f"of a frequency of {facts['design']['frequency']:.3g}"))
    cells = "".join(
        f"<div class='fact'><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(unit)}</small></dd></div>"
        for name, value, unit in told
    )
    return f"<dl class='facts'>{cells}</dl>\n"


def _estimates(facts: Mapping[str, Any]) -> str:
    rows = sorted(facts["estimates"], key=lambda row: -row["frequency"])[:SHOWN]
    whose = "these clients" if facts["of"] == "clients" else "the population that the clients are drawn from"
    listed = "".join(
        f"<tr><td>{escape(str(row['value']))}</td>"
        + "".join(f"<td class='number'>{row[name]:.6f}</td>" for name in ("frequency", "lower", "upper"))
        + "</tr>"
        for row in rows
    )
    heads = "".join(f"<th scope='col' class='number'>{name}</th>" for name in ("frequency", "lower", "upper"))
    return (
        f"<section><h2>Estimates</h2><p>The {len(rows)} most frequent of {facts['k']} values. All {facts['k']} "
        f"intervals hold together at level {escape(str(facts['level']))}, for {whose}.</p>"
        f"<figure>{_chart(rows)}<figcaption>The dot is the estimate, the line its interval; one that is narrower than "
        "its dot lies under it.</figcaption></figure>"
        f"<div class='inputs'><table><thead><tr><th scope='col'>value</th>{heads}</tr></thead>"
        f"<tbody>{listed}</tbody></table></div>"
        "</section>\n"
    )


def _chart(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line from end to end of each interval, with a dot at the estimate."""
    names = [
        name if len(name) <= LONGEST else name[: LONGEST - 1] + "\u2026" for name in (str(row["value"]) for row in rows)
    ]
    left, right, top = max(52, 20 + 6 * max(map(len, names), default=0)), 14, 8
    most: float = max((max(row["upper"], row["frequency"]) for row in rows), default=1.0) or 1.0
    least: float = min([0.0, *(row["frequency"] for row in rows)])

    def across(x: float) -> float:
        return left + (WIDTH - left - right) * (x - least) / (most - least)

    foot = top + ROW * len(rows) + 4
    shown = [
        f'<line class="grid" x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{top}" y2="{foot}"/>' for x in (0, most)
    ]
    for n, row in enumerate(rows):
        y = top + n * ROW + 8
        shown.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(names[n])}</text>')
        ends = f'x1="{across(row["lower"]):.1f}" x2="{across(row["upper"]):.1f}"'
        shown.append(f'<line class="line" {ends} y1="{y}" y2="{y}"/>')
        shown.append(f'<circle class="dot" cx="{across(row["frequency"]):.1f}" cy="{y}" r="2.5"/>')
    for x, anchor in ((0.0, "start"), (most, "end")):
        shown.append(f'<text x="{across(x):.1f}" y="{foot + 14}" text-anchor="{anchor}">{x:.3g}</text>')
    middle = f'x="{(left + WIDTH - right) / 2:.1f}" y="{foot + 14}" text-anchor="middle"'
    shown.append(f'<text class="axis" {middle}>frequency</text>')
    words = f"{len(rows)} values, the most frequent first; the table gives the same numbers."
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {foot + 20}" aria-labelledby="e-title e-text">'
        '<title id="e-title">Estimated frequencies with their intervals</title>'
        f'<desc id="e-text">{escape(words)}</desc>{"".join(shown)}</svg>'
    )


def _designs(facts: Mapping[str, Any]) -> str:
    """Where this design stands among those that `choose` finds for the same budget."""
    own, others = facts.get("design"), facts.get("designs")
    if not own or not others:
        return ""
    same = own["mechanism"], own["answered"]  # one of them may be this one
    every = [("this design", own)]
    every += [(one["name"], one) for one in others if (one["mechanism"], one["answered"]) != same]
    every.sort(key=lambda pair: pair[1]["standard_error"])

    body = "".join(
        f"<tr><th scope='row'>{'<b>this design</b>: ' if one is own else ''}"
        f"{'textbook: ' if name == 'textbook' else ''}<code>{escape(str(one['mechanism']))}</code></th>"
        f"<td class='number' data-label='rounds'>{one['answered']}</td>"
        f"<td class='number' data-label='standard error'>{one['standard_error']:.3g}</td>"
        f"<td class='number' data-label='bytes a report'>{one['bytes']:.3g}</td></tr>"
        for name, one in every
    )
    heads = "".join(
        f"<th scope='col' class='number'>{name}</th>" for name in ("rounds", "standard error", "bytes a report")
    )
    return (
        "<section><h2>What other designs would have given</h2>"
        f"<p>The standard error of a frequency of {own['frequency']:.3g} in one round, among {own['clients']} clients, "
        f"for the best design of each kind within {escape(str(facts['within']))}; each in the table was certified to "
        "fit. The textbook splits the budget evenly over all rounds.</p>"
        f"{_map(facts, every)}<table class='queries'><thead><tr><th scope='col'>design</th>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></section>\n"
    )


def _map(facts: Mapping[str, Any], every: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Over the rounds that a client answers; where there is one round, over the bytes of a report."""
    own = facts["design"]
    kind = str(own["mechanism"]).split("(")[0]
    if facts["rounds"] > 1:
        lines = {name: [(float(x), y) for x, y in line] for name, line in facts["over_rounds"].items()}
        lines |= {name: [(one["answered"], one["standard_error"])] for name, one in every if name == "textbook"}
        axis, place = f"rounds answered, of {facts['rounds']}", float(own["answered"])
        told = "Each line is one kind of mechanism at its best, tuned for as many rounds as a client answers."
    else:
        lines = {name: [(one["bytes"], one["standard_error"])] for name, one in every if one is not own}
        axis, place, told = "bytes a report", own["bytes"], "Each dot is one kind of mechanism at its best."
    text = f"{told} The table gives the best of each kind."
    chart = design_map(lines, (place, own["standard_error"]), kind, across=axis, text=text)
    return f"<figure>{chart}<figcaption>{told} The ring is this design.</figcaption></figure>"
