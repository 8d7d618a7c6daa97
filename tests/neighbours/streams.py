"""The sparse vector technique on a small stream of queries: the law of its answers, above or below, to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from random import Random

import numpy as np

from neighbours.law import Array, Pair

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
Answers = tuple[int, ...]
Levels = Callable[[Answers], float]
"""The value of the next query, which may be chosen by the answers so far; the threshold is 0."""


def answers(levels: Levels, queries: int, positives: int, rate: float, query_rate: float) -> dict[Answers, float]:
    """The probability of each sequence of answers that ends with the queries, or with the last allowed positive.

    The threshold has Laplace noise of this rate, once; each query has its own. Given the threshold's noise the answers
    are independent, so it is integrated over, in pieces between the kinks.
    """
    strings = list(_strings(queries, positives))
    known = {string[:n]: float(levels(string[:n])) for string in strings for n in range(len(string))}
    x, weight = _nodes(sorted({0.0, *known.values()}), rate, query_rate, queries)
    density = weight * np.exp(-rate * np.abs(x)) * rate / 2

    def above(level: float) -> tuple[Array, Array]:
        gap = query_rate * (level - x)
        tail = np.exp(-np.abs(gap)) / 2
        return np.where(gap > 0, 1 - tail, tail), np.where(gap > 0, tail, 1 - tail)

    told = {prefix: above(level) for prefix, level in known.items()}
    found = {}
    for string in strings:
        value = density
        for n, answer in enumerate(string):
            value = value * told[string[:n]][0 if answer else 1]
        found[string] = float(value.sum())
    return found


def _strings(queries: int, positives: int, prefix: Answers = ()) -> list[Answers]:
    if len(prefix) == queries or sum(prefix) == positives:
        return [prefix]
    return [string for answer in (0, 1) for string in _strings(queries, positives, (*prefix, answer))]


def _nodes(kinks: Sequence[float], rate: float, query_rate: float, queries: int) -> tuple[Array, Array]:
    """Nodes and weights over the line; beyond 45 scales of the threshold's noise nothing is left."""
    reach, longest = 45 / rate, 4 / (rate + queries * query_rate)
    ends = [kinks[0] - reach, *kinks, kinks[-1] + reach]
    nodes, weights = [], []
    for left, right in pairwise(ends):
        pieces = np.linspace(left, right, int((right - left) / longest) + 2)
        half = np.diff(pieces) / 2
        nodes.append(((pieces[:-1] + half)[:, None] + half[:, None] * NODES).ravel())
        weights.append((half[:, None] * WEIGHTS).ravel())
    return np.concatenate(nodes), np.concatenate(weights)


def neighbours(
    rng: Random, threshold: float, share: float, positives: int, steps: int, *, monotone: bool = False
) -> Pair:
    """A random stream of two to five queries, adaptive or not, each moved by at most so many sensitivities.

    `threshold` is epsilon_threshold, `share` the rate of the query noise: epsilon_queries/(2 positives), or where all
    queries move up, `monotone`, epsilon_queries/positives.
    """
    queries = rng.randint(2, 5)
    adaptive = rng.random() < 0.5
    width = rng.choice((0.5, 2, 5)) / share
    extreme = rng.random() < 0.6
    base: dict[object, float] = {}
    shift: dict[object, float] = {}

    def key(prefix: Answers) -> object:
        return prefix if adaptive else len(prefix)

    def level(prefix: Answers) -> float:
        if (at := key(prefix)) not in base:
            base[at] = rng.uniform(-width, width / 4)
            least = 0.0 if monotone else -1.0
            move = rng.choice((least, 1.0)) if extreme else rng.uniform(least, 1)
            shift[at] = steps * move
        return base[at]

    laws = [
        answers(levels, queries, positives, threshold, share)
        for levels in (level, lambda prefix: level(prefix) + shift[key(prefix)])
    ]
    return Pair.exactly(list(laws[0].values()), list(laws[1].values()))


def first_positive(before: Sequence[float], after: Sequence[float], threshold: float, share: float) -> Pair:
    """When the first positive comes, on two streams that are not chosen by the answers; the rest is not looked at."""
    laws = [
        answers(lambda prefix, at=levels: at[len(prefix)], len(levels), 1, threshold, share)  # type: ignore[misc]
        for levels in (before, after)
    ]
    return Pair.exactly(list(laws[0].values()), list(laws[1].values()))


def extreme(threshold: float, share: float, positives: int, steps: int, *, monotone: bool = False) -> Pair:
    """A million queries answered below that move up, then all positives from far below, which move down, or may not.

    So many below say that the threshold's noise was high: the move of all of them costs epsilon_threshold, and each
    positive its share of epsilon_queries. Looked at is only whether this happened.
    """
    queries, far = 10**6, 30 / share

    def chance(low: float, high: float) -> float:
        x, weight = _nodes([min(0.0, low), max(0.0, low) + log(queries) / share], threshold, share, 3)
        gap = share * (x - low)
        tail = np.exp(-np.abs(gap)) / 2
        quiet = queries * np.where(gap > 0, np.log1p(-np.where(gap > 0, tail, 0)), -np.abs(gap) - log(2))
        rare = positives * (-share * (x - high) - log(2))
        found = weight * np.exp(-threshold * np.abs(x) + quiet + np.where(x > high, rare, -np.inf)) * threshold / 2
        return float(found.sum())

    before, after = chance(0.0, -far), chance(float(steps), -far - (0 if monotone else steps))
    return Pair.exactly([before, 1 - before], [after, 1 - after])
