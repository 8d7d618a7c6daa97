"""Truncated and mixed noise: infinite losses, one mode in common, and what is refused."""

from __future__ import annotations

from math import exp, inf, log

import pytest

from zcdp import GeneralizedGaussian, Laplace, Mixture, Noise, Plan, StudentT, Truncated
from zcdp.errors import BadType, BadValue

LAPLACE = GeneralizedGaussian(power=1, scale=1)
TWICE = GeneralizedGaussian(power=1, scale=1, sensitivity=2)


def test_noise_that_ends_gives_inputs_away() -> None:
    noise = Truncated(LAPLACE, low=-3, high=3)
    gone = (exp(-2) - exp(-3)) / (2 * (1 - exp(-3)))
    assert noise.rho == noise.pure_epsilon == inf
    assert noise.infinite_because == "the noise ends at -3 and 3: beyond, an output gives the input away"
    low, high = noise.delta_bounds(epsilon=5)
    assert low <= gone * (1 + 1e-12)
    assert high == pytest.approx(gone, rel=1e-9)
    one_sided = Truncated(LAPLACE, low=-3)
    assert one_sided.infinite_because.startswith("the noise ends at -3:")
    assert one_sided.delta_at(epsilon=5) >= (exp(-2) - exp(-3)) / (2 - exp(-3)) * (1 - 1e-9)


@pytest.mark.parametrize("low", ["1", "4.5", "5", "20", "200"])
def test_noise_that_is_cut_beyond_its_mode(low: str) -> None:
    """Exponential noise from there on: 1 - 1/e of the outputs on the smaller input lie where the other has none."""
    gone = 1 - exp(-1)
    for noise in (Truncated(LAPLACE, low=low), Truncated(LAPLACE, high=f"-{low}")):
        for epsilon in ("0", "0.5", "1.5", "50"):
            assert noise.delta_bounds(epsilon=epsilon) == pytest.approx((gone, gone), rel=1e-12)
        lower, upper = (3 * noise).delta_bounds(epsilon=4)
        assert lower * (1 - 1e-12) <= 1 - exp(-3) <= upper * (1 + 1e-12)
        assert upper - lower < 1e-9
        assert noise.epsilon_bounds(delta="0.7") == (0, 0)
        assert noise.epsilon_bounds(delta="0.6") == (inf, inf)


@pytest.mark.parametrize("low", [5, 200])
def test_draws_of_noise_that_is_cut_beyond_its_mode(low: int) -> None:
    noise = Truncated(LAPLACE, low=low)
    drawn = noise.sample(400) - low
    assert drawn.min() >= -0.001
    assert abs((drawn > 1).mean() - exp(-1)) < 5 * (0.25 / 400) ** 0.5
    assert noise.accuracy().half_width == pytest.approx(low - log(0.05), rel=1e-9)
    assert noise.accuracy().standard_deviation == pytest.approx((1 + (low + 1) ** 2) ** 0.5, rel=1e-9)


def test_a_finite_loss_that_is_less_likely_than_what_is_given_away() -> None:
    """Student's t far out: all finite losses are in the direction in which nothing is given away."""
    noise = Truncated(StudentT(degrees=3, scale=1), low=360)
    [one, other] = noise.delta_bounds(epsilon="0.001")
    lower, upper = (3 * noise).delta_bounds(epsilon="0.02")
    assert lower <= upper <= lower * (1 + 1e-9)
    assert lower == pytest.approx(1 - (1 - one) ** 3, rel=1e-9)
    assert other == pytest.approx(one, rel=1e-12)


def test_uniform_noise() -> None:
    """As the part of a flat top: outside of what both inputs reach nothing is hidden, inside nothing is told."""
    noise = Truncated(Noise("exp(-max(0, abs(x) - 1))", sensitivity="0.1"), low=-1, high=1)
    for epsilon in (0, 3):
        assert noise.delta_bounds(epsilon=epsilon) == pytest.approx((0.05, 0.05), rel=1e-12)
        low, high = (10 * noise).delta_bounds(epsilon=epsilon)
        assert low * (1 - 1e-12) <= 1 - 0.95**10 <= high * (1 + 1e-12)
        assert high - low < 1e-8
    with pytest.raises(BadValue, match=r"density is 0 near x = 1; of noise that ends .* Truncated"):
        Noise("max(0, 1 - abs(x))")


def test_draws_stay_inside() -> None:
    drawn = Truncated(LAPLACE, low=-1, high=2).sample(300)
    assert -1.001 <= drawn.min() < -0.5
    assert 1.5 < drawn.max() <= 2.001


def test_a_mixture_of_one_mode_in_common() -> None:
    noise = Mixture([[3, LAPLACE], [1, GeneralizedGaussian(power=1, scale=4)]])
    assert noise.is_unimodal
    assert noise.parts_inside[0][0] == 3 / 4
    assert Mixture([[0.7, LAPLACE], [0.2, LAPLACE], [0.1, LAPLACE]]).parts_inside[1][0] == pytest.approx(0.2)
    assert Mixture([[1, LAPLACE], [1, TWICE]], sensitivity=3).sensitivity == 3
    assert noise.pure_epsilon <= 1.0001
    assert Plan.parse(repr(noise)).parts == ((noise, 1),)
    assert Plan.parse(repr(Truncated(LAPLACE, low=-3))).parts == ((Truncated(LAPLACE, low=-3), 1),)


def test_a_mixture_of_gaussians_apart_has_the_rho_of_one() -> None:
    noise = Mixture([[1, Noise("exp(-(x - 2)^2/2)")], [1, Noise("exp(-(x + 2)^2/2)")]])
    assert not noise.is_unimodal
    assert 0.5 <= noise.rho < 0.505


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: Truncated(LAPLACE), BadType, "give low, high, or both"),
        (lambda: Truncated(LAPLACE, low=2, high=1), BadValue, "low (2) must be below high (1)"),
        (lambda: Truncated(3, low=1), BadType, "must be noise that is known by its density"),
        (lambda: Mixture([]), BadValue, "1 to 20 kinds"),
        (lambda: Mixture([[1, 2]]), BadType, "parts_inside[0]"),
        (lambda: Mixture([[1, Laplace(scale=1)]]), BadType, "GeneralizedGaussian(power=1, ...) for Laplace"),
        (lambda: Truncated(Laplace(scale=1), low=1), BadType, "GeneralizedGaussian(power=1, ...) for Laplace"),
        (lambda: Mixture([["0.9", LAPLACE], ["0.3", LAPLACE]]), BadValue, "must add up to 1, not 1.2"),
        (lambda: Mixture([["1/2", LAPLACE], ["1/2", TWICE]]), BadValue, "different sensitivities"),
    ],
)
def test_refusals(make: object, error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        make()  # type: ignore[operator]
    assert told in str(caught.value)
