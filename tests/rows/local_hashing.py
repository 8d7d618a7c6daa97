"""Rows of `LocalHashing` and `LinearHashing`."""

from __future__ import annotations

from functools import partial
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon

from rows import kind, made

KINDS = (
    kind("LocalHashing", {"g": 2}, {"g": 1000}, {"g": 4, "random_hash": True}),
    kind("LinearHashing", {"g": 2, "k": 2}, {"g": 47, "k": 100_000}),
)


def _hashing(variant: str, rng: Random, effort: int) -> Case:
    epsilon, g = some_epsilon(rng), rng.randint(2, 4)
    hashes = reports.families(rng, g) if variant else [(0, 1, rng.randrange(g))]
    call = made("LocalHashing", epsilon=epsilon, g=g, random_hash=bool(variant))
    pairs = reports.every_two(reports.hashing(epsilon, g, hashes))
    every = reports.every_two(reports.hashing(epsilon, g, reports.families(Random(0), g)[: g**3])) if variant else []
    return Case(call, [*every[:1], *(pair for pair in pairs if pair.low.largest() > 0)])


def _linear(rng: Random, effort: int) -> Case:
    epsilon, g = some_epsilon(rng), rng.choice((2, 3, 5))
    digits = rng.randint(1, 2)
    k = rng.randint(max(2, g ** (digits - 1) + 1), g**digits)
    pairs = reports.every_two(reports.hashing(epsilon, g, reports.linear(g, digits, k)))
    return Case(made("LinearHashing", epsilon=epsilon, g=g, k=k), pairs[: effort + 1])


NEIGHBOURS = (
    Row("LocalHashing", partial(_hashing, "")),
    Row("LocalHashing", partial(_hashing, "random"), variant="random"),
    Row("LinearHashing", _linear),
)
