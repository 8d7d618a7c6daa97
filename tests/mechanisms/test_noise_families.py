"""Families of noise: their closed forms, and domains of their parameters."""

from __future__ import annotations

from math import asinh, inf, log, sqrt

import pytest

from zcdp import AsymmetricLaplace, Cauchy, GeneralizedGaussian, Laplace, StudentT
from zcdp.errors import BadValue


@pytest.mark.deep
def test_closed_forms() -> None:
    assert StudentT(degrees=5, scale=2, sensitivity=3).pure_epsilon == pytest.approx(
        6 * asinh(3 / (4 * sqrt(5))), rel=1e-12
    )
    assert Cauchy(scale=2).pure_epsilon == pytest.approx(0.49493292309452, rel=1e-12)
    assert Cauchy(scale=2).rdp(1) == pytest.approx(log(1 + 1 / 16), rel=1e-12)


@pytest.mark.deep
def test_cauchy_is_student_of_one_degree() -> None:
    one, other = Cauchy(scale=3), StudentT(degrees=1, scale=3)
    assert one.delta_at(epsilon="0.2") == pytest.approx(other.delta_at(epsilon="0.2"), rel=1e-12)


def test_power_one_is_laplace() -> None:
    one, other = GeneralizedGaussian(power=1, scale=2), Laplace(scale=2)
    assert one.rho_bounds[0] <= other.rho <= one.rho_bounds[1]
    assert one.epsilon_at(delta=1e-3) == pytest.approx(other.epsilon_at(delta=1e-3), rel=1e-12)


def test_both_directions_of_asymmetric_noise_count() -> None:
    noise, mirrored = AsymmetricLaplace(left=2, right=1), AsymmetricLaplace(left=1, right=2)
    assert noise.rho_bounds == pytest.approx(mirrored.rho_bounds, rel=1e-9)
    assert noise.rho_bounds[0] == pytest.approx(0.21884291640365, rel=1e-10)
    assert noise.rho_order == pytest.approx(1.62132, rel=1e-4)
    assert noise.delta_at(epsilon="0.1") == pytest.approx(mirrored.delta_at(epsilon="0.1"), rel=1e-12)


@pytest.mark.deep
def test_the_limit_at_order_one_is_not_always_the_supremum() -> None:
    noise = GeneralizedGaussian(power="1/2", scale=2)
    assert noise.rdp(1) == pytest.approx(0.0241424197883541, rel=1e-12)
    assert noise.rho_bounds[0] == pytest.approx(0.02427955206, rel=1e-8)


@pytest.mark.deep
def test_heavy_tails_have_no_variance() -> None:
    assert Cauchy(scale=1).variance == inf
    assert StudentT(degrees=3, scale=2).variance == pytest.approx(12, rel=1e-9)
    assert Cauchy(scale=1).accuracy().half_width == pytest.approx(12.7062047361747, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: StudentT(degrees=0, scale=1), "degrees (0) must be positive"),
        (lambda: StudentT(degrees=2000, scale=1), "must be between 0.1 and 1000"),
        (lambda: GeneralizedGaussian(power=30, scale=1), "must be between 0.1 and 20"),
        (lambda: Cauchy(scale=-1), "scale (-1) must be positive"),
        (lambda: AsymmetricLaplace(left=0, right=1), "left (0) must be positive"),
    ],
)
def test_domains(make: object, told: str) -> None:
    with pytest.raises(BadValue) as caught:
        make()  # type: ignore[operator]
    assert told in str(caught.value)
