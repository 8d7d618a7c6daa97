"""The Renyi curve of sums over samples of a fixed size: three records in a ball, by their densities."""

from __future__ import annotations

import random
from fractions import Fraction
from math import cos, erfc, exp, expm1, hypot, log, pi, sin, sqrt
from random import Random

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from zcdp import Gaussian, ReplacedSample, Subsampled
from zcdp.privacy.fixed_size_curve import FixedSizeGaussian

Array = NDArray[np.float64]
Point = tuple[float, float]
SPREAD, POINTS = 9.0, 360  # the plane from -9 - C to 9 + C, where powers of densities that matter have died out


def moment(points: tuple[Point, Point, Point], rate: float, s: float) -> float:
    """E_Q (P/Q)^{1+s}: with probability `rate` noise of variance 1 around x, or x' under Q, else around y."""
    x, other, y = points
    reach = max(hypot(*p) for p in points) * (2 + s) + SPREAD
    line = np.linspace(-reach, reach, POINTS)
    u, v = np.meshgrid(line, line)
    still, one, two = (-((u - a) ** 2 + (v - b) ** 2) / 2 for a, b in (y, x, other))
    p, q = (np.logaddexp(np.log(1 - rate) + still, np.log(rate) + moved) for moved in (one, two))
    return float(np.exp((1 + s) * p - s * q).sum() * (line[1] - line[0]) ** 2 / (2 * pi))


def curve(rate: Fraction, norm: float) -> FixedSizeGaussian:
    return FixedSizeGaussian(rate, lambda: arb(4 * norm * norm))


def some_points(rng: Random, norm: float) -> tuple[Point, Point, Point]:
    """Mostly on the sphere, often at the ends of a diameter or as an equilateral triangle."""
    kind = rng.randrange(4)
    first = rng.uniform(0, 2 * pi)
    turns = [first, first + pi, rng.uniform(0, 2 * pi)] if kind == 0 else [first + 2 * pi * i / 3 for i in range(3)]
    if kind > 1:
        turns = [rng.uniform(0, 2 * pi) for _ in range(3)]
    if kind == 3:
        turns[2] = turns[rng.randrange(2)] + rng.choice((0.0, 0.1))
    sizes = [norm if kind != 2 else norm * rng.choice((1.0, rng.random())) for _ in range(3)]
    x, other, y = [(size * cos(turn), size * sin(turn)) for size, turn in zip(sizes, turns, strict=True)]
    return x, other, y


def held(rng: Random, settings: int) -> float:
    """No three records in the ball have more than the bound, and those that are alike have nearly as much."""
    nearest = 0.0
    for _ in range(settings):
        norm, rate = rng.uniform(0.1, 0.9), Fraction(rng.choice((3, 10, 50, 200, 500, 900)), 1000)
        s = rng.choice((0.2, 0.7, 1.0, 1.3, 2.0, 3.5, 6.0))
        bound = exp(float(curve(rate, norm).cumulant(arb(s)))) - 1
        one, other = (norm, 0.0), (-norm, 0.0)
        nearest = max(nearest, (moment((one, other, other), float(rate), s) - 1) / bound)
        for points in ((one, other, other), (one, other, one), *(some_points(rng, norm) for _ in range(6))):
            assert moment(points, float(rate), s) - 1 <= bound * (1 + 1e-7) + 1e-12
    return nearest


def test_three_records_in_a_ball() -> None:
    assert held(Random(random.getrandbits(64)), 12) > 0.9


@pytest.mark.deep
def test_three_records_in_a_ball_at_many_settings() -> None:
    assert held(Random(random.getrandbits(64)), 200) > 0.99


def test_the_second_moment_of_three_records_in_space() -> None:
    """e^{|a|^2} - 2 e^{(a,b)} + e^{|b|^2} <= e^D - 1 in any dimension; an equilateral triangle of side 2C has more."""
    draws = np.random.default_rng(Random(random.getrandbits(64)).randrange(2**32))
    for dimension in (1, 2, 3, 5):
        points = draws.normal(size=(4000, 3, dimension))
        points /= np.linalg.norm(points, axis=2, keepdims=True)
        points[:2000] *= draws.random((2000, 3, 1))
        norm = draws.uniform(0.05, 1.5, 4000)[:, None]
        x, other, y = (norm * points[:, i] for i in range(3))
        a, b = x - y, other - y
        found = np.exp((a * a).sum(1)) - 2 * np.exp((a * b).sum(1)) + np.exp((b * b).sum(1))
        assert (found <= np.expm1(4 * norm[:, 0] ** 2) * (1 + 1e-12)).all()
    assert 2 * exp(1) - 2 * exp(0.5) > expm1(1)  # of side 1: why the records' norms, not only their distances, count


def game(noise: float, rate: float, steps: int, epsilon: float) -> float:
    """delta against an opponent who lets all other records be as x, or as x', anew in each step, by what was seen.

    H(e) is taken on a grid of losses for both choices, their masses by its second differences; values of the game,
    times e^{-e/2}, by convolution.
    """
    move, h, n = 2 / noise, 2e-3, 4096
    losses = np.arange(-n, n) * h

    def drawn(g: float) -> float:
        if g <= 1 - rate:
            return 1 - g
        k = (g - 1 + rate) / rate
        d = -log(k) / move + move / 2
        return rate * (erfc(-d / sqrt(2)) - k * erfc((move - d) / sqrt(2))) / 2

    stick = np.array([drawn(exp(e)) for e in [*losses, n * h]])
    ratio = np.exp([*losses, n * h])
    slopes = np.concatenate([[-1.0], np.diff(stick) / np.diff(ratio), [0.0]])
    mass = np.sqrt(ratio) * np.maximum(np.diff(slopes), 0)
    one = np.fft.rfft(np.fft.ifftshift(mass[:-1]))
    kernel = {1: one, -1: np.conj(one)}
    ends = np.exp(-losses / 2) * np.maximum(1 - np.exp(losses), 0)
    gain = np.exp(-losses / 2) * stick[:-1] - ends
    gains = {1: gain, -1: gain[(-np.arange(2 * n)) % (2 * n)]}
    value = np.zeros(2 * n)
    for _ in range(steps):
        seen = np.fft.rfft(value)
        value = np.maximum(*(np.fft.irfft(seen * kernel[way]) + gains[way] for way in (1, -1)))
    return float(np.interp(epsilon, losses, np.exp(losses / 2) * (value + ends)))


@pytest.mark.parametrize(("noise", "size", "steps"), [(2.0, 10, 300), (1.6, 3, 400)])
def test_an_opponent_who_chooses_the_others_by_what_was_seen(noise: float, size: int, steps: int) -> None:
    run = steps * ReplacedSample(Gaussian(sigma=noise), size=size, of=1000)
    fixed, found = run.epsilon_bounds(delta="1e-5")
    assert 0.2e-5 < game(noise, size / 1000, steps, found) <= 1e-5 * (1 + 1e-3)
    assert game(noise, size / 1000, steps, fixed) >= 1e-5 * (1 - 1e-3)
    assert found <= (steps * Subsampled(Gaussian(sigma=noise, sensitivity=2), size=size, of=1000)).epsilon_at(
        delta="1e-5"
    )
