"""Pairs with finitely many outcomes above and below a privacy profile that is known at some points.

H(x) = E_P (1 - x e^{-L})_+ is convex. Chords between its points are a profile above it; a convex polygon under the
extensions of neighbouring chords is one below it. Theorem: docs/theorems/grid.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import arb

__all__ = ["KnownProfile", "convex_heights"]

ROUNDING = arb(2) ** -230  # Lines are lowered by more than all roundings of a polygon at 320 bits or more.


@dataclass(frozen=True)
class KnownProfile:
    """Certified ends of H at exact points 0 < x_0 < x_1 < ..., at a working precision of 320 bits or more."""

    x: Sequence[arb]
    low: Sequence[arb]
    high: Sequence[arb]

    def above(self) -> list[tuple[arb, arb]]:
        """(P-mass, Q-mass) of a pair that dominates, the largest ratio first: of the lowest chords of the upper ends.

        Left of the first point it is a chord from H(0) = 1; H at the last point becomes a mass of infinite loss.
        """
        x, heights = [arb(0), *self.x], [arb(1), *(high.upper() for high in self.high)]
        kept = _convex(x, heights)
        falls = [*_falls([x[n] for n in kept], [heights[n] for n in kept]), arb(0)]
        found = []
        for n, (before, after) in zip(kept[1:], pairwise(falls), strict=True):
            if (jump := before - after) > 0:
                found.append((x[n] * jump, jump))
        return [(heights[kept[-1]], arb(0)), *reversed(found), (arb(0), 1 - falls[0])]

    def tests_below(self, revealed: arb) -> list[tuple[arb, arb]]:
        """Points (Q(S), P(S)) that tests of the pair reach at least: of lines that are nowhere above H.

        `revealed` is a lower bound on the mass of infinite losses, the limit of H.
        """
        x, (lowered, steepest) = self.x, self._lowered(revealed)
        found = [(arb(0), revealed)]
        for a, b in pairwise(_convex(x, lowered)):
            fall = (lowered[a] - lowered[b]) / (x[b] - x[a])
            if fall <= steepest:  # Left of the first point H falls at least so fast, so the line is below it there.
                found.append((fall, revealed + lowered[a] + x[a] * fall - ROUNDING))
        return found

    def _lowered(self, revealed: arb) -> tuple[list[arb], arb]:
        """Heights at the points whose chords are nowhere above H, and how fast H falls at least before the first point.

        Both are without the mass of infinite losses.
        """
        x, low, high = (
            list(self.x),
            [(value - revealed).lower() for value in self.low],
            [(value - revealed).upper() for value in self.high],
        )
        cells = len(x) - 1
        # How fast H falls at most left of a cell and at least right of it, by the cells beside it; it is convex.
        before = [arb(1), *((high[n] - low[n + 1]) / (x[n + 1] - x[n]) for n in range(cells))]
        behind = [*(((low[n] - high[n + 1]) / (x[n + 1] - x[n])).max(arb(0)) for n in range(cells)), arb(0)]
        chords = _falls(x, low)
        gaps = []
        for n in range(cells):
            left, right = before[n] - chords[n], chords[n] - behind[n + 1]
            sure = left > 0 and right > 0
            depth = left * right / (left + right) if sure else left.min(right).max(arb(0))
            gaps.append((x[n + 1] - x[n]) * depth)
        deepest = [a.max(b) for a, b in zip([arb(0), *gaps], [*gaps, arb(0)], strict=True)]
        lowered = [(height - gap).lower() for height, gap in zip(low, deepest, strict=True)]
        zero = next((n for n, height in enumerate(lowered) if not height > 0), len(lowered) - 1)
        return [height if n < zero - 1 else arb(0) for n, height in enumerate(lowered)], behind[0]


def convex_heights(x: Sequence[arb], heights: Sequence[arb]) -> list[arb]:
    """The heights, at all points, of the greatest convex polygon below these ones."""
    found: list[arb] = []
    for a, b in pairwise(_convex(x, heights)):
        fall = (heights[a] - heights[b]) / (x[b] - x[a])
        found += [heights[a] - fall * (x[n] - x[a]) for n in range(a, b)]
    return [*found, heights[-1]]


def _falls(x: Sequence[arb], heights: Sequence[arb]) -> list[arb]:
    """The negative slopes of the chords between neighbouring points."""
    return [(heights[n] - heights[n + 1]) / (x[n + 1] - x[n]) for n in range(len(x) - 1)]


def _convex(x: Sequence[arb], heights: Sequence[arb]) -> list[int]:
    """The indices of the corners of the greatest convex polygon below all points."""
    chain: list[int] = []
    for n in range(len(x)):
        while len(chain) > 1:
            a, b = chain[-2:]
            before = (heights[a] - heights[b]) * (x[n] - x[b])
            after = (heights[b] - heights[n]) * (x[b] - x[a])
            if before > after:
                break
            chain.pop()
        chain.append(n)
    return chain
