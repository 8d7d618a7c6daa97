"""Gaussian noise on a Poisson sample: its transform by the trapezoidal rule on a rotated line, with proven errors."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from flint import acb, arb

from zcdp.numeric.balls import above
from zcdp.numeric.certify import Undecided
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss.progression import progression
from zcdp.privacy.loss.sampled_proposals import RIGHT_ANGLE, Grid, SampledProposals

__all__ = ["SampledNormal"]

REAL, COMPLEX = 4, 10  # elementary functions that a point takes


class SampledNormal(SampledProposals):
    """F(s) = E w^s, w = 1 - q + q e^{u - mu^2/2}, u normal of mean 0 and variance mu^2.

    w is dA/dQ for Gaussian noise with the record in the sample with probability q, and without it: A = (1-q) Q + q P.
    So E_A e^{zL} = F(1 + z), and E_Q e^{-zL} = F(-z). Theorem: docs/theorems/sampled-gaussian.md.
    """

    def __init__(self, rate: arb, curvature: arb) -> None:
        """The rate q < 1 and mu^2, at the working precision."""
        self.rate, self.curvature = rate, curvature
        self.rest, self.half = 1 - rate, curvature / 2
        log_rest = float(self.rest.log().mid()) if self.rest > 0 else -inf
        super().__init__(float(rate.mid()), float(curvature.mid()), log_rest)
        self._last: tuple[arb, float, arb] | None = None

    def cone(self, angle: arb, s: arb) -> arb:
        """Not below the mean of |w(u + i angle)|^s over F(s): 1 for s >= 0, else by how much |w| is less than w.

        With a = 1 - q and b = w - a, |w(u + i angle)|^2 = w^2 (1 - 4ab/w^2 sin^2(angle/2)): the quotient falls with
        b < a, and up to a right angle the whole rises with u.
        """
        if s >= 0:
            return arb(1)
        plain = (angle / 2).cos() ** s
        place = self.best_cone(float(angle.mid()), float(s.mid()))[1]
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
        """F(s) for a real s, to about e^-fall of itself; the last one is kept, as it is asked for more than once."""
        if self._last is None or not (self._last[0] == s and self._last[1] >= fall):
            self._last = s, fall, self._real(s, fall)
        return self._last[2]

    def _real(self, s: arb, fall: float) -> arb:
        grid = self.grid(float(s.mid()), fall, rotated=False)
        count_functions(REAL * (grid.last - grid.first))
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
        grid = self.grid(2.0, fall, rotated=False)
        count_functions(REAL * (grid.last - grid.first))
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
        count_functions(COMPLEX * (grid.last - grid.first))
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
        """G_j, log w_j and e: F(s + iy) is within e, about e^-fall F(s), of the sum of G_j w_j^{iy} for all y >= 0."""
        grid = self.grid(float(s.mid()), fall, rotated=True)
        values, logs = self.points(grid, s)
        whole = self.real(s, min(fall, 20.0))
        return values, logs, above(whole * self._slip(grid, s) + self.beyond(grid, s))

    def progression(self, s: arb, step: arb, kept: Sequence[int], fall: float) -> list[acb]:
        """F(s + ik step) for the k that are kept, each to about e^-fall of F(s): one product of matrices.

        The number of points does not depend on k: on the rotated line |w^{iy}| <= 1 for all y >= 0.
        """
        values, logs, error = self.rotated(s, fall)
        slip = acb(arb(0, error), arb(0, error))
        return [x + slip for x in progression(values, logs, step, kept)]
