"""Rows of `Laplace`."""

from __future__ import annotations

from functools import partial
from math import exp

from independent import reference
from independent.reference import Piece
from neighbours import noise
from neighbours.added_noise import SENSITIVITIES, real_noise
from neighbours.case import Row
from samplers.hits import far, far_released

from rows import kind, made


def _worst(epsilon: reference.Rational) -> reference.Pair:
    """Laplace densities centred at 1 and 0: pieces x = -u, x = u and x = 1 + u."""
    e = epsilon
    pieces = [Piece(-e, -e, 0, -e, None), Piece(-e, e, 0, -e, 1), Piece(0, -e, -e, -e, None)]
    return reference.Pair(pieces, continuous=True)


KINDS = (
    kind("Laplace", reference=_worst),
    kind("Laplace", {"sensitivity": made("L0LInf", 20, 1)}, {"sensitivity": made("L1LInf", 7, "2.5")}),
)
EXAMPLES = (made("Laplace", scale=3, sensitivity=made("L2", 2)),)
NEIGHBOURS = [Row("Laplace", partial(real_noise, "Laplace", noise.laplace, 1, one), one) for one in SENSITIVITIES]

# epsilon 2 and sensitivity 6: a scale of 3, whichever way it is said
DRAWN = {
    "Laplace": (made("Laplace", epsilon=2, sensitivity=6), far(3), exp(-1)),
    "Laplace, released": (made("Laplace", epsilon=2, sensitivity=6), far_released(3), exp(-1)),
    "Laplace, by its scale": (made("Laplace", scale=3, sensitivity=50), far(3), exp(-1)),
    "Laplace, a vector": (made("Laplace", epsilon=2, sensitivity=made("L0LInf", 3, 2)), far(3), exp(-1)),
}
