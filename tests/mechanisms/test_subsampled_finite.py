"""Samples of mechanisms with finitely many outcomes: every claim against the mixtures, outcome by outcome."""

from __future__ import annotations

from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zcdp import (
    Channel,
    DiscreteLaplace,
    L0LInf,
    L1LInf,
    LossPair,
    Plan,
    PureDP,
    RandomizedResponse,
    Subsampled,
)
from zcdp.privacy.relation import Relation

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]


def both(*pairs: Pair) -> Pair:
    """Independent outcomes of all of them."""
    p = q = np.ones(1)
    for a, b in pairs:
        p, q = np.multiply.outer(p, a).ravel(), np.multiply.outer(q, b).ravel()
    return p, q


def response(epsilon: float, k: int = 2) -> Pair:
    row = np.ones(k)
    row[0] = exp(epsilon)
    return row / row.sum(), np.roll(row, 1) / row.sum()


def geometric(t: float, move: int) -> Pair:
    """Two-sided geometric noise, what lies beyond both centres merged."""
    x = np.arange(move + 1.0)
    p = np.exp(-t * x)
    p[0] /= 1 - exp(-t)
    p[-1] /= 1 - exp(-t)
    if not move:
        p = np.ones(1)
    return p / p.sum(), p[::-1] / p.sum()


ONE: Pair = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
PAIR = LossPair(p=["0.5", "0.3", "0.2"], q=["0.3", "0.3", "0.4"])
SYMMETRIC: list[tuple[Any, Pair]] = [
    (PureDP(epsilon="0.7"), response(0.7)),
    (RandomizedResponse(epsilon=1, k=4), response(1, 4)),
    (2 * PureDP(epsilon="0.7"), both(response(0.7), response(0.7))),
    (PureDP(epsilon="0.7") + RandomizedResponse(epsilon=1, k=3), both(response(0.7), response(1, 3))),
    (DiscreteLaplace(epsilon=1, sensitivity=3), geometric(1 / 3, 3)),
    (DiscreteLaplace(epsilon=2, sensitivity=L0LInf(2, 2)), both(geometric(0.5, 2), geometric(0.5, 2))),
    (DiscreteLaplace(epsilon=1, sensitivity=L1LInf(3, 2)), both(geometric(1 / 3, 2), geometric(1 / 3, 1))),
]
OTHERS: list[tuple[Any, Pair]] = [(PAIR, ONE), (Channel([["0.5", "0.3", "0.2"], ["0.3", "0.3", "0.4"]]), ONE)]
RATES = ["0.01", "0.3", 1]


def mixed(pair: Pair, rate: float) -> list[Pair]:
    """With a record that is drawn at this rate, and without it, in either order and for either side of the base."""
    found = []
    for p, q in (pair, pair[::-1]):
        drawn = rate * p + (1 - rate) * q
        found += [(drawn, q), (q, drawn)]
    return found


def divergence(pair: Pair, order: float) -> float:
    p, q = pair
    if order == 1:
        return float((p * np.log(p / q)).sum())
    return log(float((p * (p / q) ** (order - 1)).sum())) / (order - 1)


def delta(pair: Pair, epsilon: float) -> float:
    return float(np.maximum(pair[0] - exp(epsilon) * pair[1], 0).sum())


def steepest(pairs: list[Pair]) -> float:
    return max(divergence(pair, 1 + s) / (1 + s) for pair in pairs for s in np.geomspace(1e-5, 300, 200))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("base", "pair"), SYMMETRIC + OTHERS, ids=lambda value: "" if isinstance(value, tuple) else repr(value)
)
def test_a_poisson_sample_claims_what_its_mixtures_have(base: Any, pair: Pair, rate: Any) -> None:
    sample, pairs = Subsampled(base, rate=rate), mixed(pair, float(rate))
    assert sample.relation is Relation.ADD_REMOVE
    for order in (1, 2, 9):
        truth = max(divergence(one, order) for one in pairs)
        assert truth <= sample.rdp(order) * (1 + 1e-9)
        if sample.is_tight:
            assert sample.rdp(order) <= truth * (1 + 1e-6)
    lower, upper = sample.rho_bounds
    truth = steepest(pairs)
    assert lower * (1 - 1e-3) <= truth <= upper * (1 + 1e-9)
    assert upper == sample.rho <= base.rho * (1 + 1e-12)
    assert truth <= sample.rho_fraction * (1 + 1e-9)  # what a budget is charged
    if sample.is_tight:
        assert upper == pytest.approx(truth, rel=1e-3)
    single = isinstance(base, PureDP | RandomizedResponse) or (base, rate) == (PAIR, 1)
    assert sample.is_tight == base.is_tight or not single
    largest = max(float(np.log(p / q).max()) for p, q in pairs)
    assert sample.pure_epsilon == pytest.approx(largest, rel=1e-9)
    for epsilon in (0.0, 0.05, 0.4):
        told = max(delta(one, epsilon) for one in pairs)
        least, most = sample.delta_bounds(epsilon=epsilon)
        assert least - 1e-12 <= told <= most + 1e-12
        assert most <= told + 1e-9


@pytest.mark.parametrize(("size", "of"), [(1, 5), (3, 4), (2, 2)])
@pytest.mark.parametrize(
    ("base", "pair"), SYMMETRIC + OTHERS, ids=lambda value: "" if isinstance(value, tuple) else repr(value)
)
def test_a_sample_of_a_fixed_size_costs_no_less_than_any_replacement(base: Any, pair: Pair, size: int, of: int) -> None:
    """What the others say is either side of the base, or the mean: a record of one side becomes one of the other."""
    sample, rate = Subsampled(base, size=size, of=of), size / of
    assert sample.relation is Relation.REPLACE
    rests = [pair[0], pair[1], (pair[0] + pair[1]) / 2]
    pairs = [
        ((1 - rate) * rest + rate * p, (1 - rate) * rest + rate * q)
        for rest, (p, q) in product(rests, (pair, pair[::-1]))
    ]
    for order in (1, 2, 9):
        assert max(divergence(one, order) for one in pairs) <= sample.rdp(order) * (1 + 1e-9)
    truth = steepest(pairs)
    assert truth <= sample.rho * (1 + 1e-9) <= base.rho * (1 + 1e-8)
    assert sample.rho_bounds[0] <= truth * (1 + 1e-3)
    assert sample.rho_bounds[1] == sample.rho
    assert not (sample.is_tight and rate < 1)
    assert sample.pure_epsilon == pytest.approx(max(float(np.log(p / q).max()) for p, q in pairs), rel=1e-9)
    for epsilon in (0.0, 0.05, 0.4):
        told = max(delta(one, epsilon) for one in pairs)
        least, most = sample.delta_bounds(epsilon=epsilon)
        assert least - 1e-12 <= told <= most + 1e-12


def test_a_plan_of_one_part_is_sampled_as_that_part_and_no_other_plan_is() -> None:
    one = PureDP(epsilon="0.7")
    assert Subsampled(Plan.sum_of(one), rate="0.1") == Subsampled(one, rate="0.1")
    costs = [Subsampled(plan, rate="0.1").pure_epsilon for plan in (one, 2 * one, 3 * one, one + PAIR)]
    wanted = [log(1 + 0.1 * (exp(loss) - 1)) for loss in (0.7, 1.4, 2.1, 0.7 + log(2))]
    assert costs == pytest.approx(wanted, rel=1e-12)


def test_a_sample_of_what_gives_the_input_away_gives_it_away_less_often() -> None:
    base = LossPair(p=["0.9", "0.1", 0], q=["0.9", 0, "0.1"])
    for sample in (Subsampled(base, rate="0.2"), Subsampled(base, size=1, of=5)):
        assert sample.rho == sample.pure_epsilon == inf
        lower, upper = sample.delta_bounds(epsilon=3)
        assert lower <= 0.2 * 0.1 <= upper + 1e-15
        assert upper <= 0.02 + 1e-9


THREE = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.25, 0.25, 0.5]])
LOCAL: list[tuple[Any, Floats]] = [
    (RandomizedResponse(epsilon=2, k=3), (np.ones((3, 3)) + (exp(2) - 1) * np.eye(3)) / (exp(2) + 2)),
    (RandomizedResponse(epsilon=1, k=5), (np.ones((5, 5)) + (exp(1) - 1) * np.eye(5)) / (exp(1) + 4)),
    (Channel([["0.5", "0.3", "0.2"], ["0.3", "0.4", "0.3"], ["0.25", "0.25", "0.5"]]), THREE),
]


@pytest.mark.parametrize(("size", "of"), [(1, 10), (1, 3), (2, 3)])
@pytest.mark.parametrize(
    ("base", "rows"), LOCAL, ids=lambda value: "" if isinstance(value, np.ndarray) else repr(value)
)
def test_others_that_hold_a_third_value_tell_more_than_those_that_hold_one_of_the_two(
    base: Any, rows: Floats, size: int, of: int
) -> None:
    """One report of whoever is drawn: the record counts at this rate, else the others' value, which may be any."""
    sample, rate = Subsampled(base, size=size, of=of), size / of
    every = list(product(range(len(rows)), repeat=3))
    pairs = [
        ((1 - rate) * rows[z] + rate * rows[x], (1 - rate) * rows[z] + rate * rows[y]) for x, y, z in every if x != y
    ]
    for order in (1, 2, 9):
        assert max(divergence(one, order) for one in pairs) <= sample.rdp(order) * (1 + 1e-9)
    assert steepest(pairs[:12]) <= sample.rho * (1 + 1e-9)
    for epsilon in (0.0, 0.1, 0.4):
        assert max(delta(one, epsilon) for one in pairs) <= sample.delta_at(epsilon=epsilon) + 1e-12
    if isinstance(base, RandomizedResponse):
        apart = [
            one for (x, y, z), one in zip([e for e in every if e[0] != e[1]], pairs, strict=True) if z not in (x, y)
        ]
        together = [one for one in pairs if not any(one is other for other in apart)]
        assert max(divergence(one, 1) for one in apart) > max(divergence(one, 1) for one in together)


def test_what_is_stated_for_other_neighbours_is_not_sampled() -> None:
    replaced, removed = Subsampled(PAIR, size=1, of=3), Subsampled(PAIR, rate="0.5")
    with pytest.raises(ValueError, match="do not compose"):
        Subsampled(removed, size=2, of=4)
    with pytest.raises(ValueError, match="do not compose"):
        Subsampled(LossPair(p=["0.5", "0.5"], q=["0.2", "0.8"], ordered=True), size=2, of=4)
    with pytest.raises(ValueError, match="cannot run on a Poisson sample"):
        Subsampled(replaced, rate="0.5")
    with pytest.raises(ValueError, match=r"of \(3\) .* must be size \(2\)"):
        Subsampled(replaced, size=2, of=4)
    assert Subsampled(replaced, size=3, of=9).relation is Relation.REPLACE
