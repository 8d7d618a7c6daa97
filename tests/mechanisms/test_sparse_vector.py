"""Sparse vector: the window lemma, streams by exact integration, and the figures that were published for it.

Noise laws are integrated between their kinks by an own quadrature, in doubles, or in mpmath from the definition.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mechanisms.selection_laws import (
    climb,
    divergence,
    patterns,
    sparse_optimum_stays_below,
    sparse_pairs_stay_below,
    sparse_vector,
)
from neighbours.streams import answers
from numpy.typing import NDArray

import zcdp
from zcdp import Laplace, RandomizedResponse, SparseVector, calibrate

Floats = NDArray[np.float64]

ORDERS = (1.0, 1.05, 1.5, 2.0, 4.0, 8.0, 20.0, 100.0)


# epsilons, positives, monotone: rho as a dense grid over kappa, z and s finds it, in doubles; a witness by an optimiser
FIGURES = (
    ("0.05", "0.05", 1, False, 0.00076530, 0.000552),
    ("0.5", "0.5", 1, False, 0.0716697, 0.054858),
    ("1", "1", 1, False, 0.2681932, 0.214997),
    ("2", "2", 1, False, 0.951884, 0.807628),
    ("4", "4", 1, False, 3.105528, 2.7717),
    ("0.5", "1", 1, False, 0.2105386, 0.146479),
    ("1", "0.5", 1, False, 0.1150120, 0.087454),
    ("0.5", "0.5", 20, False, 0.0055658, 0.0),
    ("0.5", "0.5", 5, False, 0.0196485, 0.0),
    ("0.05", "0.05", 1, True, 0.0010541, 0.000704),
    ("0.5", "0.5", 1, True, 0.0973961, 0.069687),
    ("1", "1", 1, True, 0.3595365, 0.270448),
    ("2", "2", 1, True, 1.2465198, 0.995513),
    ("0.5", "1", 1, True, 0.2461857, 0.153466),
    ("1", "0.5", 1, True, 0.1903378, 0.131299),
)


@pytest.mark.parametrize(("e1", "e2", "positives", "monotone", "rho", "witness"), FIGURES)
def test_figures(e1: str, e2: str, positives: int, monotone: bool, rho: float, witness: float) -> None:
    m = SparseVector(epsilon_threshold=e1, epsilon_queries=e2, positives=positives, monotone=monotone)
    assert rho - 1e-6 <= m.rho <= rho + 1e-6
    queries, apart = Laplace(epsilon=Fraction(e2) / positives).rho, Laplace(epsilon=e1).rho
    assert m.rho <= min(apart + 2 * positives * queries, Laplace(epsilon=Fraction(e1) + Fraction(e2)).rho)
    if witness:
        lower, upper = m.rho_bounds
        assert 0.98 * witness <= lower < upper == m.rho


# True neighbours


def streams(rng: np.random.Generator, size: int, queries: int, rate: float, monotone: bool) -> tuple[Floats, Floats]:
    levels = rng.choice([-2, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 2], (size, queries)) / rate
    moves = rng.choice([-1.0, 1.0], (size, queries))
    moves = np.where(rng.random((size, 1)) < 0.7, moves, rng.uniform(-1, 1, (size, queries)))
    return levels, levels + (abs(moves) * rng.integers(0, 2, (size, queries)) if monotone else moves)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("positives", "queries"), [(1, 1), (1, 3), (1, 5), (2, 3), (2, 5), (3, 5)])
def test_no_stream_exceeds_the_curve(monotone: bool, positives: int, queries: int) -> None:
    """rho and Renyi divergences in both directions; and (epsilon, delta) as the largest difference over events."""
    rng = np.random.default_rng(queries)
    for e1, e2 in ((0.1, 0.1), (0.5, 0.5), (0.4, 2.0), (3.0, 1.0)):
        m = SparseVector(epsilon_threshold=e1, epsilon_queries=e2, positives=positives, monotone=monotone)
        rate = e2 / (positives if monotone else 2 * positives)
        told = patterns(queries, positives)
        p, q = (sparse_vector(side, told, e1, rate) for side in streams(rng, 60, queries, rate, monotone))
        np.testing.assert_allclose(p.sum(axis=-1), 1, atol=1e-9)
        for order in ORDERS:
            largest = max(divergence(p, q, order).max(), divergence(q, p, order).max())
            assert largest <= min(m.rdp(order), order * m.rho) * (1 + 1e-9)
        assert abs(np.log(p / q)).max() <= m.pure_epsilon * (1 + 1e-6)
        for epsilon in (0.1 * m.pure_epsilon, 0.5 * m.pure_epsilon):
            delta = max(np.maximum(a - np.exp(epsilon) * b, 0).sum(axis=-1).max() for a, b in ((p, q), (q, p)))
            assert delta <= m.delta_at(epsilon=epsilon) * (1 + 1e-9)
            if delta > 1e-6:
                assert m.epsilon_at(delta=delta) >= epsilon * (1 - 1e-9)


@pytest.mark.parametrize("monotone", [False, True])
def test_no_adaptive_stream_exceeds_the_curve(monotone: bool) -> None:
    """After a negative the next level and move are one pair, after a positive another: all outcomes of a tree."""
    rng = np.random.default_rng(11)
    e1, e2, positives, depth = 0.6, 0.8, 2, 4
    m = SparseVector(epsilon_threshold=e1, epsilon_queries=e2, positives=positives, monotone=monotone)
    rate = e2 / (positives if monotone else 2 * positives)
    told = patterns(depth, positives)
    for _ in range(12):
        tree = {
            past: (rng.uniform(-2, 2) / rate, float(rng.integers(0, 2)) if monotone else rng.choice([-1.0, 1.0]))
            for n in range(depth)
            for past in product((0, 1), repeat=n)
        }
        sides = []
        for moved in (0, 1):
            law = []
            for pattern in told:
                levels = [tree[pattern[:n]][0] + moved * tree[pattern[:n]][1] for n in range(len(pattern))]
                law.append(sparse_vector(np.array([levels]), [pattern], e1, rate)[0, 0])
            sides.append(np.array([law]))
        p, q = sides
        assert p.sum() == pytest.approx(1, abs=1e-9)
        for order in ORDERS:
            largest = max(divergence(p, q, order).max(), divergence(q, p, order).max())
            assert largest <= min(m.rdp(order), order * m.rho) * (1 + 1e-9)


@pytest.mark.deep
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("e1", "e2"), [(0.5, 0.5), (1.0, 0.5), (0.1, 2.0)])
def test_an_optimiser_over_thirty_queries_stays_below(monotone: bool, e1: float, e2: float) -> None:
    m = SparseVector(epsilon_threshold=e1, epsilon_queries=e2, monotone=monotone)
    told = patterns(30, 1)

    def law(levels: Floats) -> Floats:
        return sparse_vector(levels, told, e1, e2 if monotone else e2 / 2)

    for order in (1.0, 4.0, 12.0):
        found = climb(law, order, 30, 1.0 if monotone else 2.0, 60, shift=0.0 if monotone else 1.0)
        assert 0 < found <= min(m.rdp(order), order * m.rho)


# The mechanism


def test_a_group_scales_the_noise_of_threshold_and_queries() -> None:
    """Queries of sensitivity 3 are those of sensitivity 1 at a third of all noise: the same law, so the same cost."""
    m = SparseVector(epsilon_threshold="0.2", epsilon_queries="0.3", positives=2, monotone=True)
    three = m.group(3)
    assert (three.epsilon_threshold, three.epsilon_queries) == (Fraction(3, 5), Fraction(9, 10))
    assert (three.positives, three.monotone, three.pure_epsilon) == (2, True, 1.5)
    general = SparseVector(epsilon_threshold="0.2", epsilon_queries="0.3")
    levels, told = np.array([[-0.5, 0.4]]), patterns(2, 1)
    p, q = (sparse_vector(side, told, 0.2, 0.15) for side in (levels, levels + np.array([3.0, -3.0])))
    for order in ORDERS:
        assert divergence(p, q, order).max() <= general.group(3).rdp(order) * (1 + 1e-9)
    # a group that forgot the queries would be cheaper than what its members cost each on their own
    steps = general.group(20)
    assert steps.rho > SparseVector(epsilon_threshold=4, epsilon_queries="0.3").rho * 2


def test_the_curve_grows_and_stays_below_the_pure_epsilon() -> None:
    for m in (
        SparseVector(epsilon_threshold="0.5", epsilon_queries="0.5"),
        SparseVector(epsilon_threshold=40, epsilon_queries=40, monotone=True),
        SparseVector(epsilon_threshold="1e-12", epsilon_queries=1),
        SparseVector(epsilon_threshold=1e-12, epsilon_queries=1e-12),
        SparseVector(epsilon_threshold=1e9, epsilon_queries=1, positives=3),
    ):
        curve = [m.rdp(order) for order in (1, 1 + 1e-12, 1 + 1e-6, 1.001, 1.1, 1.5, 2, 5, 30, 1e3, 1e9, float("inf"))]
        assert curve == sorted(curve)
        assert curve[-1] == m.pure_epsilon
        assert (1 * m).rdp(1e9) <= m.pure_epsilon


def test_a_composition_uses_the_curve() -> None:
    m = SparseVector(epsilon_threshold="0.5", epsilon_queries="0.5", positives=5)
    plan = 20 * m
    assert plan.rho == pytest.approx(20 * m.rho, rel=1e-12)
    routes = plan.routes(delta=1e-6)
    assert routes["rdp"] < routes["zcdp"] < routes["profile"] < routes["pure"]
    assert plan.epsilon_at(delta=1e-6) == pytest.approx(routes["rdp"], rel=1e-6)
    other = RandomizedResponse(epsilon=1, k=100)
    mixed = (m + other).rho
    assert max(m.rho, other.rho) < mixed <= m.rho + other.rho
    for order in (1.5, 3, 10):
        assert m.rdp(order) + other.rdp(order) <= mixed * order * (1 + 1e-7)


def test_calibration() -> None:
    def build(epsilon: float) -> SparseVector:
        return SparseVector(epsilon_threshold=epsilon, epsilon_queries=epsilon, positives=3)

    best = calibrate(build, rho="0.1")
    assert build(best).rho <= 0.1 < build(best * (1 + 1e-5)).rho


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_monotone_is_true_or_false(bad: object) -> None:
    with pytest.raises(TypeError, match="monotone"):
        SparseVector(epsilon_threshold=1, epsilon_queries=1, monotone=bad)


# Selection and sparse vector: no pair of neighbours exceeds the stated curve; the pair that comes closest is here.


def test_no_random_sequence_exceeds_the_bound_of_sparse_vector() -> None:
    sparse_pairs_stay_below(40, 0)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_random_sequence_exceeds_the_bound_of_sparse_vector_deep(seed: int) -> None:
    sparse_pairs_stay_below(500, seed)


def test_an_optimiser_stays_below_the_bound_of_sparse_vector() -> None:
    sparse_optimum_stays_below(4, 1, 0.5, 60)


@pytest.mark.deep
@pytest.mark.parametrize(("queries", "positives"), [(2, 1), (6, 1), (4, 2)])
@pytest.mark.parametrize("e", [0.05, 0.5, 2.0])
def test_an_optimiser_stays_below_the_bound_of_sparse_vector_deep(queries: int, positives: int, e: float) -> None:
    sparse_optimum_stays_below(queries, positives, e, 200)


SIZE = 6000


@pytest.fixture(autouse=True)
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(29))


def check(found: Any, chance: float) -> None:
    assert float(np.mean(found)) == pytest.approx(chance, abs=5 * sqrt(chance * (1 - chance) / SIZE))


@pytest.mark.parametrize("monotone", [False, True])
def test_outputs_of_sparse_vector_are_of_a_stream_that_moves_by_one(monotone: bool) -> None:
    """A quarter of the query noise below the threshold: five rise by 1, five fall by 1 or stay; the first three."""
    m = zcdp.SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=1, monotone=monotone)
    rate = 2.0 if monotone else 1.0
    level = -1 / (4 * rate)
    for outputs, levels in zip(m.neighbouring_outputs(SIZE), ([level] * 3, [level + 1] * 3), strict=True):
        assert outputs.shape == (SIZE, 10)
        law = answers(lambda told, levels=levels: levels[len(told)], 3, 1, 1.0, rate)
        for string, chance in law.items():
            check((outputs[:, : len(string)] == np.array(string)).all(axis=1), chance)
    moved = [level + 1] * 5 + [level - (not monotone)]
    law = answers(lambda told: moved[len(told)], 6, 1, 1.0, rate)
    check((m.neighbouring_outputs(SIZE)[1][:, :6] == 0).all(axis=1), law[0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("order", [1, 2, 50, 1e9, inf])
def test_no_divergence_of_a_sparse_vector_exceeds_its_largest_loss(order: float) -> None:
    m = SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=30)
    assert (1 * m).rdp(order) <= m.pure_epsilon == 2
    assert (3 * m).rdp(order) <= 6
