"""How fast transforms decay along a vertical line: what one law knows of it, and the sum over a composition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, Self

from flint import arb

from zcdp.numeric.balls import below, root_below
from zcdp.numeric.work import count_work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "DOWN",
    "MOST",
    "UP",
    "Bound",
    "Decay",
    "GaussianShare",
    "MonotoneShare",
    "Share",
    "WaveShare",
    "Waves",
    "least_distance",
    "least_square_sine",
    "minus_log",
]

# Sums, products, quotients and roots of non-negative doubles err by at most 2^-53 of themselves each; `UP` and `DOWN`
# cover thousands of them.
UP, DOWN = 1 + 2.0**-40, 1 - 2.0**-40
MOST = 1e300
CHUNK = 1 << 18  # numbers at a time
BOUND = 300  # nanoseconds that the bound of one law over one cell takes
# Sine and logarithm are partial sums of their series, on the safe side.
BELOW_PI, BELOW_LOG_2, BELOW_NEAR = 3.14159265358979, 0.693147180559945, 0.20264236728467


class Bound(Protocol):
    """What some shares of one kind know together."""

    def __call__(self, low: Floats, high: Floats, distance: float) -> Floats:
        """A lower bound on the sum of count * log(M(c)/|M(c + iy)|), for columns `low` and `high`, one row for each.

        Where `distance` is 0 the bound is over low <= y <= high; `high` may be infinite. Else it is over all images
        y + m omega of these y, m != 0, omega the period of the lattice: all of them at least `distance` from 0.
        """


@dataclass(frozen=True)
class Share(ABC):
    """What one law knows of its decay on the line Re z = c, and how often it is used.

    A new kind of decay is a subclass; `together` takes all shares of the kind at once, so that they can be bounded as
    arrays. All bounds are in doubles, on the safe side. Theorem: docs/theorems/decay.md.
    """

    count: int

    _: KW_ONLY
    atoms: float = 1.0
    """Not below the tilted mass of all atoms, for the images of a lattice; 1 is always true."""
    density: float = 0.0
    """If M = A + B/w, w = z + 1/2, A the part of the atoms: not below |B(z)|/M(c) on the line."""
    near_end: float = inf
    """A height up to which the middle of the integrand reaches, for proposals."""
    cells: int = 1
    """What one bound costs, in bounds on a plain law."""
    most: float = inf
    """What the bound on one use never exceeds, as atoms do not decay: where that is too little no line is tried."""

    @classmethod
    @abstractmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:
        """The bound on the decay of all of them; x is not above c + 1/2."""


@dataclass(frozen=True)
class MonotoneShare(Share):
    """A law that brings a bound of its own, one that holds for all larger heights too."""

    least: Callable[[Floats], Floats]
    """For an array of heights Y >= 0: lower bounds on log(M(c)/|M(c + iy)|) for all y >= Y, not negative."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:  # noqa: ARG003
        """One after the other."""

        def bound(low: Floats, high: Floats, distance: float) -> Floats:  # noqa: ARG001
            from numpy import maximum, zeros

            heights, total = low[:, 0], zeros(len(low))
            if distance:
                heights = 0 * heights + distance
            for share in shares:
                total = total + share.count * maximum(share.least(heights), 0.0)
            return total

        return bound


@dataclass(frozen=True)
class GaussianShare(Share):
    """Of normal losses: log(M(c)/|M(c + iy)|) = mu^2 y^2/2, for all of them together."""

    curvature: arb
    """mu^2."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:  # noqa: ARG003
        """As one curvature."""
        root = root_below(sum((share.curvature * share.count for share in shares), arb(0)))

        def bound(low: Floats, high: Floats, distance: float) -> Floats:  # noqa: ARG001
            height = 0 * low if distance else low  # Nothing is known of the images, nor asked: there is no lattice.
            return ((root * height) ** 2 / 2)[:, 0]

        return bound


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


class Decay:
    """Lower bounds on log(M(c)/|M(c + iy)|) over intervals of y. Theorem: docs/theorems/decay.md."""

    def __init__(self, shares: Sequence[Share], c: arb) -> None:
        import numpy

        self.np = numpy
        x = below(c + arb(1) / 2)
        kinds: dict[type[Share], list[Share]] = {}
        for share in shares:
            kinds.setdefault(type(share), []).append(share)
        self.bounds = [kind.together(same, x) for kind, same in kinds.items()]
        self.size = max(sum(share.cells for share in shares), 1)
        """What one bound costs, in bounds on one plain law."""
        self.count = numpy.array([float(share.count) * DOWN for share in shares])
        self.atoms = numpy.array([share.atoms for share in shares])
        self.density = numpy.array([share.density for share in shares])
        self.most = sum(share.count * share.most for share in shares)
        """No bound is above it, near enough."""
        self.least_near_end = min(share.near_end for share in shares)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """Over low <= y <= high, for arrays of both; high may be infinite."""
        return self._in_chunks(low, high, 0.0)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """The same at all y + m omega, m != 0, omega the lattice's period; they are at least `distance` from 0."""
        return self._in_chunks(low, high, distance)

    def _in_chunks(self, low: Floats, high: Floats, distance: float) -> Floats:
        count_work(BOUND * self.size * len(low))
        rows = max(CHUNK // self.size, 1)
        with self.np.errstate(all="ignore"):
            parts = [
                self._bound(low[n : n + rows, None], high[n : n + rows, None], distance)
                for n in range(0, len(low), rows)
            ]
        return self.np.concatenate(parts) if parts else low

    def _bound(self, low: Floats, high: Floats, distance: float) -> Floats:
        total = self.bounds[0](low, high, distance)
        for bound in self.bounds[1:]:
            total = total + bound(low, high, distance)
        # an overflow is no proof
        answer: Floats = self.np.minimum(total, MOST) * (DOWN - self.size * 2.0**-52)
        return answer


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
