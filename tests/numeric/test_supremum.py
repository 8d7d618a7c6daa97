"""The certified search finds peaks it was not told about, and refuses what is false."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from itertools import product
from math import exp, expm1, fsum, log, log1p, sqrt

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from table import EVERYDAY_ROWS

from zcdp import Mechanism
from zcdp.numeric.balls import Undecided, at_precision, lift
from zcdp.numeric.supremum import Convex, _exceeds, nonnegative, steepest_ratio
from zcdp.privacy.envelope import FinitePair

MASSES = st.lists(st.integers(1, 1000), min_size=2, max_size=5)


def curve(p: list[Fraction], q: list[Fraction], *, chords: bool = False) -> Convex:
    masses = [lift(a) for a in p]
    losses = [(lift(a) / lift(b)).log() for a, b in zip(p, q, strict=True)]

    def taylor(s: arb) -> tuple[arb, arb, arb]:
        weights = [mass * (s * loss).exp() for mass, loss in zip(masses, losses, strict=True)]
        total = sum(weights, arb(0))
        mean = sum((w * x for w, x in zip(weights, losses, strict=True)), arb(0)) / total
        square = sum((w * x * x for w, x in zip(weights, losses, strict=True)), arb(0)) / total
        return total.log(), mean, square - mean * mean

    largest = max(losses, key=float)
    if chords:
        return Convex(lambda s: taylor(s)[0], taylor(arb(0))[1], largest)
    return Convex(lambda s: taylor(s)[0], taylor(arb(0))[1], largest, taylor)


def search(
    p: list[Fraction], q: list[Fraction], tolerance: float = 1e-9, *, chords: bool = False, **more: object
) -> tuple[float, float]:
    return steepest_ratio(lambda: [curve(p, q, chords=chords)], tolerance, **more)[:2]


def grid_maximum(p: list[Fraction], q: list[Fraction]) -> float:
    """Plain floats over a grid of orders: a lower bound, by another road."""
    pairs = [(float(a), float(b)) for a, b in zip(p, q, strict=True)]
    best = sum(a * log(a / b) for a, b in pairs)
    for n in range(1, 700):
        alpha = 1 + 10 ** (n / 70 - 4)  # to a million, or as far as floats go: losses of 1/100 peak far out
        if (alpha - 1) * max(log(a / b) for a, b in pairs) > 600:
            break
        excess = fsum(a * expm1((alpha - 1) * log(a / b)) for a, b in pairs)  # what the moment is above 1
        best = max(best, log1p(excess) / (alpha * (alpha - 1)))
    return best


@settings(deadline=None, max_examples=40)
@given(MASSES, MASSES)
def test_any_finite_pair(left: list[int], right: list[int]) -> None:
    size = min(len(left), len(right))
    p = [Fraction(n, sum(left[:size])) for n in left[:size]]
    q = [Fraction(n, sum(right[:size])) for n in right[:size]]
    if max(abs(a / b - 1) for a, b in zip(p, q, strict=True)) < Fraction(1, 100):
        return
    lower, upper = search(p, q)
    assert upper <= lower * (1 + 3e-9)
    grid = grid_maximum(p, q)
    assert grid <= upper * (1 + 1e-9)
    assert lower <= grid * 1.01  # the grid is that fine


def test_chords_agree_with_the_third_cumulant() -> None:
    p, q = [Fraction(1, 100), Fraction(99, 100)], [Fraction(1, 2000), Fraction(1999, 2000)]
    assert search(p, q, chords=True) == pytest.approx(search(p, q), rel=3e-9)


@pytest.mark.parametrize("chords", [False, True])
def test_a_bound_below_the_truth_is_never_proven(chords: bool) -> None:
    def attempt() -> None:
        pair = curve([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)], chords=chords)
        below, above = pair.kl * (1 - arb(10) ** -9), pair.kl * (1 + arb(10) ** -9)
        with pytest.raises(Undecided):  # its peak is the limit s -> 0, so there is no point to show
            _exceeds(pair, below)
        assert _exceeds(pair, above) is None
        with pytest.raises(Undecided):
            _exceeds(pair, arb(-1))

    at_precision(192, attempt)


@pytest.mark.parametrize("tolerance", [0, -2, float("nan"), float("inf")])
def test_tolerance_must_be_positive(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        search([Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)], tolerance)


def test_a_peak_that_nobody_proposed_is_found_by_the_proof() -> None:
    p, q = [Fraction(1, 1000), Fraction(999, 1000)], [Fraction(1, 10**6), Fraction(10**6 - 1, 10**6)]
    assert search(p, q, candidates=[]) == pytest.approx(search(p, q), rel=3e-9)


def test_the_supremum_over_several_curves_is_the_largest() -> None:
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    r = [Fraction(1, 2), Fraction(1, 2)]
    both = steepest_ratio(lambda: [curve(p, r), curve(p, q), curve(r, q)], 1e-9)
    assert both[:2] == pytest.approx(search(p, q), rel=3e-9)
    assert both.curve == 1


def kinked(low: Fraction, high: Fraction, b: Fraction) -> tuple[Convex, float]:
    """K(s) = max(low s, high s - b), and the supremum of K/(s(1+s)) in closed form: 0, or where its slope vanishes."""
    a, c, d = (lift(x) for x in (low, high, b))
    point = (float(b) + sqrt(float(b) ** 2 + float(high) * float(b))) / float(high)
    later = (float(high) * point - float(b)) / (point * (1 + point))
    return Convex(lambda s: (a * s).max(c * s - d), a, c), max(float(low), later)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999, 0.9999])
def test_a_bound_below_a_later_peak_is_never_proven(share: float) -> None:
    def run() -> None:
        for n in range(1, 60):
            curve, truth = kinked(Fraction(1, 10), Fraction(10), Fraction(n, 7))
            if truth * share <= 0.1:
                continue
            with suppress(Undecided):
                assert _exceeds(curve, arb(truth * share)) is not None

    at_precision(128, run)


def closer_maximum(p: list[Fraction], q: list[Fraction]) -> float:
    """The same, by ever finer grids around the best order."""
    pairs = [(float(a), log(a / b)) for a, b in zip(p, q, strict=True)]

    def ratio(s: float) -> float:
        return log(sum(a * exp(s * loss) for a, loss in pairs)) / (s * (1 + s))

    low, high = 1e-3, 40.0
    for _ in range(6):
        orders = [low * (high / low) ** (n / 200) for n in range(201)]
        best = max(range(201), key=lambda n: ratio(orders[n]))
        low, high = orders[max(best - 1, 0)], orders[min(best + 1, 200)]
    return max(ratio(low), ratio(high), grid_maximum(p, q))


@pytest.mark.parametrize("rare", [Fraction(1, 10**n) for n in (2, 4, 6, 9)])
@pytest.mark.parametrize("ratio", [10, 1000, 10**5])
def test_a_rare_large_loss_is_not_passed_over(rare: Fraction, ratio: int) -> None:
    """Its variance is next to nothing at order 1, and grows a millionfold before the peak."""
    p, q = [rare, 1 - rare], [rare / ratio, 1 - rare / ratio]
    peak = closer_maximum(p, q)

    def run() -> None:
        for share in (0.3, 0.8, 0.95, 0.99, 0.999, 0.9999):
            if peak * share > float(curve(p, q).kl):
                with suppress(Undecided):
                    assert _exceeds(curve(p, q), arb(peak * share)) is not None

    at_precision(128, run)
    assert search(p, q)[1] >= peak * (1 - 1e-12)


KINKED = [(Fraction(1, 10), Fraction(10), b) for b in (Fraction(5), Fraction(1), Fraction(3))]


def test_every_curve_is_proven_whichever_is_expected_to_be_the_steepest() -> None:
    truth = max(kinked(*x)[1] for x in KINKED)
    for expected in ([0], [1], [2], []):
        found = steepest_ratio(lambda: [kinked(*x)[0] for x in KINKED], 1e-9, expected)
        assert found.lower <= truth * (1 + 1e-12)
        assert found.upper >= truth * (1 - 1e-12)


@pytest.mark.parametrize("tolerance", [0.5, 0.1])
def test_what_is_proven_is_the_upper_end_and_not_what_was_found(tolerance: float) -> None:
    """With nothing proposed but order 1, a peak that is higher by less than the tolerance is not looked for."""
    low, high, b = Fraction(26, 10), Fraction(10), Fraction(5)
    truth = kinked(low, high, b)[1]
    assert 2.6 < truth < 2.6 * 1.1
    found = steepest_ratio(lambda: [kinked(low, high, b)[0]], tolerance, [])
    assert found.lower <= truth <= found.upper


def test_derivatives_of_a_finite_pair() -> None:
    p, q = [Fraction(1, 1000), Fraction(299, 1000), Fraction(7, 10)], [Fraction(1, 10), Fraction(1, 2), Fraction(2, 5)]
    with mp.workdps(40):
        masses = [mpf(x.numerator) / x.denominator for x in p]
        losses = [mp.log(mpf((x / y).numerator) / (x / y).denominator) for x, y in zip(p, q, strict=True)]

        def cumulant(s: mpf) -> mpf:
            return mp.log(mp.fsum(m * mp.exp(s * loss) for m, loss in zip(masses, losses, strict=True)))

        for s in (0.0, 0.75, 4.0):
            truth = [mp.diff(cumulant, s, n) for n in range(3)]
            logs = [(lift(x) / lift(y)).log() for x, y in zip(p, q, strict=True)]
            found = FinitePair([lift(x) for x in p], logs).taylor(arb(s))
            assert all(abs(float(x) - y) < 1e-12 * (1 + abs(y)) for x, y in zip(found, truth, strict=True))


@pytest.mark.parametrize(("rare", "loss"), [(Fraction(1, 10**4), 1000), (Fraction(1, 10**6), 5000)])
def test_a_variance_that_grows_within_a_cell_is_seen(rare: Fraction, loss: int) -> None:
    """K(s) >= loss s - log(1/rare), which is above what order 1 tells by far, and all of it before the second cell."""
    b = log(1 / rare)
    point = (b + sqrt(b * b + loss * b)) / loss
    peak = (loss * point - b) / (point * (1 + point))
    assert point < 1

    def run() -> None:
        curve = FinitePair([lift(rare), lift(1 - rare)], [arb(loss), (-lift(rare)).log1p()]).convex()
        for share in (0.3, 0.9, 0.999):
            assert peak * share > float(curve.kl)
            with suppress(Undecided):
                assert _exceeds(curve, arb(peak * share)) is not None

    at_precision(128, run)


@pytest.mark.parametrize("chords", [False, True])
@pytest.mark.parametrize("times", [1, 7])
def test_a_sum_is_proven_part_by_part(chords: bool, times: int) -> None:
    """One part peaks far from order 1 and the other at it; the truth is that of all outcomes of all of them."""
    rare = [Fraction(1, 1000), Fraction(999, 1000)], [Fraction(1, 10**6), Fraction(10**6 - 1, 10**6)]
    usual = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]

    def cumulant(pair: tuple[list[Fraction], list[Fraction]], s: float) -> float:
        return log(fsum(float(a) * exp(s * log(a / b)) for a, b in zip(*pair, strict=True)))

    orders = [exp(n / 200) for n in range(-1000, 800)]
    truth = max((times * cumulant(rare, s) + 0.01 * times * cumulant(usual, s)) / (s * (1 + s)) for s in orders)

    def whole() -> list[Convex]:
        weak = curve(*usual)
        parts = [(curve(*rare, chords=chords), 100 * times), (weak, times)]

        def value(s: arb) -> arb:
            return sum((part.value(s) * count for part, count in parts), arb(0))

        kl, largest = (sum((getattr(part, it) * count for part, count in parts), arb(0)) for it in ("kl", "largest"))
        return [Convex(value, kl, largest, parts=parts)]

    def refused() -> None:
        [both] = whole()
        for share in (0.3, 0.9, 0.999):
            assert 100 * truth * share > float(both.kl)
            with suppress(Undecided):
                assert _exceeds(both, arb(100 * truth * share)) is not None

    at_precision(128, refused)
    lower, upper = steepest_ratio(whole, 1e-6)[:2]
    assert lower <= 100 * truth * (1 + 1e-5)
    assert upper >= 100 * truth
    assert upper <= lower * (1 + 2e-6)


def test_the_variance_of_all_uses_of_a_part_is_charged() -> None:
    """The peak is inside of the first cell, and so many uses make it steeper than one by far."""
    rare, loss, times = Fraction(1, 100), 20, 10**12

    def run() -> None:
        one = FinitePair([lift(rare), lift(1 - rare)], [arb(loss), (-lift(rare)).log1p()]).convex()
        all_of_them = Convex(lambda s: one.value(s) * times, one.kl * times, one.largest * times, parts=[(one, times)])
        b = log(1 / rare)
        point = (b + sqrt(b * b + loss * b)) / loss
        below = times * 0.99 * (loss * point - b) / (point * (1 + point))
        assert 2 * below > times * one.value(arb(1))
        with suppress(Undecided):
            assert _exceeds(all_of_them, arb(below)) is not None

    at_precision(128, run)


def test_nonnegative_against_exact_arithmetic() -> None:
    values = [Fraction(n, 4) for n in range(-8, 9, 2)] + [Fraction(1, 64), Fraction(-1, 64)]
    seen = set()
    for g0, g1, m, h in product(values, values, values, [Fraction(1, 4), Fraction(1), Fraction(3)]):
        points = [Fraction(0), h] + ([-g1 / m] if m > 0 and 0 < -g1 / m < h else [])
        truth = min(g0 + g1 * d + m * d * d / 2 for d in points) >= 0
        assert nonnegative(*(arb(v.numerator) / v.denominator for v in (g0, g1, m, h))) == truth, (g0, g1, m, h)
        seen.add(truth)
    assert seen == {True, False}


def test_nonnegative_believes_only_certain_signs() -> None:
    wide = arb(0, 1e-3)
    for bad in ((wide, arb(1), arb(1)), (arb(1), arb(-1, 1e-3), arb(0)), (arb("0.5"), arb(-1), arb(1, 1e-3))):
        assert not nonnegative(*bad, arb(1))


@pytest.mark.parametrize("m", [m for m in EVERYDAY_ROWS[::17] if m.is_tight and 0.01 < m.pure_epsilon < 50], ids=repr)
def test_a_bound_is_proven_just_above_rho_and_not_below(m: Mechanism) -> None:
    lower, upper = m.rho_bounds

    def attempt() -> None:
        for curve in m.convexes():
            assert _exceeds(curve, arb(upper) * (1 + arb(10) ** -6)) is None
        proven_below = 0
        for curve in m.convexes():
            try:
                proven_below += _exceeds(curve, arb(lower) * (1 - arb(10) ** -6)) is None
            except Undecided:
                continue
        assert proven_below < len(m.convexes())

    at_precision(256, attempt)
