"""Gaussian noise on a Poisson sample, in floats: which points its transform needs. Nothing is certain of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, erfc, exp, inf, log, pi, sin
from typing import TYPE_CHECKING

from flint import ctx

from zcdp.numeric.balls import NotCertified
from zcdp.numeric.threads import cached_property

__all__ = ["NARROWER", "RIGHT_ANGLE", "SEEN", "STRIPS", "Grid", "SampledProposals"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


STRIPS, NARROWER = 24, 0.77  # strips that are tried
CUTS, FAR = 96, 25.0  # places at which `cone` may divide the line, and where erfc is next to 0
RIGHT_ANGLE = 1.57
MARGIN = 3.0  # what is cut off is so much smaller, in e-folds, than what is kept
MOST_POINTS = 4_000  # and fewer where each takes more bits than this
PLAIN_BITS = 256
LARGEST_ORDER = 1e15
SMALLEST_RATE, SMALLEST, LARGEST = 1e-300, 1e-30, 1e8
SEEN = 40.0  # e-folds that a proposal looks at
PLACES, NEAR = 257, 65  # places across a window, and more of them near each mode
CLOSE = 0.02  # how well a mode is known, in standard deviations


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
        self.log_rest = log_rest

    def log_weight(self, u: Floats) -> Floats:
        """log w(u)."""
        answer: Floats = _log_weights([self], u[None])[0]
        return answer

    def window(self, s: float, fall: float) -> tuple[float, float]:
        """Outside of it all terms of F(s) are e^-fall of the largest, and fall on: both modes are inside."""
        left, right = _windows([self], s, fall)
        return float(left[0]), float(right[0])

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
        u = numpy.log(odds) + (self.log_rest - log(q) + v / 2)
        tails = [log(erfc(x) / 2) if x < FAR else -x * x for x in (u / (2 * v) ** 0.5).tolist()]
        return odds, u, numpy.array(tails)

    def best_cone(self, angle: float, s: float) -> tuple[float, float]:
        """log of the best bound in `cone`, and where it divides the line (inf: nowhere)."""
        import numpy

        plain = s * log(cos(angle / 2))
        if plain < 1 or self.log_rest == -inf:
            return plain, inf
        odds, u, tails = self._places
        shorter = numpy.log1p(-4 * odds / (1 + odds) ** 2 * sin(angle / 2) ** 2) / 2
        beyond = s * (self.log_rest + numpy.log1p(odds)) + tails
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
        return self.estimates([self], s)[0]

    @staticmethod
    def estimates(noises: Sequence[SampledProposals], s: float) -> list[tuple[float, float, float]]:
        """The same of several at once, as one array."""
        import numpy as np

        left, right = _windows(noises, s, SEEN)
        u: Floats = left[:, None] + ((right - left) / (PLACES - 1))[:, None] * _counted(PLACES)
        logs = _log_weights(noises, u)
        v = _variances(noises)
        size = s * logs - u * u / (2 * v)
        top = size.max(axis=1, keepdims=True)
        mass = np.exp(size - top)
        whole = mass.sum(axis=1)
        mean = (mass * logs).sum(axis=1) / whole
        spread = (mass * (logs - mean[:, None]) ** 2).sum(axis=1) / whole
        value = top[:, 0] + np.log(whole * (right - left) / (PLACES - 1) / np.sqrt(2 * pi * v[:, 0]))
        return list(zip(value.tolist(), mean.tolist(), spread.tolist(), strict=True))


def _variances(noises: Sequence[SampledProposals]) -> Floats:
    """v of each, as a column."""
    import numpy as np

    return np.array([noise.floats[1] for noise in noises])[:, None]


def _log_weights(noises: Sequence[SampledProposals], u: Floats) -> Floats:
    """log w of each at its row of u."""
    import numpy as np

    front = np.array([log(noise.floats[0]) - noise.floats[1] / 2 for noise in noises])[:, None]
    rest = np.array([noise.log_rest for noise in noises])[:, None]
    answer: Floats = np.logaddexp(rest, front + u)
    return answer


def _windows(noises: Sequence[SampledProposals], s: float, fall: float) -> tuple[Floats, Floats]:
    import numpy as np

    v = _variances(noises)
    reach = ((2 * fall) ** 0.5 + 1) * np.sqrt(v)
    if s < 0:
        gap = reach / PLACES
        u = np.array([[_middle(noise, s)] for noise in noises]) + gap * (2 * _counted(PLACES) - PLACES)
    else:
        gap = (s * v + 2 * reach) / (PLACES - 1)
        near = reach * (_counted(NEAR) * (2 / (NEAR - 1)) - 1)
        u = np.concatenate([gap * _counted(PLACES) - reach, near, near + s * v], axis=1)
    size = s * _log_weights(noises, u) - u * u / (2 * v)
    kept = size >= size.max(axis=1, keepdims=True) - fall
    left, right = np.where(kept, u, np.inf).min(axis=1), np.where(kept, u, -np.inf).max(axis=1)
    if not np.isfinite(left).all():
        raise NotCertified("the transform of the sampled noise is needed at too large an order")
    return left - 2 * gap[:, 0], right + 2 * gap[:, 0]


@cache
def _counted(places: int) -> Floats:
    """0, 1, ... as floats."""
    import numpy as np

    return np.arange(places, dtype=float)


def _middle(noise: SampledProposals, s: float) -> float:
    """Near where w^s e^{-u^2/(2v)} is largest, for s < 0, when it is logarithmically concave: u = s v w'/w."""
    q, v = noise.floats
    front, close = log(q) - v / 2 - noise.log_rest, CLOSE * v**0.5
    left, right = s * v, 0.0
    while right - left > close and left < (u := (left + right) / 2) < right:
        logit = front + u
        slope = 1 / (1 + exp(-logit)) if logit > -700 else 0.0
        left, right = (u, right) if u < s * v * slope else (left, u)
    return right
