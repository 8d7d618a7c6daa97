"""What a sample claims where its base is only dominated: both ends around explicit neighbours, and a rho at all."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

import numpy as np
import pytest
from mpmath import mp, mpf

from zcdp import (
    L1,
    L2,
    Channel,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    LossPair,
    Plan,
    PureDP,
    RandomizedResponse,
    Shuffled,
    Subsampled,
    TruncatedGeometric,
)

DEVIATIONS = 6  # beyond which the noise is left out: 2e-9 of it


def shifted(variance: float, move: int) -> np.ndarray:
    reach = int(DEVIATIONS * variance**0.5) + 2
    weights = np.exp(-((np.arange(-reach, reach + 1) - move) ** 2) / (2 * variance))
    return weights / weights.sum()


def told(variance: float, moves: tuple[int, ...], rate: float, epsilon: float) -> float:
    """The hockey stick of ((1-q) Q + q P, Q) in its worse order, over all outcomes of the coordinates that move."""
    p = q = np.ones(1)
    for move in moves:
        p, q = np.outer(p, shifted(variance, move)).ravel(), np.outer(q, shifted(variance, 0)).ravel()
    mixed = (1 - rate) * q + rate * p
    return max(np.maximum(one - exp(epsilon) * other, 0).sum() for one, other in ((mixed, q), (q, mixed)))


@pytest.mark.parametrize(
    ("sensitivity", "moves"), [(L2(2), [(2,), (1, 1, 1, 1)]), (L1(3), [(3,), (2, 1), (1, 1, 1)])], ids=repr
)
@pytest.mark.parametrize("how", [{"rate": "1/3"}, {"size": 3, "of": 9}], ids=str)
def test_the_lower_end_is_that_of_some_neighbours(
    sensitivity: L1 | L2, moves: list[tuple[int, ...]], how: dict[str, object]
) -> None:
    base = DiscreteGaussian(rho="10/29", sensitivity=sensitivity)
    sample, variance = Subsampled(base, **how), float(base.variance)  # type: ignore[arg-type]
    for epsilon in (0.1, 0.5):
        truth = max(told(variance, move, 1 / 3, epsilon) for move in moves)
        lower, upper = sample.delta_bounds(epsilon=epsilon)
        assert upper >= truth * (1 - 1e-6)
        assert 0 < lower <= truth * (1 + 1e-6)
    assert not sample.is_tight
    assert sample.rho <= base.rho


def test_what_is_searched_has_a_rho_as_a_sample() -> None:
    shuffled = Shuffled(RandomizedResponse(epsilon="0.331", k=2), clients=3)
    sample = Subsampled(shuffled, size=3, of=11)
    assert 0 < sample.rho <= shuffled.rho
    assert (sample + Laplace(epsilon=1)).rho <= shuffled.rho + Laplace(epsilon=1).rho * (1 + 1e-12)
    whole = TruncatedGeometric(epsilon=1, n=5)
    assert Subsampled(whole, rate=1).rho_fraction == whole.rho_fraction


@pytest.mark.parametrize("count", [1, 3])
def test_an_infinite_epsilon_is_an_answer_of_the_routes(count: int) -> None:
    """Below the probability that an outcome gives the input away nothing finite holds."""
    plan = Plan.sum_of(*[Channel([["1/4", "1/4", "1/2"], ["3/4", "1/4", 0]])] * count)
    assert plan.routes(delta="0.01") == {"profile": inf}
    assert set(plan.routes(delta="0.99")) == {"profile"}


@pytest.mark.parametrize("how", [{"rate": "1/2"}, {"size": 1, "of": 2}], ids=str)
def test_a_sample_of_two_equal_laws_costs_nothing(how: dict[str, object]) -> None:
    sample = Subsampled(LossPair(["1/2", "1/2"], ["1/2", "1/2"]), **how)  # type: ignore[arg-type]
    assert sample.rho_bounds == sample.delta_bounds(epsilon=0) == (0.0, 0.0)
    assert sample.rdp(8) == sample.pure_epsilon == 0.0


def test_sampled_densities_beside_pure_dp_have_a_profile() -> None:
    """Floats lose the variance of losses that hardly differ: then nothing is known of the decay, and no more."""
    plan = Subsampled(Laplace(epsilon=1), rate="0.5") + PureDP(epsilon=1)
    for delta in ("1e-12", "1e-6", "0.1"):
        lower, upper = plan.epsilon_bounds(delta=delta)
        assert 0 < lower <= upper <= 1 + plan.parts[0][0].pure_epsilon * (1 + 1e-12)


def steepest(pair: list[tuple[mpf, mpf]]) -> mpf:
    """The largest over orders of log E_Q (P/Q)^(1+s) / (s (1+s)), in the worse order of the two, by a dense grid."""

    def ratio(s: mpf, masses: list[tuple[mpf, mpf]]) -> mpf:
        return mp.log(mp.fsum(a ** (1 + s) * b**-s for a, b in masses)) / (s * (1 + s))

    grid = [mpf(10) ** (mpf(n) / 200) for n in range(-600, 801)]
    return max(ratio(s, masses) for masses in (pair, [(b, a) for a, b in pair]) for s in grid)


def sampled(pair: list[tuple[mpf, mpf]], rate: mpf) -> list[tuple[mpf, mpf]]:
    return [(rate * a + (1 - rate) * b, b) for a, b in pair]


@pytest.mark.parametrize("kind", ["rational", "irrational"])
def test_masses_far_below_the_grid_of_rounding(kind: str) -> None:
    """A mass of 1e-70 and less is not made one of 2^-200, or what is made of it is not called tight."""
    with mp.workdps(200):
        if kind == "rational":
            a, b = Fraction(1, 10**70), Fraction(1, 10**113)
            sample = Subsampled(LossPair([a, 1 - a], [b, 1 - b], ordered=True), rate="1/2")
            p, q = mpf(10) ** -70, mpf(10) ** -113
            pair = [(p, q), (1 - p, 1 - q)]
        else:
            sample = Subsampled(RandomizedResponse(epsilon=200, k=4), rate="1/2")
            one = 1 / (mp.exp(200) + 3)
            pair = [(mp.exp(200) * one, one), (one, mp.exp(200) * one), (2 * one, 2 * one)]
        truth = steepest(sampled(pair, mpf(1) / 2))
        lower, upper = sample.rho_bounds
        assert lower <= truth * (1 + mpf(10) ** -4)  # as far as the grid of orders goes
        assert upper >= truth
        assert upper <= truth * (1 + mpf(10) ** -4) or not sample.is_tight
        assert lower >= upper * (1 - 1e-6) or not sample.is_tight  # ends that are far apart prove nothing


def test_what_a_finite_law_puts_at_infinity_is_in_no_lower_end() -> None:
    """Losses beyond what is told apart are taken for infinite ones above, and for none below."""
    rare = Fraction(1, 10**25)
    revealing = LossPair([rare, 1 - rare, 0], [0, 1 - rare, rare])
    sample = Subsampled(revealing + RandomizedResponse(epsilon=1, k=2), rate="1/2")
    lower, upper = sample.delta_bounds(epsilon=1)  # beyond log((1 + e)/2), so only the rare outcome tells
    assert Fraction(lower) <= rare / 2 <= Fraction(upper)
    assert sample.epsilon_bounds(delta=rare / 2 + Fraction(1, 10**31))[0] <= log((1 + exp(1)) / 2)
    noise = Subsampled(Gaussian(sigma=1) + Laplace(epsilon=1), rate="1/2")
    lower, upper = noise.epsilon_bounds(delta="1e-31")
    assert lower <= upper < 14


def test_the_largest_loss_of_a_rare_sample_of_large_ones() -> None:
    """Rounding the loss of the base to a double would move that of the sample by several."""
    sample = Subsampled(3 * Laplace(epsilon=Fraction(307, 30)), rate=Fraction(1, 10**13))
    with mp.workdps(40):
        truth = mp.log(1 + (mp.exp(mpf(307) / 10) - 1) / mpf(10) ** 13)
        lower, upper = sample.epsilon_bounds(delta=0)
        assert lower <= truth <= upper <= lower * (1 + mpf(10) ** -15)
