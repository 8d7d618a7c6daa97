"""Outward rounding of balls, and the precision that is always restored."""

from __future__ import annotations

import threading
from fractions import Fraction
from math import inf, nextafter

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from zcdp import Laplace
from zcdp.numeric.balls import above, at_precision, below, lift
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
