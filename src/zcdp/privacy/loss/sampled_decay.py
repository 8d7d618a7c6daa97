"""How fast the transform of sampled Gaussian noise decays: bounds from paths shifted into the complex plane."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import log, pi
from typing import TYPE_CHECKING

from flint import acb, arb

from zcdp.numeric.balls import above, below
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.double_tables import decays
from zcdp.numeric.once import cached_property
from zcdp.numeric.one_core import product
from zcdp.privacy.loss.decay import UP, minus_log
from zcdp.privacy.loss.sampled_normal import SampledNormal
from zcdp.privacy.loss.sampled_proposals import NARROWER, SEEN, STRIPS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SampledDecay"]

LEVELS = (5.0, 20.0, 70.0)  # e-folds of the whole composition, at each of which one path is best
WIDEST = 1.35  # of an angle, less than pi/2
ANGLES, SAMPLES = 28, 97
HIGHEST, FASTER = 1e30, 1.5
HEIGHTS = 256
DEEPEST = 32.0


@dataclass(frozen=True)
class Path:
    """|F(s + iy)|/F(s) <= sum over j of size_j e^{-y turn_j} + rest, for all y >= 0."""

    sizes: Floats
    """Not below."""
    turns: Floats
    """Not above, and not negative."""
    rest: float


class SampledDecay:
    """Lower bounds on log(F(s)/|F(s + iy)|) for all y >= Y, as a function of Y.

    Shift the path of u by i angle, where arg w >= 0: |F(s + iy)| <= e^{angle^2/(2 mu^2)} J(y), J(y) the mean of
    |w|^s e^{-y arg w}, which falls with y. Each path is a sum of exponentials in y; the best of several counts.
    Theorem: docs/theorems/sampled-gaussian.md.
    """

    def __init__(self, noise: SampledNormal, s: arb, whole: arb, count: int) -> None:
        """`whole` is F(s); bounds are sought where `count` uses decay by 5 to 70 e-folds or so."""
        self.noise, self.s, self.whole, self.count = noise, s, whole, count

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Heights with the bound at each: it holds for all that are larger, so few heights serve many."""
        import numpy

        proposals, (low, high) = _proposals(self.noise, float(self.s.mid()), self.count)
        paths = []
        for angle, fall in proposals:
            with suppress(NotCertified):  # one of the others may do
                paths.append(_path(self.noise, self.s, self.whole, angle, fall))
        heights: Floats = numpy.geomspace(low / 16, high * 4, HEIGHTS)
        best = numpy.ones(HEIGHTS)
        for path in paths:
            # e^{-x} is known to 2^-50; the product, x = Y turn, errs by 2^-53 of itself
            falls = decays(numpy.outer(heights, path.turns) * (1 - 2.0**-50)) + 2.0**-49
            more = UP + len(path.sizes) * 2.0**-52
            best = numpy.minimum(best, (product(falls, path.sizes) * more + path.rest) * UP)
        bounds = numpy.maximum.accumulate(minus_log(numpy, best))
        return numpy.concatenate([[0.0], heights]), numpy.concatenate([[0.0], bounds])

    def __call__(self, heights: Floats) -> Floats:
        """For an array of Y."""
        import numpy

        known, bounds = self._table
        answer: Floats = bounds[numpy.searchsorted(known, heights, side="right") - 1]
        return answer


def _proposals(noise: SampledNormal, s: float, count: int) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Angles, each the best for one level of decay, with how well its path must be known; the heights between."""
    import numpy as np

    q, v = noise.floats
    left, right = noise.window(s, SEEN)
    u = np.linspace(left, right, SAMPLES)
    angles = np.geomspace(1e-4, WIDEST, ANGLES)[:, None]
    weight = 1 - q + q * np.exp(u - v / 2) * np.exp(1j * angles)
    turns = np.angle(weight)
    plain = s * noise.log_weight(u) - u * u / (2 * v)
    top = plain.max()
    size = s * np.log(np.abs(weight)) - u * u / (2 * v) - top - log(np.exp(plain - top).sum())
    size += angles**2 / (2 * v)

    def depth(height: float) -> tuple[float, int]:
        """How far the best path falls, and which it is."""
        falls = -np.log(np.exp(np.minimum(size - height * turns, 700.0)).sum(axis=1))
        best = int(falls.argmax())
        return float(falls[best]), best

    found: dict[int, float] = {}
    height, lowest = 1e-6, 0.0
    for level in LEVELS:
        wanted = min(level / count, DEEPEST)
        fall, best = depth(height)
        while fall < wanted and height < HIGHEST:
            height *= FASTER if fall * count > 0.1 else 4
            fall, best = depth(height)
        if fall > 0:
            lowest = lowest or height
            found[best] = max(found.get(best, 0.0), fall + max(log(count / level), 0.0) + 4)
    return [(float(angles[n, 0]), fall) for n, fall in found.items()], (lowest or height, height)


def _path(noise: SampledNormal, s: arb, whole: arb, angle: float, fall: float) -> Path:
    """The bound of one path, its sum over points known to e^-fall of F(s)."""
    import numpy

    v, order = noise.floats[1], float(s.mid())
    fall += angle * angle / (2 * v)
    best, strip = (0.0, 0.0), 0.995 * (pi / 2 - angle)
    for _ in range(STRIPS):
        growth = strip * strip / (2 * v) + noise.log_cone(strip + angle, order)
        best = max(best, (2 * pi * strip / (fall + growth), strip))
        strip *= NARROWER
    size, strip = best
    grid = noise.spread(order, fall + noise.log_cone(angle, order), size, angle, strip)
    step, tilt, wide = arb(size), arb(angle), arb(strip)
    lift = (tilt * tilt / (2 * noise.curvature)).exp()
    front = step / (2 * arb.pi() * noise.curvature).sqrt() * lift / whole
    turn = acb(0, tilt).exp() * noise.rate
    sizes, turns = [], []
    for j in range(grid.first, grid.last + 1):
        u = step * j
        log_weight = (noise.rest + turn * (u - noise.half).exp()).log()
        sizes.append(above(front * (log_weight.real * s - u * u / (2 * noise.curvature)).exp()))
        turns.append(max(below(log_weight.imag), 0.0))
    edge = (wide * wide / (2 * noise.curvature)).exp() * noise.cone(wide + tilt, s)
    slip = 2 * edge * lift / (2 * arb.pi() * wide / step).expm1()
    return Path(numpy.array(sizes), numpy.array(turns), above(slip + noise.beyond(grid, s) / whole))
