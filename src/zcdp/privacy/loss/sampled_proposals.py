"""Gaussian noise on a Poisson sample, in floats: which points its transform needs. Nothing is certain of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, erfc, exp, inf, log, pi, sin
from typing import TYPE_CHECKING

from flint import ctx

from zcdp.numeric.certify import NotCertified
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["NARROWER", "RIGHT_ANGLE", "SEEN", "STRIPS", "Grid", "SampledProposals"]

STRIPS, NARROWER = 40, 0.85  # strips that are tried
CUTS, FAR = 96, 25.0  # places at which `cone` may divide the line, and where erfc is next to 0
RIGHT_ANGLE = 1.57
MARGIN = 3.0  # what is cut off is so much smaller, in e-folds, than what is kept
MOST_POINTS = 4_000  # and fewer where each takes more bits than this
PLAIN_BITS = 256
LARGEST_ORDER = 1e15
SMALLEST_RATE, SMALLEST, LARGEST = 1e-300, 1e-30, 1e8
SEEN = 40.0  # e-folds that a proposal looks at


@dataclass(frozen=True)
class Grid:
    """Points j step + i angle, first <= j <= last, and the strip 0 <= Im u <= strip (with its mirror, at angle 0)."""

    step: float
    angle: float
    strip: float
    first: int
    last: int


class SampledProposals:
    """What only speed rests on: windows, grids and estimates of F(s) = E w^s, w = 1 - q + q e^{u - v/2}."""

    def __init__(self, rate: float, variance: float, log_rest: float) -> None:
        """q, v = mu^2 and log(1 - q)."""
        if not (rate > SMALLEST_RATE and SMALLEST < variance < LARGEST):
            raise NotCertified("the rate or the noise of a sampled mechanism is out of the range of floats")
        self.floats = rate, variance
        self._log_rest = log_rest

    def log_weight(self, u: Floats) -> Floats:
        """log w(u)."""
        import numpy

        q, v = self.floats
        answer: Floats = numpy.logaddexp(self._log_rest, log(q) + u - v / 2)
        return answer

    def _middle(self, s: float) -> float:
        """Where w^s e^{-u^2/(2v)} is largest, for s < 0, when it is logarithmically concave: u = s v w'/w."""
        q, v = self.floats
        left, right = s * v, 0.0
        for _ in range(60):
            u = (left + right) / 2
            logit = log(q) + u - v / 2 - self._log_rest
            slope = 1 / (1 + exp(-logit)) if logit > -700 else 0.0
            left, right = (u, right) if u < s * v * slope else (left, u)
        return right

    def window(self, s: float, fall: float) -> tuple[float, float]:
        """Outside of it all terms of F(s) are e^-fall of the largest, and fall on: both modes are inside."""
        import numpy

        v = self.floats[1]
        deviation = v**0.5
        reach = (2 * fall) ** 0.5 * deviation + deviation
        if s < 0:
            middle = self._middle(s)
            u = numpy.linspace(middle - reach, middle + reach, 257)
        else:
            across = numpy.linspace(-reach, s * v + reach, 257)
            near = numpy.linspace(-reach, reach, 65)
            u = numpy.sort(numpy.concatenate([across, near, near + s * v]))
        size = s * self.log_weight(u) - u * u / (2 * v)
        kept = numpy.nonzero(size >= size.max() - fall)[0]
        if not len(kept):
            raise NotCertified("the transform of the sampled noise is needed at too large an order")
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, len(u) - 1)
        return float(u[first]), float(u[last])

    def grid(self, s: float, fall: float, *, rotated: bool) -> Grid:
        """The coarsest grid on which F(s + iy) is known to e^-fall of F(s): for all y >= 0 if rotated, else y = 0."""
        v = self.floats[1]
        if not abs(s) < LARGEST_ORDER:
            raise NotCertified("the transform of the sampled noise is needed at too large an order")
        best = 0.0, 0.0, 0.0
        strip = 0.995 * pi
        for _ in range(STRIPS):
            growth = strip * strip / (2 * v) + self.log_cone(strip, s)
            if rotated:
                angle = strip * fall / (2 * fall + growth)
                step = 2 * pi * angle / fall
            else:
                angle, step = 0.0, 2 * pi * strip / (fall + growth + 1)
            if step > best[0]:
                best = step, angle, strip
            strip *= NARROWER
        step, angle, strip = best
        lost = angle * angle / (2 * v) + self.log_cone(angle, s)
        return self.spread(s, fall + lost + MARGIN, step, angle, strip)

    def log_cone(self, angle: float, s: float) -> float:
        """log of `cone`."""
        return 0.0 if s >= 0 else self.best_cone(angle, s)[0]

    @cached_property
    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Places u at which `cone` may divide the line: q e^{u - v/2}/(1-q), u itself, and log P(beyond u)."""
        import numpy

        q, v = self.floats
        odds = 2.0 ** (-numpy.arange(1, CUTS) / 2)
        u = numpy.log(odds) + (self._log_rest - log(q) + v / 2)
        tails = [log(erfc(x) / 2) if x < FAR else -x * x for x in (u / (2 * v) ** 0.5).tolist()]
        return odds, u, numpy.array(tails)

    def best_cone(self, angle: float, s: float) -> tuple[float, float]:
        """log of the best bound in `cone`, and where it divides the line (inf: nowhere)."""
        import numpy

        plain = s * log(cos(angle / 2))
        if plain < 1 or self._log_rest == -inf:
            return plain, inf
        odds, u, tails = self._places
        shorter = numpy.log1p(-4 * odds / (1 + odds) ** 2 * sin(angle / 2) ** 2) / 2
        beyond = s * (self._log_rest + numpy.log1p(odds)) + tails
        beyond += s * shorter if angle < RIGHT_ANGLE else plain
        whole = numpy.maximum(s * shorter, beyond) + log(2)
        n = int(whole.argmin())
        return (float(whole[n]), float(u[n])) if whole[n] < plain else (plain, inf)

    def spread(self, s: float, fall: float, step: float, angle: float, strip: float) -> Grid:
        """The grid of the given step that covers the window."""
        left, right = self.window(s, fall)
        # beyond the ends all terms must fall
        v = self.floats[1]
        right = max(right, max(s, 0.0) * v + v**0.5 / 8)
        left = min(left, -(v**0.5) / 8)
        if not (right - left) / step < MOST_POINTS * min(PLAIN_BITS / ctx.prec, 1):
            raise NotCertified("the transform of the sampled noise needs too many points")
        return Grid(step, angle, strip, int(left / step) - 1, int(right / step) + 1)

    def estimate(self, s: float) -> tuple[float, float, float]:
        """log F with its first two derivatives at a real s."""
        import numpy

        v = self.floats[1]
        left, right = self.window(s, SEEN)
        u, gap = numpy.linspace(left, right, 257, retstep=True)
        logs = self.log_weight(u)
        size = s * logs - u * u / (2 * v)
        top = float(size.max())
        mass = numpy.exp(size - top)
        whole = float(mass.sum())
        mean = float(mass @ logs) / whole
        spread = float(mass @ (logs - mean) ** 2) / whole
        return top + log(whole * float(gap) / (2 * pi * v) ** 0.5), mean, spread
