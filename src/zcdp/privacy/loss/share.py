"""How fast transforms decay along a vertical line: what one law knows of it, and the sum over a composition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import TYPE_CHECKING, Protocol, Self

from flint import arb

from zcdp.numeric.balls import below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["DOWN", "MOST", "UP", "Bound", "Decay", "MonotoneShare", "Share", "root_below"]

# Sums, products, quotients and roots of non-negative doubles err by at most 2^-53 of themselves each; `UP` and `DOWN`
# cover thousands of them.
UP, DOWN = 1 + 2.0**-40, 1 - 2.0**-40
MOST = 1e300
CHUNK = 1 << 18  # numbers at a time


def root_below(square: arb) -> float:
    """A float not above the root of a number; 0 where nothing is known of it."""
    least = square.lower()
    return below(least.sqrt()) if least > 0 else 0.0


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
        self.least_near_end = min(share.near_end for share in shares)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """Over low <= y <= high, for arrays of both; high may be infinite."""
        return self._in_chunks(low, high, 0.0)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """The same at all y + m omega, m != 0, omega the lattice's period; they are at least `distance` from 0."""
        return self._in_chunks(low, high, distance)

    def _in_chunks(self, low: Floats, high: Floats, distance: float) -> Floats:
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
