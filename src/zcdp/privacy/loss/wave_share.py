"""The decay of laws made of atoms and densities: lower bounds that hold as they are computed, in arrays of doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from zcdp.privacy.loss.share import DOWN, UP, Share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["WaveShare", "Waves", "least_distance", "least_square_sine", "minus_log"]

# Sine and logarithm are partial sums of their series, on the safe side.
BELOW_PI, BELOW_LOG_2, BELOW_NEAR = 3.14159265358979, 0.693147180559945, 0.20264236728467


@dataclass(frozen=True)
class WaveShare(Share):
    """What the bounds need to know of one law on the line Re z = c; its tilted law is e^{cL} dP/M(c).

    `near_end` is not above pi over the distance of the least and the largest loss, `density` not below the sum of
    |c_k1| e^{a_k x}/M(c).
    """

    deviation: float
    """Not above the tilted standard deviation of the loss."""
    waves: tuple[tuple[float, float], ...] = ()
    """Pairs (not above 2 sum of q_k q_m, (a_k - a_m)/(2 pi) to the nearest float), over atoms equally far apart."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Waves:
        """As one array, a column for each."""
        return Waves(shares, x)


class Waves:
    """The bounds of docs/theorems/decay.md for many laws at once."""

    def __init__(self, shares: Sequence[WaveShare], x: float) -> None:
        import numpy

        self.np, self.x = numpy, x
        self.count = self.column([float(s.count) * DOWN for s in shares])
        self.deviation = self.column([s.deviation for s in shares])
        self.near_end = self.column([s.near_end for s in shares])
        self.atoms = self.column([s.atoms for s in shares])
        self.density = self.column([s.density for s in shares])
        self.waves = [
            (self.column([s.waves[n][0] if n < len(s.waves) else 0.0 for s in shares]),
             self.column([s.waves[n][1] if n < len(s.waves) else 0.0 for s in shares]))
            for n in range(max((len(s.waves) for s in shares), default=0))
        ]  # fmt: skip

    def column(self, values: list[float]) -> Floats:
        """One number for each share."""
        return self.np.array(values, dtype=float)

    def best(self, low: Floats, high: Floats, distance: float) -> Any:
        """The best bound that needs no small height, for each share."""
        np = self.np
        waves: Any = np.zeros((len(low), len(self.count)))
        for weight, turns in self.waves:
            waves = waves + weight * least_square_sine(np, low * turns, high * turns)
        waves = waves * DOWN
        larger = np.maximum(low, self.x)  # Squares of what is divided by it do not overflow.
        far = distance or larger * np.sqrt((low / larger) ** 2 + (self.x / larger) ** 2) * DOWN
        rest = np.sqrt(np.maximum(self.atoms * self.atoms * UP - 2 * waves, 0.0)) + self.density / far
        return np.maximum(minus_log(np, rest * UP), waves)

    def __call__(self, low: Floats, high: Floats, distance: float) -> Floats:
        """See `Bound`."""
        np = self.np
        best = self.best(low, high, distance)
        near = np.where(high <= self.near_end, BELOW_NEAR * (self.deviation * low) ** 2, 0.0)
        if distance:  # A density is not periodic: what is known near 0 says nothing of its images.
            near = np.where(self.density > 0, 0.0, near)
        total: Floats = (np.maximum(best, near) * self.count).sum(axis=1)
        return total


def least_distance(np: Any, low: Any, high: Any) -> Any:
    """A lower bound on the distance of t to the integers over low <= t <= high, both known to a few last places.

    Between two integers it is concave: the end nearer to an integer is the least. It is 0 where `high` is infinite.
    """
    finite = np.isfinite(high)
    high = np.where(finite, high, low)
    slip = high * 2.0**-48
    floor = np.floor(low - slip)
    distance = np.minimum(low - floor - slip, floor + 1 - high - slip)
    return np.where(finite, np.clip(distance, 0.0, 0.5), 0.0)


def least_square_sine(np: Any, low: Any, high: Any) -> Any:
    """A lower bound on sin^2(pi t) over low <= t <= high."""
    u = least_distance(np, low, high) * (BELOW_PI * DOWN)
    v = u * u
    sine = u * (1 - v / 6 * (1 - v / 20 * (1 - v / 42)))
    return sine * sine * DOWN


def minus_log(np: Any, x: Any) -> Any:
    """A lower bound on max(-log x, 0) for x >= 0: with x = m 2^-e, e log 2 + 2 artanh((1 - m)/(1 + m))."""
    m, e = np.frexp(x)
    t = (1 - m) / (1 + m)
    s = t * t
    series = 2 * t * (1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s / 11)))))
    return np.where(x < 1, np.where(x > 0, series - e * BELOW_LOG_2, 700.0), 0.0) * DOWN
