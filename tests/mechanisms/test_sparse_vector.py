"""Sparse vector: the window lemma, streams by exact integration, and the figures that were published for it.

Noise laws are integrated between their kinks by an own quadrature, in doubles, or in mpmath from the definition.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf
from numpy.typing import NDArray
from test_selection import climb, divergence, patterns, sparse_vector

from zcdp import Laplace, RandomizedResponse, SparseVector, calibrate
from zcdp.mechanisms.selection.chords import Chords, _covers
from zcdp.mechanisms.selection.sparse_vector_lower import first_positive
from zcdp.mechanisms.selection.sparse_vector_upper import Move, ShiftedThreshold, log_v, near_log_v
from zcdp.numeric.balls import above, at_precision, lift

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


# The window lemma


def log_tail(z: Floats) -> Floats:
    return np.where(z >= 0, -z - np.log(2), np.log1p(-np.exp(np.minimum(z, 0)) / 2))


def log_moment(s: Floats, z: Floats, a: Floats) -> Floats:
    """log( u/(1-w) ) from the definition."""
    u = (1 + s) * log_tail(z) - s * log_tail(z + a)
    w = (1 + s) * log_tail(-z) - s * log_tail(-z - a)
    with np.errstate(divide="ignore"):
        return np.where(w >= 0, np.inf, u - np.log(-np.expm1(np.minimum(w, 0))))


def certified(s: float, a: float) -> float:
    return at_precision(128, lambda: above(log_v(arb(s), arb(a), near_log_v(s, a)[1])))


def window_lemma_holds(points: int, seed: int) -> None:
    """No z and no a of the interval exceed the certified values at its ends, which are attained."""
    rng = np.random.default_rng(seed)
    for _ in range(points):
        s, eta = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-2, 0.6)
        kappa = 1 - rng.random() * min(1, 1 / (s * eta))
        ends = (kappa * eta, -(1 - kappa) * eta)
        bounds = [certified(s, a) for a in ends]
        bound = max(bounds)
        z = np.concatenate([rng.normal(size=300) * 3, -kappa * eta + eta * rng.uniform(-0.5, 1.5, 700)])
        a = ends[1] + eta * np.where(rng.random(1000) < 0.5, rng.random(1000), rng.integers(0, 2, 1000))
        found = log_moment(np.full(1000, s), z, a).max()
        assert found <= bound * (1 + 1e-9) + 1e-13
        for end, value in zip(ends, bounds, strict=True):
            dense = log_moment(np.full(20001, s), -end * np.linspace(0, 1, 20001), np.full(20001, end)).max()
            assert dense == pytest.approx(value, rel=1e-6, abs=1e-12)


def test_the_window_lemma() -> None:
    window_lemma_holds(100, 0)


@pytest.mark.deep
def test_the_window_lemma_deep() -> None:
    window_lemma_holds(1100, 1)  # more than a million points


@pytest.mark.parametrize(("s", "a"), [(0.1, 2.0), (2.0, 0.5), (0.3, -0.8), (2.0, -0.2), (2.0, -1.5), (0.5, -0.87)])
def test_wherever_the_maximum_is_guessed_to_be_the_bound_is_above_it(s: float, a: float) -> None:
    truth = log_moment(np.full(20001, s), -a * np.linspace(0, 1, 20001), np.full(20001, a)).max()
    for share in (0.0, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0):
        assert at_precision(128, lambda share=share: above(log_v(arb(s), arb(a), share * abs(a)))) >= truth * (
            1 - 1e-12
        )


@pytest.mark.parametrize("a", [0.4, 2.0, -0.4, -1.3])
def test_the_slope_at_zero_is_the_divergence_of_order_one(a: float) -> None:
    value = certified(0.0, a)
    z = -a * np.linspace(0, 1, 20001)
    h, k = np.exp(log_tail(z)), np.exp(log_tail(z + a))
    assert value == pytest.approx((np.log(h / k) + (1 - h) / h * np.log((1 - h) / (1 - k))).max(), rel=1e-7)


def test_one_peak_in_the_window() -> None:
    """F'' <= 0 if a > 0, and the slope has one change of sign if a < 0: in 40 digits, at random points."""
    rng = np.random.default_rng(5)
    with mp.workdps(40):
        for _ in range(100):
            s, b = mpf(10 ** rng.uniform(-3, 2)), mpf(10 ** rng.uniform(-2, 1))

            def f(z: mpf, a: mpf, s: mpf = s) -> mpf:
                h, k = (mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2 for x in (z, z + a))
                return mp.log(h ** (1 + s) * k**-s / (1 - (1 - h) ** (1 + s) * (1 - k) ** -s))

            grid = [b * n / 24 for n in range(25)]
            rising = [f(-v, b) for v in grid]
            assert all(x - 2 * y + z <= mpf(10) ** -30 for x, y, z in zip(rising, rising[1:], rising[2:], strict=False))
            most = -(1 + s) * mp.log((1 + s) / (1 + 2 * s)) + s * mp.log((1 + 2 * s) / (4 * s))
            b = min(b, most * mpf(rng.uniform(0.05, 0.99)) / s)  # w < 1 wherever the window ends
            falling = [f(b * n / 24, -b) for n in range(25)]
            signs = [x < y for x, y in pairwise(falling)]
            assert signs == sorted(signs, reverse=True)


@pytest.mark.parametrize("move", Move)
@pytest.mark.parametrize("kappa", [0.5, 0.8, 0.97])
def test_the_bound_at_one_kappa_is_that_of_its_definition(move: Move, kappa: float) -> None:
    shift, s, eta = ShiftedThreshold(Fraction(1, 2), Fraction(1, 3), 4, move), 0.7, 1 / 3
    theta = {Move.ANY: abs(2 * kappa - 1), Move.UP: kappa, Move.DOWN: 1 - kappa}[move]
    t = np.linspace(0, 1, 20001)
    ends = (kappa * eta, -(1 - kappa) * eta)
    largest = max(log_moment(np.full(20001, s), -a * t, np.full(20001, a)).max() for a in ends)
    threshold = Laplace(epsilon=theta / 2).rdp(1 + Fraction(7, 10)) * s if theta else 0.0
    value = at_precision(128, lambda: above(shift._certified(Fraction(7, 10), kappa)))
    assert value == pytest.approx(threshold + 4 * largest, rel=1e-7)


@pytest.mark.parametrize("move", Move)
def test_every_kappa_is_sound_and_the_chosen_one_is_the_best(move: Move) -> None:
    shift, down = (ShiftedThreshold(Fraction(1, 2), Fraction(1), 1, way) for way in (move, Move.DOWN))
    for s in (Fraction(0), Fraction(1, 4), Fraction(3)):
        best = shift.bound(s)
        kappas = np.linspace(0, 1, 41).tolist()
        others = [at_precision(128, lambda k=k, s=s: above(shift._certified(s, k))) for k in kappas]
        if move is Move.UP:  # which covers the way down, too
            ways = [at_precision(128, lambda k=k, s=s: above(down._certified(s, k))) for k in kappas]
            assert best <= max(min(others), min(ways)) * (1 + 1e-7)
        else:
            assert best <= min(others) * (1 + 1e-7)


@pytest.mark.parametrize(("e1", "eta", "k"), [("3", "0.3", 1), ("2", "1", 1), ("3", "0.1", 5)])
def test_queries_that_only_rise_are_covered_on_the_way_up_and_down(e1: str, eta: str, k: int) -> None:
    """Much noise on the queries and little on the threshold: the bound is the larger of the least of each way."""
    ways = [ShiftedThreshold(Fraction(e1), Fraction(eta), k, move) for move in (Move.UP, Move.DOWN)]
    kappas = [*np.geomspace(0.005, 0.5, 30), *np.linspace(0.5, 1, 12)[1:]]
    for s in (Fraction(0), Fraction(1, 2), Fraction(3)):
        least = [
            min(at_precision(128, lambda k=k, s=s, way=way: above(way._certified(s, float(k)))) for k in kappas)
            for way in ways
        ]
        assert ways[0].bound(s) == pytest.approx(max(least), rel=0.02)
        assert ways[0].bound(s) <= max(least) * (1 + 1e-9)


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


def test_the_law_of_a_stream_is_that_of_its_definition() -> None:
    """The term by term integral in balls against mpmath's quadrature of the definition."""
    levels, rate, query_rate = [Fraction(-1), Fraction(1, 2), Fraction(-1, 4)], Fraction(1, 2), Fraction(1, 3)

    def tail(x: mpf) -> mpf:
        return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2

    law = at_precision(128, lambda: [float(p.mid()) for p in first_positive(levels, rate, query_rate)])
    for index in range(4):

        def density(t: mpf, index: int = index) -> mpf:
            value = mp.exp(-abs(t) / 2) / 4
            for n, level in enumerate(levels[: index + 1]):
                above = tail((t - mpf(level.numerator) / level.denominator) / 3)
                value *= above if n == index else 1 - above
            return value

        exact = mp.quad(density, [-mp.inf, -1, -0.25, 0, 0.5, mp.inf])
        assert law[index] == pytest.approx(float(exact), rel=1e-10)


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
        SparseVector(epsilon_threshold=1e-300, epsilon_queries=1e-300),
        SparseVector(epsilon_threshold=1e300, epsilon_queries=1, positives=3),
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


# Chords


def test_a_wide_ball_of_orders_has_a_bound_for_all_of_them() -> None:
    """K(s) = s^2, up to 2s; balls of all widths, over many points, across both ends of what is known."""
    chords = Chords(lambda s: above(lift(s) ** 2), 0.25, Fraction(2))
    for low, high in product([0.0, 1e-14, 1e-9, 0.1, 0.5, 1.0], [1e-13, 1e-8, 0.2, 0.500001, 0.51, 0.6, 1.2, 1.9]):
        if low < high:
            bound = chords.value(arb(low).union(arb(high)))
            assert bound.upper() >= arb(high) ** 2
            assert bound.upper() <= (arb(high) ** 2 * (1 + arb(2) ** -10)).max(arb(2) ** -79)
    assert chords.value(arb("1.1 +/- 1.05")).upper() >= 4
    assert chords.value(arb(3).union(arb(5))).upper() >= 10
    assert chords.value(arb(0.1).union(arb(1e30))).upper() >= 2e30


def cubic(s: Fraction) -> float:
    return float(s * (1 + s)) * 0.25 * (1 + 1e-15)


def test_chords_bound_a_convex_curve_at_every_point() -> None:
    chords = Chords(cubic, 0.25, Fraction(2))
    for s in (1e-15, 1e-4, 0.3, 1.0, 7.123, 100.0):
        value = at_precision(128, lambda s=s: float(chords.value(arb(s)).mid()))
        truth = min(s * (1 + s) / 4, 2 * s)
        assert truth <= value * (1 + 1e-14)
        assert value <= min(truth * (1 + 1e-7), 2 * s * (1 + 1e-15)) + 1e-12 * s
    lower, upper, _ = chords.steepest()
    assert lower <= 0.25 * (1 + 1e-14)
    assert 0.25 <= upper <= 0.25 + 2.0**-20


def test_a_chord_is_compared_everywhere_not_at_its_ends_alone() -> None:
    quarter = Fraction(1, 4)
    assert not _covers(quarter, Fraction(1), 0.5, Fraction(2), 1.5)  # on the curve at both ends, above it between
    assert _covers(quarter, Fraction(1), 0.4, Fraction(2), 1.3)
    assert not _covers(quarter, Fraction(1), 0.51, Fraction(2), 1.3)


@pytest.mark.parametrize("peak", [1e-3, 0.7, 30.0])
def test_the_supremum_of_points_is_proven(peak: float) -> None:
    """K = max(s/100, s - c), convex, whose ratio is largest near the peak: a dense grid finds how large."""
    c = peak**2 / (1 + 2 * peak)

    def bound(s: Fraction) -> float:
        return max(float(s) / 100, float(s) - c) * (1 + 1e-15)

    def ratio(s: Floats) -> Floats:
        return np.maximum(s / 100, s - c) / (s * (1 + s))

    truth = max(0.01, ratio(np.geomspace(c / 2, 1e4, 2_000_001)).max())
    _, upper, _ = Chords(bound, 0.01, Fraction(1)).steepest()
    assert truth * (1 - 1e-9) <= upper <= truth + min(1e-6, truth * 2.0**-11)
