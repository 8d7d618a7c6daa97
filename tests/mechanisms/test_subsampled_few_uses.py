"""Few uses of sampled noise with a density: against integrals over the first use, without any transform."""

from __future__ import annotations

import warnings
from fractions import Fraction
from random import Random

import mpmath
import numpy as np
import pytest
from independent import few_uses
from independent.loss_grid import Losses

from zcdp import DiscreteGaussian, Gaussian, Laplace, PureDP, Subsampled


def once(q: mpmath.mpf, base: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    """The mean of (A - xQ)_+ for A = (1-q) Q + q P, by P - x'Q, x' = (x - 1 + q)/q, of Laplace noise."""
    ratio = (x - 1 + q) / q
    if ratio >= mpmath.exp(base):
        return mpmath.mpf(0)
    if ratio <= mpmath.exp(-base):
        return 1 - x
    return q * (1 - mpmath.sqrt(ratio * mpmath.exp(-base)))


def twice(q: mpmath.mpf, base: mpmath.mpf, epsilon: mpmath.mpf, *, add: bool) -> mpmath.mpf:
    """The mean over the noise of the first use of what the second makes of the rest."""

    def second(w: mpmath.mpf) -> mpmath.mpf:
        """With the first ratio w = dA/dQ, or dQ/dA, the second must exceed e^epsilon over it."""
        x = mpmath.exp(epsilon) / w
        return 1 - x + x * once(q, base, 1 / x) if add else once(q, base, x)

    def term(loss: mpmath.mpf) -> mpmath.mpf:
        w = 1 - q + q * mpmath.exp(loss)
        return second(1 / w) if add else w * second(w)

    atoms = term(-base) / 2 + term(base) * mpmath.exp(-base) / 2  # under Q
    ends = [(mpmath.exp(s * epsilon) / (1 - q + q * mpmath.exp(t)) - 1 + q) / q for s in (-1, 1) for t in (-base, base)]
    kinks = sorted({mpmath.log(x) for x in ends if mpmath.exp(-base) < x < mpmath.exp(base)})
    density = mpmath.quad(lambda loss: mpmath.exp(-(base + loss) / 2) / 4 * term(loss), [-base, *kinks, base])
    return max(atoms + density, mpmath.mpf(0))


def compared(base: object, rate: str, epsilon: str, within: float, haste: int) -> None:
    """Each order by itself: never below, and close."""
    profile = (2 * Subsampled(Laplace(epsilon=base), rate=rate)).profile
    with mpmath.workdps(25):
        for order, add in zip(profile.directions, (False, True), strict=True):
            truth = twice(mpmath.mpf(rate), mpmath.mpf(base), mpmath.mpf(epsilon), add=add)
            lower, upper, *_ = order.delta(Fraction(epsilon), haste=haste)
            assert (
                lower * (1 - mpmath.mpf(2) ** -52)
                <= truth
                <= upper * (1 + mpmath.mpf(2) ** -52) + mpmath.mpf(10) ** -22
            )
            assert upper - lower <= within * upper


@pytest.mark.parametrize(("base", "rate", "epsilon"), [(1, "0.1", "0.1"), ("0.3", "0.5", "0.05")])
def test_two_uses_in_haste(base: object, rate: str, epsilon: str) -> None:
    compared(base, rate, epsilon, within=1e-4, haste=8)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("base", "rate", "epsilon"),
    [(1, "0.1", "0.01"), (1, "0.1", "0.2"), ("0.3", "0.5", "0.05"), ("0.3", "0.5", "0.2"), (2, "0.001", "0.003")],
)
def test_two_uses(base: object, rate: str, epsilon: str) -> None:
    compared(base, rate, epsilon, within=1e-8, haste=1)


def test_two_uses_next_to_the_largest_loss() -> None:
    """Where only the atoms at the top are left."""
    answer = (2 * Subsampled(Laplace(epsilon=1), rate="0.1")).profile.epsilon(Fraction(1, 10**5))
    assert answer.upper - answer.lower <= 1e-9 * answer.upper
    with mpmath.workdps(25):
        q, one = mpmath.mpf("0.1"), mpmath.mpf(1)
        assert twice(q, one, mpmath.mpf(answer.lower), add=False) >= mpmath.mpf("1e-5") * (1 - 1e-12)
        assert twice(q, one, mpmath.mpf(answer.upper), add=False) <= mpmath.mpf("1e-5") * (1 + 1e-12)


@pytest.mark.parametrize("delta", ["1e-6", "3e-7"])
def test_a_report_beside_sampled_noise_next_to_the_largest_loss(delta: str) -> None:
    """Nearly all of the tilted mass is in one atom there, and its variance is what floats must not cancel away."""
    q, base = mpmath.mpf(1) / 2, mpmath.mpf(1)
    both = {sign: 1 / (1 + mpmath.exp(-sign)) for sign in (1, -1)}  # losses of the report, with their masses

    def truth(epsilon: float, *, add: bool) -> mpmath.mpf:
        x = {sign: mpmath.exp(mpmath.mpf(epsilon) - sign) for sign in both}
        parts = {sign: 1 - y + y * once(q, base, 1 / y) if add else once(q, base, y) for sign, y in x.items()}
        return sum(mass * parts[sign] for sign, mass in both.items())

    plan = Subsampled(Laplace(epsilon=1), rate="0.5") + PureDP(epsilon=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lower, upper = plan.epsilon_bounds(delta=delta)
    assert max(truth(upper, add=add) for add in (False, True)) <= mpmath.mpf(delta)
    assert max(truth(lower, add=add) for add in (False, True)) >= mpmath.mpf(delta)
    assert upper <= lower * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", ["1e-9", "2e-12"])
def test_two_uses_at_a_tiny_rate(epsilon: str) -> None:
    """Losses far above epsilon/2 are so rare that no Chernoff bound sees them: the integral over the first use does."""
    with mpmath.workdps(40):
        q, mu, x = mpmath.mpf(10) ** -12, mpmath.mpf(1) / 3, mpmath.mpf(epsilon)

        def tail(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(z / mpmath.sqrt(2)) / 2

        def second(more: mpmath.mpf) -> mpmath.mpf:
            """The mean of (w - 1 - more)_+ under noise without the record, w the ratio with it: w - 1 >= -q."""
            if more <= -q:
                return -more
            z = (mpmath.log1p(more / q) + mu * mu / 2) / mu
            return q * tail(z - mu) - (q + more) * tail(z)

        def term(z: mpmath.mpf) -> mpmath.mpf:
            loss = mpmath.log1p(q * mpmath.expm1(mu * z - mu * mu / 2))
            return mpmath.exp(-z * z / 2 + loss) * second(mpmath.expm1(x - loss))

        kink = (mpmath.log1p(mpmath.expm1(x) / q + 1) + mu * mu / 2) / mu  # from where on the second is not needed
        edges = sorted([*(mpmath.mpf(n) / 2 for n in range(-24, 66)), kink])
        truth = mpmath.quad(term, edges) / mpmath.sqrt(2 * mpmath.pi)
    lower, upper = (2 * Subsampled(Gaussian(sigma=3), rate="1e-12")).delta_bounds(epsilon=epsilon)
    assert lower <= truth <= upper
    assert upper <= (1.01 * lower if truth > 1e-80 else 1e-80)  # 1.0e-107 at 1e-9: below what cells tell apart


def few_steps(seed: int) -> None:
    """Up to nine steps at any rate: certified ends around an integral over each step, in the worse of both orders."""
    rng = Random(f"few steps {seed}")
    rate, sigma = Fraction(float(10 ** rng.uniform(-6, -0.3))), Fraction(rng.randint(60, 250), 100)
    uses, delta = rng.choice((2, 3, 4, 5, 7, 9)), rng.choice(("1e-4", "1e-6", "1e-8"))
    plan = uses * Subsampled(Gaussian(sigma=sigma), rate=rate)
    least, most = plan.epsilon_bounds(delta=delta)
    if most == 0:  # a delta so large, or a rate so small, that nothing is told
        epsilon = float(rate)
    else:
        assert most <= 1.01 * least
        epsilon = rng.choice((0.6, 1.0)) * most
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    found = max(few_uses.delta(float(rate), float(1 / sigma), uses, epsilon, removed=way) for way in (True, False))
    where = (rate, sigma, uses, epsilon, found, lower, upper)
    assert lower * (1 - 2e-3) <= found <= upper * (1 + 2e-3) + 1e-14, where


@pytest.mark.parametrize("seed", [2, 3])
def test_a_few_steps_by_an_integral_over_each(seed: int) -> None:
    few_steps(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_a_few_steps_by_an_integral_over_each_at_many_settings(seed: int) -> None:
    few_steps(seed)


def wide_noise(seed: int) -> None:
    """Samples of integer noise, from narrow to wide: certified ends between bounds by all outcomes."""
    rng = Random(f"wide noise {seed}")
    sigma, rate = rng.choice((2, 5, 10, 20, 50, 200)), rng.choice((0.01, 0.1, 0.5))
    uses, delta = rng.choice((1, 10, 100)), rng.choice(("1e-4", "1e-6"))
    plan = uses * Subsampled(DiscreteGaussian(sigma=sigma), rate=Fraction(str(rate)))
    least, most = plan.epsilon_bounds(delta=delta)
    epsilon = rng.choice((0.6, 1.0)) * most or 1e-6
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    x = np.arange(-13 * sigma, 13 * sigma + 2)
    unmoved, moved = (np.exp(-((x - at) ** 2) / (2 * sigma**2)) for at in (0, 1))
    without = unmoved / unmoved.sum()
    with_it = (1 - rate) * without + rate * moved / moved.sum()
    step = 1e-3 * epsilon / uses
    below, above = [], []
    for p, q in ((with_it, without), (without, with_it)):
        losses = np.log(p / q) / step
        for found, rounding in ((below, np.floor), (above, np.ceil)):
            found.append(Losses.at(p, rounding(losses), step).power(uses).delta(epsilon))
    where = (sigma, rate, uses, epsilon, max(below), max(above), lower, upper)
    assert max(below) <= upper * (1 + 1e-9) + 1e-12, where
    assert lower * (1 - 1e-9) <= max(above) + 1e-12, where
    assert most <= 1.02 * least, where


@pytest.mark.parametrize("seed", [1, 2])
def test_samples_of_integer_noise_by_all_outcomes(seed: int) -> None:
    wide_noise(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_samples_of_integer_noise_by_all_outcomes_at_many_settings(seed: int) -> None:
    wide_noise(seed)
