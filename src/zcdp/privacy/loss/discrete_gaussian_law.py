"""The privacy loss of discrete Gaussian noise: its transform as a Jacobi theta function, and bounds on its decay.

Theorem: docs/theorems/discrete-gaussian.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any, Self

from flint import acb, arb

from zcdp.numeric.balls import Undecided, below, lift, root_below, trusted
from zcdp.numeric.theta import Theta
from zcdp.privacy.loss.decay import DOWN, LARGEST_BOUND, UP, Waves, WaveShare, least_distance
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import LossLaw, Outcomes
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted

__all__ = ["DiscreteGaussianLaw", "DiscreteNormal", "discrete_gaussian_pair"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# `outcomes` lists the atoms up to this number of deviations; if they are more than MOST_OUTCOMES it sums up to
# MOST_SUMMED and keeps BODY_OUTCOMES of them within BODY_DEVIATIONS, and FAR_OUTCOMES on either side beyond.
OUTCOME_DEVIATIONS, MOST_OUTCOMES, MOST_SUMMED = 18, 380, 100_000
BODY_DEVIATIONS, BODY_OUTCOMES, FAR_OUTCOMES = 7, 140, 20
# `share` uses the bound for theta close to 1 from the first variance on, and a list of atoms up to the second one.
STIFF_VARIANCE, LISTED_VARIANCE = 1, 9
# `tilted` lists the atoms up to this number of deviations, if the variance is not larger than LARGEST_TILTED_VARIANCE.
TILTED_DEVIATIONS, LARGEST_TILTED_VARIANCE = 10, 400


@dataclass(frozen=True)
class DiscreteNormal:
    """Noise of mass proportional to exp(-x^2/(2 variance)) on the integers, compared with itself moved by `shift`.

    The losses are shift (shift - 2x)/(2 variance), and with theta of docs/theorems/discrete-gaussian.md
        M(z) = exp(mu^2 (z^2 + z)/2) theta(shift z)/theta(0),  mu^2 = shift^2/variance.
    """

    variance: Fraction
    shift: int

    @property
    def spacing(self) -> Fraction:
        """The distance of neighbouring losses."""
        return self.shift / self.variance

    @property
    def point(self) -> Fraction:
        """The loss at x = 0."""
        return self.shift**2 / (2 * self.variance)

    def moment(self) -> Callable[[Any], Any]:
        """The function M, for balls and for series z_0 + z_1 u, with constants at the working precision."""
        theta, half = Theta(self.variance), lift(self.point)
        period = 2 * arb.pi() / lift(self.spacing)
        scale = 1 / theta(arb(0))

        def along(z: Any) -> Any:
            return (half * (z * z + z)).exp() * theta(z * self.shift) * scale

        def closed(z: Any) -> Any:
            if not isinstance(z, acb):
                return along(z)
            # M(z + i period) = (-1)^shift M(z); close to the real line theta needs fewer terms
            turns = (z.imag.mid() / period + arb(1) / 2).mid().floor().unique_fmpz()
            if turns is None:
                raise Undecided
            value = along(z - acb(0, period * int(turns)))
            return -value if self.shift * int(turns) % 2 else value

        return closed

    def reach(self, deviations: int) -> int:
        """An integer that is at least `deviations` standard deviations."""
        return deviations * (isqrt(int(self.variance)) + 1)

    def atoms(self, c: arb, reach: int) -> tuple[int, list[arb]]:
        """The first of 2 reach + 2 consecutive integers around -c shift, and the tilted masses e^{cL} P/M(c) of all."""
        centre, width = -c * self.shift, 2 * lift(self.variance)
        middle = centre.mid().floor().unique_fmpz()
        if middle is None:
            raise Undecided
        first = int(middle) - reach
        whole = Theta(self.variance)(centre) * (arb.pi() * width).sqrt()
        places = range(first, int(middle) + reach + 2)
        return first, [(-((x - centre) ** 2) / width).exp() / whole for x in places]

    def share(self, count: int, c: arb) -> ThetaShare:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        turns = trusted(lift(self.spacing) / (2 * arb.pi()))
        stiffness = max(below(2 * arb.pi() ** 2 * lift(self.variance)), 0.0) if self.variance >= STIFF_VARIANCE else 0.0
        reach = self.reach(4)
        near_end = below(arb.pi() / (lift(self.spacing) * (2 * reach + 1)))
        if self.variance > LISTED_VARIANCE:
            return ThetaShare(count, 0.0, (), min(stiffness, 1e300), turns, near_end=near_end)
        _, masses = self.atoms(c, reach)
        # E[(L - L')^2; both listed] = 2 (m_0 m_2 - m_1^2), m_k the moments of the listed masses
        zeroth, first, second = (sum((n**k * q for n, q in enumerate(masses)), arb(0)) for k in range(3))
        spread = root_below((zeroth * second - first * first) * lift(self.spacing) ** 2)
        weight = below(2 * sum((p * q for p, q in pairwise(masses)), arb(0)))
        waves = ((weight, turns),) if weight > 0 else ()
        return ThetaShare(count, spread, waves, stiffness, turns, near_end=near_end)


@dataclass(frozen=True, eq=False)
class DiscreteGaussianLaw(LossLaw):
    """The pair of discrete Gaussian noise and the same noise shifted. Theorem: docs/theorems/discrete-gaussian.md."""

    noise: DiscreteNormal

    def ready(self) -> Factor:
        """The transform of one use, with constants at the working precision."""
        return _NormalFactor(self.noise)

    def _looks_symmetric(self) -> bool:
        """True: theta is even and has the period 1, and z^2 + z has the same value at -1 - z."""
        return True

    def lattice(self) -> Lattice:
        """The lattice of all losses; they are unbounded, so any of them serves as its point `top`."""
        return Lattice(self.noise.point, self.noise.spacing)

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """P- and Q-masses of the atoms up to 18 deviations and of two tails; None if they are too many.

        The tails get infinite losses in a pair that dominates and, with `inward`, loss 0 in a pair that is dominated.
        If the atoms are more than MOST_OUTCOMES, only some of them are kept, close together up to BODY_DEVIATIONS: the
        masses between two of those are moved to both, which keeps the sums of the P- and of the Q-masses, or, with
        `inward`, become one outcome. Theorem: docs/theorems/discrete-gaussian.md.
        """
        variance, shift = self.noise.variance, self.noise.shift
        deviation = isqrt(int(variance)) + 1
        reach = OUTCOME_DEVIATIONS * deviation
        if 2 * reach + shift > MOST_SUMMED:
            return None
        width = 2 * lift(variance)
        whole = Theta(variance)(arb(0)) * (arb.pi() * width).sqrt()

        def mass(x: int) -> arb:
            return (-(arb(x) ** 2) / width).exp() / whole

        ratio = (-2 * reach / width).exp()
        most = mass(reach) / (1 - ratio)
        tail = arb(0).union(most)
        left, right = ([(tail, tail)] * 2) if inward else ((2 * tail, arb(0)), (arb(0), 2 * tail))
        # P is the noise around 0, with the record; Q is the noise around the shift, without it.
        masses = {x: mass(x) for x in range(1 - reach - shift, shift + reach)}
        pairs = [(masses[x], masses[x - shift]) for x in range(1 - reach, shift + reach)]
        kept = _kept(len(pairs), deviation)
        return Outcomes([left, *(_merged if inward else _spread)(pairs, kept, lift(self.noise.spacing)), right])


def _kept(count: int, deviation: int) -> list[int]:
    """The indices of the atoms that are kept, the first and the last one included; all of `count`, if not too many."""
    if count <= MOST_OUTCOMES:
        return list(range(count))
    body = min(BODY_DEVIATIONS * deviation, count // 2 - 1)
    middle, far = count // 2, count // 2 - body
    near = [middle - body + 2 * body * i // BODY_OUTCOMES for i in range(BODY_OUTCOMES)]
    ends = [far * i // FAR_OUTCOMES for i in range(FAR_OUTCOMES)]
    return sorted({*near, *ends, middle + body, *(count - 1 - i for i in ends)})


def _spread(pairs: list[tuple[arb, arb]], kept: list[int], spacing: arb) -> list[tuple[arb, arb]]:
    """A pair that dominates: what lies between two kept atoms is moved to both, by the chord of its ratio P/Q."""
    found = [pairs[i] for i in kept]
    for n, (i, j) in enumerate(pairwise(kept)):
        if j - i > 1:
            high, low = pairs[i][0] / pairs[i][1], pairs[j][0] / pairs[j][1]
            scale = -(spacing * (i - j)).expm1()
            up = down = arb(0)  # Q-masses; ratios fall by e^-spacing from one atom to the next
            for k in range(i + 1, j):
                share = -(spacing * (k - j)).expm1() * (spacing * (i - k)).exp() / scale
                up += pairs[k][1] * share
                down += pairs[k][1] * -(spacing * (i - k)).expm1() / scale
            found[n] = found[n][0] + high * up, found[n][1] + up
            found[n + 1] = found[n + 1][0] + low * down, found[n + 1][1] + down
    return found


def _merged(pairs: list[tuple[arb, arb]], kept: list[int], spacing: arb) -> list[tuple[arb, arb]]:
    """A pair that is dominated: each kept atom, with all that follow it up to the next one, is one outcome."""
    del spacing
    starts = [*kept, len(pairs)]
    return [
        (sum((p for p, _ in pairs[i:j]), arb(0)), sum((q for _, q in pairs[i:j]), arb(0))) for i, j in pairwise(starts)
    ]


class _NormalFactor(Factor):
    """The transform of discrete Gaussian noise."""

    weight = 2
    atomic = True

    def __init__(self, noise: DiscreteNormal) -> None:
        self.noise, self.closed = noise, noise.moment()

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        return self.closed(z)

    def share(self, count: int, c: arb, taylor: Taylor) -> ThetaShare:  # noqa: ARG002
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        return self.noise.share(count, c)

    def tilted(self, c: arb) -> Tilted | None:
        """The tilted law by its atoms within ten standard deviations, for the contour integral in doubles."""
        if self.noise.variance > LARGEST_TILTED_VARIANCE:
            return None
        first, masses = self.noise.atoms(c, self.noise.reach(TILTED_DEVIATIONS))
        rest, gap = abs(1 - sum(masses, arb(0))).upper(), lift(self.noise.spacing)
        top = lift(self.noise.point - self.noise.spacing * first)
        return Tilted([Polynomial([[q] for q in masses], gap, arb(0))], top, rest)


@dataclass(frozen=True)
class ThetaShare(WaveShare):
    """The share of discrete Gaussian noise, with one more bound, for noise so wide that theta is close to 1."""

    stiffness: float = 0.0
    """A lower bound on S = 2 pi^2 sigma^2, if that is at least 3; else 0."""
    turns: float = 0.0
    """The distance of neighbouring atoms over 2 pi, to the nearest float."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Waves:
        """The bound on the decay of all these laws together."""
        return _Thetas(shares, x)


class _Thetas(Waves):
    """The bounds of `Waves`, with the additional one of `ThetaShare`, for many laws at once."""

    def __init__(self, shares: Sequence[ThetaShare], x: float) -> None:
        super().__init__(shares, x)
        self.stiffness = self.column([s.stiffness for s in shares])
        self.turns = self.column([s.turns for s in shares])

    def best(self, low: Floats, high: Floats, distance: float) -> Any:
        best = super().best(low, high, distance)
        if not self.stiffness.any():
            return best
        return self.np.maximum(best, _theta_decay(self.np, self.stiffness, low * self.turns, high * self.turns))


def discrete_gaussian_pair(variance: Fraction, shift: int) -> DiscreteGaussianLaw:
    """The law of discrete Gaussian noise and the same noise shifted.

    Its losses are shift (shift - 2x)/(2 variance) over all integers x. Theorem: docs/theorems/discrete-gaussian.md.
    """
    return DiscreteGaussianLaw(DiscreteNormal(variance, shift))


def _theta_decay(np: Any, stiffness: Any, low: Any, high: Any) -> Any:
    """A lower bound on S d^2 - 5 e^{-S (1 - 2d)} over low <= t <= high, d the distance of t to the nearest integer.

    S is the stiffness; for S = 0 the bound is 0. It uses e^{-x} <= (1 + x/64)^{-64}.
    Theorem: docs/theorems/discrete-gaussian.md.
    """
    least = least_distance(np, low, high)
    most = np.minimum(least + (high - low) + high * 2.0**-46, 0.5)
    image = 1 + stiffness * (1 - 2 * most) * (DOWN / 64)
    for _ in range(6):
        image = np.minimum(image * image, LARGEST_BOUND)  # An overflow would be harmless, but numpy would warn.
    decay = stiffness * (least * least) * DOWN - 5 * UP / image
    return np.where(stiffness > 0, np.maximum(decay, 0.0), 0.0)
