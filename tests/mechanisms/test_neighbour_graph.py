"""Channels of which only some inputs are neighbours, against every pair that is joined, and what must refuse them."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction
from itertools import combinations, permutations
from math import exp, inf, log
from pathlib import Path

import pytest

from zcdp import (
    Allocation,
    Channel,
    L0LInf,
    Laplace,
    Ledger,
    Plan,
    RandomizedResponse,
    Shuffled,
    Subsampled,
    TruncatedGeometric,
)
from zcdp.collection.keyed import KeyedNoise
from zcdp.errors import ZcdpError
from zcdp.mechanisms.neighbour_graph import apart, distances_within, read_graph
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.privacy.curve import Curve

F = Fraction
Row = list[Fraction]


def row(rng: random.Random, size: int, zeros: float = 0.0) -> Row:
    weights = [0 if n and rng.random() < zeros else rng.randint(1, 9) for n in range(size)]
    return [F(one, sum(weights)) for one in weights]


def delta(pairs: list[tuple[Row, Row]], epsilon: float) -> float:
    return max(
        (sum(max(float(a) - exp(epsilon) * float(b), 0) for a, b in zip(p, q, strict=True)) for p, q in pairs),
        default=0,
    )


def renyi(pairs: list[tuple[Row, Row]], order: float) -> float:
    return max(
        (
            log(sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, q, strict=True) if a)) / (order - 1)
            for p, q in pairs
        ),
        default=0,
    )


def reached(edges: list[tuple[int, int]], size: int, steps: int) -> set[tuple[int, int]]:
    """By all walks of so many edges or none, from the definition of a group."""
    joined = {(i, i) for i in range(size)} | set(edges) | {(j, i) for i, j in edges}
    found = {(i, i) for i in range(size)}
    for _ in range(steps):
        found = {(i, k) for i, j in found for m, k in joined if j == m}
    return {(i, j) for i, j in found if i < j}


def graph(rng: random.Random, size: int) -> list[tuple[int, int]]:
    every = list(combinations(range(size), 2))
    return rng.sample(every, rng.randint(1, len(every)))


def check(curve: Curve, pairs: list[tuple[Row, Row]]) -> None:
    told = any(a and not b for p, q in pairs for a, b in zip(p, q, strict=True))
    assert curve.unbounded == told
    for epsilon in (0.0, 0.1, 0.7, 2.0):
        low, high = curve.delta_bounds(epsilon=epsilon)
        assert low <= delta(pairs, epsilon) + 1e-12
        assert high == pytest.approx(delta(pairs, epsilon), abs=1e-12)
    if told:
        assert curve.rho == curve.pure_epsilon == inf
        return
    ratios = [log(a / b) for p, q in pairs for a, b in zip(p, q, strict=True) if b]
    assert curve.pure_epsilon == pytest.approx(max(ratios, default=0), abs=1e-12)
    orders = (1.001, 1.5, 2, 5, 20)
    for order in orders:
        assert curve.rdp(order) == pytest.approx(renyi(pairs, order), abs=1e-9)
        assert curve.rho >= renyi(pairs, order) / order - 1e-12


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_random_graphs_against_all_their_edges(zeros: float) -> None:
    rng = random.Random(1)
    for _ in range(15):
        size = rng.randint(3, 5)
        rows = [row(rng, 3, zeros) for _ in range(size)]
        if rng.random() < 0.3:
            rows[-1] = rows[0]
        edges = graph(rng, size)
        m = Channel(rows, neighbours=[tuple(rng.sample(edge, 2)) for edge in edges])
        for steps in (1, 2, 3):
            joined = reached(edges, size, steps)
            both = [(rows[i], rows[j]) for i, j in joined] + [(rows[j], rows[i]) for i, j in joined]
            check(m.group(steps), both)
        one, other = m.worst_pair
        assert (min(one, other), max(one, other)) in set(edges)
        assert m.group(2).group(2) == m.group(4)


def test_two_uses_and_others_beside_it() -> None:
    """Each use may face either way, of any edge: the best of all choices that are made beforehand is below."""
    rng = random.Random(2)
    rows, edges = [row(rng, 3) for _ in range(4)], [(0, 1), (1, 2), (1, 3)]
    m, other = Channel(rows, neighbours=edges), RandomizedResponse(epsilon="0.4", k=2)
    coin = [F(599, 1000), F(401, 1000)]
    moves = [(rows[i], rows[j]) for edge in edges for i, j in permutations(edge)]
    flips = [(coin, coin[::-1]), (coin[::-1], coin)]

    def product(one: tuple[Row, Row], two: tuple[Row, Row]) -> tuple[Row, Row]:
        p, q = ([a * b for a in first for b in second] for first, second in zip(one, two, strict=True))
        return p, q

    for plan, pairs in (
        (2 * m, [product(one, two) for one in moves for two in moves]),
        (m + other, [product(one, two) for one in moves for two in flips]),
    ):
        for epsilon in (0.0, 0.5, 1.0):
            assert plan.delta_at(epsilon=epsilon) >= delta(pairs, epsilon) * (1 - 1e-3)
            assert plan.delta_bounds(epsilon=epsilon)[0] <= plan.delta_at(epsilon=epsilon)
    wide = 2 * Channel(rows)
    assert (2 * m).epsilon_at(delta="1e-3") <= wide.epsilon_at(delta="1e-3")


def test_a_star_may_be_sampled() -> None:
    """The absent record sends the report of the middle: explicit mixtures, in both orders."""
    rng, rate = random.Random(3), F(1, 3)
    for zeros in (0.0, 0.4):
        rows = [row(rng, 3, zeros) for _ in range(4)]
        m = Subsampled(Channel(rows, neighbours=[(2, 0), (2, 1), (2, 3)]), rate=rate)
        hub = rows[2]
        mixed = [[(1 - rate) * b + rate * a for a, b in zip(rows[n], hub, strict=True)] for n in (0, 1, 3)]
        pairs = [(p, hub) for p in mixed] + [(hub, p) for p in mixed]
        for epsilon in (0.0, 0.2, 0.6):
            low, high = m.delta_bounds(epsilon=epsilon)
            assert low <= delta(pairs, epsilon) + 1e-12
            assert high >= delta(pairs, epsilon) * (1 - 1e-12)
        if zeros == 0:
            assert all(m.rdp(order) >= renyi(pairs, order) * (1 - 1e-12) for order in (1.5, 2, 8))
            assert m.rho_bounds[0] <= max(renyi(pairs, order) / order for order in (1.0001, 1.5, 2, 8)) + 1e-9


def geometric(size: int) -> list[Row]:
    """Geometric noise of ratio 1/2, clamped to the ends."""
    half = F(1, 2)
    inner = [[half ** abs(i - j) / 3 for j in range(size)] for i in range(size)]
    for i, one in enumerate(inner):
        one[0], one[-1] = half**i * F(2, 3), half ** (size - 1 - i) * F(2, 3)
    return inner


def test_truncated_geometric_noise_is_the_mechanism_of_that_name() -> None:
    weights = [[F(1, 2) ** abs(i - j) for j in range(6)] for i in range(6)]
    m = Channel([[one / sum(row) for one in row] for row in weights], neighbours="adjacent")
    own = TruncatedGeometric(epsilon="log(2)", n=5)
    assert m.pure_epsilon == pytest.approx(own.pure_epsilon, rel=1e-15)
    assert m.rho == pytest.approx(own.rho, rel=1e-9)
    for epsilon in ("0.1", "0.5", "0.8"):
        assert m.delta_at(epsilon=epsilon) == pytest.approx(own.delta_at(epsilon=epsilon), rel=1e-9)


def test_clamped_geometric_noise_has_the_cost_of_its_steps() -> None:
    """Adjacent counts differ by a factor of at most 2, whatever is clamped."""
    m = Channel(geometric(6), neighbours="adjacent")
    assert [m.group(n).pure_epsilon for n in (1, 2, 3)] == pytest.approx([log(2), log(4), log(8)])
    assert m.rho == pytest.approx(0.2310490602, abs=1e-10)
    assert m.group(2).rho == pytest.approx(0.6931471806, abs=1e-10)
    assert m.epsilon_at(delta="1e-6") == pytest.approx(0.6931456806, abs=1e-10)
    assert m.group(5).rho == Channel(geometric(6)).rho == pytest.approx(2.570420795, abs=1e-9)


def test_equal_graphs_are_equal_mechanisms() -> None:
    rows = geometric(4)
    whole, path = Channel(rows), Channel(rows, neighbours="adjacent")
    for same in (3, 7, list(combinations(range(4), 2)), [[j, i] for i, j in combinations(range(4), 2)]):
        assert Channel(rows, neighbours=same) == whole
        assert Channel(rows, neighbours=same).rho == whole.rho
        assert "neighbours" not in repr(Channel(rows, neighbours=same))
    assert path.group(3) == whole
    assert path != whole
    for same in (1, [(0, 1), (1, 2), (2, 3)], [[3, 2], [1, 0], [2, 1], [0, 1]]):
        assert Channel(rows, neighbours=same) == path
        assert hash(Channel(rows, neighbours=same)) == hash(path)
    for m in (path, Channel(rows, neighbours=2), Channel(rows, neighbours=[(0, 3), (1, 3)])):
        assert Plan.parse(repr(m)) == Plan.sum_of(m)
        assert Plan.from_json(Plan.sum_of(m).to_json()) == Plan.sum_of(m)
        assert pickle.loads(pickle.dumps(m)) == m
        assert eval(repr(m), {"Channel": Channel}) == m
    assert repr(path).endswith("neighbours='adjacent')")
    assert repr(Channel(rows, neighbours=[(3, 1), (0, 3)])).endswith("neighbours=[[0, 3], [1, 3]])")


def test_what_is_never_compared_is_said() -> None:
    m = Channel(geometric(5), neighbours=[(0, 1), (3, 4)])
    assert m.note.endswith("rows 0-1, 2 and 3-4 are never compared with each other")
    assert m.note in m._repr_html_()
    assert not Channel(geometric(5)).note
    assert "never" not in Channel(geometric(5), neighbours="adjacent").note
    assert m.group(9) == m
    assert apart(((0, 2), (1, 3)), 5) == "rows 0+2, 1+3 and 4 are never compared with each other"
    assert distances_within(((0, 2), (1, 3)), 4, 5) == ((0, 2), (1, 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "must join some inputs"),
        ([(0, 0)], "joins a row with itself"),
        ([(0, 5)], r"neighbours\[0\] \(5\) must be a row, 0 to 2"),
        ([(0, -1)], "must be"),
        ([(0, 1, 2)], "must be a pair of inputs, not 3"),
        ([0, 1], "must be a pair of inputs"),
        ("near", "must be a list of pairs of inputs, 'adjacent', or a largest distance"),
        (0, "neighbours"),
        (1.5, "neighbours"),
    ],
)
def test_bad_graphs(given: object, message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        read_graph(given, 3)


def test_who_takes_any_two_inputs_for_neighbours_refuses() -> None:
    path = Channel(geometric(4), neighbours="adjacent")
    assert Channel(geometric(4)).local
    assert not path.local
    assert path.relation is Channel(geometric(4)).relation
    with pytest.raises(ZcdpError, match="cannot be shuffled"):
        Shuffled(path, clients=100)
    with pytest.raises(ZcdpError, match="must be a neighbour of every other"):
        Subsampled(path, rate="1/2")
    with pytest.raises(ZcdpError, match="must be a neighbour of every other"):
        Subsampled(path + path, rate="1/2")
    with pytest.raises(ZcdpError, match="only some of its inputs are neighbours"):
        Subsampled(path, size=3, of=10)
    star = Channel(geometric(4), neighbours=[(0, 1), (0, 2), (0, 3)])
    with pytest.raises(ZcdpError, match="must be a neighbour"):
        Allocation(star, batches=4)
    with pytest.raises(ZcdpError, match="only some of its inputs are neighbours"):
        KeyedNoise(b"0123456789abcdef").release(path, [0, 1], [0, 1])
    text = f"[collection]\nk = 4\n[[query]]\nname = 'a'\nmechanism = \"{path!r}\"\n"
    with pytest.raises(PlanFileError, match="only some are neighbours"):
        read_plan("plan.toml", text)
    with pytest.raises(ZcdpError, match="neighbours"):
        path + Subsampled(Laplace(epsilon=1), rate="1/2")


@pytest.mark.parametrize("neighbours", ["replace", "local", "add-remove"])
def test_no_account_takes_it_for_more_than_it_says(neighbours: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("a", unit="person", neighbours=neighbours, rho=5)
        with pytest.raises(ZcdpError, match=r"no others|neighbours"):
            ledger.spend("a", Channel(geometric(4), neighbours="adjacent"), key="one")
        assert ledger.account("a").spent == 0


def test_a_sampled_vector_is_all_of_its_coordinates() -> None:
    """Three counts that one record moves together, against the three as a plan: one alone costs far less."""
    vector = Subsampled(Laplace(epsilon=1, sensitivity=L0LInf(3, 1)), rate="1/2")
    plan = Subsampled(3 * Laplace(epsilon="1/3"), rate="1/2")
    alone = Subsampled(Laplace(epsilon="1/3"), rate="1/2")
    assert vector.delta_at(epsilon="0.3") == pytest.approx(plan.delta_at(epsilon="0.3"), rel=1e-9)
    assert vector.delta_at(epsilon="0.3") > alone.delta_at(epsilon="0.3") + 0.01
