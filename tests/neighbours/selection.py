"""Selection of one of m candidates by their scores: the law of the winner, from how each mechanism picks it.

`rate` is what one unit of score weighs: epsilon/(2 sensitivity) in general, epsilon/sensitivity for monotone moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import exp
from random import Random

import numpy as np

from neighbours.law import Array, Pair
from neighbours.peak import peak

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
Scores = Sequence[float]
Winner = Callable[[Scores, float], Array]


def exponential(scores: Scores, rate: float) -> Array:
    """Proportional to e^{rate score}: also the largest of the scores with Gumbel noise."""
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    found: Array = weights / weights.sum()
    return found


def permute_and_flip(scores: Scores, rate: float) -> Array:
    """Candidates in random order, each taken with probability w = e^{rate (score - best)}; also exponential noise.

    With arrival times uniform in [0, 1]: r arrives at t, and nobody before was taken, each other with 1 - t w_i. That
    is a polynomial of degree below the number of nodes, so the rule is exact.
    """
    w = np.exp(rate * (np.array(scores) - max(scores)))
    times = (NODES + 1) / 2
    missed = 1 - times[:, None] * w
    others = [np.delete(missed, r, axis=1).prod(axis=1) for r in range(len(w))]
    return np.array([w[r] * float(WEIGHTS @ others[r]) / 2 for r in range(len(w))])


def laplace_max(scores: Scores, rate: float) -> Array:
    """The largest of the scores with Laplace noise: the density of the winner's value times the others' tails."""
    u = rate * np.array(scores)
    size, low, high = len(u), u.min(), u.max()
    # below all scores every factor is e^{x - u}/2; above all of them the integrand is a polynomial in e^-x
    law = np.full(size, np.exp(low - u).prod() / 2**size / size)
    y = np.exp(-(high - low)) * (NODES + 1) / 2
    below = 1 - y[:, None] * np.exp(u - low) / 2
    for r in range(size):
        density = np.exp(u[r] - low) / 2 * np.delete(below, r, axis=1).prod(axis=1)
        law[r] += float(WEIGHTS @ density) * np.exp(-(high - low)) / 2
    knots = np.unique(u)
    for left, right in pairwise(knots):
        pieces = np.linspace(left, right, int((right - left) * 2) + 2)
        half = np.diff(pieces) / 2
        x = ((pieces[:-1] + half)[:, None] + half[:, None] * NODES).ravel()
        weight = (half[:, None] * WEIGHTS).ravel()
        gap = x[:, None] - u
        tails = np.where(gap < 0, np.exp(np.minimum(gap, 0)) / 2, 1 - np.exp(-np.maximum(gap, 0)) / 2)
        for r in range(size):
            density = np.exp(-np.abs(gap[:, r])) / 2 * np.delete(tails, r, axis=1).prod(axis=1)
            law[r] += float(weight @ density)
    return law


def moved_scores(rng: Random, size: int, steps: int, *, monotone: bool) -> tuple[list[float], list[float]]:
    """Scores of so many candidates, and those of a neighbour: each moves by at most 1 a step, or all one way."""
    width = rng.choice((0.0, 0.5, 3.0, 10.0))
    scores = [rng.uniform(0, width) for _ in range(size)]
    extreme = rng.random() < 0.5  # all moves as large as they may be
    other = []
    for score in scores:
        share = float(rng.randint(0, 1)) if extreme else rng.random()
        other.append(score + steps * (share if monotone else 2 * share - 1))
    return scores, other


def neighbours(winner: Winner, rate: float, rng: Random, count: int, steps: int, *, monotone: bool) -> list[Pair]:
    """Random score vectors of two to eight candidates."""
    found = []
    for _ in range(count):
        scores, other = moved_scores(rng, rng.randint(2, 8), steps, monotone=monotone)
        found.append(Pair.exactly(winner(scores, rate), winner(other, rate)))
    return found


def two(winner: Winner, rate: float, lead: float, steps: int, *, monotone: bool) -> Pair:
    """Two candidates, one ahead by `lead`; it falls behind as far as it may."""
    scores = (lead, 0.0)
    other = (lead, float(steps)) if monotone else (lead - steps, float(steps))
    return Pair.exactly(winner(scores, rate), winner(other, rate))


def worst_two(winner: Winner, rate: float, steps: int, *, monotone: bool) -> list[Pair]:
    """The two candidates with the lead that tells the most: in Kullback-Leibler divergence; and the balanced lead."""
    whole = float(steps if monotone else 2 * steps)

    def divergence(lead: float) -> float:
        pair = two(winner, rate, lead, steps, monotone=monotone)
        return max(pair.low.kl(), pair.low.reversed().kl())

    leads = whole / 2, peak(divergence, 0, whole)
    return [two(winner, rate, lead, steps, monotone=monotone) for lead in leads]


def two_against_three(winner: Winner, rate: float, steps: int) -> list[Pair]:
    """Two tied candidates against three tied ones, whose lead is turned into a lag; the one that tells the most."""
    found = []
    for part in range(17):
        lead = 2 * steps * part / 16
        for sign in (1, -1):
            scores = (0.0, 0.0, *(sign * lead,) * 3)
            other = (*(float(sign * steps),) * 2, *(sign * (lead - steps),) * 3)
            found.append(Pair.exactly(winner(scores, rate), winner(other, rate)))
    return [max(found, key=lambda pair: max(pair.low.kl(), pair.low.reversed().kl()))]


def gumbel_two(eta: float, position: float) -> Pair:
    """Two outcomes of losses `position` and `position - eta`: the member of bounded range at that position."""
    high, low = exp(position), exp(position - eta)
    q = (1 - low) / (high - low)
    return Pair.exactly([high * q, low * (1 - q)], [q, 1 - q])


def peeled(winner: Winner, scores: Scores, rate: float, k: int) -> list[float]:
    """All ways to select k, one after another among those left, in one fixed order of the ways."""

    def ways(left: tuple[int, ...], rounds: int) -> list[float]:
        if not rounds:
            return [1.0]
        law = winner([scores[n] for n in left], rate)
        return [
            float(chance) * rest
            for n, chance in enumerate(law)
            for rest in ways((*left[:n], *left[n + 1 :]), rounds - 1)
        ]

    return ways(tuple(range(len(scores))), k)


def peeled_pair(winner: Winner, scores: Scores, other: Scores, rate: float, k: int) -> Pair:
    """Of two neighbouring vectors of scores."""
    return Pair.exactly(peeled(winner, scores, rate, k), peeled(winner, other, rate, k))
