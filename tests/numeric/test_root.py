"""The certified bracket of a sign change."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from zcdp.numeric.balls import Undecided, at_precision, lift
from zcdp.numeric.search import sign_change


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_bracket_holds_the_root_and_is_thin(root: Fraction) -> None:
    def evaluate() -> tuple[arb, arb]:
        ball = sign_change(lambda x: (lift(root) ** 3 - x**3, -3 * x**2))
        return ball, lift(root)

    ball, truth = at_precision(128, evaluate)
    assert ball.overlaps(truth)
    assert ball.rel_accuracy_bits() > 55


def test_a_steep_function_that_misleads_newton() -> None:
    ball = at_precision(128, lambda: sign_change(lambda x: (-(x - 100).atan(), -1 / (1 + (x - 100) ** 2))))
    assert ball.contains(100)


def test_a_sign_that_cannot_be_told_is_undecided() -> None:
    with pytest.raises(Undecided):
        sign_change(lambda x: (arb(0, 1), arb(1)))
