"""The largest true positive rate of a test that tells neighbours apart, from a certified curve of (epsilon, delta).

Each certified (epsilon, delta) is two lines above the rate, and the least of all lines is certified whatever lines are
taken: which ones are worth their time is searched for in floats, and the rates are rounded up from exact numbers.
Theorem: docs/theorems/adapters.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, log
from statistics import NormalDist

import numpy as np

from zcdp.adapters.common import above
from zcdp.numeric.balls import enclose, lift

__all__ = ["gdp_estimate", "highest", "line", "searched_lines"]

Line = tuple[Fraction, Fraction]
"""Start and slope of a line above the true positive rate, as a function of the false positive rate."""

FIRST, MOST, NARROW, FARTHEST = 33, 1000, 1e-7, 700.0
"""Lines to begin with, and at most; the width of a bracket that is not halved again; the largest epsilon tried."""


def line(t: float, epsilon_delta: tuple[float, float]) -> Line:
    """The line of slope about e^t, t = epsilon or -epsilon, that a certified (epsilon, delta) puts above the rate.

    delta + e^epsilon a, or 1 - e^-epsilon (1 - delta - a), where a is the false positive rate; rounded up for every a.

    >>> line(0.0, (0.0, 0.25))
    (Fraction(1, 4), Fraction(1, 1))
    """
    epsilon, delta = Fraction(epsilon_delta[0]), Fraction(epsilon_delta[1])
    if not epsilon:
        return delta, Fraction(1)
    low, high = (Fraction(end) for end in enclose(lambda: lift(epsilon if t > 0 else -epsilon).exp()))
    return (delta, high) if t > 0 else (1 - low * (1 - delta), high)


def highest(lines: Sequence[Line], rates: np.ndarray) -> np.ndarray:
    """The true positive rate at each false positive rate, at most: the lowest of the lines there, rounded up.

    >>> highest([(Fraction(1, 4), Fraction(1))], np.array([0.5, 0.9])).tolist()
    [0.75, 1.0]
    """
    best = np.argmin(_values(lines, rates), axis=0) if lines else np.zeros(len(rates), dtype=int)
    found = []
    for rate, n in zip(rates.tolist(), best.tolist(), strict=True):
        start, slope = lines[n] if lines else (Fraction(1), Fraction(0))
        found.append(min(1.0, above(start + slope * Fraction(rate))))
    return np.array(found, dtype=np.float64)


def searched_lines(delta_at: Callable[[float], float], rates: np.ndarray) -> list[Line]:
    """Lines that are close to the lowest possible ones at the given false positive rates.

    The rate is the least of H(g) + g a over g > 0, a convex function of g = e^t, which is bracketed by its neighbours
    in a growing set of points t: halving the brackets around those that are lowest somewhere closes in on it.
    """
    at_zero = delta_at(0.0)
    # H(g) + g a is at least g a and at most 1: beyond these ends it is not the least.
    right = max((-log(a) for a in rates.tolist() if a > 0), default=0.0)
    left = max((-log(rest) for a in rates.tolist() if (rest := 1 - at_zero - a) > 0), default=0.0)
    far = FARTHEST if (rates == 0).any() else 0.0
    right, left = (min(max(end, far, 1e-3), FARTHEST) for end in (right, left))
    lines: dict[float, Line] = {}
    fresh = {0.0, *np.linspace(-left, right, FIRST).tolist()}
    while fresh and len(lines) + len(fresh) <= MOST:
        lines |= {t: line(t, (abs(t), delta_at(abs(t)))) for t in fresh}
        points = sorted(lines)
        best = np.unique(np.argmin(_values([lines[t] for t in points], rates), axis=0)).tolist()
        brackets = {(max(n, 0), n + 1) for one in best for n in (one - 1, one) if n + 1 < len(points)}
        gaps = ((points[n], points[m]) for n, m in brackets)
        fresh = {(one + other) / 2 for one, other in gaps if other - one > NARROW}
    return list(lines.values())


def _values(lines: Sequence[Line], rates: np.ndarray) -> np.ndarray:
    """The lines at the rates, in floats: one row for each line."""
    starts, slopes = (np.array([min(float(one[n]), 1e300) for one in lines]) for n in (0, 1))
    values: np.ndarray = starts[:, None] + slopes[:, None] * rates[None, :]
    return values


def gdp_estimate(rates: np.ndarray, highest_rates: np.ndarray) -> float:
    """The least mu whose Gaussian test is at least as good at each of the false positive rates.

    An estimate, as it is called: between the rates, and below the least of them, nothing is said.
    """
    normal = NormalDist()
    gaps = [
        inf if true >= 1 else normal.inv_cdf(true) - normal.inv_cdf(false)
        for false, true in zip(rates.tolist(), highest_rates.tolist(), strict=True)
        if 0 < false < 1
    ]
    return max(gaps, default=0.0)
