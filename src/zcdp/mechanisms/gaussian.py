"""The Gaussian mechanism, and its cousin on the integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb, arb_series

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.additive import AddsIntegers, AddsReals
from zcdp.mechanisms.base import Mechanism
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Value, integer, literal, positive_rational
from zcdp.numeric.functions import Number, log
from zcdp.numeric.gaussian_sum import mass_beyond
from zcdp.numeric.readable import readable
from zcdp.numeric.theta import Theta
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, discrete_gaussian_pair, gaussian_pair

if TYPE_CHECKING:
    from zcdp.samplers.continuous import GridNoise
    from zcdp.samplers.discrete_gaussian import DiscreteGaussianNoise

__all__ = ["DiscreteGaussian", "Gaussian"]


class _Gaussian(Mechanism):
    """rho = sensitivity^2/(2 sigma^2), kept exactly; the loss is unbounded, so there is no pure epsilon."""

    budget = None
    exact_rho: Fraction
    variance: Fraction
    sensitivity: Fraction | int

    def __init__(self, *, sigma: Value | None = None, rho: Value | None = None, sensitivity: Value = 1) -> None:
        distance = self._distance(sensitivity)
        if sigma is not None and rho is not None:
            raise BadValue(f"give sigma ({sigma}) or rho ({rho}), not both: rho = sensitivity^2/(2 sigma^2)")
        if sigma is not None:
            variance = positive_rational(sigma, "sigma") ** 2
        elif rho is not None:
            variance = Fraction(distance) ** 2 / (2 * positive_rational(rho, "rho"))
        else:
            raise BadType("give sigma, or rho")
        self._set(exact_rho=Fraction(distance) ** 2 / (2 * variance), variance=variance, sensitivity=distance)

    @staticmethod
    def _distance(sensitivity: Value) -> Fraction | int:
        return positive_rational(sensitivity, "sensitivity")

    def __repr__(self) -> str:
        sigma = self.sigma
        noise = f"sigma={literal(sigma)}" if isinstance(sigma, Fraction) else f"rho={literal(self.exact_rho)}"
        distance = "" if self.sensitivity == 1 else f", sensitivity={literal(self.sensitivity)}"
        return f"{type(self).__name__}({noise}{distance})"

    @property
    def sigma(self) -> Fraction | float:
        """Standard deviation (parameter) of the noise: exact, or rounded up where it is no rational number."""
        top, bottom = isqrt(self.variance.numerator), isqrt(self.variance.denominator)
        if Fraction(top, bottom) ** 2 == self.variance:
            return readable(Fraction(top, bottom))
        return enclose(lambda: lift(self.variance).sqrt())[1]

    @property
    def largest_loss(self) -> None:
        return None

    @property
    def rho_fraction(self) -> Fraction:
        """rho itself, which is rational here: ten times 0.1 fill a budget of 1 exactly."""
        return self.exact_rho

    @classmethod
    def calibrate(cls, *, rho: Value, **fixed: Any) -> Self:
        """The mechanism of exactly this rho."""
        return cls(rho=rho, **fixed)

    def group(self, size: Value) -> Self:
        """Inputs at a distance of `size` neighbours: the sensitivity times `size`, the noise as it is."""
        steps = integer(size, "size", 1)
        return type(self)(rho=self.exact_rho * steps**2, sensitivity=self.sensitivity * steps)

    def peak(self) -> Peak:
        return Peak(lift(self.exact_rho), arb(1))


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(AddsReals, _Gaussian):
    """Normal noise of standard deviation sigma: RDP of order alpha is rho alpha, for every alpha.

    Sensitivity is in the l2 norm. Theorem: docs/theorems/gaussian.md.

    >>> Gaussian(sigma=10).rho, Gaussian(rho="0.005") == Gaussian(sigma=10), Gaussian(sigma=10).pure_epsilon
    (0.005, True, inf)
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "gaussian"
    exact_rho: Fraction
    variance: Fraction = field(compare=False)
    sensitivity: Fraction = field(default=Fraction(1), compare=False)

    def cumulant(self, s: Number) -> Number:
        return s * (1 + s) * lift(self.exact_rho)

    def pair(self) -> LossLaw:
        return gaussian_pair(lambda: lift(2 * self.exact_rho))

    def _second_moment(self) -> arb:
        return lift(self.variance)

    def _quantile(self, miss: arb) -> arb:
        return miss.erfcinv() * lift(2 * self.variance).sqrt()

    @property
    def _spread(self) -> Fraction | float:
        return self.sigma

    def noise(self, grid: Fraction) -> GridNoise:
        from zcdp.samplers.continuous import gaussian_on_grid

        return gaussian_on_grid(self.variance, grid)


@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussian(AddsIntegers, _Gaussian):
    """Mass proportional to exp(-x^2/(2 sigma^2)) on the integers, for one integer answer: rho is that of the Gaussian.

    Theorem: docs/theorems/discrete-gaussian.md.

    >>> DiscreteGaussian(sigma=2, sensitivity=3).rho, DiscreteGaussian(sigma="1/2").rdp(1.5)
    (1.125, 2.9424609651060383)
    """

    known_elsewhere = True
    theorem: ClassVar[str] = "discrete-gaussian"
    exact_rho: Fraction
    variance: Fraction
    sensitivity: int = 1

    @staticmethod
    def _distance(sensitivity: Value) -> int:
        return integer(sensitivity, "sensitivity", 1)

    def cumulant(self, s: Number) -> Number:
        theta = Theta(self.variance)
        return s * (1 + s) * lift(self.exact_rho) + log(theta(s * self.sensitivity) / theta(arb(0)))

    def kl(self) -> arb:
        return lift(self.exact_rho)  # theta is even, so its logarithm has no slope at 0

    def pair(self) -> LossLaw:
        return discrete_gaussian_pair(self.variance, self.sensitivity)

    def _divergence(self, excess: Fraction) -> float:
        # where (alpha-1) sensitivity is whole it is this product, which no ball can know
        return min(super()._divergence(excess), enclose(lambda: lift((1 + excess) * self.exact_rho))[1])

    def _second_moment(self) -> arb:
        # a tilt by d has the logarithm of a moment d^2/2v + log theta(d), whose second derivative times v^2 it is
        square = lift(self.variance)
        bend = 2 * log(Theta(self.variance)(arb_series([0, 1], prec=3)))[2]
        return square + square**2 * bend

    def _outside(self, h: int) -> arb:
        return mass_beyond(h, self.variance)

    def _near(self, miss: Callable[[], arb]) -> int:
        far = enclose(lambda: miss().erfcinv() * lift(2 * self.variance).sqrt())[1]
        return int(far) if far < inf else 0

    def noise(self) -> DiscreteGaussianNoise:
        from zcdp.samplers.discrete_gaussian import DiscreteGaussianNoise

        return DiscreteGaussianNoise(self.variance)
