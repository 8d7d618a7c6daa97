"""The logistic mechanism: pure DP, with noise that at equal rho is nearly as narrow as Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.mechanisms.noise.additive import AddsReals, ExponentialNoise
from zcdp.mechanisms.noise.euclidean_moves import real_moves_pair
from zcdp.mechanisms.sensitivity import Sensitivity
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Value
from zcdp.numeric.functions import Number, log, sinhc
from zcdp.privacy.loss import Claim, logistic_pair

if TYPE_CHECKING:
    from zcdp.samplers.grid_noise import GridNoise

__all__ = ["Logistic"]


@dataclass(frozen=True, init=False, repr=False)
class Logistic(AddsReals, ExponentialNoise):
    """Noise of density sech^2(x/(2 scale))/(4 scale), epsilon = sensitivity/scale: rho = epsilon coth(epsilon/2) - 2.

    Its pair also dominates every mechanism of epsilon-bounded range. For a vector of answers the loss also depends on
    how the move is spread over the coordinates, as for Laplace noise. Theorems: docs/theorems/logistic.md,
    docs/theorems/logistic-vectors.md.

    >>> Logistic(epsilon=1).rho
    0.163953413738652...
    >>> from zcdp import L0LInf
    >>> Logistic(scale=10, sensitivity=L0LInf(20, 1)).rho         # 20 coordinates of epsilon 0.1, not one of 2
    0.0333277791...
    """

    theorem: ClassVar[str] = "logistic"
    many = 6
    epsilon: Exact
    sensitivity: Fraction | Sensitivity = field(default=Fraction(1), compare=False)
    shape: tuple[object, ...] = field(repr=False, default=())

    def __init__(
        self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value | Sensitivity = 1
    ) -> None:
        self._set_real(epsilon, scale, sensitivity)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorem pages: for a vector of answers also the one on vectors."""
        return ("logistic-vectors", self.theorem) if isinstance(self.sensitivity, Sensitivity) else (self.theorem,)

    def _move(self, s: Number, epsilon: arb, _: Fraction) -> Number:
        return log(sinhc(epsilon * (2 * s + 1) / 2)) - log(sinhc(epsilon / 2))

    def _rho(self, epsilon: arb, _: Fraction) -> arb:
        half = epsilon / 2
        return 2 * (half * half.coth() - 1)

    def pair(self) -> Claim | None:
        if self._euclidean:
            return real_moves_pair(self.epsilon, logistic_pair, eighths=1)
        return super().pair() if self.shape else Claim.exactly(logistic_pair(self.epsilon))

    @property
    def variance(self) -> float:
        """Variance of the noise on each coordinate: (pi scale)^2/3, rounded up."""
        return enclose(self._second_moment)[1]

    def _second_moment(self) -> arb:
        return (arb.pi() * lift(self._length) / lift(self.epsilon)) ** 2 / 3

    def _quantile(self, miss: arb) -> arb:
        return ((2 - miss) / miss).log() * lift(self._length) / lift(self.epsilon)

    def noise(self, grid: Fraction) -> GridNoise:
        from zcdp.samplers.grid_noise import logistic_on_grid

        return logistic_on_grid(lambda: lift(self.epsilon) / lift(self._length), grid)
