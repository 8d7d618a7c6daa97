"""The Laplace mechanism: a real-valued query plus continuous Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.mechanisms.noise.additive import AddsReals, ExponentialNoise, noise_variance, shift_cumulant
from zcdp.mechanisms.noise.euclidean_moves import real_moves_pair
from zcdp.mechanisms.sensitivity import Sensitivity
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value
from zcdp.numeric.functions import Number, expm1
from zcdp.privacy.loss import Claim, laplace_pair

if TYPE_CHECKING:
    from zcdp.samplers.grid_laplace import GridLaplace

__all__ = ["Laplace"]


@dataclass(frozen=True, init=False, repr=False)
class Laplace(AddsReals, ExponentialNoise):
    """Noise of density exp(-|x|/scale)/(2 scale), epsilon = sensitivity/scale: rho = epsilon + e^-epsilon - 1.

    The privacy loss, and so equality of mechanisms, depends on epsilon only; for a vector of answers (`L0LInf` and so
    on) also on how the move is spread over the coordinates. Clamping the result to an interval that contains the true
    answer costs the same. Theorems: docs/theorems/laplace.md, docs/theorems/vector-queries.md.

    >>> Laplace(epsilon=1).rho
    0.36787944117144233
    >>> Laplace(scale=2, sensitivity=2) == Laplace(epsilon=1)
    True
    >>> from zcdp import L0LInf
    >>> Laplace(scale=10, sensitivity=L0LInf(20, 1)).rho          # 20 coordinates of epsilon 0.1, not one of 2
    0.0967483607191...
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "laplace"
    epsilon: Exact
    sensitivity: Fraction | Sensitivity = field(default=Fraction(1), compare=False)
    shape: tuple[object, ...] = field(repr=False, default=())

    def __init__(
        self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value | Sensitivity = 1
    ) -> None:
        self._set_real(epsilon, scale, sensitivity)

    def _move(self, s: Number, epsilon: arb, _: Fraction) -> Number:
        return shift_cumulant(s, epsilon, s / (1 + s))

    def _rho(self, epsilon: arb, _: Fraction) -> arb:
        return epsilon + expm1(-epsilon)

    def pair(self) -> Claim | None:
        if not self.shape:
            return Claim.exactly(laplace_pair(self.epsilon))
        return real_moves_pair(self.epsilon, laplace_pair, eighths=4) if self._euclidean else super().pair()

    @property
    def variance(self) -> Fraction | float:
        """Variance of the noise on each coordinate: 2 scale^2."""
        return noise_variance(self.scale)

    def _second_moment(self) -> arb:
        return 2 * (lift(self._length) / lift(self.epsilon)) ** 2

    def _quantile(self, miss: arb) -> arb:
        return -miss.log() * lift(self._length) / lift(self.epsilon)

    def noise(self, grid: Fraction) -> GridLaplace:
        from zcdp.samplers.grid_laplace import GridLaplace

        return GridLaplace(lambda: lift(self.epsilon) / lift(self._length), grid)
