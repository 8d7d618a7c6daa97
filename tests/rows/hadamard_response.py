"""Rows of `HadamardResponse`."""

from __future__ import annotations

from functools import partial
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon

from rows import kind, made

KINDS = (kind("HadamardResponse", {}, {"blocks": 2}, {"blocks": 1000}),)


def _case(variant: str, rng: Random, effort: int) -> Case:
    epsilon, blocks = some_epsilon(rng), rng.randint(2, 3) if variant else 1
    pairs = reports.every_two(reports.hadamard(epsilon, rng.randint(1 if variant else 2, 3), blocks))
    # the first and the last value lie in different blocks, if there are several
    width = int((1 + (1 + 8 * len(pairs)) ** 0.5) / 2)
    return Case(made("HadamardResponse", epsilon=epsilon, blocks=blocks), [pairs[width - 2], *pairs[: effort + 1]])


NEIGHBOURS = [Row("HadamardResponse", partial(_case, one), variant=one) for one in ("", "blocks")]
