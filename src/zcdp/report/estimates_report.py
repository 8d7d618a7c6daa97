"""The page of a collection under local differential privacy: its cost, estimates with intervals, other designs.

A design is a local randomizer and the number of rounds that a client answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.resources import files
from math import ceil, floor, log10
from typing import Any

from zcdp.report.charts import WIDTH, Point, escape, figure
from zcdp.text.numbers import at_most, exactly

__all__ = ["collection_section", "design_map", "render_estimates"]


# The map of designs: standard error against rounds answered (or bytes of a report), one line for each mechanism.

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 46, 142, 22, 38, 268
LABEL_GAP = 14  # least vertical distance of two labels, so that they do not overlap


def design_map(lines: Mapping[str, Sequence[Point]], own: Point, kind: str, *, across: str, text: str) -> str:
    """An SVG chart of standard errors, both axes logarithmic; `own` is marked, and the line of its `kind` is stronger.

    >>> drawn = design_map({"Laplace": [(1, 0.1), (2, 0.2)]}, (1, 0.1), "Laplace", across="rounds", text="")
    >>> drawn.count("<polyline"), "this design" in drawn
    (1, True)
    """
    known = [own, *(point for line in lines.values() for point in line)]
    sides = min(x for x, _ in known), max(x for x, _ in known)
    x_ticks = [tick for tick in _ticks(*sides, 6) if sides[0] <= tick <= sides[1]] or [sides[0]]
    if sides[1] > 1.3 * x_ticks[-1]:
        x_ticks.append(sides[1])
    least_best = max([own[1], *(min(y for _, y in line) for line in lines.values())])
    most = 1.5 * least_best  # points that are far worse are left out: they would press all others together
    y_ticks = _ticks(min(y for _, y in known), most, 7)
    ends = y_ticks[0], most

    def at(point: Point) -> Point:
        wide = log10(sides[1] / sides[0]) or 1.0
        x = LEFT + (WIDTH - LEFT - RIGHT) * log10(point[0] / sides[0]) / wide
        return x, TOP + (HEIGHT - TOP - BOTTOM) * log10(ends[1] / point[1]) / log10(ends[1] / ends[0])

    floor_y, edge = HEIGHT - BOTTOM, WIDTH - RIGHT
    shown = ['<text x="0" y="11" class="axis">standard error</text>']
    for tick in y_ticks:
        y = at((sides[0], tick))[1]
        if y >= TOP:
            shown.append(f'<line class="grid" x1="{LEFT}" x2="{edge}" y1="{y:.1f}" y2="{y:.1f}"/>')
            shown.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>')
    for tick in x_ticks:
        x = at((tick, most))[0]
        shown.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{floor_y}" y2="{floor_y + 4}"/>')
        shown.append(f'<text x="{x:.1f}" y="{floor_y + 17}" text-anchor="middle">{tick:g}</text>')
    middle = f'x="{(LEFT + edge) / 2:.1f}" y="{HEIGHT - 4}" text-anchor="middle"'
    shown.append(f'<text class="axis" {middle}>{escape(across)}</text>')
    drawn = {name: [at(point) for point in line if point[1] <= most] for name, line in lines.items()}
    for name, line in sorted(drawn.items(), key=lambda item: item[0] == kind):
        shown += _line(line, "line" if name == kind else "other", "dot" if name == kind else "other-dot")
    last = {name: line[-1] for name, line in drawn.items()}
    for name, y in _spread({name: y for name, (_, y) in last.items()}).items():
        x, from_y = last[name]
        shown.append(f'<line class="leader" x1="{x + 3:.1f}" y1="{from_y:.1f}" x2="{edge + 9}" y2="{y:.1f}"/>')
        strong = ' class="strong"' if name == kind else ""
        shown.append(f'<text{strong} x="{edge + 12}" y="{y + 4:.1f}">{escape(name)}</text>')
    return figure(HEIGHT, [*shown, *_mark(at(own), edge)], "map", "The map of designs", text)


def _line(points: Sequence[Point], line: str, dot: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return [f'<polyline class="{line}" points="{path}"/>'] + [
        f'<circle class="{dot}" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in points
    ]


def _mark(place: Point, edge: float) -> list[str]:
    """A ring with its label on the side that has more room, clear of the axes and of the labels of the lines."""
    x, y = place
    side = f'x="{x + 9:.1f}"' if x < (LEFT + edge) / 2 else f'x="{x - 9:.1f}" text-anchor="end"'
    height = y + 17 if y < TOP + 30 else y - 9
    return [
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
        f'<text class="strong halo" {side} y="{height:.1f}">this design</text>',
    ]


def _spread(heights: Mapping[str, float]) -> dict[str, float]:
    """Heights of labels, moved to be LABEL_GAP apart and above the axis; which is above which does not change.

    >>> _spread({"a": 100.0, "b": 101.0})
    {'a': 100.0, 'b': 114.0}
    """
    placed: dict[str, float] = {}
    lowest = TOP - float(LABEL_GAP)
    for name, y in sorted(heights.items(), key=lambda item: item[1]):
        lowest = placed[name] = max(y, lowest + LABEL_GAP)
    highest = HEIGHT - BOTTOM + float(LABEL_GAP)
    for name in reversed(placed):
        highest = placed[name] = min(placed[name], highest - LABEL_GAP)
    return placed


def _ticks(least: float, most: float, many: int) -> list[float]:
    """About `many` ticks at most: 1, 2, 5 times powers of 10, from one <= `least` to one >= `most`.

    >>> _ticks(1, 30, 6), _ticks(3e-4, 2e-2, 7)
    ([1.0, 2.0, 5.0, 10.0, 20.0, 50.0], [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02])
    """
    low, high = floor(log10(least)), ceil(log10(most))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        every = [float(f"{m}e{power}") for power in range(low - 1, high + 1) for m in steps]
        first = max(n for n, tick in enumerate(every) if tick <= least * (1 + 1e-9))
        last = min((n for n, tick in enumerate(every) if tick >= most * (1 - 1e-9)), default=len(every) - 1)
        if last - first < many:
            break
    inside = every[first : last + 1]
    return inside[:: ceil(len(inside) / many)] if len(inside) > many + 1 else inside


# The page: cost, estimates with intervals, and a comparison with other designs.

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MOST_VALUES, ROW_HEIGHT, LONGEST_LABEL = 40, 18, 18  # values shown; in SVG units; in characters
ALL_ANSWERS = "for all answers of a client"


def render_estimates(facts: Mapping[str, Any]) -> str:
    """The data that `zcdp estimate --json` prints, as one self-contained HTML page.

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
    """A section for the report of a plan with a [collection]; `text` describes the collection.

    >>> collection_section("3 values")
    '<section id="collection"><h2>The collection</h2><p>3 values</p></section>\\n'
    """
    return f'<section id="collection"><h2>The collection</h2><p>{escape(text)}</p></section>\n'


def _cost(facts: Mapping[str, Any]) -> str:
    delta = exactly(float(Fraction(facts["delta"])))
    told = [
        ("A client answers", f"{facts['answered']} of {facts['rounds']}", "rounds"),
        (f"Epsilon at \u03b4 = {delta}", f"\u03b5 = {at_most(facts['epsilon'], 4)}", ALL_ANSWERS),
        ("Privacy spent (zCDP)", f"\u03c1 = {at_most(facts['rho'], 4)}", ALL_ANSWERS),
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
    rows = sorted(facts["estimates"], key=lambda row: -row["frequency"])[:MOST_VALUES]
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
    """An SVG chart of the intervals: a line for each interval, with a dot at the estimate."""
    names = [
        name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "\u2026"
        for name in (str(row["value"]) for row in rows)
    ]
    left, right, top = max(52, 20 + 6 * max(map(len, names), default=0)), 14, 8
    most: float = max((max(row["upper"], row["frequency"]) for row in rows), default=1.0) or 1.0
    least: float = min([0.0, *(row["frequency"] for row in rows)])

    def across(x: float) -> float:
        return left + (WIDTH - left - right) * (x - least) / (most - least)

    foot = top + ROW_HEIGHT * len(rows) + 4
    shown = [
        f'<line class="grid" x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{top}" y2="{foot}"/>' for x in (0, most)
    ]
    for n, row in enumerate(rows):
        y = top + n * ROW_HEIGHT + 8
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
    """The section that compares this design with those that `choose` finds for the same budget."""
    own, others = facts.get("design"), facts.get("designs")
    if not own or not others:
        return ""
    same = own["mechanism"], own["answered"]  # the list may contain this design
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
    """The map of designs over the rounds that a client answers; if there is one round, over the bytes of a report."""
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
