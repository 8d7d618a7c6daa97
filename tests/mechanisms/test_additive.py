"""Noise that is added: its accuracy from its law, what it releases, and the privacy of exponential tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import sqrt
from typing import Any

import mpmath as mp
import numpy as np
import pytest

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
from zcdp.mechanisms.noise.additive import default_grid, least_whole
from zcdp.numeric.balls import lift

REAL = [Laplace(scale=1), Logistic(scale=1), Gaussian(sigma=1), Staircase(epsilon=1, sensitivity=1)]


def coarsest(values: Any) -> Fraction:
    """The largest power of two of which all of these are multiples."""
    parts = [Fraction(value) for value in np.ravel(values).tolist()]
    step = Fraction(1, max(part.denominator for part in parts))
    while all(part / (2 * step) % 1 == 0 for part in parts):
        step *= 2
    return step


@pytest.mark.parametrize("scale", [1, 2, 3, Fraction(1, 10), 0.7, 1e-5, 12345.678, Fraction(2) ** 70, 2.0**-70])
def test_the_default_grid_is_a_power_of_two_near_a_millionth_of_the_scale(scale: Any) -> None:
    grid = default_grid(scale)
    assert 1 in (grid.numerator, grid.denominator)
    assert (grid.numerator * grid.denominator).bit_count() == 1
    assert Fraction(scale) / 2**21 < grid <= Fraction(scale) / 2**20


@pytest.mark.parametrize("mechanism", REAL, ids=repr)
@pytest.mark.parametrize("grids", [("1/2", 4, "1/2"), (4, "1/1024", None), (None, "1/2", 4)], ids=str)
def test_each_release_is_on_the_grid_that_it_asks_for(mechanism: Any, grids: tuple[Any, ...]) -> None:
    """Whatever the grid before it was; all of 300 draws are even multiples with a probability of 2^-300 or so."""
    values = np.linspace(-500, 500, 300)
    for grid in grids:
        asked = Fraction(1, 2**20) if grid is None else Fraction(grid)
        assert coarsest(mechanism.release(values, grid=grid)) == asked
        assert Fraction(mechanism.release(7.3, grid=grid)) / asked % 1 == 0


@pytest.mark.parametrize("mechanism", REAL[:3], ids=repr)
def test_each_sample_is_on_the_grid_that_it_asks_for(mechanism: Any) -> None:
    for grid in ("1/8", None, "1/1024", "1/8"):
        asked = Fraction(1, 2**20) if grid is None else Fraction(grid)
        drawn = mechanism.sample((20, 30), grid=grid)
        assert drawn.shape == (20, 30)
        assert coarsest(drawn) == asked
        assert 0.5 < np.abs(drawn).mean() < 2  # within nine deviations of the mean of each law
        assert Fraction(mechanism.sample(grid=grid)) / asked % 1 == 0


def test_a_staircase_is_drawn_for_the_sensitivity_of_each_release() -> None:
    """The mean size of the noise is about 0.97 sensitivities; the grid is the same in all of them."""
    open_to_any = Staircase(epsilon=1)
    for sensitivity in (1, 100, "0.125", 1):
        drawn = open_to_any.release(np.zeros(2000), sensitivity=sensitivity, grid="1/1024")
        assert np.abs(drawn).mean() / float(Fraction(sensitivity)) == pytest.approx(0.97, abs=0.25)


NEIGHBOURS = [
    (DiscreteLaplace(scale="1/50", sensitivity=3), 3),
    (DiscreteLaplace(epsilon=100, sensitivity=L1("2.5")), 2),
    (DiscreteGaussian(sigma="1/50", sensitivity=L0LInf(1, 4)), 4),
    (DiscreteStaircase(epsilon=60, sensitivity=5, r=1), 5),
    (Laplace(scale="1/1000", sensitivity="2.5"), 2.5),
    (Laplace(scale="1/1000", sensitivity=L1LInf(2, 5)), 2),
    (Logistic(scale="1/1000", sensitivity=L0LInf(1, 7)), 7),
    (Gaussian(sigma="1/1000", sensitivity=3), 3),
]


@pytest.mark.parametrize(("mechanism", "distance"), NEIGHBOURS, ids=repr)
def test_outputs_of_neighbours_are_the_sensitivity_apart(mechanism: Any, distance: float) -> None:
    """Next to no noise: a draw that is off by a half has a probability below e^-45."""
    one, other = mechanism.neighbouring_outputs(40)
    assert len(one) == len(other) == 40
    assert np.abs(one).max() < 0.5
    assert np.abs(other - distance).max() < 0.5


@pytest.mark.parametrize("bound", [L0LInf(2, 1), L1LInf(7, 3), L2(2)], ids=repr)
@pytest.mark.parametrize("kind", [Laplace, Logistic, DiscreteLaplace])
def test_no_one_pair_of_numbers_stands_for_a_vector(kind: Any, bound: object) -> None:
    with pytest.raises(ValueError, match=r"sensitivity \(.*\) is of vectors"):
        kind(scale=1, sensitivity=bound).neighbouring_outputs(3)


@pytest.mark.parametrize("mechanism", [DiscreteLaplace(scale=100), DiscreteGaussian(sigma=100)], ids=repr)
def test_integers_that_do_not_fit_their_type_are_refused_unless_asked_for(mechanism: Any) -> None:
    values = np.full(400, 127, dtype=np.int8)
    with pytest.raises(OverflowError):
        mechanism.release(values)
    with pytest.raises(OverflowError):
        mechanism.release(values, overflow="raise")
    moved = mechanism.release(values, overflow="saturate")
    assert moved.dtype == np.int8
    assert 100 < (moved == 127).sum() < 300  # half of the noise is not negative
    assert moved.min() >= -128


def test_the_grid_follows_the_scale_up_to_the_end_of_its_domain() -> None:
    assert default_grid(Fraction(2) ** 99) == Fraction(2) ** 79
    assert abs(Laplace(scale=10**30, sensitivity=10**30).release(0.0)) < 1e33


def test_the_noise_is_of_the_stated_scale_where_epsilon_is_a_logarithm() -> None:
    """e^epsilon = 4 for a move by 1: a half of all draws lies within half a unit, 1 - 4^-1/2."""
    drawn = np.abs(Laplace(epsilon=Log(16), sensitivity=2).release(np.zeros(20_000)))
    assert (drawn <= 0.5).mean() == pytest.approx(0.5, abs=0.025)


LEVELS = ["0.5", "0.95", "0.999", "1e-3"]


@dataclass(frozen=True)
class Law:
    """A mechanism, and an unnormalised density or mass of its noise, with the points where it is not smooth."""

    mechanism: object
    weight: Callable[[mp.mpf], mp.mpf]
    corners: tuple[object, ...] = ()
    whole: bool = False


def stairs(size: object, gamma: object, epsilon: object) -> Callable[[mp.mpf], mp.mpf]:
    def weight(x: mp.mpf) -> mp.mpf:
        cell = mp.floor(abs(x) / size)
        return mp.exp(-epsilon * (cell + (abs(x) / size - cell >= gamma)))

    return weight


def steps(size: int, r: int, epsilon: Fraction) -> Callable[[mp.mpf], mp.mpf]:
    return lambda x: mp.exp(
        -mp.mpf(epsilon.numerator) / epsilon.denominator * (0 if abs(x) < r else 1 + (abs(int(x)) - r) // size)
    )


with mp.workdps(40):
    TOP = 1 / (1 + mp.exp(mp.mpf(1) / 2))
    LOG4 = mp.log(4)
    STEPS = tuple(5 * (k + g) for k in range(80) for g in (0, TOP))


LAWS = [
    Law(Laplace(scale=10), lambda x: mp.exp(-abs(x) / 10)),
    Law(Laplace(epsilon=1, sensitivity=L0LInf(20, 1)), lambda x: mp.exp(-abs(x) / 20)),
    Law(Laplace(scale="0.3", sensitivity=L2(7)), lambda x: mp.exp(-abs(x) * 10 / 3)),
    Law(Logistic(scale=3, sensitivity=5), lambda x: mp.sech(x / 6) ** 2),
    Law(Gaussian(sigma="1/7"), lambda x: mp.exp(-49 * x * x / 2)),
    Law(Gaussian(rho="0.37", sensitivity=5), lambda x: mp.exp(-x * x * 37 / 2500)),
    Law(
        Staircase(epsilon=1, sensitivity=5),
        stairs(5, TOP, 1),
        STEPS,
    ),
    Law(
        Staircase(epsilon=Log(4), gamma="0.75", sensitivity="0.5"),
        stairs(mp.mpf("0.5"), mp.mpf("0.75"), LOG4),
        tuple((k + g) / mp.mpf(2) for k in range(80) for g in (0, mp.mpf("0.75"))),
    ),
    Law(DiscreteLaplace(scale=10), lambda x: mp.exp(-abs(x) / mp.mpf(10)), whole=True),
    Law(DiscreteLaplace(epsilon=3, sensitivity=2), lambda x: mp.exp(-abs(x) * mp.mpf(3) / 2), whole=True),
    Law(DiscreteLaplace(epsilon=Log(4)), lambda x: mp.mpf(4) ** -abs(x), whole=True),
    Law(DiscreteGaussian(sigma=7), lambda x: mp.exp(-(x**2) / mp.mpf(98)), whole=True),
    Law(DiscreteGaussian(sigma="0.4", sensitivity=3), lambda x: mp.exp(-(x**2) * 25 / 8), whole=True),
    Law(DiscreteStaircase(epsilon=1, sensitivity=5, r=2), steps(5, 2, Fraction(1)), whole=True),
    Law(DiscreteStaircase(epsilon="0.2", sensitivity=7, r=6), steps(7, 6, Fraction(1, 5)), whole=True),
    Law(DiscreteStaircase(epsilon=2, sensitivity=1, r=1), steps(1, 1, Fraction(2)), whole=True),
]
BY_LAW = pytest.mark.parametrize("law", LAWS, ids=lambda law: repr(law.mechanism))


@cache
def masses(law: Law) -> list[mp.mpf]:
    with mp.workdps(30):
        return [law.weight(mp.mpf(x)) for x in range(1, 3000)]


@cache
def integral(law: Law, edge: mp.mpf | None, power: int = 0) -> mp.mpf:
    """Of x^power times the density from 0 to an edge: exactly between corners, else by quadrature."""
    if not law.corners:
        return mp.quad(lambda x: x**power * law.weight(x), [0, mp.inf if edge is None else edge])
    ends = [p for p in law.corners if edge is None or p < edge]
    ends = [*ends, law.corners[-1] if edge is None else edge]
    pairs = [(a, b) for a, b in pairwise(ends) if b > a]
    return sum(law.weight((a + b) / 2) * (b ** (power + 1) - a ** (power + 1)) / (power + 1) for a, b in pairs)


def inside(law: Law, h: float | Fraction) -> mp.mpf:
    """P(|noise| <= h), as all laws are symmetric."""
    with mp.workdps(30):
        if law.whole:
            return (1 + 2 * sum(masses(law)[: int(h)])) / (1 + 2 * sum(masses(law))) if h >= 0 else mp.mpf(0)
        exact = Fraction(h)
        return integral(law, mp.mpf(exact.numerator) / exact.denominator) / integral(law, None)


@BY_LAW
@pytest.mark.parametrize("level", LEVELS)
def test_the_half_width_is_the_quantile_of_the_law(law: Law, level: str) -> None:
    found = law.mechanism.accuracy(level)
    wanted = mp.mpf(level)
    if law.whole:
        assert found.half_width == int(found.half_width)
        if law.mechanism == DiscreteLaplace(epsilon=Log(4)) and level == "0.5":
            assert inside(law, found.half_width) >= wanted - mp.mpf(10) ** -25
            return
        assert inside(law, found.half_width) >= wanted > inside(law, found.half_width - 1)
        return
    exact = Fraction(found.half_width)
    assert inside(law, exact) >= wanted - mp.mpf(10) ** -22
    assert inside(law, exact * (1 - Fraction(1, 2**50))) < wanted


@BY_LAW
def test_the_standard_deviation_is_that_of_the_law(law: Law) -> None:
    found = law.mechanism.accuracy().standard_deviation
    with mp.workdps(30):
        if law.whole:
            squares = sum(x * x * mass for x, mass in enumerate(masses(law), 1))
            truth = 2 * squares / (1 + 2 * sum(masses(law)))
        else:
            truth = integral(law, None, 2) / integral(law, None)
        assert mp.sqrt(truth) * (1 - mp.mpf(10) ** -20) <= found <= mp.sqrt(truth) * (1 + mp.mpf(10) ** -15)


@BY_LAW
def test_a_million_draws(law: Law) -> None:
    """Within six standard deviations of the exact share; real noise is drawn on a grid a million times finer."""
    zeros = np.zeros(1_000_000, dtype=np.int64 if law.whole else np.float64)
    found = law.mechanism.accuracy()
    drawn = np.abs(law.mechanism.release(zeros))
    share = float(inside(law, found.half_width))
    hits = int((drawn <= found.half_width + (0 if law.whole else found.standard_deviation * 2**-21)).sum())
    assert abs(hits - 1e6 * share) <= 6 * sqrt(1e6 * share * (1 - share)) + 5
    assert share >= 0.95


@pytest.mark.parametrize("sigma", [20_000, 123_456, "1e9"])
def test_wide_discrete_gaussians(sigma: object) -> None:
    """Against the normal law with half a step of continuity: the error of that is below a thousandth of a step."""
    found = DiscreteGaussian(sigma=sigma).accuracy("0.99")
    with mp.workdps(30):
        edge = mp.mpf(str(sigma)) * mp.sqrt(2) * mp.erfinv(mp.mpf("0.99")) - mp.mpf("0.5")
    assert found.half_width == int(mp.ceil(edge))


def test_all_of_many_answers() -> None:
    """0.99 = (1 - 2 q^{h+1}/(1+q))^100, by hand."""
    h = DiscreteLaplace(scale=10).accuracy(level="0.99", answers=100).half_width
    with mp.workdps(30):
        q = mp.exp(mp.mpf("-0.1"))
        together = [(1 - 2 * q ** (n + 1) / (1 + q)) ** 100 for n in (h - 1, h)]
    assert together[0] < mp.mpf("0.99") <= together[1]


def test_errors_without_a_unit() -> None:
    assert Laplace(epsilon=1, sensitivity=50_000).relative_error == pytest.approx(sqrt(2))
    assert Staircase(epsilon=1).relative_error == Staircase(epsilon=1, sensitivity=7).relative_error
    assert Gaussian(sigma=6, sensitivity=3).relative_error == pytest.approx(2)
    assert DiscreteLaplace(scale=10, sensitivity=L0LInf(20, 2)).relative_error == pytest.approx(14.136244 / 2)


def test_what_has_no_accuracy() -> None:
    with pytest.raises(TypeError, match="give a sensitivity"):
        Staircase(epsilon=1).accuracy()
    with pytest.raises(ValueError, match=r"level \(1\) must lie strictly between 0 and 1"):
        Laplace(scale=1).accuracy(level=1)
    with pytest.raises(ValueError, match=r"answers \(0\) must be at least 1"):
        Laplace(scale=1).accuracy(answers=0)
    with pytest.raises(ValueError, match=r"sensitivity \(3\) must be that of the mechanism \(5\)"):
        Staircase(epsilon=1, sensitivity=5).release(0.0, sensitivity=3)
    with pytest.raises(TypeError, match="give a sensitivity"):
        Staircase(epsilon=1).release(0.0)


# Numbers that are told of noise: its scale, variance and relative error, against laws integrated or summed anew.


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
    (
        Law(DiscreteGaussian(rho="0.2", sensitivity=L2("2.7")), lambda x: mp.exp(-x * x * FIFTH / 7), whole=True),
        ROOT7,
    ),
    (Law(DiscreteGaussian(rho=3, sensitivity=2), lambda x: mp.exp(-x * x * 3 / 4), whole=True), 2),
    (
        Law(DiscreteLaplace(epsilon=2, sensitivity=L0LInf(5, "3.5")), lambda x: mp.exp(-2 * abs(x) / 15), whole=True),
        3.5,
    ),
    (
        Law(DiscreteLaplace(epsilon=Log(4), sensitivity=L1(2)), lambda x: mp.mpf(2) ** -abs(x), whole=True),
        2,
    ),
    (Law(DiscreteLaplace(epsilon=9, sensitivity=L2(3)), lambda x: mp.exp(-abs(x)), whole=True), 3),
    (
        Law(DiscreteStaircase(epsilon="0.1", sensitivity=4, r=1), steps(4, 1, Fraction(1, 10)), whole=True),
        4,
    ),
    (
        Law(DiscreteStaircase(epsilon=3, sensitivity=4, r=4), steps(4, 4, Fraction(3)), whole=True),
        4,
    ),
    (
        Law(Staircase(epsilon=3, sensitivity=2), stairs(2, OPTIMAL, 3), corners(2, OPTIMAL, 40)),
        2,
    ),
    (
        Law(Staircase(epsilon=1, gamma=0, sensitivity=1), stairs(1, 0, 1), corners(1, mp.mpf(0), 80)),
        1,
    ),
    (
        Law(Staircase(epsilon=2, gamma=1, sensitivity=3), stairs(3, 1, 2), corners(3, mp.mpf(1), 60)),
        3,
    ),
    (
        Law(Staircase(epsilon=1, gamma="0.3", sensitivity=1), stairs(1, LEAST, 1), corners(1, LEAST, 80)),
        1,
    ),
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
