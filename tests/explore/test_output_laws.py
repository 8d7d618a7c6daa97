"""The laws that are drawn are the mechanisms': masses add up to 1, and their ratios are what is accounted."""

from __future__ import annotations

from math import exp, log

import pytest

from zcdp import (
    RAPPOR,
    BinaryRandomizedResponse,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Mechanism,
    RandomizedResponse,
    Staircase,
)
from zcdp.explore.output_laws import Bars, Lines, output_laws

NOISES = [
    Laplace(epsilon=1, sensitivity=2),
    DiscreteLaplace(scale=3),
    Logistic(scale=2),
    Gaussian(sigma=2),
    DiscreteGaussian(sigma=3, sensitivity=2),
    Staircase(epsilon=1, sensitivity=2),
]


@pytest.mark.parametrize("mechanism", NOISES, ids=repr)
def test_noise_has_all_of_its_mass_and_its_largest_loss(mechanism: Mechanism) -> None:
    laws = output_laws(mechanism)
    assert isinstance(laws, Lines)
    step = laws.places[1] - laws.places[0]
    for side in (laws.one, laws.other):
        assert sum(side) * step == pytest.approx(1, abs=0.02)
    losses = [abs(log(p / q)) for p, q in zip(laws.one, laws.other, strict=True)]
    if mechanism.pure_epsilon < 100:
        assert max(losses) == pytest.approx(mechanism.pure_epsilon, rel=0.12)
        assert max(losses) <= mechanism.pure_epsilon + 1e-9


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse(epsilon=1, k=5),
        RandomizedResponse(epsilon=1, k=2),
        BinaryRandomizedResponse("3/4", "1/4"),
        RAPPOR(epsilon=2),
        Channel([["1/2", "1/2"], ["1/4", "3/4"]]),
        LossPair(p=["1/2", "1/2"], q=["1/4", "3/4"]),
    ],
    ids=repr,
)
def test_few_outcomes_have_exact_masses(mechanism: Mechanism) -> None:
    laws = output_laws(mechanism)
    assert isinstance(laws, Bars)
    for side in (laws.one, laws.other):
        assert sum(side) == pytest.approx(1)
    advantage = sum(max(p - q, 0) for p, q in zip(laws.one, laws.other, strict=True))
    assert advantage == pytest.approx(mechanism.delta_at(epsilon=0))
    ratios = [p / q for p, q in zip(laws.one, laws.other, strict=True)]
    assert max(*ratios, 1 / min(ratios)) == pytest.approx(exp(mechanism.pure_epsilon))


def test_others_are_not_drawn() -> None:
    assert output_laws(ExponentialMechanism(epsilon=1)) is None
    assert output_laws(Staircase(epsilon=1)) is None
    assert output_laws(Channel([[1 / 16] * 16, [1 / 16] * 16])) is None
