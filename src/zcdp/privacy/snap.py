"""Losses that are decimals up to the rounding of a float, moved onto one common lattice, upward or downward."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from zcdp.privacy.transform import Parts

__all__ = ["snap"]

NEAR = Fraction(1, 2**50)
LARGEST_DENOMINATOR = 10**6


def snap(parts: Parts) -> tuple[Parts, Parts]:
    """Parts that dominate the given ones, and parts that they dominate, of which all atoms share a lattice.

    The floats 0.1 and 0.3 are not multiples of any common number worth the name. But both are within 2^-52 of tenths;
    so all losses are written as decimals times one factor, the largest (or least) that is needed. Both answers are
    the given parts where that is not so, or not needed. Theorem: docs/theorems/profile.md.
    """
    atoms = [pair for pair, _ in parts if pair.atomic]
    losses = [pair.largest_loss for pair in atoms]
    if len(set(losses)) < 2 or any(pair.at is None or not isinstance(pair.largest_loss, Fraction) for pair in atoms):
        return parts, parts
    exact = [loss for loss in losses if isinstance(loss, Fraction)]
    plain = {loss: loss.limit_denominator(LARGEST_DENOMINATOR) for loss in exact}
    factors = [loss / plain[loss] if plain[loss] else Fraction(0) for loss in exact]
    if set(factors) == {1} or any(abs(factor - 1) > NEAR for factor in factors):
        return parts, parts
    return _scaled(parts, plain, max(factors)), _scaled(parts, plain, min(factors))


def _scaled(parts: Parts, plain: dict[Fraction, Fraction], factor: Fraction) -> Parts:
    scaled = []
    for pair, count in parts:
        if pair.atomic and pair.at is not None and isinstance(pair.largest_loss, Fraction):
            moved = pair.at(plain[pair.largest_loss] * factor)
            scaled.append((replace(moved, exact=pair.exact), count))
        else:
            scaled.append((pair, count))
    return tuple(scaled)
