"""The Laplace mechanism: a real-valued query plus continuous Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise import noise_epsilon, noise_scale, noise_variance, shift_cumulant
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, positive_rational
from zcdp.numeric.functions import Number, expm1
from zcdp.privacy.curve import Peak
from zcdp.privacy.pair import Pair, laplace_pair

__all__ = ["Laplace"]


@dataclass(frozen=True, init=False, repr=False)
class Laplace(Mechanism):
    """Noise of density exp(-|x|/scale)/(2 scale), epsilon = sensitivity/scale: rho = epsilon + e^-epsilon - 1.

    The privacy loss depends on epsilon alone, and so does equality. Theorem: docs/theorems/laplace.md.

    >>> Laplace(epsilon=1).rho
    0.36787944117144233
    >>> Laplace(scale=2, sensitivity=2) == Laplace(epsilon=1)
    True
    """

    theorem: ClassVar[str] = "laplace"
    epsilon: Exact
    sensitivity: Fraction = field(default=Fraction(1), compare=False)

    def __init__(self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value = 1) -> None:
        distance = positive_rational(sensitivity, "sensitivity")
        self._set(epsilon=noise_epsilon(epsilon, scale, distance), sensitivity=distance)

    @property
    def scale(self) -> Fraction | float:
        """Scale of the noise: sensitivity/epsilon."""
        return noise_scale(self.epsilon, self.sensitivity)

    def cumulant(self, s: Number) -> Number:
        return shift_cumulant(s, lift(self.epsilon), s / (1 + s))

    def pair(self) -> Pair:
        return laplace_pair(self.epsilon)

    @property
    def variance(self) -> Fraction | float:
        """Variance of the noise: 2 scale^2."""
        return noise_variance(self.scale)

    def peak(self) -> Peak:
        epsilon = lift(self.epsilon)
        return Peak(epsilon + expm1(-epsilon), arb(1))
