"""How far the noise of a plan's tables reaches: known from the plan alone, before any data is read."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from zcdp.accounting.entry import Entry

__all__ = ["LEVEL", "deviation", "half_width", "reach_of_selection"]

LEVEL = Fraction(19, 20)


def _mechanism(entry: Entry) -> Any:
    assert entry.plan is not None
    [(mechanism, _)] = entry.plan.parts
    return mechanism


@lru_cache(64)
def _accuracy(mechanism: Any, level: Fraction) -> Any:
    return mechanism.accuracy(level)


def deviation(entry: Entry) -> float:
    """The standard deviation of the noise of one cell, in grid steps."""
    return float(_accuracy(_mechanism(entry), LEVEL).standard_deviation)


def half_width(entry: Entry, level: Fraction = LEVEL) -> int:
    """An integer that the noise of one cell exceeds in size with a probability of at most 1 - level."""
    return int(_accuracy(_mechanism(entry), level).half_width)


def reach_of_selection(entry: Entry, sensitivity: Fraction, candidates: int, *, selections: int = 1) -> float:
    """How far a selected score falls behind the best at most, all of so many with a probability of at least `LEVEL`."""
    level = 1 - (1 - LEVEL) / selections
    return float(_mechanism(entry).falls_behind(candidates, sensitivity=sensitivity, level=level))
