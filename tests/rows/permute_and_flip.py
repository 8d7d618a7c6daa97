"""Rows of `PermuteAndFlip`."""

from __future__ import annotations

from functools import partial
from math import exp

from neighbours.case import Row
from neighbours.selected import one_of_scores
from samplers.hits import chosen

from rows import kind, made

KINDS = (kind("PermuteAndFlip"),)
NEIGHBOURS = [
    Row(
        "PermuteAndFlip",
        partial(one_of_scores, "PermuteAndFlip", "exponential", variant),
        variant=variant,
        deep=bool(variant),
    )
    for variant in ("", "monotone")
]
DRAWN = {
    "PermuteAndFlip": (made("PermuteAndFlip", epsilon=2), chosen([0, 3], 3), 1 / (2 * exp(1))),
    "PermuteAndFlip, monotone": (
        made("PermuteAndFlip", epsilon=2, monotone=True),
        chosen([0, 3], 6),
        1 / (2 * exp(1)),
    ),
}
