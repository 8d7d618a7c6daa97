"""What quadrature leaves out, and what a transform may do between the points at which it is known."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp, mpc, mpf

from zcdp.numeric.balls import at_precision
from zcdp.numeric.quadrature import legendre
from zcdp.privacy.loss.density_decay import DensityDecay
from zcdp.privacy.loss.panels import BaseLoss, Mixture, Rule

BITS = 256


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def number(ball: arb) -> mpf:
    return mpf(ball.mid().str(70, radius=False))


# second, first, constant, low, high: densities of a loss, and a rate at which they are mixed with 1
CASES = {
    "flat": ("0", "0", "0", "-1", "1", "1/2"),
    "rising": ("0", "1.5", "-1", "-2", "2.5", "1/10"),
    "normal piece": ("-0.5", "-0.5", "-1", "-3", "4", "1/3"),
    "normal to infinity": ("-0.5", "-0.5", "-1", "-2", "inf", "1/50"),
    "narrow to infinity": ("-8", "-0.5", "0", "-1", "inf", "9/10"),
}


def exact(text: str) -> arb:
    top, _, bottom = text.partition("/")
    return arb(top) / arb(bottom or "1")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("exponents", "height"), [((0, 3), 0.0), ((1,), 6.0), ((2, 12), 2.5), ((-2,), 0.0)])
def test_a_quadrature_is_off_by_no_more_than_it_says(name: str, exponents: tuple[int, ...], height: float) -> None:
    """The sum of density w^{e + iy} over l, w = 1 - q + q e^l, against the integral; coarse rules as well as fine."""
    *shape, rate = CASES[name]
    second, first, constant, low, high = (mpf(one) for one in shape)
    q = number(at_precision(BITS, lambda: exact(rate)))
    wide = 4 - (max(exponents) + 1) / (2 * second) + 14 / mp.sqrt(-2 * second) if second else mpf(10)
    end = min(high, low + wide)  # beyond it is less than 1e-30

    def truth(y: float) -> mpc:
        def integrand(loss: mpf) -> mpc:
            w = mp.log(1 - q + q * mp.exp(loss))
            return mp.exp((second * loss + first) * loss + constant) * mp.fsum(mp.exp(mpc(e, y) * w) for e in exponents)

        with mp.workdps(30):
            return mp.quad(integrand, [low + (end - low) * n / 12 for n in range(13)], maxdegree=4)

    integral = truth(height)
    for wanted in (0.3, 1e-4, 1e-12):

        def asked(wanted: float = wanted) -> tuple[Rule, acb]:
            base = BaseLoss(*(arb(one) if one != "inf" else arb.pos_inf() for one in shape))
            rule = Mixture(exact(rate), base).rule([arb(e) for e in exponents], height, float(mp.log(wanted)))
            points = zip(rule.logs, rule.masses, strict=True)
            return rule, sum((m * (acb(e, height) * w).exp() for w, m in points for e in exponents), acb(0))

        rule, found = at_precision(BITS, asked)
        distance = abs(mpc(number(found.real), number(found.imag)) - integral)
        assert distance <= number(rule.error.upper()) + mpf(10) ** -20
        assert number(rule.error) <= 4 * len(exponents) * mpf(wanted)


class Flat:
    """A loss that is uniform between -1 and 1 under P: M(z) = sinh(z)/z; points and errors as a law tells them."""

    def __init__(self, points: int) -> None:
        self.points = points
        self.mixture = SimpleNamespace(variation=lambda e, error: arb(1).cosh() * 3)

    def exponents(self, c: arb) -> list[arb]:
        return [c]

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
        rule = legendre(self.points, BITS)
        return Rule([acb(place) for place, _ in rule], [acb(share / 2) for _, share in rule], arb(2) ** -60)

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        assert rule is not None
        return [(loss, mass * (c * loss).exp()) for loss, mass in zip(rule.logs, rule.masses, strict=True)]

    def atomic_mass(self, c: arb) -> arb:
        return arb(0)

    def estimate(self, c: float) -> tuple[float, float, float]:
        value, slope, bend = (float(mp.diff(lambda x: mp.log(mp.sinh(x) / x), c, n)) for n in (0, 1, 2))
        return value, slope, bend


@pytest.mark.parametrize("count", [1, 30])
@pytest.mark.parametrize("c", ["0.5", "1"])
def test_between_points_a_transform_falls_no_slower_than_is_said(count: int, c: str) -> None:
    """At the edges of the cells, where |M| is largest, and everywhere else up to far away."""

    def asked() -> tuple[DensityDecay, np.ndarray, np.ndarray]:
        line = arb(c)
        decay = DensityDecay(Flat(48), line, line.sinh() / line, count)  # type: ignore[arg-type]
        known, _ = decay._table
        heights = np.unique(np.concatenate([known, known * (1 + 1e-9), np.linspace(0.01, 30, 400)]))
        return decay, heights, decay(heights)

    _, heights, bounds = at_precision(BITS, asked)
    assert bounds.max() > 0.3
    whole = np.sinh(float(c)) / float(c)
    z = float(c) + 1j * heights
    true = -np.log(np.abs(np.sinh(z) / z) / whole)
    least = np.minimum.accumulate(true[::-1])[::-1]  # for all heights from here on
    assert (bounds <= least + 1e-9).all()
