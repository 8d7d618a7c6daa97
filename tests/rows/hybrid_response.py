"""Rows of `HybridResponse`."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from samplers.hits import ZEROS

from rows import kind, made

SHAPES = ((1, 1, "1/2"), (100, 61, "0.9"), (20, 2, "0.05"))
KINDS = (kind("HybridResponse", *({"steps": m, "width": w, "share": t} for m, w, t in SHAPES)),)


def _case(rng: Random, effort: int) -> Case:
    epsilon, steps = some_epsilon(rng), rng.randint(1, 5)
    width, share = rng.randint(1, steps), Fraction(rng.randint(1, 9), 10)
    call = made("HybridResponse", epsilon=epsilon, steps=steps, width=width, share=share)
    return Case(call, reports.every_two(reports.hybrid(epsilon, steps, width, share))[: effort + 1])


NEIGHBOURS = (Row("HybridResponse", _case),)
DRAWN = {
    "HybridResponse": (
        made("HybridResponse", epsilon=1, steps=6, width=2, share="1/4"),
        lambda m: m.release(ZEROS * 1.0) < 2,
        0.25 * 2 * exp(1) / (2 * exp(1) + 6),
    )
}
