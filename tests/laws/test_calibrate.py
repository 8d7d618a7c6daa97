"""Calibration returns the least noise that is certified to fit."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import KINDS, Kind

from zcdp import DiscreteLaplace, Laplace, RandomizedResponse

ONCE = {kind.mechanism: kind for kind in KINDS}.values()
BY_NAME = pytest.mark.parametrize("kind", ONCE, ids=lambda kind: kind.mechanism.__name__)


@BY_NAME
@settings(deadline=None, max_examples=8)
@given(rho=st.floats(1e-20, 1e6))
def test_result_fits_and_the_next_float_does_not(kind: Kind, rho: float) -> None:
    fixed = kind.fixed[-1]
    m = kind.mechanism.calibrate(rho=rho, **fixed)
    assert m.rho <= rho
    budget = float(getattr(m, kind.mechanism.budget))
    assert kind.at(nextafter(budget, inf), **fixed).rho > rho


def test_other_parameters_are_kept() -> None:
    assert Laplace.calibrate(rho="0.1", sensitivity=3).sensitivity == 3
    assert DiscreteLaplace.calibrate(rho=Fraction(1, 10), sensitivity=3).sensitivity == 3
    assert RandomizedResponse.calibrate(rho=0.1, k=1000).k == 1000


def test_laplace_inverts_its_formula() -> None:
    # epsilon + e^-epsilon - 1 = 0.1 by hand: epsilon = 0.483183...
    assert float(Laplace.calibrate(rho=0.1).epsilon) == pytest.approx(0.48318316820829, rel=1e-13)


@pytest.mark.parametrize("rho", [0, -1, "nan", float("inf"), "0.0"])
def test_bad_targets_are_refused(rho: object) -> None:
    with pytest.raises(ValueError, match="rho"):
        Laplace.calibrate(rho=rho)


def test_errors_name_the_parameter() -> None:
    with pytest.raises(ValueError, match=r"epsilon \(1\) is what calibrate finds"):
        Laplace.calibrate(rho=1, epsilon=1)
    with pytest.raises(ValueError, match="too small"):
        Laplace.calibrate(rho="1e-30")
    with pytest.raises(ValueError, match=r"k \(1\)"):
        RandomizedResponse.calibrate(rho=1, k=1)
