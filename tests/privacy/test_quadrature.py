"""Parts of certified quadrature are bounds, looked at where their errors can be seen; sums over phases are whole."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp

from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss.sampled_quadrature import highest_parabola, legendre
from zcdp.privacy.profile.contour import Phases, charge, octaves


@pytest.mark.parametrize("second", [0, -1, -5])
@pytest.mark.parametrize("first", [-7, -1, 0, 2, 9])
@pytest.mark.parametrize(("left", "right"), [(-2, 1), (0, 2), (1, 3), (-4, -1)])
def test_a_parabola_is_nowhere_above_its_highest(second: int, first: int, left: int, right: int) -> None:
    highest = float(highest_parabola(arb(second), arb(first), arb(left), arb(right)).upper())
    x = np.linspace(left, right, 1001)
    assert highest >= (second * x * x + first * x).max() - 1e-12


def test_cells_are_charged_with_no_less_than_they_weigh() -> None:
    for decay in np.linspace(0, 3, 61):
        weight = np.array([2.0, 0.5])
        assert float(charge(weight, np.full(2, decay)).upper()) >= 2.5 * np.exp(-decay) * (1 - 1e-12)


def test_the_highest_point_of_a_parabola_is_not_passed_over() -> None:
    """second x^2 + first x between two ends: at one of them, or where its slope is 0; also of balls."""
    random = Random(3)
    for _ in range(400):
        second, first = -Fraction(random.randint(0, 30), 10), Fraction(random.randint(-40, 40), 10)
        left = Fraction(random.randint(-30, 30), 10)
        right = left + Fraction(random.randint(1, 40), 10)
        places = [left, right]
        if second and left < -first / (2 * second) < right:
            places.append(-first / (2 * second))
        truth = max(second * x * x + first * x for x in places)
        found = highest_parabola(lift(second), lift(first), lift(left), lift(right))
        assert not found < lift(truth)
        assert found <= lift(truth) + arb(2) ** -40
        # a ball that holds the truth, so wide that no sign of a slope is known
        vague = highest_parabola(lift(second).min(arb(0)), lift(first) + arb(0, 2), lift(left), lift(right))
        assert vague.upper() >= lift(truth) - arb(2) ** -40


@pytest.mark.parametrize("points", [1, 2, 5, 12])
def test_a_gauss_rule_is_exact_for_polynomials(points: int) -> None:
    rule = at_precision(200, lambda: legendre(points, 200))
    for power in range(2 * points):
        found = sum((weight * place**power for place, weight in rule), arb(0))
        assert found.overlaps(arb(0) if power % 2 else arb(2) / (power + 1))
    beyond = sum((weight * place ** (2 * points) for place, weight in rule), arb(0))
    assert beyond < arb(2) / (2 * points + 1)


def test_floats_that_are_lost_in_a_sum_are_charged() -> None:
    """A thousand weights of half a last bit of the first: a sum of doubles does not grow by any of them."""
    weight, decay = np.array([1.0] + [2.0**-53] * 1000), np.zeros(1001)
    truth = sum((Fraction(one) for one in weight.tolist()), Fraction(0))
    assert np.bincount(np.zeros(1001, dtype=int), weights=weight)[0] < truth
    assert charge(weight, decay) >= lift(truth)
    decays = np.array([0.0, 0.12, 0.13, 7.99, 800.0])
    weights = np.array([1e-9, 0.3, 2.0, 5.0, 1e300])
    exact = sum((arb(w) * (-arb(d)).exp() for w, d in zip(weights.tolist(), decays.tolist(), strict=True)), arb(0))
    assert charge(weights, decays) >= exact


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0, 31, 32, 33, 64], [5, 700, 701, 5000], list(range(70))])
def test_sums_over_phases_are_those_of_every_node(kept: list[int]) -> None:
    """Of value_k e^{-i k angle}, the real part, for several rows at once."""
    random = Random(2)
    rows = [[complex(random.random() - 0.5, random.random() - 0.5) for _ in kept] for _ in range(3)]

    def asked(angle: float) -> list[float]:
        phases = Phases(kept)
        matrix = phases.spread([[acb(one.real, one.imag) for one in row] for row in rows])
        return [float(x) for x in phases.sums(matrix, arb(angle))]

    for angle in (0.0, 0.1, -1.3, 40.0):
        truth = [sum((v * np.exp(-1j * k * angle)).real for k, v in zip(kept, row, strict=True)) for row in rows]
        assert at_precision(128, lambda a=angle: asked(a)) == pytest.approx(truth, abs=1e-9)


def test_octaves_cover_every_node_once() -> None:
    for last in (8, 9, 16, 17, 100, 4096, 5000):
        cells = octaves(last)
        assert [k for begin, end in cells for k in range(begin + 1, end + 1)] == list(range(9, last + 1))
