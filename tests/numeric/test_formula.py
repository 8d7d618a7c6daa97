"""Formulas: what is read back, what is refused, and values in floats, on real and on complex balls."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import acb, arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import at_precision
from zcdp.numeric.formula import (
    derivative,
    is_convex,
    kinks,
    minus_log,
    one_side,
    outward,
    prepared,
    prepared_floats,
    read,
    trace,
)

TEXTS = (
    "(1 + x^2/12)^-2",
    "exp(-abs(x/2)^1.5)",
    "1/cosh(x/2)^2",
    "exp(-max(x, -x/2)) + 0.25*exp(-x^2)",
    "2^-abs(x) * (2 + tanh(x)) / (3 + atan(x))",
    "sqrt(1 + x^2)^-3 - (x - 1)/(x + 20) + 2",
    "exp(-x)/(1 + exp(-x))^2",
    "(3 + erf(x))*exp(-min(x^2, abs(x)))/sqrt(2*pi)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_reads_back_as_the_same_tree(text: str) -> None:
    formula = read(text)
    assert read(str(formula)) == formula


@pytest.mark.parametrize("text", TEXTS)
def test_the_four_ways_to_evaluate_agree(text: str) -> None:
    formula = read(text)
    for x in (-3.7, -0.6, 0.3, 2.9):
        value = formula.in_floats(x)
        assert prepared_floats(formula)(x) == pytest.approx(value, rel=1e-12)
        assert float(formula.on_reals(arb(x))) == pytest.approx(value, rel=1e-12)
        for on_complex in (formula.on_complex, prepared(formula)):
            assert float(on_complex(acb(x), False).real) == pytest.approx(value, rel=1e-12)
        wide = formula.on_reals(arb(x, 0.05))
        assert wide.contains(formula.on_reals(arb(x + 0.04)))


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_of_the_logarithm_are_difference_quotients(text: str) -> None:
    v = minus_log(read(text))
    slope = derivative(v)
    bend = derivative(slope)
    for x in (-3.7, -0.6, 0.3, 2.9):
        near = 1e-5
        quotient = (v.in_floats(x + near) - v.in_floats(x - near)) / (2 * near)
        assert slope.in_floats(x) == pytest.approx(quotient, rel=1e-6, abs=1e-8)
        assert slope.on_reals(arb(x)).overlaps(arb(slope.in_floats(x), 1e-9))
        second = (slope.in_floats(x + near) - slope.in_floats(x - near)) / (2 * near)
        assert bend.in_floats(x) == pytest.approx(second, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 + y", "there is no name 'y'"),
        ("expp(x)", "did you mean 'exp'"),
        ("exp(x", "expected ')' or ',' at position 5"),
        ("x $ 2", "unexpected '$' at position 2"),
        ("x x", "unexpected 'x' (products are written with *) at position 2"),
        ("2x", "unexpected 'x' (products are written with *) at position 1"),
        ("|x|", "unexpected '|' (write abs(x)) at position 0"),
        ("x > 0", "unexpected '>' (there are no conditions: use max, min and abs, and Truncated"),
        ("min(x)", "min takes 2 arguments, not 1"),
        ("2 +", "it ends early at position 3"),
        (" ", "is empty"),
        ("1/0", "divides by 0"),
        ("x^20000", "at most 10000"),
        ("(" * 100 + "x", "inside one another"),
        ("x" * 3000, "at most 2000 characters"),
    ],
)
def test_bad_text_is_refused_at_its_place(text: str, told: str) -> None:
    with pytest.raises(BadValue) as caught:
        read(text)
    assert told in str(caught.value)


def test_a_function_is_traced_once() -> None:
    calls = []

    def density(x: object) -> object:
        calls.append(x)
        return (1 + x**2 / 12) ** -2  # type: ignore[operator]

    assert trace(density) == read("(1 + x^2/12)^-2")
    assert len(calls) == 1


@pytest.mark.parametrize("function", [lambda x: 1 if x > 0 else 2, lambda x: math.exp(-x), float, lambda _: 3])
def test_a_function_that_looks_at_its_argument_is_refused(function: object) -> None:
    with pytest.raises(BadType, match="density"):
        trace(function)  # type: ignore[arg-type]


def test_the_second_derivative_is_not_known_where_a_slope_jumps() -> None:
    for text in ("abs(x^2 - 1)", "max(x^2, 1)", "min(x^2, 2 - x^2)"):
        bend = derivative(derivative(read(text)))
        assert not bend.on_reals(arb(1, 0.1)).is_finite()
        assert bend.on_reals(arb(2, 0.1)).is_finite()


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
        values = [formula.in_floats(n / 8) for n in range(-40, 41)]
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
            values = [formula.in_floats(side * n / 8) for n in range(60)]
            assert all(way * (b - a) >= -1e-12 for a, b in pairwise(values))


def test_numbers_are_exact() -> None:
    assert str(read("0.1*x")) == "x/10"
    assert read("x^1.5").value == Fraction(3, 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("abs(x)^1.5", 4**2.5 / 2.5),
        ("sqrt(abs(x))", 16 / 3),
        ("abs(x)^(7/3)", 4 ** (10 / 3) * 0.3),
        ("log(1/100 + abs(x))", 4.01 * math.log(4.01) - 0.01 * math.log(0.01) - 4),
        ("atan(x)", 4 * math.atan(4) - math.log(17) / 2),
    ],
)
def test_a_branch_point_is_noticed_by_certified_integration(text: str, value: float) -> None:
    """Without the flag the integral of a root beside its cut is a tight ball around a wrong number.

    On the piece right of the kink nothing but the root itself tells that 0 is its end.
    """
    piece = one_side(read(text), Fraction(2))
    for function in (piece.on_complex, prepared(piece)):
        found = at_precision(100, lambda f=function: acb.integral(f, 0, 4).real)
        assert float(found) == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert found.rad() < 1e-12


def test_pieces_between_kinks_have_no_kinks() -> None:
    formula = read("exp(-max(x, -x/2)) + abs(3*x - 1)")
    assert list(kinks(formula)) == [Fraction(0), Fraction(1, 3)]
    for place in (Fraction(-1), Fraction(1, 10), Fraction(2)):
        piece = one_side(formula, place)
        assert not kinks(piece)
        assert piece.in_floats(float(place)) == pytest.approx(formula.in_floats(float(place)))
