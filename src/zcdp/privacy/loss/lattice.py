"""Lattices of losses: equally spaced points that contain all atoms, and all ends of densities, of a composition.

`common_lattice` finds the lattice of a composition. `snap` makes one by moving losses very slightly, where they are
decimals such as 0.1 but for the rounding of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import Undecided, lift
from zcdp.numeric.exact import Log, gcd

if TYPE_CHECKING:
    from zcdp.privacy.loss.law import Parts

__all__ = ["Lattice", "common_lattice", "snap"]

LARGEST_RELATIVE_MOVE = Fraction(1, 2**50)  # by which `snap` moves a loss
LARGEST_DENOMINATOR = 10**6  # of the decimals that `snap` looks for


@dataclass(frozen=True)
class Lattice:
    """The points (top - spacing * m) * unit, m an integer: all atoms and ends of densities lie on them."""

    top: Fraction
    """One of the points, in units; the largest one if the losses are bounded."""
    spacing: Fraction
    unit: Log | None = None
    """The logarithm of which all losses are rational multiples; None stands for 1."""

    def scale(self) -> arb:
        """The unit as a ball."""
        return arb(1) if self.unit is None else lift(self.unit)

    def gap(self) -> arb:
        """The spacing as a ball."""
        return lift(self.spacing) * self.scale()

    def first(self, epsilon: Fraction) -> Fraction:
        """The least lattice point at or above epsilon, in units; `Undecided` if more bits are needed to find it."""
        if self.unit is None or epsilon == 0:
            return self.top - self.spacing * floor((self.top - epsilon) / self.spacing)
        steps = ((lift(self.top) - lift(epsilon) / self.scale()) / lift(self.spacing)).floor()
        whole = steps.unique_fmpz()
        if whole is None:
            raise Undecided
        return self.top - self.spacing * int(whole)


def common_lattice(parts: Parts) -> Lattice | None:
    """The lattice of all exponents a of a composition's M(z) = sum of C_{a,j} e^{aw} w^{-j}; None if there is none."""
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
    """Two compositions whose losses share a lattice: one dominates the given parts, the other is dominated by them.

    The floats 0.1 and 0.3 have no useful common divisor, but both are within a relative 2^-52 of tenths. So every loss
    is replaced by its decimal times a common factor close to 1: the largest factor that occurs for the dominating
    composition, the least for the dominated one. Where the losses are not such decimals, or are exact ones already,
    both results are the given parts. Theorem: docs/theorems/profile.md.
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
    if set(factors) == {1} or any(abs(factor - 1) > LARGEST_RELATIVE_MOVE for factor in factors):
        return parts, parts
    return _scaled(parts, plain, max(factors)), _scaled(parts, plain, min(factors))


def _scaled(parts: Parts, plain: dict[Fraction, Fraction], factor: Fraction) -> Parts:
    """The same families of laws, with each largest loss replaced by its decimal times `factor`."""
    scaled = []
    for law, count in parts:
        family = law.family()
        assert family is not None
        loss, at = family
        assert isinstance(loss, Fraction)
        scaled.append((at(plain[loss] * factor), count))
    return tuple(scaled)
