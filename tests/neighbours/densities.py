"""Noise of a density and the same moved: bins of the outputs, with masses by Gauss's rule in doubles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import inf, lgamma, log, pi

import numpy as np

from neighbours.law import LEAST, Array, Law, Pair, split

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
BINS, LOOKED_AT = 240, 9


def _masses(log_density: Callable[[Array], Array], edges: Array, shift: float) -> tuple[Array, Array]:
    """Of f and of f moved, with one width for both: the width of a narrow bin has few digits far from 0."""
    half = np.diff(edges) / 2
    points = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    p, q = ((np.exp(log_density(at)) @ WEIGHTS) * half for at in (points, points - shift))
    return p / p.sum(), q / q.sum()


def moved(
    log_density: Callable[[Array], Array],
    shift: float,
    *,
    reach: float,
    places: Sequence[float] = (0.0,),
    tail: tuple[float, float] = (0.0, inf),
    ends: tuple[float, float] = (-inf, inf),
) -> Pair:
    """f against the same moved by `shift` > 0, both between `ends`.

    Bins are densest around `places`, where f may bend, and around them moved. Beyond `reach` from 0, f is integrated in
    bins that double in length until nothing is left, and losses are taken to lie within `tail` in size; from below the
    bins of each side out there are one outcome, as doubles know x only to so many digits, and log f(x) as many fewer as
    x is large.
    """
    near = np.sinh(np.linspace(-1, 1, BINS + 1) * np.arcsinh(reach * 20)) / 20
    far = reach * 2.0 ** np.arange(1, 60)
    cuts = {0.0, shift, *(place + by for place in places for by in (0.0, shift))}
    inner = np.unique(np.concatenate([near, near + shift, list(cuts)]))
    inner = inner[(inner >= -reach) & (inner <= reach + shift)]
    edges = np.concatenate([-far[::-1], inner, far + shift])
    low, high = ends
    if np.isfinite(low):
        edges = edges[edges > low]
        edges = np.unique(np.concatenate([[low, low + shift], edges]))
    if np.isfinite(high):
        edges = edges[edges < high + shift]
        edges = np.unique(np.concatenate([edges, [high, high + shift]]))

    def inside(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.where((x >= low) & (x <= high), log_density(x), -np.inf)

    p, q = _masses(inside, edges, shift)
    steps = np.linspace(0, 1, LOOKED_AT)
    points = edges[:-1, None] + np.diff(edges)[:, None] * steps
    with np.errstate(all="ignore"):
        losses = log_density(points) - log_density(points - shift)
    least, most = losses.min(axis=1), losses.max(axis=1)
    wide = (most - least) / 32 + 1e-12  # a peak inside a bin lies at most 1/64 of its range above what was looked at
    beyond = (edges[1:] <= -reach) | (edges[:-1] >= reach + shift)
    least, most = least - wide, most + wide
    least[beyond] = np.minimum(least[beyond], np.where(edges[1:][beyond] <= 0, tail[0], -tail[1]))
    kept = (p > LEAST) & (q > LEAST)
    if np.isfinite(low) or np.isfinite(high):
        kept |= (p > LEAST) ^ (q > LEAST)
        least = np.where((p > 0) & (q > 0), least, -np.inf)
    safe = np.where(np.isfinite(least), least, -np.inf)
    above = split(Law(p[kept], q[kept]), safe[kept], most[kept])
    sides = beyond & (p > 0) & (q > 0)
    outcome = np.arange(len(p))
    outcome[sides & (edges[1:] <= -reach)] = 0
    outcome[sides & (edges[:-1] >= reach + shift)] = len(p) - 1
    below = Law(*(np.bincount(outcome[kept], masses[kept], len(p)) for masses in (p, q)))
    seen = (below.p > 0) | (below.q > 0)
    return Pair(Law(below.p[seen], below.q[seen]), above)


@cache
def student(degrees: float, shift: float) -> Pair:
    """At scale 1."""

    def log_density(x: Array) -> Array:
        return -(degrees + 1) / 2 * np.log1p(x * x / degrees)

    return moved(log_density, shift, reach=60.0 * max(1.0, shift))


@cache
def generalized(power: float, shift: float) -> Pair:
    """exp(-|x|^power)."""
    reach = 60.0 ** (1 / power)
    return moved(lambda x: -(np.abs(x) ** power), shift, reach=reach)


@cache
def asymmetric(left: float, right: float, shift: float) -> Pair:
    """exp(-x/right) above 0, exp(x/left) below it."""
    return moved(lambda x: -np.maximum(x / right, -x / left), shift, reach=60 * max(left, right))


@cache
def cut(degrees: float, low: float, high: float, shift: float) -> Pair:
    """Student's t at scale 1, given that it lies between two places."""

    def log_density(x: Array) -> Array:
        return -(degrees + 1) / 2 * np.log1p(x * x / degrees)

    known = [abs(end) for end in (low, high) if abs(end) < inf]
    places = tuple(end for end in (0.0, low, high) if abs(end) < inf)
    reach = max(known) + shift if len(known) > 1 else 60.0 * max(1.0, shift, *known)
    return moved(log_density, shift, reach=reach, ends=(low, high), places=places)


@cache
def mixture(share: float, degrees: float, wide: float, shift: float) -> Pair:
    """Student's t at scale 1 and, with probability `share`, at scale `wide`."""

    def log_density(x: Array) -> Array:
        one = -(degrees + 1) / 2 * np.log1p(x * x / degrees)
        other = -(degrees + 1) / 2 * np.log1p((x / wide) ** 2 / degrees) - np.log(wide)
        return np.logaddexp(np.log1p(-share) + one, np.log(share) + other)

    return moved(log_density, shift, reach=60.0 * wide * max(1.0, shift))


@cache
def contaminated(share: float, power: float, degrees: float, shift: float) -> Pair:
    """exp(-|x|^power) and, with probability `share`, Student's t at scale 2, which decides far out."""
    light = -log(2) - lgamma(1 + 1 / power)
    heavy = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2 - log(2)

    def log_density(x: Array) -> Array:
        one = light - np.abs(x) ** power
        other = heavy - (degrees + 1) / 2 * np.log1p(x * x / 4 / degrees)
        return np.logaddexp(np.log1p(-share) + one, np.log(share) + other)

    return moved(log_density, shift, reach=120.0 * max(1.0, shift))


@cache
def resting(shift: float) -> Pair:
    """1/(1 + 2 x^2 - x^4 + x^6/6), which has one mode and rests at +-sqrt(2)."""

    def log_density(x: Array) -> Array:
        square = x * x
        return -np.log1p(square * (2 - square + square * square / 6))

    return moved(log_density, shift, reach=60.0 * max(1.0, shift))


@cache
def two_modes(apart: float, shift: float) -> Pair:
    """exp(-|x - apart|) + exp(-|x + apart|)."""

    def log_density(x: Array) -> Array:
        return np.logaddexp(-np.abs(x - apart), -np.abs(x + apart))

    return moved(log_density, shift, reach=60.0 + apart, places=(-apart, apart))
