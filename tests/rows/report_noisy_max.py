"""Rows of `ReportNoisyMax`."""

from __future__ import annotations

from functools import partial

from neighbours.case import Row
from neighbours.selected import WINNERS, one_of_scores

from rows import kind

KINDS = (kind("ReportNoisyMax", *({"noise": noise} for noise in ("gumbel", "exponential", "laplace"))),)
NEIGHBOURS = [
    Row("ReportNoisyMax", partial(one_of_scores, "ReportNoisyMax", noise, variant, noise=noise), variant=variant)
    for noise in WINNERS
    for variant in (noise, f"{noise} monotone")
]
TEXTS = {"ReportNoisyMax": lambda i: f"epsilon={i.number()}, noise={i.draw.choice(list(WINNERS))!r}"}
