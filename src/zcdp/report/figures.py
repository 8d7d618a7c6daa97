"""The two charts with their text equivalents: the (epsilon, delta) curve, and epsilon by each accounting route."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

from zcdp.accounting.accounts import Account
from zcdp.display.names import route, typeset
from zcdp.display.typeset import at_most, exactly, tagged
from zcdp.report.charts import Bar, bars, curve
from zcdp.report.escaping import escape

__all__ = ["curve_section", "routes_section"]


def curve_section(account: Account) -> str:
    """delta against epsilon; the points are certified, the lines only join them."""
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
    """epsilon at delta by each way of accounting for the composition, the least first."""
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
