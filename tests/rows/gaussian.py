"""Rows of `Gaussian` and `DiscreteGaussian`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import erfc, exp, sqrt
from random import Random

from neighbours import added_noise, noise
from neighbours.case import Case, Row
from neighbours.law import Pair
from neighbours.moves import Bound, real_moves, summed, whole_moves
from samplers.hits import beyond, far

from rows import made

EXAMPLES = (
    made("Gaussian", sigma=10),
    made("Gaussian", rho=3, sensitivity=7),
    made("DiscreteGaussian", sigma="1/2"),
    made("DiscreteGaussian", sigma=2, sensitivity=3),
    made("DiscreteGaussian", rho="1e-20"),
)


def _gaussian(rng: Random, effort: int) -> Case:
    """The sensitivity is in the l2 norm: vectors of answers too."""
    length, sigma = Fraction(rng.randint(1, 8), 2), Fraction(rng.randint(10, 60), 10)

    def at(steps: int) -> list[Pair]:
        moves = [(steps * length,), *real_moves(("L2", steps * length), rng, effort)[4:]]
        return added_noise.shifted(lambda move: noise.gaussian(float(move) / float(sigma)), moves)

    call = made("Gaussian", sigma=sigma, sensitivity=length)
    return Case(call, at(1), group=at, far_rho=float(length / sigma) ** 2 / 2)


def _gaussian_vector(kind: str, rng: Random, effort: int) -> Case:
    """A move of any direction is one of its length along a line, as normal noise is the same in all directions."""
    bound = added_noise.some_bound(kind, rng, whole=False)
    sigma = Fraction(rng.randint(10, 60), 10)

    def pairs(steps: int) -> list[Pair]:
        moves = [summed([real_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
        moves += [tuple(steps * x for x in move) for move in real_moves(bound, rng, 0)]
        lengths = sorted((sum(float(x) ** 2 for x in move) ** 0.5 for move in moves), reverse=True)
        return [noise.gaussian(length / float(sigma)) for length in lengths if length]

    call = made("Gaussian", sigma=sigma, sensitivity=added_noise.sensitivity(bound))
    longest = max(sum(float(x) ** 2 for x in move) for move in real_moves(bound, rng, 0))
    return Case(call, pairs(1), group=pairs, far_rho=longest / float(sigma) ** 2 / 2)


def _discrete_gaussian(rng: Random, effort: int) -> Case:
    distance, variance = rng.randint(1, 3), Fraction(rng.randint(5, 80), 10)

    def at(steps: int) -> list[Pair]:
        moves = [steps * distance, *(rng.randint(1, steps * distance) for _ in range(effort))]
        return [noise.discrete_gaussian(variance, move) for move in moves]

    rho = Fraction(distance) ** 2 / (2 * variance)
    return Case(made("DiscreteGaussian", rho=rho, sensitivity=distance), at(1), group=at, far_rho=float(rho))


def _discrete_gaussian_vector(kind: str, rng: Random, effort: int) -> Case:
    bounds: dict[str, Bound] = {
        "L0LInf": ("L0LInf", Fraction(2), Fraction(rng.randint(1, 2))),
        "L1": ("L1", Fraction(rng.randint(1, 3))),
        "L1LInf": ("L1LInf", Fraction(rng.randint(2, 5)), Fraction(rng.randint(1, 2))),
        "L2": ("L2", Fraction(rng.randint(10, 29), 10)),
    }
    bound = bounds[kind]
    variance = Fraction(rng.randint(5, 20), 10) if kind == "L0LInf" else Fraction(rng.randint(10, 300), 10)

    def one(move: float) -> Pair:
        return noise.discrete_gaussian(variance, int(move))

    def group(steps: int) -> list[Pair]:
        return added_noise.shifted(one, added_noise.far(whole_moves, bound, steps, rng, effort))

    moves = [move for move in whole_moves(bound, rng, effort) if any(move)]
    rho = max(sum(Fraction(x) ** 2 for x in move) for move in moves) / (2 * variance)
    call = made("DiscreteGaussian", rho=rho, sensitivity=added_noise.sensitivity(bound))
    return Case(call, added_noise.shifted(one, moves), group=group, far_rho=float(rho))


NEIGHBOURS = (
    Row("Gaussian", _gaussian, "scalar"),
    *(Row("Gaussian", partial(_gaussian_vector, one), one) for one in ("L1", "L0LInf", "L1LInf", "L2")),
    Row("DiscreteGaussian", _discrete_gaussian, "scalar"),
    *(
        Row("DiscreteGaussian", partial(_discrete_gaussian_vector, one), one, deep=one != "L0LInf")
        for one in ("L0LInf", "L1", "L1LInf", "L2")
    ),
)
_CHANCE = beyond(lambda x: exp(-x * x / 18), 3)
DRAWN = {
    "Gaussian": (made("Gaussian", sigma=3), far(3), erfc(sqrt(0.5))),
    "Gaussian, by its rho": (made("Gaussian", rho="1/2", sensitivity=3), far(3), erfc(sqrt(0.5))),
    "DiscreteGaussian": (made("DiscreteGaussian", sigma=3), far(3), _CHANCE),
    "DiscreteGaussian, by its rho": (made("DiscreteGaussian", rho="1/2", sensitivity=3), far(3), _CHANCE),
}
