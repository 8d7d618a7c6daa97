"""All of pure DP, and of a bounded range: the worst pair of each class, from its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, log, nextafter
from random import Random

import pytest
from mechanisms import explicit

from zcdp import (
    DiscreteLaplace,
    DiscreteStaircase,
    Log,
    LossPair,
    Mechanism,
    PureDP,
    PureGroup,
    Staircase,
)

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


ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


@pytest.mark.parametrize("seed", range(20))
def test_no_path_of_pure_dp_steps_exceeds_the_group_bound(seed: int) -> None:
    rng = Random(seed)
    size, outcomes = rng.randint(2, 5), rng.randint(2, 5)
    path = [explicit.normalised([rng.randint(1, 9) for _ in range(outcomes)])]
    for _ in range(size):
        path.append(explicit.normalised([mass * rng.choice((1, 2, 3)) for mass in path[-1]]))
    step = max(max(a / b, b / a) for p, q in pairwise(path) for a, b in zip(p, q, strict=True))
    bound = PureDP(epsilon=Log(step)).group(size)
    pair = LossPair(p=path[0], q=path[-1])
    assert pair.rho_bounds[0] <= bound.rho
    assert all(pair.rdp(order) <= bound.rdp(order) for order in ORDERS)


FEW_ORDERS = (1, "1.01", 1.5, 2, 5, 32, 1000, float("inf"))


@pytest.mark.parametrize("seed", range(30))
def test_no_pair_of_bounded_variation_exceeds_pure_dp_of_that_variation(seed: int) -> None:
    """Random pairs on several outcomes, of losses anywhere in [-epsilon, epsilon]."""
    rng = Random(seed)
    p = explicit.normalised([rng.randint(1, 1000) for _ in range(rng.randint(2, 6))])
    q = explicit.normalised([mass * rng.randint(500, 2000) for mass in p])
    largest = max(max(a / b, b / a) for a, b in zip(p, q, strict=True))
    bound = PureDP(epsilon=Log(largest), total_variation=explicit.total_variation(p, q))
    pair = LossPair(p=p, q=q)
    assert pair.rho_bounds[0] <= bound.rho
    for order in FEW_ORDERS:
        assert pair.rdp(order) <= nextafter(bound.rdp(order), 1e308)


@pytest.mark.parametrize(
    "m",
    [
        Staircase(epsilon=1),
        DiscreteStaircase(epsilon=1, sensitivity=5, r=2),
        PureDP(epsilon=1, total_variation="0.1"),
        LossPair(["1/2", "1/2"], ["1/4", "3/4"]),
    ],
    ids=repr,
)
def test_a_group_bound_from_pure_dp_is_not_called_tight(m: Mechanism) -> None:
    group = m.group(2)
    assert isinstance(group, PureGroup)
    assert not group.is_tight
    assert not (3 * group).is_tight
    assert group.rho_bounds[0] == group.epsilon_bounds(delta="0.01")[0] == 0
    assert group.rho_bounds[1] >= m.rho
    assert m.group(1) == m


def test_of_all_of_pure_dp_the_group_bound_is_tight() -> None:
    assert PureDP(epsilon=1).group(3) == DiscreteLaplace(epsilon=3, sensitivity=3)
    assert PureDP(epsilon=1).group(3).is_tight
    bound, attained = PureGroup(epsilon=3, size=3), DiscreteLaplace(epsilon=3, sensitivity=3)
    assert bound.rho == attained.rho
    assert bound.epsilon_at(delta="0.01") == attained.epsilon_at(delta="0.01")
