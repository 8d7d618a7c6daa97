"""The sampled Gaussian mechanism in floats: heuristic choices of quadrature points, and heuristic estimates.

Nothing here is certified: errors of these numbers cost speed only, because sampled_gaussian_law.py bounds the error of
whatever grid is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, erfc, exp, inf, log, pi, sin
from typing import TYPE_CHECKING

from flint import ctx

from zcdp.numeric.balls import NotCertified
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import cached_property

__all__ = [
    "CUTS",
    "LAST_ERFC",
    "MODE_ACCURACY",
    "NARROWER",
    "RIGHT_ANGLE",
    "SEEN",
    "STRIPS",
    "Grid",
    "SampledProposals",
]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]


STRIPS, NARROWER = 24, 0.77  # number of strips that are tried, and the ratio of their widths
CUTS, LAST_ERFC = 96, 25.0  # places at which `cone` may divide the line; beyond the latter log(erfc(x)/2) is about -x^2
RIGHT_ANGLE = 1.57  # just below pi/2
MARGIN = 3.0  # Terms that are cut off are smaller than the error of those that are kept by a factor e^-3.
MOST_POINTS = 4_000  # points of a grid at up to PLAIN_BITS bits; at more bits proportionally fewer
PLAIN_BITS = 256
LARGEST_POWER = 1e15  # exponent s of F(s)
SMALLEST_RATE, SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-300, 1e-30, 1e8
SEEN = 40.0  # Heuristics ignore terms below e^-40 of the largest one.
TURNED_PLACES = 401  # points across a window where the integrand turns
PLACES, MODE_PLACES = 257, 65  # points across a window, and additional ones around each mode
MODE_ACCURACY = 0.02  # of the search for a mode, in standard deviations


@dataclass(frozen=True)
class Grid:
    """The points j step + i angle, first <= j <= last, and the strip 0 <= Im u <= strip in which errors are bounded.

    At angle 0 the strip is |Im u| <= strip.
    """

    step: float
    angle: float
    strip: float
    first: int
    last: int


class SampledProposals:
    """Heuristic windows, grids and estimates of F(s) = E w^s, w = 1 - q + q e^{u - v/2}, u normal of variance v."""

    def __init__(self, rate: float, variance: float, log_rest: float) -> None:
        """The arguments are q, v = mu^2 and log(1 - q)."""
        if not (rate > SMALLEST_RATE and SMALLEST_VARIANCE < variance < LARGEST_VARIANCE):
            raise NotCertified("the rate or the noise of a sampled mechanism is out of the range of floats")
        self.floats = rate, variance
        self.log_rest = log_rest

    def log_weight(self, u: Floats) -> Floats:
        """log w at all u of an array."""
        answer: Floats = _log_weights([self], u[None])[0]
        return answer

    def turned(self, u: Floats, angles: Floats) -> Complexes:
        """w(u + i angle), for a row of places u and a column of angles."""
        import numpy as np

        q, v = self.floats
        return 1 - q + q * np.exp(u - v / 2) * np.exp(1j * angles)  # type: ignore[no-any-return]

    def turned_terms(self, u: Floats, angles: Floats, s: float) -> tuple[Floats, Floats]:
        """log |w^s| at u + i angle, for a row of places and a column of angles, and the imaginary part of the loss."""
        import numpy as np

        weight = self.turned(u, angles)
        return s * np.log(np.abs(weight)), np.angle(weight)

    def log_shorter(self, odds: Floats, angle: float) -> Floats:
        """log |w(u + i angle)|/w(u), or a lower bound on it, where b/a = odds."""
        import numpy as np

        return np.log1p(-4 * odds / (1 + odds) ** 2 * sin(angle / 2) ** 2) / 2

    def window(self, s: float, fall: float) -> tuple[float, float]:
        """An interval of u outside of which all terms of F(s) are below e^-fall of the largest and keep falling.

        The integrand may have two modes; both are inside.
        """
        left, right = _windows([self], s, fall)
        return float(left[0]), float(right[0])

    def grid(self, s: float, fall: float, *, rotated: bool) -> Grid:
        """The coarsest grid that gives F(s + iy) with an error of about e^-fall F(s): for all y >= 0 if `rotated`.

        Otherwise the grid is on the real line and serves for y = 0 only.
        """
        v = self.floats[1]
        if not abs(s) < LARGEST_POWER:
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
        """The logarithm of `SampledNormal.cone`."""
        return 0.0 if s >= 0 else self.best_cone(angle, s)[0]

    @cached_property
    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Places u at which `SampledNormal.cone` may divide the line, as three arrays.

        They are the odds q e^{u - v/2}/(1-q), u itself, and the logarithm of the probability beyond u.
        """
        import numpy

        q, v = self.floats
        odds = 2.0 ** (-numpy.arange(1, CUTS) / 2)
        u = numpy.log(odds) + (self.log_rest - log(q) + v / 2)
        tails = [log(erfc(x) / 2) if x < LAST_ERFC else -x * x for x in (u / (2 * v) ** 0.5).tolist()]
        return odds, u, numpy.array(tails)

    def best_cone(self, angle: float, s: float) -> tuple[float, float]:
        """The logarithm of the best bound of `SampledNormal.cone`, and where it divides the line (inf: nowhere)."""
        import numpy

        plain = s * log(cos(angle / 2))
        if plain < 1 or self.log_rest == -inf:
            return plain, inf
        odds, u, tails = self._places
        shorter = self.log_shorter(odds, angle)
        beyond = s * (self.log_rest + numpy.log1p(odds)) + tails
        beyond += s * shorter if angle < RIGHT_ANGLE else plain
        whole = numpy.maximum(s * shorter, beyond) + log(2)
        n = int(whole.argmin())
        return (float(whole[n]), float(u[n])) if whole[n] < plain else (plain, inf)

    def spread(self, s: float, fall: float, step: float, angle: float, strip: float) -> Grid:
        """The grid with the given step that covers the window; `NotCertified` if it has too many points."""
        left, right = self.window(s, fall)
        # Beyond the ends all terms must fall.
        v = self.floats[1]
        right = max(right, max(s, 0.0) * v + v**0.5 / 8)
        left = min(left, -(v**0.5) / 8)
        if not (right - left) / step < MOST_POINTS * min(PLAIN_BITS / ctx.prec, 1):
            raise NotCertified("the transform of the sampled noise needs too many points")
        return Grid(step, angle, strip, int(left / step) - 1, int(right / step) + 1)

    def estimate(self, s: float) -> tuple[float, float, float]:
        """log F(s) with its first two derivatives at a real s."""
        return self.estimates([self], s)[0]

    @staticmethod
    def estimates(noises: Sequence[SampledProposals], s: float) -> list[tuple[float, float, float]]:
        """`estimate` of several mechanisms at once, as arrays."""
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

    @staticmethod
    def turned_moments(noises: Sequence[SampledProposals], s: float, step: float) -> Iterator[Complexes]:
        """F(s + ik step)/F(s) of several mechanisms, for k = 0, 1, 2, ..."""
        import numpy as np

        left, right = _windows(noises, s, SEEN)
        u: Floats = left[:, None] + ((right - left) / (TURNED_PLACES - 1))[:, None] * _counted(TURNED_PLACES)
        logs = _log_weights(noises, u)
        size = s * logs - u * u / (2 * _variances(noises))
        mass = np.exp(size - size.max(axis=1, keepdims=True))
        mass = mass / mass.sum(axis=1, keepdims=True) + 0j
        turn = np.exp(1j * step * logs)
        while True:
            yield mass.sum(axis=1)
            mass *= turn


def _variances(noises: Sequence[SampledProposals]) -> Floats:
    """The variance v of each mechanism, as a column."""
    import numpy as np

    return np.array([noise.floats[1] for noise in noises])[:, None]


def _log_weights(noises: Sequence[SampledProposals], u: Floats) -> Floats:
    """log w of each mechanism at the u in its row."""
    import numpy as np

    front = np.array([log(noise.floats[0]) - noise.floats[1] / 2 for noise in noises])[:, None]
    rest = np.array([noise.log_rest for noise in noises])[:, None]
    answer: Floats = np.logaddexp(rest, front + u)
    return answer


def _windows(noises: Sequence[SampledProposals], s: float, fall: float) -> tuple[Floats, Floats]:
    """The left and the right ends of `SampledProposals.window` of several mechanisms at once."""
    import numpy as np

    v = _variances(noises)
    reach = ((2 * fall) ** 0.5 + 1) * np.sqrt(v)
    if s < 0:
        gap = reach / PLACES
        u = np.array([[_middle(noise, s)] for noise in noises]) + gap * (2 * _counted(PLACES) - PLACES)
    else:
        gap = (s * v + 2 * reach) / (PLACES - 1)
        near = reach * (_counted(MODE_PLACES) * (2 / (MODE_PLACES - 1)) - 1)
        u = np.concatenate([gap * _counted(PLACES) - reach, near, near + s * v], axis=1)
    size = s * _log_weights(noises, u) - u * u / (2 * v)
    kept = size >= size.max(axis=1, keepdims=True) - fall
    left, right = np.where(kept, u, np.inf).min(axis=1), np.where(kept, u, -np.inf).max(axis=1)
    if not np.isfinite(left).all():
        raise NotCertified("the transform of the sampled noise is needed at too large an order")
    return left - 2 * gap[:, 0], right + 2 * gap[:, 0]


@cache
def _counted(places: int) -> Floats:
    """The numbers 0, 1, ..., places - 1 as floats."""
    import numpy as np

    return np.arange(places, dtype=float)


def _middle(noise: SampledProposals, s: float) -> float:
    """About the u at which w^s e^{-u^2/(2v)}, log-concave for s < 0, is largest: u = s v w'/w, by bisection."""
    q, v = noise.floats
    front = log(q) - v / 2 - noise.log_rest

    def falls(u: float) -> bool:
        logit = front + u
        slope = 1 / (1 + exp(-logit)) if logit > -700 else 0.0
        return not u < s * v * slope

    return bisection(falls, s * v, 0.0, absolute=MODE_ACCURACY * v**0.5)[1]
