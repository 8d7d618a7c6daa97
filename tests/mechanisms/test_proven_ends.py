"""What is said of groups, channels and truncated noise is true of the mechanism that is meant, from both sides."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import numpy as np
import pytest
from mechanisms import explicit

from zcdp import (
    Channel,
    DiscreteLaplace,
    DiscreteStaircase,
    Log,
    LossPair,
    Mechanism,
    Plan,
    PureDP,
    PureGroup,
    RandomizedResponse,
    SparseVector,
    Staircase,
    Subsampled,
    TruncatedGeometric,
)

TENTHS = ["1/10"] * 10


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


def staircase(epsilon: float, sensitivity: int, r: int, shift: int, reach: int = 400) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(-reach, reach + 1)

    def mass(i: np.ndarray) -> np.ndarray:
        steps = np.abs(i) // sensitivity + (np.abs(i) % sensitivity >= r)
        return np.exp(-epsilon * steps)

    p, q = mass(x), mass(x - shift)
    return p / p.sum(), q / p.sum()


@pytest.mark.parametrize(("sensitivity", "r"), [(1, 1), (4, 2), (5, 1)])
def test_the_group_of_a_staircase_is_between_its_ends(sensitivity: int, r: int) -> None:
    m = DiscreteStaircase(epsilon=1, sensitivity=sensitivity, r=r).group(2)
    laws = [staircase(1.0, sensitivity, r, shift) for shift in range(1, 2 * sensitivity + 1)]
    truth = max(float(p @ np.log(p / q)) for p, q in laws)
    assert m.rho_bounds[0] <= truth <= m.rho * (1 + 1e-9)
    assert not m.is_tight
    for epsilon in (0.0, 0.5, 1.5):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        worst = max(float(np.maximum(p - exp(epsilon) * q, 0).sum()) for p, q in laws)
        assert lower <= worst + 1e-12
        assert worst <= upper + 1e-12


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


@pytest.mark.parametrize("order", [1, 2, 50, 1e9, inf])
def test_no_divergence_of_a_sparse_vector_exceeds_its_largest_loss(order: float) -> None:
    m = SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=30)
    assert (1 * m).rdp(order) <= m.pure_epsilon == 2
    assert (3 * m).rdp(order) <= 6


@pytest.mark.parametrize("wrong", [1e-9, -1e-9, 1e-12, 4e-15])
def test_rows_that_floats_do_not_explain_are_refused(wrong: float) -> None:
    with pytest.raises(
        ValueError, match=r"rows\[0\] must sum to 1, not .*, which is off by .*more than floats explain"
    ):
        Channel([[0.5, 0.5 + wrong], [0.4, 0.6]])


def test_rows_that_floats_explain_are_taken_as_their_quotient_by_the_sum() -> None:
    weights = np.exp(np.linspace(-3, 2, 1001))
    rows = [weights / weights.sum(), np.full(1001, 1 / 1001)]
    assert Channel(rows).rho < inf
    assert Channel([[0.1] * 10, TENTHS]).rho == 0
    for off in ("0.1000000000000000001", Fraction(1, 10) + Fraction(1, 10**30)):
        with pytest.raises(ValueError, match="exact rows may not be off at all"):
            Channel([[*TENTHS[:9], off], TENTHS])


@pytest.mark.parametrize(("n", "sensitivity"), [(12, 1), (12, 4), (25, 7), (9, 9)])
@pytest.mark.parametrize("t", [Fraction(1, 100), Fraction(1, 4), Fraction(2)], ids=str)
def test_no_pair_of_inputs_exceeds_truncated_noise(n: int, sensitivity: int, t: Fraction) -> None:
    """All pairs, nearer ones too, in both directions: from the masses."""
    m = TruncatedGeometric(epsilon=t * sensitivity, n=n, sensitivity=sensitivity)
    y = np.arange(n + 1)
    rows = [np.exp(-float(t) * np.abs(x - y)) for x in y]
    rows = [row / row.sum() for row in rows]
    near = [(p, q) for x, p in enumerate(rows) for z, q in enumerate(rows) if 0 < abs(x - z) <= sensitivity]
    for order in (1, 1.5, 4, 30):
        s = order - 1
        divergences = [
            float(p @ np.log(p / q)) if s == 0 else float(np.log(p @ np.exp(s * np.log(p / q)))) / s for p, q in near
        ]
        assert m.rdp(order) == pytest.approx(max(divergences), rel=1e-10)
        assert max(divergences) / order <= m.rho * (1 + 1e-10)
    assert m.pure_epsilon == pytest.approx(max(float(np.log(p / q).max()) for p, q in near), rel=1e-12)


@pytest.mark.parametrize("t", [Fraction(1, 2), Fraction(3)], ids=str)
def test_far_from_both_ends_the_length_does_not_matter(t: Fraction) -> None:
    """Cut off at 10^9 or at 500 makes a difference of e^-250."""
    long, short = (TruncatedGeometric(epsilon=t, n=n) for n in (10**9, 500))
    assert long.rho == pytest.approx(short.rho, rel=3e-10)
    assert long.rdp(3) == pytest.approx(short.rdp(3), rel=1e-15)
    assert long.pure_epsilon == pytest.approx(short.pure_epsilon, rel=1e-15)


@pytest.mark.parametrize(("n", "sensitivity"), [(300, 300), (300, 150), (10**9, 10**9)])
def test_large_truncated_noise_is_answered(n: int, sensitivity: int) -> None:
    m = TruncatedGeometric(epsilon=1, n=n, sensitivity=sensitivity)
    assert 0.1 < m.rho_bounds[0] <= m.rho < 0.5
    assert 1 <= m.pure_epsilon < 2


@pytest.mark.parametrize(
    ("epsilon", "n", "sensitivity"),
    [("0.001", 5000, 1), (1, 10**9, 10**6), ("1e-300", 10**400, 10), (Log(Fraction(3, 2)), 10**9, 400)],
)
def test_truncated_noise_beyond_the_limit_is_refused(epsilon: object, n: int, sensitivity: int) -> None:
    with pytest.raises(ValueError, match=r"n \(10*|5000\) gives more than 2000 different pairs of inputs"):
        TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=sensitivity)


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
