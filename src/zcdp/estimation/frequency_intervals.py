"""Exact confidence intervals for a frequency, from tails of a sum of two binomials by saddle point Fourier inversion.

The intervals are of Clopper and Pearson's kind: all frequencies for which neither tail of the count is small. The first
part computes upper bounds on tails, with about ten correct digits at any size. With
G(z) = (1 + p(z-1))^N (1 + q(z-1))^{n-N}, the generating function of the count S, and any r > 1, the mean of
G(z) z^{1-c}/(z-1) over M points of |z| = r is the sum over all integers m of P[S >= c + mM] r^{mM}: the tail, plus
terms that are positive, and small if M is large. With r at the saddle point the terms are a bell of width 1/sd, of
which few count. An allowance for rounding and for the terms left out is added, so that the result is never below the
tail. Theorem: docs/theorems/intervals.md, part 5.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.support import Support

__all__ = ["ROUNDING", "clients_interval", "crossing", "population_interval", "upper_tail"]


ROUNDING = 2.0**-47
"""64 units in the last place: more than the rounding error of any step here, relative to the terms of the step."""

REACH_OF_BELL = 9.0  # standard deviations of the bell: beyond, terms are below e^{-9^2/2} and are left out
SPREAD_OF_COUNT = 20.0  # M is at least this many standard deviations of the count: terms with m > 0 are as small
DECAY_BELOW = 30.0  # M is so large that the terms with m < 0 are about e^{-30}
NODES_AT_ONCE = 64  # points of the circle
LEAST_X, LARGEST_X = 1e-12, 1e12  # where r - 1 is searched
TAILS_AT_ONCE = 1 << 15

Floats = NDArray[Any]
Chance = tuple[Floats | float, Floats | float]


def upper_tail(c: Floats, first: Floats, n: int, p: Chance, q: Chance) -> Floats:
    """An upper bound on P[Bin(first, p) + Bin(n - first, q) >= c], elementwise; 1 where c is at most the mean.

    p and q are pairs of a probability and its complement, which may be off by a few units in the last place.

    >>> half = (np.array([0.5]), np.array([0.5]))
    >>> upper_tail(np.array([2.0]), np.array([1.0]), 2, half, half).round(12).tolist()
    [0.25]
    """
    c, first, p0, p1, q0, q1 = np.broadcast_arrays(*map(np.asarray, (c, first, *p, *q)))
    flat = [np.ravel(part).astype(float) for part in (c, first, p0, p1, q0, q1)]
    out = np.where(flat[0] > n, 0.0, 1.0)
    above = (flat[0] > flat[1] * flat[2] + (n - flat[1]) * flat[4]) & (flat[0] > 0) & (flat[0] <= n)
    places = np.flatnonzero(above)
    for start in range(0, places.size, TAILS_AT_ONCE):
        some = places[start : start + TAILS_AT_ONCE]
        out[some] = _above_the_mean(n, *(column[some] for column in flat))
    return out.reshape(c.shape)


def _above_the_mean(n: int, c: Floats, first: Floats, p: Floats, p1: Floats, q: Floats, q1: Floats) -> Floats:
    """The bound of `upper_tail` where c is above the mean; p1 and q1 are 1 - p and 1 - q."""
    rest = n - first
    x = _saddle(c, first, rest, p, q)  # r - 1
    r = 1 + x
    # Tilted by r: the probabilities `yes` of a 1, and 4 yes (1 - yes), which determines |G| on the circle.
    yes = p * r / (1 + p * x), q * r / (1 + q * x)
    both = 4 * yes[0] * p1 / (1 + p * x), 4 * yes[1] * q1 / (1 + q * x)
    deviation = np.sqrt((first * both[0] + rest * both[1]) / 4)
    points = np.ceil(np.maximum(SPREAD_OF_COUNT * (deviation + 1), DECAY_BELOW / np.log1p(x)))
    most = np.ceil(np.minimum(points / 2, REACH_OF_BELL / np.maximum(deviation, 1e-9) * points / (2 * np.pi))) + 1
    parts = first * np.log1p(p * x), rest * np.log1p(q * x), (c - 1) * np.log1p(x)
    log_peak = (
        parts[0] + parts[1] - parts[2] + ROUNDING * (parts[0] + parts[1] + parts[2] + first * yes[0] + rest * yes[1])
    )

    def size(angle: Floats) -> tuple[Floats, Floats]:
        """log |G(z)/G(r)| at z = r e^{i angle}, and a bound on its error in units of `ROUNDING`."""
        square = np.sin(angle / 2) ** 2
        one, other = np.minimum(both[0] * square, 1 - 1e-15), np.minimum(both[1] * square, 1 - 1e-15)
        log = (first * np.log1p(-one) + rest * np.log1p(-other)) / 2
        return log, first * one / (1 - one) + rest * other / (1 - other) - log

    total = np.zeros(c.size)
    for start in range(0, int(most.max(initial=1)) + 1, NODES_AT_ONCE):
        index = np.arange(start, min(start + NODES_AT_ONCE, int(most.max(initial=1)) + 1))[:, None]
        angle = 2 * np.pi * index / points
        counted = (2 * index <= points) & (index <= most)
        weight = np.where((index == 0) | (2 * index == points), 1.0, 2.0) * counted
        angle = np.where(counted, angle, 0.0)
        sine, square = np.sin(angle), np.sin(angle / 2) ** 2
        log, off = size(angle)
        turns = (
            first * np.arctan2(yes[0] * sine, 1 - 2 * yes[0] * square),
            rest * np.arctan2(yes[1] * sine, 1 - 2 * yes[1] * square),
        )
        phase = turns[0] + turns[1] - (c - 1) * angle
        real, imaginary = x - 2 * r * square, r * sine  # of z - 1
        distance = np.sqrt(x**2 + 4 * r * square)
        term = weight * np.exp(log) / distance
        off = off + np.abs(turns[0]) + np.abs(turns[1]) + (c - 1) * angle + 8
        total += (term * ((np.cos(phase) * real + np.sin(phase) * imaginary) / distance + ROUNDING * off)).sum(axis=0)
    first_left = np.minimum(2 * np.pi * (most + 1) / points, np.pi)
    left = np.where(2 * most < points, np.exp(size(first_left)[0] * (1 - ROUNDING)) / x, 0.0)
    bound: Floats = np.minimum(np.exp(log_peak) * (total / points + left) * (1 + ROUNDING), 1.0)
    return bound


def _saddle(c: Floats, first: Floats, rest: Floats, p: Floats, q: Floats) -> Floats:
    """The saddle point, as r - 1: where log G(r) - (c-1) log r - log(r-1) is least.

    Heuristic: any r > 1 gives a valid bound, and this one is accurate. Bisection in log(r - 1), as the derivative times
    r, which is the sum of the tilted means - (c-1) - r/(r-1), increases.
    """
    low, high = np.full(c.shape, np.log(LEAST_X)), np.full(c.shape, np.log(LARGEST_X))
    for _ in range(40):
        middle = (low + high) / 2
        x = np.exp(middle)
        slope = first * p * (1 + x) / (1 + p * x) + rest * q * (1 + x) / (1 + q * x) - (c - 1) - (1 + x) / x
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return np.asarray(np.exp((low + high) / 2))


# Where increasing tails cross a level: root finding for many tails at once, each root between two brackets.

Tail = Callable[[NDArray[Any], Floats], Floats]
"""(indices, places) -> upper bounds on the tails of these indices at these places; a tail increases with the place."""

MOST_TURNS = 200


def crossing(tail: Tail, level: float, top: Floats, gap: float, guess: Floats) -> tuple[Floats, Floats]:
    """Places (below, above) in [0, top], at most `gap` apart: the tail is at most `level` below, and larger above.

    Both are 0 where the tail at 0 is above the level, and both are `top` where it never is. `guess` is where the search
    starts. As tails are compared by upper bounds, rounding makes an interval wider, never narrower.
    """
    edge = level * (1 - 2**-50)  # a little less, as the level itself may be rounded
    every = np.arange(top.size)
    at_0, at_top = tail(every, np.zeros(top.size)), tail(every, top)
    low, high = np.zeros(top.size), top.astype(float)
    low = np.where(at_top <= edge, high, low)
    high = np.where(at_0 > edge, 0.0, high)
    low = np.minimum(low, high)
    score_low, score_high = _score(at_0, edge), _score(at_top, edge)
    place = guess.astype(float)
    for turn in range(MOST_TURNS):
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
    """Heuristic: about how many standard deviations the place is beyond the crossing.

    This is nearly linear in the place, so that the secant method works.
    """
    score: Floats = np.sqrt(-2 * np.log(max(edge, 1e-300))) - np.sqrt(-2 * np.log(np.clip(tail, 1e-300, 1.0)))
    return score


def _proposal(turn: int, low: Floats, high: Floats, score_low: Floats, score_high: Floats) -> Floats:
    """Heuristic: the next place to try, by a secant moved a little to one side, and by bisection each fourth turn."""
    if turn % 4 == 3:
        return (low + high) / 2
    rise = score_high - score_low
    share = np.where(rise > 0, -score_low / np.where(rise > 0, rise, 1.0), 0.5)
    # Overshoot to one side and then to the other, so that both brackets close in.
    nudge = (0.02, -0.02, 0.002)[turn % 4 if turn % 4 < 3 else 0]
    place: Floats = low + (high - low) * np.clip(share + nudge * np.where(turn > 2, 0.1, 1.0), 0.01, 0.99)
    return place


# Exact intervals for the frequency of a value from the count of reports that support it, without normal approximation.
#
# Theorem: docs/theorems/intervals.md.

END_ACCURACY = 1e-5  # in standard errors: an end is at most this far outside of the best possible one


def clients_interval(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """The least and the greatest number N of holders among n clients for which neither tail of the count is <= risk/2.

    The count of supports is Bin(N, p) + Bin(n - N, q).
    """
    yes, no = (support.p, support.not_p), (support.q, support.not_q)
    top = np.full(counts.size, float(n))
    guess, width = _guess(counts, n, support, risk)

    def at_least(which: NDArray[Any], holders: Floats) -> Floats:
        return upper_tail(counts[which], holders, n, yes, no)

    def at_most(which: NDArray[Any], others: Floats) -> Floats:
        """The lower tail, as the upper tail of the reports that do not support the value, with roles exchanged."""
        return upper_tail(n - counts[which], others, n, no[::-1], yes[::-1])

    _, lower = crossing(at_least, risk / 2, top, 1, np.clip((guess - width) * n, 0, n))
    _, fewest = crossing(at_most, risk / 2, top, 1, np.clip((1 - guess - width) * n, 0, n))
    return lower, n - fewest


def population_interval(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """Ends for the frequency of the value in the population that the clients are drawn from.

    This is Clopper and Pearson's interval for the probability of support, q + (p - q) f, mapped to f.
    """
    top = np.ones(counts.size)
    guess, width = _guess(counts, n, support, risk)
    gap = max(END_ACCURACY * support.standard_error(n, 0.5), 1e-15)
    every = np.full(counts.size, float(n))

    def at_least(which: NDArray[Any], share: Floats) -> Floats:
        chance = support.q + support.gain * share, support.not_q - support.gain * share
        return upper_tail(counts[which], every[which], n, chance, chance)

    def at_most(which: NDArray[Any], others: Floats) -> Floats:
        chance = support.not_p + support.gain * others, support.p - support.gain * others
        return upper_tail(n - counts[which], every[which], n, chance, chance)

    lower, _ = crossing(at_least, risk / 2, top, gap, np.clip(guess - width, 0, 1))
    fewest, _ = crossing(at_most, risk / 2, top, gap, np.clip(1 - guess - width, 0, 1))
    return lower, np.minimum(np.nextafter(1 - fewest, 2), 1.0)


def _guess(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """Heuristic: centre and half width of the interval by normal approximation, where the search for ends starts."""
    share = np.clip((counts / n - support.q) / support.gain, 0, 1)
    z = NormalDist().inv_cdf(1 - max(risk, 1e-300) / 2) if risk > 1e-15 else np.sqrt(-2 * np.log(risk))
    spread = np.sqrt(np.maximum(support.q * support.not_q, support.p * support.not_p) / n) / support.gain
    return share, np.full(counts.size, z * spread)
