"""Mixtures of Gaussians: profiles between two bounds of another method, known laws, and moves in any direction."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp
from random import Random

import numpy as np
import pytest
from independent import loss_grid

from zcdp import Gaussian, MixtureOfGaussians, Subsampled
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss.gaussian_mixture_law import MixtureNormal, gaussian_mixture_law

ROUNDING = 1e-12


def binomial(k: int, q: float) -> list[tuple[float, float]]:
    return [(float(j), comb(k, j) * q**j * (1 - q) ** (k - j)) for j in range(k + 1)]


def between(mechanism: MixtureOfGaussians, count: int, epsilon: float, *, step: float, bins: int) -> None:
    """The certified delta lies between the bounds of the explicit densities, in the worse of both directions."""
    line = loss_grid.mixture([(float(m), float(p)) for m, p in mechanism.moves], float(mechanism.sigma))
    both = [loss_grid.ends(line, count, epsilon, step=step, bins=bins, turned=turned) for turned in (False, True)]
    low, high = max(one[0] for one in both), max(one[1] for one in both)
    lower, upper = (count * mechanism).delta_bounds(epsilon=epsilon)
    assert low <= upper + ROUNDING, (mechanism, count, epsilon)
    assert lower <= high + ROUNDING, (mechanism, count, epsilon)
    assert upper - lower <= 1e-6 * upper + ROUNDING, (mechanism, count, epsilon)


def drawn(rng: Random) -> tuple[MixtureOfGaussians, int, float]:
    sigma = Fraction(rng.randint(8, 60), 10)
    if rng.random() < 0.5:
        rate, most = Fraction(rng.randint(1, 400), 1000), rng.randint(1, 6)
        made = MixtureOfGaussians(sigma=sigma, rate=rate, examples=most)
    else:
        moves = [Fraction(rng.randint(1, 40), 10) for _ in range(rng.randint(1, 4))]
        weights = [rng.randint(1, 9) for _ in moves]
        whole = sum(weights) + rng.choice((0, 5, 100, 2000))
        made = MixtureOfGaussians(
            sigma=sigma, sensitivities=moves, probabilities=[Fraction(weight, whole) for weight in weights]
        )
    return made, rng.choice((1, 2, 5, 20, 50)), rng.choice((0.1, 0.5, 1.0, 2.0))


@pytest.mark.parametrize("seed", range(6))
def test_explicit_densities_agree(seed: int) -> None:
    mechanism, count, epsilon = drawn(Random(seed))
    between(mechanism, count, epsilon, step=5e-4, bins=2000)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(6, 206))
def test_explicit_densities_agree_at_many_settings(seed: int) -> None:
    mechanism, count, epsilon = drawn(Random(seed))
    between(mechanism, count, epsilon, step=1e-4, bins=8000)


FEW_DIGITS = [
    # delta is far below what the saddle point formula says: the digits of a first answer tell how many more it takes
    pytest.param(MixtureOfGaussians(sigma="1.4", rate="0.001", examples=3), 5, 0.5, 0.03, marks=pytest.mark.deep),
    (
        MixtureOfGaussians(sigma=6, sensitivities=["1.3", "2.6", "3.2"], probabilities=["3/2014", "2/1007", "7/2014"]),
        50,
        0.5,
        1e-9,
    ),
    # small moves and large ones: far to the left the small ones alone count
    (
        MixtureOfGaussians(sigma=4.5, sensitivities=["0.3", 1.5, "2.6"], probabilities=["6/17", "2/17", "4/17"]),
        2,
        1.0,
        1e-9,
    ),
]


@pytest.mark.parametrize(("mechanism", "count", "epsilon", "width"), FEW_DIGITS, ids=["rare", "many", "small"])
def test_an_answer_of_few_digits_is_kept(
    mechanism: MixtureOfGaussians, count: int, epsilon: float, width: float
) -> None:
    between(mechanism, count, epsilon, step=5e-4, bins=2000)
    lower, upper = (count * mechanism).delta_bounds(epsilon=epsilon)
    assert upper - lower <= width * upper


def test_one_example_is_a_poisson_sample() -> None:
    one, other = MixtureOfGaussians(sigma=1, rate="0.01", examples=1), Subsampled(Gaussian(sigma=1), rate="0.01")
    for count in (1, 100, 10_000):
        found, known = ((count * step).epsilon_bounds(delta="1e-5") for step in (one, other))
        assert found == pytest.approx(known, rel=1e-12)
    assert one.rdp(3) == pytest.approx(other.rdp(3), rel=1e-14)


@pytest.mark.parametrize(("examples", "epsilon"), [(1, 0.1994504), (4, 1.0502021), (16, 4.4299576)])
def test_one_step_of_a_user(examples: int, epsilon: float) -> None:
    assert MixtureOfGaussians(sigma=1, rate="0.01", examples=examples).epsilon_at(delta="1e-5") == pytest.approx(
        epsilon, abs=1e-6
    )


def test_a_move_that_is_certain_is_gaussian_noise() -> None:
    always = MixtureOfGaussians(sigma=2, sensitivities=[3], probabilities=[1])
    known = Gaussian(sigma=2, sensitivity=3)
    for count in (1, 7):
        assert (count * always).delta_at(epsilon=2) == pytest.approx((count * known).delta_at(epsilon=2), rel=1e-12)


def test_the_lower_bound_on_a_turned_weight() -> None:
    """|w(u + it)|/w(u) is at least `shorter`, and |w| grows with u up to a right angle."""
    rng = Random(5)
    for _ in range(30):
        moves = sorted({Fraction(rng.randint(1, 9), 10) for _ in range(rng.randint(1, 4))} | {Fraction(1)})
        weights = [rng.randint(1, 9) for _ in moves]
        still = rng.randint(0, 30)
        whole = sum(weights) + still
        parts = tuple(zip(moves, (Fraction(w, whole) for w in weights), strict=True))
        parts = ((Fraction(0), Fraction(still, whole)), *parts) if still else parts
        v, u, angle = rng.uniform(0.1, 4), rng.uniform(-6, 6), rng.uniform(0, 3)
        sizes = np.array([float(p) * exp(float(m) * u - float(m) ** 2 * v / 2) for m, p in parts])
        turned = abs((sizes * np.exp(1j * angle * np.array([float(m) for m, _ in parts]))).sum())

        def bound(parts: tuple[tuple[Fraction, Fraction], ...] = parts, v: float = v) -> float:
            noise = MixtureNormal(parts, lift(Fraction(v)))
            return float(noise.shorter(noise.risen(lift(Fraction(u))), lift(Fraction(angle))).mid())  # noqa: B023

        assert at_precision(64, bound) <= turned / sizes.sum() + 1e-12


def test_all_mass_is_there_in_both_directions() -> None:
    moves = ((Fraction(0), Fraction(1, 2)), (Fraction(1), Fraction(1, 3)), (Fraction(5, 2), Fraction(1, 6)))
    law = gaussian_mixture_law(moves, Fraction(2))
    law.check()
    law.reverse().check()
    assert not law.symmetric
    assert law.reverse().reverse().removed
