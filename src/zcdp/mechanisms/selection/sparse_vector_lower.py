"""A lower bound on rho of the sparse vector technique, from one concrete pair: a stream of queries and its neighbour.

The stream has a few queries below the threshold that are one unit higher on the neighbour, then a few above it, at
growing distance, that are one unit lower (or unchanged if queries are monotone). The outcome is the index of the first
positive. The levels of the queries and s = alpha - 1 come from a heuristic search in floats; the law of the outcome is
then integrated in balls, so that the lower bound is certified. See docs/theorems/sparse-vector.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, isfinite, log

from flint import arb

from zcdp.numeric.balls import Undecided, lift

__all__ = ["first_positive", "witness"]


FEWEST_QUERIES, MOST_QUERIES = 5, 12
"""Queries on each side of the threshold: the larger the query noise is beside the threshold noise, the more."""
LEVELS_PER_SCALE = 1 << 10
"""Levels are rounded to multiples of the scale of the query noise divided by this."""
START_SHAPE = (-0.2, 0.1, 0.25, 0.33)
"""Where the search starts: plateau, dip, first and growth of `_levels`."""
LARGEST_COORDINATE = 30.0
"""The search stays where levels and log s are at most this in size."""
CLIMB_TURNS = 40
LEAST_RATE = Fraction(1, 1 << 60)
"""The search in floats is made if the query rate, and the ratio of the rates, lies between this and its reciprocal."""


def _levels(shape: Sequence[float], side: int) -> list[float]:
    """Levels of the queries in units of the query noise: first a plateau, starting lower by a dip, then growing."""
    plateau, dip, first, growth = shape
    return [plateau - dip * 0.6**n for n in range(side)] + [first * exp(growth * n) for n in range(side + 1)]


def _near_law(levels: Sequence[float], ratio: float) -> list[float]:
    """Heuristic: the law of the index of the first positive, in floats by Gauss-Legendre quadrature.

    Levels are in units of the query noise, and `ratio` is threshold rate/query rate.
    """
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
    """Heuristic: a point of larger value, by coordinate ascent with steps that grow on success and halve on failure."""
    best, steps = value(point), [0.1] * len(point)
    for _ in range(CLIMB_TURNS):
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
    """A ball around K(s)/(s(1+s)) of one stream at one s, both found in floats: its lower end is a bound on rho.

    Raises `Undecided` at rates where the search in floats is not made.
    """
    if not all(LEAST_RATE < rate < 1 / LEAST_RATE for rate in (threshold_rate / query_rate, query_rate)):
        raise Undecided  # no proposal in floats at such rates
    ratio, unit = float(threshold_rate / query_rate), float(query_rate)
    side = min(max(round(4.5 * ratio**0.45), FEWEST_QUERIES), MOST_QUERIES)
    moves = [1] * side + [0 if monotone else -1] * (side + 1)

    def value(point: list[float]) -> float:
        *shape, log_s = point
        levels = _levels(shape, side)
        if max(map(abs, levels)) > LARGEST_COORDINATE or abs(log_s) > LARGEST_COORDINATE:
            return 0.0
        moved = [level + unit * move for level, move in zip(levels, moves, strict=True)]
        s = exp(log_s)
        laws = _near_law(levels, ratio), _near_law(moved, ratio)
        if not all(map(all, laws)):
            return 0.0
        losses = [(p, log(p / q)) for p, q in zip(*laws, strict=True)]
        top = s * max(loss for _, loss in losses)
        found = (top + log(sum(p * exp(s * loss - top) for p, loss in losses))) / (s * (1 + s))
        return found if isfinite(found) else 0.0

    *shape, log_s = _climb(value, [*START_SHAPE, -log(unit + float(threshold_rate) / 2)])
    levels = [
        Fraction(round(level * LEVELS_PER_SCALE), LEVELS_PER_SCALE) / query_rate for level in _levels(shape, side)
    ]
    moved = [level + move for level, move in zip(levels, moves, strict=True)]
    s = arb(exp(log_s))
    moment = arb(0)
    for p, q in zip(*(first_positive(side, threshold_rate, query_rate) for side in (levels, moved)), strict=True):
        moment += (p.log() * (1 + s) - q.log() * s).exp()
    return moment.log() / (s * (1 + s))


def first_positive(levels: Sequence[Fraction], rate: Fraction, query_rate: Fraction) -> list[arb]:
    """Balls around the probabilities that query 0, 1, ... is the first above the noisy threshold 0; last: that none is.

    Threshold noise is Laplace(1/rate), query noise Laplace(1/query_rate). Between two kinks the integrand over the
    noisy threshold t is a polynomial in e^{query_rate t} times e^{+-rate t}, and is integrated term by term.
    """
    cuts: list[Fraction | None] = [None, *sorted({Fraction(0), *levels}), None]
    law = [arb(0)] * (len(levels) + 1)
    for low, high in pairwise(cuts):
        side = 1 if high is not None and high <= 0 else -1
        below = {0: lift(rate) / 2}  # coefficients of e^{n query_rate t}, while no query was above so far
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
    """The integral of the sum of terms[n] e^{(n step + rate) t} from low to high.

    None is minus or plus infinity, where the integrand vanishes.
    """
    total = arb(0)
    for n, coefficient in terms.items():
        power = n * step + rate
        if power == 0:
            total += coefficient * lift((high or Fraction(0)) - (low or Fraction(0)))  # both ends are finite here
        else:
            start, end = (arb(0) if cut is None else lift(power * cut).exp() for cut in (low, high))
            total += coefficient * (end - start) / lift(power)
    return total
