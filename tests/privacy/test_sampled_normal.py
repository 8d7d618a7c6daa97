"""The pieces of the error of a sampled Gaussian's transform, each against the sum or the mean that it bounds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp, mpf

from zcdp.numeric.balls import Undecided, above, at_precision, below
from zcdp.privacy.loss import LossLaw
from zcdp.privacy.loss import sampled_gaussian_law as sampled_decay
from zcdp.privacy.loss import sampled_gaussian_law as sampled_gaussian
from zcdp.privacy.loss.sampled_gaussian_law import SampledGaussianFactor, SampledNormal, sampled_gaussian_law
from zcdp.privacy.loss.sampled_gaussian_proposals import Grid

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
def test_a_cone_is_not_below_the_mean_off_the_real_line(rate: float, variance: float) -> None:
    """The mean of |w(u + it)|^s over F(s): for s >= 0 at most 1, else more, up to angles near pi."""
    for s, angle in product(ORDERS, (0.1, 0.6, 1.2, 1.5, 1.6, 2.2, 2.9)):
        u, size = line(variance, s)
        mean = np.exp(s * np.log(abs(weight(rate, variance, u + 1j * angle))) + size).sum()
        mean /= transform(rate, variance, s).real
        found = at_precision(128, lambda s=s, angle=angle: noise(rate, variance).cone(arb(angle), arb(s)))
        assert mean <= above(found) * (1 + 1e-9), (s, angle)
        assert at_precision(128, lambda f=found, s=s, a=angle: f <= (arb(a) / 2).cos() ** min(s, 0) + arb(2) ** -60)


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_terms_beyond_a_grid_weigh_no_more_than_is_said(rate: float, variance: float) -> None:
    """The sum of step |g(j step + i angle)| over all j before the first and after the last."""
    seen = 0
    for s, angle in product(ORDERS, (0.0, 0.5, 1.3)):
        for first, last, step in (
            (-30, 30, 0.2),
            (-4, 9, 0.5),
            (-9, 40, 0.3),
            (-2, 25, 1.0),
            (-60, 3, 0.25),
            (2, 30, 0.4),
        ):
            scale = variance**0.5
            grid = Grid(step * scale, angle, 3.0, first, last)
            j = np.concatenate([np.arange(first - 400, first), np.arange(last + 1, last + 400)])
            u = j * step * scale
            u = u[(u > -40 * scale - 10) & (u < 40 * scale + max(s, 0) * variance)]
            log_size = s * np.log(abs(weight(rate, variance, u + 1j * angle))) + (angle**2 - u**2) / (2 * variance)
            left_out = np.exp(log_size).sum() * step * scale / (2 * np.pi * variance) ** 0.5
            try:
                found = at_precision(128, lambda g=grid, s=s: noise(rate, variance).beyond(g, arb(s)))
            except Undecided:  # from here on the terms do not surely fall
                continue
            seen += 1
            assert left_out <= above(found) * (1 + 1e-9) + 1e-290, (s, grid)
    assert seen > 25


@pytest.mark.parametrize(("rate", "variance"), NOISES)
def test_a_whole_trapezoidal_sum_is_off_by_no_more_than_is_said(rate: float, variance: float) -> None:
    """Wide steps, on the real line for F(s), and on a rotated one for F(s + iy) at every height."""
    for s, step in product(ORDERS, (0.3, 1.0, 2.0, 4.0)):
        whole = transform(rate, variance, s).real
        for angle, strip in ((0.0, 1.0), (0.0, 2.8), (0.4, 1.4), (1.2, 2.6), (0.9, 3.0)):
            far = int((16 * variance**0.5 + max(s, 0) * variance + 20) / step) + 2
            u = np.arange(-far, far + 1) * step
            grid = Grid(step, angle, strip, -far, far)
            allowed = above(at_precision(128, lambda g=grid, s=s: noise(rate, variance)._slip(g, arb(s)))) * whole
            for y in (0.0,) if not angle else (0.0, 1.5, 6.0):
                place = u + 1j * angle
                with np.errstate(over="ignore"):
                    terms = np.exp((s + 1j * y) * np.log(weight(rate, variance, place)) - place**2 / (2 * variance))
                found = terms.sum() * step / (2 * np.pi * variance) ** 0.5
                assert abs(found - transform(rate, variance, complex(s, y))) <= allowed + 1e-10 * whole, (s, grid, y)


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
