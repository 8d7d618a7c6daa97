"""The two ends of a profile: where delta is 1 to the last bit, and where only the largest loss reaches it.

Theorem: docs/theorems/ends.md.
"""

from __future__ import annotations

from flint import arb

from zcdp.numeric.balls import above, below
from zcdp.privacy.profile.integrand import Transform

__all__ = ["at_top", "loss_that_occurs", "near_one"]

NEAR_ONE = 12  # The least order that is tried is 0.7 * 2^-12.


def near_one(transform: Transform, epsilon: arb) -> arb | None:
    """A lower bound on delta(epsilon) where it is 1 to the last bit: 1 - M(-s) e^{s epsilon}, 0 < s <= 1."""
    part = arb("0.7")
    for n in range(NEAR_ONE, 0, -1):
        s = arb(2) ** (-n) * part
        bound = transform.log_moment(-s) + s * epsilon
        if bound < -40:
            return 1 - bound.exp()
        if not bound < 0:  # The bound is convex in s, and 0 at 0.
            return None
    return None


def at_top(transform: Transform, target: arb) -> tuple[float, float] | None:
    """Floats next to the largest loss, where delta is above the target up to there."""
    top = transform.largest
    gap = top * arb(2) ** -55
    if not (top.is_finite() and target < gap):
        return None
    atoms = [factor.near_top(gap)[0] for factor, _ in transform.factors]
    densities = sum(count for (_, count), atom in zip(transform.factors, atoms, strict=True) if not atom > 0)
    share, weight = gap / (2 * max(densities, 1)), 1 - (-gap / 2).exp()
    for (factor, count), atom in zip(transform.factors, atoms, strict=True):
        weight *= (atom if atom > 0 else factor.near_top(share)[1]) ** count
    return (below(top - gap), above(top)) if weight >= target else None


def loss_that_occurs(transform: Transform) -> arb:
    """A number that the loss exceeds, or nearly: 2^-60 of it is given away where there is no atom at the top."""
    total = arb(0)
    for (law, count), (factor, _) in zip(transform.parts, transform.factors, strict=True):
        top = law.largest()
        if not (top.is_finite() and top > 0):
            continue  # Its largest loss, whatever it is, is not negative.
        gap = top * arb(2) ** -60
        atom, near = factor.near_top(gap)
        total += (top if atom > 0 else top - gap if near > 0 else arb(0)) * count
    return total
