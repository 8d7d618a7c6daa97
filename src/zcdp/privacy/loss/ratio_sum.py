"""The mean E (x - S)_+ of a sum S of independent likelihood ratios, certified: what random allocation rests on.

For a pair (P, Q) let X = dP/dQ under Q, and S the sum of T independent copies of X. With phi(z) = E e^{-zX} the mean is
the integral of phi(z)^T e^{zx}/(2 pi i z^2) along Re z = c > 0, and a trapezoidal sum over few nodes gives it to many
digits. Where the integrand decays too slowly a little normal noise is added to S: by convexity that gives an upper
bound, and chords take it off again for a lower one. Theorem: docs/theorems/random-allocation.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, cos, exp, log, pi, sin, sqrt

from flint import acb, acb_mat, arb

from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_products
from zcdp.privacy.loss.sampled_quadrature import progression
from zcdp.privacy.loss.tradeoff_hull import Atom

__all__ = ["AtomRatios", "GaussianRatios", "RatioSum", "Ratios"]


class Ratios(ABC):
    """The distribution of X = dP/dQ under Q, by its Laplace transform phi(z) = E e^{-zX}."""

    def least(self) -> arb:
        """The infimum of X, at the working precision."""
        return arb(0)

    def least_positive(self) -> arb:
        """The infimum of X where it is not 0."""
        return self.least()

    def most(self) -> arb:
        """The supremum of X, at the working precision."""
        return arb.pos_inf()

    def revealed(self) -> arb:
        """P(L = +inf) = 1 - E X, at the working precision."""
        return arb(0)

    def hidden(self) -> arb:
        """Q(X = 0), at the working precision."""
        return arb(0)

    @abstractmethod
    def log_real(self, c: float) -> float:
        """Heuristic log phi(c) at a real c > 0, in floats."""

    @abstractmethod
    def values(self, c: arb, step: arb, count: int, fall: float) -> Sequence[acb]:
        """phi(c + ik step) for 0 <= k < count, as balls with a radius of about e^-fall."""

    @abstractmethod
    def log_decay(self, c: float, height: float) -> float:
        """Heuristic logarithm of `decay`, in floats."""

    @abstractmethod
    def decay(self, c: arb, height: arb) -> arb:
        """An upper bound on |phi(c + iy)| for all y >= height >= 0."""


ANGLES = 24  # slopes of rotated paths that are tried
SURE_FALL = 60.0  # -log of the relative error of phi at a real point


@dataclass(frozen=True)
class GaussianRatios(Ratios):
    """The ratios of normal noise, lognormal: log X has the mean -mu^2/2 and the variance mu^2 under Q.

    phi is a trapezoidal sum over log X on the line Im = -theta: on it e^{-zX} does not grow with Im z.
    """

    curvature: Callable[[], arb]
    """A function that returns mu^2 at the working precision."""

    @cached_property
    def _square(self) -> float:
        return float(self.curvature().mid())

    @cached_property
    def _sample(self) -> tuple[object, object]:
        """Ratios and their masses, in floats."""
        import numpy as np

        places = np.linspace(-14.0, 14.0, 1_401)
        masses = np.exp(-places * places / 2) * (places[1] - places[0]) / sqrt(2 * pi)
        return np.exp(sqrt(self._square) * places - self._square / 2), masses

    def log_real(self, c: float) -> float:
        """Heuristic log phi(c), in floats."""
        import numpy as np

        ratios, masses = self._sample
        sizes = np.log(masses) - c * ratios  # type: ignore[operator, call-overload]
        top = float(sizes.max())
        return top + log(float(np.exp(sizes - top).sum()))

    def values(self, c: arb, step: arb, count: int, fall: float) -> Sequence[acb]:
        """phi at nodes of a vertical line: one trapezoidal sum over log X serves for all of them."""
        masses, ratios, error = self._rule(fall)
        sizes = [mass * (-c * ratio).exp() for mass, ratio in zip(masses, ratios, strict=True)]
        # Im X < 0: no term is larger at a node further up. Those left out are at most the error together.
        kept = [n for n, size in enumerate(sizes) if not abs(size) * len(sizes) < error]
        slip = arb(0, (2 * error).upper())
        found = progression([sizes[n] for n in kept], [-ratios[n] for n in kept], step, range(count))
        return [value + acb(slip, slip) for value in found]

    def _rule(self, fall: float) -> tuple[list[acb], list[acb], arb]:
        """Masses, ratios and an upper bound on the error of the sum, which is about e^-fall.

        The density times e^{-zX} is analytic; its integral along Im = 0 is at most 1 in size, and along Im = -tau,
        tau <= pi/2, at most e^{tau^2/(2 mu^2)}, as Re z X >= 0 on both. Theorem: docs/theorems/random-allocation.md.
        """
        square = self._square
        rotated = [pi / 2 * n / ANGLES for n in range(1, ANGLES + 1)]
        theta, tau = max((tau * fall / (2 * fall + tau * tau / (2 * square)), tau) for tau in rotated)
        mu2, angle, edge = self.curvature(), arb(theta), arb(tau)
        width = arb(2 * pi * theta / fall)
        reach = ceil((sqrt(2 * fall + theta * theta / square) + 1) * sqrt(square) / float(width))
        places = [acb(width * j, -angle) for j in range(-reach, reach + 1)]
        scale = width / (2 * arb.pi() * mu2).sqrt()
        masses = [(-(u * u) / (2 * mu2)).exp() * scale for u in places]
        ratios = [(u - mu2 / 2).exp() for u in places]
        turn = 2 * arb.pi() / width
        error = 1 / (turn * angle).expm1() + (edge * edge / (2 * mu2)).exp() / (turn * (edge - angle)).expm1()
        cut = (width * reach / (2 * mu2).sqrt()).erfc() * (angle * angle / (2 * mu2)).exp()
        return masses, ratios, error + cut

    def log_decay(self, c: float, height: float) -> float:
        """Heuristic logarithm of `decay`, in floats."""
        return min(size for size, _ in self._rotations(c, height))

    def _rotations(self, c: float, height: float) -> list[tuple[float, float]]:
        """For angles theta the logarithm of e^{theta^2/(2 mu^2)} phi(c cos theta + height sin theta), and theta."""
        angles = [pi / 2 * (n / ANGLES) ** 2 for n in range(ANGLES)]
        return [(t * t / (2 * self._square) + self.log_real(c * cos(t) + height * sin(t)), t) for t in angles]

    def decay(self, c: arb, height: arb) -> arb:
        """e^{theta^2/(2 mu^2)} phi(c cos theta + height sin theta), theta chosen in floats: the path is rotated."""
        _, angle = min(self._rotations(float(c.mid()), float(height.mid())))
        theta = arb(angle)
        place = c * theta.cos() + height * theta.sin()
        size = self.log_real(float(place.mid()))
        [value] = self.values(place.mid(), arb(1), 1, SURE_FALL - size)
        if not place >= place.mid():  # phi falls, so a point to the left is an upper bound
            [value] = self.values(place.lower(), arb(1), 1, SURE_FALL - size)
        return (theta * theta / (2 * self.curvature())).exp() * abs(value)


@dataclass(frozen=True)
class AtomRatios(Ratios):
    """The ratios of finitely many outcomes with the given P- and Q-masses, infinite losses included."""

    atoms: tuple[Atom, ...]

    @cached_property
    def _exact(self) -> list[tuple[Fraction, Fraction]]:
        """The ratios of outcomes that Q can produce, with their Q-masses, the largest first."""
        return sorted(((p / q, q) for p, q in self.atoms if q), reverse=True)

    @property
    def _atoms(self) -> list[tuple[arb, arb]]:
        """The same as balls at the working precision."""
        return [(lift(ratio), lift(mass)) for ratio, mass in self._exact]

    def least(self) -> arb:
        """The least ratio."""
        return lift(self._exact[-1][0])

    def least_positive(self) -> arb:
        """The least ratio above 0."""
        return lift(min((ratio for ratio, _ in self._exact if ratio), default=Fraction(0)))

    def most(self) -> arb:
        """The largest ratio."""
        return lift(self._exact[0][0])

    def revealed(self) -> arb:
        """The P-mass of outcomes that Q cannot produce."""
        return lift(sum((p for p, q in self.atoms if not q), Fraction(0)))

    def hidden(self) -> arb:
        """The Q-mass of outcomes that P cannot produce."""
        return lift(sum((q for p, q in self.atoms if not p), Fraction(0)))

    @cached_property
    def _sample(self) -> list[tuple[float, float]]:
        return [(float(ratio.mid()), float(mass.mid())) for ratio, mass in self._atoms]

    def log_real(self, c: float) -> float:
        """Heuristic log phi(c), in floats."""
        sizes = [log(mass) - c * ratio for ratio, mass in self._sample if mass > 0]
        top = max(sizes)
        return top + log(sum(exp(size - top) for size in sizes))

    def values(self, c: arb, step: arb, count: int, fall: float) -> Sequence[acb]:  # noqa: ARG002
        """phi at nodes of a vertical line, a finite sum."""
        atoms = self._atoms
        weights = [acb(mass * (-c * ratio).exp()) for ratio, mass in atoms]
        return progression(weights, [acb(-ratio) for ratio, _ in atoms], step, range(count))

    def log_decay(self, c: float, height: float) -> float:  # noqa: ARG002
        """Heuristic logarithm of `decay`, in floats."""
        return self.log_real(c)

    def decay(self, c: arb, height: arb) -> arb:  # noqa: ARG002
        """phi(c): a sum of waves need not decay."""
        return sum((mass * (-c * ratio).exp() for ratio, mass in self._atoms), arb(0))


# The sum of the ratios of all batches.

WINDOW = 2.0  # ratio of the ends of a window: the x for which one contour serves
# The same, and the most nodes, where many points are asked for: the narrower one where only that does without noise.
COARSE_WINDOWS, COARSE_NODES = (3.0, 1.3), 600
ABSOLUTE_FALL = 76.0  # -log of the error of E (x - S)_+/T that is aimed at
HEAD = 0.5  # The integrand at c is e^{HEAD times that} larger than the mean: the larger, the fewer nodes and more bits.
MOST_NODES = 2_000
SPARE_BITS = 60
CHERNOFF_FACTORS = (1.3, 1.6, 2.0, 3.0, 5.0, 8.0, 12.0)  # a second c as a multiple of the first
CHORD_DEVIATIONS = arb(7) / 4  # distance of the points of chords, in deviations of the noise
CHORDS, COARSE_CHORDS = 7, 4  # points of chords on each side: up to 12 and 7 deviations of the noise


class RatioSum:
    """E (x - S)_+ for the sum S of `batches` independent ratios, from a contour for each window of x."""

    def __init__(self, ratios: Ratios, batches: int, *, coarse: bool = False) -> None:
        """`coarse` is for laws through many points of it: less accurate where the integrand decays slowly."""
        self.ratios, self.batches = ratios, batches
        self.windows: tuple[float, ...] = COARSE_WINDOWS if coarse else (WINDOW,)
        self.nodes, self.chords = (COARSE_NODES, COARSE_CHORDS) if coarse else (MOST_NODES, CHORDS)
        self._plans: dict[float, _Plan] = {}
        self._contours: dict[float, _Contour | _Chernoff] = {}

    def ends(self, x: arb) -> tuple[arb, arb]:
        """Certified lower and upper bounds on E (x - S)_+, x > 0."""
        if (known := self._known(x)) is not None:
            return known, known
        low, high = self._contour(x).ends(x)
        return low.max(x - self._mean()).max(arb(0)), high.min(x)

    def upper(self, x: arb) -> arb:
        """A certified upper bound on E (x - S)_+, x > 0."""
        known = self._known(x)
        return self._contour(x).upper(x).min(x) if known is None else known

    def _mean(self) -> arb:
        """E S."""
        return self.batches * (1 - self.ratios.revealed())

    def _known(self, x: arb) -> arb | None:
        """E (x - S)_+ if S is never on one of the two sides of x, or never between 0 and x; else None."""
        if x >= self.batches * self.ratios.most():
            return x - self._mean()
        if x <= self.batches * self.ratios.least():
            return arb(0)
        return x * self.ratios.hidden() ** self.batches if x <= self.ratios.least_positive() else None

    def _contour(self, x: arb) -> _Contour | _Chernoff:
        size = log(float(x.mid()))
        ends = [window ** ceil(size / log(window)) for window in self.windows]
        last = next((end for end in ends if not self._plan(end).noisy), ends[0])
        if last not in self._contours:
            plan = self._plan(last)
            made = _Chernoff(self.ratios, self.batches, plan.line[0]) if plan.rare else None
            self._contours[last] = made or _Contour(self.ratios, self.batches, plan)
        return self._contours[last]

    def _plan(self, last: float) -> _Plan:
        if last not in self._plans:
            self._plans[last] = _planned(self.ratios, self.batches, last, self.nodes, self.chords)
        return self._plans[last]


@dataclass(frozen=True)
class _Plan:
    """What floats propose for a contour."""

    line: tuple[arb, arb, arb, arb]
    """c, a larger c of a Chernoff bound, the step and the deviation of the noise."""
    nodes: int
    bits: int
    fall: float
    """-log of the error of each phi(z)/phi(c)."""
    rare: bool = False
    """Whether the mean is negligible, so that a Chernoff bound at c is enough."""
    chords: int = CHORDS
    """How many points of chords there are on each side, where noise is taken off again."""

    @property
    def noisy(self) -> bool:
        """Whether noise is added to the sum."""
        return not self.line[-1].is_zero()


def _planned(ratios: Ratios, batches: int, last: float, most: int, chords: int) -> _Plan:
    """A contour for x up to `last`, chosen in floats."""
    fall = ABSOLUTE_FALL - log(batches)  # of the absolute error

    def head(log_c: float) -> float:
        """log of phi(c)^T e^{cx}."""
        c = exp(log_c)
        return c * last + batches * ratios.log_real(c)

    first, end = -log(last) - 10.0, -log(last) + 1.0
    while head(end) < HEAD * fall:
        if head(end) - end < -fall - 1:
            return _Plan((arb(exp(end)), arb(0), arb(0), arb(0)), 0, 0, 0.0, rare=True)
        end += 1.0
        if end + log(last) > 60:
            raise NotCertified("the sum of the ratios of all batches is too concentrated")
    c = exp(bisection(lambda place: head(place) > HEAD * fall, first, end, steps=40)[1])
    size = head(log(c))
    needed = size + fall + max(-2 * log(c), 0.0) + 6
    right = (fall + max(log(last), 0.0) + 6) / c
    # a larger c, of the Chernoff bound on the aliases at smaller x, that asks for the shortest period
    left, far = min(((head(log(c * more)) + fall + 6) / (c * (more - 1)), c * more) for more in CHERNOFF_FACTORS)
    noise, step = 0.0, 2 * pi / max(right, left)

    def rest(height: float) -> float:
        """log of the bound on the nodes beyond a height, without noise."""
        return c * last + batches * ratios.log_decay(c, height) - log(height)

    if rest(most * step) > -fall:
        noise, nodes = sqrt(2 * max(rest(most * step) + fall, 1.0)) / (most * step), most
        step = 2 * pi / max(right, left + (noise * far) ** 2 / (2 * (far - c)))
    else:
        nodes = ceil(bisection(lambda count: rest(count * step) < -fall, 1.0, float(most), steps=12)[1]) + 1
    bits = int((needed + log(batches)) / log(2)) + SPARE_BITS
    return _Plan((arb(c), arb(far), arb(step), arb(noise)), nodes, bits, needed, chords=chords)


class _Chernoff:
    """The bounds 0 and phi(c)^T e^{cx}/(ec) on E (x - S)_+, as y_+ <= e^{cy}/(ec)."""

    def __init__(self, ratios: Ratios, batches: int, c: arb) -> None:
        self.c, self.log = c, at_precision(256, lambda: _log_real(ratios, c) * batches)

    def ends(self, x: arb) -> tuple[arb, arb]:
        """Certified lower and upper bounds on E (x - S)_+."""
        return arb(0), self.upper(x)

    def upper(self, x: arb) -> arb:
        """A certified upper bound on E (x - S)_+."""
        return (self.log + self.c * x - 1).exp() / self.c


def _log_real(ratios: Ratios, c: arb) -> arb:
    """log phi(c) at a real c, certified."""
    [value] = ratios.values(c, arb(1), 1, SURE_FALL - ratios.log_real(float(c)))
    return abs(value).log()


class _Contour:
    """E (x - S - noise N)_+, N standard normal, as a trapezoidal sum along Re z = c; from it bounds on E (x - S)_+."""

    def __init__(self, ratios: Ratios, batches: int, plan: _Plan) -> None:
        self.c, self.far, self.step, self.noise = plan.line
        self.nodes, self.bits = nodes, bits = plan.nodes, plan.bits
        self.chords = plan.chords
        c = self.c
        width = ceil(sqrt(nodes))

        def weights() -> tuple[acb_mat, arb, arb]:
            more = plan.fall + log(batches) - ratios.log_real(float(c))
            values = ratios.values(c, self.step, nodes, more)
            found = []
            for k, value in enumerate(values):
                z = acb(c, self.step * k)
                found.append(value**batches * (self.noise * self.noise * z * z / 2).exp() / (z * z) / (1 if k else 2))
            rows = ceil(nodes / width)
            matrix = acb_mat(rows, width, found + [acb(0)] * (rows * width - nodes))
            return matrix, self._beyond(ratios, batches), _log_real(ratios, self.far) * batches

        self.matrix, self.beyond, self.far_log = at_precision(bits, weights)

    def _beyond(self, ratios: Ratios, batches: int) -> arb:
        """An upper bound on all nodes that are left out, divided by e^{cx}."""
        height = self.step * self.nodes
        size = (self.noise**2 * (self.c**2 - height**2) / 2).exp() * ratios.decay(self.c, height) ** batches
        return size / (arb.pi() * self.step * (self.nodes - 1))

    def _noisy(self, x: arb) -> tuple[arb, arb]:
        """Certified lower and upper bounds on E (x - S - noise N)_+.

        The trapezoidal sum is the mean itself and its aliases at x + jP, P the period, times e^{-cjP}, none negative.
        """
        rows, width = self.matrix.nrows(), self.matrix.ncols()
        count_products(self.nodes + rows)
        inner = self.matrix * acb_mat(width, 1, [acb(0, x * self.step * k).exp() for k in range(width)])
        outer = [acb(0, x * self.step * (k * width)).exp() for k in range(rows)]
        total = sum((a * b for a, b in zip(inner.entries(), outer, strict=True)), acb(0)).real
        grown = (self.c * x).exp()
        total, rest = total * grown * self.step / arb.pi(), self.beyond * grown
        return total - rest - self._aliases(x), total + rest

    def _aliases(self, x: arb) -> arb:
        """An upper bound on the sum over j != 0 of e^{-cjP} E (x + jP - S - noise N)_+.

        For j > 0 the mean is at most x + jP + noise, as S is not negative; for j < 0 by a Chernoff bound.
        """
        period = 2 * arb.pi() / self.step
        q, left = (-self.c * period).exp(), ((self.c - self.far) * period).exp()
        right = (x + self.noise) * q / (1 - q) + period * q / (1 - q) ** 2
        if self.noise.is_zero() and period >= x:
            return right  # Left of 0 the mean is 0.
        size = (self.far_log + self.far * x + (self.noise * self.far) ** 2 / 2 - 1).exp() / self.far
        return right + size * left / (1 - left)

    def ends(self, x: arb) -> tuple[arb, arb]:
        """Certified lower and upper bounds on E (x - S)_+."""
        return at_precision(self.bits, lambda: self._ends(x))

    def upper(self, x: arb) -> arb:
        """A certified upper bound on E (x - S)_+: noise only raises it."""
        return at_precision(self.bits, lambda: self._noisy(x)[1])

    def _ends(self, x: arb) -> tuple[arb, arb]:
        low, high = self._noisy(x)
        if self.noise.is_zero():
            return low, high
        weights, beyond = _chord_weights(self.chords)
        mean = beyond * self.noise
        for n in range(-self.chords, self.chords + 1):
            if n:
                mean += weights[n + self.chords] * self._noisy(x + n * CHORD_DEVIATIONS * self.noise)[1]
        return (low - mean) / weights[self.chords], high


def _chord_weights(most: int) -> tuple[list[arb], arb]:
    """Weights w_n with E f(N) <= sum of w_n f(n d) + rest for every convex f of slopes from 0 to 1, N standard normal.

    They are the means of the functions that are 1 at n d, 0 at the other points and linear between; f is at most
    constant beyond the first point, and beyond the last one it rises by at most 1, which is the rest.
    """
    d, points = CHORD_DEVIATIONS, range(-most, most + 1)

    def over(t: arb) -> arb:
        """E (N - t)_+."""
        return (-t * t / 2).exp() / (2 * arb.pi()).sqrt() - t * (t / arb(2).sqrt()).erfc() / 2

    means = {n: over(n * d) for n in points}
    weights = [(means[n - 1] - 2 * means[n] + means[n + 1]) / d for n in points[1:-1]]
    left = 1 - (means[-most] - means[1 - most]) / d
    right = (means[most - 1] - means[most]) / d
    return [left, *weights, right], means[most]
