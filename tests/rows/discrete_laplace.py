"""Rows of `DiscreteLaplace`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp, log
from random import Random

from independent import reference
from independent.reference import Piece
from neighbours import added_noise, noise
from neighbours.case import Case, Row
from neighbours.law import Pair
from neighbours.moves import whole_moves
from samplers.hits import beyond, far, far_released

from rows import kind, made


def _worst(epsilon: reference.Rational, sensitivity: int) -> reference.Pair:
    """Two-sided geometric laws centred at d and 0: pieces x = -1 - u, x = u and x = d + 1 + u."""
    d, s = sensitivity, Fraction(epsilon) / sensitivity
    left = Piece(-(d + 1) * s, -s, -s, -s, None)
    middle = Piece(-d * s, s, 0, -s, d + 1)
    right = Piece(-s, -s, -(d + 1) * s, -s, None)
    return reference.Pair([left, middle, right])


def _some_sensitivity(rng: Random) -> dict[str, int]:
    return {"sensitivity": round(exp(rng.uniform(0, log(10**18))))}


KINDS = (
    kind(
        "DiscreteLaplace",
        *({"sensitivity": d} for d in (1, 2, 7, 1000, 10**18)),
        reference=_worst,
        others=_some_sensitivity,
    ),
    kind("DiscreteLaplace", {"sensitivity": made("L0LInf", 20, 1)}, {"sensitivity": made("L1LInf", 7, 3)}),
)
EXAMPLES = (made("DiscreteLaplace", scale=3, sensitivity=made("L2", "2.5")),)


def _case(kind: str, rng: Random, effort: int) -> Case:
    bound = added_noise.some_bound(kind, rng, whole=True)
    scale = Fraction(rng.choice((rng.randint(5, 60), rng.randint(60, 500))), 10)

    def one(move: float) -> Pair:
        return noise.geometric(1 / scale, int(move))

    def group(steps: int) -> list[Pair]:
        return added_noise.shifted(one, added_noise.far(whole_moves, bound, steps, rng, effort))

    call = made("DiscreteLaplace", scale=scale, sensitivity=added_noise.sensitivity(bound))
    return Case(call, added_noise.shifted(one, whole_moves(bound, rng, effort)), group=group)


NEIGHBOURS = [Row("DiscreteLaplace", partial(_case, one), one) for one in added_noise.SENSITIVITIES]

# epsilon 2 and sensitivity 6: a scale of 3
_CHANCE = beyond(lambda x: exp(-abs(x) / 3), 3)
DRAWN = {
    "DiscreteLaplace": (made("DiscreteLaplace", epsilon=2, sensitivity=6), far(3), _CHANCE),
    "DiscreteLaplace, released": (made("DiscreteLaplace", epsilon=2, sensitivity=6), far_released(3), _CHANCE),
    "DiscreteLaplace, a vector": (
        made("DiscreteLaplace", epsilon=2, sensitivity=made("L0LInf", 3, 2)),
        far(3),
        _CHANCE,
    ),
}
