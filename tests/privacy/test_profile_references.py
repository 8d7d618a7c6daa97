"""The independent references for privacy profiles agree where two of them apply: they share no method."""

from __future__ import annotations

from fractions import Fraction

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr
from independent import profile_reference as small
from independent.profile_atoms import Densities, Profile
from independent.profile_integral import Draws, Integral
from independent.profile_laws import epsilon_near, law, number, tilt

DIGITS = mpfr(10) ** -24


def near(one: object, other: object) -> bool:
    left, right = (mpfr(mpmath.nstr(x, 60)) if isinstance(x, mpmath.mpf) else mpfr(x) for x in (one, other))
    return abs(left - right) <= abs(right) * DIGITS


PARTS = [
    ("rr", Fraction(1, 10), 5, 7),
    ("geometric", Fraction(1, 5), 3, 11),
    ("pure", Fraction(3, 10), 1, 9),
    ("rappor", Fraction(1, 10), 1, 4),
]
LAWS = [(law(kind, e, (Fraction(size),)), count) for kind, e, size, count in PARTS]


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(5), Fraction("5.99")])
def test_a_window_against_the_whole_convolution(epsilon: Fraction) -> None:
    g, loss = small.composed(PARTS)
    c = mpfr(tilt(LAWS, float(epsilon)))
    assert near(Profile(LAWS, c, []).delta(epsilon), small.lattice_delta(g, loss, epsilon))
    extra = Fraction(7, 10)
    for kind, closed in (("laplace", small.laplace_delta), ("logistic", small.logistic_delta)):
        whole = small.lattice_delta(g, loss, epsilon, lambda x, closed=closed: closed(extra, x))
        assert near(Profile(LAWS, c, [(law(kind, extra), 1)]).delta(epsilon), whole)


def test_two_lattices_against_one_that_holds_both() -> None:
    coarse = [("pure", Fraction(1), 1, 4), ("pure", Fraction(1, 100), 1, 20)]  # 1 is too much of 1/100 for one window
    laws = [(law(kind, e), count) for kind, e, _, count in coarse]
    g, loss = small.composed(coarse)
    for epsilon in (Fraction(0), Fraction(1), Fraction(4)):
        answer = Profile(laws, mpfr(tilt(laws, float(epsilon))), []).delta(epsilon)
        assert near(answer, small.lattice_delta(g, loss, epsilon))


def test_a_million_against_the_binomial_sum() -> None:
    e, count = Fraction(1, 1000), 10**6
    laws = [(law("pure", e), count)]
    for log_delta in (-0.1, -100.0):
        epsilon = Fraction(epsilon_near(laws, log_delta))
        answer = Profile(laws, mpfr(tilt(laws, float(epsilon))), []).delta(epsilon)
        assert near(answer, small.binary_delta(e, count, epsilon))


def test_closed_densities_against_quadrature() -> None:
    e1, e2 = Fraction(1, 1000), Fraction(7, 10)
    densities = Densities([(law("laplace", e1), 1), (law("laplace", e2), 1)])
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction("0.7005")):
        assert near(densities.delta(number(epsilon)), small.two_laplace_delta(e1, e2, epsilon))


@pytest.mark.parametrize(("e", "count"), [(Fraction(1, 10), 13), (Fraction(2), 8), (Fraction(1, 10000), 30)])
def test_draws_against_the_expansion_in_signs(e: Fraction, count: int) -> None:
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        answer = Draws(number(e), count).delta(number(count * e * share))
        assert near(answer, small.many_laplace_delta(e, count, count * e * share))


@pytest.mark.deep
def test_the_integral_against_a_sum_over_draws() -> None:
    laws = [(law("laplace", Fraction(1, 10)), 1600)]
    for log_delta in (-1.0, -60.0):
        epsilon = Fraction(epsilon_near(laws, log_delta))
        assert near(Integral(laws, float(epsilon)).delta(epsilon), Draws(number(Fraction(1, 10)), 1600).delta(epsilon))


def test_the_integral_against_the_normal_distribution() -> None:
    """With a Gaussian pair of mean mu^2/2 and variance mu^2: delta = Phi(-t) - e^epsilon Phi(-t - mu)."""
    rho, epsilon = Fraction(1, 50), Fraction(3, 2)
    with mpmath.workprec(300):
        mu = mpmath.sqrt(2 * small.real(rho))
        t = small.real(epsilon) / mu - mu / 2
        truth = mpmath.ncdf(-t) - mpmath.exp(small.real(epsilon)) * mpmath.ncdf(-t - mu)
        assert near(Integral([(law("gaussian", rho), 1)], 1.5).delta(epsilon), truth)


def test_a_logistic_density_against_the_integral() -> None:
    laws = [(law("logistic", Fraction(1)), 2), (law("gaussian", Fraction(1, 10)), 1)]
    # composed with a Gaussian by quadrature over its loss
    pair, epsilon = Densities(laws[:1]), Fraction(3, 2)
    with mpmath.workprec(200):
        mean, deviation = mpmath.mpf(1) / 10, mpmath.sqrt(mpmath.mpf(1) / 5)

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            value = pair.delta(mpfr(mpmath.nstr(small.real(epsilon) - x, 70)))
            return (
                mpmath.npdf(x, mean, deviation)
                * mpmath.mpf(gmpy2.digits(value)[0] or 0)
                * mpmath.mpf(10) ** (gmpy2.digits(value)[1] - len(gmpy2.digits(value)[0]))
            )

        kinks = [mean - 12 * deviation, *(small.real(epsilon) - k for k in (2, 0, -2)), mean + 12 * deviation]
        truth = mpmath.quad(integrand, kinks)
    assert near(Integral(laws, 1.5).delta(epsilon), truth)
