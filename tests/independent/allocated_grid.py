"""Epochs of random allocation by sums of likelihood ratios on a grid: laws above and below, convolved by FFT.

An epoch of T batches has the ratio S/T of its outputs, S a sum of T independent ratios X. X is moved to a grid with its
mean kept within each cell, which gives more of every convex function of S; or to the middles of cells, all moved so far
that each is beyond the mean of its cell, which gives less in one of the two orders. Nothing of the library is used.
"""

from __future__ import annotations

from math import erfc, exp, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from independent.loss_grid import Losses

Array = NDArray[np.float64]
CELLS = 1 << 19  # of sums
TAIL = 6.5  # deviations of the loss beyond which outcomes count as if they told all: 4e-11
SPREAD = 12  # deviations of a sum


def _cells(mu: float, batches: int) -> tuple[float, Array, Array]:
    """Width of a cell, and the Q- and P-masses of X = e^{mu Z - mu^2/2} in each but the last, which has no end."""
    last = exp(mu * mu / 2 + TAIL * mu)
    width = (batches + SPREAD * sqrt(batches * expm1(mu * mu)) + 2 * last) / CELLS
    with np.errstate(divide="ignore"):
        edges = np.log(width * np.arange(int(last / width) + 1)) / mu
    q, p = (_normal(edges + shift) for shift in (mu / 2, -mu / 2))
    return width, q, p


def _normal(edges: Array) -> Array:
    """The normal masses between edges: differences of the tail that is the smaller one there."""
    upper, lower = (np.array([erfc(z / sqrt(2)) / 2 for z in (sign * edges).tolist()]) for sign in (1, -1))
    return np.where(edges[1:] > 0, upper[:-1] - upper[1:], lower[1:] - lower[:-1])


def _summed(masses: Array, batches: int) -> Array:
    """The masses of a sum of so many, at 0, 1, 2, ... steps; what is beyond the last is too rare to count."""
    return np.maximum(np.fft.irfft(np.fft.rfft(masses, CELLS) ** batches, CELLS), 0.0)


def epoch(mu: float, batches: int, *, turned: bool) -> tuple[tuple[Array, Array, float], tuple[Array, Array, float]]:
    """Ratios S/T, their Q-masses, and the mass that tells all, of a law below and of a law above, in one order."""
    width, q, p = _cells(mu, batches)
    k = np.arange(len(q))
    higher = np.clip(p / width - q * k, 0.0, q)  # of the mass in a cell, at its right end: the mean is kept
    ends = np.zeros(len(q) + 1)
    ends[1:] += higher
    ends[:-1] += q - higher
    above = _summed(ends, batches)
    ratios = width * np.arange(len(above)) / batches
    lost = max(1 - float(above.sum()), 0.0) + max(1 - float((above * ratios).sum()), 0.0)
    counted = q > 1e-20
    beyond = p[counted] / q[counted] / width - k[counted] - 0.5  # of the middles, in steps
    moved = max(float(beyond.max()), 0.0) if turned else min(float(beyond.min()), 0.0)
    below = _summed(np.where(counted, q, 0.0), batches)
    middles = np.maximum(ratios + width * (0.5 + moved), 0.0)
    return (middles, below, 0.0), (ratios, above, lost)


def ends(mu: float, batches: int, epochs: int, epsilon: float, *, step: float, turned: bool) -> tuple[float, float]:
    """Bounds below and above delta(epsilon) of epochs, up to rounding errors of about 1e-12."""
    found = []
    for (ratios, masses, lost), rounding in zip(epoch(mu, batches, turned=turned), (np.floor, np.ceil), strict=True):
        likely = masses > 1e-19
        seen, q = ratios[likely], masses[likely]
        told = lost + float(q[seen <= 0].sum()) if turned else lost
        if epochs == 1:
            x = exp(epsilon)
            found.append(told + float((q * np.maximum(1 - x * seen if turned else seen - x, 0.0)).sum()))
            continue
        seen, q = seen[seen > 0], q[seen > 0]
        losses = -np.log(seen) if turned else np.log(seen)
        law = Losses.at(q if turned else q * seen, rounding(losses / step), step)
        found.append(law.power(epochs).delta(epsilon) + 1 - (1 - told) ** epochs)
    return found[0], found[1]
