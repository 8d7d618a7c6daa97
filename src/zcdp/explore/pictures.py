"""Pictures of the areas Understand and Train, as the report draws: lines over even or logarithmic axes, and bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, log10

from zcdp.report.charts import WIDTH, Axis, Drawing, Point, escape, even_ticks, log_ticks
from zcdp.text.numbers import SUPERSCRIPTS, compact

__all__ = ["Line", "chart", "columns", "figure"]

LEFT, RIGHT, TOP, BASE, HEIGHT = 46, WIDTH - 12, 24, 214, 250


@dataclass(frozen=True)
class Line:
    """Points to be joined: `kind` is the class of the line, `name` stands at its end, `dots` at each point."""

    points: Sequence[Point]
    kind: str = "line"
    name: str = ""
    dots: bool = False
    filled: str = ""


def _power(value: float) -> str:
    """A power of ten as people write it; small numbers in full."""
    exponent = round(log10(value))
    if abs(log10(value) - exponent) > 1e-9:
        return f"{value:g}"
    return f"{value:g}" if -2 < exponent < 4 else "10" + str(exponent).translate(SUPERSCRIPTS)


def _axis(values: Sequence[float], start: float, end: float, *, log: bool, most: int) -> tuple[Axis, list[float]]:
    """An axis over the values and its ticks; of a logarithmic one both in logarithms."""
    if log:
        low, high = floor(min(values)), ceil(max(values))
        high = max(high, low + 1)
        if high - low <= 2:
            ticks = [log10(tick) for tick in log_ticks(10 ** min(values), 10 ** max(values), most)]
            return Axis(start, end, min(ticks[0], *values), max(ticks[-1], *values)), ticks
        step = ceil((high - low) / most)
        return Axis(start, end, low, high), [float(n) for n in range(low, high + 1, step)]
    top, least = max(values), min(0.0, *values)
    ticks = even_ticks(max(top, -least), most)
    if least < 0:
        ticks = [tick for tick in (*(-tick for tick in reversed(ticks[1:])), *ticks) if least <= tick <= top]
    return Axis(start, end, least, max(top, ticks[-1] if least == 0 else top) or 1.0), ticks


def chart(
    lines: Sequence[Line],
    *,
    name: str,
    title: str,
    text: str,
    across: str,
    up: str,
    log_x: bool = False,
    log_y: bool = False,
    mark: tuple[Point, str] | None = None,
    ends: tuple[float, float] | None = None,
) -> str:
    """Lines over two axes, with one point marked and labelled; `ends` are those of the upright axis."""

    def place(point: Point) -> Point:
        return (log10(point[0]) if log_x else point[0]), (log10(point[1]) if log_y else point[1])

    kept = [
        [place(point) for point in line.points if max(map(abs, point)) < inf and _drawable(point, log_x, log_y)]
        for line in lines
    ]
    marked = place(mark[0]) if mark and _drawable(mark[0], log_x, log_y) else None
    known = [point for points in kept for point in points] + ([marked] if marked else [])
    if not known:
        return '<p class="soft">There is nothing to draw.</p>'
    x_axis, x_ticks = _axis([x for x, _ in known], LEFT, RIGHT, log=log_x, most=6)
    y_axis, y_ticks = _axis([y for _, y in known] if ends is None else list(ends), BASE, TOP, log=log_y, most=6)
    drawn = Drawing(HEIGHT, x_axis, y_axis)
    drawn.text(4, 12, up, kind="axis")
    drawn.levels((tick, _power(10**tick) if log_y else compact(tick)) for tick in y_ticks)
    drawn.ticks((tick, _power(10**tick) if log_x else compact(tick)) for tick in x_ticks)
    drawn.text(RIGHT, HEIGHT - 3, across, anchor="end", kind="axis")
    for line, points in zip(lines, kept, strict=True):
        places = [(x_axis(x), y_axis(y)) for x, y in _below(points, y_axis.high)]
        if not places:
            continue
        if line.filled:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            drawn.add(
                "polygon", kind=line.filled, points=f"{places[0][0]:.1f},{BASE} {path} {places[-1][0]:.1f},{BASE}"
            )
        if line.dots:
            drawn.line(places, line.kind, "dot" if line.kind == "line" else "other-dot", 1.9)
        else:
            drawn.add("polyline", kind=line.kind, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places))
    _names(drawn, lines, kept, LEFT + max(8.0, 7.2 * len(up) - 30))
    if mark and marked:
        x, y = x_axis(marked[0]), y_axis(marked[1])
        drawn.ring((x, y))
        if x < 0.55 * WIDTH:
            drawn.text(x + 9, y + (16 if y < 60 else -8), mark[1], kind="strong halo")
        else:
            drawn.text(x - 9, y + (18 if y < 120 else -9), mark[1], anchor="end", kind="strong halo")
    return drawn.figure(name, title, text)


def _drawable(point: Point, log_x: bool, log_y: bool) -> bool:
    return (point[0] > 0 or not log_x) and (point[1] > 0 or not log_y)


def _below(points: Sequence[Point], top: float) -> list[Point]:
    """A rising line up to the top of the picture, where it is cut."""
    found: list[Point] = []
    for x, y in points:
        if y > top:
            if found and y > found[-1][1]:
                x0, y0 = found[-1]
                found.append((x0 + (x - x0) * (top - y0) / (y - y0), top))
            break
        found.append((x, y))
    return found


def _names(drawn: Drawing, lines: Sequence[Line], kept: Sequence[Sequence[Point]], x: float) -> None:
    """The names of the lines, as a legend above the picture: ends of lines may lie upon each other."""
    for line, points in zip(lines, kept, strict=True):
        if not line.name or not points:
            continue
        drawn.add("line", kind=line.kind, x1=x, x2=x + 16, y1=8.0, y2=8.0)
        drawn.text(x + 20, 12, line.name)
        x += 32 + 6.2 * len(line.name)


def columns(
    names: Sequence[str], one: Sequence[float], other: Sequence[float], *, name: str, title: str, text: str
) -> str:
    """Two columns for each outcome, side by side."""
    drawn = Drawing(HEIGHT, Axis(LEFT, RIGHT, 0, len(names)), Axis(BASE, TOP, 0, max((*one, *other, 1e-9))))
    drawn.text(4, 12, "probability", kind="axis")
    drawn.levels((tick, compact(tick)) for tick in even_ticks(max((*one, *other)), 5))
    wide = (RIGHT - LEFT) / len(names)
    for n, label in enumerate(names):
        for k, (value, kind) in enumerate(((one[n], "best"), (other[n], "q-fill"))):
            y = drawn.down(value)
            drawn.add(
                "rect", kind=kind, x=drawn.across(n) + wide * (0.14 + 0.36 * k), y=y, width=wide * 0.34, height=BASE - y
            )
        drawn.text(drawn.across(n) + wide / 2, BASE + 17, label[: max(3, floor(wide / 6.2))], anchor="middle")
    return drawn.figure(name, title, text)


def figure(name: str, title: str, drawn: str, sentence: str, theorem: str = "") -> str:
    """A picture with its title, its one sentence, the theorem it rests on, and a button that saves it."""
    link = f'<a href="theorem/{escape(theorem)}">The theorem</a>' if theorem else ""
    save = (
        f'<button type="button" class="quiet" data-svg="{name}">Save as SVG'
        f'<span class="hidden">: {escape(title)}</span></button>'
        if "<svg" in drawn
        else ""
    )
    return (
        f"<h2>{escape(title)}</h2><div>{drawn}</div><figcaption>{sentence}</figcaption>"
        f'<div class="foot">{link}{save}</div>'
    )
