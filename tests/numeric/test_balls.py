"""Outward rounding of balls, and the precision that is always restored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from math import inf, log, nextafter
from threading import Event, Thread

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from zcdp import Laplace, NotCertified
from zcdp.numeric import balls as certify
from zcdp.numeric.balls import (
    Undecided,
    above,
    at_precision,
    below,
    ceiling,
    enclose,
    floor,
    lift,
    log_size,
    root_below,
    settled,
    thin,
    trusted,
    upper_float,
)
from zcdp.numeric.exact import Log

RATIONALS = st.fractions().map(lambda x: x * Fraction(1, 10**9))


@given(RATIONALS, st.integers(2, 200))
def test_floats_enclose_whatever_the_precision(number: Fraction, bits: int) -> None:
    lower, upper = at_precision(bits, lambda: (below(lift(number)), above(lift(number))))
    assert Fraction(lower) <= number <= Fraction(upper)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_an_exact_float_stays_itself(value: float) -> None:
    assert at_precision(64, lambda: (below(arb(value)), above(arb(value)))) == (value, value)


@pytest.mark.parametrize("value", [1.0, 5e-324, 2.2250738585072014e-308, 1e300, 1.7976931348623157e308])
def test_one_step_beyond_a_float_is_seen(value: float) -> None:
    def step() -> tuple[float, float]:
        more = arb(value) * (1 + arb(2) ** -90)
        return below(more), above(more)

    assert at_precision(128, step) == (value, nextafter(value, inf))


def test_beyond_the_floats() -> None:
    assert at_precision(64, lambda: (below(arb(10) ** 400), above(arb(10) ** 400))) == (1.7976931348623157e308, inf)
    assert at_precision(64, lambda: (below(arb(10) ** -400), above(arb(10) ** -400))) == (0.0, 5e-324)
    assert at_precision(64, lambda: above(-(arb(10) ** -400))) == 0.0


def test_precision_is_restored_after_an_error() -> None:
    before = ctx.prec

    def fail() -> None:
        assert ctx.prec == 777
        raise KeyError

    with pytest.raises(KeyError):
        at_precision(777, fail)
    assert ctx.prec == before


def test_logarithms_near_one_keep_their_digits() -> None:
    tiny = at_precision(64, lambda: lift(Log(1 + Fraction(1, 2**500))))
    assert tiny.rel_accuracy_bits() > 50


def test_threads_do_not_disturb_each_other() -> None:
    expected = {n: Laplace(epsilon=Fraction(1, n)).rho for n in range(1, 60)}
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            for n, rho in expected.items():
                if Laplace(epsilon=Fraction(1, n)).rho != rho:
                    wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


def test_only_thin_balls_are_trusted() -> None:
    third = at_precision(128, lambda: arb(1) / 3)
    assert trusted(third) == 1 / 3
    wide = arb(1, 1e-9)
    for ball in (wide, arb("nan"), arb.pos_inf(), arb(0, 1e-30)):
        with pytest.raises(Undecided):
            trusted(ball)
    assert trusted(wide, within=1e-8) == 1
    assert trusted(arb(0, 1e-30), within=1e-29) == 0
    for within in (0.0, 1e-10):
        with pytest.raises(Undecided):
            thin(wide, within=within)
    asked = []

    def later() -> float:
        asked.append(1)
        return trusted(1 - (1 - arb(2) ** -200))

    assert settled(later) == 2.0**-200
    assert len(asked) > 1
    assert below(third) <= 1 / 3 <= above(third)


# Enclosures hold the value, are as tight as promised, and give up loudly.


@given(st.fractions(min_value=0).map(lambda x: x / 10**6))
def test_rationals_are_pinned_between_neighbours(number: Fraction) -> None:
    lower, upper = enclose(lambda: lift(number))
    assert Fraction(lower) <= number <= Fraction(upper)
    assert upper <= nextafter(lower, inf)


def test_cancellation_costs_precision_not_truth() -> None:
    tiny = arb(2) ** -900
    assert enclose(lambda: ((1 + tiny) - 1) * (1 + tiny)) == (2.0**-900, nextafter(2.0**-900, 1))


def test_a_value_that_sits_on_a_float_ends_the_search() -> None:
    evaluations = []

    def on_one() -> arb:
        evaluations.append(1)
        return arb(3).sqrt() ** 2 / 3  # exactly 1, but no ball can know

    lower, upper = enclose(on_one)
    assert lower < 1 < upper
    assert upper - lower < 1e-15
    assert len(evaluations) == 6  # 128, 256, ... 4096 bits


def test_what_cannot_be_decided_is_an_error_never_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify, "LAST_BITS", 512)

    def undecided() -> arb:
        raise Undecided

    for evaluate in (arb.nan, arb.pos_inf, undecided, lambda: arb(1, 0.1)):
        with pytest.raises(NotCertified):
            enclose(evaluate)


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


def test_the_floor_is_used() -> None:
    assert enclose(lambda: arb(10) ** -330 * arb(0, 1)) == (0.0, 5e-324)
    assert enclose(lambda: arb(1, 1e-30), floor=1.0) == (1.0, nextafter(1, 2))


@pytest.mark.parametrize("number", ["7/2", "-7/2", "3", "-3", "1/1000", "-1/1000", "123456789/10"])
def test_whole_numbers_around_a_ball_hold_all_of_it(number: str) -> None:
    exact = Fraction(number)
    for radius in (0.0, 0.3, 1.7):
        ball = at_precision(80, lambda r=radius: lift(exact) + arb(0, r))
        low, high = exact - Fraction(radius), exact + Fraction(radius)
        assert floor(ball) <= low
        assert ceiling(ball) >= high
        assert floor(ball) > low - 1 - Fraction(1, 10**6)
        assert ceiling(ball) < high + 1 + Fraction(1, 10**6)
    for endless in (arb.pos_inf(), arb("nan")):
        with pytest.raises(Undecided):
            floor(endless)


def test_roots_and_sizes_are_on_their_side() -> None:
    for square, radius in ((2.0, 0.0), (2.0, 0.5), (1e-8, 9e-9)):
        found = root_below(arb(square, radius))
        assert Fraction(found) ** 2 <= Fraction(square) - Fraction(radius) + Fraction(1, 10**25)
        assert found >= (square - radius) ** 0.5 * (1 - 1e-6)
    assert root_below(arb(0, 1)) == root_below(arb(-1)) == root_below(arb("nan")) == 0
    assert log_size(arb(3)) == pytest.approx(log(3))
    assert log_size(arb(0, 0.5)) == pytest.approx(log(0.5))
    assert log_size(arb(0)) == -inf


def test_an_upper_float_is_never_below() -> None:
    for n in range(2, 40):
        found = upper_float(lambda n=n: arb(n).sqrt() - arb(n - 1).sqrt())
        assert at_precision(200, lambda n=n, f=found: arb(f) >= arb(n).sqrt() - arb(n - 1).sqrt())
        assert found == pytest.approx(n**0.5 - (n - 1) ** 0.5, rel=1e-12)
        thick = upper_float(lambda n=n: arb(n, n * 2.0**-45))
        assert n * (1 + 2.0**-45) <= thick <= n * (1 + 2.0**-44)
    with pytest.raises(NotCertified):
        upper_float(lambda: arb(1, 0.1))


def test_what_is_not_known_has_no_ends() -> None:
    assert above(arb.nan()) == inf
    assert below(arb.nan()) == -inf
    assert above(arb(-1).log()) == inf
