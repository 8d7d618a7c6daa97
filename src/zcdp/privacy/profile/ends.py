"""The two ends of a profile: where delta is 1 to the last bit, and where only the largest loss reaches it.

Theorem: docs/theorems/profile.md, 10 and 11.
"""

from __future__ import annotations

from flint import arb

from zcdp.numeric.balls import above, below, lift
from zcdp.privacy.profile.transform import Parts, Transform

__all__ = ["at_top", "near_one"]

NEAR_ONE = 12  # the least order tried is 0.7 * 2^-12


def near_one(parts: Parts, epsilon: arb) -> arb | None:
    """A lower bound on delta(epsilon) where it is 1 to the last bit: 1 - M(-s) e^{s epsilon}, 0 < s <= 1."""
    transform = Transform(parts)
    for n in range(NEAR_ONE, 0, -1):
        s = arb(2) ** (-n) * arb("0.7")
        bound = transform.log_moment(-s) + s * epsilon
        if bound < -40:
            return 1 - bound.exp()
        if not bound < 0:  # it is convex in s, and 0 at 0
            return None
    return None


def at_top(parts: Parts, top: arb, target: arb) -> tuple[float, float] | None:
    """Floats next to the largest loss, where delta is above the target up to there; theorem 11 of the page."""
    gap = top * arb(2) ** -55
    if not target < gap:
        return None
    densities = sum(count for pair, count in parts if pair.terms is not None and not pair.terms()[0][0] > 0)
    share, weight = gap / (2 * max(densities, 1)), 1 - (-gap / 2).exp()
    for pair, count in parts:
        if pair.terms is None or pair.largest_loss is None:
            return None
        row, half = pair.terms()[0], lift(pair.largest_loss) / 2
        if len(row) == 1 and not row[0] > 0:
            return None
        s = share.min(2 * half * lift(pair.ratio))  # beyond the next exponent the density is another
        near = row[0] * half.exp() if row[0] > 0 else row[1] * s * (half - s / 2).exp()
        weight *= near**count
    return (below(top - gap), above(top)) if weight >= target else None
