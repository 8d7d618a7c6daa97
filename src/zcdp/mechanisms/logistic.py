"""The logistic mechanism: pure DP, and at equal rho nearly as narrow as Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.mechanisms.additive import AddsReals
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise import noise_epsilon, noise_scale
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Exact, Value, integer, positive_rational, times
from zcdp.numeric.functions import Number, log, sinhc
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, logistic_pair

if TYPE_CHECKING:
    from zcdp.samplers.continuous import GridNoise

__all__ = ["Logistic"]


@dataclass(frozen=True, init=False, repr=False)
class Logistic(AddsReals, Mechanism):
    """Noise of density sech^2(x/(2 scale))/(4 scale), epsilon = sensitivity/scale: rho = epsilon coth(epsilon/2) - 2.

    Its pair also dominates every epsilon-bounded-range mechanism. Theorem: docs/theorems/logistic.md.

    >>> Logistic(epsilon=1).rho
    0.163953413738652...
    """

    theorem: ClassVar[str] = "logistic"
    epsilon: Exact
    sensitivity: Fraction = field(default=Fraction(1), compare=False)

    def __init__(self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value = 1) -> None:
        distance = positive_rational(sensitivity, "sensitivity")
        self._set(epsilon=noise_epsilon(epsilon, scale, distance), sensitivity=distance)

    @property
    def scale(self) -> Fraction | float:
        """Scale of the noise: sensitivity/epsilon."""
        return noise_scale(self.epsilon, self.sensitivity)

    def pair(self) -> LossLaw:
        return logistic_pair(self.epsilon)

    @property
    def variance(self) -> float:
        """Variance of the noise: (pi scale)^2/3, rounded up."""
        return enclose(self._second_moment)[1]

    def _second_moment(self) -> arb:
        return (arb.pi() * lift(self.sensitivity) / lift(self.epsilon)) ** 2 / 3

    def _quantile(self, miss: arb) -> arb:
        return ((2 - miss) / miss).log() * lift(self.sensitivity) / lift(self.epsilon)

    def cumulant(self, s: Number) -> Number:
        epsilon = lift(self.epsilon)
        return log(sinhc(epsilon * (2 * s + 1) / 2)) - log(sinhc(epsilon / 2))

    def peak(self) -> Peak:
        half = lift(self.epsilon) / 2
        return Peak(2 * (half * half.coth() - 1), arb(1))

    def group(self, size: Value) -> Logistic:
        """Inputs at a distance of `size` neighbours: the sensitivity times `size`, the noise as it is."""
        steps = integer(size, "size", 1)
        return Logistic(epsilon=times(steps, self.epsilon), sensitivity=self.sensitivity * steps)

    def noise(self, grid: Fraction) -> GridNoise:
        from zcdp.samplers.continuous import logistic_on_grid

        return logistic_on_grid(lambda: lift(self.epsilon) / lift(self.sensitivity), grid)
