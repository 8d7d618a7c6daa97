"""No reported number is below what true neighbours tell, no lower end above it: over the whole table."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from neighbours import laws, noise
from neighbours.case import Case, Row
from neighbours.checks import Tally
from neighbours.law import Pair
from neighbours.moves import squares
from neighbours.table import ROWS
from neighbours.truth import Truth
from zcdp import (
    L2,
    Channel,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Shuffled,
    Subsampled,
    TruncatedGeometric,
)

Law = Callable[..., None]

SHALLOW = [row for row in ROWS if not row.deep]
EVERY = pytest.mark.parametrize("row", SHALLOW, ids=[row.name for row in SHALLOW])
LEAST: dict[Law, int] = {laws.one: 36, laws.group: 36, laws.mixed: 18, laws.adapted: 2}  # comparisons under one seed
VARIED = {Channel, DiscreteLaplace, TruncatedGeometric}  # two cases do not show all that can be wrong with these
QUICK = {  # seeds of several kinds that are quick, where the first takes seconds
    "BinaryRandomizedResponse-none": 1,
    "BoundedRange-none": 5,
    "DiscreteGaussian-L0LInf": 2,
    "DiscreteLaplace-L0LInf": 1,
    "DiscreteLaplace-L2": 3,
    "DiscreteLaplace-scalar": 1,
    "Gaussian-L1LInf": 1,
    "HadamardResponse-none": 2,
    "HadamardResponse-none-blocks": 3,
    "LinearHashing-none": 1,
    "LocalHashing-none": 2,
    "LocalHashing-none-random": 1,
    "LossPair-none": 2,
    "LossPair-none-steps": 4,
    "MemoizedRAPPOR-none": 2,
    "MixtureOfGaussians-none-ordered sums": 3,
    "PureDP-none": 1,
    "PureDP-none-total variation": 1,
    "PureGroup-none-add_remove": 1,
    "ReportNoisyMax-none-exponential": 1,
    "Shuffled-none": 4,
    "SparseVector-none": 2,
    "SparseVector-none-monotone": 1,
    "Subsampled-none-fixed size integers": 1,
    "Subsampled-none-ordered": 3,
    "Subsampled-none-ordered sums": 1,
    "TruncatedSample-none-ordered sums": 2,
}
QUICK_GAMES = {  # and of adversaries that adapt
    "DiscreteGaussian-L0LInf": 2,
    "DiscreteLaplace-L2": 1,
    "Logistic-scalar": 1,
    "Subsampled-none-fixed size integers": 1,
    "Subsampled-none-ordered": 1,
    "TopK-none-exponential": 1,
    "TopK-none-gumbel": 2,
    "TruncatedSample-none-ordered sums": 2,
}
QUICK_GROUPS = {
    "AsymmetricLaplace-scalar": 1,
    "GeneralizedGaussian-scalar-no end": 1,
    "MixtureOfGaussians-none-ordered sums": 2,
}
DEEP: dict[Law, range] = {
    laws.one: range(100, 110),
    laws.group: range(100, 106),
    laws.mixed: range(100, 106),
    laws.adapted: range(100, 112),
}


def _run(law: Law, row: Row, seed: int, **options: object) -> None:
    """That enough was compared is part of the law; a group may be refused."""
    tally = Tally()
    law(row, seed, tally, **options)
    assert not tally.failures, "\n".join([f"{len(tally.failures)} of {tally.checks}", *tally.failures[:20]])
    assert tally.checks >= (0 if tally.refused else LEAST[law]), tally


def test_enough_is_compared() -> None:
    """Groups not counted, which may be refused."""
    once, deeper = (
        sum(LEAST[law] * times[law] * len(ROWS) for law in LEAST if law is not laws.group)
        for times in (dict.fromkeys(LEAST, 1), {law: len(seeds) for law, seeds in DEEP.items()})
    )
    assert once >= 500
    assert deeper >= 20_000


@EVERY
def test_one_mechanism_and_so_many_times(row: Row) -> None:
    """Where outcomes are finitely many, and composing is cheap, under two seeds, or four if cases differ much."""
    continuous = row.slow or row.mechanism in {Laplace, Gaussian, Logistic, Subsampled, Shuffled}
    for seed in range(1 if continuous else 4 if row.mechanism in VARIED else 2):
        _run(laws.one, row, seed, effort=2)


@EVERY
def test_groups(row: Row) -> None:
    _run(laws.group, row, QUICK_GROUPS.get(row.name, 0), effort=2)


@EVERY
def test_several_kinds(row: Row) -> None:
    _run(laws.mixed, row, QUICK.get(row.name, 0), effort=1)


@EVERY
def test_an_adversary_that_adapts(row: Row) -> None:
    _run(laws.adapted, row, QUICK_GAMES.get(row.name, 0))


@pytest.mark.parametrize(
    ("scale", "b", "delta"), [(1000, 100, "0.03"), (50, 5, "0.02"), (50, 5, "0.3"), (10, 2, "0.05")]
)
def test_one_far_move_may_tell_more_than_many_short_ones(scale: int, b: int, delta: str) -> None:
    mechanism = DiscreteLaplace(scale=scale, sensitivity=L2(b))
    moves = [(b,), *(squares(b * b) if b < 6 else ())]
    for count in (1, 10):
        reported = (count * mechanism).epsilon_at(delta=delta)
        for move in moves:
            pair = noise.moved(lambda far: noise.geometric(Fraction(1, scale), int(far)), move).power(count)
            assert pair.low.delta(reported, -1) <= float(delta), (move, count)


def test_ordered_parts_that_cost_most_in_different_orders() -> None:
    """They face the same way: the sum of what each costs at most is a bound, and attained by no neighbours."""
    p, q = ["0.01", "0.99"], ["2/3", "1/3"]
    plan = LossPair(p, q, ordered=True) + LossPair(q, p, ordered=True)
    pair = Pair.exactly([0.01, 0.99], [2 / 3, 1 / 3])
    cases = Case(plan.parts[0][0], [pair], ordered=True), Case(plan.parts[1][0], [pair.reversed()], ordered=True)
    true = Truth([(one, 1) for one in cases], Random(0), 0).rho(above=True)
    lower, upper = plan.rho_bounds
    assert lower <= true <= upper
    assert not plan.is_tight


@pytest.mark.deep
@pytest.mark.parametrize("law", DEEP, ids=lambda law: law.__name__)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_deeper(row: Row, law: Law) -> None:
    options = {laws.one: {"effort": 5, "routes": True}, laws.group: {"effort": 4}}
    options |= {laws.mixed: {"effort": 3, "slow": True}, laws.adapted: {"slow": True}}
    for seed in DEEP[law]:
        _run(law, row, seed, **options.get(law, {}))
