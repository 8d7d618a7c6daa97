"""Rows of `UnaryEncoding` and `OptimizedUnaryEncoding`."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import bit

from rows import kind, made

KINDS = (kind("OptimizedUnaryEncoding"),)
EXAMPLES = (made("UnaryEncoding", "3/4", "1/4"), made("UnaryEncoding", "0.999", "1e-9"))


def _unary(rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(1, 100), 2))
    p, q = Fraction(high, 100), Fraction(low, 100)
    return Case(made("UnaryEncoding", p, q), reports.every_two(reports.bits(p, q, rng.randint(2, 5)))[: effort + 1])


def _optimized(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    rows = reports.bits(0.5, 1 / (exp(epsilon) + 1), rng.randint(2, 5))
    return Case(made("OptimizedUnaryEncoding", epsilon=epsilon), reports.every_two(rows)[: effort + 1])


NEIGHBOURS = (Row("UnaryEncoding", _unary), Row("OptimizedUnaryEncoding", _optimized))
DRAWN = {
    "OptimizedUnaryEncoding, the true bit": (made("OptimizedUnaryEncoding", epsilon=1), bit(0), 1 / 2),
    "OptimizedUnaryEncoding, another": (made("OptimizedUnaryEncoding", epsilon=1), bit(3), 1 / (exp(1) + 1)),
    "UnaryEncoding, the true bit": (made("UnaryEncoding", "3/4", "1/8"), bit(0), 3 / 4),
    "UnaryEncoding, another": (made("UnaryEncoding", "3/4", "1/8"), bit(3), 1 / 8),
}
