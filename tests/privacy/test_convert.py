"""From Renyi curves and rho to (epsilon, delta): the least over orders, rounded up."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp.numeric.balls import lift
from zcdp.privacy.convert import rdp_to_delta, rdp_to_epsilon, zcdp_to_delta, zcdp_to_epsilon

F = Fraction


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(25):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


# Each route by itself


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def tail(s: mpf) -> mpf:
    return s * mp.log(s) - (1 + s) * mp.log(1 + s)


SQUARES = [(F(1, 2), F(1)), (F(1, 50), F(1, 2)), (F(2), F(5))]


@pytest.mark.parametrize(("rho", "epsilon"), SQUARES)
def test_the_renyi_routes_are_the_least_over_orders(rho: Fraction, epsilon: Fraction) -> None:
    """Of K(s) = rho s(1+s): not above any order of a grid, not below the least of a fine one, nor below the truth."""

    def cumulant(s: object) -> object:
        return float(rho) * s * (1 + s)  # type: ignore[operator]

    r, e = mpf(float(rho)), real(epsilon)
    grid = [mp.exp(mpf(n) / 20) for n in range(-80, 100)]
    least = min(mp.exp(r * s * (1 + s) - s * e + tail(s)) for s in grid)
    delta = rdp_to_delta(cumulant, epsilon)
    assert gaussian_delta(mp.sqrt(2 * r), e) <= delta <= min(least, mpf(1))
    assert delta >= min(least, mpf(1)) * (1 - mpf("0.03"))
    for small in (F(1, 10**6), F(1, 20)):
        best = min((r * s * (1 + s) + tail(s) - mp.log(real(small))) / s for s in grid)
        found = rdp_to_epsilon(cumulant, small)
        assert max(best, mpf(0)) * (1 - mpf("0.01")) <= found <= max(best, mpf(0)) * (1 + mpf(10) ** -12)
        assert gaussian_delta(mp.sqrt(2 * r), mpf(found)) <= real(small)


@pytest.mark.parametrize("rho", [F(1, 50), F(1, 3), F(7, 4)])
def test_the_renyi_routes_are_rounded_up(rho: Fraction) -> None:
    """Not below the least over all orders, to the last bit: where the slope of the exponent is 0, to forty digits."""

    def cumulant(s: object) -> object:
        return lift(rho) * s * (1 + s)  # type: ignore[operator]

    with mp.workdps(40):
        r = real(rho)
        for n in range(1, 16):
            epsilon = F(n, 3) + F(1, 7)
            e = real(epsilon)
            s = mp.findroot(lambda s, e=e: r * (1 + 2 * s) - e + mp.log(s / (1 + s)), (e / (2 * r), e / (2 * r) + 1))
            least = min(mp.exp(r * s * (1 + s) - s * e + tail(s)), mpf(1))
            for found in (rdp_to_delta(cumulant, epsilon), zcdp_to_delta(rho, epsilon)):
                assert least <= found <= least * (1 + mpf(10) ** -14)
            delta = F(mp.nstr(least, 20))
            if delta < 1:
                for found in (rdp_to_epsilon(cumulant, delta), zcdp_to_epsilon(rho, delta)):
                    assert e * (1 - mpf(10) ** -17) <= found * (1 + mpf(10) ** -14)
                    assert found <= e * (1 + mpf(10) ** -14)
