"""The largest over finitely many pairs at each order: in every quantity, whichever pair is the worst there."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from flint import arb, arb_series

from zcdp import Gaussian, Laplace, PureDP
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.numeric.exact import Exact
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair, max_ball
from zcdp.privacy.rho_search import is_infinite, quick_divergence

F = Fraction
Pair = tuple[list[Fraction], list[Fraction]]

STEEP: Pair = ([F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)])
RARE: Pair = ([F(1, 1000), F(999, 1000)], [F(1, 100_000), F(99_999, 100_000)])
FLAT: Pair = ([F(2, 5), F(1, 5), F(2, 5)], [F(1, 5), F(2, 5), F(2, 5)])


class Pairs(FiniteEnvelope):
    """These pairs, each in both orders."""

    def __init__(self, *rows: Pair, expected: Sequence[int] | None = None, away: bool = False) -> None:
        self.rows, self.expected, self.away = rows, expected, away

    def pairs(self) -> list[FinitePair]:
        found = []
        for one, other in self.rows:
            for p, q in ((one, other), (other, one)):
                masses = [lift(x) for x in p]
                found.append(FinitePair(masses, [lift(x / y).log() for x, y in zip(p, q, strict=True)]))
        return found

    def candidates(self) -> Sequence[int] | None:
        return self.expected

    @property
    def unbounded(self) -> bool:
        return self.away

    @property
    def largest_loss(self) -> Exact | None:
        raise BadValue("of several pairs")


def cumulant(rows: Sequence[Pair], s: float) -> float:
    """The largest log of the sum of p^{1+s} q^{-s}."""
    values = []
    for one, other in rows:
        for p, q in ((one, other), (other, one)):
            a, b = np.array(p, dtype=float), np.array(q, dtype=float)
            values.append(log((a * (a / b) ** s).sum()))
    return max(values)


def slope(rows: Sequence[Pair]) -> float:
    return max(
        sum(float(p) * log(p / q) for p, q in zip(*both, strict=True)) for row in rows for both in (row, row[::-1])
    )


def largest(rows: Sequence[Pair]) -> float:
    return max(log(max(p / q, q / p)) for row in rows for p, q in zip(*row, strict=True))


SETS: dict[str, list[Pair]] = {
    "one": [STEEP],
    "a rare outcome last": [STEEP, FLAT, RARE],
    "a rare outcome first": [RARE, FLAT, STEEP],
    "the largest loss is not of the first outcome": [([F(9, 10), F(1, 10)], [F(99, 100), F(1, 100)])],
}


@pytest.mark.parametrize("name", SETS)
def test_each_order_has_the_worst_of_all_pairs(name: str) -> None:
    rows = SETS[name]
    curve = Pairs(*rows)
    for s in (0.1, 1.0, 4.0, 30.0, 120.0):
        assert curve.rdp(1 + s) == pytest.approx(cumulant(rows, s) / s, rel=1e-12)
        assert at_precision(128, lambda s=s: float(curve.cumulant(arb(s)))) == pytest.approx(cumulant(rows, s))
    assert curve.rdp(1) == pytest.approx(slope(rows), rel=1e-12)
    assert curve.pure_epsilon == curve.rdp("inf") == pytest.approx(largest(rows), rel=1e-15)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("expected", [None, [0], [1]])
def test_rho_is_that_of_the_worst_pair_whichever_is_expected(name: str, expected: list[int] | None) -> None:
    """The rare outcome costs most at a high order, the others at order 1: a fine grid of orders, and the slope."""
    rows = SETS[name]
    grid = np.geomspace(1e-3, 100, 600)
    truth = max(slope(rows), *(cumulant(rows, s) / (s * (1 + s)) for s in grid))
    curve = Pairs(*rows, expected=expected)
    lower, upper = curve.rho_bounds
    assert lower <= truth * (1 + 1e-3)
    assert truth * (1 - 1e-12) <= upper
    assert upper - lower < 1e-9
    assert curve.search_rho() == pytest.approx((lower, upper), rel=1e-9)
    at = curve.rho_order - 1
    ratio = cumulant(rows, at) / (at * (1 + at)) if at > 1e-9 else slope(rows)
    assert ratio == pytest.approx(lower, rel=1e-6)
    assert lower >= truth * (1 - 1e-9)


def test_what_gives_an_input_away_costs_everything_and_what_is_alike_nothing() -> None:
    away = Pairs(STEEP, away=True)
    assert away.rho == away.pure_epsilon == away.rdp(2) == away.rdp(1) == inf
    assert away.rho_bounds == away.search_rho() == (inf, inf)
    assert at_precision(128, lambda: away.cumulant(arb(1))) == inf
    assert at_precision(128, away.kl) == inf
    alike = Pairs()
    assert alike.rho == alike.pure_epsilon == alike.rdp(2) == alike.rdp(1) == 0
    assert alike.rho_bounds == alike.search_rho() == (0.0, 0.0)


def test_an_envelope_has_no_series_and_no_peak_of_its_own() -> None:
    curve = Pairs(STEEP)
    with pytest.raises(BadType, match="real orders"):
        curve.cumulant(arb_series([1, 1], prec=3))
    with pytest.raises(NotCertified):
        curve.peak()
    assert curve.is_envelope


def test_a_pair_and_its_derivatives_are_those_of_its_outcomes() -> None:
    def run() -> None:
        p, q = RARE
        pair = FinitePair([lift(x) for x in p], [lift(x / y).log() for x, y in zip(p, q, strict=True)])

        def k(s: float) -> float:
            return log(sum(float(x) * (float(x) / float(y)) ** s for x, y in zip(p, q, strict=True)))

        for s in (0.5, 2.0):
            value, first, second = pair.taylor(arb(s))
            assert float(value) == float(pair.value(arb(s))) == pytest.approx(k(s), rel=1e-12)
            assert float(first) == pytest.approx((k(s + 1e-4) - k(s - 1e-4)) / 2e-4, rel=1e-6)
            assert float(second) == pytest.approx((k(s + 1e-3) + k(s - 1e-3) - 2 * k(s)) / 1e-6, rel=1e-4)
        assert float(pair.largest()) == float(pair.convex().largest) == pytest.approx(log(100), rel=1e-14)
        assert float(pair.kl()) == float(pair.convex().kl) == pytest.approx(slope([(p, q)]), rel=1e-12)
        assert float(pair.convex().value(arb(2))) == pytest.approx(k(2.0), rel=1e-12)

    at_precision(128, run)


def test_the_largest_of_balls_that_overlap_holds_all_it_may_be() -> None:
    def run() -> None:
        one, other, third = arb(1).union(arb(3)), arb(2).union(arb(4)), arb(0)
        for balls in ((one, other, third), (other, third, one), (third, one, other)):
            found = max_ball(balls)
            assert found.contains(arb(2))
            assert found.contains(arb(4))
            assert found >= arb("1.9")

    at_precision(64, run)


def test_which_orders_are_infinite() -> None:
    for order in (inf, "inf", " Infinity ", "+inf", "+INFINITY", Decimal("inf")):
        assert is_infinite(order)
        assert PureDP(epsilon=2).rdp(order) == 2
        assert Gaussian(sigma=1).rdp(order) == inf
    for order in (-inf, "-inf", Decimal("-inf"), 1e300, "1e300", Decimal(10) ** 300, 7, F(7, 2)):
        assert not is_infinite(order)
    for order in (-inf, "-inf", Decimal("-inf"), "0.5", 0.999, F(1, 2), "nan", 0):
        with pytest.raises((BadValue, BadType)):
            Laplace(epsilon=1).rdp(order)


def test_arrays_of_orders_keep_each_of_them_exact() -> None:
    """A large whole number beside a float is not rounded; shapes stay."""
    noise = Gaussian(rho="1/2")
    large = 2**53 + 1
    found = noise.rdp([1.5, large])
    assert found.tolist() == [0.75, noise.rdp(large)]
    assert F(float(found[1])) >= F(large, 2)
    assert noise.rdp(np.array([[1.0, 2.0], [3.0, inf]])).tolist() == [[0.5, 1.0], [1.5, inf]]


@pytest.mark.parametrize("order", [1.0000001, 1.5, 2.0, 7.3, 1e6])
def test_one_attempt_is_rounded_up_or_none(order: float) -> None:
    """K(s) = s(1+s)/3: the divergence is order/3, which no float is."""

    def sharp(s: arb) -> arb:
        return s * (1 + s) / 3

    found = quick_divergence(sharp, order)
    assert found is not None
    assert F(order) / 3 <= F(found) <= F(order) / 3 * (1 + F(1, 2**51))
    assert quick_divergence(lambda s: sharp(s) * arb(1, 1e-10), order) is None
    assert quick_divergence(lambda s: s * arb("+inf"), order) is None
    assert quick_divergence(lambda s: s / 0, order) is None


class Low(PureDP):
    """Pure DP of epsilon 1/4 of which the curve is only a bound, far above what is so."""

    def cumulant(self, s: arb) -> arb:  # type: ignore[override]
        return 3 * s * (1 + s)

    def peak(self) -> Peak:
        return Peak(arb(3), arb(1))


def test_no_divergence_exceeds_the_largest_loss() -> None:
    one = Low(epsilon="1/4")
    assert one.rdp(2) == one.rdp(F(5, 2)) == one.rdp(1) == 0.25
