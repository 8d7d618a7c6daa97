"""Rows of `Staircase` and `DiscreteStaircase`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp
from random import Random

import numpy as np
from neighbours import noise
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair
from samplers.hits import ZEROS, beyond, far

from rows import kind, made

KINDS = (
    kind("Staircase", {}, *({"gamma": gamma} for gamma in (0, "0.2", "1/2", "0.9", 1))),
    kind("DiscreteStaircase", *({"sensitivity": d, "r": r} for d, r in ((1, 1), (5, 2), (6, 4), (10**6, 3)))),
)


def _staircase(variant: str, rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    gamma = Fraction(rng.randint(0, 100), 100) if variant else None

    def at(steps: int) -> list[Pair]:
        moves = [Fraction(steps), *(Fraction(rng.randint(1, 100 * steps), 100) for _ in range(effort))]
        return [noise.staircase(epsilon, gamma, move) for move in moves]

    # moves are in units of the sensitivity, which may be left open
    distance = rng.choice((None, Fraction(rng.randint(1, 50), 10)))
    return Case(made("Staircase", epsilon=epsilon, gamma=gamma, sensitivity=distance), at(1), group=at)


def _discrete_staircase(rng: Random, effort: int) -> Case:
    epsilon, distance = some_epsilon(rng), rng.randint(1, 6)
    r = rng.randint(1, distance)

    def at(steps: int) -> list[Pair]:
        moves = [steps * distance, *(rng.randint(1, steps * distance) for _ in range(effort))]
        return [noise.discrete_staircase(epsilon, distance, r, move) for move in moves]

    return Case(made("DiscreteStaircase", epsilon=epsilon, sensitivity=distance, r=r), at(1), group=at)


NEIGHBOURS = (
    Row("Staircase", partial(_staircase, ""), "scalar"),
    Row("Staircase", partial(_staircase, "gamma"), "scalar", "gamma"),
    Row("DiscreteStaircase", _discrete_staircase, "scalar"),
)
DRAWN = {
    "Staircase": (
        made("Staircase", epsilon=1),
        lambda m: np.abs(m.release(ZEROS * 1.0, sensitivity=3)) >= 3,
        exp(-1),
    ),
    "DiscreteStaircase": (
        made("DiscreteStaircase", epsilon=1, sensitivity=5, r=2),
        far(2),
        beyond(lambda x: exp(-((abs(x) + 3) // 5)), 2),
    ),
}
