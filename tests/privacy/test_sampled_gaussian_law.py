"""The pieces of the error of a sampled Gaussian's transform, each against the sum or the mean that it bounds."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, isfinite, log
from statistics import median

import numpy as np
import pytest
from flint import acb, arb
from independent.sampled_reference import Other, once, twice
from mpmath import mp, mpf, nstr, workdps

from zcdp import Gaussian, NotCertified, Subsampled
from zcdp.numeric.balls import Undecided, above, at_precision, below, lift
from zcdp.privacy.loss import LossLaw
from zcdp.privacy.loss import sampled_gaussian_law as sampled_decay
from zcdp.privacy.loss import sampled_gaussian_law as sampled_gaussian
from zcdp.privacy.loss.sampled_gaussian_heuristics import Grid
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianFactor, SampledNormal, sampled_gaussian_law
from zcdp.privacy.profile.engine import Answer

NOISES = [(0.1, 1.0), (0.5, 0.25), (0.9, 4.0), (0.02, 9.0)]
ORDERS = [2.0, 7.5, -1.0, -4.0, -12.0]


def noise(rate: float, variance: float) -> SampledNormal:
    return SampledNormal(arb(rate), arb(variance))


def line(variance: float, s: float) -> tuple[np.ndarray, np.ndarray]:
    """Places across both modes, and the logarithm of the normal density there times their distance."""
    deviation = variance**0.5
    u = np.arange(-12 * deviation - 2 * max(-s, 0), 12 * deviation + max(s, 0) * variance, deviation / 40)
    return u, -(u**2) / (2 * variance) - np.log((2 * np.pi * variance) ** 0.5 / (deviation / 40))


def weight(rate: float, variance: float, u: np.ndarray) -> np.ndarray:
    """w = 1 - q + q e^{u - v/2}."""
    return 1 - rate + rate * np.exp(u - variance / 2)


def transform(rate: float, variance: float, s: complex) -> complex:
    """F(s) = E w^s."""
    u, size = line(variance, s.real if isinstance(s, complex) else s)
    return complex(np.exp(s * np.log(weight(rate, variance, u)) + size).sum())


@pytest.mark.parametrize(("rate", "variance"), NOISES)
@pytest.mark.parametrize("removed", [True, False])
def test_the_transform_is_that_of_the_loss(rate: float, variance: float, removed: bool) -> None:
    """E e^{zL}: under the mixture, loss log w; or under Q, loss -log w. Also in the other half plane."""
    u, size = line(variance, 2.5)
    w = np.log(weight(rate, variance, u))
    loss, chance = (w, size + w) if removed else (-w, size)

    def asked(y: float) -> tuple[acb, acb, acb]:
        factor = SampledGaussianFactor(noise(rate, variance), removed=removed)
        tilted = factor.tilted(arb(1.5)).exponentials
        assert tilted is not None
        terms = zip(tilted.weights, tilted.rates, strict=True)
        shape = sum((g * (r * acb(0, abs(y))).exp() for g, r in terms), acb(0)) * factor.moment(arb(1.5))
        return factor.moment(acb(1.5, y)), factor.moment(acb(1.5)), shape

    for y in (0.7, -0.7, 11.0, -60.0):
        truth = np.exp((1.5 + 1j * y) * loss + chance).sum()
        value, real, shape = at_precision(100, lambda y=y: asked(y))
        assert complex(value) == pytest.approx(truth, rel=1e-9, abs=1e-10 * float(abs(real)))
        assert complex(real) == pytest.approx(np.exp(1.5 * loss + chance).sum(), rel=1e-9)
        assert complex(shape) == pytest.approx(
            truth if y > 0 else truth.conjugate(), rel=1e-9, abs=1e-10 * float(abs(real))
        )


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_rotated_sum_is_off_by_no_more_than_is_said(rate: float, variance: float) -> None:
    for s, fall in product(ORDERS[:4], (0.7, 3.0, 12.0)):

        def asked(s: float = s, fall: float = fall) -> tuple[list[complex], list[complex], float]:
            values, logs, error = noise(rate, variance).rotated(arb(s), fall)
            return [complex(x) for x in values], [complex(x) for x in logs], error

        values, logs, error = at_precision(128, asked)
        for y in (0.0, 0.9, 5.0, 40.0):
            found = sum(g * np.exp(1j * y * x) for g, x in zip(values, logs, strict=True))
            whole = transform(rate, variance, s).real
            assert abs(found - transform(rate, variance, complex(s, y))) <= error + 1e-10 * whole, (s, fall, y)


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_divergence_of_order_one_is_within_its_ball(rate: float, variance: float) -> None:
    u, size = line(variance, 1)
    w = weight(rate, variance, u)
    truth = (w * np.log(w) * np.exp(size)).sum()
    for fall in (0.5, 2.0, 6.0, 40.0):
        found = at_precision(128, lambda fall=fall: noise(rate, variance).divergence(fall))
        assert below(found) - 1e-10 <= truth <= above(found) + 1e-10
    assert float(found.rad()) < 1e-12


@pytest.mark.parametrize("variance", [0.572, 0.245, 0.0926])
@pytest.mark.parametrize("rate", [0.9, 0.99])
def test_a_coarse_divergence_of_order_one_charges_the_angle_of_w(rate: float, variance: float) -> None:
    """Nearly all records are sampled: w log w turns with its angle, and the points are where that shows."""
    u, size = line(variance, 1)
    w = weight(rate, variance, u)
    truth = (w * np.log(w) * np.exp(size)).sum()
    for fall in (1.427**2 / (2 * variance) - 1, 1.853**2 / (2 * variance) - 1):
        found = at_precision(128, lambda fall=fall: noise(rate, variance).divergence(fall))
        assert float(found.rad()) / 4 < abs(float(found.mid()) - truth) <= float(found.rad()), fall


def test_what_was_known_roughly_is_asked_again_where_more_is_needed() -> None:
    def asked() -> tuple[arb, arb, arb]:
        one = noise(0.3, 1.0)
        return one.real(arb(3), 2.0), one.real(arb(3), 60.0), one.real(arb(-2), 2.0)

    rough, fine, other = at_precision(200, asked)
    assert fine.rel_accuracy_bits() > 70
    assert rough.overlaps(fine)
    assert float(other) == pytest.approx(transform(0.3, 1.0, -2).real, rel=0.5)
    assert not other.overlaps(fine)


class Cut(SampledNormal):
    """On grids without so many points at each end, or with a part of them."""

    cut, part = 0, 1.0

    def spread(self, s: float, fall: float, step: float, angle: float, strip: float) -> Grid:
        found = super().spread(s, fall, step, angle, strip)
        first, last = int(found.first * self.part), int(found.last * self.part)
        return replace(found, first=first + self.cut, last=last - self.cut)


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_points_left_out_of_a_rotated_sum_are_charged(rate: float, variance: float) -> None:
    """Fine sums that are cut off where terms still weigh: nothing else makes up for them."""
    seen = 0
    for s, part in product((2.0, 7.5, -1.0), (0.8, 0.7, 0.6, 0.5)):

        def asked(s: float = s, part: float = part) -> tuple[complex, float]:
            one = Cut(arb(rate), arb(variance))
            one.real(arb(s), 60.0)  # kept
            one.part = part
            values, _, error = one.rotated(arb(s), 30.0)
            return complex(sum(values, acb(0))), error

        try:
            found, error = at_precision(128, asked)
        except Undecided:
            continue
        missing = abs(found - transform(rate, variance, s))
        assert missing <= error
        seen += missing > 1e-6
    assert seen > 1


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_path_is_not_below_the_mean_that_it_stands_for(rate: float, variance: float) -> None:
    """e^{angle^2/2v} E |w(u + i angle)|^s e^{-y arg w(u + i angle)}/F(s), by coarse sums, of which ends are cut off."""
    heights = np.array([0.0, 0.1, 0.7, 3.0, 15.0])
    for s, angle in product((3.0, -4.0), (0.05, 0.6, 1.2)):
        u, size = line(variance, s)
        w = np.log(weight(rate, variance, u + 1j * angle))
        sizes = s * w.real + size + angle**2 / (2 * variance)
        true = np.exp(sizes - np.outer(heights, w.imag)).sum(axis=1) / transform(rate, variance, s).real
        for fall, cut in ((0.01, 0), (0.2, 0), (1.0, 0), (1.0, 1), (3.0, 2), (6.0, 3)):

            def asked(s: float = s, angle: float = angle, fall: float = fall, cut: int = cut) -> sampled_decay.Path:
                one = Cut(arb(rate), arb(variance))
                whole = one.real(arb(s), 50.0)
                one.cut = cut
                return sampled_decay._path(one, arb(s), whole, angle, fall)

            try:
                path = at_precision(128, asked)
            except Undecided:  # so much is cut off that nothing is known of it
                assert cut
                continue
            bound = np.exp(-np.outer(heights, path.turns)) @ path.sizes + path.rest
            assert (true <= bound * (1 + 1e-9) + 1e-12).all(), (s, angle, fall, cut)


@pytest.mark.parametrize(
    ("rate", "variance", "s", "angle", "fall"),
    [
        (0.9, 0.572, 6.228, 0.05, 2.0),  # points half a step from the mode, and a strip in which both edges weigh alike
        (0.9, 0.2865, 9.757, 0.6, 1.0),
        (0.9, 1.1436, 2.076, 0.05, 1.0),
        (0.7, 0.0548, -5.965, 0.6, 1.076),  # |w|^s is much larger at the edge of the strip than on the line
        (0.5, 0.055, -5.9, 0.6, 4.17),
        (0.7, 0.1004, -14.936, 0.6, 1.591),
    ],
)
def test_the_error_of_a_path_is_needed_where_its_points_miss_the_mode(
    rate: float, variance: float, s: float, angle: float, fall: float
) -> None:
    """The sum over points alone is below the mean, by more than half of what is charged or nearly so."""
    u, size = line(variance, s)
    w = np.log(weight(rate, variance, u + 1j * angle))
    sizes = s * w.real + size + angle**2 / (2 * variance)

    def asked() -> sampled_decay.Path:
        one = Cut(arb(rate), arb(variance))
        one.cut = -6  # what lies beyond weighs nothing
        return sampled_decay._path(one, arb(s), one.real(arb(s), 60.0), angle, fall)

    path = at_precision(128, asked)
    for y in (0.0, 0.1):
        true = np.exp(sizes - y * w.imag).sum() / transform(rate, variance, s).real
        points = float(np.exp(-y * path.turns) @ path.sizes)
        assert points + 1e-4 < true <= points + path.rest


@pytest.mark.parametrize(("rate", "variance"), NOISES)
@pytest.mark.parametrize("s", [3.0, -4.0])
def test_a_path_at_few_bits_is_rounded_to_the_safe_side(rate: float, variance: float, s: float) -> None:
    """Each point's step e^{angle^2/2v} |w|^s density/F(s) from above, its angle of w from below."""
    angle, step, whole = 0.6, 0.5 * variance**0.5, 1.5

    class Known(SampledNormal):
        def spread(self, s: float, fall: float, size: float, angle: float, strip: float) -> Grid:
            self.used = Grid(size, angle, strip, int(-8 * step / size) - 1, int(8 * step / size) + 1)
            return self.used

        def beyond(self, grid: Grid, s: arb) -> arb:
            return arb(0)

    one = at_precision(53, lambda: Known(arb(rate), arb(variance)))
    path = at_precision(30, lambda: sampled_decay._path(one, arb(s), arb(whole), angle, 2.0))
    grid = one.used
    with mp.workdps(40):
        q, v, turn = mpf(rate), mpf(variance), mpf(angle)
        for j, size, least in zip(range(grid.first, grid.last + 1), path.sizes, path.turns, strict=True):
            u = mpf(grid.step) * j
            w = mp.log(1 - q + q * mp.exp(mp.mpc(u - v / 2, turn)))
            exact = mpf(grid.step) / mp.sqrt(2 * mp.pi * v) * mp.exp(s * w.real + (turn**2 - u**2) / (2 * v)) / whole
            assert exact <= mpf(float(size)) <= exact * (1 + mpf("1e-5"))
            assert w.imag * (1 - mpf("1e-5")) <= mpf(float(least)) <= w.imag


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_decay_holds_for_all_larger_heights(rate: float, variance: float) -> None:
    heights = np.concatenate([[0.0], np.geomspace(0.01, 60, 15)])
    for s in (2.0, -5.0):
        whole = transform(rate, variance, s).real
        true = np.array([abs(transform(rate, variance, complex(s, y))) / whole for y in heights])

        def table(s: float = s) -> np.ndarray:
            one = noise(rate, variance)
            return sampled_decay.SampledDecay(one, arb(s), one.real(arb(s), 50.0), 3)(heights)

        least = -np.log(np.maximum.accumulate(true[::-1])[::-1])
        assert (at_precision(128, table) <= np.where(least < 15, least + 1e-7, np.inf)).all()  # to what doubles tell


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_one_use_and_its_largest_loss_are_those_of_the_mixture(rate: float, variance: float) -> None:
    """delta = E_P (1 - e^{epsilon - L})_+ of (A, Q) and of (Q, A); without the record w > 1 - q, so L < -log(1 - q)."""
    law = sampled_gaussian_law(Fraction(rate), lambda: arb(variance))
    u, size = line(variance, 1)
    w, mass = weight(rate, variance, u), np.exp(size)
    top = -np.log1p(-rate)
    assert at_precision(128, law.largest) == arb.pos_inf()
    assert float(at_precision(128, law.reverse().largest)) == pytest.approx(top)
    for part in (0.0, 0.2, 0.5, 0.9):
        grown = np.exp(part * top)
        with_it, without = (np.maximum(a - grown * b, 0) @ mass for a, b in ((w, 1.0), (1.0, w)))
        for one, truth in ((law, with_it), (law.reverse(), without), (law.reverse().reverse(), with_it)):

            def asked(one: LossLaw = one, part: float = part) -> float:
                formula = one.alone()
                assert formula is not None
                return float(formula(arb(part * top)))

            assert at_precision(128, asked) == pytest.approx(truth, abs=2e-3 * truth + 1e-6)


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("fall", [1.0, 4.0])
def test_few_exponentials_are_off_by_no_more_than_they_say(
    removed: bool, fall: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M(1 + iy)/M(1) for doubles, by a coarse sum: its error is charged, and it is one."""
    rate, variance = 0.3, 1.0
    u, size = line(variance, 2)
    w = np.log(weight(rate, variance, u))
    loss, chance = (w, size + w) if removed else (-w, size)

    def asked() -> tuple[list[complex], list[complex], float]:
        factor = SampledGaussianFactor(noise(rate, variance), removed=removed)
        factor.noise.real(factor._power(arb(1)), 60.0)  # kept: M(1) is known well
        found = factor.tilted(arb(1)).exponentials
        assert found is not None
        return [complex(g) for g in found.weights], [complex(x) for x in found.rates], above(found.error)

    monkeypatch.setattr(sampled_gaussian, "TILTED_FALL", fall)
    weights, rates, error = at_precision(128, asked)
    worst = 0.0
    for y in (0.0, 0.5, 2.0, 9.0):
        truth = np.exp((1 + 1j * y) * loss + chance).sum() / np.exp(loss + chance).sum()
        worst = max(worst, abs(sum(g * np.exp(1j * y * x) for g, x in zip(weights, rates, strict=True)) - truth))
    assert 1e-9 < worst <= error


# The transform of Gaussian noise on a sample encloses the integral however coarse its grid; samples of samples.


@cache
def integral(rate: Fraction, variance: Fraction, s: int) -> mpf:
    """E w^s over normal u of this variance, w = 1 - q + q e^{u - variance/2}: by Gauss and Legendre, piece by piece."""
    q, v = mpf(rate.numerator) / rate.denominator, mpf(variance.numerator) / variance.denominator

    def density(u: mpf) -> mpf:
        weight = (1 - q + q * mp.exp(u - v / 2)) ** s
        return weight * mp.exp(-u * u / (2 * v)) / mp.sqrt(2 * mp.pi * v)

    deviation = mp.sqrt(v)
    ends = [deviation * n + max(s, 0) * v * mpf(part) / 4 for n in (-12, 12) for part in range(5)]
    return mp.quad(density, sorted([*ends, 0]))


class Narrow(SampledNormal):
    """On a grid that leaves out so many points at each end as make a difference."""

    cut = 0

    def grid(self, s: float, fall: float, *, rotated: bool) -> Grid:
        found = super().grid(s, fall, rotated=rotated)
        return replace(found, first=found.first + self.cut, last=found.last - self.cut)


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("fall", [0.5, 2.0, 8.0, 30.0])
@pytest.mark.parametrize(("rate", "variance"), [("0.1", "1"), ("0.5", "0.25"), ("0.9", "4")])
def test_the_error_of_a_coarse_grid_is_charged(rate: str, variance: str, fall: float, cut: int) -> None:
    for s in (2, 7, -1, -4):
        with workdps(25):
            truth = arb(nstr(integral(Fraction(rate), Fraction(variance), s), 22))

        def ball(s: int = s) -> arb:
            noise = Narrow(lift(Fraction(rate)), lift(Fraction(variance)))
            noise.cut = cut
            return noise.real(arb(s), fall)

        try:
            found = at_precision(128, ball)
        except Undecided:  # so much is left out that nothing is known of it
            assert cut
            continue
        assert found.lower() <= truth <= found.upper(), (s, found)
        assert cut or fall < 30 or found.rel_accuracy_bits() > 40


def test_a_sample_of_a_sample_is_a_smaller_sample() -> None:
    twice = Subsampled(Subsampled(Gaussian(sigma=1), rate="0.5"), rate="0.2")
    once = Subsampled(Gaussian(sigma=1), rate="0.1")
    for times in (1, 5):
        assert (times * twice).delta_at(epsilon="0.1") == pytest.approx((times * once).delta_at(epsilon="0.1"))


# Random settings of training by noisy gradients against a plain contour in extended floats, on another line.


def settings(seed: int, count: int) -> list[tuple[float, float, int, float]]:
    """Rates 1e-5 to 1, sigma 0.3 to 50, 1 to 10^7 steps, delta 1e-15 to 0.1, evenly on the logarithmic scale."""
    draw = random.Random(seed)

    def between(low: float, high: float) -> float:
        return float(f"{exp(draw.uniform(log(low), log(high))):.3g}")

    return [
        (between(1e-5, 1), between(0.3, 50), int(exp(draw.uniform(0, log(1e7)))), between(1e-15, 0.1))
        for _ in range(count)
    ]


def other(q: float, sigma: float, steps: int, epsilon: float, order: float, delta: float) -> tuple[float, float] | None:
    """delta(epsilon) as the larger of both orders, and the noise in it; None where extended floats cannot tell."""
    if steps <= 2:
        real = once if steps == 1 else twice
        return max(real(q, 1 / sigma, epsilon), real(q, 1 / sigma, epsilon, add=True)), 1e-15
    found = []
    for add in (False, True):
        if add and q < 1 and epsilon >= -steps * log(1 - q):
            continue
        contour = Other([(q, 1 / sigma, steps)], 0.8 * order, add=add, most=2000)
        value = noise = before = float("nan")
        for factor in (1, 3):
            period = factor * ((60 - log(delta)) / contour.c + 2 * epsilon)
            before, (value, noise) = value, contour.delta(epsilon, period)
        if not (isfinite(value) and noise < 1e-6 * delta and abs(value - before) < 1e-6 * delta):
            if add:  # its own line is another one: nothing is claimed of this order
                continue
            return None
        found.append((value, noise))
    return max(found)


def check(q: float, sigma: float, steps: int, delta: float) -> tuple[Answer | None, bool]:
    """The library's answer, and whether it was compared."""
    profile = (steps * Subsampled(Gaussian(sigma=sigma), rate=q)).profile
    try:
        answer = profile.epsilon(Fraction(delta))
    except NotCertified:
        return None, False
    above = other(q, sigma, steps, answer.upper, answer.s, delta)
    if above is None:
        return answer, False
    assert above[0] <= delta * (1 + 1e-7) + 10 * above[1], (q, sigma, steps, delta, answer)
    if answer.lower > 0:
        below = above if answer.lower > answer.upper * (1 - 1e-12) else None
        below = below or other(q, sigma, steps, answer.lower, answer.s, delta)
        assert below is not None
        assert below[0] >= delta * (1 - 1e-7) - 10 * below[1], (q, sigma, steps, delta, answer)
    return answer, True


def run(seed: int, count: int) -> tuple[list[Answer | None], int]:
    answers = [check(*setting) for setting in settings(seed, count)]
    return [answer for answer, _ in answers], sum(compared for _, compared in answers)


def width(answer: Answer) -> float:
    return (answer.upper - answer.lower) / answer.upper if answer.upper else 0.0


@pytest.mark.parametrize(
    "setting", [(0.00612, 1.31, 2020, 3.1e-7), (0.0312, 7.8, 64_100, 2.2e-11), (0.41, 23.0, 871, 0.0031)]
)
def test_some_settings(setting: tuple[float, float, int, float]) -> None:
    answer, compared = check(*setting)
    assert compared
    assert answer is not None
    assert width(answer) < 1e-12


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(20))
def test_many_settings(seed: int) -> None:
    answers, compared = run(seed, 100)
    known = [answer for answer in answers if answer is not None]
    assert len(known) >= 99
    assert compared >= 40
    assert median(map(width, known)) < 1e-12
