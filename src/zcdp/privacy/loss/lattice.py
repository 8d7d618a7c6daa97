"""The lattice of all atoms and ends of densities: of a law, of a composition, or reached by moving losses.

Those are moved that are decimals but for a float's rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import Undecided, lift
from zcdp.numeric.exact import Log, gcd

if TYPE_CHECKING:
    from zcdp.privacy.loss.law import Parts

__all__ = ["Lattice", "common_lattice", "snap"]

NEAR = Fraction(1, 2**50)
LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True)
class Lattice:
    """All atoms and ends of densities lie on the points (top - spacing * m) * unit, m an integer."""

    top: Fraction
    """One of the points; the largest one, where there is one."""
    spacing: Fraction
    unit: Log | None = None
    """The logarithm that all losses are multiples of; None stands for 1."""

    def scale(self) -> arb:
        """The unit as a ball."""
        return arb(1) if self.unit is None else lift(self.unit)

    def gap(self) -> arb:
        """The spacing as a ball."""
        return lift(self.spacing) * self.scale()

    def first(self, epsilon: Fraction) -> Fraction:
        """The least point at or above epsilon, in units."""
        if self.unit is None or epsilon == 0:
            return self.top - self.spacing * floor((self.top - epsilon) / self.spacing)
        steps = ((lift(self.top) - lift(epsilon) / self.scale()) / lift(self.spacing)).floor()
        whole = steps.unique_fmpz()
        if whole is None:
            raise Undecided
        return self.top - self.spacing * int(whole)


def common_lattice(parts: Parts) -> Lattice | None:
    """The lattice of all exponents a of M(z) = sum of C_{a,j} e^{aw} w^{-j}, if there is one."""
    top = spacing = Fraction(0)
    units: set[Log | None] = set()
    for law, count in parts:
        own = law.lattice()
        if own is None:
            return None
        units.add(own.unit)
        top, spacing = top + own.top * count, gcd(spacing, own.spacing)
    return Lattice(top, spacing, units.pop()) if len(units) == 1 else None


def snap(parts: Parts) -> tuple[Parts, Parts]:
    """Parts that dominate the given ones, and parts that they dominate, of which all losses share a lattice.

    The floats 0.1 and 0.3 are not multiples of any common number worth the name. But both are within 2^-52 of tenths;
    so all losses are written as decimals times one factor, the largest (or least) that is needed. Both answers are
    the given parts where that is not so, or not needed. Theorem: docs/theorems/profile.md.
    """
    if len(parts) < 2:
        return parts, parts
    families = [law.family() for law, _ in parts]
    if any(family is None for family in families):
        return parts, parts
    losses = {family[0] for family in families if family is not None}
    exact = [loss for loss in losses if isinstance(loss, Fraction)]
    if len(exact) < 2 or len(exact) < len(losses):
        return parts, parts
    plain = {loss: loss.limit_denominator(LARGEST_DENOMINATOR) for loss in exact}
    factors = [loss / plain[loss] if plain[loss] else Fraction(0) for loss in exact]
    if set(factors) == {1} or any(abs(factor - 1) > NEAR for factor in factors):
        return parts, parts
    return _scaled(parts, plain, max(factors)), _scaled(parts, plain, min(factors))


def _scaled(parts: Parts, plain: dict[Fraction, Fraction], factor: Fraction) -> Parts:
    scaled = []
    for law, count in parts:
        family = law.family()
        assert family is not None
        loss, at = family
        assert isinstance(loss, Fraction)
        scaled.append((replace(at(plain[loss] * factor), exact=law.exact), count))
    return tuple(scaled)
