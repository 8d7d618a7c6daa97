"""The privacy loss of the Gaussian mechanism on a Poisson sample: the sampled Gaussian mechanism of DP-SGD.

First its transform, by the trapezoidal rule on a shifted line, with certified errors; then bounds on how fast the
transform decays; then the law. Choices that only affect speed are made in sampled_gaussian_heuristics.py.
Theorem: docs/theorems/sampled-gaussian.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, log, pi
from typing import TYPE_CHECKING, Any, Self

from flint import acb, arb, ctx

from zcdp.numeric.balls import NotCertified, Undecided, above, below, lift
from zcdp.numeric.doubles import decays, product
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss.decay import UP, MonotoneShare, Share, minus_log
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.sampled_density_law import Facing, SampledDensityLaw
from zcdp.privacy.loss.sampled_gaussian_heuristics import NARROWER, RIGHT_ANGLE, SEEN, STRIPS, Grid, SampledProposals
from zcdp.privacy.loss.sampled_gaussian_twice import two_uses
from zcdp.privacy.loss.sampled_quadrature import BaseLoss, progression
from zcdp.privacy.loss.transform import Estimate, Exponentials, Factor, Points, Taylor, Tilted

__all__ = [
    "SampledDecay",
    "SampledGaussianFactor",
    "SampledGaussianLaw",
    "SampledNormal",
    "replaced_gaussian_law",
    "sampled_gaussian_law",
]


REAL_FUNCTIONS, COMPLEX_FUNCTIONS = 4, 10  # elementary functions that one point of a quadrature takes


class SampledNormal(SampledProposals):
    """F(s) = E w^s, w = 1 - q + q e^{u - mu^2/2}, u normal of mean 0 and variance mu^2: certified values.

    w is dA/dQ, where Q is the output without the record and A = (1-q) Q + q P that with the record, which is in the
    sample with probability q. So E_A e^{zL} = F(1 + z), and E_Q e^{-zL} = F(-z).
    Theorem: docs/theorems/sampled-gaussian.md.
    """

    def __init__(self, rate: arb, curvature: arb) -> None:
        """The rate q < 1 and mu^2, at the working precision."""
        self.rate, self.curvature = rate, curvature
        self.rest, self.half = 1 - rate, curvature / 2
        log_rest = float(self.rest.log().mid()) if self.rest > 0 else -inf
        super().__init__(float(rate.mid()), float(curvature.mid()), log_rest)
        self._last: tuple[arb, float, arb] | None = None

    def risen(self, u: arb) -> arb:
        """b(u) = w(u) - w(-inf): what the moved parts of A contribute to w, here q e^{u - mu^2/2}; it grows with u."""
        return self.rate * (u - self.half).exp()

    def slope(self, u: arb) -> arb:
        """w'(u): here b itself."""
        return self.risen(u)

    def turner(self, angle: arb) -> Callable[[arb], acb]:
        """The function that takes u to log w(u + i angle)."""
        turn = acb(0, angle).exp() * self.rate
        return lambda u: (self.rest + turn * (u - self.half).exp()).log()

    def terms(self, angle: arb) -> Callable[[arb], tuple[acb, acb]]:
        """The function that takes u to the loss and a rest, at u + i angle: what is integrated is e^{s loss + rest}.

        Here log w and 0. Other pairs have another loss, whose imaginary part must not be negative either.
        """
        log_turned = self.turner(angle)
        return lambda u: (log_turned(u), acb(0))

    def exponent(self, u: arb, s: arb) -> arb:
        """log w^s at a real u."""
        return (self.rest + self.risen(u)).log() * s

    def square(self) -> arb:
        """F(2) = E w^2."""
        return 1 + self.rate * self.rate * self.curvature.expm1()

    def cone(self, angle: arb, s: arb) -> arb:
        """An upper bound on the mean of |w(u + i angle)|^s, divided by F(s): 1 for s >= 0, larger for s < 0.

        With a = 1 - q, b = w - a and W = w(u + i angle), |W|^2 = w^2 (1 - 4ab/w^2 sin^2(angle/2)). As u rises, |W|/w
        falls while b < a, and |W| rises if the angle is at most a right one. So for s < 0 the line is divided at some
        place u, and each side gets its own bound; the bound without a division is cos(angle/2)^s.
        """
        if s >= 0:
            return arb(1)
        plain = (angle / 2).cos() ** s
        place = self.best_cone(float(angle.mid()), float(s.mid()))[1]
        if place == inf:
            return plain
        b = self.risen(arb(place))
        if not b < self.rest:
            return plain
        shorter = self.shorter(b, angle) ** s
        beyond = (arb(place) / (2 * self.curvature).sqrt()).erfc() / 2 * (self.rest + b) ** s
        return plain.min(shorter + beyond * (shorter if angle < RIGHT_ANGLE else plain))

    def shorter(self, b: arb, angle: arb) -> arb:
        """A lower bound on |w(u + i angle)|/w(u), given b = w(u) - (1 - q): here the ratio itself."""
        weight = self.rest + b
        return (1 - 4 * self.rest * b / (weight * weight) * (angle / 2).sin() ** 2).sqrt()

    def beyond(self, grid: Grid, s: arb) -> arb:
        """A certified upper bound on the sum of the moduli of all terms that the grid leaves out."""
        step = arb(grid.step)
        front = step / (2 * arb.pi() * self.curvature).sqrt() * (arb(grid.angle) ** 2 / (2 * self.curvature)).exp()
        total = arb(0)
        for j, outward in ((grid.first, -1), (grid.last, 1)):
            u = step * j
            tail = self.risen(u)
            weight = self.rest + tail
            size = front * (weight.log() * s - u * u / (2 * self.curvature)).exp()
            # a bound on the outward slope of log size, beyond the Gaussian factor, from here on: log w is convex
            rise = s.max(arb(0)) if outward > 0 else (-s).max(arb(0)) * self.slope(u) / weight
            if grid.angle and not s >= 0:
                near = outward > 0 or tail < self.rest
                size *= self.shorter(tail, arb(grid.angle)) ** s if near else (arb(grid.angle) / 2).cos() ** s
            ratio = ((rise - outward * u / self.curvature) * step).exp()
            if not ratio < 1:
                raise Undecided
            total += size * ratio / (1 - ratio)
        return total

    def _slip(self, grid: Grid, s: arb) -> arb:
        """A certified bound on the error of the infinite trapezoidal sum, divided by F(s)."""
        strip, angle, turns = arb(grid.strip), arb(grid.angle), 2 * arb.pi() / arb(grid.step)
        edge = (strip * strip / (2 * self.curvature)).exp()
        edge *= self.cone(strip, s)
        if grid.angle:
            return 1 / (turns * angle).expm1() + edge / (turns * (strip - angle)).expm1()
        return 2 * edge / (turns * strip).expm1()

    def real(self, s: arb, fall: float) -> arb:
        """F(s) at a real s, with a relative error of about e^-fall; the last value is kept, since callers repeat."""
        if self._last is None or not (self._last[0] == s and self._last[1] >= fall):
            self._last = s, fall, self._real(s, fall)
        return self._last[2]

    def _real(self, s: arb, fall: float) -> arb:
        grid = self.grid(float(s.mid()), fall, rotated=False)
        count_functions(REAL_FUNCTIONS * (grid.last - grid.first))
        step, twice, total = arb(grid.step), -1 / (2 * self.curvature), arb(0)
        for j in range(grid.first, grid.last + 1):
            u = step * j
            total += (self.exponent(u, s) + u * u * twice).exp()
        total *= step / (2 * arb.pi() * self.curvature).sqrt()
        slip = self._slip(grid, s)
        if not slip < 1:
            raise Undecided
        return (total / (1 + slip)).union((total + self.beyond(grid, s)) / (1 - slip))

    def divergence(self, fall: float) -> arb:
        """F'(1) = E w log w, the Kullback-Leibler divergence (order 1), with an error of about e^-fall."""
        grid = self.grid(2.0, fall, rotated=False)
        count_functions(REAL_FUNCTIONS * (grid.last - grid.first))
        step, twice, total = arb(grid.step), -1 / (2 * self.curvature), arb(0)
        for j in range(grid.first, grid.last + 1):
            u = step * j
            weight = self.rest + self.risen(u)
            total += weight * weight.log() * (u * u * twice).exp()
        total *= step / (2 * arb.pi() * self.curvature).sqrt()
        # |w log w| <= (|w|^2 + 1)/2 + |w arg w|
        strip = arb(grid.strip)
        slip = self._slip(grid, arb(2)) * ((self.square() + 1) / 2 + strip)
        error = above(slip + (self.beyond(grid, arb(2)) + self.beyond(grid, arb(0))) / 2)
        return total + arb(0, error)

    def points(self, grid: Grid, s: arb) -> tuple[list[acb], list[acb]]:
        """For each point of the grid density times step times w^s, and log w."""
        count_functions(COMPLEX_FUNCTIONS * (grid.last - grid.first))
        front = arb(grid.step) / (2 * arb.pi() * self.curvature).sqrt()
        terms = self.terms(arb(grid.angle))
        values, logs = [], []
        for j in range(grid.first, grid.last + 1):
            u = acb(arb(grid.step) * j, grid.angle)
            loss, rest = terms(u.real)
            logs.append(loss)
            values.append((loss * s + rest - u * u / (2 * self.curvature)).exp() * front)
        return values, logs

    def rotated(self, s: arb, fall: float) -> tuple[list[acb], list[acb], float]:
        """Weights G_j, logarithms log w_j and a certified error e, which is about e^-fall F(s).

        For all y >= 0, F(s + iy) is within e of the sum of G_j w_j^{iy}.
        """
        grid = self.grid(float(s.mid()), fall, rotated=True)
        values, logs = self.points(grid, s)
        whole = self.real(s, min(fall, 20.0))
        return values, logs, above(whole * self._slip(grid, s) + self.beyond(grid, s))

    def progression(self, s: arb, step: arb, kept: Sequence[int], fall: float) -> list[acb]:
        """F(s + ik step) for each k in `kept`, with errors of about e^-fall F(s), as one product of matrices.

        The number of points does not depend on k: on the shifted line |w^{iy}| <= 1 for all y >= 0.
        """
        values, logs, error = self.rotated(s, fall)
        slip = acb(arb(0, error), arb(0, error))
        return [x + slip for x in progression(values, logs, step, kept)]


# How fast the transform decays: bounds from paths that are shifted into the complex plane.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


LEVELS = (5.0, 20.0, 70.0)  # values of -log of the decay of the whole composition, for each of which a path is chosen
WIDEST_ANGLE = 1.35  # less than pi/2
ANGLES, SAMPLES = 28, 97  # angles that are tried, and points at which the integrand is looked at
HIGHEST, FASTER = 1e30, 1.5  # last height of the search for a level of decay, and ratio of its steps
HEIGHTS = 256  # of the table of bounds
DEEPEST = 32.0  # the largest -log of the decay of one use that is sought


@dataclass(frozen=True)
class Path:
    """The bound |F(s + iy)|/F(s) <= sum over j of size_j e^{-y turn_j} + rest, valid for all y >= 0."""

    sizes: Floats
    """The size_j, rounded up."""
    turns: Floats
    """The turn_j, rounded down, but not below 0."""
    rest: float


class SampledDecay:
    """Certified lower bounds on log(F(s)/|F(s + iy)|) for all y >= Y, as a function of Y.

    Shift the path of u by i angle, where arg w >= 0: |F(s + iy)| <= e^{angle^2/(2 mu^2)} J(y), J(y) the mean of
    |w|^s e^{-y arg w}, which falls with y. Each path gives a sum of exponentials in y; the best of several is taken.
    Theorem: docs/theorems/sampled-gaussian.md.
    """

    def __init__(self, noise: SampledNormal, s: arb, whole: arb, count: int) -> None:
        """`whole` is F(s). Bounds are sought for heights at which `count` uses decay by about e^-5 to e^-70."""
        self.noise, self.s, self.whole, self.count = noise, s, whole, count

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """Heights, and for each of them a bound that is valid for all larger y; so a few heights serve all y."""
        import numpy

        proposals, (low, high) = _proposals(self.noise, float(self.s.mid()), self.count)
        paths = []
        for angle, fall in proposals:
            with suppress(NotCertified):  # Another path may succeed.
                paths.append(_path(self.noise, self.s, self.whole, angle, fall))
        heights: Floats = numpy.geomspace(low / 16, high * 4, HEIGHTS)
        best = numpy.ones(HEIGHTS)
        for path in paths:
            # e^{-x} has an error of 2^-50, and the product x = Y turn a relative error of 2^-53
            falls = decays(numpy.outer(heights, path.turns) * (1 - 2.0**-50)) + 2.0**-49
            more = UP + len(path.sizes) * 2.0**-52
            best = numpy.minimum(best, (product(falls, path.sizes) * more + path.rest) * UP)
        bounds = numpy.maximum.accumulate(minus_log(numpy, best))
        return numpy.concatenate([[0.0], heights]), numpy.concatenate([[0.0], bounds])

    def __call__(self, heights: Floats) -> Floats:
        """The bounds for an array of heights Y."""
        import numpy

        known, bounds = self._table
        answer: Floats = bounds[numpy.searchsorted(known, heights, side="right") - 1]
        return answer


def _proposals(noise: SampledNormal, s: float, count: int) -> tuple[list[tuple[float, float]], tuple[float, float]]:
    """Heuristic: angles, each the best for one level of decay, with the fall to which its path must be computed.

    The second result is the range of heights in which these levels of decay occur.
    """
    import numpy as np

    v = noise.floats[1]
    left, right = noise.window(s, SEEN)
    u = np.linspace(left, right, SAMPLES)
    angles = np.geomspace(1e-4, WIDEST_ANGLE, ANGLES)[:, None]
    moduli, turns = noise.turned_terms(u, angles, s)
    plain = noise.turned_terms(u, 0 * angles[:1], s)[0][0] - u * u / (2 * v)
    top = plain.max()
    size = moduli - u * u / (2 * v) - top - log(np.exp(plain - top).sum())
    size += angles**2 / (2 * v)

    def depth(height: float) -> tuple[float, int]:
        """-log of the bound of the best path at a height, and the index of its angle."""
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
    """The certified bound of one path; its quadrature has an error of about e^-fall F(s)."""
    import numpy

    v, power = noise.floats[1], float(s.mid())
    fall += angle * angle / (2 * v)
    best, strip = (0.0, 0.0), 0.995 * (pi / 2 - angle)
    for _ in range(STRIPS):
        growth = strip * strip / (2 * v) + noise.log_cone(strip + angle, power)
        best = max(best, (2 * pi * strip / (fall + growth), strip))
        strip *= NARROWER
    size, strip = best
    grid = noise.spread(power, fall + noise.log_cone(angle, power), size, angle, strip)
    step, tilt, wide = arb(size), arb(angle), arb(strip)
    lift = (tilt * tilt / (2 * noise.curvature)).exp()
    front = step / (2 * arb.pi() * noise.curvature).sqrt() * lift / whole
    terms = noise.terms(tilt)
    sizes, turns = [], []
    for j in range(grid.first, grid.last + 1):
        u = step * j
        loss, rest = terms(u)
        sizes.append(above(front * (loss.real * s + rest.real - u * u / (2 * noise.curvature)).exp()))
        turns.append(max(below(loss.imag), 0.0))
    edge = (wide * wide / (2 * noise.curvature)).exp() * noise.cone(wide + tilt, s)
    slip = 2 * edge * lift / (2 * arb.pi() * wide / step).expm1()
    return Path(numpy.array(sizes), numpy.array(turns), above(slip + noise.beyond(grid, s) / whole))


# The law of the sampled Gaussian mechanism, in either direction.

# Relative errors of values on the real line are about e^-34, so that M(c)^n is known to two digits for 10^12 uses,
# and about e^-44 where the value is a factor of the answer.
REAL_FALL, TILTED_FALL = 34.0, 44.0


@dataclass(frozen=True, eq=False)
class SampledGaussianLaw(LossLaw):
    """The law of (A, Q), A = (1-q) Q + q P, for a Gaussian pair (P, Q) of parameter mu; or, reversed, of (Q, A).

    Theorem: docs/theorems/sampling.md.
    """

    cancels = True

    rate: Fraction
    """q < 1."""
    curvature: Callable[[], arb]
    """A function that returns mu^2 at the working precision."""
    removed: bool = True
    """The direction: True ("remove") if the law is that of (A, Q), the data set with the record first; else (Q, A)."""

    @property
    def symmetric(self) -> bool:
        """False: with the record and without it are two different laws."""
        return False

    def ready(self) -> SampledGaussianFactor:
        """The transform of one use, with constants at the working precision."""
        return SampledGaussianFactor(self.noise(), removed=self.removed)

    def noise(self) -> SampledNormal:
        """The moments E w^s of this law, at the working precision."""
        return SampledNormal(lift(self.rate), self.curvature())

    def largest(self) -> arb:
        """The supremum of the losses: infinite for (A, Q) and, since w > 1 - q, -log(1 - q) for (Q, A)."""
        return arb.pos_inf() if self.removed else -lift(-self.rate).log1p()

    def reverse(self) -> LossLaw:
        """The law of the reversed pair."""
        return replace(self, removed=not self.removed)

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of a sample of the sample, whose rate is the product of the two; None in the direction (Q, A)."""
        return sampled_gaussian_law(self.rate * rate, self.curvature) if self.removed else None

    def alone(self) -> Callable[[arb], arb]:
        """delta(epsilon) of one use, from the profile d of the Gaussian pair.

        With x = e^epsilon it is q d(log(1 + (x-1)/q)) for (A, Q), and (1 - (1-q)x) d(log(qx/(1 - (1-q)x))) for (Q, A).
        """
        q = lift(self.rate)
        mu = self.curvature().sqrt()

        def delta(epsilon: arb) -> arb:
            more = epsilon.expm1()
            front = q if self.removed else q - (1 - q) * more
            point = (more / front).log1p()
            return front * _profile(mu, point)

        return delta

    def twice(self) -> Callable[[arb], arb]:
        """delta(epsilon) of two uses, by one integral; (Q, A) has 1 - x + x H(1/x) with H that of (A, Q)."""

        def delta(epsilon: arb) -> arb:
            q, mu = lift(self.rate), self.curvature().sqrt()
            if self.removed:
                return two_uses(q, mu, epsilon.exp())
            return epsilon.exp() * two_uses(q, mu, (-epsilon).exp()) - epsilon.expm1()

        return delta


def _profile(mu: arb, epsilon: arb) -> arb:
    """delta(epsilon) of a Gaussian pair: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    place, root = epsilon / mu, arb(2).sqrt()
    return (((place - mu / 2) / root).erfc() - epsilon.exp() * ((place + mu / 2) / root).erfc()) / 2


class SampledGaussianFactor(Factor):
    """The transform M(z) = F(1 + z) of (A, Q), or M(z) = F(-z) of (Q, A), where F(s) = E w^s."""

    weight = 1.4
    quick = True

    def __init__(self, noise: SampledNormal, *, removed: bool) -> None:
        self.noise, self.removed = noise, removed

    def _power(self, z: Any) -> Any:
        """The exponent s with M(z) = F(s)."""
        return 1 + z if self.removed else -z

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        s = self._power(z)
        if isinstance(s, arb):
            return self.noise.real(s, _working())
        upper = bool(s.imag >= 0)
        height = s.imag if upper else -s.imag
        [value] = self.noise.progression(s.real, height, [1], _working())
        return value if upper else value.conjugate()

    def once(self, z: Any, w: Any, u: Any) -> Any:  # noqa: ARG002
        """M(z); at a real z with a relative error of about e^-34."""
        return self.noise.real(self._power(z), REAL_FALL) if isinstance(z, arb) else self.moment(z)

    def moments(self, points: Points) -> Sequence[acb]:
        """M at all points of a vertical line, each with its error."""
        fall = min(points.needed, _working())
        values = self.noise.progression(self._power(points.c), points.step, points.kept, fall)
        return values if self.removed else [value.conjugate() for value in values]

    def along(self, z: Any, w: Any, u: Any, estimate: Estimate | None = None) -> Taylor:  # noqa: ARG002
        """M(c) and K(c), certified; K'(c) and K''(c) are heuristic."""
        c = z[0]
        moment = self.noise.real(self._power(c), REAL_FALL)
        _, slope, bend = estimate or self.estimate(float(c))
        return Taylor(moment, moment.log(), arb(slope), arb(bend))

    def estimate(self, c: float) -> Estimate:
        """Heuristic values of K(c), K'(c) and K''(c), in floats."""
        return self.estimates([self], c)[0]

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[Estimate]:
        """`estimate` of several factors at once; in one composition all have the same direction."""
        found = SampledNormal.estimates([factor.noise for factor in factors], factors[0]._power(c))
        return found if factors[0].removed else [(value, -slope, bend) for value, slope, bend in found]

    @classmethod
    def turned(cls, factors: Sequence[Self], c: float, step: float) -> Iterator[Any] | None:
        """Heuristic M(c + ik step)/M(c) of several factors, k = 0, 1, ...; of laws derived from this one not known."""
        if cls is not SampledGaussianFactor:
            return None
        sign = 1 if factors[0].removed else -1
        return SampledNormal.turned_moments([one.noise for one in factors], factors[0]._power(c), sign * step)

    def tilted(self, c: arb) -> Tilted:
        """M(c + iy)/M(c) as finitely many exponentials, by the quadrature on the shifted line.

        For (Q, A), F(-c - iy) is the conjugate of F(-c + iy).
        """
        s = self._power(c)
        values, logs, error = self.noise.rotated(s, TILTED_FALL)
        whole = self.noise.real(s, TILTED_FALL)
        weights = [x / whole for x in values]
        if not self.removed:
            weights, logs = [x.conjugate() for x in weights], [-x.conjugate() for x in logs]
        return Tilted((), arb(0), arb(0), exponentials=Exponentials(weights, logs, arb(error) / whole))

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        return MonotoneShare(count, SampledDecay(self.noise, self._power(c), taylor.moment, max(count, self.uses)))


def _working() -> float:
    """The working precision as a natural logarithm: relative errors of about e^-_working() are rounding errors."""
    return ctx.prec * log(2)


def replaced_gaussian_law(rate: Fraction, curvature: Callable[[], arb]) -> SampledDensityLaw:
    """The law of the Gaussian mechanism on a sample of fixed size, for replace-one neighbours.

    It is the envelope of both directions of ((1-q) Q + q P, Q), q the rate; `curvature` returns mu^2.
    """

    def base() -> BaseLoss:
        v = curvature()
        constant = -(2 * arb.pi() * v).log() / 2 - v / 8
        return BaseLoss(-1 / (2 * v), arb(-1) / 2, constant, arb.neg_inf(), arb.pos_inf())

    def once(epsilon: arb) -> arb:
        return _profile(curvature().sqrt(), epsilon)

    return SampledDensityLaw(rate, base, once, Facing.EITHER)


def sampled_gaussian_law(rate: Fraction, curvature: Callable[[], arb]) -> SampledGaussianLaw:
    """The law of (A, Q) for the Gaussian mechanism on a Poisson sample of rate q < 1; `curvature` returns mu^2."""
    return SampledGaussianLaw(rate, curvature)
