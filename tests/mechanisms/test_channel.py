"""Channels and pairs given by their probabilities, against every ordered pair of rows, and what they draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, permutations, product, repeat
from math import exp, inf, log
from random import Random
from typing import Any

import numpy as np
import pytest

from zcdp import Channel, Log, LossPair
from zcdp.privacy.relation import Relation

Row = tuple[Fraction, ...]
TENTHS = [
    tuple(Fraction(n, 10) for n in row) for row in ((1, 2, 2, 2, 3), (3, 2, 2, 2, 1), (1, 1, 2, 3, 3), (3, 3, 2, 1, 1))
]


def moment(p: Row, q: Row, order: float) -> float:
    if any(a and not b for a, b in zip(p, q, strict=True)):
        return inf
    return sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, q, strict=True) if a)


def divergence(p: Row, q: Row, order: float) -> float:
    if order == 1:
        return sum(float(a) * log(a / b) for a, b in zip(p, q, strict=True) if a)
    return log(moment(p, q, order)) / (order - 1)


def drawn(seed: int) -> list[Row]:
    """Rows of few different entries, some of them one another's permutations, some twice, one column without mass."""
    rng = Random(seed)
    rows: list[Row] = []
    for _ in range(rng.randint(2, 5)):
        if rows and rng.random() < 0.5:
            row = rng.choice(list(permutations(rng.choice(rows)[:3])))
        else:
            weights = [rng.randint(1, 4) for _ in range(3)]
            row = tuple(Fraction(weight, sum(weights)) for weight in weights)
        rows.append((*row, Fraction(0)))
    return rows


CASES = [TENTHS, TENTHS[::-1], *map(drawn, range(12))]


@pytest.mark.parametrize("rows", CASES, ids=range(len(CASES)))
def test_the_cost_is_that_of_the_worst_ordered_pair_of_rows(rows: list[Row]) -> None:
    m = Channel(rows)
    pairs = [(i, j) for i, j in product(range(len(rows)), repeat=2) if rows[i] != rows[j]]
    for order in (1, 1.5, 2, 8):
        truth = max((divergence(rows[i], rows[j], order) for i, j in pairs), default=0)
        assert m.rdp(order) == pytest.approx(truth, rel=1e-12)
        assert truth / order <= m.rho * (1 + 1e-12)
    ratios = [a / b for i, j in pairs for a, b in zip(rows[i], rows[j], strict=True) if b]
    assert m.largest_loss == (Log(max(ratios)) if ratios else 0)
    for epsilon in (0.0, 0.2, 0.9):
        truth = max(
            (
                sum(max(float(a) - exp(epsilon) * float(b), 0) for a, b in zip(rows[i], rows[j], strict=True))
                for i, j in pairs
            ),
            default=0,
        )
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert lower - 1e-12 <= truth <= upper + 1e-12
        assert upper <= truth + 1e-9
    if pairs:
        i, j = m.worst_pair
        orders = 1 + np.geomspace(1e-6, 200, 80)
        steepest = {(a, b): max(divergence(rows[a], rows[b], order) / order for order in orders) for a, b in pairs}
        assert steepest[i, j] == pytest.approx(max(steepest.values()), rel=1e-3)
        assert steepest[i, j] == pytest.approx(m.rho, rel=1e-3)


def test_the_worst_pair_names_the_law_and_then_its_neighbour() -> None:
    """A rare outcome that is likelier on the second input: the loss of it is the larger one."""
    rows = [["0.99", "0.01"], ["0.8", "0.2"]]
    assert Channel(rows).worst_pair == (1, 0)
    assert Channel(rows[::-1]).worst_pair == (0, 1)
    assert LossPair(p=rows[0], q=rows[1]).worst_pair == (1, 0)
    assert Channel([["0.9", "0.1", 0], ["0.5", "0.4", "0.1"]]).worst_pair == (1, 0)
    assert Channel([["0.5", "0.4", "0.1"], ["0.9", "0.1", 0]]).worst_pair == (0, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["1/3", "1/3", "1/3", "1e-12"], "must sum to 1"),
        ([Fraction(1, 3), Fraction(2, 3) - Fraction(1, 10**30)], "must sum to 1"),
        ([0.5, 0.5 + 1e-14], "more than floats explain"),
        ([0.25, 0.75 - 1e-14], "more than floats explain"),
        ([1.5, -0.5], "must not be negative"),
        (["5/4", "-1/4"], "must not be negative"),
        ([1 + 1e-17, -1e-17], "must not be negative"),
    ],
)
def test_rows_that_are_no_laws_are_refused(row: list[Any], message: str) -> None:
    other = [1] + [0] * (len(row) - 1)
    for make in (lambda: Channel([other, row]), lambda: Channel([row, other]), lambda: LossPair(p=row, q=other)):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match="same length"):
        Channel([other, [*other, 0]])
    with pytest.raises(ValueError, match="same length"):
        LossPair(p=other, q=[*other, 0])


def test_rows_of_floats_stand_for_themselves_divided_by_their_sum() -> None:
    tenths = [0.1] * 10  # of which the exact sum is 1 + 2^-54 * 10/..., not 1
    other = [0.05] * 5 + [0.15] * 5
    p, q = ([Fraction(x) / sum(map(Fraction, row)) for x in row] for row in (tenths, other))
    assert sum(map(Fraction, tenths)) != 1
    assert Channel([tenths, other]).largest_loss == Log(
        max(a / b for a, b in (*zip(p, q, strict=True), *zip(q, p, strict=True)))
    )
    assert LossPair(p=tenths, q=other).rho == LossPair(p=p, q=q).rho


@pytest.mark.parametrize("ordered", [False, True])
def test_an_ordered_pair_is_one_of_a_record_more_or_less(ordered: bool) -> None:
    pair = LossPair(p=["0.9", "0.1"], q=["0.5", "0.5"], ordered=ordered)
    assert pair.relation is (Relation.ADD_REMOVE if ordered else Relation.EITHER)
    forward = [(0.9, 0.5), (0.1, 0.5)]
    back = [(q, p) for p, q in forward]
    for epsilon in (0.1, 0.5, 1.0):

        def told(way: list[tuple[float, float]], left: tuple[float, float], epsilon: float = epsilon) -> float:
            return sum(max(left[0] * p - exp(epsilon) * left[1] * q, 0) for p, q in way)

        if ordered:
            truth = max(sum(told(way, first) for first in way) for way in (forward, back))
        else:  # which way the second use goes may depend on what the first one said
            truth = max(sum(max(told(forward, first), told(back, first)) for first in way) for way in (forward, back))
        lower, upper = (2 * pair).delta_bounds(epsilon=epsilon)
        assert lower - 1e-12 <= truth <= upper + 1e-12
        assert upper <= truth + 1e-9
    same = LossPair(p=["0.5", "0.5"], q=["0.5", "0.5"], ordered=ordered)
    assert (3 * same).epsilon_at(delta="1e-6") == 0


def test_each_input_is_answered_from_its_own_row() -> None:
    """Rows of one sure outcome: a permutation of five, with a column that nobody uses."""
    sure = [3, 0, 5, 1, 4]
    channel = Channel([[int(y == out) for y in range(6)] for out in sure])
    values = np.array([[4, 1, 0], [2, 3, 3]])
    assert channel.release(values).tolist() == [[4, 0, 3], [5, 1, 1]]
    assert [channel.release(x) for x in range(5)] == sure
    for bad in (-1, 5, [0, 5]):
        with pytest.raises(ValueError, match="must lie in 0"):
            channel.release(bad)


def test_reports_are_independent_and_of_the_law_of_their_row() -> None:
    """Within seven standard deviations: of the shares, and of how often two reports that follow are alike."""
    rows = [[0.25, 0.75, 0], [0.1, 0.3, 0.6]]
    values = np.repeat([0, 1], 20_000)
    out = Channel([["1/4", "3/4", 0], ["0.1", "0.3", "0.6"]]).release(values)
    for x, law in enumerate(rows):
        mine = out[values == x]
        shares = np.bincount(mine, minlength=3) / mine.size
        assert np.abs(shares - law).max() < 0.025
        assert abs((mine[1:] == mine[:-1]).mean() - sum(p * p for p in law)) < 0.03


def test_outputs_of_the_worst_pair_are_of_its_two_rows() -> None:
    one, other = Channel([["0.6", "0.4", 0], ["0.6", 0, "0.4"], ["0.5", "0.5", 0]]).neighbouring_outputs(500)
    assert (2 in one) != (2 in other)
    assert len(one) == len(other) == 500


TENTHS_OF_FLOATS = ["1/10"] * 10


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
    assert Channel([[0.1] * 10, TENTHS_OF_FLOATS]).rho == 0
    for off in ("0.1000000000000000001", Fraction(1, 10) + Fraction(1, 10**30)):
        with pytest.raises(ValueError, match="exact rows may not be off at all"):
            Channel([[*TENTHS_OF_FLOATS[:9], off], TENTHS_OF_FLOATS])


# A channel of float rows draws from the rows divided by their exact sums, which are what is certified.


def test_a_place_between_the_given_row_and_the_normalised_one() -> None:
    """0.0101...01 of 160 bits is below 1/3, and above the float 1/3, which is 2^-54/3 less."""
    thirds = [1 / 3] * 3
    channel = Channel([thirds, [0.5, 0.25, 0.25]])
    stream = chain(b"\x55" * 20, repeat(0))

    def source(count: int) -> bytes:
        return bytes(next(stream) for _ in range(count))

    assert channel._tables[0].draw(1, source).tolist() == [0]


HALF = Fraction(1, 2)
GOOD = [HALF, HALF]


def test_floats_may_be_a_little_off_and_the_normalised_row_is_what_counts() -> None:
    thirds = [1 / 3] * 3
    assert sum(map(Fraction, thirds)) != 1
    off = Channel([[0.5 + 4e-16, 0.25, 0.25], thirds])
    total = Fraction(0.5 + 4e-16) + HALF
    exact = Channel([[Fraction(0.5 + 4e-16) / total, Fraction(1, 4) / total, Fraction(1, 4) / total], ["1/3"] * 3])
    assert off.rho == exact.rho
    assert off.rdp(3) == exact.rdp(3)


def test_numpy_arrays_are_channels() -> None:
    matrix = np.array([[0.75, 0.25], [0.4, 0.6]])
    assert Channel(matrix) == Channel(matrix.tolist())
    with pytest.raises(ValueError, match=r"rows\[1\] must sum to 1, not 1.00000002"):  # single precision is not enough
        Channel(matrix.astype(np.float32))
    assert LossPair(p=matrix[0], q=matrix[1]).rho == Channel(matrix).rho


@pytest.mark.parametrize(
    ("rows", "worst"),
    [
        ([[1, 0], GOOD], (1, 0)),
        ([GOOD, ["1/3", "2/3"], [1, 0]], None),
        ([[1, 0], [0, 1]], None),
        ([["1/2", "1/2", 0], ["1/3", "1/3", "1/3"]], (1, 0)),
        ([["1/3", "1/3", "1/3"], ["1/2", "1/2", 0], ["1/2", "1/2", 0]], (0, 1)),
    ],
)
def test_an_unbounded_loss_is_infinite_and_the_rows_are_named(rows: list[list[Any]], worst: object) -> None:
    m = Channel(rows)
    assert m.unbounded
    assert m.rho_bounds == (inf, inf)
    assert m.rho == m.pure_epsilon == inf
    assert [m.rdp(order) for order in (1, 2, inf)] == [inf] * 3
    i, j = m.worst_pair
    assert any(p > 0 == q for p, q in zip(m.rows[i], m.rows[j], strict=True))
    assert worst in (None, (i, j))
    assert m.group(2) == m  # every two rows are neighbours already


def test_an_unbounded_pair_is_infinite() -> None:
    m = LossPair(p=[1, 0], q=GOOD)
    assert m.rho == m.pure_epsilon == m.rdp(2) == inf
    assert m.worst_pair == (1, 0)


def test_an_outcome_that_nobody_has_does_not_matter() -> None:
    m = Channel([["1/2", 0, "1/2"], ["1/4", 0, "3/4"]])
    assert not m.unbounded
    assert m.rho == Channel([GOOD, ["1/4", "3/4"]]).rho


@pytest.mark.parametrize("rows", [[GOOD, GOOD], [[1, 0], [1, 0], [1, 0]], [[0.1, 0.9], [0.1, 0.9]], [[1], [1]]])
def test_identical_rows_lose_nothing(rows: list[list[Any]]) -> None:
    m = Channel(rows)
    assert m.rho == m.pure_epsilon == 0
    assert m.rho_bounds == (0, 0)
    assert [m.rdp(order) for order in (1, 2, inf)] == [0, 0, 0]
    assert m.worst_pair == (0, 0)


def test_the_worst_pair_points_at_the_rows_as_given() -> None:
    """Rows that come twice are searched once."""
    m = Channel([GOOD, GOOD, ["2/5", "3/5"], GOOD, ["1/10", "9/10"]])
    assert set(m.worst_pair) == {0, 4}
