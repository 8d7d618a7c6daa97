"""Mixtures of a density: tails that are cut, paths off the real axis, and what quadrature leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp, mpc, mpf

from zcdp.numeric.balls import above, at_precision
from zcdp.privacy.loss.sampled_density_law import DensityDecay
from zcdp.privacy.loss.sampled_quadrature import BaseLoss, Mixture, Rule, legendre, progression


@pytest.mark.parametrize("e", [-0.5, -3.0, -12.0, 2.0])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("middle", "reach", "tall"), [(0.0, 0.5, 1.2), (-1.0, 0.25, 0.8), (1.0, 1.0, 1.4)])
def test_no_point_of_a_box_is_above_the_bound(e: float, rate: float, middle: float, reach: float, tall: float) -> None:
    base = BaseLoss(arb(0), arb(-1) / 2, arb(0), arb(-5), arb(5))
    box = arb(middle), arb(reach), arb(tall), arb(tall)
    bound = float(Mixture(arb(rate), base)._log_size(box, arb(e), 0.0).upper())
    x, y = np.meshgrid(np.linspace(middle - reach, middle + reach, 41), np.linspace(-tall, tall, 41))
    loss = x + 1j * y
    weight = 1 - rate + rate * np.exp(loss)
    assert bound >= (e * np.log(np.abs(weight)) + (-loss / 2).real).max() - 1e-12


# Mixtures of a density: where its tail is cut, how much its density varies, and paths that leave the real axis.


# second, first, constant, low, high and the rate
BASES = {
    "normal": (-0.5, -0.5, -1.0, -6.0, np.inf, 0.2),
    "wide normal": (-0.02, -0.5, -3.0, -20.0, np.inf, 0.01),
    "narrow normal": (-8.0, -0.5, 0.3, 0.0, np.inf, 0.9),
    "exponential": (0.0, -0.5, -1.0, -2.0, 2.0, 0.3),
    "two hills": (-0.02, 0.0, -2.0, -14.0, np.inf, 0.02),
}


def mixture(name: str) -> Mixture:
    second, first, constant, low, high, rate = BASES[name]
    top = arb(high) if np.isfinite(high) else arb.pos_inf()
    return Mixture(arb(rate), BaseLoss(arb(second), arb(first), arb(constant), arb(low), top))


def line(name: str, e: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, the logarithm of density times w^e there, and log w."""
    second, first, constant, low, high, rate = BASES[name]
    end = high if np.isfinite(high) else max(low, (max(e, 0) + first) / (-2 * second)) + 12 / np.sqrt(-2 * second)
    loss = np.linspace(low, end, 20_001)
    log_weight = np.logaddexp(np.log1p(-rate), np.log(rate) + loss)
    return loss, (second * loss + first) * loss + constant + e * log_weight, log_weight


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("e", [-3.0, 0.0, 1.0, 2.5, 4.0])
def test_ends_and_variation_of_the_density_of_log_w_are_bounded(name: str, e: float) -> None:
    """The integral of w^{e+iy} is at most (both ends + total variation of that density)/y: bounded from above."""
    loss, size, log_weight = line(name, e)
    rate = BASES[name][-1]
    density = np.exp(size + log_weight - loss) / rate  # times dl / d log w = w/(q e^l)
    true = density[0] + density[-1] + np.abs(np.diff(density)).sum()
    found = above(at_precision(128, lambda: mixture(name).variation(arb(e), -30.0)))
    assert true <= found * (1 + 1e-9)
    assert found <= 6 * true
    rises = np.diff(density) > 0
    maxima = int((rises[:-1] & ~rises[1:]).sum()) + int(not rises[0]) + int(rises[-1])
    assert maxima <= at_precision(128, lambda: mixture(name)._maxima(arb(e)))


def test_a_density_may_have_two_maxima() -> None:
    assert at_precision(128, lambda: mixture("two hills")._maxima(arb(1))) == 2
    assert at_precision(128, lambda: mixture("narrow normal")._maxima(arb(1))) == 1


@pytest.mark.parametrize("name", ["normal", "wide normal", "narrow normal", "two hills"])
@pytest.mark.parametrize("level", [0.0, 0.8])
def test_what_is_beyond_the_last_panel_is_charged(name: str, level: float) -> None:
    """Along the real axis, or a line above it: the integral of |density w^e| from there on."""
    second, first, constant, _, _, rate = BASES[name]
    for exponents, log_error in product(([-2.0], [3.0], [2.0, -1.0], [8.0]), (1.0, -1.0, -12.0)):
        end, charged = at_precision(
            128, lambda es=exponents, le=log_error: mixture(name)._end([arb(e) for e in es], le, arb(level))
        )
        x = np.linspace(float(end), float(end) + 14 / np.sqrt(-2 * second) + max(exponents), 20_001)
        place = x + 1j * level
        true = 0.0
        for e in exponents:
            log_weight = np.log(np.abs(1 - rate + rate * np.exp(place)))
            size = ((second * place + first) * place + constant).real + e * log_weight
            sizes = np.exp(size)
            true += (sizes.sum() - (sizes[0] + sizes[-1]) / 2) * (x[1] - x[0])
        assert true <= above(charged) * (1 + 1e-3)
        assert above(charged) <= np.exp(log_error) * (1 + 1e-9)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("shifted", [False, True])
def test_a_rule_is_off_by_no_more_than_it_says_at_every_height(name: str, shifted: bool) -> None:
    """The sum over its points of mass w^{e + iy}, for 0 <= y <= height, beside the integral along the real axis.

    For a negative exponent, of w^{e - iy}: with all points conjugate.
    """
    for e, height in ((1.0, 6.0), (3.5, 2.0), (-1.5, 4.0)):
        loss, size, log_weight = line(name, e)
        weights = np.full(len(loss), loss[1] - loss[0])
        weights[1:-1:2] *= 4 / 3
        weights[2:-1:2] *= 2 / 3
        weights[[0, -1]] /= 3

        def asked(e: float = e, height: float = height) -> tuple[np.ndarray, np.ndarray, float]:
            rule = mixture(name).rule([arb(e)], height, -9.0, shifted=shifted)
            values = [complex(m * (x * acb(e)).exp()) for x, m in zip(rule.logs, rule.masses, strict=True)]
            return np.array([complex(x) for x in rule.logs]), np.array(values), above(rule.error)

        logs, values, error = at_precision(128, asked)
        assert error < 1e-3
        for y in (0.0, height / 3, height):
            truth = (np.exp(size + 1j * y * log_weight) * weights).sum()
            found = (values * np.exp(1j * y * logs)).sum()
            assert abs(found - truth) <= error + 1e-7 * np.exp(size).max(), (e, y)


# What quadrature leaves out, and what a transform may do between the points at which it is known.


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


@pytest.mark.parametrize(
    "kept", [[0], [1], [0, 1, 2, 3], list(range(50)), [*range(9), 100, 101, 102, 5000], [0, 15, 16, 17, 10**6]]
)
def test_sums_along_a_line_are_those_at_its_points(kept: list[int]) -> None:
    def check() -> None:
        values = [acb(arb(n + 1) / 7, arb(n) / 5) for n in range(12)]
        rates = [acb(arb(3 * n - 17) / 11, arb(n) / 10**8) for n in range(12)]
        step = arb(1) / 13
        found = progression(values, rates, step, kept)
        assert len(found) == len(kept)
        for k, value in zip(kept, found, strict=True):
            truth = sum((v * (acb(0, step * k) * r).exp() for v, r in zip(values, rates, strict=True)), acb(0))
            assert value.overlaps(truth)
            assert value.rel_accuracy_bits() > 90

    at_precision(128, check)
