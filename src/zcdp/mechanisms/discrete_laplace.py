"""The discrete Laplace (geometric) mechanism: an integer-valued query plus two-sided geometric noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise import noise_epsilon, noise_scale, shift_cumulant
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Exact, Value, integer
from zcdp.numeric.functions import Number, exp, expm1
from zcdp.privacy.curve import Peak
from zcdp.privacy.pair import Pair, discrete_laplace_pair

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, init=False, repr=False)
class DiscreteLaplace(Mechanism):
    """Noise of mass proportional to exp(-|x|/scale) on the integers, epsilon = sensitivity/scale.

    rho = epsilon (1 - (1 - e^-epsilon) csch(t)/sensitivity), t = epsilon/sensitivity = 1/scale.
    Theorem: docs/theorems/discrete-laplace.md.

    >>> DiscreteLaplace(epsilon=1, sensitivity=5).rho
    0.37207399486384685
    """

    theorem: ClassVar[str] = "discrete-laplace"
    epsilon: Exact
    sensitivity: int = 1

    def __init__(self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value = 1) -> None:
        distance = integer(sensitivity, "sensitivity", 1)
        self._set(epsilon=noise_epsilon(epsilon, scale, Fraction(distance)), sensitivity=distance)

    @property
    def scale(self) -> Fraction | float:
        """Scale of the noise: sensitivity/epsilon."""
        return noise_scale(self.epsilon, Fraction(self.sensitivity))

    def cumulant(self, s: Number) -> Number:
        epsilon = lift(self.epsilon)
        t = epsilon / self.sensitivity
        return shift_cumulant(s, epsilon, exp(-t) * expm1(-2 * t * s) / expm1(-2 * t * (1 + s)))

    def pair(self) -> Pair:
        return discrete_laplace_pair(self.epsilon, self.sensitivity)

    @property
    def variance(self) -> float:
        """Variance of the noise: 1/(2 sinh^2(1/(2 scale))), rounded up."""
        return enclose(lambda: (lift(self.epsilon) / (2 * self.sensitivity)).csch() ** 2 / 2)[1]

    def peak(self) -> Peak:
        epsilon = lift(self.epsilon)
        t = epsilon / self.sensitivity
        return Peak(epsilon * (1 + expm1(-epsilon) * t.csch() / self.sensitivity), arb(1))
