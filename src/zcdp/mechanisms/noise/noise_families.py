"""Families of noise that are known by their density: Student's t, Cauchy, generalized Gaussian, asymmetric Laplace."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from zcdp.mechanisms.noise.own_noise import DensityNoise
from zcdp.mechanisms.sensitivity import L0LInf
from zcdp.numeric.density import Density, FormulaDensity
from zcdp.numeric.exact import Value, positive_rational
from zcdp.numeric.formula import X, add, call, multiply, number, power

__all__ = ["AsymmetricLaplace", "Cauchy", "GeneralizedGaussian", "StudentT"]


@dataclass(frozen=True, init=False, repr=False)
class StudentT(DensityNoise):
    """Noise of density (1 + (x/scale)^2/degrees)^(-(degrees + 1)/2), Student's t: heavy tails, and pure DP.

    Its largest loss is (degrees + 1) asinh(sensitivity/(2 scale sqrt(degrees))). Theorem: docs/theorems/own-noise.md.

    >>> StudentT(degrees=3, scale=2).pure_epsilon
    0.5753641449035...
    """

    degrees: Fraction
    """Degrees of freedom, nu: the tails fall like |x|^-(nu + 1)."""
    scale: Fraction
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(self, *, degrees: Value, scale: Value, sensitivity: Value | L0LInf = 1) -> None:
        self._set(degrees=positive_rational(degrees, "degrees"), scale=positive_rational(scale, "scale"))
        self._set_sensitivity(sensitivity)

    def _make(self) -> Density:
        square = multiply(number(1 / (self.scale**2 * self.degrees)), power(X, Fraction(2)))
        return FormulaDensity(power(add(number(1), square), -(self.degrees + 1) / 2))


@dataclass(frozen=True, init=False, repr=False)
class Cauchy(DensityNoise):
    """Noise of density 1/(1 + (x/scale)^2): no mean and no variance, and pure DP. Theorem: docs/theorems/own-noise.md.

    >>> Cauchy(scale=2).rdp(1)                      # log(1 + (sensitivity/(2 scale))^2)
    0.060624621816434...
    """

    scale: Fraction
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(self, *, scale: Value, sensitivity: Value | L0LInf = 1) -> None:
        self._set(scale=positive_rational(scale, "scale"))
        self._set_sensitivity(sensitivity)

    def _make(self) -> Density:
        square = multiply(number(1 / self.scale**2), power(X, Fraction(2)))
        return FormulaDensity(power(add(number(1), square), Fraction(-1)))


@dataclass(frozen=True, init=False, repr=False)
class GeneralizedGaussian(DensityNoise):
    """Noise of density exp(-|x/scale|^power): Laplace noise at power 1, Gaussian noise at power 2.

    Up to power 1 it is pure DP; between 1 and 2 losses have no end, but rho is finite; above 2 rho is infinite, and
    only (epsilon, delta) and single Renyi orders are answered. Theorem: docs/theorems/own-noise.md.

    >>> GeneralizedGaussian(power="1.5", scale=2).epsilon_at(delta=1e-6)
    1.60607842221853...
    >>> steep = GeneralizedGaussian(power=3, scale=2)
    >>> steep.rho, steep.infinite_because
    (inf, 'the density falls faster than that of any Gaussian noise')
    """

    power: Fraction
    """The exponent p."""
    scale: Fraction
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(self, *, power: Value, scale: Value, sensitivity: Value | L0LInf = 1) -> None:
        self._set(power=positive_rational(power, "power"), scale=positive_rational(scale, "scale"))
        self._set_sensitivity(sensitivity)

    def _make(self) -> Density:
        size = multiply(number(1 / self.scale), X)
        even = self.power.denominator == 1 and self.power.numerator % 2 == 0
        inside = power(size if even else call("abs", size), self.power)
        return FormulaDensity(call("exp", multiply(number(-1), inside)))


@dataclass(frozen=True, init=False, repr=False)
class AsymmetricLaplace(DensityNoise):
    """Noise that falls like e^(-x/right) above 0 and like e^(x/left) below it: pure DP, sensitivity/min(left, right).

    Its two directions differ, and both count. Theorem: docs/theorems/own-noise.md.

    >>> AsymmetricLaplace(left=2, right=1).rho_bounds
    (0.2188429164..., 0.2188429164...)
    """

    left: Fraction
    """The scale of the noise below 0."""
    right: Fraction
    """The scale of the noise above 0."""
    sensitivity: Fraction | L0LInf = Fraction(1)

    def __init__(self, *, left: Value, right: Value, sensitivity: Value | L0LInf = 1) -> None:
        self._set(left=positive_rational(left, "left"), right=positive_rational(right, "right"))
        self._set_sensitivity(sensitivity)

    def _make(self) -> Density:
        rise = call("max", multiply(number(1 / self.right), X), multiply(number(-1 / self.left), X))
        if self.left == self.right:
            rise = call("abs", multiply(number(1 / self.right), X))
        return FormulaDensity(call("exp", multiply(number(-1), rise)))
