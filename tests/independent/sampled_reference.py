"""Sampled Gaussian noise by other means: a plain contour in extended floats on another line, and real integrals.

Nothing of the library is used. The transform is summed on the real line, not on a rotated one, over far more points.
"""

from __future__ import annotations

from math import erfc, exp, inf, log, log1p, pi, sqrt

import numpy as np

POINTS, BLOCK = 1200, 48
LONG, CLONG = np.longdouble, np.clongdouble
PI = LONG("3.14159265358979323846264338327950288")


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The profile of a Gaussian pair."""
    place, root = epsilon / mu, sqrt(2)
    return (erfc((place - mu / 2) / root) - exp(min(epsilon, 700.0)) * erfc((place + mu / 2) / root)) / 2


def once(q: float, mu: float, epsilon: float, *, add: bool = False) -> float:
    """One use, by the densities themselves: the profile at any real epsilon."""
    x = exp(epsilon)
    if add:
        return 1 - x + x * once(q, mu, -epsilon)
    return 1 - x if x <= 1 - q else q * gaussian_delta(mu, log((x - 1 + q) / q))


def twice(q: float, mu: float, epsilon: float, *, add: bool = False) -> float:
    """Two uses: the mean over the first loss of what the second makes of the rest; a sum over a fine grid."""
    u = np.linspace(-12 * mu, 12 * mu + 2 * mu * mu, 40_001)
    density = np.exp(-u * u / (2 * mu * mu)) / (mu * sqrt(2 * pi))
    w = 1 - q + q * np.exp(u - mu * mu / 2)
    loss, mass = (-np.log(w), density) if add else (np.log(w), density * w)
    rest = [once(q, mu, epsilon - x, add=add) for x in loss.tolist()]
    return float((mass * np.array(rest)).sum() * (u[1] - u[0]))


class Other:
    """delta(epsilon) of many uses in one order, by a contour on the line Re z = c."""

    def __init__(
        self, parts: list[tuple[float, float, int]], c: float, *, add: bool = False, most: int = 40_000
    ) -> None:
        self.parts, self.c, self.add, self.most = parts, c, add, most

    def _u(self, q: float, mu: float, s: float) -> tuple[np.ndarray, np.longdouble]:
        middle = np.linspace(-60 * mu + min(s, 0) * mu * mu, 60 * mu + max(s, 0) * mu * mu, 4_001)
        size = s * np.logaddexp(log1p(-q) if q < 1 else -inf, log(q) + middle - mu * mu / 2) - middle**2 / (2 * mu * mu)
        kept = middle[size > size.max() - 60]
        first, last = kept[0] - mu, kept[-1] + mu
        step = LONG((last - first) / POINTS)  # a multiple of it for each point: differences of floats would not do
        return np.arange(int(first / step), int(last / step)).astype(LONG) * step, step

    def log_moments(self, y: np.ndarray) -> np.ndarray:
        """log M(c + iy), of each part by a sum over u; the logarithm to the branch that its power needs."""
        total = np.zeros(len(y), dtype=CLONG)
        for q, mu, count in self.parts:
            s = -LONG(self.c) if self.add else 1 + LONG(self.c)
            u, step = self._u(q, mu, float(s))
            w = np.log((1 - LONG(q)) + LONG(q) * np.exp(u - LONG(mu) ** 2 / 2))
            size = s * w - u * u / (2 * LONG(mu) ** 2)
            top = size.max()
            mass = np.exp(size - top) * step / np.sqrt(2 * PI * LONG(mu) ** 2)
            sign = -1 if self.add else 1
            turns = np.outer(sign * y.astype(LONG), w)
            value = np.cos(turns) @ mass + CLONG(1j) * (np.sin(turns) @ mass)
            with np.errstate(divide="ignore"):
                total += count * (np.log(value) + top)
        return total

    def log_head(self) -> float:
        return float(self.log_moments(np.array([0.0]))[0].real)

    def delta(self, epsilon: float, period: float, *, tolerance: float = 1e-20) -> tuple[float, float]:
        """The value, and how much noise there may be in it; the period must be long enough."""
        h = 2 * pi / period
        head, total, size, k = self.log_head(), LONG(0), LONG(0), 0
        while k < self.most:
            index = np.arange(k, k + BLOCK)
            y = (index * h).astype(LONG)
            z = LONG(self.c) + CLONG(1j) * y
            terms = np.exp(self.log_moments(y) - head - CLONG(1j) * y * LONG(epsilon)) / (z * (z + 1))
            if k == 0:
                terms[0] /= 2
            total += terms.real.sum()
            size += np.abs(terms).sum()
            k += BLOCK
            if np.abs(terms[-1]) * k < tolerance * max(size, LONG(1e-300)):
                break
        else:
            return float("nan"), inf
        scale = exp(head - self.c * epsilon) * h / pi
        count = sum(part[2] for part in self.parts)
        return float(total) * scale, float(size) * scale * 1e-18 * count
