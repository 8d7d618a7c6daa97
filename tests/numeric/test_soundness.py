"""The steps that certification rests on, one by one: each test fails if its step is left out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import inf, nextafter
from threading import Event, Thread

import pytest
from flint import arb, arb_series, ctx
from table import EVERYDAY_ROWS

from zcdp import BoundedRange, Laplace, Mechanism, NotCertified, PureDP
from zcdp.mechanisms import three_point_loss as three_point
from zcdp.mechanisms.three_point_loss import _concave, three_point_peak
from zcdp.numeric.balls import Undecided, at_precision, enclose
from zcdp.numeric.functions import coefficient, derivatives
from zcdp.numeric.search import sign_change
from zcdp.numeric.supremum import _exceeds, _nonnegative


def test_one_precision_at_a_time() -> None:
    inside, leave, seen = Event(), Event(), []
    holder = Thread(target=lambda: at_precision(777, lambda: (inside.set(), leave.wait(10))))
    waiter = Thread(target=lambda: seen.append(at_precision(99, lambda: ctx.prec)))
    holder.start()
    inside.wait(10)
    waiter.start()
    waiter.join(0.1)
    assert not seen
    leave.set()
    holder.join()
    waiter.join()
    assert seen == [99]


@pytest.mark.parametrize("cap", [0, 1, 2, 3, 50])
def test_the_callers_series_length_does_not_matter(cap: int) -> None:
    rows = [m for m in EVERYDAY_ROWS[::40] if not m.is_envelope or isinstance(m, BoundedRange)]
    expected = [m.rdp(1) for m in rows]
    before, ctx.cap = ctx.cap, cap
    try:
        assert [m.rdp(1) for m in rows] == expected
        assert ctx.cap == cap
    finally:
        ctx.cap = before


def test_a_missing_term_of_a_series_is_an_error() -> None:
    with pytest.raises(NotCertified):
        coefficient(arb_series([1, 2], prec=2), 2)
    x = arb_series([3, 1], prec=3)
    assert derivatives(x * x)[2].contains(2)


def test_the_floor_is_used() -> None:
    assert enclose(lambda: arb(10) ** -330 * arb(0, 1)) == (0.0, 5e-324)
    assert enclose(lambda: arb(1, 1e-30), floor=1.0) == (1.0, nextafter(1, 2))


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 3), Fraction(1, 10**400), 10**400])
def test_pure_epsilon_is_the_least_float_above(epsilon: Fraction) -> None:
    up = PureDP(epsilon=epsilon).pure_epsilon
    assert up == inf or Fraction(up) >= epsilon
    assert Fraction(nextafter(up, 0)) < epsilon


def test_logarithms_are_rounded_up() -> None:
    # log 3 = 1.0986122886681096913952..., 1/log 2 = 1.4426950408889634073599...
    assert Fraction(PureDP(epsilon="log(3)").pure_epsilon) > Fraction("1.0986122886681096913952")
    assert Fraction(Laplace(epsilon="log(2)").scale) > Fraction("1.4426950408889634073599")


@pytest.mark.parametrize(
    ("c", "x", "truth"),
    [("2.005", "0.001", False), ("2.001", "0.1", True), ("2.00199", "0.1", True), ("2.0021", "0.1", False)],
)
def test_curvature_near_its_elementary_bounds(c: str, x: str, truth: bool) -> None:
    assert at_precision(128, lambda: _concave(arb(c), arb(x))) is truth


def test_a_ball_across_the_threshold_is_undecided() -> None:
    with pytest.raises(Undecided):
        at_precision(128, lambda: three_point_peak(arb(1), arb(8.7626, 0.01)))


@pytest.mark.parametrize("k", [20, 1000, 10**6])
@pytest.mark.parametrize("off", [-1e-5, 0.0, 1e-5])
def test_a_wide_bracket_still_holds_rho(k: int, off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = at_precision(256, lambda: three_point_peak(arb(1), arb(k)))
    w = float(truth.order) - 1
    monkeypatch.setattr(three_point, "sign_change", lambda _: arb(w * (1 + off), 2e-5 * w))
    wide = at_precision(256, lambda: three_point_peak(arb(1), arb(k)))
    assert wide.rho.contains(truth.rho)
    assert wide.rho.rad() < 1e-7 * truth.rho  # of second order in the width, not of first


@pytest.mark.parametrize("root", ["1.25", "1.75"])
def test_newton_is_not_believed(root: str) -> None:
    with pytest.raises(Undecided):
        at_precision(128, lambda: sign_change(lambda x: (arb(root) - x, -(arb(10) ** 60))))


def test_a_root_before_a_given_end() -> None:
    ball = at_precision(128, lambda: sign_change(lambda x: (arb(1) / 3 - x, arb(-1)), arb(1) / 2))
    assert ball.overlaps(arb(1) / 3)


def test_nonnegative_against_exact_arithmetic() -> None:
    values = [Fraction(n, 4) for n in range(-8, 9, 2)] + [Fraction(1, 64), Fraction(-1, 64)]
    seen = set()
    for g0, g1, m, h in product(values, values, values, [Fraction(1, 4), Fraction(1), Fraction(3)]):
        points = [Fraction(0), h] + ([-g1 / m] if m > 0 and 0 < -g1 / m < h else [])
        truth = min(g0 + g1 * d + m * d * d / 2 for d in points) >= 0
        assert _nonnegative(*(arb(v.numerator) / v.denominator for v in (g0, g1, m, h))) == truth, (g0, g1, m, h)
        seen.add(truth)
    assert seen == {True, False}


def test_nonnegative_believes_only_certain_signs() -> None:
    wide = arb(0, 1e-3)
    for bad in ((wide, arb(1), arb(1)), (arb(1), arb(-1, 1e-3), arb(0)), (arb("0.5"), arb(-1), arb(1, 1e-3))):
        assert not _nonnegative(*bad, arb(1))


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


def test_calibrate_compares_with_the_exact_target() -> None:
    rho = Laplace(epsilon=1).rho
    just_below = Fraction(rho) - Fraction(1, 10**40)
    assert Laplace.calibrate(rho=just_below).rho < rho


def test_an_array_rounds_no_order() -> None:
    m = PureDP(epsilon="3.3e-15")
    assert m.rdp([2**53 + 1, 1.5])[0] == m.rdp(2**53 + 1)
    assert Laplace(epsilon=3.5).rdp([1.1, "inf"])[0] == Laplace(epsilon=3.5).rdp(1.1)
