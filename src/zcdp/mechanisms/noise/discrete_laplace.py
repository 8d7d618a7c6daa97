"""The discrete Laplace (geometric) mechanism: an integer-valued query plus two-sided geometric noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING, ClassVar

from flint import arb

from zcdp.mechanisms.noise.additive import AddsIntegers, ExponentialNoise, noise_epsilon, shift_cumulant
from zcdp.mechanisms.noise.euclidean_moves import whole_moves_pair
from zcdp.mechanisms.sensitivity import L2, Moves, Sensitivity
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Value, integer
from zcdp.numeric.functions import Number, exp, expm1
from zcdp.privacy.loss import Claim, discrete_laplace_claim

if TYPE_CHECKING:
    from zcdp.samplers.geometric import DiscreteLaplaceNoise

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, init=False, repr=False)
class DiscreteLaplace(AddsIntegers, ExponentialNoise):
    """Noise of mass proportional to exp(-|x|/scale) on the integers, epsilon = sensitivity/scale.

    rho = epsilon (1 - (1 - e^-epsilon) csch(t)/sensitivity), t = epsilon/sensitivity = 1/scale.
    The query must be integer-valued: off the lattice the divergence is infinite.
    Theorems: docs/theorems/discrete-laplace.md, docs/theorems/vector-queries.md.

    >>> DiscreteLaplace(epsilon=1, sensitivity=5).rho
    0.37207399486384685
    """

    theorem: ClassVar[str] = "discrete-laplace"
    epsilon: Exact
    sensitivity: int | Sensitivity = field(default=1, compare=False)
    shape: tuple[object, ...] = field(repr=False, default=())
    """Whether the bound is on the Euclidean length, and the worst-case integer moves: for comparing mechanisms."""

    def __init__(
        self, *, epsilon: Value | None = None, scale: Value | None = None, sensitivity: Value | Sensitivity = 1
    ) -> None:
        if isinstance(sensitivity, Sensitivity):
            self._set(sensitivity=sensitivity)  # It is kept as given, since it documents the assumption.
        else:
            self._set(sensitivity=integer(sensitivity, "sensitivity", 1))
        self._set(epsilon=noise_epsilon(epsilon, scale, self._length), shape=(self._euclidean, *self._moves))

    @property
    def _moves(self) -> Moves:
        """The integer moves with the largest cumulant."""
        if isinstance(self.sensitivity, Sensitivity):
            moves = self.sensitivity.whole().moves()
            assert moves is not None
            return moves
        return ((1, Fraction(self.sensitivity)),)

    def _move(self, s: Number, epsilon: arb, move: Fraction) -> Number:
        t = epsilon / move.numerator
        return shift_cumulant(s, epsilon, exp(-t) * expm1(-2 * t * s) / expm1(-2 * t * (1 + s)))

    def _rho(self, epsilon: arb, move: Fraction) -> arb:
        return epsilon * (1 + expm1(-epsilon) * (epsilon / move.numerator).csch() / move.numerator)

    def pair(self) -> Claim | None:
        if isinstance(self.sensitivity, L2):
            return whole_moves_pair(self.epsilon, self.sensitivity.squares)
        [(count, move), *more] = self._moves
        return super().pair() if count > 1 or more else discrete_laplace_claim(self.epsilon, int(move))

    @property
    def variance(self) -> float:
        """Variance of the noise on each coordinate: 1/(2 sinh^2(1/(2 scale))), rounded up."""
        return enclose(self._second_moment)[1]

    def _second_moment(self) -> arb:
        return (lift(self.epsilon) / lift(2 * self._length)).csch() ** 2 / 2

    def _outside(self, h: int) -> arb:
        t = lift(self.epsilon) / lift(self._length)
        return 2 * exp(-t * (h + 1)) / (1 + exp(-t))

    def _near(self, miss: Callable[[], arb]) -> int:
        def far() -> arb:
            t = lift(self.epsilon) / lift(self._length)
            return -(miss() * (1 + exp(-t)) / 2).log() / t - 1

        near = enclose(far)[1]
        return ceil(near) if 0 < near < inf else 0

    def wave(self) -> Callable[[arb], arb]:
        sinh = (lift(self.epsilon) / lift(2 * self._length)).sinh()
        return lambda angle: 1 / (1 + ((angle / 2).sin() / sinh) ** 2)

    def growth(self) -> Callable[[arb], arb]:
        sinh = (lift(self.epsilon) / lift(2 * self._length)).sinh()

        def mean(tilt: arb) -> arb:
            left = 1 - ((tilt / 2).sinh() / sinh) ** 2
            return 1 / left if left > 0 else arb("inf")

        return mean

    def noise(self) -> DiscreteLaplaceNoise:
        from zcdp.samplers.geometric import DiscreteLaplaceNoise

        return DiscreteLaplaceNoise(lambda: lift(self.epsilon) / lift(self._length))
