"""Two outcomes' laws that may face either way in each use: the exact adaptive worst case, as a game."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Game"]


@dataclass(frozen=True)
class Game:
    """Two rows of probabilities: at each use an adversary who has seen all outputs so far picks which of them is P.

    Theorem: docs/theorems/adaptive.md.
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
