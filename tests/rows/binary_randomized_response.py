"""Rows of `BinaryRandomizedResponse`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random

from neighbours.case import Case, Row
from neighbours.law import Pair

from rows import made

EXAMPLES = (
    made("BinaryRandomizedResponse", "1/2", "1/4"),
    made("BinaryRandomizedResponse", "0.6678", "0.0138"),
    made("BinaryRandomizedResponse", "0.5000001", "0.5"),
    made("BinaryRandomizedResponse", 1 - 2**-40, 2**-30),
)


def _case(variant: str, rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(1, 200), 2))
    p, q = Fraction(high, 200), Fraction(low, 200)
    ordered = bool(variant)
    call = made("BinaryRandomizedResponse", p, q, ordered=ordered)
    return Case(call, [Pair.exactly([p, 1 - p], [q, 1 - q])], every=not ordered, ordered=ordered)


NEIGHBOURS = [Row("BinaryRandomizedResponse", partial(_case, one), variant=one) for one in ("", "ordered")]
