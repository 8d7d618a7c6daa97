"""Jacobi's theta, waves and phases in balls and in doubles: what is left out of each sum is charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb, arb_series
from mpmath import mp, mpc, mpf

from zcdp import DiscreteGaussian
from zcdp.numeric import theta
from zcdp.numeric import theta as gaussian_sum
from zcdp.numeric import theta as gaussian_wave
from zcdp.numeric.balls import Undecided, at_precision, lift
from zcdp.numeric.theta import GaussianWave, Theta, mass_beyond, second_moment


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


def jacobi(variance: Fraction, t: mpc) -> mpc:
    """The sum over integers x of exp(-(x-t)^2/(2v))/sqrt(2 pi v), around where its terms are largest."""
    v = mpf(variance.numerator) / variance.denominator
    middle = int(mp.re(t))
    reach = int(12 * mp.sqrt(v) + 4 * abs(mp.im(t))) + 12
    terms = (mp.exp(-((x - t) ** 2) / (2 * v)) for x in range(middle - reach, middle + reach + 1))
    return mp.fsum(terms) / mp.sqrt(2 * mp.pi * v)


def holds(ball: arb, truth: mpf) -> bool:
    slack = mpf(10) ** -25 * max(1, abs(truth))
    low, high = (mpf(end.str(35, radius=False)) for end in at_precision(200, lambda: (ball.lower(), ball.upper())))
    return bool(low - slack <= truth <= high + slack)


@pytest.mark.parametrize("bits", [3, 10, 64])
@pytest.mark.parametrize("variance", ["1/40", "1/7", "1/6", "1/4", "1", "7"])
def test_theta_is_in_its_ball_at_low_precision_and_far_from_the_axis(variance: str, bits: int) -> None:
    """With few bits few terms are summed, and all others are charged: also where they grow with Im t."""
    v = Fraction(variance)
    for x, y in ((0, 0), (0.5, 0), (0.3, 0.2), (0.5, 1.1), (-2.7, 0.4), (7.25, 2.0)):
        truth = jacobi(v, mpc(x, y))
        try:
            found = at_precision(bits, lambda x=x, y=y: Theta(v)(acb(x, y)))
        except Undecided:
            assert bits < 64
            continue
        assert holds(found.real, truth.real), (x, y)
        assert holds(found.imag, truth.imag), (x, y)
        if not y:
            assert holds(at_precision(bits, lambda x=x: Theta(v)(arb(x))), truth.real)


@pytest.mark.parametrize("bits", [12, 80])
@pytest.mark.parametrize("variance", ["1/40", "1/7", "1/5", "2"])
def test_every_coefficient_of_theta_along_a_line_is_in_its_ball(variance: str, bits: int) -> None:
    """theta(t + 3u): the n-th coefficient is 3^n times the n-th derivative over n!."""
    v = Fraction(variance)
    for t in (0.0, 0.37, 1.5):
        try:
            found = at_precision(bits, lambda t=t: Theta(v)(arb_series([arb(t), 3], prec=4)))
        except Undecided:
            assert bits < 80
            continue
        with mp.workdps(60):
            truth = mp.taylor(lambda x: jacobi(v, mpc(x)).real, mpf(t), 3)
        for n in range(4):
            assert holds(found[n], 3**n * mp.re(truth[n])), (t, n)
            assert bits < 80 or found[n].rad() < 1e-9 * (1 + abs(float(truth[n])) * 3**n)


def test_theta_of_narrow_noise_and_of_wide_noise_are_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (Fraction(1, 100), Fraction(2)):
        monkeypatch.setattr(theta, "NARROW_VARIANCE", limit)
        for variance, t in ((Fraction(1, 6), 0.2), (Fraction(1, 2), 0.45)):
            found = at_precision(100, lambda v=variance, t=t: Theta(v)(acb(t, 0.3)))
            truth = jacobi(variance, mpc(t, 0.3))
            assert holds(found.real, truth.real)
            assert holds(found.imag, truth.imag)


# Terms of proofs that hardly ever matter: each in a case in which the answer would be wrong without it.


def contains(ball: arb, truth: mpf) -> bool:
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
            assert contains(plain, truth)
            assert contains(by_formula, truth)
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
        assert contains(at_precision(256, lambda: second_moment(v)), truth)


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
            assert contains(ball, waves / whole), angle
            assert left_out < 60 or ball.rad() < 1e-20


# The second moment of a discrete Gaussian against plain sums, also of noise that is hardly ever there.


@pytest.mark.parametrize("variance", ["1/5000", "1/50", "3/20", "1/6", "1/5", "1", "30"])
def test_the_second_moment_is_that_of_the_sum(variance: str) -> None:
    exact = Fraction(variance)
    with mpmath.workdps(60):
        v = mpmath.mpf(exact.numerator) / exact.denominator
        masses = [mpmath.exp(-(x * x) / (2 * v)) for x in range(1, 120)]
        truth = 2 * sum(x * x * mass for x, mass in enumerate(masses, 1)) / (1 + 2 * sum(masses))
        found = second_moment(exact)
        middle, radius = (mpmath.mpf(part.str(25, radius=False)) for part in (found.mid(), found.rad()))
        assert abs(middle - truth) <= radius + truth * mpmath.mpf(10) ** -12


def test_noise_that_is_hardly_ever_there_has_a_deviation() -> None:
    """2 e^{-5000}, and 2 e^{-10^9}, are beyond floats: they are rounded up, at once."""
    assert DiscreteGaussian(rho=5000).accuracy().standard_deviation == 5e-324
    narrowest = DiscreteGaussian(rho="1e9").accuracy()
    assert (narrowest.standard_deviation, narrowest.half_width) == (5e-324, 0)
