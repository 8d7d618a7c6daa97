"""Terms of proofs that hardly ever matter: each in a case in which the answer would be wrong without it."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp.numeric import theta as gaussian_sum
from zcdp.numeric import theta as gaussian_wave
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.quadrature import charge, highest_parabola, legendre
from zcdp.numeric.theta import GaussianWave, mass_beyond, second_moment


def holds(ball: arb, truth: mpf) -> bool:
    """Whether the truth, known to many digits, is in the ball."""
    ends = at_precision(512, lambda: [end.str(60, radius=False) for end in (ball.lower(), ball.upper())])
    lower, upper = map(mpf, ends)
    return bool(lower - abs(lower) * mpf(10) ** -45 <= truth <= upper + abs(upper) * mpf(10) ** -45)


def masses(variance: Fraction, far: int) -> list[mpf]:
    v = mpf(variance.numerator) / variance.denominator
    return [mp.exp(-(mpf(x) ** 2) / (2 * v)) for x in range(far + 1)]


@pytest.mark.parametrize("variance", ["1/2", "2", "9", "100", "2500/3"])
def test_the_rest_of_euler_and_maclaurins_formula_is_charged(monkeypatch: pytest.MonkeyPatch, variance: str) -> None:
    """The mass beyond h of a discrete Gaussian, by the formula where a sum would do as well."""
    v = Fraction(variance)
    far = int(12 * float(v) ** 0.5) + 12
    with mp.workdps(60):
        mass = masses(v, 3 * far)
        whole = mass[0] + 2 * sum(mass[1:])
        for h in sorted({1, 2, far // 12, far // 6, far // 3, far}):
            truth = 2 * sum(mass[h + 1 :]) / whole
            plain = at_precision(256, lambda h=h: mass_beyond(h, v))
            with monkeypatch.context() as patch:
                patch.setattr(gaussian_sum, "MOST_TERMS", 0)
                by_formula = at_precision(256, lambda h=h: mass_beyond(h, v))
            assert holds(plain, truth)
            assert holds(by_formula, truth)
            assert by_formula.rad() <= arb("0.0125") / lift(v) ** arb(1.5)


@pytest.mark.parametrize("variance", ["1/7", "1/10", "1/50", "1/6", "1/5", "4"])
@pytest.mark.parametrize("bits", [0, 5, 200])
def test_terms_of_a_second_moment_that_are_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, variance: str, bits: int
) -> None:
    monkeypatch.setattr(gaussian_sum, "working_bits", lambda: bits)
    v = Fraction(variance)
    with mp.workdps(60):
        mass = masses(v, 60)
        truth = 2 * sum(x * x * one for x, one in enumerate(mass)) / (mass[0] + 2 * sum(mass[1:]))
        assert holds(at_precision(256, lambda: second_moment(v)), truth)


@pytest.mark.parametrize("variance", ["1/50", "1/7", "1/6", "1/3", "1", "20", "300"])
@pytest.mark.parametrize("left_out", [1, 3, 12, 60])
def test_waves_of_a_discrete_gaussian_that_are_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, variance: str, left_out: int
) -> None:
    """E cos(angle X), from few terms and from many; at half a turn the two nearest images weigh the same."""
    monkeypatch.setattr(gaussian_wave, "LEFT_OUT", left_out)
    v = Fraction(variance)
    with mp.workdps(60):
        mass = masses(v, int(20 * float(v) ** 0.5) + 40)
        whole = mass[0] + 2 * sum(mass[1:])
        for angle in ("0", "0.001", "0.3", "2", "3.14", "3.15", "6", "40.7"):
            waves = mass[0] + 2 * sum(m * mp.cos(mpf(angle) * x) for x, m in enumerate(mass[1:], 1))
            ball = at_precision(256, lambda angle=angle: GaussianWave(v)(arb(angle)))
            assert holds(ball, waves / whole), angle
            assert left_out < 60 or ball.rad() < 1e-20


def test_the_highest_point_of_a_parabola_is_not_passed_over() -> None:
    """second x^2 + first x between two ends: at one of them, or where its slope is 0; also of balls."""
    random = Random(3)
    for _ in range(400):
        second, first = -Fraction(random.randint(0, 30), 10), Fraction(random.randint(-40, 40), 10)
        left = Fraction(random.randint(-30, 30), 10)
        right = left + Fraction(random.randint(1, 40), 10)
        places = [left, right]
        if second and left < -first / (2 * second) < right:
            places.append(-first / (2 * second))
        truth = max(second * x * x + first * x for x in places)
        found = highest_parabola(lift(second), lift(first), lift(left), lift(right))
        assert not found < lift(truth)
        assert found <= lift(truth) + arb(2) ** -40
        # a ball that holds the truth, so wide that no sign of a slope is known
        vague = highest_parabola(lift(second).min(arb(0)), lift(first) + arb(0, 2), lift(left), lift(right))
        assert vague.upper() >= lift(truth) - arb(2) ** -40


@pytest.mark.parametrize("points", [1, 2, 5, 12])
def test_a_gauss_rule_is_exact_for_polynomials(points: int) -> None:
    rule = at_precision(200, lambda: legendre(points, 200))
    for power in range(2 * points):
        found = sum((weight * place**power for place, weight in rule), arb(0))
        assert found.overlaps(arb(0) if power % 2 else arb(2) / (power + 1))
    beyond = sum((weight * place ** (2 * points) for place, weight in rule), arb(0))
    assert beyond < arb(2) / (2 * points + 1)


def test_floats_that_are_lost_in_a_sum_are_charged() -> None:
    """A thousand weights of half a last bit of the first: a sum of doubles does not grow by any of them."""
    weight, decay = np.array([1.0] + [2.0**-53] * 1000), np.zeros(1001)
    truth = sum((Fraction(one) for one in weight.tolist()), Fraction(0))
    assert np.bincount(np.zeros(1001, dtype=int), weights=weight)[0] < truth
    assert charge(weight, decay) >= lift(truth)
    decays = np.array([0.0, 0.12, 0.13, 7.99, 800.0])
    weights = np.array([1e-9, 0.3, 2.0, 5.0, 1e300])
    exact = sum((arb(w) * (-arb(d)).exp() for w, d in zip(weights.tolist(), decays.tolist(), strict=True)), arb(0))
    assert charge(weights, decays) >= exact
