"""How far the noise of a plan's tables reaches: known from the plan alone, before any data is read."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any

from zcdp.accounting.entry import Entry
from zcdp.mechanisms import Mechanism

__all__ = ["LEVEL", "deviation", "half_width", "reach_of_selection"]

LEVEL = Fraction(19, 20)


def _mechanism(entry: Entry) -> Mechanism:
    assert entry.plan is not None
    [(mechanism, _)] = entry.plan.parts
    assert isinstance(mechanism, Mechanism)
    return mechanism


def _known(mechanism: Any, level: Fraction) -> tuple[float, int]:
    """Standard deviation, and a half-width that is never too small.

    Discrete Laplace noise exceeds h with a probability of at most exp(-h/scale); discrete Gaussian noise exceeds h + 1
    no more often than the normal law exceeds h.
    """
    spread, miss = sqrt(float(mechanism.variance)), float(1 - level)
    if hasattr(mechanism, "scale"):
        return spread, ceil(-log(miss) * float(mechanism.scale)) + 1
    return spread, ceil(-NormalDist().inv_cdf(miss / 2) * sqrt(float(mechanism.variance))) + 1


def deviation(entry: Entry) -> float:
    """The standard deviation of the noise of one cell, in grid steps."""
    return _known(_mechanism(entry), LEVEL)[0]


def half_width(entry: Entry, level: Fraction = LEVEL) -> int:
    """An integer that the noise of one cell exceeds in size with a probability of at most 1 - level."""
    return _known(_mechanism(entry), level)[1]


def reach_of_selection(entry: Entry, sensitivity: Fraction, candidates: int) -> float:
    """How far the selected score falls behind the best at most, with a probability of at least `LEVEL`.

    Pr(score <= best - t) <= candidates exp(-epsilon t/(2 sensitivity)), each such candidate being that much less
    likely than the best.
    """
    epsilon = float(getattr(_mechanism(entry), "epsilon"))  # noqa: B009 - of a selection alone
    return 2 * float(sensitivity) / epsilon * log(candidates / float(1 - LEVEL))
