"""Two neighbouring answers with noise added: the laws of the outputs, from the densities of the noises.

The scale of continuous noise is 1 and moves are in its units. A vector of answers has independent noise on each
coordinate; the sign of a move says which of the two inputs has the larger answer there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import erfc, exp, expm1, log, sqrt

import numpy as np

from neighbours.law import Array, Pair, together

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
BINS = 120


def moved(one: Callable[[float], Pair], moves: Sequence[float | Fraction | int]) -> Pair:
    """The vector of answers moves so far, each coordinate in its direction."""
    pairs = [one(abs(move)) if move > 0 else one(abs(move)).reversed() for move in moves if move]
    return together(pairs)


@cache
def laplace(shift: float) -> Pair:
    """Density e^-|x|/2 around 0 against the same around the shift; bins only in between, where the loss changes."""
    a = float(shift)
    bins = max(8, min(BINS, int(BINS * a)))
    edges = np.linspace(0, a, bins + 1)
    inside = -expm1(-a / bins) / 2
    p = np.concatenate([[0.5], np.exp(-edges[:-1]) * inside, [exp(-a) / 2]])
    return Pair.binned(p, p[::-1], np.concatenate([[a], a - 2 * edges, [-a]]))


def _masses(density: Callable[[Array], Array], edges: Array) -> Array:
    """The mass of each bin, by Gauss's rule: the densities are analytic and the bins narrow."""
    half = np.diff(edges) / 2
    points = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    found: Array = (density(points) @ WEIGHTS) * half
    return found


@cache
def logistic(shift: float) -> Pair:
    """Density sech^2(x/2)/4: the loss falls from the shift to minus the shift along the whole line."""
    a = float(shift)
    reach = 16.0
    edges = np.linspace(-reach, a + reach, max(2 * BINS, int(8 * (a + 2 * reach))) + 1)

    def density(x: Array) -> Array:
        return 1 / (2 * np.cosh(x / 2)) ** 2

    tail = 1 / (1 + exp(reach)), 1 / (1 + exp(a + reach))
    p = np.concatenate([[tail[0]], _masses(density, edges), [tail[1]]])
    loss = 2 * (np.logaddexp(0, edges - a) - np.logaddexp(0, edges)) + a
    return Pair.binned(p, p[::-1], np.concatenate([[a], loss, [-a]]))


@cache
def gaussian(shift: float) -> Pair:
    """Standard normal noise. The two bins at the ends have masses below 1e-30, and are not split from above."""
    a = float(shift)
    reach = 12.0
    edges = np.linspace(-reach, a + reach, 2 * BINS + 1)

    def density(x: Array) -> Array:
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    p = np.concatenate([[erfc(reach / sqrt(2)) / 2], _masses(density, edges), [erfc((a + reach) / sqrt(2)) / 2]])
    loss = a * (a / 2 - edges)
    ends = log(p[0]) - log(p[-1])
    return Pair.binned(p, p[::-1], np.concatenate([[ends], loss, [-ends]]))


@cache
def geometric(rate: Fraction | float, shift: int) -> Pair:
    """Mass proportional to e^{-rate |i|}: outcomes beyond both inputs have one loss each."""
    t, d = float(rate), int(shift)
    tail = -1 / expm1(-t)
    weights = [tail, *(exp(-t * i) for i in range(1, d)), exp(-t * d) * tail]
    total = sum(weights)
    p = [weight / total for weight in weights]
    return Pair.exactly(p, p[::-1])


@cache
def discrete_gaussian(variance: Fraction, shift: int) -> Pair:
    """Mass proportional to e^{-i^2/(2 variance)} on the integers; what is left out has mass below 1e-60."""
    v = float(variance)
    reach = int(17 * sqrt(v)) + 3
    at = np.arange(-reach, reach + shift + 1)
    near, far = np.exp(-(at**2) / (2 * v)), np.exp(-((at - shift) ** 2) / (2 * v))
    kept = (near > 1e-290) & (far > 1e-290)
    return Pair.exactly(near[kept] / near.sum(), far[kept] / far.sum())


def staircase(epsilon: Fraction, gamma: Fraction | None, shift: Fraction) -> Pair:
    """The density falls by e^epsilon at gamma, 1 + gamma, ...; sensitivity 1.

    Left of both inputs and right of both, both densities fall by e^epsilon per unit: one unit stands for all.
    """
    e = float(epsilon)
    step = 1 / (1 + exp(e / 2)) if gamma is None else float(gamma)
    a = float(shift)

    def density(x: float) -> float:
        whole = int(abs(x))
        return exp(-e * (whole + (abs(x) - whole >= step)))

    size = int(a) + 3
    steps = [sign * (n + part) for n in range(size) for part in (0.0, step) for sign in (1, -1)]
    cuts = sorted({-1.0, 0.0, a, a + 1, *(x + move for x in steps for move in (0.0, a))})
    cuts = [cut for cut in cuts if -1 <= cut <= a + 1]
    series = -1 / expm1(-e)
    near, far = [], []
    for left, right in pairwise(cuts):
        if right - left < 1e-12:
            continue
        middle = (left + right) / 2
        length = (right - left) * (1 if 0 < middle < a else series)
        near.append(length * density(middle))
        far.append(length * density(middle - a))
    return Pair.exactly(np.array(near) / sum(near), np.array(far) / sum(far))


def discrete_staircase(epsilon: Fraction, sensitivity: int, r: int, shift: int) -> Pair:
    """The same on the integers: the mass falls at r, sensitivity + r, ..."""
    e = float(epsilon)

    def mass(i: int) -> float:
        return exp(-e * (abs(i) // sensitivity + (abs(i) % sensitivity >= r)))

    series = -1 / expm1(-e)
    at = [(i, 1 if 0 <= i < shift else series) for i in range(-sensitivity, shift + sensitivity)]
    near, far = [weight * mass(i) for i, weight in at], [weight * mass(i - shift) for i, weight in at]
    return Pair.exactly(np.array(near) / sum(near), np.array(far) / sum(far))
