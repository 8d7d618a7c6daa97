"""The curve of all tests of a pair, and the least concave one above it: plane geometry in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

__all__ = ["Atom", "Point", "both_directions", "hull", "prefixes", "within_ratios"]

Atom: TypeAlias = tuple[Fraction, Fraction]
"""The P-mass and the Q-mass of one loss, log of their ratio: not both 0."""

Point: TypeAlias = tuple[Fraction, Fraction]
"""(Q(S), P(S)) for a set S of outcomes of one pair."""


def both_directions(pairs: Sequence[Sequence[Point]]) -> list[Point]:
    """All points of the pairs, and those of the same pairs in the other order."""
    points = [point for pair in pairs for point in pair]
    return points + [_mirrored(point) for point in points]


def prefixes(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Point]:
    """(Q(S), P(S)) of the best tests S: outcomes of the largest ratios p/q."""
    outcomes = sorted(
        ((a, b) for a, b in zip(p, q, strict=True) if a or b),
        key=lambda ab: (ab[1] == 0, ab[0] / ab[1] if ab[1] else 0),
        reverse=True,
    )
    points, x, y = [], Fraction(0), Fraction(0)
    for a, b in outcomes[:-1]:
        x, y = x + b, y + a
        points.append((x, y))
    return points


def _mirrored(point: Point) -> Point:
    """The same test of the pair in the other order: its complement."""
    x, y = point
    return 1 - y, 1 - x


def hull(points: Sequence[Point]) -> list[Atom]:
    """The edges (dy, dx) of the least concave curve from (0, 0) to (1, 1) above all points."""
    corner: dict[Fraction, Fraction] = {}
    for x, y in [*points, (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))]:
        corner[x] = max(y, corner.get(x, y))
    chain: list[Point] = []
    for x, y in sorted(corner.items()):
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - c) > (y - d) * (c - a):  # it bends to the right: the middle point stays
                break
            chain.pop()
        chain.append((x, y))
    edges = [(d - b, c - a) for (a, b), (c, d) in pairwise([(Fraction(0), Fraction(0)), *chain])]
    return [(dy, dx) for dy, dx in edges if dy or dx]


def within_ratios(edges: Sequence[Atom], most: Fraction | None, most_back: Fraction | None) -> list[Atom]:
    """The edges of the part of the curve that is below y = most x and, in the other order, below y = most_back x.

    Rounding upward may make a largest ratio infinite that is not: if no outcome of a pair has a ratio P/Q above `most`,
    its curve is below that line too, and the least of two concave curves is concave. None: nothing is known.
    """
    edges = _below_line(edges, most)
    back = _below_line([(dx, dy) for dy, dx in reversed(edges)], most_back)
    return [(dx, dy) for dy, dx in reversed(back)]


def _below_line(edges: Sequence[Atom], most: Fraction | None) -> list[Atom]:
    """The edges of the least of the curve and the line y = most x, with most >= 1."""
    if most is None:
        return list(edges)
    x = y = Fraction(0)
    for n, (dy, dx) in enumerate(edges):
        if y + dy <= most * (x + dx):  # The curve meets the line on this edge, at its part t.
            t = (y - most * x) / (most * dx - dy) if n else Fraction(0)
            meets = x + t * dx
            found = [(most * meets, meets), (dy * (1 - t), dx * (1 - t)), *edges[n + 1 :]]
            return [(dy, dx) for dy, dx in found if dy or dx]
        x, y = x + dx, y + dy
    raise AssertionError("a line through (0, 0) and above (1, 1) meets the curve")
