"""Outcomes of a mechanism that are counted: each function takes the mechanism, and says of each draw whether it hit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

DRAWS = 4000
ZEROS = np.zeros(DRAWS, dtype=np.int64)
Hits = Callable[[Any], Any]


def far(least: float) -> Hits:
    """Noise of at least this size."""
    return lambda m: np.abs(m.sample(DRAWS)) >= least


def far_released(least: float) -> Hits:
    """The same, of a sum with 0."""
    return lambda m: np.abs(m.release(ZEROS)) >= least


def kept(m: Any) -> Any:
    """Reports of 0 that say 0."""
    return m.release(ZEROS) == 0


def chosen(scores: list[int], sensitivity: int) -> Hits:
    """How often the first one is selected."""
    return lambda m: np.array([m.release(scores, sensitivity=sensitivity) == 0 for _ in range(DRAWS)])


def bit(place: int) -> Hits:
    """A bit of the reports of 0."""
    return lambda m: np.unpackbits(m.release(ZEROS, d=8), axis=1)[:, place]


def beyond(mass: Callable[[int], float], least: int) -> float:
    """P(|X| >= least) of integer noise of this mass, which need not be normalised."""
    near, whole = (sum(mass(x) for x in range(-size, size + 1)) for size in (least - 1, 300))
    return 1 - near / whole
