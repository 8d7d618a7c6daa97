"""Charts of a ledger as SVG text: what was spent over time under its budget, and how much in each month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from math import ceil, floor, log10
from typing import Any

from zcdp.errors import BadValue

__all__ = ["months_chart", "periods", "spending_chart"]

WIDTH, HEIGHT = 360, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 18, 26
MOST_BARS = 24


def spending_chart(account: Mapping[str, Any], *, name: str, until: str) -> str:
    """The sum of all spends as steps, the budget as a line above it that steps up where it was raised."""
    spent = [(_time(at), value) for at, value in account["points"]]
    budgets = [(_time(at), value) for at, value in account["budgets"]]
    start = min(at for at, _ in budgets)
    end = max(_time(until), *(at for at, _ in [*budgets, *spent]), start + timedelta(minutes=1))
    top = float(max(value for _, value in [*budgets, *spent])) * 1.04
    span: float = (end - start).total_seconds()

    def across(at: datetime) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - start).total_seconds() / span

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)

    base = HEIGHT - BOTTOM
    shown = _levels(top, down)
    for at, label in _dates(start, end):
        x = across(at)
        shown.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
        anchor = "end" if x > WIDTH - 30 else "middle"
        shown.append(f'<text x="{min(x, WIDTH - 2):.1f}" y="{base + 17}" text-anchor="{anchor}">{label}</text>')
    steps = _steps([(start, 0.0), *spent, (end, spent[-1][1] if spent else 0.0)], across, down)
    shown.append(f'<path class="area" d="M{LEFT} {base}L{steps}V{base}Z"/><path class="line" d="M{steps}"/>')
    limit = _steps([*budgets, (end, budgets[-1][1])], across, down)
    shown.append(f'<path class="limit" d="M{limit}"/>')
    y = down(budgets[-1][1])
    shown.append(f'<text class="strong halo" x="{WIDTH - RIGHT}" y="{y - 5:.1f}" text-anchor="end">budget</text>')
    text = (
        f"From {start:%Y-%m-%d} to {end:%Y-%m-%d} {account['spends']} spends add up to {account['spent']['value']:.6g} "
        f"of {account['budget']['value']:.6g}. The months stand in the table beside it."
    )
    return _figure(shown, name, "what was spent over time, under the budget", text)


def _steps(points: Sequence[tuple[datetime, float]], across: Any, down: Any) -> str:
    """A path that goes level and then up."""
    (first, value), *rest = points
    path = [f"{across(first):.1f} {down(value):.1f}"]
    path += [f"H{across(at):.1f}V{down(height):.1f}" for at, height in rest]
    return "".join(path)


def _levels(top: float, down: Any) -> list[str]:
    shown = []
    for level in _round_numbers(top):
        y = down(level)
        shown.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shown.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{level:g}</text>')
    return shown


def _round_numbers(largest: float) -> list[float]:
    if not largest > 0:
        return [0.0]
    power = 10.0 ** floor(log10(largest / 3))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if largest / (power * m) <= 4.5)
    return [float(f"{n * step:.12g}") for n in range(floor(largest / step) + 1)]


def _dates(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Three to six moments to name: years, months, days or hours, as the span asks for."""
    days = (end - start).total_seconds() / 86400
    if days < 60:
        form = "%H:%M" if days < 2 else "%d %b"
        return [(at, at.strftime(form)) for at in (start + (end - start) * n / 4 for n in range(1, 4))]
    firsts = [
        datetime(year, month, 1, tzinfo=UTC) for year in range(start.year, end.year + 1) for month in range(1, 13)
    ]
    inside = [at for at in firsts if start <= at <= end]
    step = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 1200) if len(inside) / n <= 6)
    chosen = [at for at in inside if ((at.year * 12 + at.month - 1) % step) == 0]
    return [(at, f"{at.year}" if step >= 12 or at.month == 1 else at.strftime("%b")) for at in chosen]


def periods(months: Sequence[Mapping[str, Any]]) -> list[tuple[str, int, float]]:
    """Every month from the first to the last, those without a spend too; whole years where there are many."""
    known = {row["month"]: (row["spends"], row["cost"]["value"]) for row in months}
    if not known:
        return []
    first, last = (int(month[:4]) * 12 + int(month[5:7]) - 1 for month in (min(known), max(known)))
    if last - first > 12 * 500:
        raise BadValue("no ledger is five hundred years old")
    whole = [
        (f"{n // 12:04}-{n % 12 + 1:02}", *known.get(f"{n // 12:04}-{n % 12 + 1:02}", (0, 0.0)))
        for n in range(first, last + 1)
    ]
    if len(whole) <= MOST_BARS:
        return whole
    years: dict[str, tuple[int, float]] = {}
    for month, count, cost in whole:
        before = years.get(month[:4], (0, 0.0))
        years[month[:4]] = before[0] + count, before[1] + cost
    return [(year, *sums) for year, sums in years.items()]


def months_chart(rows: Sequence[tuple[str, int, float]], *, name: str) -> str:
    """One bar a month (or year), from zero."""
    largest = max((cost for _, _, cost in rows), default=0.0) or 1.0
    room = (WIDTH - LEFT - RIGHT) / max(len(rows), 6)

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / (1.04 * largest))

    shown = _levels(1.04 * largest, down)
    every = ceil(len(rows) / 6)
    for n, (period, _, cost) in enumerate(rows):
        x, y = LEFT + room * n, down(cost)
        size = HEIGHT - BOTTOM - y
        shown.append(
            f'<rect class="best" x="{x + room * 0.12:.1f}" y="{y:.1f}" width="{room * 0.76:.1f}" height="{size:.1f}"/>'
        )
        if n % every == 0:
            label = (
                period if len(period) == 4 else datetime.strptime(period, "%Y-%m").replace(tzinfo=UTC).strftime("%b %y")
            )
            shown.append(f'<text x="{x + room / 2:.1f}" y="{HEIGHT - 9}" text-anchor="middle">{escape(label)}</text>')
    kind = "year" if rows and len(rows[0][0]) == 4 else "month"
    text = "; ".join(f"{period}: {cost:.6g} in {count} spends" for period, count, cost in rows) + "."
    return _figure(shown, name, f"what was spent in each {kind}", text)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


def _figure(shown: Sequence[str], name: str, title: str, text: str) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(text)}</desc>{"".join(shown)}</svg>'
    )
