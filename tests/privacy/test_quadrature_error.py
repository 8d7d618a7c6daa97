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
from zcdp.privacy.loss.sampled_density_law import DensityDecay
from zcdp.privacy.loss.sampled_quadrature import BaseLoss, Mixture, Rule

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


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("e", [-3, 0, 5])
def test_an_integrand_is_no_larger_around_a_panel_than_is_said(name: str, e: int) -> None:
    """|density w^{e + iy}| on the edge of a box, where it is largest; from the real axis down to -1.2 and up to 2."""
    *shape, rate = CASES[name]
    second, first, constant, *_ = (mpf(one) for one in shape)
    q = number(at_precision(BITS, lambda: exact(rate)))
    base = BaseLoss(*(arb(one) if one != "inf" else arb.pos_inf() for one in shape))

    def size(x: mpf, y: mpf, height: float) -> mpf:
        loss = mpc(x, y)
        power = (mpc(e, height) * mp.log(1 - q + q * mp.exp(loss))).real
        return ((second * loss + first) * loss + constant).real + power

    with mp.workdps(15):
        for middle, reach, dip, top in (("0.3", "1", "0.5", "0.5"), ("-1", "0.4", "1.2", "1.2"), ("1", "0", "-1", "2")):
            for height in (0.0, 8.0):
                box = tuple(arb(one) for one in (middle, reach, dip, top))
                bound = at_precision(BITS, lambda box=box, height=height: _size(rate, base, box, e, height))
                sides = [mpf(middle) + mpf(reach) * n / 6 for n in range(-6, 7)]
                levels = [-mpf(dip) + (mpf(top) + mpf(dip)) * n / 6 for n in range(7)]
                largest = max(size(x, y, h) for x in sides for y in levels for h in {0.0, height})
                assert largest <= number(bound.upper()) + mpf(10) ** -9


def _size(rate: str, base: BaseLoss, box: tuple[arb, ...], e: int, height: float) -> arb:
    return Mixture(exact(rate), base)._log_size(box, arb(e), height)  # type: ignore[arg-type]


class Flat:
    """A tilted loss: uniform between -1 and 1, but for a small mass far away; points and errors as a law tells them."""

    def __init__(self, far: float, mass: float) -> None:
        self.far, self.mass = far, mass
        self.mixture = SimpleNamespace(variation=lambda e, error: arb(1 - mass))  # |sin(y)/y| is at most 1/y

    def exponents(self, c: arb) -> list[arb]:
        return [c]

    def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
        rule = legendre(48, BITS)
        shares = [acb(share * (1 - arb(self.mass)) / 2) for _, share in rule]
        return Rule([acb(place) for place, _ in rule], shares, arb(2) ** -60)

    def terms(self, c: arb, rule: Rule | None) -> list[tuple[acb, acb]]:
        assert rule is not None
        return [*zip(rule.logs, rule.masses, strict=True), (acb(self.far), acb(self.mass))]

    def atomic_mass(self, c: arb) -> arb:
        return arb(self.mass)

    def estimate(self, c: float) -> tuple[float, float, float]:
        mean = self.mass * self.far
        return 0.0, mean, (1 - self.mass) / 3 + self.mass * self.far**2 - mean**2


@pytest.mark.parametrize(
    ("far", "mass"), [(0.0, 0.0), *((far, 0.03) for far in (9.0, 12.0, 15.1, 18.1, 21.0, 24.3, 27.0))]
)
def test_between_points_a_transform_falls_no_slower_than_is_said(far: float, mass: float) -> None:
    """At the edges of the cells, where |M| may be largest, and everywhere up to far away, where it rises again.

    Losses that are rare, and not followed, are charged.
    """

    def asked() -> tuple[np.ndarray, np.ndarray]:
        decay = DensityDecay(Flat(far, mass), arb(1), arb(1), 1)  # type: ignore[arg-type]
        known, _ = decay._table
        heights = np.unique(np.concatenate([known, known * (1 + 1e-9), np.linspace(0.01, 30, 3000)]))
        return heights, decay(heights)

    heights, bounds = at_precision(BITS, asked)
    assert bounds.max() > 0.3
    moment = (1 - mass) * np.sinc(heights / np.pi) + mass * np.exp(1j * far * heights)
    true = -np.log(np.abs(moment))
    least = np.minimum.accumulate(true[::-1])[::-1]  # for all heights from here on
    assert (bounds <= least + 1e-9).all()


@pytest.mark.parametrize("far", [10.0, 13.0, 17.0, 22.0])
def test_losses_that_are_rare_and_not_followed_are_charged(far: float) -> None:
    """Two losses, -1 and 1, whose transform falls as steeply as its bound near pi/2; and a rare one beside them."""
    mass = 0.02

    class Two(Flat):
        def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
            return Rule([acb(1), acb(-1)], [acb((1 - mass) / 2)] * 2, arb(2) ** -60)

    def asked() -> tuple[np.ndarray, np.ndarray]:
        decay = DensityDecay(Two(far, mass), arb(1), arb(1), 1)  # type: ignore[arg-type]
        assert len(decay._table[0]) > 1
        edges, found, _ = decay._level(0.9, 1.55)
        return edges, found

    edges, found = at_precision(BITS, asked)
    for left, right, bound in zip(edges[:-1], edges[1:], found, strict=True):
        y = np.linspace(left, right, 50)
        assert np.abs((1 - mass) * np.cos(y) + mass * np.exp(1j * far * y)).max() <= bound + 1e-12


def test_a_cell_reaches_from_its_point_to_the_farther_end() -> None:
    """Two losses, -1 and 1: |cos y| near pi/2 is as steep as is allowed, and points are moved to a common spacing."""

    class Two(Flat):
        def rule(self, c: arb, height: float, fall: float, *, real: bool = False) -> Rule:
            return Rule([acb(1), acb(-1)], [acb(0.5)] * 2, arb(2) ** -60)

    def asked() -> list[tuple[np.ndarray, np.ndarray]]:
        decay = DensityDecay(Two(0.0, 0.0), arb(1), arb(1), 1)  # type: ignore[arg-type]
        assert len(decay._table[0]) > 1
        decay.moving = 0.02  # short cells
        return [decay._level(low, 1.5)[:2] for low in np.linspace(1.2, 1.45, 40)]

    for edges, found in at_precision(BITS, asked):
        for left, right, bound in zip(edges[:-1], edges[1:], found, strict=True):
            assert np.abs(np.cos(np.array([left, right]))).max() <= bound + 1e-12
            assert bound <= np.cos(left) + (right - left) / 5
