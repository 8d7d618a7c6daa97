"""How fast a composition's transform decays along a vertical line: lower bounds that hold as they are computed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.numeric.balls import below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Decay", "Row", "Share", "root_below"]

# Sums, products, quotients and roots of non-negative doubles err by at most 2^-53 of themselves each; `UP` and `DOWN`
# cover thousands of them. Sine and logarithm are partial sums of their series, on the safe side.
UP, DOWN = 1 + 2.0**-40, 1 - 2.0**-40
BELOW_PI, BELOW_LOG_2, BELOW_NEAR = 3.14159265358979, 0.693147180559945, 0.20264236728467
CHUNK = 1 << 18
MOST = 1e300


def root_below(square: arb) -> float:
    """A float not above the root of a number; 0 where nothing is known of it."""
    least = square.lower()
    return below(least.sqrt()) if least > 0 else 0.0


@dataclass(frozen=True)
class Row:
    """Two atoms with a geometric row of atoms between them: of these, |sum| <= size/sqrt(least + wave sin^2(yg/2))."""

    ends: float
    """Not below the tilted mass of the two."""
    end_wave: tuple[float, float]
    """Of the two, as in `Share.waves`."""
    size: float
    """Not below q_1 (1 + e^{-x(l-g)})/M(c), where q_1 = c_1 e^{a_1 x}, l is their distance and g the row's spacing."""
    least: float
    """Not above (1 - e^{-xg})^2."""
    wave: float
    """Not above 4 e^{-xg}."""


@dataclass(frozen=True)
class Share:
    """What the bounds need to know of one pair on the line Re z = c; its tilted law is e^{cL} dP/M(c)."""

    count: int
    deviation: float
    """Not above the tilted standard deviation of the loss."""
    near_end: float
    """Not above pi/(2 largest loss)."""
    atoms: float
    """Not below the tilted mass of all atoms."""
    density: float
    """Not below sum of |c_k1| e^{a_k x}/M(c)."""
    waves: tuple[tuple[float, float], ...] = ()
    """Pairs (not above 2 sum of q_k q_m, (a_k - a_m)/(2 pi) to the nearest float), over atoms equally far apart."""
    stiffness: float = 0.0
    """Not above 2 pi^2 sigma^2 of discrete Gaussian noise, where that is at least 3; else 0."""
    turns: float = 0.0
    """Of discrete noise, the distance of neighbouring atoms over 2 pi, to the nearest float."""
    row: Row | None = None
    """Of discrete Laplace noise of many atoms, how its inner ones add up."""


class Decay:
    """Lower bounds on log(M(c)/|M(c + iy)|) over intervals of y. Theorem: docs/theorems/profile.md, 5 and 9."""

    def __init__(self, shares: list[Share], gauss: arb, c: arb) -> None:
        import numpy

        self.np = numpy
        self.gauss, self.x = root_below(gauss), below(c + arb(1) / 2)
        self.size = max(len(shares), 1)

        def column(values: list[float]) -> Floats:
            return numpy.array(values, dtype=float)

        self.count = column([float(s.count) * DOWN for s in shares])
        self.deviation = column([s.deviation for s in shares])
        self.near_end = column([s.near_end for s in shares])
        self.atoms = column([s.atoms for s in shares])
        self.density = column([s.density for s in shares])
        self.waves = [
            (column([s.waves[n][0] if n < len(s.waves) else 0.0 for s in shares]),
             column([s.waves[n][1] if n < len(s.waves) else 0.0 for s in shares]))
            for n in range(max((len(s.waves) for s in shares), default=0))
        ]  # fmt: skip
        self.stiffness = column([s.stiffness for s in shares])
        self.turns = column([s.turns for s in shares])
        self.stiff = bool(self.stiffness.any())
        rows = [s.row or Row(1.0, (0.0, 0.0), 0.0, 1.0, 0.0) for s in shares]
        self.row = [
            column(list(values))
            for values in zip(*((r.ends, *r.end_wave, r.size, r.least, r.wave) for r in rows), strict=True)
        ]
        self.filled = any(s.row for s in shares)
        self.least_near_end = min((s.near_end for s in shares), default=inf)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """Over low <= y <= high, for arrays of both; high may be infinite."""
        return self._in_chunks(low, high, None)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """The same at all y + m omega, m != 0, omega the lattice's period; they are at least `distance` from 0."""
        return self._in_chunks(low, high, distance)

    def _in_chunks(self, low: Floats, high: Floats, distance: float | None) -> Floats:
        rows = max(CHUNK // self.size, 1)
        with self.np.errstate(all="ignore"):
            parts = [
                self._bound(low[n : n + rows, None], high[n : n + rows, None], distance)
                for n in range(0, len(low), rows)
            ]
        return self.np.concatenate(parts) if parts else low

    def _bound(self, low: Floats, high: Floats, distance: float | None) -> Floats:
        np = self.np
        waves: Any = np.zeros((len(low), len(self.count)))
        for weight, turns in self.waves:
            waves = waves + weight * _least_square_sine(np, low * turns, high * turns)
        waves = waves * DOWN
        larger = np.maximum(low, self.x)  # squares of what is divided by it do not overflow
        far = larger * np.sqrt((low / larger) ** 2 + (self.x / larger) ** 2) * DOWN if distance is None else distance
        rest = np.sqrt(np.maximum(self.atoms * self.atoms * UP - 2 * waves, 0.0)) + self.density / far
        best = np.maximum(_minus_log(np, rest * UP), waves)
        near = np.where(high <= self.near_end, BELOW_NEAR * (self.deviation * low) ** 2, 0.0)
        if self.stiff:
            best = np.maximum(best, _theta_decay(np, self.stiffness, low * self.turns, high * self.turns))
        if self.filled:
            ends, weight, turns, size, least, wave = self.row
            apart = weight * _least_square_sine(np, low * turns, high * turns) * DOWN
            away = np.sqrt(least + wave * _least_square_sine(np, low * self.turns, high * self.turns)) * DOWN
            rest = np.sqrt(np.maximum(ends * ends * UP - 2 * apart, 0.0)) + size / away
            best = np.maximum(best, _minus_log(np, rest * UP))
        if distance is not None:
            near = np.where(self.density > 0, 0.0, near)
            low = 0 * low  # nothing is known of a Gaussian pair there, nor asked
        total = (np.maximum(best, near) * self.count).sum(axis=1) + ((self.gauss * low) ** 2 / 2)[:, 0]
        answer: Floats = np.minimum(total, MOST) * (DOWN - self.size * 2.0**-52)  # an overflow is no proof
        return answer


def _least_distance(np: Any, low: Any, high: Any) -> Any:
    """A lower bound on the distance of t to the integers over low <= t <= high, both known to a few last places.

    Between two integers it is concave: the end nearer to an integer is the least. It is 0 where `high` is infinite.
    """
    finite = np.isfinite(high)
    high = np.where(finite, high, low)
    slip = high * 2.0**-48
    floor = np.floor(low - slip)
    distance = np.minimum(low - floor - slip, floor + 1 - high - slip)
    return np.where(finite, np.clip(distance, 0.0, 0.5), 0.0)


def _least_square_sine(np: Any, low: Any, high: Any) -> Any:
    """A lower bound on sin^2(pi t) over low <= t <= high."""
    u = _least_distance(np, low, high) * (BELOW_PI * DOWN)
    v = u * u
    sine = u * (1 - v / 6 * (1 - v / 20 * (1 - v / 42)))
    return sine * sine * DOWN


def _theta_decay(np: Any, stiffness: Any, low: Any, high: Any) -> Any:
    """S d^2 - 5 e^{-S (1 - 2d)} where d is the distance of t to the integers, over low <= t <= high; 0 for S = 0.

    e^{-x} <= (1 + x/64)^{-64}. Theorem: docs/theorems/discrete-gaussian.md.
    """
    least = _least_distance(np, low, high)
    most = np.minimum(least + (high - low) + high * 2.0**-46, 0.5)
    image = 1 + stiffness * (1 - 2 * most) * (DOWN / 64)
    for _ in range(6):
        image = np.minimum(image * image, MOST)  # an overflow would be no harm, but a warning
    decay = stiffness * (least * least) * DOWN - 5 * UP / image
    return np.where(stiffness > 0, np.maximum(decay, 0.0), 0.0)


def _minus_log(np: Any, x: Any) -> Any:
    """A lower bound on max(-log x, 0) for x >= 0: with x = m 2^-e, e log 2 + 2 artanh((1 - m)/(1 + m))."""
    m, e = np.frexp(x)
    t = (1 - m) / (1 + m)
    s = t * t
    series = 2 * t * (1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s / 11)))))
    return np.where(x < 1, np.where(x > 0, series - e * BELOW_LOG_2, 700.0), 0.0) * DOWN
