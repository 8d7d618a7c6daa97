"""Poisson samples of which a record is replaced: profiles between two bounds of another method, and known limits."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, exp, log, sqrt
from random import Random

import numpy as np
import pytest
from flint import arb
from independent import loss_grid

from zcdp import Gaussian, ReplacedSample, Subsampled
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss.replaced_sample_law import ReplacedNormal, ReplacedSampleLaw

ROUNDING = 1e-12


def opposite(rate: float, sigma: float) -> loss_grid.Line:
    """A record of 1 in the place of one of -1."""
    p, q = (loss_grid.normals([(0.0, 1 - rate), (move, rate)], sigma) for move in (1.0, -1.0))
    reach = 1 + loss_grid.REACH * sigma
    return loss_grid.Line(p, q, -reach, reach)


def between(seed: int, *, step: float, bins: int) -> None:
    rng = Random(seed)
    sigma, rate = Fraction(rng.randint(6, 60), 10), Fraction(rng.choice((1, 5, 20, 100, 500, 900, 999)), 1000)
    count = rng.choice((1, 2, 5, 20, 50))
    steps = count * ReplacedSample(Gaussian(sigma=sigma), rate=rate)
    epsilon = rng.choice((0.1, 0.5, 1.0)) * steps.epsilon_at(delta="1e-6")  # not where delta is next to nothing
    low, high = loss_grid.ends(opposite(float(rate), float(sigma)), count, epsilon, step=step, bins=bins)
    lower, upper = steps.delta_bounds(epsilon=epsilon)
    where = (sigma, rate, count, epsilon)
    assert low <= upper + ROUNDING, where
    assert lower <= high + ROUNDING, where
    assert upper - lower <= 1e-6 * upper + ROUNDING, where


@pytest.mark.parametrize("seed", range(8))
def test_explicit_densities_agree(seed: int) -> None:
    between(seed, step=5e-4, bins=2000)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(8, 208))
def test_explicit_densities_agree_at_many_settings(seed: int) -> None:
    between(seed, step=1e-4, bins=8000)


def test_one_use_against_the_error_function() -> None:
    """The divergence of half lines, the best of many, in floats."""
    for rate, sigma, epsilon in ((0.1, 1.0, 0.5), (0.6, 2.0, 0.3), (0.01, 0.7, 1.0)):
        x = exp(epsilon)

        def beyond(t: float, middle: float, sigma: float = sigma) -> float:
            return erfc((t - middle) / (sigma * sqrt(2))) / 2

        best = max(
            rate * (beyond(t, 1) - x * beyond(t, -1)) - (1 - rate) * (x - 1) * beyond(t, 0)
            for t in (n / 2000 for n in range(-8000, 16000))
        )
        found = ReplacedSample(Gaussian(sigma=sigma), rate=rate).delta_bounds(epsilon=epsilon)
        assert best <= found[1] * (1 + 1e-12)
        assert found[0] == pytest.approx(best, rel=1e-6)


def test_it_lies_between_a_record_that_is_there_or_not_and_one_without_sampling() -> None:
    for rate in ("1/1000", "1/10", "9/10"):
        replaced = 20 * ReplacedSample(Gaussian(sigma=2), rate=rate)
        there_or_not = (20 * Subsampled(Gaussian(sigma=2), rate=rate)).epsilon_at(delta="1e-6")
        everywhere = (20 * Gaussian(sigma=2, sensitivity=2)).epsilon_at(delta="1e-6")
        assert there_or_not < replaced.epsilon_at(delta="1e-6") < everywhere
    near = 20 * ReplacedSample(Gaussian(sigma=2), rate="999999999/1000000000")
    assert near.epsilon_at(delta="1e-6") == pytest.approx(everywhere, rel=1e-6)


def simpson(rate: float, v: float, s: float) -> float:
    """log F(s) in floats, by Simpson's rule."""
    reach, n = 40 * sqrt(v) + abs(2 * s) * v, 40_000
    total = 0.0
    for j in range(n + 1):
        u = -reach + 2 * reach * j / n
        w, mirrored = (1 - rate + rate * exp(t - v / 2) for t in (u, -u))
        total += (1, 4, 2)[0 if j in (0, n) else 1 + (j % 2 == 0)] * exp(
            s * log(w) + (1 - s) * log(mirrored) - u * u / (2 * v)
        )
    return log(total * 2 * reach / n / 3 / sqrt(2 * 3.141592653589793 * v))


@pytest.mark.parametrize(("rate", "v"), [(0.3, 1.0), (0.01, 0.25), (0.9, 2.0)])
def test_the_transform_by_simpsons_rule(rate: float, v: float) -> None:
    def noise() -> ReplacedNormal:
        return ReplacedNormal(lift(Fraction(rate)), lift(Fraction(v)))

    for s in (-1.5, 0.25, 0.5, 1.7, 4.0):
        value = at_precision(128, lambda s=s: noise().real(lift(Fraction(s)), 60.0).log())
        assert float(value) == pytest.approx(simpson(rate, v, s), abs=1e-9)
        assert float(value.rad()) < 1e-20
    order = at_precision(128, lambda: noise().divergence(60.0))
    step = 1e-4
    right, left = (simpson(rate, v, 1 + one) for one in (step, -step))
    assert float(order) == pytest.approx((right - left) / (2 * step), rel=1e-5)


@pytest.mark.parametrize(("rate", "v"), [(0.3, 1.0), (0.01, 0.25), (0.9, 2.0)])
def test_the_bound_on_a_turned_integrand(rate: float, v: float) -> None:
    """The mean of the moduli on a shifted line, by a sum over many points, in floats."""
    noise = ReplacedNormal(lift(Fraction(rate)), lift(Fraction(v)))
    for s in (-6.0, -0.5, 0.5, 1.5, 9.0, 40.0):
        far = (2 * abs(s) + 1) * v + 12 * sqrt(v)
        u = np.linspace(-far, far, 40_001)
        size = [
            s * np.log(abs(1 - rate + rate * np.exp(u - v / 2 + 1j * angle)))
            + (1 - s) * np.log(abs(1 - rate + rate * np.exp(-u - v / 2 - 1j * angle)))
            - u * u / (2 * v)
            for angle in (0.0, 0.3, 1.0, 1.5, 2.5)
        ]
        top = max(one.max() for one in size)
        plain, *turned = (float(np.exp(one - top).sum()) for one in size)
        for angle, mean in zip((0.3, 1.0, 1.5, 2.5), turned, strict=True):
            assert mean <= plain * float(noise.cone(arb(angle), arb(s))) * (1 + 1e-9), (s, angle)


def test_the_law_is_checked_and_symmetric() -> None:
    law = ReplacedSampleLaw(Fraction(1, 7), lambda: lift(Fraction(3, 2)))
    law.check()
    assert law.reverse() is law
    one, other = (at_precision(128, lambda z=z: law.ready().moment(lift(Fraction(z)))) for z in (0.75, -1.75))
    assert one.overlaps(other)
