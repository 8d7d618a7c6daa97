"""Rows of `RAPPOR`."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from random import Random

from independent import reference
from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import bit

from rows import kind, made


def _worst(epsilon: reference.Rational) -> reference.Pair:
    """Two bits, (1, 0) under P and (0, 1) under Q, each kept with odds e^(epsilon / 2)."""
    half = Fraction(epsilon) / 2
    outcomes = [(a, b) for a in (0, 1) for b in (0, 1)]
    return reference.Pair([reference.atom(half * (a + 1 - b), half * (1 - a + b)) for a, b in outcomes])


KINDS = (kind("RAPPOR", reference=_worst),)


def _case(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    p = 1 / (1 + exp(-epsilon / 2))
    rows = reports.bits(p, 1 - p, rng.randint(2, 5))
    return Case(made("RAPPOR", epsilon=epsilon), reports.every_two(rows)[: effort + 1])


NEIGHBOURS = (Row("RAPPOR", _case),)
DRAWN = {
    "RAPPOR, the true bit": (made("RAPPOR", epsilon=2), bit(0), exp(1) / (exp(1) + 1)),
    "RAPPOR, another": (made("RAPPOR", epsilon=2), bit(3), 1 / (exp(1) + 1)),
}
