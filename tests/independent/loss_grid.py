"""Compositions of explicit densities by convolution of their losses on a grid, rounded up or down: bounds both ways.

A pair of output laws is given by its densities on a line. Outputs in a bin are one outcome if losses are rounded down
(a post-processing), and take the larger ratio of its two ends if they are rounded up. Losses then move to multiples of
a step, all up or all down, and are convolved by FFT. Nothing of the library is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
REACH = 12.0  # in deviations of the noise: beyond it are less than 1e-32


@dataclass(frozen=True)
class Line:
    """The logarithms of two densities on an interval of the line, along which their ratio is monotone."""

    log_p: Callable[[Array], Array]
    log_q: Callable[[Array], Array]
    low: float
    high: float


def normals(moves: list[tuple[float, float]], sigma: float) -> Callable[[Array], Array]:
    """log of the density of normal laws at the moves, with their chances."""

    def density(x: Array) -> Array:
        terms = [np.log(chance) - ((x - move) / sigma) ** 2 / 2 for move, chance in moves]
        return np.asarray(np.logaddexp.reduce(terms)) - np.log(sigma * np.sqrt(2 * np.pi))

    return density


def mixture(moves: list[tuple[float, float]], sigma: float) -> Line:
    """Normal laws at the moves, with their chances, against one at 0."""
    top = max(move for move, _ in moves)
    return Line(normals(moves, sigma), normals([(0.0, 1.0)], sigma), -REACH * sigma, top + REACH * sigma)


def binned(line: Line, bins: int) -> tuple[Array, Array, Array]:
    """P-masses, Q-masses, by Gauss's rule, and the losses at the edges of bins."""
    edges = np.linspace(line.low, line.high, bins + 1)
    half = np.diff(edges)[:, None] / 2
    points = edges[:-1, None] + half * (NODES + 1)
    p, q = ((np.exp(log(points)) * WEIGHTS * half).sum(axis=1) for log in (line.log_p, line.log_q))
    return p, q, line.log_p(edges) - line.log_q(edges)


@dataclass(frozen=True)
class Losses:
    """Masses of multiples of a step, from `first` on."""

    step: float
    first: int
    masses: Array

    @classmethod
    def at(cls, masses: Array, places: Array, step: float) -> Losses:
        """Masses at whole numbers of steps."""
        whole = places.astype(np.int64)
        first = int(whole.min())
        return cls(step, first, np.bincount(whole - first, masses))

    def delta(self, epsilon: float) -> float:
        losses = self.step * (self.first + np.arange(len(self.masses)))
        told = losses > epsilon
        return float((self.masses[told] * -np.expm1(epsilon - losses[told])).sum())

    def power(self, count: int) -> Losses:
        """So many uses, by FFT on a ring that holds all losses of one use and twelve deviations of their sum."""
        if count == 1:
            return self
        k = np.arange(len(self.masses))
        mean = float((k * self.masses).sum())
        spread = float(((k - mean) ** 2 * self.masses).sum())
        reach = int(12 * np.sqrt(count * spread)) + len(self.masses)
        size = 1 << (2 * reach + 1).bit_length()
        found = np.maximum(np.fft.irfft(np.fft.rfft(self.masses, size) ** count, size), 0.0)
        start = round(mean * count) - size // 2
        return Losses(self.step, self.first * count + start, np.roll(found, -(start % size)))


def rounded(line: Line, step: float, bins: int, *, turned: bool = False) -> tuple[Losses, Losses]:
    """The losses of (P, Q), or of (Q, P) if `turned`, rounded down and rounded up."""
    p, q, edges = binned(line, bins)
    sign, first = (-1.0, q) if turned else (1.0, p)
    middle, corner = sign * np.log(p / q), np.maximum(sign * edges[:-1], sign * edges[1:])
    return Losses.at(first, np.floor(middle / step), step), Losses.at(first, np.ceil(corner / step), step)


def ends(
    line: Line, count: int, epsilon: float, *, step: float, bins: int, turned: bool = False
) -> tuple[float, float]:
    """Bounds below and above delta(epsilon) of `count` uses, up to rounding errors of about 1e-13."""
    low, high = rounded(line, step, bins, turned=turned)
    return low.power(count).delta(epsilon), high.power(count).delta(epsilon)
