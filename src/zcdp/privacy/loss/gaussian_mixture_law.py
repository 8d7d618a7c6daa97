"""The privacy loss of noise on a sum that moves by a random amount: a mixture of Gaussians against one Gaussian.

It is the pair of a user whose examples are drawn one by one: A is the mixture of the normal laws with means m_j and
probabilities p_j, Q the one with mean 0. In units of the largest move w = dA/dQ is the sum of p_j e^{m_j u - m_j^2 v/2}
with 0 <= m_j <= 1, u normal of variance v under Q; for one move and none it is that of sampled_gaussian_law.py, whose
quadrature and decay serve here too. Theorem: docs/theorems/gaussian-mixtures.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import cos, erfc, gcd, inf, lcm, log, pi
from typing import TYPE_CHECKING, Any, Self

from flint import acb, acb_poly, arb, arb_poly, ctx

from zcdp.numeric.balls import NotCertified, Undecided, lift
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.sampled_gaussian_heuristics import CUTS, LAST_ERFC, MODE_ACCURACY, SEEN
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianFactor, SampledNormal
from zcdp.privacy.loss.transform import Estimate

if TYPE_CHECKING:
    from numpy import complex128, float64
    from numpy.typing import NDArray

    Floats = NDArray[float64]
    Complexes = NDArray[complex128]

__all__ = ["GaussianMixtureLaw", "MixtureNormal", "Moves", "gaussian_mixture_law"]

Moves = tuple[tuple[Fraction, Fraction], ...]
"""Pairs (move, probability): the moves increase from 0 on, each once; the probabilities are positive and sum to 1."""

DENSE = 4  # The sum is a polynomial in e^{u/n} where its degree is at most so many times the number of moves.
LEAST_PLACES, MOST_PLACES, PLACES_PER_DEVIATION = 257, 20_001, 4  # of the heuristic sums over a window
MODES_SEEN = 33  # moves around whose modes the heuristics look; of more than these a selection
MODE_PLACES = 33  # points around each mode
GUARD_BITS = 24  # bits of the working precision that the root of `alone` may lack
NEWTON_STEPS = 12
LEAST_PLACE = 1e9  # of the search for that root, downwards
MOVES_AS_COSTLY_AS_REST = 16  # so many moves take as long to add up as everything else in one evaluation of M


class MixtureNormal(SampledNormal):
    """F(s) = E w^s, w the sum of p_j e^{m_j u - m_j^2 v/2}, u normal of mean 0 and variance v: certified values."""

    def __init__(self, moves: Moves, curvature: arb) -> None:
        """Moves in units of the largest one, which is 1; `curvature` is v, at the working precision."""
        rest = sum((p for m, p in moves if m == 0), Fraction(0))
        super().__init__(lift(1 - rest), curvature)
        self.rest = lift(rest)
        self.moves = [(m, p) for m, p in moves if m > 0]
        self.unit = Fraction(gcd(*(m.numerator for m, _ in self.moves)), lcm(*(m.denominator for m, _ in self.moves)))
        self.degrees = [int(m / self.unit) for m, _ in self.moves]
        self.masses = [lift(p) * (lift(m * m) * -self.half).exp() for m, p in self.moves]
        """p_j e^{-m_j^2 v/2}."""

    @cached_property
    def _polynomial(self) -> list[arb] | None:
        """The coefficients of b as a polynomial in e^{unit u}, without the constant 1; None if it is not dense."""
        top = self.degrees[-1]
        if top > DENSE * len(self.degrees):
            return None
        row = [arb(0)] * (top + 1)
        for degree, mass in zip(self.degrees, self.masses, strict=True):
            row[degree] = mass
        return row

    def _sum(self, power: Any) -> Any:
        """The sum of p_j e^{-m_j^2 v/2} x^{m_j/unit}, at a real or complex x."""
        row = self._polynomial
        if row is not None:
            return (acb_poly(row) if isinstance(power, acb) else arb_poly(row))(power)
        total = power * 0
        for degree, mass in zip(self.degrees, self.masses, strict=True):
            total += mass * power**degree
        return total

    def risen(self, u: arb) -> arb:
        """b(u): the sum of p_j e^{m_j u - m_j^2 v/2} over the moves above 0."""
        value: arb = self._sum((u * lift(self.unit)).exp())
        return value

    def turner(self, angle: arb) -> Callable[[arb], acb]:
        """The function that takes u to log w(u + i angle)."""
        unit = lift(self.unit)
        turn = acb(0, angle * unit).exp()
        return lambda u: (self.rest + self._sum(turn * (u * unit).exp())).log()

    def slope(self, u: arb) -> arb:
        """w'(u), the sum of m_j p_j e^{m_j u - m_j^2 v/2}."""
        power = (u * lift(self.unit)).exp()
        terms = zip(self.moves, self.degrees, self.masses, strict=True)
        return sum((lift(m) * mass * power**degree for (m, _), degree, mass in terms), arb(0))

    def square(self) -> arb:
        """F(2) = E w^2, the sum of p_i p_j e^{m_i m_j v}."""
        whole = [(arb(0), self.rest), *((lift(m), lift(p)) for m, p in self.moves)]
        return sum((p * r * (m * n * self.curvature).exp() for m, p in whole for n, r in whole), arb(0))

    def shorter(self, b: arb, angle: arb) -> arb:
        """A lower bound on |w(u + i angle)|/w(u): its real part is at least a + b cos(angle), a = w(-inf)."""
        return ((self.rest + b * angle.cos()) / (self.rest + b)).max((angle / 2).cos())

    # Heuristics in floats: errors cost speed only.

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        """The moves and the logarithms of the masses p_j e^{-m_j^2 v/2}, that of no move included."""
        import numpy as np

        moves = np.array([0.0] + [float(m) for m, _ in self.moves])
        v = self.floats[1]
        logs = np.array([float(lift(p).log().mid()) for _, p in self.moves])
        return moves, np.concatenate([[self.log_rest], logs]) - moves**2 * v / 2

    def log_weight(self, u: Floats) -> Floats:
        """log w at all u of an array."""
        import numpy as np

        moves, logs = self._floats
        answer: Floats = np.logaddexp.reduce(logs[:, None] + moves[:, None] * u[None, :], axis=0)
        return answer

    def turned(self, u: Floats, angles: Floats) -> Complexes:
        """w(u + i angle), for a row of places u and a column of angles."""
        import numpy as np

        moves, logs = self._floats
        sizes = np.exp(np.minimum(logs[:, None] + moves[:, None] * u[None, :], 700.0))
        answer: Complexes = np.exp(1j * angles * moves[None, :]) @ sizes
        return answer

    def log_shorter(self, odds: Floats, angle: float) -> Floats:
        """The logarithm of `shorter`, where b/a = odds."""
        import numpy as np

        answer: Floats = np.log(np.maximum((1 + odds * np.cos(angle)) / (1 + odds), np.cos(angle / 2)))
        return answer

    @cached_property
    def _places(self) -> tuple[Floats, Floats, Floats]:
        """Places u at which `cone` may divide the line: b/a there, u itself, and the log of the probability beyond."""
        import numpy as np

        v = self.floats[1]
        moves, logs = self._floats
        places = np.linspace(-LAST_ERFC, LAST_ERFC, CUTS) * v**0.5
        risen = np.logaddexp.reduce(logs[1:, None] + moves[1:, None] * places[None, :], axis=0)
        low = risen < self.log_rest
        u = places[low]
        tails = [log(erfc(x) / 2) for x in (u / (2 * v) ** 0.5).tolist()]
        return np.exp(risen[low] - self.log_rest), u, np.array(tails)

    def best_cone(self, angle: float, s: float) -> tuple[float, float]:
        """The logarithm of the best bound of `cone`, and where it divides the line (inf: nowhere)."""
        plain = s * log(cos(angle / 2))
        if plain < 1 or self.log_rest == -inf or not len(self._places[1]):
            return plain, inf
        return super().best_cone(angle, s)

    def window(self, s: float, fall: float) -> tuple[float, float]:
        """An interval of u outside of which all terms of F(s) are below e^-fall of the largest and keep falling."""
        import numpy as np

        v = self.floats[1]
        reach = ((2 * fall) ** 0.5 + 1) * v**0.5
        if s < 0:
            middle = self._middle(s)
            u = np.linspace(middle - reach, middle + reach, LEAST_PLACES)
        else:
            moves = self._floats[0]
            seen = moves[:: len(moves) // MODES_SEEN + 1]
            near = np.linspace(-reach, reach, MODE_PLACES)
            modes = (np.append(seen, 1.0)[:, None] * (s * v) + near[None, :]).ravel()
            u = np.concatenate([np.linspace(-reach, s * v + reach, LEAST_PLACES), modes])
        size = s * self.log_weight(u) - u * u / (2 * v)
        if not np.isfinite(size).all():
            raise NotCertified("the transform of the mixture is needed at too large an order")
        kept = u[size >= size.max() - fall]
        gap = (float(u.max()) - float(u.min())) / (LEAST_PLACES - 1)
        return float(kept.min()) - 2 * gap, float(kept.max()) + 2 * gap

    def _middle(self, s: float) -> float:
        """About the u at which w^s e^{-u^2/(2v)}, log-concave for s < 0, is largest: u = s v w'/w, by bisection."""
        import numpy as np

        v = self.floats[1]
        moves, logs = self._floats

        def falls(u: float) -> bool:
            sizes = logs + moves * u
            mass = np.exp(sizes - sizes.max())
            return not u < s * v * float((moves * mass).sum() / mass.sum())

        return bisection(falls, s * v, 0.0, absolute=MODE_ACCURACY * v**0.5)[1]

    def estimate(self, s: float) -> Estimate:
        """log F(s) with its first two derivatives at a real s."""
        import numpy as np

        left, right = self.window(s, SEEN)
        v = self.floats[1]
        places = int(min(max(PLACES_PER_DEVIATION * (right - left) / v**0.5, LEAST_PLACES), MOST_PLACES))
        u = np.linspace(left, right, places)
        logs = self.log_weight(u)
        size = s * logs - u * u / (2 * v)
        top = float(size.max())
        mass = np.exp(size - top)
        whole = float(mass.sum())
        mean = float((mass * logs).sum()) / whole
        spread = float((mass * (logs - mean) ** 2).sum()) / whole
        return top + log(whole * (right - left) / (places - 1)) - log(2 * pi * v) / 2, mean, spread


class MixtureFactor(SampledGaussianFactor):
    """The transform of a mixture of Gaussians, in either direction."""

    noise: MixtureNormal

    def __init__(self, noise: MixtureNormal, *, removed: bool) -> None:
        super().__init__(noise, removed=removed)
        self.weight = 1.4 + len(noise.moves) / MOVES_AS_COSTLY_AS_REST

    @classmethod
    def estimates(cls, factors: Sequence[Self], c: float) -> list[Estimate]:
        """`estimate` of several factors; in one composition all have the same direction."""
        sign = 1 if factors[0].removed else -1
        found = [factor.noise.estimate(factor._power(c)) for factor in factors]
        return [(value, sign * slope, bend) for value, slope, bend in found]


@dataclass(frozen=True, eq=False)
class GaussianMixtureLaw(LossLaw):
    """The law of (A, Q), A the mixture and Q the Gaussian that does not move; or, reversed, of (Q, A).

    Theorem: docs/theorems/gaussian-mixtures.md.
    """

    cancels = True

    moves: Moves
    """In units of the largest move, which is 1."""
    curvature: Callable[[], arb]
    """A function that returns v, the square of the largest move over sigma, at the working precision."""
    removed: bool = True
    """The direction: True ("remove") if the law is that of (A, Q), the data set with the user first; else (Q, A)."""

    @property
    def symmetric(self) -> bool:
        """False: with the user and without are two different laws."""
        return False

    def noise(self) -> MixtureNormal:
        """The moments E w^s of this law, at the working precision."""
        return MixtureNormal(self.moves, self.curvature())

    def ready(self) -> MixtureFactor:
        """The transform of one use, with constants at the working precision."""
        return MixtureFactor(self.noise(), removed=self.removed)

    @property
    def still(self) -> Fraction:
        """The probability that nothing moves."""
        return sum((p for m, p in self.moves if m == 0), Fraction(0))

    def largest(self) -> arb:
        """The supremum of the losses: infinite for (A, Q); for (Q, A) -log of the probability that nothing moves."""
        return arb.pos_inf() if self.removed or not self.still else -lift(self.still).log()

    def reverse(self) -> LossLaw:
        """The law of the reversed pair."""
        return replace(self, removed=not self.removed)

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """The law of a Poisson sample: the same moves, each so much rarer; None in the direction (Q, A)."""
        if not self.removed:
            return None
        moved = [(m, p * rate) for m, p in self.moves if m > 0]
        still = 1 - sum((p for _, p in moved), Fraction(0))
        return replace(self, moves=((Fraction(0), still), *moved))

    def alone(self) -> Callable[[arb], arb]:
        """delta(epsilon) of one use: w grows with u, so the best test is a half line, from where w is e^epsilon.

        For (A, Q) it is A(u > t) - e^epsilon Q(u > t), w(t) = e^epsilon; for (Q, A) it is Q(u < t) - e^epsilon
        A(u < t), w(t) = e^-epsilon.
        """
        noise = self.noise()
        v, sign = noise.curvature, 1 if self.removed else -1
        scale = (2 * v).sqrt()

        def beyond(t: arb, move: arb) -> arb:
            """The probability that u, of mean `move` v, lies beyond t on the side of the test."""
            return (sign * (t - move * v) / scale).erfc() / 2

        def delta(epsilon: arb) -> arb:
            ratio = (sign * epsilon).exp()
            if ratio <= noise.rest:
                return arb(0)
            t = _place(noise, ratio)
            mixed = sum((lift(p) * beyond(t, lift(m)) for m, p in self.moves), arb(0))
            still = beyond(t, arb(0))
            return mixed - still * ratio if self.removed else still - mixed / ratio

        return delta


def _place(noise: MixtureNormal, ratio: arb) -> arb:
    """A thin ball around the u at which w is `ratio`: Newton's method proposes, the signs at both ends prove it."""
    import numpy as np

    v, target = noise.floats[1], float(ratio.log().mid())

    def reached(u: float) -> bool:
        return bool(noise.log_weight(np.array([u]))[0] >= target)

    # The last move alone reaches the ratio from here on; below the other end every move together does not.
    high = max(target - float(lift(noise.moves[-1][1]).log().mid()), 0.0) + v
    low = -1.0
    while reached(low) and low > -LEAST_PLACE:
        low *= 2
    u = arb(bisection(reached, low, high, relative=1e-12, absolute=1e-12)[1])
    for _ in range(NEWTON_STEPS):
        step = (noise.rest + noise.risen(u) - ratio) / noise.slope(u)
        u = (u - step).mid()
        if abs(step) < arb(2) ** (8 - ctx.prec):
            break
    width = (1 + abs(u)) * arb(2) ** (GUARD_BITS - ctx.prec)
    below, above = (u - width).mid(), (u + width).mid()
    if not (noise.rest + noise.risen(below) < ratio < noise.rest + noise.risen(above)):
        raise Undecided
    return below.union(above)


def gaussian_mixture_law(moves: Moves, variance: Fraction) -> GaussianMixtureLaw:
    """The law of a mixture of Gaussians of this variance, whose means are the moves; one of them must be above 0."""
    largest = moves[-1][0]
    scaled = tuple((m / largest, p) for m, p in moves)
    return GaussianMixtureLaw(scaled, lambda: lift(largest**2 / variance))
