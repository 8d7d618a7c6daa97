"""Accuracy against laws written down anew: densities integrated, masses summed, and a million draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import sqrt

import mpmath as mp
import numpy as np
import pytest

from zcdp import (
    L2,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Gaussian,
    L0LInf,
    Laplace,
    Log,
    Logistic,
    Staircase,
)

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
