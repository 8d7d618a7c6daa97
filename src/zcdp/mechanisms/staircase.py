"""The staircase mechanism: noise whose density falls in steps of factor e^epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.additive import AddsIntegers, default_grid
from zcdp.mechanisms.three_point import ThreePoint
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Value, integer, positive, positive_rational, rational

if TYPE_CHECKING:
    from zcdp.samplers.staircase import DiscreteStaircaseNoise

__all__ = ["DiscreteStaircase", "Staircase"]


@dataclass(frozen=True, init=False, repr=False)
class Staircase(ThreePoint):
    """The density falls by e^epsilon at gamma, 1 + gamma, 2 + gamma, ... times the sensitivity, whatever that is.

    gamma defaults to the l1-optimal 1/(1 + e^{epsilon/2}), where
    rho = epsilon (1 - e^-epsilon)(1 - e^{-epsilon/2}/2). Theorem: docs/theorems/three-point-maps.md.

    >>> Staircase(epsilon=1).rho
    0.4404203...
    """

    epsilon: Exact
    gamma: Fraction | None = None

    def __init__(self, *, epsilon: Value, gamma: Value | None = None) -> None:
        step = None if gamma is None else rational(gamma, "gamma")
        if step is not None and not 0 <= step <= 1:
            raise BadValue(f"gamma ({gamma}) must lie in [0, 1]")
        self._set(epsilon=positive(epsilon, "epsilon"), gamma=step)

    def kappa(self) -> arb:
        growth = lift(self.epsilon).exp()
        if self.gamma is None:
            root = growth.sqrt()
            return (growth + 2 * root - 1) / (2 * root - 1)
        if 2 * self.gamma >= 1:
            return lift(2 * self.gamma - 1) * growth + lift(3 - 2 * self.gamma)
        x = lift(self.gamma) * (growth - 1)
        return 2 * growth * (1 + x) / (1 + 2 * x) + 1 - growth

    def release(self, values: Any, *, sensitivity: Value, grid: Value | None = None) -> Any:
        """The continuous mechanism, rounded to multiples of `grid` (default: near sensitivity/2^20)."""
        from zcdp.samplers.release import noisy_reals
        from zcdp.samplers.staircase import GridStaircase

        distance = positive_rational(sensitivity, "sensitivity")
        step = default_grid(distance) if grid is None else positive_rational(grid, "grid")

        def noise() -> GridStaircase:
            samplers: dict[tuple[Fraction, Fraction], GridStaircase] = self.__dict__.setdefault("_samplers", {})
            if (sampler := samplers.get((distance, step))) is None:
                sampler = GridStaircase(lambda: lift(self.epsilon), distance, self._share, step)
                samplers[distance, step] = sampler
            return sampler

        return noisy_reals(noise, values)

    def _share(self) -> arb:
        return 1 / (1 + (lift(self.epsilon) / 2).exp()) if self.gamma is None else lift(self.gamma)


@dataclass(frozen=True, init=False, repr=False)
class DiscreteStaircase(AddsIntegers, ThreePoint):
    """On the integers: the mass falls by e^epsilon at r, Delta + r, 2 Delta + r, ...; Delta is the sensitivity.

    Theorem: docs/theorems/three-point-maps.md.

    >>> DiscreteStaircase(epsilon=1, sensitivity=5, r=2).rho
    0.4235666...
    """

    epsilon: Exact
    sensitivity: int
    r: int

    def __init__(self, *, epsilon: Value, sensitivity: Value, r: Value) -> None:
        distance, step = integer(sensitivity, "sensitivity", 1), integer(r, "r", 1)
        if step > distance:
            raise BadValue(f"r ({r}) must be at most the sensitivity ({sensitivity})")
        self._set(epsilon=positive(epsilon, "epsilon"), sensitivity=distance, r=step)

    def kappa(self) -> arb:
        # total variation distance = mass of `sensitivity` consecutive integers around 0, `near` of them on the top step
        near = min(self.sensitivity, 2 * self.r - 1)
        growth = lift(self.epsilon).exp()
        weight = growth * (2 * self.r - 1) + 2 * (self.sensitivity - self.r) + 1
        return growth * weight / (growth * near + self.sensitivity - near) + 1 - growth

    def noise(self) -> DiscreteStaircaseNoise:
        from zcdp.samplers.staircase import DiscreteStaircaseNoise

        return DiscreteStaircaseNoise(lambda: lift(self.epsilon), self.sensitivity, self.r)
