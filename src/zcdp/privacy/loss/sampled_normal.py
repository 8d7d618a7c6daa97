"""Gaussian noise on a Poisson sample: its transform by the trapezoidal rule on a rotated line, with proven errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, erfc, exp, inf, isfinite, isqrt, log, log1p, pi, sin
from typing import TYPE_CHECKING

from flint import acb, acb_mat, arb, ctx

from zcdp.numeric.balls import above
from zcdp.numeric.certify import NotCertified, Undecided

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Grid", "SampledNormal"]

STRIPS, NARROWER = 40, 0.85  # strips that are tried: only speed rests on them
CUTS, FAR = 96, 25.0  # places at which `cone` may divide the line, and where erfc is next to 0
RIGHT_ANGLE = 1.57
MARGIN = 3.0  # what is cut off is so much smaller, in e-folds, than what is kept
MOST_POINTS = 4_000  # and fewer where each takes more bits than this
PLAIN_BITS = 256
LARGEST_ORDER = 1e15
SMALLEST_RATE = 1e-300
SEEN = 40.0  # e-folds that a proposal looks at


@dataclass(frozen=True)
class Grid:
    """Points u_j = j step + i angle, first <= j <= last, and the strip 0 <= Im u <= strip (or its mirror, at angle 0)."""

    step: float
    angle: float
    strip: float
    first: int
    last: int


class SampledNormal:
    """F(s) = E w^s, w = 1 - q + q e^{u - mu^2/2}, u normal of mean 0 and variance mu^2.

    w is dA/dQ for Gaussian noise with the record in the sample with probability q, and without it: A = (1-q) Q + q P.
    So E_A e^{zL} = F(1 + z), and E_Q e^{-zL} = F(-z). Theorem: docs/theorems/sampled-gaussian.md.
    """

    def __init__(self, rate: arb, curvature: arb) -> None:
        """The rate q < 1 and mu^2, at the working precision."""
        self.rate, self.curvature = rate, curvature
        self.rest, self.half = 1 - rate, curvature / 2
        self.floats = float(rate.mid()), float(curvature.mid())
        q, v = self.floats
        if not (q > SMALLEST_RATE and 0 < v and isfinite(1 / v)):
            raise OverflowError
        self._log_rest = float(self.rest.log().mid()) if self.rest > 0 else -inf

    # Proposals, in floats: nothing is certain of them, and nothing but speed rests on them.

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
        """Outside of it all terms of F(s) are e^-fall of the largest, and fall on: both modes of a mixture are inside."""
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
        kept = numpy.nonzero(size > size.max() - fall)[0]
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, len(u) - 1)
        return float(u[first]), float(u[last])

    def _grid(self, s: float, fall: float, *, rotated: bool) -> Grid:
        """The coarsest grid on which F(s + iy) is known to e^-fall of F(s), for all y >= 0 if rotated, else for y = 0."""
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
        return 0.0 if s >= 0 else self._cone(angle, s)[0]

    @cached_property
    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Places u at which `cone` may divide the line: q e^{u - v/2}/(1-q), u itself, and log P(beyond u)."""
        import numpy

        q, v = self.floats
        odds = 2.0 ** (-numpy.arange(1, CUTS) / 2)
        u = numpy.log(odds) + (self._log_rest - log(q) + v / 2)
        tails = [log(erfc(x) / 2) if x < FAR else -x * x for x in (u / (2 * v) ** 0.5).tolist()]
        return odds, u, numpy.array(tails)

    def _cone(self, angle: float, s: float) -> tuple[float, float]:
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

    # What is certain, in balls.

    def cone(self, angle: arb, s: arb) -> arb:
        """Not below the mean of |w(u + i angle)|^s over F(s): 1 for s >= 0, else by how much |w| is less than w.

        With a = 1 - q and b = w - a, |w(u + i angle)|^2 = w^2 (1 - 4ab/w^2 sin^2(angle/2)): the quotient falls with
        b < a, and up to a right angle the whole rises with u.
        """
        if s >= 0:
            return arb(1)
        plain = (angle / 2).cos() ** s
        place = self._cone(float(angle.mid()), float(s.mid()))[1]
        if place == inf:
            return plain
        b = self.rate * (arb(place) - self.half).exp()
        if not b < self.rest:
            return plain
        shorter = self._shorter(b, angle) ** s
        beyond = (arb(place) / (2 * self.curvature).sqrt()).erfc() / 2 * (self.rest + b) ** s
        return plain.min(shorter + beyond * (shorter if angle < RIGHT_ANGLE else plain))

    def _shorter(self, b: arb, angle: arb) -> arb:
        """|w(u + i angle)|/w(u), b = w(u) - (1 - q)."""
        weight = self.rest + b
        return (1 - 4 * self.rest * b / (weight * weight) * (angle / 2).sin() ** 2).sqrt()

    def beyond(self, grid: Grid, s: arb) -> arb:
        """What all points that the grid leaves out weigh at most."""
        step = arb(grid.step)
        front = step / (2 * arb.pi() * self.curvature).sqrt() * (arb(grid.angle) ** 2 / (2 * self.curvature)).exp()
        total = arb(0)
        for j, outward in ((grid.first, -1), (grid.last, 1)):
            u = step * j
            tail = self.rate * (u - self.half).exp()
            weight = self.rest + tail
            size = front * (weight.log() * s - u * u / (2 * self.curvature)).exp()
            # the slope of log size, outward, from here on
            rise = s.max(arb(0)) if outward > 0 else (-s).max(arb(0)) * tail / weight
            if grid.angle and not s >= 0:
                near = outward > 0 or tail < self.rest
                size *= self._shorter(tail, arb(grid.angle)) ** s if near else (arb(grid.angle) / 2).cos() ** s
            ratio = ((rise - outward * u / self.curvature) * step).exp()
            if not ratio < 1:
                raise Undecided
            total += size * ratio / (1 - ratio)
        return total

    def _slip(self, grid: Grid, s: arb) -> arb:
        """The error of the whole trapezoidal sum, as a part of F(s)."""
        strip, angle, turns = arb(grid.strip), arb(grid.angle), 2 * arb.pi() / arb(grid.step)
        edge = (strip * strip / (2 * self.curvature)).exp()
        edge *= self.cone(strip, s)
        if grid.angle:
            return 1 / (turns * angle).expm1() + edge / (turns * (strip - angle)).expm1()
        return 2 * edge / (turns * strip).expm1()

    def real(self, s: arb, fall: float) -> arb:
        """F(s) for a real s, to about e^-fall of itself."""
        grid = self._grid(float(s.mid()), fall, rotated=False)
        step, twice, total = arb(grid.step), -1 / (2 * self.curvature), arb(0)
        for j in range(grid.first, grid.last + 1):
            u = step * j
            weight = self.rest + self.rate * (u - self.half).exp()
            total += (weight.log() * s + u * u * twice).exp()
        total *= step / (2 * arb.pi() * self.curvature).sqrt()
        slip = self._slip(grid, s)
        if not slip < 1:
            raise Undecided
        return (total / (1 + slip)).union((total + self.beyond(grid, s)) / (1 - slip))

    def divergence(self, fall: float) -> arb:
        """F'(1) = E w log w, the divergence of order 1, with an error of about e^-fall."""
        grid = self._grid(2.0, fall, rotated=False)
        step, twice, total = arb(grid.step), -1 / (2 * self.curvature), arb(0)
        for j in range(grid.first, grid.last + 1):
            u = step * j
            weight = self.rest + self.rate * (u - self.half).exp()
            total += weight * weight.log() * (u * u * twice).exp()
        total *= step / (2 * arb.pi() * self.curvature).sqrt()
        # |w log w| <= (|w|^2 + 1)/2 + |w arg w|
        strip = arb(grid.strip)
        second = 1 + self.rate * self.rate * self.curvature.expm1()
        slip = self._slip(grid, arb(2)) * ((second + 1) / 2 + strip)
        error = above(slip + (self.beyond(grid, arb(2)) + self.beyond(grid, arb(0))) / 2)
        return total + arb(0, error)

    def points(self, grid: Grid, s: arb) -> tuple[list[acb], list[acb]]:
        """At each point: density times step and w^s; and log w."""
        front = arb(grid.step) / (2 * arb.pi() * self.curvature).sqrt()
        turn = acb(0, grid.angle).exp() * self.rate
        values, logs = [], []
        for j in range(grid.first, grid.last + 1):
            u = acb(arb(grid.step) * j, grid.angle)
            log_weight = (self.rest + turn * (u.real - self.half).exp()).log()
            logs.append(log_weight)
            values.append((log_weight * s - u * u / (2 * self.curvature)).exp() * front)
        return values, logs

    def rotated(self, s: arb, fall: float) -> tuple[list[acb], list[acb], float]:
        """G_j, log w_j and e: F(s + iy) is within e of the sum of G_j w_j^{iy}, for every y >= 0; e about e^-fall F(s)."""
        grid = self._grid(float(s.mid()), fall, rotated=True)
        values, logs = self.points(grid, s)
        whole = self.real(s, min(fall, 20.0))
        return values, logs, above(whole * self._slip(grid, s) + self.beyond(grid, s))

    def progression(self, s: arb, step: arb, count: int, fall: float) -> list[acb]:
        """F(s + ik step) for 0 <= k < count, each to about e^-fall of F(s): one product of matrices.

        The number of points does not depend on k: on the rotated line |w^{iy}| <= 1 for all y >= 0.
        """
        values, logs, error = self.rotated(s, fall)
        points = len(values)
        width = isqrt(count - 1) + 1
        rows = -(-count // width)
        turn = acb(0, step)
        short = _powers([(turn * x).exp() for x in logs], width)
        long = _powers([(turn * width * x).exp() for x in logs], rows)
        left = acb_mat(rows, points, [x * y for row in long for x, y in zip(values, row, strict=True)])
        right = acb_mat(points, width, [row[n] for n in range(points) for row in short])
        slip = acb(arb(0, error), arb(0, error))
        return [x + slip for x in (left * right).entries()[:count]]


def _powers(base: Sequence[acb], count: int) -> list[list[acb]]:
    """Powers 0, 1, ..., count - 1 of each, by halves: balls hardly grow."""
    powers = [[acb(1)] * len(base), list(base)][:count]
    for n in range(2, count):
        powers.append([x * y for x, y in zip(powers[n // 2], powers[n - n // 2], strict=True)])
    return powers
