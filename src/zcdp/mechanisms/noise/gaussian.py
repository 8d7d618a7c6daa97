"""The Gaussian mechanism and the discrete Gaussian mechanism.

The first part of the file has the dominating pair of discrete Gaussian noise on vectors of integers whose move has a
bounded Euclidean length (docs/theorems/discrete-gaussian-vectors.md), the second part the two mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, isqrt, pi, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.additive import AddsIntegers, AddsReals
from zcdp.mechanisms.noise.euclidean_moves import greedy
from zcdp.mechanisms.sensitivity import L1, L2, L0LInf, L1LInf, Sensitivity
from zcdp.numeric.balls import Undecided, enclose, lift
from zcdp.numeric.exact import Value, in_domain, integer, literal, positive_rational, rational_root, readable
from zcdp.numeric.functions import Number, log
from zcdp.numeric.parameter_domains import domain, unlimited
from zcdp.numeric.theta import GaussianWave, Theta, mass_beyond, second_moment
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import Claim, discrete_gaussian_pair, gaussian_pair

if TYPE_CHECKING:
    from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
    from zcdp.samplers.grid_noise import GridNoise

__all__ = ["DiscreteGaussian", "Gaussian", "partitions", "whole_normal_pair"]


# The dominating pair of integer moves under discrete Gaussian noise.

ROUNDING_PARTS = [2 ** (-n / 16) for n in range(1, 400)]
"""The fractions of the variance that are tried for the random rounding of `whole_normal_pair`."""
Moves = Sequence[tuple[int, int]]
"""Pairs (number of coordinates, integer distance that each of them moves)."""


def whole_normal_pair(variance: Fraction, squares: int, neighbours: Sequence[Moves]) -> Claim | None:
    """A Gaussian pair that dominates integer moves whose squares add up to at most `squares`; None if none is found.

    The discrete Gaussian noise of variance v is the random rounding, of variance t, of a normal variable of variance
    v - t that is reweighed by the theta function of t. The effect of the weights is covered by a slightly larger move.
    `neighbours` are actual moves, for lower bounds. Theorem: docs/theorems/discrete-gaussian-vectors.md.
    """
    try:
        part = _part(float(variance), float(squares))
    except (OverflowError, ZeroDivisionError):  # beyond the range of floats
        return None
    if part is None:
        return None
    given = variance * Fraction(part)

    def curvature() -> arb:
        ripple = Theta(given)(arb(0)) - 1
        excess = squares * ((1 + ripple) / (1 - ripple)).log()
        mu = (squares / lift(variance - given)).sqrt()
        room = mu / 64
        more = excess * (2 * arb.pi()).sqrt() * ((mu + room) ** 2 / 8).exp()
        if not (ripple < 1 and more <= room):
            raise Undecided
        return (mu + more) ** 2

    parts = tuple(tuple((discrete_gaussian_pair(variance, d), n) for n, d in moves) for moves in neighbours)
    return Claim(gaussian_pair(curvature), lower=parts)


def _part(variance: float, squares: float) -> float | None:
    """The fraction t/v of the variance with the least mu: heuristic, in floats; None if no fraction is valid."""

    def mu(share: float) -> float:
        given, root = variance * share, sqrt(squares / (variance * (1 - share)))
        exponent = math.log(4 * squares * sqrt(2 * pi)) - 2 * pi**2 * given + (root * 65 / 64) ** 2 / 8
        more = exp(exponent) if exponent < 0 else inf
        return root + more if more < root / 65 and 2 * pi**2 * given > 1.5 else inf

    best = min(ROUNDING_PARTS, key=mu)
    return best if mu(best) < inf else None


def partitions(squares: int) -> list[Moves]:
    """Some integer moves whose squares add up to `squares`: each is the greedy one with some largest move.

    >>> partitions(6)
    [[(1, 2), (2, 1)], [(6, 1)]]
    """
    root = isqrt(squares)
    return [greedy(squares, largest) for largest in sorted({root, (root + 1) // 2, 1}, reverse=True)]


# The two mechanisms.

ONE_PARTITION = 3  # Integer moves whose squares add up to at most 3 are by 1 only: there is one partition into squares.


class _Gaussian(Mechanism):
    """Common parts of both: an exact rho = sensitivity^2/(2 sigma^2), and no pure epsilon, as losses are unbounded."""

    budget = None
    exact_rho: Fraction
    variance: Fraction
    sensitivity: Fraction | int | Sensitivity

    def __init__(
        self, *, sigma: Value | None = None, rho: Value | None = None, sensitivity: Value | Sensitivity = 1
    ) -> None:
        distance = self._distance(sensitivity)
        square = distance.square() if isinstance(distance, Sensitivity) else Fraction(distance) ** 2
        if sigma is not None and rho is not None:
            raise BadValue(f"give sigma ({sigma}) or rho ({rho}), not both: rho = sensitivity^2/(2 sigma^2)")
        if sigma is not None:
            variance = positive_rational(sigma, "sigma") ** 2
            in_domain(square / (2 * variance), "rho", of="sensitivity^2/(2 sigma^2)")
        elif rho is not None:
            variance = square / (2 * positive_rational(rho, "rho"))
            if domain("sigma") is not None:
                in_domain(Fraction(sqrt(variance)), "sigma", of="sensitivity/sqrt(2 rho)")
        else:
            raise BadType("give sigma, or rho")
        self._set(exact_rho=square / (2 * variance), variance=variance, sensitivity=distance)

    @staticmethod
    def _distance(sensitivity: Value | Sensitivity) -> Fraction | int | Sensitivity:
        if isinstance(sensitivity, str) and "sqrt" in sensitivity:
            return L2(sensitivity)
        if isinstance(sensitivity, Sensitivity):
            return sensitivity  # It is kept as given, since it documents the assumption.
        return positive_rational(sensitivity, "sensitivity")

    def __repr__(self) -> str:
        sigma = self.sigma
        noise = f"sigma={literal(sigma)}" if isinstance(sigma, Fraction) else f"rho={literal(self.exact_rho)}"
        moved = self.sensitivity
        written = repr(moved) if isinstance(moved, Sensitivity) else literal(moved)
        distance = "" if moved == 1 else f", sensitivity={written}"
        return f"{type(self).__name__}({noise}{distance})"

    @property
    def sigma(self) -> Fraction | float:
        """The parameter sigma of the noise (its standard deviation): exact, or rounded up if it is not rational."""
        if (root := rational_root(self.variance)) is not None:
            return readable(root)
        return enclose(lambda: lift(self.variance).sqrt())[1]

    @property
    def largest_loss(self) -> None:
        return None

    @property
    def rho_fraction(self) -> Fraction:
        """rho as an exact rational number: ten times 0.1 fill a budget of 1 exactly."""
        return self.exact_rho

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism with exactly this rho."""
        return cls(rho=rho, **fixed)

    def group(self, size: Value) -> Self:
        """Inputs at a distance of `size` neighbours: the same noise, with the sensitivity times `size`."""
        steps, moved = integer(size, "size", 1), self.sensitivity
        further = self._further(moved, steps) if isinstance(moved, Sensitivity) else moved * steps
        return type(self)(rho=self.exact_rho * steps**2, sensitivity=further)

    def _further(self, moved: Sensitivity, steps: int) -> Sensitivity:
        return L2(f"sqrt({moved.square() * steps**2})")  # by the triangle inequality

    def peak(self) -> Peak:
        return Peak(lift(self.exact_rho), arb(1))


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(AddsReals, _Gaussian):
    """Normal noise of standard deviation sigma: RDP of order alpha is rho alpha, for every alpha.

    The sensitivity is in the l2 norm: a number, "sqrt(2)", or a bound on a vector of answers such as `L0LInf(2, 1)`, of
    which the longest move counts. Theorem: docs/theorems/gaussian.md.

    >>> Gaussian(sigma=10).rho, Gaussian(rho="0.005") == Gaussian(sigma=10), Gaussian(sigma=10).pure_epsilon
    (0.005, True, inf)
    >>> from zcdp import L0LInf
    >>> Gaussian(sigma=10, sensitivity=L0LInf(2, 1)).rho, Gaussian(sigma=10, sensitivity="sqrt(2)").rho
    (0.01, 0.01)
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "gaussian"
    exact_rho: Fraction
    variance: Fraction = field(compare=False)
    sensitivity: Fraction | Sensitivity = field(default=Fraction(1), compare=False)

    def cumulant(self, s: Number) -> Number:
        return s * (1 + s) * lift(self.exact_rho)

    def pair(self) -> Claim:
        return Claim.exactly(gaussian_pair(lambda: lift(2 * self.exact_rho)))

    def _second_moment(self) -> arb:
        return lift(self.variance)

    def _quantile(self, miss: arb) -> arb:
        return miss.erfcinv() * lift(2 * self.variance).sqrt()

    @property
    def _spread(self) -> Fraction | float:
        return self.sigma

    def noise(self, grid: Fraction) -> GridNoise:
        from zcdp.samplers.grid_noise import gaussian_on_grid

        return gaussian_on_grid(self.variance, grid)


@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussian(AddsIntegers, _Gaussian):
    """Mass proportional to exp(-x^2/(2 sigma^2)) on the integers: rho is that of the Gaussian.

    It serves one integer answer, or a vector under any bound. Under `L0LInf(m, c)`, where at most m answers move by at
    most c each, rho and profile are exact; under `L1`, `L1LInf` and `L2` rho is exact, and the profile is that of a
    pair that dominates all moves.
    Theorems: docs/theorems/discrete-gaussian.md, docs/theorems/discrete-gaussian-vectors.md.

    >>> DiscreteGaussian(sigma=2, sensitivity=3).rho, DiscreteGaussian(sigma="1/2").rdp(1.5)
    (1.125, 2.9424609651060383)
    >>> DiscreteGaussian(sigma=10, sensitivity="sqrt(2)").rho
    0.01
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "discrete-gaussian"
    exact_rho: Fraction
    variance: Fraction
    sensitivity: int | Sensitivity = 1

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorem pages: for a bound on vectors also the one on vectors."""
        bound = isinstance(self.sensitivity, Sensitivity)
        return ("discrete-gaussian-vectors", self.theorem) if bound else (self.theorem,)

    @staticmethod
    def _distance(sensitivity: Value | Sensitivity) -> int | Sensitivity:
        if isinstance(sensitivity, str) and "sqrt" in sensitivity:
            sensitivity = L2(sensitivity)
        if isinstance(sensitivity, L2):
            return L2(f"sqrt({sensitivity.squares})")
        return sensitivity.whole() if isinstance(sensitivity, Sensitivity) else integer(sensitivity, "sensitivity", 1)

    @cached_property
    def _squares(self) -> int:
        """The largest sum of squares of integer moves."""
        moved = self.sensitivity
        return int(moved.square()) if isinstance(moved, Sensitivity) else moved**2

    @cached_property
    def _moves(self) -> tuple[int, int] | None:
        """The worst case as (number of coordinates, distance that each moves); None if no single one is known."""
        moved = self.sensitivity
        if not isinstance(moved, Sensitivity):
            return 1, moved
        if isinstance(moved, L0LInf):
            return moved.m, int(moved.c)
        # It is known if no coordinate can move by more than 1.
        alone = self._squares <= ONE_PARTITION if isinstance(moved, L2) else moved.largest() == 1
        return (self._squares, 1) if alone else None

    def _further(self, moved: Sensitivity, steps: int) -> Sensitivity:
        """The bound for `steps` neighbouring steps, for norms whose worst move is that of one step, repeated."""
        if isinstance(moved, L1):
            return L1(moved.d * steps)
        if isinstance(moved, L1LInf):
            return L1LInf(moved.a * steps, moved.c * steps)
        raise BadValue(f"sensitivity ({moved}) has no multiple for a group: state that of the group")

    @property
    @unlimited
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        count, move = self._moves or (1, 0)
        if count == 1:
            return ((self, 1),)
        return ((DiscreteGaussian(rho=Fraction(move**2) / (2 * self.variance), sensitivity=move), count),)

    @property
    def is_envelope(self) -> bool:  # type: ignore[override]
        """Whether the curve is an upper envelope of many pairs: it is where no single worst move is known."""
        return self._moves is None

    def cumulant(self, s: Number) -> Number:
        normal = s * (1 + s) * lift(self.exact_rho)
        if self._moves is None:
            return normal
        theta, (count, move) = Theta(self.variance), self._moves
        return normal + count * log(theta(s * move) / theta(arb(0)))

    def kl(self) -> arb:
        return lift(self.exact_rho)  # theta is even, so that the slope of its logarithm at 0 is 0.

    def pair(self) -> Claim | None:
        if self._moves is not None:
            count, move = self._moves
            return Claim.exactly(discrete_gaussian_pair(self.variance, move)) if count == 1 else None
        moved, squares = self.sensitivity, self._squares
        some = moved.moves() if isinstance(moved, Sensitivity) else None
        corner = [[(count, int(move)) for count, move in some]] if some else partitions(squares)
        return whole_normal_pair(self.variance, squares, corner)

    def _divergence(self, excess: Fraction) -> float:
        # If (alpha-1) sensitivity is an integer the divergence is exactly this product, which a ball cannot show.
        return min(super()._divergence(excess), enclose(lambda: lift((1 + excess) * self.exact_rho))[1])

    def _second_moment(self) -> arb:
        return second_moment(self.variance)

    def _outside(self, h: int) -> arb:
        return mass_beyond(h, self.variance)

    def _near(self, miss: Callable[[], arb]) -> int:
        far = enclose(lambda: miss().erfcinv() * lift(2 * self.variance).sqrt())[1]
        return int(far) if far < inf else 0

    def wave(self) -> Callable[[arb], arb]:
        return GaussianWave(self.variance)

    def growth(self) -> Callable[[arb], arb]:
        half = lift(self.variance) / 2  # theta is largest at 0, so that moments are at most those of the Gaussian.
        return lambda tilt: (half * tilt * tilt).exp()

    def noise(self) -> DiscreteGaussianNoise:
        from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise

        return DiscreteGaussianNoise(self.variance)
