"""A few uses of sampled normal noise at any rate: the closed form of one, and an integral over each further one.

With H_n the hockey stick divergence of n uses and w the ratio of one, H_{n+1}(x) = E H_n(x/w). H_n is kept at nodes of
log x that are dense where the rate is, and taken as linear in x between them. Nothing of the library is used.
"""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NODES, PLACES, REACH = 6001, 1201, 9.0


def _normal(z: Array) -> Array:
    return np.array([erfc(-one / sqrt(2)) / 2 for one in z.tolist()])


def _once(rate: float, mu: float, losses: Array, *, removed: bool) -> Array:
    """H_1 at x = e^loss: of (A, Q), or of (Q, A); w = 1 - rate + rate e^{mu z - mu^2/2} under Q."""
    sign = 1 if removed else -1
    part = 1 + np.expm1(sign * losses) / rate  # e^{mu z - mu^2/2} at the place where w = x, or 1/x
    z = (np.log(np.maximum(part, 1e-300)) + mu * mu / 2) / mu
    if removed:
        found = rate * (_normal(mu - z) - part * _normal(-z))
        return np.where(part > 0, found, -np.expm1(losses))
    below, moved = _normal(z), _normal(z - mu)
    return np.where(part > 0, -np.expm1(losses) * below + np.exp(losses) * rate * (below - moved), 0.0)


def delta(rate: float, mu: float, uses: int, epsilon: float, *, removed: bool) -> float:
    """delta(epsilon) of so many uses, to about 1e-4 of itself."""
    z = np.linspace(-REACH, REACH + mu, PLACES)
    chance = np.exp(-z * z / 2) * (z[1] - z[0]) / sqrt(2 * np.pi)
    loss = np.log1p(rate * np.expm1(mu * z - mu * mu / 2))
    masses, steps = (chance * np.exp(loss), loss) if removed else (chance, -loss)
    reach = np.arcsinh(uses * max(abs(steps).max(), epsilon) / rate * 1.01)
    losses = rate * np.sinh(np.linspace(-reach, reach, NODES))
    x = np.expm1(losses)
    known = _once(rate, mu, losses, removed=removed)
    for left in range(uses - 1, 0, -1):
        places = np.array([epsilon]) if left == 1 else losses
        after = np.expm1(places[:, None] - steps[None, :])
        inside = np.interp(after, x, known)
        inside = np.where(after < x[0], -after, inside)
        known = (inside * masses).sum(axis=1)
    return float(known[0]) if uses > 1 else float(_once(rate, mu, np.array([epsilon]), removed=removed)[0])
