"""Random settings of training by noisy gradients against a plain contour in extended floats, on another line."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp, isfinite, log
from statistics import median

import pytest
from independent.sampled_reference import Other, once, twice

from zcdp import Gaussian, NotCertified, Subsampled
from zcdp.privacy.profile.question import Answer


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
