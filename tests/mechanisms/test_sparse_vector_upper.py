"""Sparse vector from above: the window lemma, one peak in the window, and every kappa sound."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf
from numpy.typing import NDArray

from zcdp import Laplace
from zcdp.mechanisms.selection.sparse_vector_upper import Move, ShiftedThreshold, log_v, near_log_v
from zcdp.numeric.balls import above, at_precision

Floats = NDArray[np.float64]


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
