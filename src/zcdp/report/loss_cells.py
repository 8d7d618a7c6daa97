"""The privacy loss distribution in cells, to be drawn: differences of certified values of the profile."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp

from zcdp.privacy.curve import Plan

__all__ = ["cells_of_loss", "points_of_profile"]

LOSS_CELLS = 48
HASTE = 4
"""Points of a picture get one HASTE-th of the effort of a single delta."""


def points_of_profile(plan: Plan, last: float, count: int) -> list[tuple[float, float]]:
    """Certified points (epsilon, delta) from epsilon = 0 to `last`, at even distances.

    >>> from zcdp import Laplace
    >>> points_of_profile(1 * Laplace(epsilon=1), 1.0, 2)
    [(0.0, 0.39346...), (0.5, 0.22119...), (1.0, 0.0)]
    """
    epsilons = [Fraction(last * n / count) for n in range(count + 1)]
    return list(zip(map(float, epsilons), plan._curve_in_haste(epsilons, HASTE), strict=True))


def cells_of_loss(plan: Plan, last: float, count: int = LOSS_CELLS) -> list[tuple[float, float, float]]:
    """Cells (from, to, probability under P) of the loss, for the eye: differences of certified values of the profile.

    P(L > x) = delta(x) - delta'(x), and of a symmetric pair P(L < -x) = Q(L > x) = -e^{-x} delta'(x); of another one
    the cells are those above 0 alone. The outermost have all that lies beyond.
    """
    edges = points_of_profile(plan, last, 2 * count)
    if last <= 0:
        return []
    tails = []
    for (x0, y0), (x1, y1), (x2, y2) in zip(edges[::2], edges[1::2], edges[2::2], strict=False):
        slope = (y2 - y0) / (x2 - x0)
        tails.append((x1, min(max(y1 - slope, 0.0), 1.0), min(max(-slope * exp(-x1), 0.0), 1.0)))
    wide = tails[1][0] - tails[0][0]
    tails.append((tails[-1][0] + wide, 0.0, 0.0))
    right = [(x0, x1, max(p0 - p1, 0.0)) for (x0, p0, _), (x1, p1, _) in pairwise(tails)]
    if not all(claim is not None and claim.upper.symmetric for claim, _ in plan.claims):
        return right
    left = [(-x1, -x0, max(q0 - q1, 0.0)) for (x0, _, q0), (x1, _, q1) in pairwise(tails)]
    first, above, below = tails[0]
    return [*reversed(left), (-first, first, max(1 - above - below, 0.0)), *right]
