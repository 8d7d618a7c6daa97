"""Rows of `RandomizedResponse`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp, log
from random import Random

from independent import reference
from independent.reference import atom
from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import kept

from rows import kind, made


def _worst(epsilon: reference.Rational, k: int) -> reference.Pair:
    """k-ary randomised response with true values 0 and 1."""
    atoms = [atom(epsilon, 0), atom(0, epsilon), atom(0, 0, k - 2)]
    return reference.Pair(atoms, interior=partial(reference.response_interior, epsilon, k))


def _some_k(rng: Random) -> dict[str, int]:
    return {"k": min(2**63, max(2, round(exp(rng.uniform(log(2), log(2**63))))))}


KINDS = (
    kind(
        "RandomizedResponse",
        *({"k": k} for k in (2, 3, 6, 7, 9, 50, 2925, 10**9, 2**63)),
        reference=_worst,
        others=_some_k,
    ),
)


def _case(rng: Random, effort: int) -> Case:
    epsilon, k = some_epsilon(rng), rng.choice((2, 3, 4, 7, 12))
    call = made("RandomizedResponse", epsilon=epsilon, k=k)
    return Case(call, reports.every_two(reports.response(epsilon, k))[: effort + 1])


def _of_probability(rng: Random, effort: int) -> Case:
    k = rng.choice((2, 3, 5))
    p = Fraction(1, k) + (1 - Fraction(1, k)) * Fraction(rng.randint(1, 98), 100)
    rows = [[p if x == y else (1 - p) / (k - 1) for y in range(k)] for x in range(k)]
    return Case(made("RandomizedResponse.from_probability", p, k), reports.every_two(rows)[: effort + 1])


NEIGHBOURS = (Row("RandomizedResponse", _case), Row("RandomizedResponse", _of_probability, variant="probability"))
DRAWN = {"RandomizedResponse": (made("RandomizedResponse", epsilon=1, k=5), kept, exp(1) / (exp(1) + 4))}
