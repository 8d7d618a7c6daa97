"""The trade-off curve of a pair and concave hulls of several: plane geometry in rationals, with rounding to them.

A test, that is a set S of outcomes, has the point (Q(S), P(S)): false positive rate and power. The upper boundary of
all points is concave; it is the trade-off function of Dong, Roth and Su, reflected. Its edges are the atoms of the
loss: an edge (dx, dy) is an outcome of Q-mass dx and P-mass dy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import ceiling, floor

__all__ = ["Atom", "Point", "both_directions", "hull", "prefixes", "ratio_above", "rounded", "within_ratios"]

BALL_BITS, GRID_BITS = 320, 200  # Masses are balls of 320 bits; points are rounded outward to multiples of 2^-200.

Atom: TypeAlias = tuple[Fraction, Fraction]
"""The P-mass and the Q-mass of an outcome, not both 0; the loss is the logarithm of their ratio."""

Point: TypeAlias = tuple[Fraction, Fraction]
"""The point (Q(S), P(S)) of a test S, a set of outcomes of one pair."""


def both_directions(pairs: Sequence[Sequence[Point]]) -> list[Point]:
    """All points of the pairs (P, Q), and the corresponding points of the reversed pairs (Q, P)."""
    points = [point for pair in pairs for point in pair]
    return points + [_mirrored(point) for point in points]


def prefixes(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[Point]:
    """The points (Q(S), P(S)) of the likelihood ratio tests S = {p/q >= t}, but for (0, 0) and (1, 1)."""
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
    """The point of the complement of a test, as a test of the reversed pair."""
    x, y = point
    return 1 - y, 1 - x


def hull(points: Sequence[Point]) -> list[Atom]:
    """The atoms of the least concave curve from (0, 0) to (1, 1) above all points: of each edge (P-mass, Q-mass)."""
    corner: dict[Fraction, Fraction] = {}
    for x, y in [*points, (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))]:
        corner[x] = max(y, corner.get(x, y))
    chain: list[Point] = []
    for x, y in sorted(corner.items()):
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - c) > (y - d) * (c - a):  # The curve bends to the right: the middle point stays.
                break
            chain.pop()
        chain.append((x, y))
    edges = [(d - b, c - a) for (a, b), (c, d) in pairwise([(Fraction(0), Fraction(0)), *chain])]
    return [(dy, dx) for dy, dx in edges if dy or dx]


def within_ratios(edges: Sequence[Atom], most: Fraction | None, most_back: Fraction | None) -> list[Atom]:
    """The edges of the minimum of the curve and the lines for bounded ratios: P/Q <= most and Q/P <= most_back.

    Rounding a curve upward may make its largest ratio infinite. If no outcome of the pair itself has a ratio P/Q above
    `most`, its curve is also below the line y = most x, and the minimum of two concave curves is concave. The bound
    `most_back` is applied in the same way to the reversed pair. None stands for an unknown bound.
    """
    edges = _below_line(edges, most)
    back = _below_line([(dx, dy) for dy, dx in reversed(edges)], most_back)
    return [(dx, dy) for dy, dx in reversed(back)]


def _below_line(edges: Sequence[Atom], most: Fraction | None) -> list[Atom]:
    """The edges of the minimum of the curve and the line y = most x, most >= 1; the curve itself if `most` is None."""
    if most is None:
        return list(edges)
    x = y = Fraction(0)
    for n, (dy, dx) in enumerate(edges):
        if y + dy <= most * (x + dx):  # The curve meets the line on this edge, at the fraction t of it.
            t = (y - most * x) / (most * dx - dy) if n else Fraction(0)
            meets = x + t * dx
            found = [(most * meets, meets), (dy * (1 - t), dx * (1 - t)), *edges[n + 1 :]]
            return [(dy, dx) for dy, dx in found if dy or dx]
        x, y = x + dx, y + dy
    raise AssertionError("a line through (0, 0) and above (1, 1) meets the curve")


def rounded(pair: Sequence[tuple[arb, arb]], side: int) -> list[Point]:
    """The points (Q(S), P(S)) of a pair on the grid: rounded up and to the left (side -1), or the reverse (side 1).

    The pair is given by its masses (p, q), the largest ratio first, at the working precision `BALL_BITS`.
    """
    found, x, y = [], arb(0), arb(0)
    for p, q in pair[:-1]:  # The last point is (1, 1).
        x, y = x + q, y + p
        ends = (
            (floor(x * 2**GRID_BITS), ceiling(y * 2**GRID_BITS))
            if side < 0
            else (ceiling(x * 2**GRID_BITS), floor(y * 2**GRID_BITS))
        )
        found.append((Fraction(max(ends[0], 0), 2**GRID_BITS), Fraction(min(ends[1], 2**GRID_BITS), 2**GRID_BITS)))
    return [(min(x, Fraction(1)), max(y, Fraction(0))) for x, y in found]


def ratio_above(ratio: arb) -> Fraction | None:
    """A rational upper bound on a ratio, at least 1; None if the ratio is infinite."""
    return max(Fraction(ceiling(ratio * 2**GRID_BITS), 2**GRID_BITS), Fraction(1)) if ratio.is_finite() else None
