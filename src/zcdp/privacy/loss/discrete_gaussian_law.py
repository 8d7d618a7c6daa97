"""The loss of discrete Gaussian noise: its transform in closed form, and how fast that decays."""

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
from zcdp.privacy.loss.decay import DOWN, MOST, UP, Waves, WaveShare, least_distance
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import LossLaw, Outcomes
from zcdp.privacy.loss.transform import Factor, Polynomial, Taylor, Tilted

__all__ = ["DiscreteGaussianLaw", "DiscreteNormal", "discrete_gaussian_pair"]


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


LISTED, MOST_LISTED = 18, 380  # Atoms up to so many deviations are outcomes, and so many there may be.
STIFF, FEW_ATOMS = 1, 9  # From this variance on theta is nearly 1; up to that one the atoms are listed.
DEVIATIONS, WIDEST = 10, 400  # So many atoms are listed for doubles, up to this variance.


@dataclass(frozen=True)
class DiscreteNormal:
    """Noise of mass proportional to exp(-x^2/(2 variance)) on the integers, and the same shifted.

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
        """One of the losses."""
        return self.shift**2 / (2 * self.variance)

    def moment(self) -> Callable[[Any], Any]:
        """M, on balls and on a series z_0 + z_1 u; constants at the working precision."""
        theta, half = Theta(self.variance), lift(self.point)
        period = 2 * arb.pi() / lift(self.spacing)
        scale = 1 / theta(arb(0))

        def along(z: Any) -> Any:
            return (half * (z * z + z)).exp() * theta(z * self.shift) * scale

        def closed(z: Any) -> Any:
            if not isinstance(z, acb):
                return along(z)
            # M(z + i period) = (-1)^shift M(z); nearer to the real line theta has fewer terms
            turns = (z.imag.mid() / period + arb(1) / 2).mid().floor().unique_fmpz()
            if turns is None:
                raise Undecided
            value = along(z - acb(0, period * int(turns)))
            return -value if self.shift * int(turns) % 2 else value

        return closed

    def reach(self, deviations: int) -> int:
        """So many standard deviations and more, in integers."""
        return deviations * (isqrt(int(self.variance)) + 1)

    def atoms(self, c: arb, reach: int) -> tuple[int, list[arb]]:
        """The first of 2 reach + 2 integers around -c shift, and their tilted masses e^{cL} P/M(c)."""
        centre, width = -c * self.shift, 2 * lift(self.variance)
        middle = centre.mid().floor().unique_fmpz()
        if middle is None:
            raise Undecided
        first = int(middle) - reach
        whole = Theta(self.variance)(centre) * (arb.pi() * width).sqrt()
        places = range(first, int(middle) + reach + 2)
        return first, [(-((x - centre) ** 2) / width).exp() / whole for x in places]

    def share(self, count: int, c: arb) -> ThetaShare:
        """Bounds on the decay along Re z = c."""
        turns = trusted(lift(self.spacing) / (2 * arb.pi()))
        stiffness = max(below(2 * arb.pi() ** 2 * lift(self.variance)), 0.0) if self.variance >= STIFF else 0.0
        reach = self.reach(4)
        near_end = below(arb.pi() / (lift(self.spacing) * (2 * reach + 1)))
        if self.variance > FEW_ATOMS:
            return ThetaShare(count, 0.0, (), min(stiffness, 1e300), turns, near_end=near_end)
        _, masses = self.atoms(c, reach)
        # E[(L - L')^2; both listed] = 2 (m_0 m_2 - m_1^2), with the moments of the listed masses
        zeroth, first, second = (sum((n**k * q for n, q in enumerate(masses)), arb(0)) for k in range(3))
        spread = root_below((zeroth * second - first * first) * lift(self.spacing) ** 2)
        weight = below(2 * sum((p * q for p, q in pairwise(masses)), arb(0)))
        waves = ((weight, turns),) if weight > 0 else ()
        return ThetaShare(count, spread, waves, stiffness, turns, near_end=near_end)


@dataclass(frozen=True, eq=False)
class DiscreteGaussianLaw(LossLaw):
    """Discrete Gaussian noise and the same shifted. Theorem: docs/theorems/discrete-gaussian.md."""

    noise: DiscreteNormal

    def ready(self) -> Factor:
        """See `LossLaw`."""
        return _NormalFactor(self.noise)

    def _looks_symmetric(self) -> bool:
        """theta is even and has the period 1, and z^2 + z is the same at -1 - z: the formula shows it."""
        return True

    def lattice(self) -> Lattice:
        """See `LossLaw`; the losses have no end, so any of them is the point to count from."""
        return Lattice(self.noise.point, self.noise.spacing)

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """See `LossLaw`; each tail is one outcome, or as large a loss as there can be."""
        variance, shift = self.noise.variance, self.noise.shift
        reach = LISTED * (isqrt(int(variance)) + 1)
        if 2 * reach + shift > MOST_LISTED:
            return None
        width = 2 * lift(variance)
        whole = Theta(variance)(arb(0)) * (arb.pi() * width).sqrt()

        def mass(x: int) -> arb:
            return (-(arb(x) ** 2) / width).exp() / whole

        ratio = (-2 * reach / width).exp()
        most = mass(reach) / (1 - ratio)
        tail = arb(0).union(most)
        left, right = ([(tail, tail)] * 2) if inward else ((2 * tail, arb(0)), (arb(0), 2 * tail))
        # Noise around 0 has the record, noise around the shift has it not.
        return Outcomes([left, *((mass(x), mass(x - shift)) for x in range(1 - reach, shift + reach)), right])


class _NormalFactor(Factor):
    weight = 2
    atomic = True

    def __init__(self, noise: DiscreteNormal) -> None:
        self.noise, self.closed = noise, noise.moment()

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        return self.closed(z)

    def share(self, count: int, c: arb, taylor: Taylor) -> ThetaShare:  # noqa: ARG002
        """See `Factor`."""
        return self.noise.share(count, c)

    def tilted(self, c: arb) -> Tilted | None:
        """See `Factor`; the atoms within ten standard deviations."""
        if self.noise.variance > WIDEST:
            return None
        first, masses = self.noise.atoms(c, self.noise.reach(DEVIATIONS))
        rest, gap = abs(1 - sum(masses, arb(0))).upper(), lift(self.noise.spacing)
        top = lift(self.noise.point - self.noise.spacing * first)
        return Tilted([Polynomial([[q] for q in masses], gap, arb(0))], top, rest)


@dataclass(frozen=True)
class ThetaShare(WaveShare):
    """With the bound for noise so wide that the theta function is nearly 1."""

    stiffness: float = 0.0
    """Not above 2 pi^2 sigma^2, where that is at least 3; else 0."""
    turns: float = 0.0
    """The distance of neighbouring atoms over 2 pi, to the nearest float."""

    @classmethod
    def together(cls, shares: Sequence[Self], x: float) -> Waves:
        """See `Share`."""
        return _Thetas(shares, x)


class _Thetas(Waves):
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
    """Discrete Gaussian noise and the same shifted: losses shift (shift - 2x)/(2 variance) over all integers x.

    Theorem: docs/theorems/discrete-gaussian.md.
    """
    return DiscreteGaussianLaw(DiscreteNormal(variance, shift), exact=True)


def _theta_decay(np: Any, stiffness: Any, low: Any, high: Any) -> Any:
    """S d^2 - 5 e^{-S (1 - 2d)} where d is the distance of t to the integers, over low <= t <= high; 0 for S = 0.

    e^{-x} <= (1 + x/64)^{-64}. Theorem: docs/theorems/discrete-gaussian.md.
    """
    least = least_distance(np, low, high)
    most = np.minimum(least + (high - low) + high * 2.0**-46, 0.5)
    image = 1 + stiffness * (1 - 2 * most) * (DOWN / 64)
    for _ in range(6):
        image = np.minimum(image * image, MOST)  # An overflow would do no harm, but it would warn.
    decay = stiffness * (least * least) * DOWN - 5 * UP / image
    return np.where(stiffness > 0, np.maximum(decay, 0.0), 0.0)
