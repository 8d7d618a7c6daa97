"""Pictures of published tables: bars, steps or strips with their intervals, one panel for each group of cells.

A table is drawn along one of its keys: the last one with an order (bins, days), else the last one. Every combination of
the other keys has a panel of its own, and all panels have the same scale, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, isinf, log10
from typing import Any, NamedTuple

from zcdp.report.charts import WIDTH, Axis, Drawing, escape
from zcdp.tables.domain import Bins, Dates, Domain
from zcdp.text.numbers import compact, decimals, edge, grouped

__all__ = ["LARGE", "Axes", "Shown", "axes_of", "axes_of_bins", "picture", "span"]

PANEL = 176
"""The width of a panel among others: two of them stand side by side on a phone."""
MOST_PANELS, MOST_BARS = 40, 60
LARGE = 10_000
LONGEST_VALUE = 16
LETTER = 6.2  # the width of a letter at the size of labels
ROW = 15  # the height of a bar with its label
LINE = 6  # the height of a quantile among others of its cell
BARS = ("count", "histogram", "persons", "sum")
"""Measures drawn as bars from 0; of others, such as means, 0 may be far away, so that dots are drawn."""


class Axes(NamedTuple):
    """One key of a table: its columns, one of names, or two with the ends of bins or of intervals of days.

    Ends of bins are written with their thousands apart if they are `large`: 2000 may be a year, 20,000 is none. The
    first and the last of them are open where values outside are put into them: `clipped` has their outer ends.
    """

    columns: tuple[str, ...]
    large: bool = False
    clipped: tuple[Any, Any] = (None, None)

    @property
    def is_ordered(self) -> bool:
        """Whether its keys are intervals, in their order."""
        return len(self.columns) == 2

    def label(self, row: Mapping[str, Any]) -> str:
        """The key of a row as it is printed."""
        if self.is_ordered:
            return self.interval(*(row[name] for name in self.columns))
        return str(row[self.columns[0]])

    def interval(self, start: Any, end: Any) -> str:
        """One of its intervals as it is printed."""
        first, last = self.clipped
        if start == end or (start, end) == (first, last) or (start != first and end != last):
            return span(start, end, large=self.large)
        if start == first:
            return f"{'before' if isinstance(end, str) else 'below'} {_end(end, large=self.large)}"
        return f"{_end(start, large=self.large)} and {'later' if isinstance(start, str) else 'over'}"


@dataclass(frozen=True)
class Shown:
    """A published table with what the page tells of it: its keys, its rules in words, and the name of its file."""

    name: str
    about: str
    measure: str
    columns: Mapping[str, Sequence[Any]] = field(repr=False)
    keys: tuple[Axes, ...] = ()
    rules: tuple[str, ...] = ()
    file: str = ""
    bins: Axes | None = None
    """Of quantiles, the bins that they are told by."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, each by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]


def axes_of(domains: Sequence[Domain]) -> tuple[Axes, ...]:
    """The keys of a table by these domains; a key that is printed with those above it has one for each column."""
    found: dict[tuple[str, ...], Axes] = {}
    for domain in domains:
        if isinstance(domain, Bins | Dates):
            found[tuple(domain.columns())] = axes_of_bins(domain)
        else:
            found |= {(name,): Axes((name,)) for name in domain.columns()}
    return tuple(found.values())


def axes_of_bins(domain: Bins | Dates) -> Axes:
    """The key of a domain whose keys are intervals."""
    ends = domain.columns()
    starts, stops = ends.values()
    clipped = (starts[0], stops[domain.bins - 1]) if domain.clip else (None, None)
    return Axes(tuple(ends), isinstance(domain, Bins) and domain.end >= LARGE, clipped)


def span(start: Any, end: Any, *, large: bool = False) -> str:
    """An interval as people write it, from its first value to the one after its last.

    >>> span(0, 5), span(5000, 10000, large=True), span("2026-01-01", "2026-04-01")
    ('0 to 5', '5,000 to 10,000', '2026-01-01 to 2026-04-01')
    """
    if start == end:  # the one key that is no interval, such as "not stated"
        return str(start)
    return f"{_end(start, large=large)} to {_end(end, large=large)}"


def _end(value: Any, *, large: bool) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    return grouped(value) if large else edge(value)


def picture(table: Shown, name: str) -> str:
    """The pictures of a table as HTML, `name` being the start of their ids; empty if there is nothing to draw."""
    rows = table.rows
    drawn_from = "value" if "value" in table.columns else "from"
    given = table.columns.get(drawn_from, ())
    if not rows or not table.keys or not given or not all(one is None or _is_number(one) for one in given):
        return ""
    along = next((one for one in reversed(table.keys) if one.is_ordered), table.keys[-1])
    others = [one for one in table.keys if one is not along]
    panels: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        panels.setdefault(tuple(one.label(row) for one in others), []).append(row)
    scale = _scale(table, [row for some in list(panels.values())[:MOST_PANELS] for row in some])
    width = WIDTH if len(panels) == 1 else PANEL
    drawn = [
        _panel(table, along, some, scale, f"{name}-{n}", ", ".join(group), width)
        for n, (group, some) in enumerate(list(panels.items())[:MOST_PANELS])
    ]
    many = f" The first {MOST_PANELS} of {len(panels):,} groups are drawn." if len(panels) > MOST_PANELS else ""
    figure = "".join(drawn) if len(drawn) == 1 else f'<div class="panels">\n{"".join(drawn)}</div>'
    return f"<figure>{figure}\n<figcaption>{escape(_caption(table, len(panels)) + many)}</figcaption></figure>\n"


def _caption(table: Shown, panels: int) -> str:
    """What the marks of a picture mean."""
    same = " All groups have the same scale." if panels > 1 else ""
    if "value" not in table.columns:
        held = ", and the line is its interval, which holds it at 95%" if "lower" in table.columns else ""
        none = " A line without a block: nothing is known." if None in table.columns["from"] else ""
        return f"Each block is the bin of a quantile, the lowest first{held}.{none}{same}"
    none = " Where nothing is known there is no value." if None in table.columns["value"] else ""
    return (
        "The value, and the interval that holds at 95%: where that is not seen, it is narrower than its mark."
        f"{none}{same}"
    )


class _Scale(NamedTuple):
    """The ends of the axis of values, and its ticks."""

    low: float
    high: float
    ticks: list[float]


def _scale(table: Shown, rows: Sequence[Mapping[str, Any]]) -> _Scale:
    """A scale for all figures of the table; it starts at 0 where bars do, or where 0 is near."""
    names = [name for name in ("value", "lower", "upper", "from", "to") if name in table.columns]
    known = [float(row[name]) for row in rows for name in names if _is_number(row[name])]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if table.measure in BARS or 0 <= low <= 0.5 * high:
        low = min(low, 0.0)
        high = max(high, 0.0)
    least = max(1e-9 * max(abs(low), abs(high)), 1e-200)  # an axis on which doubles can be told apart
    if high - low < least:
        high = low + max(abs(low), 1.0)
    return _Scale(low, high, _ticks(low, high))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _ticks(low: float, high: float) -> list[float]:
    """Two or three round numbers within the range.

    >>> _ticks(0, 7), _ticks(-20, 130), _ticks(31000, 34500)
    ([0.0, 5.0], [0.0, 100.0], [32000.0, 34000.0])
    """
    power = 10.0 ** floor(log10(high - low))
    for step in (power * m for m in (5, 2, 1, 0.5)):
        first, last = ceil(low / step), floor(high / step)
        inside = [float(f"{n * step:.12g}") for n in range(first, last + 1)]
        if len(inside) >= 2:
            return inside
    return [low, high]


def _panel(
    table: Shown, along: Axes, rows: Sequence[Mapping[str, Any]], scale: _Scale, name: str, group: str, width: int
) -> str:
    """One picture: the rows of one group along one key."""
    if along.is_ordered and "value" in table.columns:
        drawn, said = _steps(along, rows, scale, width), f"{len(rows)} intervals"
    elif "value" in table.columns:
        drawn, said = _marks(table, along, rows, scale, width), f"{min(len(rows), MOST_BARS)} keys"
    else:
        drawn, said = _strips(along, rows, scale, width), f"quantiles of {len({along.label(row) for row in rows})} keys"
    title = f"{table.name}: {group}" if group else table.name
    text = f"{said}; the table gives the same numbers."
    heading = f"<h4>{escape(group)}</h4>" if group else ""
    svg = drawn.figure(name, title, text)
    return f'<div class="panel">{heading}{svg}</div>\n' if width != WIDTH else f"{heading}{svg}"


# Bars, or dots, for keys without an order.


def _room(names: Sequence[str], width: int) -> tuple[list[str], float]:
    """Labels shortened to at most two fifths of the width, and the room that they need."""
    most = int(0.4 * width / LETTER)
    short = [name if len(name) <= most else f"{name[: most - 1]}\u2026" for name in names]
    return short, 6 + LETTER * max(map(len, short), default=0)


def _frame(labels: int, start: float, scale: _Scale, width: int, right: float, row: int = ROW) -> Drawing:
    """An empty picture of so many rows, with the ticks of the values below."""
    foot = 4 + row * labels
    drawn = Drawing(foot + 20, Axis(start, width - right, scale.low, scale.high), Axis(foot, 2, 0, 1), width)
    for tick in scale.ticks:
        x = drawn.across(tick)
        drawn.add("line", kind="grid", x1=x, x2=x, y1=2, y2=foot)
    _below(drawn, [(tick, compact(tick)) for tick in scale.ticks], foot + 14)
    return drawn


def _below(drawn: Drawing, marks: Sequence[tuple[float, str]], y: float) -> None:
    """Labels below the axis at their values, as many as do not touch, and none beyond the picture."""
    free = -1.0
    for value, label in marks:
        half = LETTER * len(label) / 2
        x = min(max(drawn.across(value), half), drawn.width - half - 2)
        if x - half > free:
            drawn.text(x, y, label, anchor="middle")
            free = x + half + LETTER


def _marks(table: Shown, along: Axes, rows: Sequence[Mapping[str, Any]], scale: _Scale, width: int) -> Drawing:
    """A bar or dot for each key, with a line from end to end of its interval; wide pictures have the values too."""
    rows = rows[:MOST_BARS]
    names, start = _room([along.label(row) for row in rows], width)
    told = [_told(row) if width == WIDTH else "" for row in rows]
    if max(map(len, told)) > LONGEST_VALUE:
        told = [""] * len(rows)
    right = 8 + LETTER * 1.1 * max(map(len, told), default=0)
    drawn = _frame(len(rows), start, scale, width, right)
    zero = drawn.across(min(max(0.0, scale.low), scale.high))
    for n, (row, label) in enumerate(zip(rows, names, strict=True)):
        y = 4.0 + ROW * n
        drawn.text(start - 6, y + 10, label, anchor="end")
        x = None if row["value"] is None else drawn.across(float(row["value"]))
        if x is not None and table.measure in BARS:
            drawn.add("rect", kind="best", x=min(x, zero), y=y + 2, width=abs(x - zero), height=9.0)
        _whisker(drawn, row, y + 6.5)
        if x is not None and table.measure not in BARS:
            drawn.add("circle", kind="dot", cx=x, cy=y + 6.5, r=3.0)
        if told[n]:
            drawn.text(width - 2.0, y + 10, told[n], anchor="end")
    return drawn


def _told(row: Mapping[str, Any]) -> str:
    """A value beside its mark, to two digits of its error as in the table."""
    value, error = row["value"], row.get("sd")
    if value is None:
        return "not known"
    return grouped(value, None if error is None else decimals(float(error)))


def _whisker(drawn: Drawing, row: Mapping[str, Any], y: float) -> None:
    """A thin line from the lower to the upper end, if there are ends."""
    if _is_number(row.get("lower")) and _is_number(row.get("upper")):
        ends = drawn.across(float(row["lower"])), drawn.across(float(row["upper"]))
        drawn.add("line", kind="whisker", x1=ends[0], x2=ends[1], y1=y, y2=y)
        for x in ends if ends[1] - ends[0] > 4 else ():  # closer ones would be a blot
            drawn.add("line", kind="whisker", x1=x, x2=x, y1=y - 2.5, y2=y + 2.5)


# Steps for keys in order: the level of each interval, and the band between the ends.


def _steps(along: Axes, rows: Sequence[Mapping[str, Any]], scale: _Scale, width: int) -> Drawing:
    """One step for each interval of the key, in its order, and a band from the lower to the upper ends.

    A key that is no interval, such as "not stated", has no place among them, and stands in the table only.
    """
    first, last = along.columns
    rows = [row for row in rows if row[first] != row[last]] or list(rows)
    left = 8 + LETTER * max((len(compact(tick)) for tick in scale.ticks), default=1)
    height = 190 if width == WIDTH else 104
    base = height - 22
    drawn = Drawing(height, Axis(left, width - 8, 0, len(rows)), Axis(base, 6, scale.low, scale.high), width)
    drawn.levels((tick, compact(tick)) for tick in scale.ticks)
    if all(_is_number(row.get("lower")) and _is_number(row.get("upper")) for row in rows):
        there = _path(drawn, [float(row["upper"]) for row in rows])
        back = _path(drawn, [float(row["lower"]) for row in rows])[::-1]
        drawn.add("path", kind="band", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (*there, *back)) + "Z")
    for run in _known_runs(rows):  # the line is interrupted where nothing is known
        path = _path(drawn, [float(rows[n]["value"]) for n in run], run[0])
        drawn.add("path", kind="line", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in path))
    edges = [_end(row[first], large=along.large) for row in rows]
    edges.append(_end(rows[-1][last], large=along.large) + ("+" if rows[-1][last] == along.clipped[1] else ""))
    every = max(1, round(len(rows) / (6 if width == WIDTH else 3)))
    _below(
        drawn,
        [(n, text) for n, text in enumerate(edges) if n % every == 0 or n == len(rows)],
        base + 15.0,
    )
    return drawn


def _known_runs(rows: Sequence[Mapping[str, Any]]) -> list[range]:
    """The places of rows with a value, in runs without a gap.

    >>> _known_runs([{"value": 1}, {"value": None}, {"value": 2}, {"value": 3}])
    [range(0, 1), range(2, 4)]
    """
    gaps = [-1, *(n for n, row in enumerate(rows) if row["value"] is None), len(rows)]
    return [range(gap + 1, end) for gap, end in pairwise(gaps) if gap + 1 < end]


def _path(drawn: Drawing, values: Sequence[float], first: int = 0) -> list[tuple[float, float]]:
    """The corners of a line that is level within each interval, from the given one on."""
    return [(drawn.across(n + side), drawn.down(value)) for n, value in enumerate(values, first) for side in (0, 1)]


# Strips for quantiles: the blocks are bins.


def _strips(along: Axes, rows: Sequence[Mapping[str, Any]], scale: _Scale, width: int) -> Drawing:
    """A block for the bin of each quantile, on the line of its interval, one below the other; else on one line."""
    cells: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(along.label(row), []).append(row)
    shown = dict(list(cells.items())[:MOST_BARS])
    lines = max(map(len, shown.values())) if "lower" in rows[0] else 1  # intervals on one line could not be told apart
    height = max(ROW, LINE * lines + 5)
    names, start = _room(list(shown), width)
    drawn = _frame(len(shown), start, scale, width, 8, height)
    for n, (label, some) in enumerate(zip(names, shown.values(), strict=True)):
        top = 4.0 + height * n
        drawn.text(start - 6, top + height / 2 + 2.5, label, anchor="end")
        if lines == 1:
            _strip(drawn, some, scale, top + 2, 9.0)
        for k, row in enumerate(some if lines > 1 else ()):
            _strip(drawn, [row], scale, top + 1 + LINE * k, LINE - 1.5)
    return drawn


def _strip(drawn: Drawing, rows: Sequence[Mapping[str, Any]], scale: _Scale, top: float, height: float) -> None:
    """The blocks and intervals of quantiles on one line; without intervals a line joins the blocks."""
    middle = top + height / 2
    blocks = sorted(
        (drawn.across(float(row["from"])), drawn.across(float(row["to"]))) for row in rows if row["from"] is not None
    )
    for (_, end), (begin, _) in pairwise(blocks):
        if begin > end:
            drawn.add("line", kind="whisker", x1=end, x2=begin, y1=middle, y2=middle)
    for row in rows:
        _whisker(drawn, {name: _within(row.get(name), scale) for name in ("lower", "upper")}, middle)
    for begin, end in blocks:
        drawn.add("rect", kind="best", x=begin, y=top, width=max(end - begin, 1.5), height=height)


def _within(value: Any, scale: _Scale) -> Any:
    """The end of an interval, or that of the axis where the interval has none."""
    return min(max(value, scale.low), scale.high) if isinstance(value, float) and isinf(value) else value
