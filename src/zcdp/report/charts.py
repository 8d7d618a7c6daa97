"""What all pages are made of: escaped text, the frame of a page, and drawings as SVG with their axes and ticks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from math import ceil, floor, log10
from typing import NamedTuple

from zcdp.text.names import printable
from zcdp.text.numbers import SUPERSCRIPTS

__all__ = [
    "POLICY",
    "WIDTH",
    "Axis",
    "Bar",
    "Drawing",
    "Point",
    "bars",
    "curve",
    "escape",
    "even_ticks",
    "log_ticks",
    "page",
]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The security policy of a page, which forbids the browser to load anything from outside."""


def escape(text: str) -> str:
    """The text with markup escaped and control characters replaced; line breaks and tabs are kept.

    >>> escape("<b>\\x1b[2J\\n")
    '&lt;b&gt;\\ufffd[2J\\n'
    """
    return html.escape(printable(text, keep="\n\t"))


def page(title: str, body: str, *, styles: Sequence[str] = ("style.css",), kind: str = "") -> str:
    """A self-contained HTML page of this title around a body in HTML, which may have a class of its own."""
    style = "".join(files("zcdp.report").joinpath(name).read_text(encoding="utf-8") for name in styles)
    shown = f' class="{escape(kind)}"' if kind else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body{shown}>\n{body}</body></html>\n"
    )


# Drawings.

WIDTH = 360  # the width of a small phone, where text then appears in its stated size
LETTER = 7  # about the width of a letter
Point = tuple[float, float]


class Axis(NamedTuple):
    """Maps values from `low` to `high` evenly to places from `start` to `end`; of a logarithmic axis, their logarithms.

    >>> Axis(0, 100, 1, 3)(2)
    50.0
    """

    start: float
    end: float
    low: float
    high: float

    def __call__(self, value: float) -> float:
        """The place of a value."""
        return self.start + (self.end - self.start) * (value - self.low) / ((self.high - self.low) or 1.0)


class Drawing:
    """A picture under way: shapes in the order in which they are drawn, around the area between two axes.

    A picture of another `width` than that of a phone is one of several side by side.
    """

    def __init__(self, height: int, across: Axis, down: Axis, width: int = WIDTH) -> None:
        self.height, self.across, self.down, self.width = height, across, down, width
        self._shapes: list[str] = []

    def add(self, tag: str, text: str = "", **attributes: str | float | None) -> None:
        """Draw one shape; `kind` is its class, `anchor` its text-anchor, and numbers of type float get one decimal."""
        names = {"kind": "class", "anchor": "text-anchor"}
        written = "".join(
            f' {names.get(name, name)}="{f"{value:.1f}" if isinstance(value, float) else escape(str(value))}"'
            for name, value in attributes.items()
            if value is not None
        )
        self._shapes.append(f"<{tag}{written}>{escape(text)}</{tag}>" if text else f"<{tag}{written}/>")

    def text(self, x: float, y: float, text: str, *, anchor: str | None = None, kind: str | None = None) -> None:
        """Write a text that starts, ends or has its middle at x."""
        self.add("text", text, kind=kind, x=x, y=y, anchor=anchor)

    def levels(self, marks: Iterable[tuple[float, str]]) -> None:
        """Lines of the grid at values of the upright axis, each with its label to the left."""
        for value, label in marks:
            y = self.down(value)
            self.add("line", kind="grid", x1=self.across.start, x2=self.across.end, y1=y, y2=y)
            self.text(self.across.start - 5, y + 4, label, anchor="end")

    def ticks(self, marks: Iterable[tuple[float, str]]) -> None:
        """Ticks at values of the level axis, each with its label below."""
        base = self.down.start
        for value, label in marks:
            x = self.across(value)
            self.add("line", kind="grid", x1=x, x2=x, y1=base, y2=base + 4)
            fits = x + LETTER * len(label) / 2 <= self.width
            self.text(x if fits else min(x, self.width - 2.0), base + 17, label, anchor="middle" if fits else "end")

    def line(self, places: Sequence[Point], kind: str, dot: str, radius: float) -> None:
        """Places joined by lines, with a dot at each."""
        self.add("polyline", kind=kind, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places))
        for x, y in places:
            self.add("circle", kind=dot, cx=x, cy=y, r=radius)

    def ring(self, place: Point) -> None:
        """A ring that marks a place."""
        self.add("circle", kind="mark", cx=place[0], cy=place[1], r=4.5)

    def figure(self, name: str, title: str, text: str) -> str:
        """The SVG picture, with a title and a description for screen readers; `name` tells it from others on a page."""
        return (
            f'<svg class="chart" role="img" viewBox="0 0 {self.width} {self.height}" '
            f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-text">{escape(text)}</desc>{"".join(self._shapes)}</svg>'
        )


def even_ticks(largest: float, most: int) -> list[float]:
    """Ticks at 0 and at up to `most` equally spaced round numbers, none above `largest`.

    >>> even_ticks(7, 5), even_ticks(0.11, 4)
    ([0.0, 2.0, 4.0, 6.0], [0.0, 0.025, 0.05, 0.075, 0.1])
    """
    if not largest > 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(largest / (most - 1)))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if largest / (power * m) <= most + 0.5)
    return [float(f"{n * step:.12g}") for n in range(floor(largest / step) + 1)]


def log_ticks(least: float, most: float, many: int) -> list[float]:
    """About `many` ticks at most: 1, 2, 5 times powers of 10, from one <= `least` to one >= `most`.

    >>> log_ticks(1, 30, 6), log_ticks(3e-4, 2e-2, 7)
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


# Charts of more than one page: a curve over a logarithmic axis, and bars with their values beside them.

Bar = tuple[str, float, str, bool]
"""Label, length, value as text, and whether the bar is highlighted."""


def curve(points: Sequence[Point], mark: Point | None, mark_text: str, *, name: str, title: str, text: str) -> str:
    """An SVG chart of delta (logarithmic) against epsilon: dots joined by lines, with one point marked and labelled."""
    known = [*points, mark] if mark else list(points)
    low, high = floor(min(log10(y) for _, y in known)), ceil(max(log10(y) for _, y in known))
    high = max(high, low + 1)
    ticks = even_ticks(max(x for x, _ in known), 5)
    left, right, height, base = 40, WIDTH - 12, 250, 214
    drawn = Drawing(
        height, Axis(left, right, 0, max(ticks[-1], *(x for x, _ in known))), Axis(base, 24, low, high)
    )  # powers of ten, which may be too small for a float, are on the upright axis
    drawn.text(4, 12, "\u03b4", kind="axis")
    powers = range(high, low - 1, -ceil((high - low) / 6))
    drawn.levels((n, "1" if n == 0 else "10" + str(n).translate(SUPERSCRIPTS)) for n in powers)
    drawn.ticks((tick, f"{tick:g}") for tick in ticks)
    drawn.text(right, height - 3, "\u03b5", anchor="end", kind="axis")
    drawn.line([(drawn.across(x), drawn.down(log10(y))) for x, y in points], "line", "dot", 1.7)
    if mark:
        x, y = drawn.across(mark[0]), drawn.down(log10(mark[1]))
        drawn.add("path", kind="guide", d=f"M{left} {y:.1f}H{x:.1f}V{base}")
        drawn.ring((x, y))
        # The curve falls to the right: there is room above and to the right of a point, or below and to its left.
        if x < 0.55 * WIDTH:
            drawn.text(x + 8, y - 7, mark_text, kind="strong halo")
        else:
            drawn.text(x - 9, y + 16, mark_text, anchor="end", kind="strong halo")
    return drawn.figure(name, title, text)


def bars(items: Sequence[Bar], *, name: str, title: str, text: str) -> str:
    """An SVG chart of horizontal bars from zero, each below its label, with its value at its end."""
    row, longest = 38, max((length for _, length, _, _ in items), default=0.0)
    drawn = Drawing(4 + row * len(items), Axis(0, WIDTH - 92, 0, longest), Axis(0, 0, 0, 1))
    for n, (label, length, value, chosen) in enumerate(items):
        y, size = 4 + n * row, max(drawn.across(length), 1.0)
        drawn.text(0, y + 11, label)
        drawn.add("rect", kind="best" if chosen else "bar", x=0, y=y + 16, width=size, height=13, rx=2)
        drawn.text(size + 6, y + 27, value, kind="strong" if chosen else None)
    return drawn.figure(name, title, text)
