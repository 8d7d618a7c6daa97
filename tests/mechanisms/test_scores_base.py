"""Selections by scores: no pair of neighbours exceeds the stated curve; the pair that comes closest is here."""

from __future__ import annotations

import pytest
from mechanisms.selection_laws import LAWS, ROUNDING, climb, no_pair_exceeds
from mpmath import mp

import zcdp
from zcdp import ReportNoisyMax


@pytest.mark.parametrize("noise", LAWS)
def test_no_random_neighbours_exceed_the_bound(noise: str) -> None:
    no_pair_exceeds(noise, 40 if noise == "laplace" else 100, 0)


@pytest.mark.deep
@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("seed", range(1, 6))
def test_no_random_neighbours_exceed_the_bound_deep(noise: str, seed: int) -> None:
    no_pair_exceeds(noise, 1000, seed)


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize(("order", "m", "epsilon"), [(1.0, 2, 1.0), (2.0, 3, 1.0), (8.0, 2, 4.0)])
def test_an_optimiser_reaches_the_exact_bound_from_below(noise: str, order: float, m: int, epsilon: float) -> None:
    bound = ReportNoisyMax(epsilon=epsilon, noise=noise).rdp(order)
    assert 1 - 1e-6 <= climb(LAWS[noise], order, m, epsilon) / bound <= 1 + ROUNDING


@pytest.mark.deep
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize(("m", "gap"), [(2, 1e-6), (3, 1e-6), (5, 1e-2), (8, 1e-2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_an_optimiser_reaches_the_exact_bound_from_below_deep(noise: str, m: int, gap: float, epsilon: float) -> None:
    """With many candidates all but two must fall far behind, which is slow climbing; but never above the bound."""
    bound = ReportNoisyMax(epsilon=epsilon, noise=noise)
    for order in (1.0, 1.2, 2.0, 5.0, 30.0):
        found = climb(LAWS[noise], order, m, epsilon, 4000)
        assert 1 - gap <= found / bound.rdp(order) <= 1 + ROUNDING / epsilon**2
        assert found / order <= bound.rho * (1 + ROUNDING / epsilon**2)


@pytest.mark.parametrize("noise", ["laplace", "gumbel", "exponential"])
@pytest.mark.parametrize("monotone", [False, True])
def test_relative_errors_are_deviations_of_the_noise_on_scores(noise: str, monotone: bool) -> None:
    """By integrals of the densities; of several selections each has its share of epsilon."""
    densities = {
        "laplace": (lambda x: mp.exp(-abs(x)) / 2, [-60, 0, 60]),
        "gumbel": (lambda x: mp.exp(-x - mp.exp(-x)), [-6, 0, 5, 60]),
        "exponential": (lambda x: mp.exp(-x), [0, 60]),
    }
    density, ends = densities[noise]
    mean, second = (mp.quad(lambda x, n=n: x**n * density(x), ends) for n in (1, 2))
    deviation = float(mp.sqrt(second - mean**2)) * (1 if monotone else 2)
    one = zcdp.ReportNoisyMax(epsilon="0.5", noise=noise, monotone=monotone)
    assert one.relative_error == pytest.approx(deviation / 0.5, rel=1e-9)
    several = zcdp.TopK(epsilon="1.5", k=3, noise=noise, monotone=monotone)
    assert several.relative_error == pytest.approx(deviation / 0.5, rel=1e-9)
