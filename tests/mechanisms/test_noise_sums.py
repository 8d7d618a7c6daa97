"""Weighted sums of noise, against their law by plain convolution: the half-width holds, and is hardly too wide."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import cos, exp, lcm, sqrt

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import DiscreteGaussian, DiscreteLaplace
from zcdp.mechanisms.noise import noise_sums
from zcdp.mechanisms.noise.noise_sums import NoiseSum, _Reach, short_variance
from zcdp.numeric.balls import NotCertified, at_precision

Mass = Callable[[int], float]
LAWS: dict[str, tuple[DiscreteGaussian | DiscreteLaplace, Mass, int]] = {
    "gaussian": (DiscreteGaussian(sigma=4), lambda x: exp(-x * x / 32), 40),
    "narrow gaussian": (DiscreteGaussian(sigma="0.4"), lambda x: exp(-x * x / 0.32), 5),
    "laplace": (DiscreteLaplace(scale=2), lambda x: exp(-abs(x) / 2), 70),
    "sure": (DiscreteLaplace(epsilon=12), lambda x: exp(-12 * abs(x)), 3),
}
SUMS = [
    (("gaussian", "1", 1),),
    (("gaussian", "1/3", 5), ("laplace", "2/5", 3)),
    (("laplace", "1", 1), ("gaussian", "1/20", 30)),
    (("narrow gaussian", "1", 1), ("narrow gaussian", "1/2", 3), ("laplace", "1/6", 2)),
    (("sure", "1", 2),),
    (("laplace", "3/7", 1), ("laplace", "1/7", 1)),
]


def law(terms: tuple[tuple[str, str, int], ...]) -> tuple[np.ndarray, np.ndarray]:
    """Where the sum may lie, and with what probability."""
    below = lcm(*(Fraction(share).denominator for _, share, _ in terms))
    masses = np.ones(1)
    for name, share, count in terms:
        _, mass, far = LAWS[name]
        steps = int(Fraction(share) * below)
        one = np.zeros(2 * far * steps + 1)
        one[::steps] = [mass(x) for x in range(-far, far + 1)]
        for _ in range(count):
            masses = np.convolve(masses, one / one.sum())
    reach = len(masses) // 2
    return np.arange(-reach, reach + 1) / below, masses


@pytest.mark.parametrize("terms", SUMS, ids=lambda terms: " ".join("*".join(map(str, one)) for one in terms))
def test_the_half_width_is_that_of_the_law(terms: tuple[tuple[str, str, int], ...]) -> None:
    places, masses = law(terms)
    noise = NoiseSum(tuple((LAWS[name][0], Fraction(share), count) for name, share, count in terms))
    found = noise.accuracy()
    deviation = sqrt(masses @ places**2)
    assert found.standard_deviation == pytest.approx(deviation, rel=1e-9)
    assert masses[np.abs(places) > found.half_width].sum() <= 0.05
    # not the least one: it is smoothed over 1/500 of where less than 1e-6 is left
    least = min(h for h in np.abs(places) if masses[np.abs(places) > h].sum() <= 0.05)
    far = min(h for h in np.abs(places) if masses[np.abs(places) > h].sum() <= 1e-7)
    assert found.half_width <= 1.001 * least + 0.004 * far + 1e-9


@pytest.mark.parametrize("level", ["0.5", "0.8", "0.999"])
@pytest.mark.parametrize("terms", SUMS[1:3], ids=lambda terms: " ".join("*".join(map(str, one)) for one in terms))
def test_other_levels_hold_too(terms: tuple[tuple[str, str, int], ...], level: str) -> None:
    places, masses = law(terms)
    noise = NoiseSum(tuple((LAWS[name][0], Fraction(share), count) for name, share, count in terms))
    found, miss = noise.accuracy(Fraction(level)), float(1 - Fraction(level))
    assert found.level == float(level)
    assert found.standard_deviation >= sqrt(masses @ places**2) * (1 - 1e-12)
    assert masses[np.abs(places) > found.half_width].sum() <= miss
    assert masses[np.abs(places) > 0.9 * found.half_width - 0.3].sum() > miss


@pytest.mark.parametrize("terms", SUMS[1:3], ids=lambda terms: " ".join("*".join(map(str, one)) for one in terms))
def test_no_tail_is_told_to_be_lighter_than_it_is(terms: tuple[tuple[str, str, int], ...]) -> None:
    """At any place inside the reach, and the reach itself is hardly ever exceeded."""
    places, masses = law(terms)
    known = tuple((LAWS[name][0], Fraction(share), count) for name, share, count in terms)
    reach = at_precision(96, lambda: _Reach(known, Fraction(1, 20)))
    assert masses[np.abs(places) >= reach.reach].sum() <= 0.05 / 50_000
    assert reach.reach < 20 * sqrt(masses @ places**2)
    for part in (0.02, 0.1, 0.25, 0.5, 0.9):
        place = part * reach.reach
        told = at_precision(96, lambda place=place: reach.outside(place))
        assert masses[np.abs(places) > place].sum() <= float(told.upper())
        nearer = masses[np.abs(places) > place - 2.01 * reach.blur].sum()
        assert float(told.lower()) <= nearer + 1e-5


@pytest.mark.parametrize("terms", SUMS[::2], ids=lambda terms: " ".join("*".join(map(str, one)) for one in terms))
@pytest.mark.parametrize(("rare", "kept"), [("1/20", 4750), ("1/50000", 2000), ("1/50000", 3000)])
def test_what_lies_beyond_the_reach_and_waves_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, terms: tuple[tuple[str, str, int], ...], rare: str, kept: int
) -> None:
    """A reach that is exceeded often, and so few waves that the folded law swings around the true one."""
    monkeypatch.setattr(noise_sums, "BEYOND_REACH_PART", Fraction(rare))
    monkeypatch.setattr(noise_sums, "SERIES_TERMS", kept)
    places, masses = law(terms)
    known = tuple((LAWS[name][0], Fraction(share), count) for name, share, count in terms)
    reach = at_precision(64, lambda: _Reach(known, Fraction(1, 2)))
    nearby = [1.4030769, 1.6584615, 1.7861538, 1.9138461, 2.1692307]
    for h in (*(part * reach.blur for part in nearby), 0.9 * reach.reach, reach.reach * (1 - 1e-12)):
        told = at_precision(64, lambda h=h: reach.outside(h))
        assert masses[np.abs(places) > h].sum() <= float(told.upper()), h


def test_a_tail_next_to_what_may_be_missed_leads_to_the_next_point() -> None:
    """At 3 the tail is 0.000999, and from 3 1/6 on it is 0.00064: there is no reason to go to where nothing is left."""
    places, masses = law(SUMS[3])
    noise = NoiseSum(tuple((LAWS[name][0], Fraction(share), count) for name, share, count in SUMS[3]))
    found = noise.accuracy(Fraction("0.999")).half_width
    assert masses[np.abs(places) > found].sum() <= 0.001
    assert masses[np.abs(places) > 3.0].sum() == pytest.approx(0.000999, abs=1e-6)
    assert found <= 3.2


@pytest.mark.parametrize("digits", [3, 6, 7, 14, 16, 18])
def test_levels_of_many_nines_hold(digits: int) -> None:
    sigma = 10
    found = NoiseSum(((DiscreteGaussian(sigma=sigma), Fraction(1), 1),)).accuracy(1 - Fraction(1, 10**digits))
    with mp.workdps(60):
        weights = [mp.exp(-mpf(x * x) / (2 * sigma**2)) for x in range(40 * sigma)]
        whole = 2 * mp.fsum(weights) - 1
        missed = 2 * mp.fsum(w for x, w in enumerate(weights) if x > found.half_width) / whole
        assert missed <= mpf(10) ** -digits
        chernoff = sigma * mp.sqrt(2 * mp.log(2 * mpf(50_000) * mpf(10) ** digits))
    assert found.half_width <= 1.001 * chernoff + 1


def test_waves_that_are_hardly_known_are_not_believed() -> None:
    """Balls around those of a narrower law, wide enough for the true one."""

    class Rough:
        def wave(self) -> Callable[[arb], arb]:
            near, true = DiscreteGaussian(sigma="3.5").wave(), DiscreteGaussian(sigma=4).wave()
            return lambda angle: near(angle) + arb(0, 1.001 * float(abs(near(angle) - true(angle)).upper()))

        def growth(self) -> Callable[[arb], arb]:
            return DiscreteGaussian(sigma=4).growth()

        def _second_moment(self) -> arb:
            return DiscreteGaussian(sigma=4)._second_moment()

    places, masses = law((("gaussian", "1", 1),))
    found = NoiseSum(((Rough(), Fraction(1), 1),)).accuracy().half_width
    assert masses[np.abs(places) > found].sum() <= 0.05


@pytest.mark.parametrize("name", ["gaussian", "narrow gaussian", "laplace", "sure"])
def test_a_short_variance_is_the_variance_to_twenty_bits(name: str) -> None:
    mechanism, mass, far = LAWS[name]
    whole = sum(mass(x) for x in range(-far, far + 1))
    truth = sum(x * x * mass(x) for x in range(-far, far + 1)) / whole
    found = short_variance(mechanism)
    assert float(found) == pytest.approx(truth, rel=2.0**-19)
    assert found.numerator.bit_length() <= 21


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("angle", [0.0, 0.3, 3.1, 3.2, 40.7])
def test_waves_and_moments_are_those_of_the_law(name: str, angle: float) -> None:
    mechanism, mass, far = LAWS[name]
    whole = sum(mass(x) for x in range(-far, far + 1))
    mean = sum(mass(x) * cos(angle * x) for x in range(-far, far + 1)) / whole
    ball = at_precision(96, lambda: mechanism.wave()(arb(angle)))
    assert float(ball.mid()) == pytest.approx(mean, abs=1e-12)
    assert float(ball.rad()) < 1e-20
    tilt = angle / 100
    moment = sum(mass(x) * exp(tilt * x) for x in range(-far, far + 1)) / whole
    assert float(at_precision(96, lambda: mechanism.growth()(arb(tilt))).mid()) >= moment * (1 - 1e-12)


def test_many_draws_and_wide_noise_cost_no_more() -> None:
    sigma = 10**30
    wide = NoiseSum(((DiscreteGaussian(sigma=sigma), Fraction(1, 1000), 1_000_000),)).accuracy()
    assert wide.standard_deviation == pytest.approx(1e30)
    assert 1.9599 < wide.half_width / 1e30 < 1.975


def test_what_no_float_says_is_an_error() -> None:
    for sigma in ("0.001", "0.00001"):
        with pytest.raises(NotCertified, match="too small"):
            short_variance(DiscreteGaussian(sigma=sigma))
