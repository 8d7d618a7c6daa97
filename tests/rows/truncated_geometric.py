"""Rows of `TruncatedGeometric`."""

from __future__ import annotations

from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair

from rows import made

EXAMPLES = (
    made("TruncatedGeometric", epsilon=1, n=5),
    made("TruncatedGeometric", epsilon="0.1", n=6, sensitivity=2),
)


def _case(rng: Random, effort: int) -> Case:
    epsilon, n = some_epsilon(rng), rng.randint(1, 7)
    distance = rng.randint(1, n)
    rows = reports.truncated(epsilon, distance, n)

    def at(steps: int) -> list[Pair]:
        return reports.within(rows, steps * distance)

    call = made("TruncatedGeometric", epsilon=epsilon, n=n, sensitivity=distance)
    return Case(call, at(1), group=at, every=True)


NEIGHBOURS = (Row("TruncatedGeometric", _case, "scalar"),)
