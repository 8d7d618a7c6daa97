"""Renyi curves of samples: never below the mixture itself, in either order of the neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, log, pi, tanh

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Gaussian, L0LInf, Laplace, Log, LossPair, Plan, PureDP, RandomizedResponse, Subsampled
from zcdp.errors import BadType
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import Claim, gaussian_pair, laplace_pair
from zcdp.privacy.loss.finite_law import FiniteLaw, finite_law
from zcdp.privacy.loss.gaussian_law import GaussianLaw
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.profile_law import ProfileLaw
from zcdp.privacy.loss.sampled_gaussian_law import sampled_gaussian_law
from zcdp.privacy.sampled_curve import (
    SampledConvex,
    SampledFinite,
    SampledGaussian,
    finite_curve,
    product_claim,
    replaced_curve,
    sampled_curve,
)

F = Fraction
ORDERS = [F(1), F(3, 2), F(2), F(5), F(20)]


def divergence(p: list[float], q: list[float], order: float) -> float:
    """Of two lists of masses."""
    a, b = np.array(p), np.array(q)
    if order == 1:
        return float((a * np.log(a / b)).sum())
    return float(np.log((a * (a / b) ** (order - 1)).sum()) / (order - 1))


def worse(p: list[float], q: list[float], rate: float, order: float) -> float:
    """Of a record that is drawn with that probability: with it against without it, and the other way round."""
    mix = [rate * a + (1 - rate) * b for a, b in zip(p, q, strict=True)]
    return max(divergence(mix, q, order), divergence(q, mix, order))


def finite(p: list[str], q: list[str]) -> FiniteLaw:
    law = finite_law([(F(a), F(b)) for a, b in zip(p, q, strict=True)])
    law = getattr(law, "source", law)  # of losses at equal distances
    assert isinstance(law, FiniteLaw)
    return law


@pytest.mark.parametrize("order", ORDERS)
def test_the_larger_of_both_orders_of_a_finite_law(order: Fraction) -> None:
    p, q = ["1/2", "3/10", "1/5"], ["1/10", "1/4", "13/20"]
    a, b = [float(F(x)) for x in p], [float(F(x)) for x in q]
    truth = max(divergence(a, b, float(order)), divergence(b, a, float(order)))
    for law in (finite(p, q), finite(q, p)):
        curve = SampledFinite(law)
        assert curve.rdp(order) == pytest.approx(truth, rel=1e-12)
        assert curve.pure_epsilon == pytest.approx(log(5), rel=1e-15)
        assert curve.largest_loss == Log(5)
        assert curve.rho * float(order) >= truth
        assert not curve.unbounded


def test_an_outcome_that_only_one_of_the_two_can_produce_costs_everything_in_either_order() -> None:
    """Infinite with the record or without it: the order of the neighbours is the adversary's choice."""
    for p, q in ((["1/2", "1/4", "1/4"], ["1/2", "1/2", "0"]), (["1/2", "1/2", "0"], ["1/2", "1/4", "1/4"])):
        curve = SampledFinite(finite(p, q))
        assert curve.unbounded
        assert curve.rho == curve.pure_epsilon == curve.rdp(2) == inf
        assert curve.largest_loss is None


def test_of_two_alike_nothing_is_lost() -> None:
    curve = SampledFinite(finite(["1/2", "1/2"], ["1/2", "1/2"]))
    assert curve.rho == curve.pure_epsilon == curve.rdp(2) == curve.rdp(1) == 0
    assert curve.largest_loss == 0


def test_what_was_asked_at_few_bits_is_made_anew_at_more() -> None:
    curve = SampledFinite(finite(["1/2", "3/10", "1/5"], ["1/10", "1/4", "13/20"]))
    first = at_precision(24, lambda: curve.pairs()[0].losses[0])
    second = at_precision(200, lambda: curve.pairs()[0].losses[0])
    assert first.rel_accuracy_bits() < 60
    assert second.rel_accuracy_bits() > 150


RATES = [F(1, 100), F(3, 10), F(9, 10)]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("e", [F(1, 2), F(8)])
def test_convexity_bounds_a_sampled_response(rate: Fraction, e: Fraction) -> None:
    """Two outcomes of pure DP, in both orders; and no more than the base itself."""
    truth, other = exp(e) / (1 + exp(e)), 1 / (1 + exp(e))
    base = PureDP(epsilon=e)
    curve = SampledConvex(base, rate)
    for order in ORDERS:
        assert worse([truth, other], [other, truth], float(rate), float(order)) <= curve.rdp(order) * (1 + 1e-12)
        assert curve.rdp(order) <= base.rdp(order)
    top = log(1 - rate + float(rate) * exp(e))
    assert curve.pure_epsilon == pytest.approx(top, rel=1e-13)
    tilted = max(worse([truth, other], [other, truth], float(rate), 1 + n / 10) / (1 + n / 10) for n in range(1, 200))
    assert curve.rho_bounds[0] == 0
    assert tilted * (1 - 1e-12) <= curve.rho_bounds[1] <= base.rho
    assert curve.rho_bounds[1] == pytest.approx(top * tanh(top / 2), rel=1e-12)  # that of pure DP
    assert not curve.is_tight
    assert not curve.unbounded


def test_a_loss_beyond_all_exponents_is_the_base_s() -> None:
    """log(1 + q (e^800 - 1)) is 800 + log q, which e^800 as a double would not show."""
    curve = SampledConvex(PureDP(epsilon=800), F(1, 2))
    assert 800 + log(0.5) <= curve.pure_epsilon <= 800
    assert SampledConvex(Gaussian(sigma=1), F(1, 2)).pure_epsilon == inf


def test_a_law_of_its_own_is_taken_where_it_costs_less() -> None:
    """Gaussian noise on half of ten records, drawn without replacement: both orders, by plain quadrature."""
    x = np.linspace(-14, 26, 40_001)
    q = np.exp(-(x**2) / 2)
    q /= q.sum()
    p = q * np.exp(x - 0.5)
    noise = Subsampled(Gaussian(sigma=1), size=5, of=10)
    for order in (F(3, 2), F(2), F(4), F(12)):
        truth = worse(p.tolist(), q.tolist(), 0.5, float(order))
        assert truth <= noise.rdp(order) * (1 + 1e-9)
        assert noise.rdp(order) <= Gaussian(sigma=1).rdp(order)


@pytest.mark.parametrize("rate", RATES)
def test_sampled_gaussian_noise_at_orders_small_and_large(rate: Fraction) -> None:
    """By quadrature; beyond all binomial sums between q^a e^{a(a-1)/(2 sigma^2)} and the noise without a sample."""
    sigma = 20
    x, width = np.linspace(-12, 160, 86_001, retstep=True)
    log_q = log(width) - x**2 / 2 - log(2 * pi) / 2
    ratio = np.log1p(float(rate) * np.expm1(x / sigma - 1 / (2 * sigma**2)))
    curve = SampledGaussian(sampled_gaussian_law(rate, lambda: arb(1) / 400))
    for order in (1.5, 7.0, 400.25, 999.5, 1001.0, 1500.5, 2200.75):
        terms = log_q + order * ratio
        most = terms.max()
        truth = (most + np.log(np.exp(terms - most).sum())) / (order - 1)
        assert truth * (1 - 1e-9) <= curve.rdp(order) <= truth * (1 + 1e-5)
    for order in (100_001.0, 200_000.5, 1e7):
        gaussian = order / (2 * sigma**2)
        least = (order * log(rate) + order * (order - 1) / (2 * sigma**2)) / (order - 1)
        assert max(least, 0.0) <= curve.rdp(order) <= gaussian * (1 + 1e-9)
    assert curve.rho == pytest.approx(1 / (2 * sigma**2), rel=1e-15)
    assert F(curve.rho) >= F(1, 2 * sigma**2)
    assert curve.rho_order == curve.pure_epsilon == inf


def test_which_curve_is_taken() -> None:
    """That of the law where it is finite or Gaussian; but not an infinite one of a base that is finite."""
    base, rate = RandomizedResponse(epsilon=1, k=3), F(1, 4)
    noise = sampled_gaussian_law(rate, lambda: arb(1))
    assert isinstance(sampled_curve(noise, Gaussian(sigma=1), rate), SampledGaussian)
    few = finite(["1/2", "1/2"], ["1/4", "3/4"])
    away = finite(["1/2", "1/2", "0"], ["1/2", "1/4", "1/4"])
    given = LossPair(p=["1/2", "1/2", "0"], q=["1/2", "1/4", "1/4"])
    for choose in (sampled_curve, replaced_curve):
        assert isinstance(choose(few, base, rate), SampledFinite)
        bounded = choose(away, base, rate)
        assert isinstance(bounded, SampledConvex)
        assert bounded.rho < base.rho / 4
        assert choose(away, given, rate).rho == inf
        assert isinstance(choose(None, base, rate), SampledConvex)
        assert isinstance(choose(gaussian_pair(lambda: arb(1)), Gaussian(sigma=1), rate), SampledConvex)
    assert isinstance(finite_curve(few), SampledFinite)
    with pytest.raises(BadType):
        finite_curve(laplace_pair(Fraction(1)))


# The law of a plan on one sample is that of the whole product: every use, every coordinate, both ends.


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


def claim_of(plan: Plan) -> Claim:
    claim = product_claim(plan)
    assert claim is not None
    return claim


def law_of(plan: Plan) -> LossLaw:
    return claim_of(plan).upper


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
    assert claim_of(3 * Gaussian(sigma=2) + 2 * Gaussian(sigma=3)).exact
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

    def pair(self) -> Claim:  # type: ignore[override]
        return Claim(gaussian_pair(lambda: arb(1)))


def test_parts_of_which_no_symmetric_law_is_known_leave_the_whole_unknown() -> None:
    ordered = LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True)
    assert product_claim(2 * Laplace(epsilon=1) + ordered) is None
    assert product_claim(2 * Laplace(epsilon=1) + Unknown(epsilon=1)) is None
    assert product_claim(Plan.sum_of(Gaussian(sigma=2), Unknown(epsilon=1))) is None


def test_a_product_with_a_law_that_only_dominates_is_not_exact() -> None:
    own = claim_of(2 * Laplace(epsilon=1) + Gaussian(sigma=1))
    assert (own.exact, own.exact_alone) == (False, True)
    assert not claim_of(2 * Laplace(epsilon=1) + Dominated(sigma=1)).exact_alone
    assert not claim_of(Gaussian(sigma=2) + Dominated(sigma=1)).exact
    assert law_of(Gaussian(sigma=2) + Gaussian(sigma=1)).largest() == inf
