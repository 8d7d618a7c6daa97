"""Inputs at a distance: chains of pure-DP neighbours, longer ones of which tell more."""

from __future__ import annotations

from itertools import pairwise
from math import exp
from random import Random

import numpy as np

from neighbours.law import Pair


def pure_chain(epsilon: float, steps: int, rng: Random) -> Pair:
    """A walk of so many steps through laws on a few outcomes, each epsilon-DP from the one before.

    The weights change by factors between 1 and e^{epsilon/2} up and down, normalised: at most e^epsilon in all.
    """
    size = rng.randint(2, 5)
    first = np.array([rng.random() + 0.01 for _ in range(size)])
    tilt = np.array([rng.choice((-1.0, 1.0)) for _ in range(size)])
    last = first
    for _ in range(steps):
        last = last * np.exp(epsilon / 2 * tilt * rng.choice((1.0, rng.random())))
        last = last / last.sum()
    return Pair.exactly(first / first.sum(), last)


def diluted_chain(epsilon: float, distance: float, steps: int) -> Pair:
    """The same on two outcomes and one that tells nothing: every step has at most this total variation."""
    odds = [exp(epsilon * (n - steps / 2) / 2) for n in range(steps + 1)]
    chances = [one / (one + 1 / one) for one in odds]
    apart = max(abs(b - a) for a, b in pairwise(chances))
    share = min(1.0, distance / apart)
    laws = [[share * chance, share * (1 - chance), 1 - share] for chance in (chances[0], chances[-1])]
    return Pair.exactly(*laws)
