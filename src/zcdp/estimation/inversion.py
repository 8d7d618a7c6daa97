"""Where a monotone family of tails crosses a level: many crossings at once, each kept between two sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["crossing"]

Floats = NDArray[Any]
Tail = Callable[[NDArray[Any], Floats], Floats]
"""Bounds on tails of the elements of these indices at these places, never too small; the tails rise with the place."""

TURNS = 200


def crossing(tail: Tail, level: float, top: Floats, gap: float, guess: Floats) -> tuple[Floats, Floats]:
    """Places (below, above) at most `gap` apart, the tail at most `level` below and more than that above.

    From 0 to `top`; where the tail is above the level at 0 both are 0, and both are `top` where it never is. What is
    below was compared by a bound that is never too small: rounding makes an interval wider, never narrower.
    """
    edge = level * (1 - 2**-50)  # so that the level itself may be rounded
    every = np.arange(top.size)
    at_0, at_top = tail(every, np.zeros(top.size)), tail(every, top)
    low, high = np.zeros(top.size), top.astype(float)
    low = np.where(at_top <= edge, high, low)
    high = np.where(at_0 > edge, 0.0, high)
    low = np.minimum(low, high)
    score_low, score_high = _score(at_0, edge), _score(at_top, edge)
    place = guess.astype(float)
    for turn in range(TURNS):
        open_ = np.flatnonzero(high - low > gap)
        if not open_.size:
            break
        at = (
            place[open_]
            if turn == 0
            else _proposal(turn, *(part[open_] for part in (low, high, score_low, score_high)))
        )
        at = np.clip(_rounded(at, gap), low[open_] + gap * (gap == 1), high[open_] - gap * (gap == 1))
        value = tail(open_, at)
        above, score = value > edge, _score(value, edge)
        high[open_[above]], score_high[open_[above]] = at[above], score[above]
        low[open_[~above]], score_low[open_[~above]] = at[~above], score[~above]
    return low, high


def _rounded(at: Floats, gap: float) -> Floats:
    return np.round(at) if gap == 1 else at


def _score(tail: Floats, edge: float) -> Floats:
    """About the number of standard deviations from the crossing: nearly linear in the place, so secants work."""
    score: Floats = np.sqrt(-2 * np.log(max(edge, 1e-300))) - np.sqrt(-2 * np.log(np.clip(tail, 1e-300, 1.0)))
    return score


def _proposal(turn: int, low: Floats, high: Floats, score_low: Floats, score_high: Floats) -> Floats:
    """A secant placed a little to the side that is further away, and bisection at each third turn."""
    if turn % 4 == 3:
        return (low + high) / 2
    rise = score_high - score_low
    share = np.where(rise > 0, -score_low / np.where(rise > 0, rise, 1.0), 0.5)
    # overshoot towards one side and then the other: both sides close in
    nudge = (0.02, -0.02, 0.002)[turn % 4 if turn % 4 < 3 else 0]
    place: Floats = low + (high - low) * np.clip(share + nudge * np.where(turn > 2, 0.1, 1.0), 0.01, 0.99)
    return place
