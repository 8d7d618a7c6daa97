"""One use on a grid of losses: a law that dominates it, and one that it dominates."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from flint import arb

from zcdp.errors import BadValue
from zcdp.privacy.loss.law import LossLaw

__all__ = ["GridLaw", "SampledProfile", "law_above", "law_below", "sampled_profile"]


@dataclass(frozen=True)
class SampledProfile:
    """H(x) = E_P (1 - x e^{-L})_+ at x = e^{jh}, from the first j on."""

    first: int
    x: list[arb]
    heights: list[arb]


@dataclass(frozen=True)
class GridLaw:
    """P-masses of the losses jh, from the first j on, and at infinity. Theorem: docs/theorems/grid.md."""

    first: int
    masses: list[arb]
    revealed: arb


def sampled_profile(law: LossLaw, step: arb, up: int, down: int) -> SampledProfile:
    """From the profiles of both orders: H(x) = 1 - x + x H'(1/x)."""
    right, left = law.alone(), law.reverse().alone()
    assert right is not None
    assert left is not None
    top, bottom = law.largest(), law.reverse().largest()
    x, heights = [], []
    for j in range(-down, up + 1):
        epsilon, place = step * abs(j), (step * j).exp()
        formula, end = (right, top) if j >= 0 else (left, bottom)
        height = formula(epsilon) if epsilon < end else arb(0)
        if not (epsilon < end or epsilon >= end):
            height = formula(epsilon * (1 - arb(2) ** -60)).union(arb(0))
        x.append(place)
        heights.append(height if j >= 0 else 1 - place + place * height)
    return SampledProfile(-down, x, heights)


def law_above(known: SampledProfile) -> GridLaw:
    """H is replaced by its chords; left of the points by one from H(0) = 1, and right of them it stays.

    What H has at the last point goes to infinity, so that all masses add up to H(0) = 1.
    """
    x, heights = known.x, known.heights
    falls = [(1 - heights[0]) / x[0], *_falls(x, heights), arb(0)]
    law = GridLaw(known.first, _masses(x, falls), heights[-1])
    if any(mass < 0 for mass in (*law.masses, law.revealed)):
        raise BadValue("a law on a grid has a negative mass: what it was made from is no profile")
    return law


def law_below(known: SampledProfile) -> GridLaw:
    """Points below H by as much as its chords are above it at most; then the greatest convex polygon below them."""
    x, heights = known.x, known.heights
    falls = _falls(x, heights)
    steps = [arb(1), *falls, arb(0)]  # H falls by at most 1, and never rises
    gaps = []
    for n, width in enumerate(b - a for a, b in pairwise(x)):
        left, right = steps[n] - steps[n + 1], steps[n + 1] - steps[n + 2]
        both = left + right
        gaps.append(width * left * right / both if both > 0 else width * left.max(right).max(arb(0)))
    deepest = [a.max(b) for a, b in zip([arb(0), *gaps], [*gaps, arb(0)], strict=True)]
    lowered = [height - gap for height, gap in zip(heights, deepest, strict=True)]
    zero = next((n for n, height in enumerate(lowered) if not height > 0), len(lowered) - 1)
    lowered = [height if n < zero - 1 else arb(0) for n, height in enumerate(lowered)]
    kept = _convex(x, lowered)
    own = _falls([x[n] for n in kept], [lowered[n] for n in kept])
    own[0] = own[0].min(falls[0])  # the first point is lowered further, and left of it H falls at least as much
    masses = [arb(0)] * len(x)
    for n, mass in zip(kept[1:], _masses([x[n] for n in kept[1:]], [*own, arb(0)]), strict=True):
        if not mass >= 0:
            return GridLaw(known.first, [arb(0)], arb(0))
        masses[n] = mass
    return GridLaw(known.first, masses, arb(0))


def _falls(x: list[arb], heights: list[arb]) -> list[arb]:
    return [(heights[n] - heights[n + 1]) / (x[n + 1] - x[n]) for n in range(len(x) - 1)]


def _masses(x: list[arb], falls: list[arb]) -> list[arb]:
    return [place * (falls[n] - falls[n + 1]) for n, place in enumerate(x)]


def _convex(x: list[arb], heights: list[arb]) -> list[int]:
    """The points of the greatest convex polygon below all of them."""
    chain: list[int] = []
    for n in range(len(x)):
        while len(chain) > 1:
            a, b = chain[-2:]
            before = (heights[a] - heights[b]) * (x[n] - x[b])
            after = (heights[b] - heights[n]) * (x[b] - x[a])
            if not before < after:
                break
            chain.pop()
        chain.append(n)
    return chain
