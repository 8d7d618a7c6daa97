"""Numbers that are told of noise: its scale, variance and relative error, against laws integrated or summed anew."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from mechanisms.test_half_widths import Law, inside, integral, masses, stairs, steps

from zcdp import (
    L1,
    L2,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Logistic,
    Staircase,
)
from zcdp.mechanisms.accuracy import least_whole
from zcdp.numeric.balls import lift


def corners(size: Any, gamma: Any, cells: int) -> tuple[Any, ...]:
    with mp.workdps(40):
        return tuple(size * (k + g) for k in range(cells) for g in dict.fromkeys((mp.mpf(0), gamma)))


with mp.workdps(40):
    FOUR, TENTH, FIFTH, LEAST, ROOT7 = mp.log(4), mp.mpf("0.1"), mp.mpf("0.2"), mp.mpf("0.3"), mp.sqrt(7)
    OPTIMAL = 1 / (1 + mp.exp(mp.mpf(3) / 2))

# with each law how far one answer moves at most
NUMBERS: list[tuple[Law, Any]] = [
    (Law(Laplace(epsilon=Log(4)), lambda x: mp.exp(-FOUR * abs(x))), 1),
    (Law(Laplace(epsilon=Log(4), sensitivity=L1LInf(7, 3)), lambda x: mp.exp(-FOUR * abs(x) / 7)), 3),
    (Law(Laplace(scale=3, sensitivity=L1LInf(2, 5)), lambda x: mp.exp(-abs(x) / 3)), 2),
    (Law(Laplace(epsilon="1/2", sensitivity=L2("1.5")), lambda x: mp.exp(-abs(x) / 3)), 1.5),
    (Law(Logistic(epsilon=Log(4), sensitivity=2), lambda x: mp.sech(FOUR * x / 4) ** 2), 2),
    (Law(Logistic(scale=2, sensitivity=L0LInf(3, 5)), lambda x: mp.sech(x / 4) ** 2), 5),
    (Law(Gaussian(rho="0.5", sensitivity="sqrt(7)"), lambda x: mp.exp(-x * x / 14)), ROOT7),
    (Law(Gaussian(rho=1, sensitivity=L0LInf(3, 2)), lambda x: mp.exp(-x * x / 12)), 2),
    (Law(DiscreteGaussian(rho="0.2", sensitivity=L2("2.7")), lambda x: mp.exp(-x * x * FIFTH / 7), whole=True), ROOT7),
    (Law(DiscreteGaussian(rho=3, sensitivity=2), lambda x: mp.exp(-x * x * 3 / 4), whole=True), 2),
    (
        Law(DiscreteLaplace(epsilon=2, sensitivity=L0LInf(5, "3.5")), lambda x: mp.exp(-2 * abs(x) / 15), whole=True),
        3.5,
    ),
    (Law(DiscreteLaplace(epsilon=Log(4), sensitivity=L1(2)), lambda x: mp.mpf(2) ** -abs(x), whole=True), 2),
    (Law(DiscreteLaplace(epsilon=9, sensitivity=L2(3)), lambda x: mp.exp(-abs(x)), whole=True), 3),
    (Law(DiscreteStaircase(epsilon="0.1", sensitivity=4, r=1), steps(4, 1, Fraction(1, 10)), whole=True), 4),
    (Law(DiscreteStaircase(epsilon=3, sensitivity=4, r=4), steps(4, 4, Fraction(3)), whole=True), 4),
    (Law(Staircase(epsilon=3, sensitivity=2), stairs(2, OPTIMAL, 3), corners(2, OPTIMAL, 40)), 2),
    (Law(Staircase(epsilon=1, gamma=0, sensitivity=1), stairs(1, 0, 1), corners(1, mp.mpf(0), 80)), 1),
    (Law(Staircase(epsilon=2, gamma=1, sensitivity=3), stairs(3, 1, 2), corners(3, mp.mpf(1), 60)), 3),
    (Law(Staircase(epsilon=1, gamma="0.3", sensitivity=1), stairs(1, LEAST, 1), corners(1, LEAST, 80)), 1),
]
EACH = pytest.mark.parametrize(("law", "unit"), NUMBERS, ids=lambda value: repr(getattr(value, "mechanism", "")))


def variance(law: Law) -> mp.mpf:
    if law.whole:
        return 2 * sum(x * x * mass for x, mass in enumerate(masses(law), 1)) / (1 + 2 * sum(masses(law)))
    return integral(law, None, 2) / integral(law, None)


def rounded_up(found: object, truth: mp.mpf) -> bool:
    """Not below the truth, but for what the sums here leave out, and hardly above it."""
    exact = Fraction(found)  # type: ignore[arg-type]
    value = mp.mpf(exact.numerator) / exact.denominator
    return bool(truth * (1 - mp.mpf(10) ** -19) <= value <= truth * (1 + mp.mpf(10) ** -15))


@EACH
def test_variances_deviations_and_errors_are_those_of_the_law_and_rounded_up(law: Law, unit: Any) -> None:
    m: Any = law.mechanism
    with mp.workdps(30):
        truth = variance(law)
        told = m.accuracy("0.9")
        assert rounded_up(told.standard_deviation, mp.sqrt(truth))
        assert rounded_up(m.relative_error, mp.sqrt(truth) / unit)
        if not isinstance(m, DiscreteGaussian):  # of which `variance` is the parameter
            assert rounded_up(m.variance, truth)


@EACH
@pytest.mark.parametrize("level", ["0.05", "0.9", "0.9999"])
def test_half_widths_are_quantiles_of_the_law(law: Law, unit: Any, level: str) -> None:
    del unit
    told: Any = law.mechanism.accuracy(level)  # type: ignore[attr-defined]
    found = told.half_width
    assert (told.level, told.answers) == (float(level), 1)
    with mp.workdps(30):
        wanted = mp.mpf(level)
        if law.whole:
            assert found == int(found)
            assert inside(law, found) >= wanted > inside(law, found - 1)
        else:
            assert inside(law, found) >= wanted - mp.mpf(10) ** -22
            assert inside(law, Fraction(found) * (1 - Fraction(1, 2**50))) < wanted


@pytest.mark.parametrize("answers", [1, 2, 30])
@pytest.mark.parametrize(
    "mechanism", [Laplace(scale=2), Logistic(scale=2), Gaussian(sigma=2), DiscreteGaussian(sigma=2)]
)
def test_all_answers_hold_at_once_with_the_level(mechanism: Any, answers: int) -> None:
    """Independent draws: the level of one, to the power of their number."""
    weights = {
        "Laplace": lambda x: mp.exp(-abs(x) / 2),
        "Logistic": lambda x: mp.sech(x / 4) ** 2,
        "Gaussian": lambda x: mp.exp(-x * x / 8),
        "DiscreteGaussian": lambda x: mp.exp(-x * x / 8),
    }
    whole = isinstance(mechanism, DiscreteGaussian)
    law = Law(mechanism, weights[type(mechanism).__name__], whole=whole)
    told = mechanism.accuracy("0.9", answers=answers)
    assert told.answers == answers
    shorter = told.half_width - 1 if whole else Fraction(told.half_width) * (1 - Fraction(1, 2**48))
    with mp.workdps(30):
        assert inside(law, told.half_width) ** answers >= mp.mpf("0.9") - mp.mpf(10) ** -20
        assert inside(law, shorter) ** answers < mp.mpf("0.9")


@pytest.mark.parametrize(
    ("mechanism", "scale"),
    [
        (Laplace(epsilon=2, sensitivity=L0LInf(20, "0.5")), 5),
        (Laplace(epsilon=2, sensitivity=L1LInf(7, 3)), Fraction(7, 2)),
        (Logistic(epsilon="0.1", sensitivity=L1(3)), 30),
        (Laplace(epsilon=3, sensitivity=L2("1.5")), Fraction(1, 2)),
        (DiscreteLaplace(epsilon=2, sensitivity=L2("2.5")), 3),
        (DiscreteLaplace(epsilon=2, sensitivity=L1LInf("7.5", "3.5")), Fraction(7, 2)),
    ],
    ids=repr,
)
def test_the_scale_is_the_largest_sum_of_the_moves_over_epsilon(mechanism: Any, scale: Fraction) -> None:
    assert mechanism.scale == scale
    again = type(mechanism)(scale=scale, sensitivity=mechanism.sensitivity)
    assert again == mechanism
    assert again.epsilon == mechanism.epsilon


def test_numbers_that_are_not_rational_are_rounded_up() -> None:
    """Noise that is told to be wider than it is by the last digit, never to be narrower."""
    with mp.workdps(40):
        for argument in range(2, 40):
            exact = Laplace(epsilon=Log(argument), sensitivity=3)
            assert 3 / mp.log(argument) <= exact.scale <= 3 / mp.log(argument) * (1 + mp.mpf(2) ** -51)
            assert (
                2 * mp.mpf(exact.scale) ** 2 <= exact.variance <= 2 * mp.mpf(exact.scale) ** 2 * (1 + mp.mpf(2) ** -51)
            )
            wide = Gaussian(rho=Fraction(1, 2 * argument))
            assert mp.sqrt(argument) <= float(wide.sigma) <= mp.sqrt(argument) * (1 + mp.mpf(2) ** -51)
            assert isinstance(wide.sigma, Fraction) == (mp.sqrt(argument) % 1 == 0)


@pytest.mark.parametrize("start", [0, 1, 2, 9, 10, 11, 40, 1000])
@pytest.mark.parametrize("least", [0, 1, 2, 10, 11, 37])
def test_the_least_whole_number_is_found_from_anywhere(start: int, least: int) -> None:
    miss = Fraction(3, 2 ** (least + 1))  # between 2^-least and what it is one before
    assert least_whole(lambda h: lift(Fraction(1, 2**h)), lambda: lift(miss), start) == least


@pytest.mark.parametrize("start", [0, 3, 9])
def test_what_no_ball_can_tell_is_taken_not_to_fit(start: int) -> None:
    """At 3 both sides are sqrt(2)/8: equal, and irrational."""
    found = least_whole(
        lambda h: lift(2).sqrt() / 2**h, lambda: lift(2).sqrt() / 2**3 * lift(3).sqrt() / lift(3).sqrt(), start
    )
    assert found == 4
