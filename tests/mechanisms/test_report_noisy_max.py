"""Report noisy max with Laplace noise: the lemma at one level, the curve against score vectors, the proof of rho."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from mechanisms.selection_laws import climb, divergence, laplace, random_moves
from mpmath import mp, mpf
from numpy.typing import NDArray

from zcdp import Laplace, ReportNoisyMax
from zcdp.mechanisms.selection.report_noisy_max import WinningLevel, holds_at_every_order, levels
from zcdp.numeric.balls import at_precision, lift

Floats = NDArray[np.float64]


# rho of the level bound as plain quadrature in doubles finds it, and the value of two tied candidates against three
FIGURES = (
    ("0.5", 0.077919, 0.0421447),
    ("1", 0.267874, 0.1643482),
    ("2", 0.839644, 0.6032088),
    ("4", 2.341988, 1.943267),
    ("8", 5.793023, 5.287769),
)


@pytest.mark.parametrize(("epsilon", "rho", "witness"), FIGURES)
def test_figures(epsilon: str, rho: float, witness: float) -> None:
    m = ReportNoisyMax(epsilon=epsilon)
    lower, upper = m.rho_bounds
    assert rho - 1e-6 <= upper <= rho + 1.5e-6  # half a digit of the figures, and the tolerance of the proof
    assert upper == m.rho < Laplace(epsilon=epsilon).rho
    assert 0.98 * witness <= lower <= witness * (1 + 1e-6)


def cdf(v: Floats) -> Floats:
    return np.where(v < 0, np.exp(np.minimum(v, 0)) / 2, 1 - np.exp(-np.maximum(v, 0)) / 2)


def at_level(x: Floats, u: Floats) -> Floats:
    """Where the law of the largest noisy score reaches u."""
    low, high = np.full(u.size, -60.0), np.full(u.size, 60.0)
    for _ in range(70):
        middle = (low + high) / 2
        below = np.log(cdf(middle[:, None] - x)).sum(axis=1) < np.log(u)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def level_lemma_holds(batches: int, seed: int) -> None:
    """log(pi_i/pi'_i), pi_i = r_i/R with r = density over distribution function, has a range of at most eta(u)."""
    rng = np.random.default_rng(seed)
    closest = 0.0
    for _ in range(batches):
        m, epsilon = int(rng.integers(2, 15)), 10 ** rng.uniform(-2, 1)
        x, move = random_moves(rng, 2000, m, epsilon)
        u = rng.random(2000).clip(1e-9, 1 - 1e-9)
        rates = []
        for scores in (x, x + move):
            away = at_level(scores, u)[:, None] - scores
            rates.append(np.log(np.exp(-abs(away)) / 2 / cdf(away)))
        loss = rates[0] - rates[1]
        widest = (loss.max(axis=1) - loss.min(axis=1)) / (2 * np.log1p(np.expm1(epsilon / 2) / np.maximum(u, 0.5)))
        closest = max(closest, widest.max())
    assert 0.9 < closest <= 1 + 1e-9


def test_the_lemma_at_one_level() -> None:
    level_lemma_holds(10, 0)


@pytest.mark.deep
def test_the_lemma_at_one_level_deep() -> None:
    level_lemma_holds(510, 1)  # more than a million points


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_no_score_vector_exceeds_the_curve(epsilon: float) -> None:
    bound, rng = ReportNoisyMax(epsilon=epsilon), np.random.default_rng(4)
    for m in (2, 3, 5, 9, 14):
        x, move = random_moves(rng, 40, m, epsilon)
        p, q = laplace(x), laplace(x + move)
        for order in (1.0, 1.3, 2.0, 4.0, 15.0, 80.0):
            largest = max(divergence(p, q, order).max(), divergence(q, p, order).max())
            assert largest <= min(bound.rdp(order), order * bound.rho) * (1 + 1e-9)
        for part in (0.2, 0.6):
            delta = max(np.maximum(a - np.exp(part * epsilon) * b, 0).sum(axis=-1).max() for a, b in ((p, q), (q, p)))
            assert delta <= bound.delta_at(epsilon=part * epsilon) * (1 + 1e-9)


@pytest.mark.deep
@pytest.mark.parametrize("m", [2, 5, 9, 14])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_an_optimiser_over_fourteen_candidates_stays_below(m: int, epsilon: float) -> None:
    bound = ReportNoisyMax(epsilon=epsilon)
    for order in (1.0, 3.0, 10.0):
        assert climb(laplace, order, m, epsilon, 300) <= min(bound.rdp(order), order * bound.rho)


def reference(s: mpf, epsilon: mpf) -> mpf:
    """log of the mean of exp K_BR over the levels, from the page of bounded range."""

    def g(x: mpf) -> mpf:
        return mp.log(mp.sinh(x / 2) / (x / 2))

    def moment(u: mpf) -> mpf:
        eta = 2 * mp.log(1 + mp.expm1(epsilon / 2) / u)
        return mp.exp((1 + s) * g((1 + s) * eta) - s * g(s * eta) - g(eta))

    half = mpf(1) / 2
    return mp.log(moment(half) / 2 + mp.quad(moment, [half, 1]))


@pytest.mark.parametrize("epsilon", ["0.01", "1", "6"])
def test_the_curve_is_the_integral_over_levels(epsilon: str) -> None:
    level, m = WinningLevel(Fraction(epsilon)), ReportNoisyMax(epsilon=epsilon)
    for s in (Fraction(1, 1000), Fraction(1, 2), Fraction(1) / Fraction(epsilon)):
        with mp.workdps(40):
            truth = float(reference(mpf(s.numerator) / s.denominator, mpf(epsilon)))
        assert truth <= level.bound(s) <= truth * (1 + 2e-5)
        assert m.rdp(1 + s) * float(s) <= level.bound(s) * (1 + 1e-7)
        assert truth <= m.rho * float(s * (1 + s))  # rho covers the bound at every order


@pytest.mark.parametrize("epsilon", ["1e-11", "0.003", "0.1", "1", "3", "20", "1000", "5e5"])
def test_the_largest_ratio_is_proven_to_be_at_order_one(epsilon: str) -> None:
    level = WinningLevel(Fraction(epsilon))
    assert level.rho == level.candidate
    assert level.kl < level.rho <= level.kl + min(level.kl, 1) * 5e-7


def test_what_is_false_is_not_proven() -> None:
    """If k(q) were q times its slope, E e^k would exceed e^{q E slope}, by Jensen: by half of that it still does."""

    def proof(kept: Fraction) -> bool:
        slopes = [1 / (8 * u * u) for u in levels(32)[0]]

        def shares(q: arb) -> list[arb]:
            return [q * x - arb(kept.numerator) / kept.denominator * (q * x) ** 2 for x in slopes]

        return holds_at_every_order(shares, slopes, arb(3) / 8, arb(1))

    assert not at_precision(128, lambda: proof(Fraction(0)))
    assert not at_precision(128, lambda: proof(Fraction(1, 20)))  # variance/2 is 0.064 of the mean square
    assert at_precision(128, lambda: proof(Fraction(1, 9)))


@pytest.mark.parametrize("size", ["1", "1/10", "1/1000"])
def test_what_is_allowed_beside_a_small_slope_is_a_share_of_it(size: str) -> None:
    """k(q) = q slope(u): by Jensen E e^k exceeds e^{q E slope}, here at q = 1 by more than is allowed."""
    slope = Fraction(size)

    def proof() -> bool:
        slopes = [lift(slope) / (8 * u * u) for u in levels(32)[0]]
        return holds_at_every_order(lambda q: [q * x for x in slopes], slopes, 3 * lift(slope) / 8, arb(1))

    with mp.workdps(30):
        s, half = mpf(slope.numerator) / slope.denominator, mpf(1) / 2
        mean = mp.exp(s / 2) / 2 + mp.quad(lambda u: mp.exp(s / (8 * u * u)), [half, 1])
        assert mp.log(mean) > 3 * s / 8 * (1 + mpf(2) ** -21)
    assert not at_precision(128, proof)


def test_the_closed_form_for_all_epsilon() -> None:
    """E exp rho_BR( X/max(U, 1/2) ) <= exp( (3/8) X^2 (1 + 2^-21) ), with X^2 in the place of q."""

    def proof() -> bool:
        points = levels(32)[0]

        def rho(x: arb) -> arb:
            return ((x / 2).sinh() / (x / 2)).log() + x / 2 * (x / 2).coth() - 1

        def shares(q: arb) -> list[arb]:
            return [rho(q.sqrt() / u) for u in points]

        return holds_at_every_order(shares, [1 / (8 * u * u) for u in points], arb(3) / 8, arb(256) / 9)

    assert at_precision(192, proof)
    for epsilon in ("1e-6", "0.01", "1"):
        closed = 1.5 * np.expm1(float(epsilon) / 2) ** 2
        assert ReportNoisyMax(epsilon=epsilon).rho <= closed * (1 + 5e-7)
    tiny = ReportNoisyMax(epsilon="1e-12").rho
    assert tiny == pytest.approx(0.375e-24, rel=1e-6)


def test_calibration_is_the_last_epsilon_that_fits() -> None:
    m = ReportNoisyMax.calibrate(rho="0.1")
    assert m.rho <= 0.1 < ReportNoisyMax(epsilon=np.nextafter(float(m.epsilon), 1).item()).rho
    assert float(m.epsilon) > 1.15 * float(Laplace.calibrate(rho="0.1").epsilon)


def test_where_the_proof_fails_calibration_does_not_rest_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then rho is that of Laplace noise, and so is the epsilon that is found."""
    monkeypatch.setattr(WinningLevel, "_proven", lambda _: False)
    m = ReportNoisyMax.calibrate(rho="0.1")
    assert m.rho <= 0.1
    assert float(m.epsilon) == pytest.approx(float(Laplace.calibrate(rho="0.1").epsilon), rel=1e-9)


def test_plans_of_noisy_max() -> None:
    m = ReportNoisyMax(epsilon="0.5")
    assert (10 * m).rho == pytest.approx(10 * m.rho, rel=1e-12)
    plan = 100 * m
    assert plan.epsilon_at(delta=1e-6) < (100 * Laplace(epsilon="0.5")).epsilon_at(delta=1e-6)
    assert (m + Laplace(epsilon=1)).rho == pytest.approx(m.rho + Laplace(epsilon=1).rho, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0, 8.0])
def test_two_tied_candidates_against_three_give_the_lower_bound_of_laplace_noise(epsilon: float) -> None:
    m = ReportNoisyMax(epsilon=epsilon)
    lower, upper = m.rho_bounds
    behind = epsilon * np.arange(17)[:, None] / 16
    x = np.concatenate([0 * behind] * 2 + [behind] * 3, axis=-1)
    p, q = laplace(x), laplace(x + epsilon * np.array([1, 1, 0, 0, 0]))
    assert max(divergence(p, q, 1).max(), divergence(q, p, 1).max()) == pytest.approx(lower, rel=1e-9)
    assert not m.is_tight
    assert lower < upper == m.rho


@pytest.mark.parametrize("m", [3, pytest.param(5, marks=pytest.mark.deep), pytest.param(8, marks=pytest.mark.deep)])
def test_an_optimiser_stays_below_the_bound_of_laplace_noise(m: int) -> None:
    bound = ReportNoisyMax(epsilon=1)
    for order in (1.0, 4.0):
        assert climb(laplace, order, m, 1.0, 120 if m == 3 else 1500) <= min(bound.rdp(order), order * bound.rho)
