"""What all mechanisms share: groups by chains of neighbours, whose neighbours they are, calibration, equality."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from math import exp, inf, log
from typing import Any

import pytest

import zcdp
from zcdp import (
    L1,
    L2,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Logistic,
    LossPair,
    PureDP,
    PureGroup,
    RandomizedResponse,
    Shuffled,
    Staircase,
    Subsampled,
    TruncatedGeometric,
)
from zcdp.privacy.relation import Relation

THIRDS, HALVES = ["1/3", "2/3"], ["1/2", "1/2"]
SOME: list[Any] = [
    Laplace(epsilon="0.5", sensitivity=2),
    Logistic(epsilon=Log(3)),
    DiscreteLaplace(epsilon=1, sensitivity=2),
    Gaussian(sigma=3, sensitivity="sqrt(2)"),
    DiscreteGaussian(sigma=3, sensitivity=L1(2)),
    Staircase(epsilon=1, gamma="0.2"),
    DiscreteStaircase(epsilon=1, sensitivity=4, r=2),
    TruncatedGeometric(epsilon=1, n=6, sensitivity=2),
    PureDP(epsilon=1),
    PureDP(epsilon=1, total_variation="0.2"),
    BoundedRange(eta=1),
    ExponentialMechanism(epsilon=1, monotone=True),
    LossPair(p=THIRDS, q=HALVES),
    LossPair(p=THIRDS, q=HALVES, ordered=True),
    PureGroup(epsilon=2, size=3, neighbours="replace"),
]


@pytest.mark.parametrize("mechanism", SOME, ids=repr)
def test_a_group_of_one_is_one_and_larger_groups_cost_more(mechanism: Any) -> None:
    one, two, three = (mechanism.group(size) for size in (1, 2, 3))
    assert one.rho == pytest.approx(mechanism.rho, rel=1e-12)
    assert one.rdp(3) == pytest.approx(mechanism.rdp(3), rel=1e-12)
    assert mechanism.rho < two.rho < three.rho
    assert mechanism.rdp(3) < two.rdp(3) < three.rdp(3)
    if mechanism.pure_epsilon < inf:
        assert mechanism.pure_epsilon < two.pure_epsilon < three.pure_epsilon
        assert three.pure_epsilon <= 3 * mechanism.pure_epsilon * (1 + 1e-12)  # one step after another
    assert one.relation is two.relation is three.relation is mechanism.relation
    for size in (0, -1, 1.5, "2.5"):
        with pytest.raises(ValueError, match=r"size \(.*\) must be"):
            mechanism.group(size)


@pytest.mark.parametrize("mechanism", [m for m in SOME if not isinstance(m, ExponentialMechanism)], ids=repr)
def test_two_groups_after_each_other_are_one_group(mechanism: Any) -> None:
    """Three times two steps are six."""
    twice, at_once = mechanism.group(2).group(3), mechanism.group(6)
    assert twice.rho == pytest.approx(at_once.rho, rel=1e-12)
    assert twice.rdp(2) == pytest.approx(at_once.rdp(2), rel=1e-12)
    assert twice.relation is at_once.relation


@pytest.mark.parametrize("size", [2, 5])
def test_the_group_of_a_pair_covers_every_chain_of_such_steps(size: int) -> None:
    """From 1/3 : 2/3 in each of several independent answers, of which all change one after another, to 1/2 : 1/2."""
    pair = LossPair(p=THIRDS, q=HALVES)
    p, q = (Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 2), Fraction(1, 2))
    far = pair.group(size)
    for order in (2, 4):
        one = sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, q, strict=True))
        assert size * log(one) / (order - 1) <= far.rdp(order)
    assert far.pure_epsilon == pytest.approx(size * log(1.5), rel=1e-14)
    assert far.epsilon == Log(Fraction(3, 2) ** size)


def test_what_tells_nothing_tells_nothing_of_a_group() -> None:
    same = LossPair(p=HALVES, q=HALVES)
    assert same.group(4).rho == same.group(4).pure_epsilon == 0


def test_every_two_inputs_of_a_local_randomizer_are_neighbours() -> None:
    for local in (RandomizedResponse(epsilon=1, k=5), Channel([THIRDS, HALVES, ["1/4", "3/4"]])):
        assert local.group(7) == local
        assert local.relation is Relation.REPLACE
    for central in (Laplace(epsilon=1), PureDP(epsilon=1), LossPair(p=THIRDS, q=HALVES), Gaussian(sigma=1)):
        assert central.relation is Relation.EITHER


@pytest.mark.parametrize(
    "mechanism",
    [
        Subsampled(Laplace(epsilon=1), rate="0.1"),
        Subsampled(Laplace(epsilon=1), size=1, of=10),
        Shuffled(RandomizedResponse(epsilon=1, k=3), clients=100),
        LossPair(p=[1, 0], q=HALVES),
        Laplace(scale=1, sensitivity=L0LInf(2, 1)),
        Logistic(scale=1, sensitivity=L2(1)),
        DiscreteLaplace(scale=1, sensitivity=L1LInf(5, 2)),
        DiscreteLaplace(scale=1, sensitivity=L2(1)),
        DiscreteGaussian(sigma=1, sensitivity=L0LInf(2, 1)),
        TruncatedGeometric(epsilon=Log(2), n=5),
    ],
    ids=repr,
)
def test_groups_of_which_nothing_is_known_are_refused(mechanism: Any) -> None:
    with pytest.raises(ValueError, match="group"):
        mechanism.group(2)


@pytest.mark.parametrize("bound", [2, L1(2), L0LInf(3, 2), L1LInf(7, 3), L2("2.5"), L2("sqrt(7)")], ids=repr)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_group_meets_the_same_noise_and_moves_that_add_up(bound: Any, size: int) -> None:
    """By the triangle inequality the length is at most so many times that of one; rho grows with its square."""
    m = Gaussian(sigma=3, sensitivity=bound)
    far = m.group(size)
    assert far.variance == m.variance == 9
    assert far.rho_fraction == size**2 * m.rho_fraction
    longest = far.sensitivity.square() if isinstance(far.sensitivity, zcdp.Sensitivity) else far.sensitivity**2
    shortest = m.sensitivity.square() if isinstance(m.sensitivity, zcdp.Sensitivity) else m.sensitivity**2
    assert longest == size**2 * shortest
    assert far.rho_fraction == longest / 18


@pytest.mark.parametrize("bound", [2, L1(2), L1LInf(5, 2)], ids=repr)
def test_a_group_of_integer_answers_meets_the_same_noise(bound: Any) -> None:
    m = DiscreteGaussian(sigma=3, sensitivity=bound)
    for size in (1, 2, 3):
        assert m.group(size).variance == 9
        assert m.group(size).rho_fraction == size**2 * m.rho_fraction


@pytest.mark.parametrize("kind", [Laplace, Logistic])
@pytest.mark.parametrize("bound", ["2.5", L1("2.5"), L0LInf(1, "2.5"), L1LInf("2.5", 3)], ids=repr)
def test_a_group_of_one_coordinate_keeps_the_scale(kind: Any, bound: Any) -> None:
    far = kind(epsilon="0.5", sensitivity=bound).group(3)
    assert far.scale == 5
    assert far.epsilon == Fraction(3, 2)


def test_noise_of_another_width_is_another_mechanism_though_rho_is_the_same() -> None:
    """On the integers the law of the loss depends on both; for real noise only on their ratio."""
    narrow, wide = DiscreteGaussian(sigma="0.4"), DiscreteGaussian(sigma="0.8", sensitivity=2)
    assert narrow.rho == wide.rho
    assert narrow != wide
    assert narrow.rdp("1.5") != wide.rdp("1.5")
    assert len((narrow + wide).parts) == 2
    assert DiscreteLaplace(epsilon=1) != DiscreteLaplace(epsilon=1, sensitivity=2)
    assert len((DiscreteLaplace(epsilon=1) + DiscreteLaplace(epsilon=1, sensitivity=2)).parts) == 2
    assert Gaussian(sigma="0.4") == Gaussian(sigma="0.8", sensitivity=2)
    assert Laplace(epsilon=1) == Laplace(epsilon=1, sensitivity=2) != Logistic(epsilon=1)


@pytest.mark.parametrize("mechanism", SOME, ids=repr)
def test_what_is_pasted_copied_or_pickled_costs_the_same(mechanism: Any) -> None:
    before = mechanism.rho
    for twin in (
        eval(repr(mechanism), vars(zcdp)),
        copy.copy(mechanism),
        copy.deepcopy(mechanism),
        pickle.loads(pickle.dumps(mechanism)),
    ):
        assert twin == mechanism
        assert hash(twin) == hash(mechanism)
        assert (twin.rho, repr(twin), twin.relation) == (before, repr(mechanism), mechanism.relation)
        assert getattr(twin, "sensitivity", None) == getattr(mechanism, "sensitivity", None)


@pytest.mark.parametrize(
    ("kind", "fixed", "cost"),
    [
        (Laplace, {"sensitivity": 3}, lambda e: e + exp(-e) - 1),
        (Logistic, {}, lambda e: e * (1 + exp(-e)) / (1 - exp(-e)) - 2),
        (PureDP, {}, lambda e: e * (exp(e) - 1) / (exp(e) + 1)),
        (BoundedRange, {}, lambda e: e / (exp(e) - 1) + log((exp(e) - 1) / e) - 1),
    ],
)
@pytest.mark.parametrize("rho", ["0.01", 0.5, 3])
def test_calibration_fills_the_budget_and_no_more(kind: Any, fixed: dict[str, Any], cost: Any, rho: object) -> None:
    found = kind.calibrate(rho=rho, **fixed)
    assert found.rho <= Fraction(rho)  # type: ignore[arg-type]
    assert cost(float(getattr(found, kind.budget))) == pytest.approx(float(Fraction(rho)), rel=1e-9)  # type: ignore[arg-type]
    for name, value in fixed.items():
        assert getattr(found, name) == value


@pytest.mark.parametrize("name", ["epsilon", "scale"])
def test_what_calibration_finds_cannot_be_given(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} \(1\) is what calibrate finds"):
        Laplace.calibrate(rho=1, **{name: 1})
    with pytest.raises(TypeError, match="has no one parameter to calibrate"):
        TruncatedGeometric.calibrate(rho=1, n=3)


def test_coordinates_are_charged_one_by_one_in_what_is_usual() -> None:
    """Of 20 cells each moves by 1 of 20: epsilon 2 is 20 times 0.1; of 7 by at most 3 there are 3, 3 and 1."""
    assert Laplace(epsilon=2, sensitivity=L0LInf(20, 1)).usual_losses() == ((20, pytest.approx(0.1)),)
    found = DiscreteLaplace(epsilon=7, sensitivity=L1LInf(7, 3)).usual_losses()
    assert found == ((2, pytest.approx(3)), (1, pytest.approx(1)))
    assert Laplace(epsilon=2).usual_losses() == PureDP(epsilon=2).usual_losses() == ((1, 2.0),)
    assert [m.usual_divisor() for m in (Laplace(epsilon=1), PureDP(epsilon=1), BoundedRange(eta=1))] == [2, 2, 8]
