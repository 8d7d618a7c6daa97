"""Formulas at a place: in floats, on real and on complex balls, against mpmath and against closed integrals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from flint import acb, arb
from numeric.formulas import TEXTS

from zcdp.numeric.balls import at_precision
from zcdp.numeric.formula import derivative, one_side, read
from zcdp.numeric.formula_values import FormulaValues, on_reals


@pytest.mark.parametrize("text", TEXTS)
def test_the_three_ways_to_evaluate_agree_with_mpmath(text: str) -> None:
    formula = FormulaValues(read(text))
    names = {name: getattr(mpmath, name) for name in ("exp", "cosh", "sqrt", "tanh", "atan", "erf", "pi")}
    for x in (-3.7, -0.6, 0.3, 2.9):
        value = float(eval(text.replace("^", "**"), {**names, "x": mpmath.mpf(x)}))
        assert formula.in_floats(x) == pytest.approx(value, rel=1e-12)
        assert float(formula.on_reals(arb(x))) == pytest.approx(value, rel=1e-12)
        for analytic in (False, True):
            assert float(formula.on_complex(acb(x), analytic).real) == pytest.approx(value, rel=1e-12)
        wide = formula.on_reals(arb(x, 0.05))
        assert wide.contains(formula.on_reals(arb(x + 0.04)))


def test_the_second_derivative_is_not_known_where_a_slope_jumps() -> None:
    for text in ("abs(x^2 - 1)", "max(x^2, 1)", "min(x^2, 2 - x^2)"):
        bend = derivative(derivative(read(text)))
        assert not on_reals(bend, arb(1, 0.1)).is_finite()
        assert on_reals(bend, arb(2, 0.1)).is_finite()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("abs(x)^1.5", 4**2.5 / 2.5),
        ("sqrt(abs(x))", 16 / 3),
        ("abs(x)^(7/3)", 4 ** (10 / 3) * 0.3),
        ("abs(x)^(4/3)", 4 ** (7 / 3) * 3 / 7),
        ("log(1/100 + abs(x))", 4.01 * math.log(4.01) - 0.01 * math.log(0.01) - 4),
        ("atan(x)", 4 * math.atan(4) - math.log(17) / 2),
    ],
)
def test_a_branch_point_is_noticed_by_certified_integration(text: str, value: float) -> None:
    """Without the flag the integral of a root beside its cut is a tight ball around a wrong number.

    On the piece right of the kink nothing but the root itself tells that 0 is its end.
    """
    piece = one_side(read(text), Fraction(2))
    found = at_precision(100, lambda: acb.integral(FormulaValues(piece).on_complex, 0, 4).real)
    assert float(found) == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert found.rad() < 1e-12


def test_what_does_not_depend_on_x_has_no_branch_point() -> None:
    """Left of 0 max(0, x)^1.5 is 0^1.5, and analytic."""
    values = FormulaValues(one_side(read("2 + max(0, x)^1.5"), Fraction(-1)))
    assert values.on_complex(acb(arb(-1, 0.1), arb(0, 0.1)), True) == 2
