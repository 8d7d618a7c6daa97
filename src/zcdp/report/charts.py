"""Charts of the report as SVG text, with the escaping of text that enters a page.

The two sections built here are the (epsilon, delta) curve (the privacy profile) and epsilon by each accounting route.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from math import ceil, floor, inf, log10

from zcdp.accounting.plan_account import Account
from zcdp.text.names import printable, route, typeset
from zcdp.text.numbers import SUPERSCRIPTS, at_most, exactly, tagged

__all__ = ["Bar", "bars", "curve", "curve_section", "escape", "figure", "routes_section"]


def escape(text: str) -> str:
    """The text with markup escaped and control characters replaced; line breaks and tabs are kept.

    >>> escape("<b>\\x1b[2J\\n")
    '&lt;b&gt;\\ufffd[2J\\n'
    """
    return html.escape(printable(text, keep="\n\t"))


# SVG drawings: a curve over a logarithmic axis, and bars with their values beside them.

WIDTH = 360  # the width of a small phone, where text then appears in its stated size
Point = tuple[float, float]
Bar = tuple[str, float, str, bool]
"""Label, length, value as text, and whether the bar is highlighted."""


def curve(points: Sequence[Point], mark: Point | None, mark_text: str, *, name: str, title: str, text: str) -> str:
    """An SVG chart of delta (logarithmic) against epsilon: dots joined by lines, with one point marked and labelled."""
    left, right, top, bottom, height = 40, 12, 24, 36, 250
    known = [*points, mark] if mark else list(points)
    low, high = floor(min(log10(y) for _, y in known)), ceil(max(log10(y) for _, y in known))
    high = max(high, low + 1)
    ticks = _ticks(max(x for x, _ in known))
    far = max(ticks[-1], *(x for x, _ in known))

    def across(x: float) -> float:
        return left + (WIDTH - left - right) * x / far

    def level(power: float) -> float:
        """The height of 10^power, which may be too small for a float."""
        return top + (height - top - bottom) * (high - power) / (high - low)

    def down(y: float) -> float:
        return level(log10(y))

    floor_y = height - bottom
    shown = ['<text x="4" y="12" class="axis">\u03b4</text>']
    step = ceil((high - low) / 6)
    for power in range(high, low - 1, -step):
        y = level(power)
        shown.append(f'<line class="grid" x1="{left}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = "1" if power == 0 else "10" + str(power).translate(SUPERSCRIPTS)
        shown.append(f'<text x="{left - 5}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for tick in ticks:
        x = across(tick)
        shown.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{floor_y}" y2="{floor_y + 4}"/>')
        shown.append(f'<text x="{x:.1f}" y="{floor_y + 17}" text-anchor="middle">{tick:g}</text>')
    shown.append(f'<text x="{WIDTH - right}" y="{height - 3}" text-anchor="end" class="axis">\u03b5</text>')
    path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
    shown.append(f'<polyline class="line" points="{path}"/>')
    shown.extend(f'<circle class="dot" cx="{across(x):.1f}" cy="{down(y):.1f}" r="1.7"/>' for x, y in points)
    if mark:
        x, y = across(mark[0]), down(mark[1])
        shown.append(f'<path class="guide" d="M{left} {y:.1f}H{x:.1f}V{floor_y}"/>')
        shown.append(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        # The curve falls to the right: there is room above and to the right of a point, or below and to its left.
        fits = x < 0.55 * WIDTH
        place = f'x="{x + 8:.1f}" y="{y - 7:.1f}"' if fits else f'x="{x - 9:.1f}" y="{y + 16:.1f}" text-anchor="end"'
        shown.append(f'<text class="strong halo" {place}>{escape(mark_text)}</text>')
    return figure(height, shown, name, title, text)


def bars(items: Sequence[Bar], *, name: str, title: str, text: str) -> str:
    """An SVG chart of horizontal bars from zero, each below its label, with its value at its end."""
    room, row = WIDTH - 92, 38
    longest = max((length for _, length, _, _ in items), default=0.0) or 1.0
    shown = []
    for n, (label, length, value, chosen) in enumerate(items):
        y = 4 + n * row
        size = max(room * length / longest, 1.0)
        kind = "best" if chosen else "bar"
        shown.append(f'<text x="0" y="{y + 11}">{escape(label)}</text>')
        shown.append(f'<rect class="{kind}" x="0" y="{y + 16}" width="{size:.1f}" height="13" rx="2"/>')
        strong = ' class="strong"' if chosen else ""
        shown.append(f'<text{strong} x="{size + 6:.1f}" y="{y + 27}">{escape(value)}</text>')
    return figure(4 + row * len(items), shown, name, title, text)


def figure(height: int, shown: Sequence[str], name: str, title: str, text: str) -> str:
    """One SVG picture from its parts, with a title and a description for screen readers."""
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {height}" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(text)}</desc>{"".join(shown)}</svg>'
    )


def _ticks(largest: float) -> list[float]:
    """Ticks at 0 and at up to five equally spaced round numbers, none above `largest`."""
    if largest <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(largest / 4))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if largest / (power * m) <= 5.5)
    return [n * step for n in range(floor(largest / step) + 1)]


# Sections of the page: each chart with its text equivalent and a table of its values.


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
