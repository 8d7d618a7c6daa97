"""A drawing read back as a person reads it: by the labels on its axes, not by the formulas that placed them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.etree import ElementTree

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
Place = tuple[float, float]


class Shape(NamedTuple):
    """One part of a drawing."""

    kind: str
    given: dict[str, str]
    text: str

    def at(self, *names: str) -> tuple[float, ...]:
        """Some of its numbers."""
        return tuple(float(self.given[name]) for name in names)


class Drawing:
    """The shapes of one picture in the order in which they are drawn."""

    def __init__(self, svg: str) -> None:
        root = ElementTree.fromstring(re.search(r"<svg.*</svg>", svg, re.DOTALL)[0])  # type: ignore[index]
        self.shapes = [Shape(one.tag, dict(one.attrib), one.text or "") for one in root]
        self.width, self.height = map(float, root.attrib["viewBox"].split()[2:])
        self.said = next(one.text for one in self.shapes if one.kind == "desc")

    def of(self, kind: str, name: str | None = None) -> list[Shape]:
        """All shapes of a kind, or of a kind and a class."""
        return [one for one in self.shapes if one.kind == kind and (name is None or one.given.get("class") == name)]

    def labels(self, *, level: bool) -> list[tuple[str, float]]:
        """What is written at each line of the grid, and where the line is: level ones, or upright ones."""
        found = []
        for line, text in zip(self.shapes, self.shapes[1:], strict=False):
            if line.given.get("class") != "grid" or text.kind != "text":
                continue
            x1, y1, y2 = line.at("x1", "y1", "y2")
            if (y1 == y2) == level:
                found.append((text.text, y1 if level else x1))
        return found

    def is_inside(self) -> bool:
        """Whether every line, dot and bar lies within the picture."""
        shapes = self.shapes
        wide = [float(one.given[name]) for one in shapes for name in ("x1", "x2", "cx", "x") if name in one.given]
        high = [float(one.given[name]) for one in shapes for name in ("y1", "y2", "cy", "y") if name in one.given]
        return 0 <= min(wide) <= max(wide) <= self.width and 0 <= min(high) <= max(high) <= self.height


def number(label: str) -> float:
    """The number that a label stands for: 0.02, 1, or 10 to a raised power."""
    raised = label.removeprefix("10")
    if raised and all(sign in SUPERSCRIPTS for sign in raised):
        return 10.0 ** int("".join("0123456789-"[SUPERSCRIPTS.index(sign)] for sign in raised))
    return float(label)


def scale(marks: list[tuple[float, float]]) -> Callable[[float], float]:
    """Where a value must be, by the first and the last mark of an axis; the marks between must agree."""
    (low, start), (high, end) = min(marks), max(marks)

    def place(value: float) -> float:
        return start + (end - start) * (value - low) / (high - low)

    assert all(abs(place(value) - found) < 0.11 for value, found in marks)
    return place


def stairs(path: str) -> list[tuple[float, float, float]]:
    """A path of level and upright strokes, as pieces: from x to x at height y."""
    (x, y), *_ = [tuple(map(float, pair.split())) for pair in re.findall(r"^M([\d.]+ [\d.]+)", path)]
    pieces = []
    for sign, text in re.findall(r"([HV])([\d.]+)", path):
        if sign == "H":
            pieces.append((x, float(text), y))
            x = float(text)
        else:
            y = float(text)
    return [*pieces, (x, x, y)]
