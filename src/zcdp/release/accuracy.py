"""How far the noise of a plan's tables reaches: known from the plan alone, before any data is read."""

from __future__ import annotations

from fractions import Fraction
from math import log
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


def _known(mechanism: Any, level: Fraction) -> Any:
    """For now."""
    if hasattr(mechanism, "accuracy"):
        return mechanism.accuracy(level)
    from math import ceil, sqrt
    from statistics import NormalDist
    from types import SimpleNamespace

    sd = sqrt(float(mechanism.variance))
    tail = float(1 - level) / 2
    if hasattr(mechanism, "scale"):
        h = ceil(-log(2 * tail) * float(mechanism.scale))
    else:
        h = ceil(-NormalDist().inv_cdf(tail) * sd) + 1
    return SimpleNamespace(standard_deviation=sd, half_width=h)


def deviation(entry: Entry) -> float:
    """The standard deviation of the noise of one cell, in grid steps."""
    return float(_known(_mechanism(entry), LEVEL).standard_deviation)


def half_width(entry: Entry, level: Fraction = LEVEL) -> int:
    """An integer that the noise of one cell exceeds in size with a probability of at most 1 - level."""
    return int(_known(_mechanism(entry), level).half_width)


def reach_of_selection(entry: Entry, sensitivity: Fraction, candidates: int) -> float:
    """How far the selected score falls behind the best at most, with a probability of at least `LEVEL`.

    Pr(score <= best - t) <= candidates exp(-epsilon t/(2 sensitivity)), each such candidate being that much less
    likely than the best.
    """
    epsilon = float(getattr(_mechanism(entry), "epsilon"))  # noqa: B009 - of a selection alone
    return 2 * float(sensitivity) / epsilon * log(candidates / float(1 - LEVEL))
