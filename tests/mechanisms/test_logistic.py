"""Logistic noise: its curve is that of the densities, it dominates bounded range and is pure DP."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, log1p, nextafter

import numpy as np
import pytest
from numpy.typing import NDArray

from zcdp import BoundedRange, Logistic, PureDP

Floats = NDArray[np.float64]
ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


def by_quadrature(log_density: Callable[[Floats], Floats], shift: float, order: float, low: int, high: int) -> float:
    """D_order of a density around 0 against the same around the shift, 16 nodes in each cell of length 1; 1 is KL."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    x = np.arange(low, high)[:, None] + (nodes + 1) / 2
    loss, s = log_density(x) - log_density(x - shift), order - 1
    mass = np.exp(log_density(x)) * weights / 2
    return float((mass * loss).sum()) if s == 0 else log1p((mass * np.expm1(s * loss)).sum()) / s


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_logistic_is_the_divergence_of_shifted_logistic_noise(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    for order in (1, 1.5, 2, 5):
        found = by_quadrature(lambda x: -abs(x) - 2 * np.log1p(np.exp(-abs(x))), epsilon, order, -80, 80)
        assert found == pytest.approx(m.rdp(order), rel=1e-12)
    assert m.rho == pytest.approx(m.rdp(1), rel=1e-15)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_the_peak_of_logistic_noise_is_in_the_limit_of_order_one(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    lower, upper = m.search_rho(1e-10)
    assert lower <= m.rho <= nextafter(upper, inf)
    assert m.rho == pytest.approx(epsilon / np.tanh(epsilon / 2) - 2, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_logistic_dominates_bounded_range_and_is_pure_dp(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    assert BoundedRange(eta=epsilon).rho < m.rho < PureDP(epsilon=epsilon).rho
    assert all(BoundedRange(eta=epsilon).rdp(order) <= m.rdp(order) <= epsilon for order in ORDERS)
    assert m.pure_epsilon == epsilon
    assert m.group(3).rho == Logistic(epsilon=3 * Fraction(epsilon)).rho
    assert Logistic(scale=2, sensitivity=2 * Fraction(epsilon)) == m
