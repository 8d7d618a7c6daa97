"""What the form of a formula shows, against its values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from zcdp.numeric.formula import read
from zcdp.numeric.formula_shape import is_convex, outward
from zcdp.numeric.formula_values import FormulaValues


@pytest.mark.parametrize(
    ("text", "convex"),
    [
        ("max(abs(x), x^2/2)", True),
        ("-min(x, 2 - x) + abs(x - 1)^1.5 + exp(-x)", True),
        ("cosh(2*x - 1) - 3*x", True),
        ("min(x^2, (x - 1)^2)", False),
        ("-x^2", False),
        ("abs(x)^0.5", False),
        ("(x^2 - 1)^2", False),
        ("x^3", False),
        ("exp(-x^2)", False),
        ("abs(x^2 - 1)", False),
    ],
)
def test_convexity_by_the_form(text: str, convex: bool) -> None:
    formula = read(text)
    assert is_convex(formula) == convex
    assert not (convex and is_convex(formula, -1))
    if convex:
        values = [FormulaValues(formula).in_floats(n / 8) for n in range(-40, 41)]
        assert all(a + c >= 2 * b - 1e-9 for a, b, c in zip(values, values[1:], values[2:], strict=False))


RISING_OR_FALLING = {
    "1/(1 + x^4)": -1,
    "(1 + abs(x)^3)^-2": -1,
    "exp(-abs(x))/(1 + x^2)": -1,
    "-1/(1 + x^4)": 1,
    "-2*x^2": -1,
    "x^2*x^2": 1,
    "exp(-x^2) + 1/(1 + x^2)": -1,
    "exp(-x^2)^-2": 1,
    "min(1/cosh(x)^2, exp(-abs(x)))": -1,
    "3 - x^2": -1,
    "log(1 + x^2)": 1,
    "exp(-x^2)*(1 + x^2)": None,
    "exp(-x^2) - 1/(1 + x^2)": None,
    "x": None,
    "x^3": None,
    "abs(x - 1)": None,
    "(x^2 - 1)^2": None,
    "(x^2 - 3)*(x^2 - 4)": None,
    "1/(x^2 - 3)": None,
    "(3 - x^2)*exp(-x^2)": None,
    "(x^2 + 1)/(x^2 + 2)": None,
}


@pytest.mark.parametrize("text", RISING_OR_FALLING)
def test_what_rises_or_falls_with_the_distance_by_the_form(text: str) -> None:
    formula, way = read(text), RISING_OR_FALLING[text]
    assert outward(formula, Fraction(0)) == way
    if way is not None:
        for side in (-1, 1):
            values = [FormulaValues(formula).in_floats(side * n / 8) for n in range(60)]
            assert all(way * (b - a) >= -1e-12 for a, b in pairwise(values))
