"""A stream of queries that costs much: a lower bound on what sparse vector spends, from one concrete pair.

A few queries below the threshold that are one unit higher on the neighbour, then a few above it, at growing distance,
that are one unit lower (where queries only rise: that stay). The outcome is the index of the first positive. Levels and
order are found in floats, by climbing; the law is then integrated in balls. See docs/theorems/sparse-vector.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, isfinite, log

from flint import arb

from zcdp.numeric.balls import Undecided, lift

__all__ = ["first_positive", "witness"]


FEWEST, MOST = 5, 12
"""Queries on each side of the threshold: the more, the better a query's noise hides what the threshold's tells."""
GRID = 1 << 10
"""Levels are multiples of this part of the scale of the query noise."""
START = (-0.2, 0.1, 0.25, 0.33)
FARTHEST = 30.0
TURNS = 40
LEAST = Fraction(1, 1 << 60)
"""Rates, and ratios of rates, from this to its reciprocal have proposals in floats."""


def _levels(shape: Sequence[float], side: int) -> list[float]:
    """Levels in units of the query noise: a plateau, at whose beginning they are a little lower, then growing."""
    plateau, dip, first, growth = shape
    return [plateau - dip * 0.6**n for n in range(side)] + [first * exp(growth * n) for n in range(side + 1)]


def _near_law(levels: Sequence[float], ratio: float) -> list[float]:
    """The law of the first positive in floats, `ratio` the rate of the threshold in units of that of the queries."""
    import numpy as np

    points = np.array(levels)
    ends = np.unique(np.append(points, 0.0))
    far = np.array([0.5, 1, 2, 3.5, 5.5, 8, 12, 17, 24, 32]) * max(1.0, 1 / ratio)
    cuts = np.concatenate([ends[0] - far[::-1], ends, ends[-1] + far])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = np.diff(cuts)[:, None] / 2
    t = ((cuts[:-1] + cuts[1:])[:, None] / 2 + width * nodes).ravel()
    density = (width * weights).ravel() * np.exp(-ratio * abs(t)) * ratio / 2
    away = t - points[:, None]
    tail = np.exp(-abs(away)) / 2
    above, below = np.where(away > 0, tail, 1 - tail), np.where(away > 0, 1 - tail, tail)
    so_far = np.cumprod(np.concatenate([density[None], below]), axis=0)
    law: list[float] = [*(so_far[:-1] * above).sum(axis=1).tolist(), so_far[-1].sum().item()]
    return law


def _climb(value: Callable[[list[float]], float], point: list[float]) -> list[float]:
    """A point of larger value: one coordinate at a time, by steps that grow and shrink."""
    best, steps = value(point), [0.1] * len(point)
    for _ in range(TURNS):
        for n, step in enumerate(steps):
            for signed in (step, -step):
                moved = [x + signed * (m == n) for m, x in enumerate(point)]
                if (found := value(moved)) > best:
                    point, best, steps[n] = moved, found, signed * 1.6
                    break
            else:
                steps[n] = step / 2
    return point


def witness(threshold_rate: Fraction, query_rate: Fraction, *, monotone: bool) -> arb:
    """K(s)/(s(1+s)) for a stream and an s that are found in floats, at the working precision; or `Undecided`."""
    if not all(LEAST < rate < 1 / LEAST for rate in (threshold_rate / query_rate, query_rate)):
        raise Undecided  # floats propose nothing there
    ratio, unit = float(threshold_rate / query_rate), float(query_rate)
    side = min(max(round(4.5 * ratio**0.45), FEWEST), MOST)
    moves = [1] * side + [0 if monotone else -1] * (side + 1)

    def value(point: list[float]) -> float:
        *shape, order = point
        levels = _levels(shape, side)
        if max(map(abs, levels)) > FARTHEST or abs(order) > FARTHEST:
            return 0.0
        moved = [level + unit * move for level, move in zip(levels, moves, strict=True)]
        s = exp(order)
        laws = _near_law(levels, ratio), _near_law(moved, ratio)
        if not all(map(all, laws)):
            return 0.0
        losses = [(p, log(p / q)) for p, q in zip(*laws, strict=True)]
        top = s * max(loss for _, loss in losses)
        found = (top + log(sum(p * exp(s * loss - top) for p, loss in losses))) / (s * (1 + s))
        return found if isfinite(found) else 0.0

    *shape, order = _climb(value, [*START, -log(unit + float(threshold_rate) / 2)])
    levels = [Fraction(round(level * GRID), GRID) / query_rate for level in _levels(shape, side)]
    moved = [level + move for level, move in zip(levels, moves, strict=True)]
    s = arb(exp(order))
    moment = arb(0)
    for p, q in zip(*(first_positive(side, threshold_rate, query_rate) for side in (levels, moved)), strict=True):
        moment += (p.log() * (1 + s) - q.log() * s).exp()
    return moment.log() / (s * (1 + s))


def first_positive(levels: Sequence[Fraction], rate: Fraction, query_rate: Fraction) -> list[arb]:
    """Law of the index of the first noisy query above threshold noise around 0, for these rates; last: none.

    Between two kinks the integrand is a polynomial in e^{query_rate t} times e^{+-rate t}: integrated term by term.
    """
    cuts: list[Fraction | None] = [None, *sorted({Fraction(0), *levels}), None]
    law = [arb(0)] * (len(levels) + 1)
    for low, high in pairwise(cuts):
        side = 1 if high is not None and high <= 0 else -1
        below = {0: lift(rate) / 2}  # coefficients of e^{n query_rate t}: no query has been above so far
        for index, level in enumerate(levels):
            sign = 1 if high is not None and high <= level else -1
            growth = lift(-sign * query_rate * level).exp() / 2
            tail = {n + sign: coefficient * growth for n, coefficient in below.items()}
            rest = dict(below)
            for n, coefficient in tail.items():
                rest[n] = rest.get(n, arb(0)) - coefficient
            above, below = (rest, tail) if sign > 0 else (tail, rest)
            law[index] += _integral(above, side * rate, query_rate, low, high)
        law[-1] += _integral(below, side * rate, query_rate, low, high)
    return law


def _integral(
    terms: dict[int, arb], rate: Fraction, step: Fraction, low: Fraction | None, high: Fraction | None
) -> arb:
    """Of the sum of terms[n] e^{(n step + rate) t} from low to high; None is infinity, where it vanishes."""
    total = arb(0)
    for n, coefficient in terms.items():
        power = n * step + rate
        if power == 0:
            total += coefficient * lift((high or Fraction(0)) - (low or Fraction(0)))  # both ends are finite here
        else:
            start, end = (arb(0) if cut is None else lift(power * cut).exp() for cut in (low, high))
            total += coefficient * (end - start) / lift(power)
    return total
