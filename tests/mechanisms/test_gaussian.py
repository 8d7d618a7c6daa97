"""Gaussian noise, continuous and discrete: its curve from densities and from sums over the integers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, log, log1p, nextafter, pi, sqrt

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

import zcdp
from zcdp import DiscreteGaussian, Gaussian

Floats = NDArray[np.float64]


def by_quadrature(log_density: Callable[[Floats], Floats], shift: float, order: float, low: int, high: int) -> float:
    """D_order of a density around 0 against the same around the shift, 16 nodes in each cell of length 1; 1 is KL."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    x = np.arange(low, high)[:, None] + (nodes + 1) / 2
    loss, s = log_density(x) - log_density(x - shift), order - 1
    mass = np.exp(log_density(x)) * weights / 2
    return float((mass * loss).sum()) if s == 0 else log1p((mass * np.expm1(s * loss)).sum()) / s


@pytest.mark.parametrize(("sigma", "sensitivity"), [(1, 1), (3, 2), ("0.7", 1)])
def test_gaussian_is_the_divergence_of_shifted_normal_noise(sigma: object, sensitivity: int) -> None:
    m, width = Gaussian(sigma=sigma, sensitivity=sensitivity), float(Fraction(sigma))
    for order in (1, 1.5, 3):
        found = by_quadrature(
            lambda x: -((x / width) ** 2) / 2 - log(width * sqrt(2 * pi)), sensitivity, order, -60, 60
        )
        assert found == pytest.approx(m.rdp(order), rel=1e-12)
        assert m.rdp(order) == pytest.approx(m.rho * order, rel=1e-15)
    assert m.pure_epsilon == inf == m.rdp(inf)


@pytest.mark.parametrize("sigma", ["0.3", "1/2", "0.99", 1, 3])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_discrete_gaussian_is_its_sum_over_the_integers(sigma: object, sensitivity: int) -> None:
    m, variance = DiscreteGaussian(sigma=sigma, sensitivity=sensitivity), Fraction(sigma) ** 2
    assert m.rho == pytest.approx(sensitivity**2 / (2 * float(variance)), rel=1e-15)
    for order in (1, "1.25", 1.5, 2, "3.7", 30):
        found = [_discrete_gaussian(variance, shift, order) for shift in range(1, sensitivity + 1)]
        assert max(found) == found[-1]
        assert found[-1] == pytest.approx(m.rdp(order), rel=1e-13)
        assert m.rdp(order) <= nextafter(m.rho * float(Fraction(order)), inf)
    assert m.pure_epsilon == inf


def _discrete_gaussian(variance: Fraction, shift: int, order: object) -> float:
    with mp.workdps(40):
        width, s = 2 * mp.mpf(variance.numerator) / variance.denominator, Fraction(order) - 1
        s = mp.mpf(s.numerator) / s.denominator
        reach = int(12 * mp.sqrt(width)) + 8
        centre = int(-s * shift)
        norm = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / width) for x in range(-reach, reach + 1))
        terms = [
            (mp.exp(-(mp.mpf(x) ** 2) / width) / norm, mp.mpf((x - shift) ** 2 - x**2) / width)
            for x in range(centre - reach, centre + reach + 1)
        ]
        if s == 0:
            return float(mp.fsum(mass * loss for mass, loss in terms))
        return float(mp.log(mp.fsum(mass * mp.exp(s * loss) for mass, loss in terms)) / s)


def test_discrete_gaussian_vectors_are_so_many_coordinates() -> None:
    vector = zcdp.DiscreteGaussian(sigma=3, sensitivity=zcdp.L0LInf(4, 2))
    one = zcdp.DiscreteGaussian(sigma=3, sensitivity=2)
    assert vector.rho == (4 * one).rho
    assert vector.rdp("1.7") == pytest.approx((4 * one).rdp("1.7"), rel=1e-14)
    assert vector.delta_at(epsilon=2) == pytest.approx((4 * one).delta_at(epsilon=2), rel=1e-12)
