"""Rows of `SquareWave`."""

from __future__ import annotations

from math import exp
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import ZEROS

from rows import kind, made

KINDS = (kind("SquareWave", *({"steps": m, "width": w} for m, w in ((1, 1), (100, 61), (10, 25), (256, 3)))),)


def _case(rng: Random, effort: int) -> Case:
    epsilon, steps, width = some_epsilon(rng), rng.randint(1, 5), rng.randint(1, 7)
    call = made("SquareWave", epsilon=epsilon, steps=steps, width=width)
    return Case(call, reports.every_two(reports.windows(epsilon, steps, width))[: effort + 1])


NEIGHBOURS = (Row("SquareWave", _case),)
DRAWN = {
    "SquareWave": (
        made("SquareWave", epsilon=1, steps=6, width=2),
        lambda m: m.release(ZEROS * 1.0) < 2,
        2 * exp(1) / (2 * exp(1) + 6),
    )
}
