"""The profile of discrete Gaussian noise against sums over all outputs, by convolution in 200 digits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import numpy
import pytest
from flint import acb, arb, arb_series
from hypothesis import example, given
from hypothesis.strategies import floats, fractions, integers
from mpmath import mp, mpf

from zcdp import DiscreteGaussian, Gaussian, Laplace, Plan, Subsampled
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.theta import Theta
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.discrete_gaussian_law import DiscreteNormal
from zcdp.privacy.loss.law import LossLaw

CASES = [
    # variance, sensitivity, count, epsilon
    (Fraction(4), 1, 1, Fraction(3, 10)),
    (Fraction(4), 1, 3, Fraction(6, 5)),
    (Fraction(4), 1, 3, Fraction(0)),
    (Fraction(1, 2), 1, 1, Fraction(1)),
    (Fraction(1, 2), 2, 2, Fraction(12)),
    (Fraction(9), 3, 2, Fraction(2)),
    (Fraction(1, 100), 1, 2, Fraction(99)),
    (Fraction(49), 1, 2, Fraction(1, 3)),
    (Fraction(1000), 1, 1, Fraction(1, 7)),
    (Fraction(1234, 7), 5, 1, Fraction(9, 2)),
    (Fraction(1, 1000), 1, 1, Fraction(4999, 10)),
]


def true_delta(variance: Fraction, shift: int, count: int, epsilon: Fraction) -> mpf:
    with mp.workdps(200):
        v = mpf(variance.numerator) / variance.denominator
        reach = int(40 * mp.sqrt(v)) + 20
        masses = [mp.exp(-(mpf(x) ** 2) / (2 * v)) for x in range(-reach, reach + 1)]
        whole = mp.fsum(masses)
        sums = [mpf(1)]
        for _ in range(count):
            longer = [mpf(0)] * (len(sums) + 2 * reach)
            for i, one in enumerate(sums):
                for j, mass in enumerate(masses):
                    longer[i + j] += one * mass / whole
            sums = longer
        e, total = mpf(epsilon.numerator) / epsilon.denominator, mpf(0)
        for i, mass in enumerate(sums):
            loss = shift * (count * shift - 2 * (i - count * reach)) / (2 * v)
            total += mass * -mp.expm1(e - loss) if loss > e else 0
        return total


@pytest.mark.parametrize(("variance", "shift", "count", "epsilon"), CASES)
def test_delta_is_that_of_the_worst_shift(variance: Fraction, shift: int, count: int, epsilon: Fraction) -> None:
    plan = count * DiscreteGaussian(rho=Fraction(shift) ** 2 / (2 * variance), sensitivity=shift)
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    truth = true_delta(variance, shift, count, epsilon)
    assert lower <= truth * (1 + mpf(10) ** -60)
    assert truth * (1 - mpf(10) ** -60) <= upper <= truth * (1 + mpf(10) ** -9)
    smaller = max((true_delta(variance, s, count, epsilon) for s in range(1, shift)), default=mpf(0))
    assert smaller < truth


@pytest.mark.parametrize("sigma", [1, 5, 20])
@pytest.mark.parametrize("count", [1, 30, 10_000])
def test_epsilon_and_delta_are_inverse_and_near_those_of_the_gaussian(sigma: int, count: int) -> None:
    plan = count * DiscreteGaussian(sigma=sigma)
    lower, upper = plan.epsilon_bounds(delta=1e-8)
    assert lower <= upper <= lower * (1 + 1e-12)
    assert plan.delta_at(epsilon=upper) == pytest.approx(1e-8, rel=1e-9)
    assert upper == pytest.approx((count * Gaussian(sigma=sigma)).epsilon_at(delta=1e-8), rel=0.1 / sigma)


@pytest.mark.parametrize("sigma", ["1e-3", "0.2", 1, 50, 10**6, "1e12"])
@pytest.mark.parametrize("delta", ["0.3", "1e-6", "1e-300"])
def test_any_sigma_and_delta_has_an_exact_profile(sigma: str, delta: str) -> None:
    one = DiscreteGaussian(sigma=sigma)
    lower, upper = one.epsilon_bounds(delta=delta)
    assert lower <= upper <= lower * (1 + 1e-12)
    assert upper <= one.routes(delta=delta)["rdp"]


@pytest.mark.parametrize(("variance", "shift", "mu"), [(Fraction(4), 1, "0.5"), (Fraction(81), 3, "0.01")])
def test_with_a_gaussian_it_is_a_mean_of_gaussian_profiles(variance: Fraction, shift: int, mu: str) -> None:
    plan = DiscreteGaussian(rho=shift**2 / (2 * variance), sensitivity=shift) + Gaussian(rho=Fraction(mu) ** 2 / 2)
    lower, upper = plan.delta_bounds(epsilon=1)
    with mp.workdps(60):
        v, m, total, whole = mpf(variance.numerator) / variance.denominator, mpf(mu), mpf(0), mpf(0)
        for x in range(-400, 401):
            mass = mp.exp(-(mpf(x) ** 2) / (2 * v))
            t = (1 - shift * (shift - 2 * x) / (2 * v)) / m - m / 2
            total += mass * (mp.ncdf(-t) - mp.exp(1 - shift * (shift - 2 * x) / (2 * v)) * mp.ncdf(-t - m))
            whole += mass
        truth = total / whole
    assert lower <= truth <= upper <= lower * (1 + 1e-12)


def test_other_mechanisms_beside_it() -> None:
    both = 10 * DiscreteGaussian(sigma=10) + 10 * DiscreteGaussian(sigma=12)  # on one lattice of 1/3600
    lower, upper = both.epsilon_bounds(delta=1e-6)
    assert upper == pytest.approx(lower, rel=1e-12)
    assert both.profile is not None
    assert both.profile.epsilon(Fraction(1e-6)).method == "lattice"
    # on no common lattice: smoothed
    for plan in (
        10 * DiscreteGaussian(sigma=10.3) + Laplace(epsilon=0.1),
        Plan.sum_of(*(DiscreteGaussian(sigma=3 + n / 7) for n in range(20))),
    ):
        lower, upper = plan.epsilon_bounds(delta=1e-6)
        assert lower <= upper <= lower * (1 + 1e-7)


@given(
    variance=fractions(min_value=Fraction(1, 50), max_value=30, max_denominator=50),
    shift=integers(1, 4),
    c=floats(0.01, 30),
    low=floats(0, 2),
    width=floats(0, 0.2),
    place=floats(0, 1),
)
@example(variance=Fraction(2), shift=1, c=1.0, low=0.5, width=0.0, place=0.0)  # two images of equal size
@example(variance=Fraction(2), shift=1, c=1.0, low=0.49, width=0.0, place=0.0)
def test_the_transform_decays_as_fast_as_is_said(
    variance: Fraction, shift: int, c: float, low: float, width: float, place: float
) -> None:
    noise = DiscreteNormal(variance, shift)
    turn = 2 * 3.141592653589793 / float(noise.spacing)
    ends = numpy.array([low * turn]), numpy.array([(low + width) * turn])
    with mp.workdps(90):
        y = mpf(float(ends[0][0])) + (float(ends[1][0]) - float(ends[0][0])) * mpf(place)
        v = mpf(variance.numerator) / variance.denominator
        middle = int(-c * shift)
        reach = range(middle - int(22 * mp.sqrt(v)) - 5, middle + int(22 * mp.sqrt(v)) + 6)
        masses = [mp.exp(-((x + mpf(c) * shift) ** 2) / (2 * v)) for x in reach]
        waves = [mp.expjpi(-y * shift * x / v / mp.pi) for x in reach]
        ratio = abs(mp.fsum(m * w for m, w in zip(masses, waves, strict=True))) / mp.fsum(masses)
        truth = -mp.log(ratio) if ratio else mp.inf
    bound = at_precision(128, lambda: Decay([noise.share(1, arb(c))], arb(c)).bound(*ends))[0]
    assert bound <= truth + mpf(10) ** -20


@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("turns", ["0.3", "0.8", "1.2", "-0.7", "2.9"])
def test_the_transform_is_the_sum_over_the_atoms_on_every_turn(shift: int, turns: str) -> None:
    noise, c = DiscreteNormal(Fraction(2), shift), mpf("0.4")
    with mp.workdps(40):
        y = mpf(turns) * 2 * mp.pi * 2 / shift
        z = mpmath.mpc(c, y)
        masses = {x: mp.exp(-(mpf(x) ** 2) / 4) for x in range(-60, 61)}
        losses = {x: mpf(shift) * (shift - 2 * x) / 4 for x in masses}
        truth = mp.fsum(m * mp.exp(z * losses[x]) for x, m in masses.items()) / mp.fsum(masses.values())
        found = at_precision(200, lambda: noise.moment()(acb(arb(str(c)), arb(mp.nstr(y, 40)))))
        assert abs(complex(found) - complex(truth)) < 1e-12


@pytest.mark.parametrize("variance", [Fraction(1, 900), Fraction(1, 7), Fraction(1, 5), Fraction(3), Fraction(10**9)])
@given(t=floats(-20, 20), height=floats(-4, 4))
def test_theta_is_jacobis(variance: Fraction, t: float, height: float) -> None:
    with mp.workdps(50):
        v = mpf(variance.numerator) / variance.denominator
        point = mpmath.mpc(t, height * v)
        near = range(int(t) - 60, int(t) + 61)
        if variance < 10:
            truth = mp.fsum(mp.exp(-((x - point) ** 2) / (2 * v)) for x in near) / mp.sqrt(2 * mp.pi * v)
        else:
            truth = mp.fsum(mp.exp(-2 * mp.pi**2 * v * n * n + 2j * mp.pi * n * point) for n in range(-3, 4))
        value = at_precision(200, lambda: Theta(variance)(acb(t, arb(height) * lift(variance))))
        size = max(abs(truth), mpf(1))
        for ball, exact in ((value.real, truth.real), (value.imag, truth.imag)):
            assert abs(mpf(ball.mid().str(60, radius=False)) - exact) <= mpf(10) ** -35 * size
            assert ball.rad() <= arb("1e-35") * max(abs(value), 1)


@pytest.mark.parametrize("variance", [Fraction(1, 40), Fraction(1, 2)])
def test_theta_along_a_series_has_the_derivatives(variance: Fraction) -> None:
    def taylor() -> list[arb]:
        series = Theta(variance)(arb_series([arb("0.3"), arb(2)], prec=3))
        return [series[n] for n in range(3)]

    def differences() -> list[arb]:
        theta, step = Theta(variance), arb(2) ** -60
        left, here, right = (theta(arb("0.3") + 2 * n * step) for n in (-1, 0, 1))
        return [here, (right - left) / (2 * step), (right + left - 2 * here) / (2 * step * step)]

    for one, other in zip(at_precision(300, taylor), at_precision(300, differences), strict=True):
        assert abs(one - other) < arb("1e-30")
        assert one.rad() < arb("1e-60")


def sticks(pairs: list[tuple[float, float]], at: list[float]) -> list[float]:
    """The hockey stick divergence of a list of masses at each of these ratios."""
    return [sum(max(p - g * q, 0.0) for p, q in pairs) for g in at]


def listed(law: LossLaw, *, inward: bool) -> list[tuple[float, float]]:
    outcomes = at_precision(128, lambda: law.outcomes(inward=inward))
    assert outcomes is not None
    return [(float(p), float(q)) for p, q in outcomes]


@pytest.mark.parametrize("settings", [6, pytest.param(200, marks=pytest.mark.deep)])
def test_lists_of_some_atoms_lie_above_and_below_all_of_them(settings: int) -> None:
    rng = random.Random(random.getrandbits(64))
    for _ in range(settings):
        sigma, shift = Fraction(rng.randint(20, 600), 4), rng.randint(1, 4)
        v = float(sigma) ** 2
        reach = int(12 * sigma)
        weights = {x: math.exp(-x * x / (2 * v)) for x in range(-reach - shift, reach + shift + 1)}
        whole = sum(weights.values())
        every = [(weights[x] / whole, weights[x - shift] / whole) for x in range(-reach, reach + shift + 1)]
        ratios = [math.exp(shift * (shift - 2 * rng.gauss(0, 1.5) * float(sigma)) / (2 * v)) for _ in range(12)]
        claim = DiscreteGaussian(sigma=sigma, sensitivity=shift).pair()
        assert claim is not None
        above, below = (listed(claim.upper, inward=inward) for inward in (False, True))
        assert len(above) < 400
        for low, true, high in zip(*(sticks(one, ratios) for one in (below, every, above)), strict=True):
            assert low <= true + 1e-14
            assert true <= high + 1e-14
            assert high - low <= 5e-3 * sticks(every, [1.0])[0]


@pytest.mark.deep
def test_two_samples_of_wide_noise_by_all_pairs_of_outcomes() -> None:
    """Of sigma 25, of which some atoms are kept: the losses of all outcomes, and of all pairs of them."""
    x = numpy.arange(-300, 302)
    p, q = (numpy.exp(-((x - shift) ** 2) / 1250.0) for shift in (0, 1))
    p, q = p / p.sum(), q / q.sum()
    with_it = 0.9 * q + 0.1 * p
    both, none = numpy.outer(with_it, with_it), numpy.outer(q, q)
    for epsilon in ("0.002", "0.01"):
        lower, upper = (2 * Subsampled(DiscreteGaussian(sigma=25), rate="0.1")).delta_bounds(epsilon=epsilon)
        truth = numpy.maximum(both - math.exp(float(epsilon)) * none, 0).sum()
        assert lower <= truth * (1 + 1e-9)
        assert truth * (1 - 1e-9) <= upper <= lower * 1.01
