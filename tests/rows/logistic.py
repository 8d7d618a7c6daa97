"""Rows of `Logistic`."""

from __future__ import annotations

from functools import partial
from math import exp, sqrt

from neighbours import noise
from neighbours.added_noise import SENSITIVITIES, real_noise
from neighbours.case import Row
from samplers.hits import far

from rows import kind, made

KINDS = (kind("Logistic", {}, {"sensitivity": made("L0LInf", 20, 1)}, {"sensitivity": made("L1LInf", 7, "2.5")}),)
NEIGHBOURS = [
    Row("Logistic", partial(real_noise, "Logistic", noise.logistic, sqrt(1 / 3), one), one, deep=one != "scalar")
    for one in SENSITIVITIES
]
DRAWN = {"Logistic": (made("Logistic", epsilon=2, sensitivity=6), far(3), 2 / (1 + exp(1)))}  # a scale of 3
