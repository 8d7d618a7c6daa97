"""Integer noise by its masses: against built-in noise, a binomial, and every shift where there are several modes."""

from __future__ import annotations

from math import comb, inf

import pytest

from zcdp import DiscreteLaplace, IntegerNoise
from zcdp.errors import BadType, BadValue


def test_discrete_laplace_as_masses() -> None:
    noise, built = IntegerNoise([1], tails="1/2", sensitivity=2), DiscreteLaplace(epsilon="log(4)", sensitivity=2)
    assert noise.rho_bounds[0] <= built.rho <= noise.rho_bounds[1]
    assert noise.epsilon_bounds(delta=1e-3) == pytest.approx(built.epsilon_bounds(delta=1e-3), rel=1e-12)
    assert noise.variance == pytest.approx(built.variance)
    assert noise.accuracy(answers=10).half_width == built.accuracy(answers=10).half_width


def test_a_centred_binomial() -> None:
    noise = IntegerNoise([comb(200, k) for k in range(201)], start=-100)
    assert noise.rho == inf
    assert noise.infinite_because == "the noise ends at -100 and 100"
    assert noise.epsilon_at(delta=1e-6) == pytest.approx(0.5873253131, rel=1e-9)


def test_masses_that_rise_again_are_searched_at_every_shift() -> None:
    noise = IntegerNoise([45, 5, 0, 5, 45], sensitivity=3)
    assert not noise.is_unimodal
    assert noise.delta_bounds(epsilon=0) == pytest.approx((0.95, 0.95))  # the shift by 2; that by 3 has 0.9
    assert IntegerNoise([1, 2, 2, 3, 3, 1]).is_unimodal


def test_a_gap_inside_is_named() -> None:
    assert IntegerNoise([2, 0, 1], start=4, tails="1/2").infinite_because.startswith("the noise is never 5")


def test_accuracy_counts_tails_on_both_sides() -> None:
    noise = IntegerNoise([1, 4, 2], start=3, tails="1/4")
    drawn = [noise._at(k) / noise._whole for k in range(-60, 70)]
    for h in (0, 2, 4, 9):
        outside = sum(p for k, p in zip(range(-60, 70), drawn, strict=True) if abs(k) > h)
        assert float(noise._outside(h)) == pytest.approx(float(outside), rel=1e-12)
    assert noise.variance == pytest.approx(float(sum(p * k * k for k, p in zip(range(-60, 70), drawn, strict=True))))


@pytest.mark.parametrize(
    ("given", "named", "error", "told"),
    [
        ([1, -1], {}, BadValue, "pmf[1] (-1) must not be negative"),
        ([0, 0], {}, BadValue, "must have a mass above 0"),
        ({}, {}, BadValue, "at least one mass"),
        ({1.5: 1}, {}, BadValue, "must be a whole number"),
        ({1: 1}, {"start": 3}, BadValue, "start (3) is for a list"),
        ([1], {"tails": 1}, BadValue, "tails (1) must lie strictly between 0 and 1"),
        ("12", {}, BadType, "must be a list of masses"),
        ([1], {"sensitivity": 0}, BadValue, "sensitivity (0) must be at least 1"),
    ],
)
def test_bad_input(given: object, named: dict[str, object], error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        IntegerNoise(given, **named)  # type: ignore[arg-type]
    assert told in str(caught.value)
