"""Lower bounds on log(M(c)/|M(c + iy)|): how fast the transform of the loss decays along the vertical line Re z = c.

The engines that invert the transform by a contour integral (the Fourier or characteristic function accountant) use
these bounds to certify which nodes y of the line may be left out. Each law of a composition contributes a `Share`;
`Decay` adds the shares up, since |M| of a composition is the product of the factors. The bounds are computed in doubles
with numpy, rounded to the safe side. Theorem: docs/theorems/decay.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, Self

from flint import arb

from zcdp.numeric.balls import below, root_below
from zcdp.numeric.work import BOUND, count_work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "DOWN",
    "LARGEST_BOUND",
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

# Each sum, product, quotient or root of non-negative doubles has a relative error of at most 2^-53. Multiplying by `UP`
# or `DOWN` makes up for thousands of such errors.
UP, DOWN = 1 + 2.0**-40, 1 - 2.0**-40
LARGEST_BOUND = 1e300  # No bound is larger: an overflow to infinity would prove nothing.
CHUNK = 1 << 18  # numbers in one numpy array: longer ones are computed in pieces
# Lower bounds on pi, log 2 and 2/pi^2. Sine and logarithm below are partial sums of their series, on the safe side.
BELOW_PI, BELOW_LOG_2, BELOW_NEAR = 3.14159265358979, 0.693147180559945, 0.20264236728467


class Bound(Protocol):
    """A function that bounds the decay of several laws, whose shares have the same class, over many intervals."""

    def __call__(self, low: Floats, high: Floats, distance: float) -> Floats:
        """Certified lower bounds on the sum over the laws of count * log(M(c)/|M(c + iy)|), one for each interval.

        `low` and `high` are columns. If `distance` is 0, row n is a bound for all y with low[n] <= y <= high[n], where
        high[n] may be infinite. Else the law has a lattice of period omega in y, and row n is a bound for all images
        y + m omega, m != 0, of these y; all of the images have an absolute value of at least `distance`.
        """


@dataclass(frozen=True)
class Share(ABC):
    """One law's contribution to the decay of a composition on the line Re z = c, and its number of uses, `count`.

    A new kind of bound is a subclass. Its method `together` takes all shares of the class at once, so that numpy can
    bound them as arrays. All bounds are in doubles, rounded to the safe side. The *tilted* mass of a set of losses is
    its mass under e^{cL} dP/M(c). Theorem: docs/theorems/decay.md.
    """

    count: int

    _: KW_ONLY
    atoms: float = 1.0
    """An upper bound on the tilted mass of all atoms of the loss, for the images of a lattice; 1 is always valid."""
    density: float = 0.0
    """If M = A + B/w, w = z + 1/2, with A the transform of the atoms: an upper bound on |B(z)|/M(c) on the line."""
    near_end: float = inf
    """Heuristic: the height y up to which the central peak of the integrand reaches."""
    cells: int = 1
    """What one bound costs, in units of the bound on a simple law."""
    most: float = inf
    """An upper limit for the bound on one use: atoms do not decay. If it is too small, no line is tried at all."""

    @classmethod
    @abstractmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:
        """The bound on the joint decay of all `shares`; x is a lower bound on c + 1/2."""


@dataclass(frozen=True)
class MonotoneShare(Share):
    """The share of a law with a bound of its own, which at a height Y is valid for all heights y >= Y."""

    least: Callable[[Floats], Floats]
    """For an array of heights Y >= 0: lower bounds on log(M(c)/|M(c + iy)|) for all y >= Y, not negative."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:  # noqa: ARG003
        """The sum of the bounds, evaluated one law after the other."""

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
    """The share of the Gaussian mechanism, whose loss is normal: log(M(c)/|M(c + iy)|) = mu^2 y^2/2 exactly."""

    curvature: arb
    """mu^2."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Bound:  # noqa: ARG003
        """The bound with the sum of all mu^2: a composition of Gaussian mechanisms is one of them."""
        root = root_below(sum((share.curvature * share.count for share in shares), arb(0)))

        def bound(low: Floats, high: Floats, distance: float) -> Floats:  # noqa: ARG001
            height = 0 * low if distance else low  # A normal loss has no lattice: no bound on images is needed.
            return ((root * height) ** 2 / 2)[:, 0]

        return bound


@dataclass(frozen=True)
class WaveShare(Share):
    """The share of a law with atoms at losses a_k, of tilted masses q_k, and possibly a density between them.

    Here `near_end` is at most pi divided by the distance of the least and the largest loss, and with
    M(z) = sum of e^{a_k w} (c_k0 + c_k1/w), `density` is at least the sum of |c_k1| e^{a_k x}/M(c), x = c + 1/2.
    """

    deviation: float
    """A lower bound on the tilted standard deviation of the loss."""
    waves: tuple[tuple[float, float], ...] = ()
    """For some distances of atoms: a lower bound on 2 sum of q_k q_m over atoms at that distance a_k - a_m, and
    (a_k - a_m)/(2 pi) to the nearest float."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Waves:
        """The bound on all `shares`, as arrays with one column for each of them."""
        return Waves(shares, x)


class Waves:
    """The bounds of docs/theorems/decay.md on laws with atoms, for many laws at once: see `Bound` for calls."""

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
        """An array with one number for each share."""
        return self.np.array(values, dtype=float)

    def best(self, low: Floats, high: Floats, distance: float) -> Any:
        """For each interval and each share the best of those bounds on one use that are valid at every height."""
        np = self.np
        waves: Any = np.zeros((len(low), len(self.count)))
        for weight, turns in self.waves:
            waves = waves + weight * least_square_sine(np, low * turns, high * turns)
        waves = waves * DOWN
        larger = np.maximum(low, self.x)  # Squares of quotients by this number do not overflow.
        far = distance or larger * np.sqrt((low / larger) ** 2 + (self.x / larger) ** 2) * DOWN
        rest = np.sqrt(np.maximum(self.atoms * self.atoms * UP - 2 * waves, 0.0)) + self.density / far
        return np.maximum(minus_log(np, rest * UP), waves)

    def __call__(self, low: Floats, high: Floats, distance: float) -> Floats:
        """The sum over all shares of count times the best bound: also the quadratic one, which needs y <= near_end."""
        np = self.np
        best = self.best(low, high, distance)
        near = np.where(high <= self.near_end, BELOW_NEAR * (self.deviation * low) ** 2, 0.0)
        if distance:  # A density is not periodic: a bound near y = 0 says nothing about the images.
            near = np.where(self.density > 0, 0.0, near)
        total: Floats = (np.maximum(best, near) * self.count).sum(axis=1)
        return total


class Decay:
    """Certified lower bounds on log(M(c)/|M(c + iy)|) of a composition, over intervals of y.

    Theorem: docs/theorems/decay.md.
    """

    def __init__(self, shares: Sequence[Share], c: arb) -> None:
        import numpy

        self.np = numpy
        x = below(c + arb(1) / 2)
        kinds: dict[type[Share], list[Share]] = {}
        for share in shares:
            kinds.setdefault(type(share), []).append(share)
        self.bounds = [kind.together(same, x) for kind, same in kinds.items()]
        self.size = max(sum(share.cells for share in shares), 1)
        """What one bound costs, in units of the bound on one simple law."""
        self.count = numpy.array([float(share.count) * DOWN for share in shares])
        self.atoms = numpy.array([share.atoms for share in shares])
        self.density = numpy.array([share.density for share in shares])
        self.most = sum(share.count * share.most for share in shares)
        """Heuristic: about the largest value that a bound can have at any height."""
        self.least_near_end = min(share.near_end for share in shares)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """For each interval a bound for all y with low <= y <= high; `high` may be infinite."""
        return self._in_chunks(low, high, 0.0)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """For each interval a bound for all y + m omega, m != 0, with low <= y <= high and omega the lattice's period.

        All these images must have an absolute value of at least `distance`.
        """
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
        answer: Floats = self.np.minimum(total, LARGEST_BOUND) * (DOWN - self.size * 2.0**-52)
        return answer


def least_distance(np: Any, low: Any, high: Any) -> Any:
    """A lower bound on the distance of t to the nearest integer over low <= t <= high; 0 where `high` is infinite.

    `low` and `high` may be wrong in their last places. Between two integers the distance is concave in t, so that its
    minimum is at one of the ends.
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
