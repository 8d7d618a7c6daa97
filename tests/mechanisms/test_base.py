"""What all mechanisms share: groups by chains of neighbours, whose neighbours they are, calibration, equality."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mechanisms import explicit
from neighbours.selection import laplace_max, permute_and_flip

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
    Plan,
    PureDP,
    PureGroup,
    RandomizedResponse,
    ReportNoisyMax,
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


# Additive noise: curves from the densities themselves, vector queries by brute force over moves, groups, clamping.


def test_a_group_of_a_vector_bound_is_refused() -> None:
    for m in (Laplace(scale=1, sensitivity=L2(1)), DiscreteLaplace(scale=1, sensitivity=L0LInf(2, 1))):
        with pytest.raises(ValueError, match=r"sensitivity \(.*\) has no multiple for a group"):
            m.group(2)


def test_groups_of_the_others() -> None:
    assert Laplace(epsilon=1, sensitivity=2).group(3) == Laplace(epsilon=3)
    assert Laplace(epsilon=1).group(3).scale == 1
    assert DiscreteLaplace(epsilon=1, sensitivity=2).group(3) == DiscreteLaplace(epsilon=3, sensitivity=6)
    assert Gaussian(sigma=2).group(3).rho == 9 * Gaussian(sigma=2).rho
    assert DiscreteGaussian(sigma=2).group(3) == DiscreteGaussian(sigma=2, sensitivity=3)
    response = RandomizedResponse(epsilon=1, k=5)
    assert response.group(2) == response  # every two values are neighbours
    assert ExponentialMechanism(epsilon=1).group(3) == ExponentialMechanism(epsilon=3)
    assert ReportNoisyMax(epsilon=1, noise="gumbel").group(3) == ReportNoisyMax(epsilon=3, noise="gumbel")
    assert TruncatedGeometric(epsilon=1, n=5).group(2) == TruncatedGeometric(epsilon=2, n=5, sensitivity=2)
    assert Staircase(epsilon=1).group(2) == PureGroup(epsilon=2, size=2)
    assert PureGroup(epsilon=2, size=2).group(3) == PureGroup(epsilon=6, size=6)
    assert PureDP(epsilon=1).group(1).rho == pytest.approx(PureDP(epsilon=1).rho, rel=3e-16)


# What an audit is given are outputs of two neighbours that are far apart: their chances, each from its explicit law.


SIZE = 6000


E = exp(2)
Event = Callable[[Any], Any]
Expected = tuple[Event, float, float]


def is_(value: int) -> Event:
    return lambda outputs: outputs == value


def bit(place: int) -> Event:
    return lambda outputs: np.unpackbits(outputs, axis=1)[:, place] == 1


def bucket_zero(outputs: Any) -> Any:
    return outputs % 3 == 0


RESPONSE = zcdp.RandomizedResponse(epsilon=2, k=4)
KEEP = 1 / (1 + exp(-1))
CASES: list[tuple[Any, list[Expected]]] = [
    (RESPONSE, [(is_(0), E / (E + 3), 1 / (E + 3)), (is_(1), 1 / (E + 3), E / (E + 3))]),
    (zcdp.BinaryRandomizedResponse("0.8", "0.3"), [(is_(1), 0.8, 0.3)]),
    (zcdp.RAPPOR(epsilon=2), [(bit(0), KEEP, 1 - KEEP), (bit(1), 1 - KEEP, KEEP)]),
    (zcdp.UnaryEncoding("0.7", "0.2"), [(bit(0), 0.7, 0.2), (bit(1), 0.2, 0.7)]),
    (zcdp.OptimizedUnaryEncoding(epsilon=2), [(bit(0), 0.5, 1 / (E + 1)), (bit(1), 1 / (E + 1), 0.5)]),
    # sets of 2 out of 5: four hold a value, six do not; three hold the second and not the first
    (
        zcdp.SubsetSelection(epsilon=2, k=5, size=2),
        [(lambda sets: (sets == 0).any(axis=1), 4 * E / (4 * E + 6), (E + 3) / (4 * E + 6))],
    ),
    # rows 1 and 2 of four columns: the first favours the even ones, half of what the second favours
    (zcdp.HadamardResponse(epsilon=2), [(lambda y: y % 2 == 0, E / (E + 1), 0.5)]),
    # three blocks of four columns: the first value favours columns 0 and 2, the last two of the next block
    (
        zcdp.HadamardResponse(epsilon=2, blocks=3),
        [
            (lambda y: (y == 0) | (y == 2), 2 * E / (2 * E + 10), 2 / (2 * E + 10)),
            (lambda y: y // 4 == 1, 4 / (2 * E + 10), (2 * E + 2) / (2 * E + 10)),
        ],
    ),
    # value 0 is hashed to bucket 0 by every vector, value 1 by one of three
    (zcdp.LocalHashing(epsilon=2, g=3, random_hash=True), [(bucket_zero, E / (E + 2), 1 / 3)]),
    (zcdp.LinearHashing(epsilon=2, g=3, k=8), [(bucket_zero, E / (E + 2), 1 / 3)]),
    (zcdp.PermuteAndFlip(epsilon=2), [(is_(0), 0.5, permute_and_flip([1.0, -1.0], 1.0)[0])]),
    (zcdp.PermuteAndFlip(epsilon=2, monotone=True), [(is_(0), 0.5, permute_and_flip([1.0, 0.0], 2.0)[0])]),
    (
        zcdp.ReportNoisyMax(epsilon="0.5"),
        [(is_(0), laplace_max([0.0, 4.0], 0.25)[0], laplace_max([1.0, 3.0], 0.25)[0])],
    ),
    (
        zcdp.ReportNoisyMax(epsilon="0.5", monotone=True),
        [(is_(0), laplace_max([0.0, 4.0], 0.5)[0], laplace_max([1.0, 4.0], 0.5)[0])],
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(29))


def check(found: Any, chance: float) -> None:
    assert float(np.mean(found)) == pytest.approx(chance, abs=5 * sqrt(chance * (1 - chance) / SIZE))


@pytest.mark.parametrize(("mechanism", "events"), CASES, ids=lambda one: repr(one) if not isinstance(one, list) else "")
def test_both_outputs_have_the_laws_of_neighbours(mechanism: Any, events: list[Expected]) -> None:
    one, other = mechanism.neighbouring_outputs(SIZE)
    assert (len(one), len(other)) == (SIZE, SIZE)
    for event, first, second in events:
        check(event(one), first)
        check(event(other), second)


# What is said of groups, channels and truncated noise is true of the mechanism that is meant, from both sides.


def geometric_rows(ratio: Fraction, n: int) -> list[list[Fraction]]:
    return [explicit.normalised([ratio ** -abs(x - y) for y in range(n + 1)]) for x in range(n + 1)]


def test_one_pair_of_neighbours_bounds_a_group_by_its_largest_loss() -> None:
    rows = geometric_rows(Fraction(27183, 10000), 3)
    worst = max((LossPair(rows[x], rows[x + 1]) for x in range(3)), key=lambda pair: pair.rho)
    far = LossPair(rows[0], rows[3])
    group = worst.group(3)
    assert worst.rho < far.rho_bounds[0] <= group.rho
    assert far.delta_bounds(epsilon=1)[0] <= group.delta_at(epsilon=1)
    assert group.pure_epsilon == pytest.approx(3 * worst.pure_epsilon, rel=1e-15)
    assert worst.group(1) == worst


def test_an_unbounded_pair_has_no_group() -> None:
    with pytest.raises(ValueError, match="unbounded privacy loss: no group bound"):
        LossPair([1, 0], ["1/2", "1/2"]).group(2)
    same = LossPair(["1/2", "1/2"], ["1/2", "1/2"])
    assert same.group(5) == same


def test_a_group_keeps_the_neighbours_of_its_steps() -> None:
    """A guarantee for a person more or less says nothing of one who is replaced, of a group neither."""
    pair = LossPair(["1/2", "1/2"], ["1/4", "3/4"], ordered=True).group(2)
    assert repr(pair) == "PureGroup(epsilon='log(4)', size=2, neighbours='add_remove')"
    assert Plan.parse(repr(pair)) == Plan.from_json(Plan.sum_of(pair).to_json()) == Plan.sum_of(pair)
    for group in (pair, pair.group(3), PureGroup(epsilon=1, size=2, neighbours="add_remove")):
        with pytest.raises(ValueError, match="do not compose"):
            group + RandomizedResponse(epsilon=1, k=2)
        with pytest.raises(ValueError, match="do not compose"):
            Subsampled(group, size=1, of=2)
    for wrong in ("both", None):
        with pytest.raises((ValueError, TypeError), match="must be one of add_remove, replace, either"):
            PureGroup(epsilon=1, neighbours=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "size"), [("1/3", 3), ("0.01", 250), ("1e-5", 100_000)])
def test_of_a_group_nothing_is_known_from_below(epsilon: str, size: int) -> None:
    """What ignores its input is pure DP at every epsilon, and its delta is 0: so is every lower end, of any size."""
    group = PureGroup(epsilon=Fraction(epsilon) * size, size=size)
    for at in ("0", "0.25", "0.5"):
        assert group.delta_bounds(epsilon=at)[0] == 0
        assert (2 * group).delta_bounds(epsilon=at)[0] == 0
    assert group.epsilon_bounds(delta="1e-3")[0] == 0
    assert group.rho_bounds[0] == 0
