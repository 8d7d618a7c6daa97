"""All of pure DP, and of a bounded range: the worst pair of each class, from its definition."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log
from random import Random
from typing import Any

import mpmath as mp
import pytest

from zcdp import BoundedRange, DiscreteLaplace, ExponentialMechanism, Log, LossPair, PureDP, PureGroup

GROWN = Fraction(5, 2)


def worst(distance: Fraction) -> LossPair:
    """Losses log(5/2), 0 and its negative, where the total variation is this; p - q is 3/2 of the rarer mass."""
    rare = distance / (GROWN - 1)
    middle = 1 - rare * (GROWN + 1)
    return LossPair(p=[GROWN * rare, middle, rare], q=[rare, middle, GROWN * rare])


@pytest.mark.parametrize("distance", ["0.01", "0.2", "0.42", "3/7"])
def test_a_bounded_distance_is_the_pair_that_attains_it(distance: str) -> None:
    m, pair = PureDP(epsilon=Log(GROWN), total_variation=distance), worst(Fraction(distance))
    for order in (1, 2, 7):
        assert m.rdp(order) == pytest.approx(pair.rdp(order), rel=1e-12)
    assert pair.rho_bounds[0] <= m.rho <= pair.rho * (1 + 1e-9)
    for epsilon in (0.0, 0.5, 0.9):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        truth = float(Fraction(distance)) / 1.5 * (2.5 - exp(epsilon))
        assert lower * (1 - 1e-12) <= truth <= upper * (1 + 1e-12)
        assert upper <= truth * (1 + 1e-9)


@pytest.mark.parametrize("distance", ["0.43", "0.7", 1])
def test_a_distance_that_all_of_pure_dp_keeps_says_nothing(distance: object) -> None:
    """(e^epsilon - 1)/(e^epsilon + 1) = 3/7 is the largest that there is."""
    m, plain = PureDP(epsilon=Log(GROWN), total_variation=distance), PureDP(epsilon=Log(GROWN))  # type: ignore[arg-type]
    assert m.rho == pytest.approx(plain.rho, rel=1e-12)
    assert m.rdp(3) == pytest.approx(plain.rdp(3), rel=1e-12)
    for epsilon in (0.0, 0.5):
        assert m.delta_at(epsilon=epsilon) == pytest.approx(plain.delta_at(epsilon=epsilon), rel=1e-12)
    if distance == 1:
        assert m == plain
        assert m.group(2) == DiscreteLaplace(epsilon=Log(GROWN**2), sensitivity=2)
    else:
        assert m.group(2) == PureGroup(epsilon=Log(GROWN**2), size=2)


@pytest.mark.parametrize("seed", range(6))
def test_no_pair_of_that_epsilon_and_distance_exceeds_it(seed: int) -> None:
    rng = Random(seed)
    p = [Fraction(rng.randint(1, 30)) for _ in range(4)]
    q = [mass * rng.choice((1, 1, Fraction(2, 5), GROWN)) for mass in p]
    p, q = ([mass / sum(row) for mass in row] for row in (p, q))
    largest = max(max(a / b, b / a) for a, b in zip(p, q, strict=True))
    distance = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    if largest == 1:
        return
    m, pair = PureDP(epsilon=Log(largest), total_variation=distance), LossPair(p=p, q=q)
    assert pair.rho_bounds[0] <= m.rho
    for order in (1, 2, 7):
        assert pair.rdp(order) <= m.rdp(order) * (1 + 1e-12)
    for epsilon in (0.0, log(largest) / 2):
        assert pair.delta_bounds(epsilon=epsilon)[0] <= m.delta_at(epsilon=epsilon) * (1 + 1e-12)


def test_the_error_of_a_selection_is_that_of_gumbel_noise() -> None:
    """Of density e^{-x - e^-x}, times 2/epsilon: the deviation by quadrature."""
    with mp.workdps(25):
        mean, square = (mp.quad(lambda x, n=n: x**n * mp.exp(-x - mp.exp(-x)), [-6, 0, 6, 90]) for n in (1, 2))
        deviation = mp.sqrt(square - mean**2)
    for epsilon in ("0.1", 2):
        for m in (ExponentialMechanism(epsilon=epsilon), BoundedRange(eta=epsilon)):  # type: ignore[arg-type]
            assert m.relative_error == pytest.approx(2 * float(deviation) / float(Fraction(epsilon)), rel=1e-9)


@pytest.mark.parametrize("eta", [Fraction(1, 2), Log(5), Fraction(4)], ids=str)
def test_bounded_range_covers_every_pair_of_two_outcomes(eta: Any) -> None:
    """Losses a and a - eta: wherever the interval lies, the masses follow from it."""
    m, width = BoundedRange(eta=eta), float(eta) if isinstance(eta, Fraction) else log(5)
    for part in (0.02, 0.3, 0.5, 0.8, 0.98):
        top, low = part * width, (part - 1) * width
        one = (1 - exp(-low)) / (exp(-top) - exp(-low))  # p with p e^-top + (1 - p) e^-low = 1
        p, q = (one, 1 - one), (one * exp(-top), (1 - one) * exp(-low))
        for order in (1.0, 1.5, 3.0, 20.0):
            if order == 1:
                truth = one * top + (1 - one) * low
            else:
                truth = log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)
            assert truth <= m.rdp(Fraction(order)) * (1 + 1e-9)
            assert truth / order <= m.rho * (1 + 1e-9)
        for epsilon in (0.0, width / 3):
            truth = sum(max(a - exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
            assert truth <= m.delta_at(epsilon=epsilon) * (1 + 1e-9)
            if part == 0.5:
                assert m.delta_bounds(epsilon=epsilon)[0] <= m.delta_at(epsilon=epsilon)
    steepest = max(
        (one * top + (1 - one) * (top - width))
        for top in (width * n / 4000 for n in range(1, 4000))
        for one in [(1 - exp(width - top)) / (exp(-top) - exp(width - top))]
    )
    assert m.rdp(1) == pytest.approx(steepest, rel=1e-5)
