"""Discrete Gaussian noise in the exact profile: its transform in closed form, and how fast that decays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any

from flint import acb, arb

from zcdp.numeric.balls import below, lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.theta import Theta
from zcdp.numeric.trusted import trusted
from zcdp.privacy.decay import Share, root_below

__all__ = ["DiscreteNormal"]

STIFF, FEW_ATOMS = 1, 9  # variances from which theta is nearly 1, and up to which the atoms are listed


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

    def share(self, count: int, c: arb) -> Share:
        """Bounds on the decay along Re z = c."""
        turns = trusted(lift(self.spacing) / (2 * arb.pi()))
        stiffness = max(below(2 * arb.pi() ** 2 * lift(self.variance)), 0.0) if self.variance >= STIFF else 0.0
        reach = self.reach(4)
        near_end = below(arb.pi() / (lift(self.spacing) * (2 * reach + 1)))
        if self.variance > FEW_ATOMS:
            return Share(count, 0.0, near_end, 1.0, 0.0, (), min(stiffness, 1e300), turns)
        _, masses = self.atoms(c, reach)
        # E[(L - L')^2; both listed] = 2 (m_0 m_2 - m_1^2), with the moments of the listed masses
        zeroth, first, second = (sum((n**k * q for n, q in enumerate(masses)), arb(0)) for k in range(3))
        spread = root_below((zeroth * second - first * first) * lift(self.spacing) ** 2)
        weight = below(2 * sum((p * q for p, q in pairwise(masses)), arb(0)))
        waves = ((weight, turns),) if weight > 0 else ()
        return Share(count, spread, near_end, 1.0, 0.0, waves, stiffness, turns)
