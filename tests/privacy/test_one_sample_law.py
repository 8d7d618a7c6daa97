"""The law of a plan on one sample is that of the whole product: every use, every coordinate, both ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Gaussian, L0LInf, Laplace, Log, LossPair, Plan, RandomizedResponse
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import gaussian_pair
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.profile_law import ProfileLaw
from zcdp.privacy.sampled_curve import product_law

F = Fraction


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def reports_delta(uses: list[tuple[Fraction, int]], epsilon: Fraction) -> mpf:
    """delta of randomized responses, each with its e^epsilon as a fraction and its k, over all outcomes."""
    rows = []
    for e, k in uses:
        truth, other = e / (e + k - 1), 1 / (e + k - 1)
        rows.append([(truth, other), (other, truth), ((k - 2) * other, (k - 2) * other)])
    total, x = mpf(0), mp.exp(real(epsilon))
    for outcome in product(*rows):
        p = q = F(1)
        for a, b in outcome:
            p, q = p * a, q * b
        total += max(real(p) - x * real(q), mpf(0))
    return total


def law_of(plan: Plan) -> LossLaw:
    law = product_law(plan)
    assert law is not None
    return law


def asked(law: LossLaw, epsilon: arb) -> tuple[float, float]:
    """Infinite losses included."""
    assert isinstance(law, ProfileLaw)
    lower, upper = law.ends(epsilon)
    return below(lower), above(upper)


RESPONSES = 2 * RandomizedResponse(epsilon=Log(3), k=3) + RandomizedResponse(epsilon=Log(2), k=4)


@pytest.mark.parametrize(("left", "right"), [(F(0), F(0)), (F(1, 2), F(1, 2)), (F(0), F(2)), (F(1, 3), F(3, 2))])
def test_an_interval_of_epsilons_has_the_delta_of_each_of_its_ends(left: Fraction, right: Fraction) -> None:
    """delta falls: its upper end is that of the least epsilon, its lower end that of the largest."""
    law = law_of(RESPONSES)
    uses = [(F(3), 3), (F(3), 3), (F(2), 4)]
    with mp.workdps(40):
        highest, lowest = reports_delta(uses, left), reports_delta(uses, right)
        lower, upper = at_precision(128, lambda: asked(law, lift(left).union(lift(right))))
        assert lower <= lowest
        assert highest <= upper
        assert upper <= highest * (1 + mpf(10) ** -6)
        assert lower >= lowest * (1 - mpf(10) ** -6)


def test_an_interval_without_an_end_holds_every_delta() -> None:
    law = law_of(RESPONSES)

    def ends() -> tuple[tuple[float, float], tuple[float, float]]:
        return asked(law, arb(1).union(arb("+inf"))), asked(law, arb("+inf"))

    unknown, far = at_precision(128, ends)
    assert unknown[0] == 0
    assert unknown[1] >= reports_delta([(F(3), 3), (F(3), 3), (F(2), 4)], F(1))
    assert far == (0.0, 0.0)


def test_what_is_given_away_stays_given_away_at_every_epsilon() -> None:
    """Each of two uses shows the input with probability 1/4, in both orders: at infinity 1 - (3/4)^2 is left."""
    pair = LossPair(p=["1/4", "3/4", "0"], q=["0", "3/4", "1/4"])
    law = law_of(2 * pair + RandomizedResponse(epsilon=1, k=2))
    lower, upper = at_precision(128, lambda: asked(law, arb("+inf")))
    assert lower <= 7 / 16 <= upper
    assert (lower, upper) == pytest.approx((7 / 16, 7 / 16), rel=1e-12)


def test_the_largest_loss_counts_every_use_and_every_coordinate() -> None:
    """Two uses of noise on three coordinates at 1/2 each, and one response at 1."""
    noise = Laplace(scale=2, sensitivity=L0LInf(3, 1))
    law = law_of(2 * noise + RandomizedResponse(epsilon=1, k=4))
    assert at_precision(128, lambda: bool(abs(law.largest() - 4) < arb("1e-30")))


def test_noise_on_several_coordinates_is_as_many_noises() -> None:
    """delta of six Laplace noises of scale 2, which were written as six mechanisms: a sum over all of them."""
    noise = Laplace(scale=2, sensitivity=L0LInf(3, 1))
    law = law_of(2 * noise)
    six = (6 * Laplace(epsilon="1/2")).delta_bounds(epsilon="0.7")
    lower, upper = at_precision(128, lambda: asked(law, lift(F(7, 10))))
    assert lower == pytest.approx(six[0], rel=1e-9)
    assert upper == pytest.approx(six[1], rel=1e-9)


def test_gaussian_noises_add_their_squares() -> None:
    """mu^2 = 3/4 + 2/9, whatever they are called."""
    law = law_of(3 * Gaussian(sigma=2) + 2 * Gaussian(sigma=3))
    assert isinstance(law, GaussianLaw)
    assert law.exact
    assert at_precision(128, lambda: bool(abs(law.curvature() - lift(F(35, 36))) < arb("1e-30")))


class Coordinates(Gaussian):
    """Noise on several coordinates that are told apart."""

    @property
    def coordinates(self) -> tuple[tuple[Gaussian, int], ...]:
        return ((Gaussian(sigma=2), 4),)


def test_gaussian_coordinates_are_counted() -> None:
    """Three uses of four coordinates at mu^2 = 1/4."""
    law = law_of(3 * Coordinates(sigma=1))
    assert isinstance(law, GaussianLaw)
    assert at_precision(128, lambda: bool(law.curvature() == 3))


class Unknown(Laplace):
    """Noise of which no law is known."""

    def pair(self) -> None:
        return None


class Dominated(Gaussian):
    """Noise that is known only by a law above it."""

    def pair(self) -> GaussianLaw:
        return gaussian_pair(lambda: arb(1))


def test_parts_of_which_no_symmetric_law_is_known_leave_the_whole_unknown() -> None:
    ordered = LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True)
    assert product_law(2 * Laplace(epsilon=1) + ordered) is None
    assert product_law(2 * Laplace(epsilon=1) + Unknown(epsilon=1)) is None
    assert product_law(Plan.sum_of(Gaussian(sigma=2), Unknown(epsilon=1))) is None


def test_a_product_with_a_law_that_only_dominates_is_not_exact() -> None:
    assert law_of(2 * Laplace(epsilon=1) + Gaussian(sigma=1)).exact_alone
    assert not law_of(2 * Laplace(epsilon=1) + Dominated(sigma=1)).exact_alone
    assert not law_of(Gaussian(sigma=2) + Dominated(sigma=1)).exact
    assert law_of(Gaussian(sigma=2) + Gaussian(sigma=1)).largest() == inf
