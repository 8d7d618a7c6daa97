"""Rows of the table: noise added to numbers and to vectors, under every kind of sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import sqrt
from random import Random

import zcdp
from neighbours import noise
from neighbours.law import Pair
from neighbours.moves import Bound, real_moves, summed, whole_moves
from neighbours.table import Case, row, some_epsilon


def _bound(kind: str, rng: Random, *, whole: bool) -> Bound:
    def size(low: int, high: int) -> Fraction:
        return Fraction(rng.randint(low, high)) if whole else Fraction(rng.randint(2 * low, 2 * high), 2)

    if kind in {"scalar", "L1"}:
        return kind, size(1, 5)
    if kind == "L0LInf":
        return kind, Fraction(rng.randint(1, 4)), size(1, 3)
    if kind == "L1LInf":
        return kind, size(2, 7), size(1, 3)
    return kind, Fraction(rng.randint(10, 60 if whole else 34), 10)


def _sensitivity(bound: Bound) -> object:
    return bound[1] if bound[0] == "scalar" else getattr(zcdp, bound[0])(*bound[1:])


def _shifted(one: Callable[[float], Pair], moves: Sequence[tuple[float, ...]]) -> list[Pair]:
    return [noise.moved(one, move) for move in moves]


def _real(
    mechanism: type[zcdp.Laplace | zcdp.Logistic], law: Callable[[float], Pair], kind: str, rng: Random, effort: int
) -> Case:
    """Ever more coordinates, ever smaller moves are normal noise in the limit: of the variance of the slope."""
    bound = _bound(kind, rng, whole=False)
    scale = Fraction(rng.randint(5, 60), 10)
    slope = 1 if mechanism is zcdp.Laplace else sqrt(1 / 3)

    def one(move: float) -> Pair:
        return law(float(move) / float(scale))

    def group(steps: int) -> list[Pair]:
        corner = real_moves(bound, rng, 0)[0]
        far = [tuple(steps * x for x in corner)]
        far += [summed([real_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
        return _shifted(one, [move for move in far if any(move)])

    limits = [noise.gaussian(slope * float(bound[1] / scale))] if kind == "L2" else []
    made = mechanism(scale=scale, sensitivity=_sensitivity(bound))  # type: ignore[arg-type]
    return Case(made, _shifted(one, real_moves(bound, rng, effort)), limits, group=group)


def _discrete_laplace(kind: str, rng: Random, effort: int) -> Case:
    bound = _bound(kind, rng, whole=True)
    scale = Fraction(rng.choice((rng.randint(5, 60), rng.randint(60, 500))), 10)

    def one(move: float) -> Pair:
        return noise.geometric(1 / scale, int(move))

    def group(steps: int) -> list[Pair]:
        corner = whole_moves(bound, rng, 0)[0]
        far = [tuple(steps * x for x in corner)]
        far += [summed([whole_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
        return _shifted(one, [move for move in far if any(move)])

    mechanism = zcdp.DiscreteLaplace(scale=scale, sensitivity=_sensitivity(bound))  # type: ignore[arg-type]
    return Case(mechanism, _shifted(one, whole_moves(bound, rng, effort)), group=group)


for _kind in ("scalar", "L1", "L0LInf", "L1LInf", "L2"):
    row(zcdp.Laplace, _kind)(partial(_real, zcdp.Laplace, noise.laplace, _kind))
    _one = partial(_real, zcdp.Logistic, noise.logistic, _kind)
    row(zcdp.Logistic, _kind, deep=_kind != "scalar")(_one)
    row(zcdp.DiscreteLaplace, _kind)(partial(_discrete_laplace, _kind))


@row(zcdp.Gaussian, "scalar")
def _gaussian(rng: Random, effort: int) -> Case:
    """The sensitivity is in the l2 norm: vectors of answers too."""
    length, sigma = Fraction(rng.randint(1, 8), 2), Fraction(rng.randint(10, 60), 10)

    def at(steps: int) -> list[Pair]:
        moves = [(steps * length,), *real_moves(("L2", steps * length), rng, effort)[4:]]
        return _shifted(lambda move: noise.gaussian(float(move) / float(sigma)), moves)

    mechanism = zcdp.Gaussian(sigma=sigma, sensitivity=length)
    return Case(mechanism, at(1), group=at, far_rho=float(length / sigma) ** 2 / 2)


def _gaussian_vector(kind: str, rng: Random, effort: int) -> Case:
    """A move of any direction is one of its length along a line, as normal noise is the same in all directions."""
    bound = _bound(kind, rng, whole=False)
    sigma = Fraction(rng.randint(10, 60), 10)

    def pairs(steps: int) -> list[Pair]:
        moves = [summed([real_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
        moves += [tuple(steps * x for x in move) for move in real_moves(bound, rng, 0)]
        lengths = sorted((sum(float(x) ** 2 for x in move) ** 0.5 for move in moves), reverse=True)
        return [noise.gaussian(length / float(sigma)) for length in lengths if length]

    mechanism = zcdp.Gaussian(sigma=sigma, sensitivity=_sensitivity(bound))  # type: ignore[arg-type]
    longest = max(sum(float(x) ** 2 for x in move) for move in real_moves(bound, rng, 0))
    return Case(mechanism, pairs(1), group=pairs, far_rho=longest / float(sigma) ** 2 / 2)


for _kind in ("L1", "L0LInf", "L1LInf", "L2"):
    row(zcdp.Gaussian, _kind)(partial(_gaussian_vector, _kind))


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
        corner = whole_moves(bound, rng, 0)[0]
        far = [tuple(steps * x for x in corner)]
        far += [summed([whole_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
        return _shifted(one, [move for move in far if any(move)])

    moves = [move for move in whole_moves(bound, rng, effort) if any(move)]
    rho = max(sum(Fraction(x) ** 2 for x in move) for move in moves) / (2 * variance)
    mechanism = zcdp.DiscreteGaussian(rho=rho, sensitivity=_sensitivity(bound))  # type: ignore[arg-type]
    return Case(mechanism, _shifted(one, moves), group=group, far_rho=float(rho))


for _kind in ("L0LInf", "L1", "L1LInf", "L2"):
    row(zcdp.DiscreteGaussian, _kind, deep=_kind != "L0LInf")(partial(_discrete_gaussian_vector, _kind))


@row(zcdp.DiscreteGaussian, "scalar")
def _discrete_gaussian(rng: Random, effort: int) -> Case:
    distance, variance = rng.randint(1, 3), Fraction(rng.randint(5, 80), 10)

    def at(steps: int) -> list[Pair]:
        moves = [steps * distance, *(rng.randint(1, steps * distance) for _ in range(effort))]
        return [noise.discrete_gaussian(variance, move) for move in moves]

    rho = Fraction(distance) ** 2 / (2 * variance)
    return Case(zcdp.DiscreteGaussian(rho=rho, sensitivity=distance), at(1), group=at, far_rho=float(rho))


def _staircase(variant: str, rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    gamma = Fraction(rng.randint(0, 100), 100) if variant else None

    def at(steps: int) -> list[Pair]:
        moves = [Fraction(steps), *(Fraction(rng.randint(1, 100 * steps), 100) for _ in range(effort))]
        return [noise.staircase(epsilon, gamma, move) for move in moves]

    # moves are in units of the sensitivity, which may be left open
    distance = rng.choice((None, Fraction(rng.randint(1, 50), 10)))
    return Case(zcdp.Staircase(epsilon=epsilon, gamma=gamma, sensitivity=distance), at(1), group=at)


row(zcdp.Staircase, "scalar")(partial(_staircase, ""))
row(zcdp.Staircase, "scalar", variant="gamma")(partial(_staircase, "gamma"))


@row(zcdp.DiscreteStaircase, "scalar")
def _discrete_staircase(rng: Random, effort: int) -> Case:
    epsilon, distance = some_epsilon(rng), rng.randint(1, 6)
    r = rng.randint(1, distance)

    def at(steps: int) -> list[Pair]:
        moves = [steps * distance, *(rng.randint(1, steps * distance) for _ in range(effort))]
        return [noise.discrete_staircase(epsilon, distance, r, move) for move in moves]

    return Case(zcdp.DiscreteStaircase(epsilon=epsilon, sensitivity=distance, r=r), at(1), group=at)
