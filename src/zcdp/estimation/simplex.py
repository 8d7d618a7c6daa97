"""Frequencies that are none: projection to the simplex, and what is left of a box of intervals there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Consistent", "box_in_simplex", "project"]

Floats = NDArray[Any]


@dataclass(frozen=True)
class Consistent:
    """Frequencies that are at least 0 and sum to 1, with the simultaneous box.

    They have no standard error of their own.
    The ends hold together with probability at least `level`, if every client's value is one of the k.
    """

    frequencies: Floats = field(repr=False)
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    level: float = 0.95
    possible: bool = True
    """False where no frequencies that sum to 1 lie in the box: the level did not hold, or the design is another."""


def project(frequencies: Floats) -> Floats:
    """The nearest point of the simplex: a common amount is taken off, and what falls below 0 is 0.

    >>> project(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(frequencies)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    nearest: Floats = np.maximum(frequencies - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
    return nearest


def box_in_simplex(lower: Floats, upper: Floats) -> tuple[Floats, Floats, bool]:
    """Each end, given that the others must leave room for it: lower at least 1 less the other upper ends, and so on."""
    room = 1e-12
    possible = bool(lower.sum() <= 1 + room and upper.sum() >= 1 - room)
    if not possible:
        return lower, upper, False
    # rounding of a sum is far below this, and makes the box wider only
    return (
        np.maximum(lower, 1 - (upper.sum() - upper) - room),
        np.minimum(upper, 1 - (lower.sum() - lower) + room),
        True,
    )
