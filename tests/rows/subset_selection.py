"""Rows of `SubsetSelection`."""

from __future__ import annotations

from math import exp
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import ZEROS

from rows import kind, made

KINDS = (kind("SubsetSelection", *({"k": k, "size": w} for k, w in ((2, 1), (100, 27), (10**6, 10**6 - 1)))),)


def _case(rng: Random, effort: int) -> Case:
    epsilon, k = some_epsilon(rng), rng.randint(2, 7)
    size = rng.randint(1, k - 1)
    call = made("SubsetSelection", epsilon=epsilon, k=k, size=size)
    return Case(call, reports.every_two(reports.subsets(epsilon, k, size))[: effort + 1])


NEIGHBOURS = (Row("SubsetSelection", _case),)
DRAWN = {
    "SubsetSelection": (
        made("SubsetSelection", epsilon=1, k=6, size=2),
        lambda m: (m.release(ZEROS) == 0).any(axis=1),
        2 * exp(1) / (2 * exp(1) + 4),
    )
}
