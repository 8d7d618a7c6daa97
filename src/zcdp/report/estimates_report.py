"""The page of a collection under local differential privacy: its cost, estimates with intervals, other designs.

A design is a local randomizer and the number of rounds that a client answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import log10
from typing import Any

from zcdp.report.charts import WIDTH, Axis, Drawing, Point, escape, even_ticks, log_ticks, page
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
    x_ticks = [tick for tick in log_ticks(*sides, 6) if sides[0] <= tick <= sides[1]] or [sides[0]]
    if sides[1] > 1.3 * x_ticks[-1]:
        x_ticks.append(sides[1])
    least_best = max([own[1], *(min(y for _, y in line) for line in lines.values())])
    most = 1.5 * least_best  # points that are far worse are left out: they would press all others together
    y_ticks = log_ticks(min(y for _, y in known), most, 7)
    edge = WIDTH - RIGHT
    drawn = Drawing(
        HEIGHT, Axis(LEFT, edge, *map(log10, sides)), Axis(HEIGHT - BOTTOM, TOP, log10(y_ticks[0]), log10(most))
    )
    drawn.text(0, 11, "standard error", kind="axis")
    drawn.levels((log10(tick), f"{tick:.3g}") for tick in y_ticks if tick <= most)
    drawn.ticks((log10(tick), f"{tick:g}") for tick in x_ticks)
    drawn.text((LEFT + edge) / 2, HEIGHT - 4, across, anchor="middle", kind="axis")

    def at(point: Point) -> Point:
        return drawn.across(log10(point[0])), drawn.down(log10(point[1]))

    places = {name: [at(point) for point in line if point[1] <= most] for name, line in lines.items()}
    for name, line in sorted(places.items(), key=lambda item: item[0] == kind):
        drawn.line(line, *(("line", "dot") if name == kind else ("other", "other-dot")), 2)
    for name, y in _spread({name: line[-1][1] for name, line in places.items()}).items():
        x, from_y = places[name][-1]
        drawn.add("line", kind="leader", x1=x + 3, y1=from_y, x2=edge + 9, y2=y)
        drawn.text(edge + 12, y + 4, name, kind="strong" if name == kind else None)
    # the ring's label stands on the side that has more room, clear of the axes and of the labels of the lines
    x, y = at(own)
    drawn.ring((x, y))
    left = x < (LEFT + edge) / 2
    height = y + 17 if y < TOP + 30 else y - 9
    drawn.text(x + (9 if left else -9), height, "this design", anchor=None if left else "end", kind="strong halo")
    return drawn.figure("map", "The map of designs", text)


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


# The page: cost, estimates with intervals, and a comparison with other designs.

MOST_VALUES, ROW_HEIGHT = 40, 18  # values shown; in SVG units
# Of a chart: its width in SVG units, the longest label in characters, and the most ticks. One is for phones, the other
# for pages as wide as they get; the page shows the one that it has room for.
NARROW, WIDE = (WIDTH, 18, 4), (960, 40, 10)
ALL_ANSWERS = "for all answers of a client"


def render_estimates(facts: Mapping[str, Any]) -> str:
    """The data that `zcdp estimate --json` prints, as one self-contained HTML page.

    >>> row = {"value": 0, "frequency": 0.5, "standard_error": 0.1, "lower": 0.2, "upper": 0.8}
    >>> page = render_estimates({"title": "<b>", "mechanism": "m", "k": 1, "rounds": 1, "answered": 1, "reports": 9,
    ...     "level": "0.95", "of": "clients", "rho": 0.1, "delta": "1e-6", "epsilon": 1.0, "estimates": [row]})
    >>> "&lt;b&gt;" in page, "<b>" in page
    (True, False)
    """
    title = str(facts.get("title") or "Collection")
    return page(
        title,
        f"<header><h1>{escape(title)}</h1>"
        f"<p class='soft'>{facts['reports']} reports of <code>{escape(str(facts['mechanism']))}</code></p></header>\n"
        f"<main>\n{_cost(facts)}{_estimates(facts)}{_designs(facts)}</main>",
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
        told.append(("Standard error by design", shown, f"of {_told(facts['design'])}"))
    textbook = [one for one in facts.get("designs") or () if one["name"] == "textbook"]
    if facts.get("design") and textbook:
        times = textbook[0]["standard_error"] / facts["design"]["standard_error"]
        more = f"{times:.3g} times as much" if times >= 1 else f"1/{1 / times:.3g} of it"
        told.append(("Error of the textbook", f"{textbook[0]['standard_error']:.3g}", f"at the same budget, {more}"))
    cells = "".join(
        f"<div class='fact'><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(unit)}</small></dd></div>"
        for name, value, unit in told
    )
    return f"<dl class='facts'>{cells}</dl>\n"


def _estimates(facts: Mapping[str, Any]) -> str:
    if facts.get("number"):
        return _mean(facts)
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
        f"<figure>{_charts(rows)}<figcaption>The dot is the estimate, the line its interval; one that is narrower than "
        "its dot lies under it.</figcaption></figure>"
        f"<div class='inputs'><table><thead><tr><th scope='col'>value</th>{heads}</tr></thead>"
        f"<tbody>{listed}</tbody></table></div>"
        "</section>\n"
    )


def _mean(facts: Mapping[str, Any]) -> str:
    """The section of a number: its mean, and its interval within the range."""
    [row] = facts["estimates"]
    whose = "these clients" if facts["of"] == "clients" else "the population that the clients are drawn from"
    ends = facts["number"]["low"], facts["number"]["high"]
    return (
        f"<section><h2>The mean</h2><p>{row['frequency']:.6g}, with a standard error of {row['standard_error']:.3g}: "
        f"between {row['lower']:.6g} and {row['upper']:.6g} at level {escape(str(facts['level']))}, for {whose}.</p>"
        f"{_quantiles(facts)}<figure>{_charts([row], ends=ends, axis='range of the number')}<figcaption>The dot is the "
        "estimate, the line its interval, on the whole range that was declared.</figcaption></figure></section>\n"
    )


def _quantiles(facts: Mapping[str, Any]) -> str:
    """The quantiles that were asked for."""
    if not facts.get("quantiles"):
        return ""
    rows = "".join(
        f"<tr><td>{escape(str(one['share']))}</td>"
        + "".join(f"<td class='number'>{one[name]:.6g}</td>" for name in ("lower", "upper"))
        + "</tr>"
        for one in facts["quantiles"]
    )
    heads = "".join(f"<th scope='col' class='number'>{name}</th>" for name in ("lower", "upper"))
    return (
        f"<div class='inputs'><table><thead><tr><th scope='col'>quantile</th>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div><p>All quantiles hold together at that level, of numbers rounded to the "
        "grid.</p>"
    )


def _charts(
    rows: Sequence[Mapping[str, Any]], *, ends: tuple[float, float] | None = None, axis: str = "frequency"
) -> str:
    """The chart of the intervals, once for phones and once as wide as the page; the style shows one of them."""
    drawn = (_chart(rows, name, *shape, ends, axis) for name, shape in (("narrow", NARROW), ("wide", WIDE)))
    return "".join(drawn)


def _chart(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    width: int,
    longest: int,
    most_ticks: int,
    ends: tuple[float, float] | None,
    axis: str,
) -> str:
    """An SVG chart of the intervals: a line for each interval, with a dot at the estimate."""
    names = [
        label if len(label) <= longest else label[: longest - 1] + "\u2026"
        for label in (str(row["value"]) for row in rows)
    ]
    left, right, top = max(52, 20 + 6 * max(map(len, names), default=0)), 14, 8
    most: float = max((max(row["upper"], row["frequency"]) for row in rows), default=1.0) or 1.0
    least: float = min([0.0, *(row["frequency"] for row in rows)])
    if ends is not None:
        least, most = min(ends[0], *(row["frequency"] for row in rows)), max(ends[1], most)
    foot = top + ROW_HEIGHT * len(rows) + 4
    drawn = Drawing(foot + 34, Axis(left, width - right, least, most), Axis(foot, top, 0, 1), width)
    start = ends[0] if ends is not None else 0.0
    for tick in (start + one for one in even_ticks(most - start, most_ticks)):
        x = drawn.across(tick)
        drawn.add("line", kind="grid", x1=x, x2=x, y1=top, y2=foot)
        drawn.text(x, foot + 14, f"{tick:.6g}", anchor="middle")
    for n, row in enumerate(rows):
        y = top + n * ROW_HEIGHT + 8
        drawn.text(left - 10, y + 4, names[n], anchor="end")
        drawn.add("line", kind="line", x1=drawn.across(row["lower"]), x2=drawn.across(row["upper"]), y1=y, y2=y)
        drawn.add("circle", kind="dot", cx=drawn.across(row["frequency"]), cy=y, r=2.5)
    drawn.text((left + width - right) / 2, foot + 30, axis, anchor="middle", kind="axis")
    words = f"{len(rows)} values, the most frequent first; the table gives the same numbers."
    picture = drawn.figure(f"e-{name}", "Estimates with their intervals", words)
    return picture.replace('class="chart"', f'class="chart {name}"', 1)


def _told(design: Mapping[str, Any]) -> str:
    """What a standard error is of."""
    return "the mean, at most" if design["frequency"] is None else f"a frequency of {design['frequency']:.3g}"


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
        f"<p>The {'largest ' * (own['frequency'] is None)}standard error of {_told(own).removesuffix(', at most')} in "
        f"one round, among {own['clients']} clients, "
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
        lines = {}
        for name, one in every:
            if one is not own:
                lines[name] = sorted([*lines.get(name, ()), (one["bytes"], one["standard_error"])])
        axis, place, told = "bytes a report", own["bytes"], "Each dot is a design, a line those of one kind."
    text = f"{told} The table gives the best of each kind."
    chart = design_map(lines, (place, own["standard_error"]), kind, across=axis, text=text)
    return f"<figure>{chart}<figcaption>{told} The ring is this design.</figcaption></figure>"
