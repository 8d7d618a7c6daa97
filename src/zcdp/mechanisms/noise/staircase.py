"""The staircase mechanism (Geng and Viswanath): noise whose density falls in steps, each by a factor of e^epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.noise.additive import AddedNoise, AddsIntegers, default_grid, largest_move, noise_accuracy
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import ceiling, enclose, floor, lift, upper_float
from zcdp.numeric.exact import Exact, Value, integer, literal, positive, positive_rational, rational
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

__all__ = ["DiscreteStaircase", "Staircase"]


@AddedNoise.register
@dataclass(frozen=True, init=False, repr=False)
class Staircase(ThreePoint):
    """The density falls by e^epsilon at gamma, 1 + gamma, 2 + gamma, ... times the sensitivity.

    gamma defaults to the l1-optimal 1/(1 + e^{epsilon/2}), where
    rho = epsilon (1 - e^-epsilon)(1 - e^{-epsilon/2}/2). The privacy does not depend on the sensitivity, which may be
    stated here or in `release`. Theorem: docs/theorems/three-point-maps.md.

    >>> Staircase(epsilon=1).rho
    0.4404203...
    """

    epsilon: Exact
    gamma: Fraction | None = None
    """Where the stair steps, as a share of the sensitivity; the best one if left out."""
    sensitivity: Fraction | None = field(default=None, compare=False)

    def __init__(self, *, epsilon: Value, gamma: Value | None = None, sensitivity: Value | None = None) -> None:
        step = None if gamma is None else rational(gamma, "gamma")
        if step is not None and not 0 <= step <= 1:
            raise BadValue(f"gamma ({gamma}) must lie in [0, 1]")
        distance = None if sensitivity is None else positive_rational(sensitivity, "sensitivity")
        self._set(epsilon=positive(epsilon, "epsilon"), gamma=step, sensitivity=distance)

    def kappa(self) -> arb:
        growth = lift(self.epsilon).exp()
        if self.gamma is None:
            root = growth.sqrt()
            return (growth + 2 * root - 1) / (2 * root - 1)
        if 2 * self.gamma >= 1:
            return lift(2 * self.gamma - 1) * growth + lift(3 - 2 * self.gamma)
        x = lift(self.gamma) * (growth - 1)
        return 2 * growth * (1 + x) / (1 + 2 * x) + 1 - growth

    @property
    def variance(self) -> float:
        """Variance of the noise, rounded up."""
        return enclose(self._second_moment)[1]

    @cached_property
    def _samplers(self) -> dict[tuple[Fraction, Fraction], GridStaircase]:
        """The samplers made so far, by (sensitivity, grid)."""
        return {}

    def release(self, values: Any, *, sensitivity: Value | None = None, grid: Value | None = None) -> Any:
        """The continuous mechanism, rounded to multiples of `grid` (default: near sensitivity/2^20)."""
        from zcdp.samplers.run_samplers import noisy_reals
        from zcdp.samplers.staircase_noise import GridStaircase

        distance = self._distance(sensitivity)
        step = default_grid(distance) if grid is None else positive_rational(grid, "grid")

        def noise() -> GridStaircase:
            if (sampler := self._samplers.get((distance, step))) is None:
                sampler = GridStaircase(lambda: lift(self.epsilon), distance, self._share, step)
                self._samplers[distance, step] = sampler
            return sampler

        return noisy_reals(noise, values)

    def _distance(self, given: Value | None = None) -> Fraction:
        """The sensitivity, as stated by the mechanism or as given to the call; if both are there they must agree."""
        distance = self.sensitivity if given is None else positive_rational(given, "sensitivity")
        if distance is None:
            raise BadType("give a sensitivity: the noise grows with it")
        if self.sensitivity not in (None, distance):
            stated = literal(self.sensitivity or distance)
            raise BadValue(f"sensitivity ({given}) must be that of the mechanism ({stated})")
        return distance

    def _moments(self) -> tuple[arb, arb, arb]:
        """b = e^-epsilon, gamma, and gamma + b (1 - gamma): the mass of a cell if its upper level had density 1."""
        b, share = (-lift(self.epsilon)).exp(), self._share()
        return b, share, share + b * (1 - share)

    def _second_moment(self) -> arb:
        return self._relative_moment() * lift(self._distance()) ** 2

    def _relative_moment(self) -> arb:
        """E (G + V)^2 in units of the sensitivity: |noise| is a geometric number G of cells plus a place V in one."""
        b, share, whole = self._moments()
        inside = (share**2 + b * (1 - share**2)) / (2 * whole)
        square = (share**3 + b * (1 - share**3)) / (3 * whole)
        cells = b / (1 - b)
        return b * (1 + b) / (1 - b) ** 2 + 2 * cells * inside + square

    @property
    def relative_error(self) -> float:
        return upper_float(lambda: self._relative_moment().sqrt())

    accuracy = noise_accuracy
    unit = property(largest_move)

    def _half_width(self, miss: Callable[[], arb]) -> float:
        return enclose(lambda: self._quantile(miss()))[1]

    def _quantile(self, miss: arb) -> arb:
        """The value that |noise| exceeds with probability `miss`: k cells, beyond which the mass is b^k, and a rest.

        Within a cell the inverse of the distribution function is convex: the larger of two linear functions.
        """
        b, share, whole = self._moments()
        cells = -miss.log() / lift(self.epsilon)
        least, most = floor(cells), ceiling(cells)
        found = None
        for k in {least, max(least, most - 1)}:
            mass = ((1 - miss * (k * lift(self.epsilon)).exp()) / (1 - b)).max(arb(0)).min(arb(1)) * whole
            here = k + mass.max(share + (mass - share) / b)
            found = here if found is None else found.union(here)
        assert found is not None
        return found * lift(self._distance())

    def _share(self) -> arb:
        """gamma, the fraction of a cell at its upper level; by default the one with the least mean of |noise|."""
        return 1 / (1 + (lift(self.epsilon) / 2).exp()) if self.gamma is None else lift(self.gamma)


@dataclass(frozen=True, init=False, repr=False)
class DiscreteStaircase(AddsIntegers, ThreePoint):
    """Noise on the integers whose mass falls by e^epsilon at r, Delta + r, 2 Delta + r, ...; Delta is the sensitivity.

    Theorem: docs/theorems/three-point-maps.md.

    >>> DiscreteStaircase(epsilon=1, sensitivity=5, r=2).rho
    0.4235666...
    """

    epsilon: Exact
    sensitivity: int
    r: int
    """How many steps of the stair are wide."""

    def __init__(self, *, epsilon: Value, sensitivity: Value, r: Value) -> None:
        distance, step = integer(sensitivity, "sensitivity", 1), integer(r, "r", 1)
        if step > distance:
            raise BadValue(f"r ({r}) must be at most the sensitivity ({sensitivity})")
        self._set(epsilon=positive(epsilon, "epsilon"), sensitivity=distance, r=step)

    def kappa(self) -> arb:
        # The total variation distance is the mass of `sensitivity` consecutive integers around 0; `near` of them are on
        # the top step.
        near = min(self.sensitivity, 2 * self.r - 1)
        growth = lift(self.epsilon).exp()
        weight = growth * (2 * self.r - 1) + 2 * (self.sensitivity - self.r) + 1
        return growth * weight / (growth * near + self.sensitivity - near) + 1 - growth

    @property
    def variance(self) -> float:
        """Variance of the noise, rounded up."""
        return enclose(self._second_moment)[1]

    def _second_moment(self) -> arb:
        b, d, r = (-lift(self.epsilon)).exp(), self.sensitivity, self.r
        # Beyond the top step x = r + d g + v: g has the weight b^{1+g}, and v runs over 0 ... d-1.
        zeroth, first, second = 1 / (1 - b), b / (1 - b) ** 2, b * (1 + b) / (1 - b) ** 3
        ends = d * r + d * (d - 1) // 2
        squares = _squares(r + d - 1) - _squares(r - 1)
        beyond = b * (d**3 * second + 2 * d * ends * first + squares * zeroth)
        return 2 * (_squares(r - 1) + beyond) / self._weight(b)

    def _weight(self, b: arb) -> arb:
        """The sum of all masses divided by the largest mass."""
        return 2 * self.r - 1 + 2 * self.sensitivity * b / (1 - b)

    def _outside(self, h: int) -> arb:
        b, d = (-lift(self.epsilon)).exp(), self.sensitivity
        steps, into = divmod(h + 1 - self.r, d)
        if steps < 0:
            beyond = self.r - 1 - h + d * b / (1 - b)
        else:
            beyond = (d - into + d * b / (1 - b)) * (-(1 + steps) * lift(self.epsilon)).exp()
        return 2 * beyond / self._weight(b)

    def noise(self) -> DiscreteStaircaseNoise:
        from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise

        return DiscreteStaircaseNoise(lambda: lift(self.epsilon), self.sensitivity, self.r)


def _squares(n: int) -> int:
    """1 + 4 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) // 6
