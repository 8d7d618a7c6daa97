"""Two rows of probabilities that may face either way in each use: the exact adaptive worst case, as a game."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Game"]


@dataclass(frozen=True)
class Game:
    """At each use an adversary who has seen all outputs so far picks which of the two rows is P.

    Theorem: docs/theorems/adaptive.md.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def ratios(self) -> list[tuple[Fraction, Fraction]]:
        """The masses (p, q) of each ratio other than 1, outcomes of one ratio together; none of them is 0."""
        merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
        for p, q in zip(self.p, self.q, strict=True):
            if p != q:
                before = merged.get(p / q, (Fraction(0), Fraction(0)))
                merged[p / q] = before[0] + p, before[1] + q
        return list(merged.values())
