"""The common lattice of all exponents of a composition: its atoms, and the ends of its densities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.exact import Exact, Log, gcd

if TYPE_CHECKING:
    from zcdp.privacy.loss.law import Parts

__all__ = ["Lattice", "common_lattice", "lattice_of"]


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

    def first(self, epsilon: Fraction) -> Fraction:
        """The least point at or above epsilon, in units."""
        if self.unit is None or epsilon == 0:
            return self.top - self.spacing * floor((self.top - epsilon) / self.spacing)
        steps = ((lift(self.top) - lift(epsilon) / self.scale()) / lift(self.spacing)).floor()
        whole = steps.unique_fmpz()
        if whole is None:
            raise Undecided
        return self.top - self.spacing * int(whole)


def lattice_of(loss: Exact, ratio: Fraction) -> Lattice:
    """Of the points loss (1 - k ratio)."""
    if isinstance(loss, Log):
        return Lattice(Fraction(1), ratio, loss)
    return Lattice(loss, loss * ratio)


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
