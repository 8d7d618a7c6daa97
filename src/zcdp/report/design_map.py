"""The map of designs: error against rounds answered, or bytes a report, a line for each kind and one place marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from zcdp.report.charts import WIDTH, Point, figure
from zcdp.report.escaping import escape

__all__ = ["design_map"]

LEFT, RIGHT, TOP, BOTTOM, HEIGHT = 46, 142, 22, 38, 268
APART = 14  # of two labels, so that they can be read


def design_map(lines: Mapping[str, Sequence[Point]], own: Point, kind: str, *, across: str, text: str) -> str:
    """Both axes are logarithmic. The line of the kind of one's own design is drawn stronger.

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
    most = 1.5 * least_best  # what is far worse than the best of every kind would press all others together
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
    """A ring, and its name on the side where there is more room: never on the axes, nor on the names of the lines."""
    x, y = place
    side = f'x="{x + 9:.1f}"' if x < (LEFT + edge) / 2 else f'x="{x - 9:.1f}" text-anchor="end"'
    height = y + 17 if y < TOP + 30 else y - 9
    return [
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
        f'<text class="strong halo" {side} y="{height:.1f}">this design</text>',
    ]


def _spread(heights: Mapping[str, float]) -> dict[str, float]:
    """The heights of labels in the same order, far enough apart, and none below the floor.

    >>> _spread({"a": 100.0, "b": 101.0})
    {'a': 100.0, 'b': 114.0}
    """
    placed: dict[str, float] = {}
    lowest = TOP - float(APART)
    for name, y in sorted(heights.items(), key=lambda item: item[1]):
        lowest = placed[name] = max(y, lowest + APART)
    highest = HEIGHT - BOTTOM + float(APART)
    for name in reversed(placed):
        highest = placed[name] = min(placed[name], highest - APART)
    return placed


def _ticks(least: float, most: float, many: int) -> list[float]:
    """Round numbers 1, 2, 5 times powers of 10 from at most the least to at least the most, not too many.

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
