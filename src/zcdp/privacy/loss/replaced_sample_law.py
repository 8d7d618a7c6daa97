"""The privacy loss of Gaussian noise on a Poisson sample of which one record may be another: records are replaced.

With the one record the output is A = (1-q) N(0) + q N(1), with the other B = (1-q) N(0) + q N(-1), in units of a
record's norm: the worst case of two records of that norm. In standard units w(u) = 1 - q + q e^{u - v/2}, u normal of
variance v, dA = w(u) and dB = w(-u): the loss is log w(u) - log w(-u). For the quadrature and the decay of its
transform see sampled_gaussian_law.py, which they are shared with. Theorem: docs/theorems/replaced-samples.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import cos, inf, log, pi
from typing import TYPE_CHECKING, Self

from flint import acb, arb, ctx

from zcdp.numeric.balls import NotCertified, Undecided, lift
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.sampled_gaussian_heuristics import SEEN, Grid
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianFactor, SampledNormal
from zcdp.privacy.loss.transform import Estimate

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Floats = NDArray[float64]

__all__ = ["ReplacedNormal", "ReplacedSampleLaw"]

PLACES, MODE_PLACES = 513, 65  # points across a window, and around each of its modes


class ReplacedNormal(SampledNormal):
    """F(s) = E w(u)^s w(-u)^(1-s), w(u) = 1 - q + q e^{u - v/2}, u normal of mean 0 and variance v: certified values.

    F(1 + z) is the transform of the loss log w(u) - log w(-u), and F(1 - s) = F(s).
    """

    def terms(self, angle: arb) -> Callable[[arb], tuple[acb, acb]]:
        """The function that takes u to log w - log w' and log w', at u + i angle; w' is w at the mirrored point."""
        turn = acb(0, angle).exp() * self.rate
        back = turn.conjugate()

        def both(u: arb) -> tuple[acb, acb]:
            one = (self.rest + turn * (u - self.half).exp()).log()
            other = (self.rest + back * (-u - self.half).exp()).log()
            return one - other, other

        return both

    def exponent(self, u: arb, s: arb) -> arb:
        """log of w(u)^s w(-u)^(1-s)."""
        return (self.rest + self.risen(u)).log() * s + (self.rest + self.risen(-u)).log() * (1 - s)

    def cone(self, angle: arb, s: arb) -> arb:
        """An upper bound on the mean of |w^s w'^(1-s)| at u + i angle, divided by F(s): 1 for 0 <= s <= 1.

        Else one of the exponents is negative, and the bound is that of w to this power alone: the other factor is at
        most its value on the real line, and at most 1 where the line is divided off.
        """
        return super().cone(angle, s.min(1 - s))

    def best_cone(self, angle: float, s: float) -> tuple[float, float]:
        """The logarithm of the bound, and where it divides the line: w at the mirrored place must be at most 1."""
        bound, place = super().best_cone(angle, s)
        return (bound, place) if place >= -self.floats[1] / 2 * (1 - 1e-9) else (s * log(cos(angle / 2)), inf)

    def beyond(self, grid: Grid, s: arb) -> arb:
        """A certified upper bound on the sum of the moduli of all terms that the grid leaves out.

        log w rises with a slope between 0 and 1, which itself rises.
        """
        step, zero, angle = arb(grid.step), arb(0), arb(grid.angle)
        front = step / (2 * arb.pi() * self.curvature).sqrt() * (angle**2 / (2 * self.curvature)).exp()
        total = zero
        for j, power in ((grid.last, s), (-grid.first, 1 - s)):  # the left end is the right one of the mirrored terms
            u = step * j
            size = front * (self.exponent(u, power) - u * u / (2 * self.curvature)).exp()
            mirrored = self.risen(-u)
            shorter = self.shorter(mirrored, angle) if mirrored < self.rest else (angle / 2).cos()
            size *= (angle / 2).cos() ** power.min(zero) * shorter ** (1 - power).min(zero)
            rise = power.max(zero) + (power - 1).max(zero) * mirrored / (self.rest + mirrored)
            ratio = ((rise - u / self.curvature) * step).exp()
            if not (u > 0 and ratio < 1):
                raise Undecided
            total += size * ratio / (1 - ratio)
        return total

    def divergence(self, fall: float) -> arb:
        """F'(1), the Kullback-Leibler divergence: K is convex and 0 at s = 1, so chords to both sides enclose it."""
        little = arb(2) ** -(ctx.prec // 3)
        right, left = (self.real(1 + step, fall + ctx.prec / 3).log() for step in (little, -little))
        return (-left / little).union(right / little)

    # Heuristics in floats: errors cost speed only.

    def log_cone(self, angle: float, s: float) -> float:
        """The logarithm of `cone`."""
        return super().log_cone(angle, min(s, 1 - s))

    def _sizes(self, u: Floats, s: float) -> Floats:
        answer: Floats = s * self.log_weight(u) + (1 - s) * self.log_weight(-u) - u * u / (2 * self.floats[1])
        return answer

    def turned_terms(self, u: Floats, angles: Floats, s: float) -> tuple[Floats, Floats]:
        """log of the modulus of w^s w'^(1-s), and the imaginary part of the loss, at u + i angle."""
        import numpy as np

        one, other = self.turned(u, angles), self.turned(-u, -angles)
        return s * np.log(np.abs(one)) + (1 - s) * np.log(np.abs(other)), np.angle(one) - np.angle(other)

    def _far(self, s: float) -> float:
        """Beyond this place all terms fall, to the right."""
        return (max(s, 0.0) + max(s - 1, 0.0)) * self.floats[1]

    def window(self, s: float, fall: float) -> tuple[float, float]:
        """An interval of u outside of which all terms of F(s) are below e^-fall of the largest and keep falling."""
        import numpy as np

        v = self.floats[1]
        reach = ((2 * fall) ** 0.5 + 1) * v**0.5
        right, left = self._far(s), -self._far(1 - s)
        near = np.linspace(-reach, reach, MODE_PLACES)
        modes = np.concatenate([near + place for place in (0.0, s * v, (s - 1) * v, left, right)])
        u = np.sort(np.concatenate([np.linspace(left - reach, right + reach, PLACES), modes]))
        size = self._sizes(u, s)
        if not np.isfinite(size).all():
            raise NotCertified("the transform of the sampled noise is needed at too large an order")
        kept = u[size >= size.max() - fall]
        gap = (right - left + 2 * reach) / (PLACES - 1)
        return float(kept.min()) - gap, float(kept.max()) + gap

    def spread(self, s: float, fall: float, step: float, angle: float, strip: float) -> Grid:
        """The grid with the given step that covers the window, and reaches to where all terms fall."""
        grid = super().spread(s, fall, step, angle, strip)
        margin = self.floats[1] ** 0.5 / 8
        last = max(grid.last, int((self._far(s) + margin) / step) + 1)
        first = min(grid.first, -int((self._far(1 - s) + margin) / step) - 1)
        return Grid(step, angle, strip, first, last)

    def estimate(self, s: float) -> Estimate:
        """log F(s) with its first two derivatives at a real s."""
        import numpy as np

        left, right = self.window(s, SEEN)
        u = np.linspace(left, right, PLACES)
        size = self._sizes(u, s)
        top = float(size.max())
        mass = np.exp(size - top)
        whole = float(mass.sum())
        losses = self.log_weight(u) - self.log_weight(-u)
        mean = float((mass * losses).sum()) / whole
        spread = float((mass * (losses - mean) ** 2).sum()) / whole
        return top + log(whole * (right - left) / (PLACES - 1)) - log(2 * pi * self.floats[1]) / 2, mean, spread


class ReplacedFactor(SampledGaussianFactor):
    """The transform M(z) = F(1 + z)."""

    noise: ReplacedNormal
    weight = 2.0

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[Estimate]:
        """`estimate` of several factors."""
        return [factor.noise.estimate(1 + c) for factor in factors]


@dataclass(frozen=True, eq=False)
class ReplacedSampleLaw(LossLaw):
    """The law of (A, B): mixtures of the noise at 0 with that at 1, and with that at -1. Symmetric, by reflection.

    Theorem: docs/theorems/replaced-samples.md.
    """

    cancels = True

    rate: Fraction
    """q < 1, the probability that the record is in the sample."""
    curvature: Callable[[], arb]
    """A function that returns v, the square of a record's norm over sigma, at the working precision."""

    def noise(self) -> ReplacedNormal:
        """The moments of this law, at the working precision."""
        return ReplacedNormal(lift(self.rate), self.curvature())

    def ready(self) -> ReplacedFactor:
        """The transform of one use, with constants at the working precision."""
        return ReplacedFactor(self.noise(), removed=True)

    def _looks_symmetric(self) -> bool:
        """True: u and -u exchange A and B, so F(1 - s) = F(s)."""
        return True

    def alone(self) -> Callable[[arb], arb]:
        """delta(epsilon) of one use: the loss rises with u, so the best test is a half line u > t.

        There w(t) = x w(-t), x = e^epsilon, which is quadratic in e^t.
        """
        q, v = lift(self.rate), self.curvature()
        small, scale = q * (-v / 2).exp(), (2 * v).sqrt()

        def delta(epsilon: arb) -> arb:
            x, more = epsilon.exp(), (1 - q) * epsilon.expm1()
            t = ((more + (more * more + 4 * small * small * x).sqrt()) / (2 * small)).log()
            still, there, other = (((t - move * v) / scale).erfc() / 2 for move in (0, 1, -1))
            return q * (there - x * other) - more * still

        return delta
