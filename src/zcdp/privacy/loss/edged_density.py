"""A density of the loss between two atoms at its ends, as Laplace noise has it: for sampling, and in cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from flint import arb

from zcdp.privacy.loss.panels import BaseLoss

__all__ = ["EdgedDensity"]

CELLS = 64  # in which the density is put, where only outcomes will do


@dataclass(frozen=True)
class EdgedDensity:
    """The density D e^{l/2} of the loss l under P, and D e^{-l/2} under Q, from -top to top; and atoms at both ends.

    An atom of mass C e^{l/2} under P has C e^{-l/2} under Q. All at the working precision.
    """

    top: arb
    upper: arb
    """C of the atom at the top."""
    lower: arb
    """C of the atom at -top."""
    density: arb
    """D."""

    def base(self) -> BaseLoss:
        """Under Q."""
        ends = [(self.top, self.upper * (-self.top / 2).exp()), (-self.top, self.lower * (self.top / 2).exp())]
        atoms = [(place, mass) for place, mass in ends if not mass.is_zero()]
        return BaseLoss(arb(0), arb(-1) / 2, self.density.log(), -self.top, self.top, atoms)

    def delta(self, epsilon: arb) -> arb:
        """delta(epsilon) of one use, 0 <= epsilon <= top: the means of 1 - e^{epsilon - l} over l > epsilon."""
        high, here = (self.top / 2).exp(), (epsilon / 2).exp()
        between = 2 * (high - here) - 2 * (here - here * here / high)
        return self.upper * (high - here * here / high) + self.density * between

    def cells(self, *, inward: bool) -> list[tuple[arb, arb]]:
        """P- and Q-masses of the atoms, and of cells of the density, each one outcome or the two at its ends.

        Masses p and q of a cell with ratios from g to h are moved to its ends: (p - gq)/(h - g) of the Q-mass to h.
        """
        roots = [(self.top / 2 * (CELLS - 2 * k) / CELLS).exp() for k in range(CELLS + 1)]  # e^{l/2}, from the top
        found = [(self.upper * roots[0], self.upper / roots[0])]
        for high, low in pairwise(roots):
            p, q = 2 * self.density * (high - low), 2 * self.density * (1 / low - 1 / high)
            if inward:
                found.append((p, q))
                continue
            g, h = low * low, high * high
            right = (p - g * q) / (h - g)
            found += [(h * right, right), (g * (q - right), q - right)]
        return [*found, (self.lower * roots[-1], self.lower / roots[-1])]
