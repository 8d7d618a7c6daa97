"""Enclosures hold the value, are as tight as promised, and give up loudly."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from zcdp import NotCertified
from zcdp.numeric import balls as certify
from zcdp.numeric.balls import Undecided, enclose, lift


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
