"""The lattice of all exponents of a law or a composition: its atoms, and the ends of its densities."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.exact import Exact, Log

__all__ = ["Lattice", "lattice_of"]


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
