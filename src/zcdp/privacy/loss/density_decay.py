"""How fast the transform of a sampled density decays: from values along the line, and from its variation far away."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, Protocol

from flint import acb, arb

from zcdp.numeric.balls import above
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.double_tables import wave_table
from zcdp.numeric.once import cached_property
from zcdp.numeric.one_core import product
from zcdp.privacy.loss.decay import UP, minus_log
from zcdp.privacy.loss.panels import Mixture, Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]

__all__ = ["DensityDecay"]

BEGIN = 1.0  # e-folds of the whole composition from which bounds are sought
FALL = 4.0  # e-folds below the drop of |M| to which its values are known
FAR = 1.6  # the density's part has fallen to 1/FAR of itself where values end
LEVEL = 4.0  # heights that share one quadrature
RARE = 0.1  # of the drop: losses so rare are not followed
MOST_CELLS = 20_000
MOST_WORK = 3e5  # waves in one table: each next level takes up to sixteen times as many
LARGEST_LEVEL = 5_000_000  # waves
BALLS = 100  # waves that take as long as one point in balls
TOGETHER = 64  # angles
ROUNDING = 1e-12  # more than all errors of doubles
UNIT, LARGEST_INDEX = 4, 2.0**24  # multiples of the least spacing in half of the first cell, and at most


class Tilting(Protocol):
    """What is asked of a sampled density, on the line Re z = c."""

    mixture: Mixture

    def exponents(self, c: arb) -> list[arb]:
        """Of w, at z = c."""

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
        """A quadrature up to a height, to about e^-fall of M(c)."""

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        """Losses with their tilted masses."""

    def atomic_mass(self, c: arb) -> arb:
        """The tilted mass of all atoms."""

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough."""


class DensityDecay:
    """Lower bounds on log(M(c)/|M(c + iy)|) for all y >= Y, as a function of Y.

    Up to a height |M| is known at points, but for rare losses, and between them it changes by at most E|L - mean| times
    the distance; from there on the density's part is at most its variation over y.
    Theorem: docs/theorems/sampled-density.md.
    """

    def __init__(self, factor: Tilting, c: arb, whole: arb, count: int) -> None:
        self.factor, self.c, self.whole, self.count = factor, c, whole, count
        self.atoms = above(factor.atomic_mass(c) / whole)
        """Not below their part of the tilted mass: |M(c + iy)|/M(c) comes back to it however large y is."""

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Heights, and a bound for all y from each of them on."""
        import numpy as np

        factor, c = self.factor, self.c
        level, mean, variance = factor.estimate(float(c.mid()))
        moving = 1 - min(self.atoms, 1.0)
        if moving < 1e-9 or not variance > 0:  # Floats lose a variance among losses that hardly differ.
            return np.array([0.0]), np.array([0.0])
        self.mean, self.variance, self.moving = mean, variance, moving
        error = level - FALL + log(moving) - 3
        exponents = factor.exponents(c)
        variation = above(sum((factor.mixture.variation(e, error) for e in exponents), arb(0)) / self.whole)
        height = sqrt(2 * BEGIN / (self.count * variance))
        last = max(FAR * variation / moving, 2 * height)
        starts, bounds = [np.array([0.0])], [np.array([0.0])]
        work = 0.0
        while height < last and work < MOST_WORK:  # What is not followed has the bound of what is far away.
            try:
                edges, found, waves = self._level(height, min(LEVEL * height, last))
            except NotCertified:
                break
            work += waves
            starts.append(edges[:-1])
            bounds.append(minus_log(np, found))
            height = float(edges[-1])
        starts.append(np.array([height]))
        bounds.append(minus_log(np, np.array([min((self.atoms + variation / height) * UP, 1.0)])))
        least = np.minimum.accumulate(np.concatenate(bounds)[:0:-1])[::-1]
        return np.concatenate(starts) * UP, np.concatenate([[0.0], least])

    def _drop(self, height: float) -> float:
        """About 1 - |M(c + iy)|/M(c)."""
        return min(self.variance * height * height / 2, self.moving / 2)

    def _level(self, low: float, high: float) -> tuple[Floats, Floats, int]:
        """Edges of cells, a bound on |M(c + iy)|/M(c) in each, and what that took, in waves."""
        import numpy as np

        drop = self._drop(low)
        rule = self.factor.rule(self.c, high, FALL - log(drop), real=True)
        shift = arb(self.mean)
        terms = [(loss.real - shift, mass.real / self.whole) for loss, mass in self.factor.terms(self.c, rule)]
        sizes = np.array([float(mass.mid()) for _, mass in terms])
        order = np.argsort([-abs(float(loss.mid())) for loss, _ in terms])
        rare = int(np.searchsorted(np.cumsum(sizes[order]), drop * RARE))
        slip = rule.error / self.whole + sum((terms[n][1] for n in order[:rare]), arb(0))
        terms = [terms[n] for n in order[rare:]]
        steepest = above(sum((abs(loss) * mass for loss, mass in terms), arb(0)))
        edges = [low]
        while edges[-1] < high and len(edges) < MOST_CELLS:
            edges.append(edges[-1] + self._drop(edges[-1]) / (2 * steepest))
        if len(terms) * len(edges) > LARGEST_LEVEL:
            raise NotCertified(f"a level takes more than {LARGEST_LEVEL} waves")
        unit = max((edges[1] - edges[0]) / (2 * UNIT), edges[-1] / LARGEST_INDEX)
        ends = np.array(edges)
        indices = np.round((ends[1:] + ends[:-1]) / (2 * unit)).astype(np.int64)
        places = indices * unit
        half = np.maximum(np.abs(ends[1:] - places), np.abs(ends[:-1] - places)) * UP
        values = _sums([loss * arb(unit) for loss, _ in terms], sizes[order[rare:]], indices)
        rest = above(slip) + ROUNDING + float(indices[-1]) * 2.0**-61
        found = np.minimum((np.abs(values) + steepest * half + rest) * UP, 1.0)
        return ends, found, len(terms) * len(indices) + len(sizes) * BALLS

    def __call__(self, heights: Floats) -> Floats:
        """For an array of Y."""
        import numpy as np

        known, bounds = self._table
        answer: Floats = bounds[np.searchsorted(known, heights, side="right") - 1]
        return answer


def _sums(angles: Sequence[arb], masses: Floats, indices: NDArray[np.int64]) -> Complexes:
    """The sums over j of mass_j e^{ik angle_j}, for many k; they err by at most ROUNDING + k 2^-61."""
    import numpy as np

    total: Complexes = np.zeros(len(indices), dtype=complex)
    for n in range(0, len(angles), TOGETHER):
        total += product(wave_table(angles[n : n + TOGETHER], indices).T, masses[n : n + TOGETHER])
    return total
