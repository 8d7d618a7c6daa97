"""How fast a composition's transform decays along a vertical line: the sum of what its laws know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import below
from zcdp.privacy.loss.share import Share
from zcdp.privacy.loss.wave_share import DOWN, MOST

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Decay"]

CHUNK = 1 << 18  # numbers at a time


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
