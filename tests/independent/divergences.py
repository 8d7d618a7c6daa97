"""Renyi divergences of what a release draws, from output laws written down here: at 400 orders, in floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import expm1
from typing import Any

import numpy as np

from independent.tables import Charge

ORDERS = 1 + np.geomspace(1e-6, 1e4, 400)
Curve = Any
"""An array, one number for each order."""


def gaussian(variance: Fraction, square: Fraction) -> Curve:
    """Of discrete Gaussian noise on answers that move by whole numbers: that of the square of the move."""
    return ORDERS * float(square / (2 * variance))


@lru_cache(4096)
def laplace(rate: Fraction, move: Fraction) -> Curve:
    """Of noise with mass in proportion to exp(-rate |x|), and the same noise moved by a whole number."""
    r, d, s = float(rate), float(abs(move)), ORDERS - 1
    if not d:
        return np.zeros_like(ORDERS)
    # P^order Q^-s: two tails on which the loss is constant, and a geometric sum in between; r d s is taken out
    tails = (1 + np.exp(-(2 * s + 1) * r * d)) / -expm1(-r)
    step = (2 * s + 1) * r
    between = np.exp(-step) * -np.expm1(-step * (d - 1)) / -np.expm1(-step)
    weight = -expm1(-r) / (2 + expm1(-r))
    return r * d + np.log(weight * (tails + between)) / s


@lru_cache(256)
def selection(epsilon: Fraction) -> Curve:
    """The largest of all laws whose losses lie in an interval of length epsilon: two outcomes, at its ends."""
    eta = float(epsilon)
    t = np.linspace(0, eta, 2003)[1:-1, None]
    q = np.expm1(t - eta) / (np.exp(t) * np.expm1(-eta))
    p = q * np.exp(t)
    s = ORDERS[None, :] - 1
    first, second = np.log(p) + s * t, np.log1p(-p) + s * (t - eta)
    return (np.logaddexp(first, second) / s).max(axis=0)


def chosen(rate: Fraction, one: Sequence[int], other: Sequence[int]) -> Curve:
    """Of an index by exp(rate score), of the scores of two neighbours."""
    logs = [float(rate) * (np.array(scores, dtype=float) - max(scores)) for scores in (one, other)]
    p, q = (log - np.log(np.exp(log).sum()) for log in logs)
    s = ORDERS[:, None] - 1
    return np.maximum(np.logaddexp.reduce(p[None, :] + s * (p - q)[None, :], axis=1) / (ORDERS - 1), 0)


def use(charge: Charge) -> Curve:
    """One use of a mechanism, at its worst neighbours."""
    if charge.law == "selection":
        return selection(charge.number)
    largest = charge.sensitivity[-1]
    full, rest = divmod(charge.sensitivity[0], largest)
    if charge.law == "gaussian":
        return gaussian(charge.number, full * largest**2 + rest**2)
    return int(full) * laplace(charge.number, largest) + laplace(charge.number, rest)


def rho_between(charges: Mapping[Charge, int]) -> tuple[float, float]:
    """rho of all together, which need not peak at one order, is between these."""
    curves = [uses * use(charge) for charge, uses in charges.items()]
    return float((sum(curves) / ORDERS).max()), sum(float((one / ORDERS).max()) for one in curves)
