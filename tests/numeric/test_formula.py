"""Formulas: what is read back, what is refused, derivatives and the pieces between kinks."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import acb, arb
from numeric.formulas import TEXTS

from zcdp.errors import BadType, BadValue
from zcdp.numeric.formula import (
    derivative,
    kinks,
    minus_log,
    one_side,
    read,
    trace,
)
from zcdp.numeric.formula_values import FormulaValues


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_reads_back_as_the_same_tree(text: str) -> None:
    formula = read(text)
    assert read(str(formula)) == formula


@pytest.mark.parametrize("text", TEXTS)
def test_derivatives_of_the_logarithm_are_difference_quotients(text: str) -> None:
    formula = minus_log(read(text))
    v, slope = FormulaValues(formula), FormulaValues(derivative(formula))
    bend = FormulaValues(derivative(slope.formula))
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


def test_numbers_are_exact() -> None:
    assert str(read("0.1*x")) == "x/10"
    assert read("x^1.5").value == Fraction(3, 2)


def test_pieces_between_kinks_have_no_kinks() -> None:
    formula = read("exp(-max(x, -x/2)) + abs(3*x - 1)")
    assert list(kinks(formula)) == [Fraction(0), Fraction(1, 3)]
    for place in (Fraction(-1), Fraction(1, 10), Fraction(2)):
        piece = one_side(formula, place)
        assert not kinks(piece)
        values = (FormulaValues(one).in_floats(float(place)) for one in (piece, formula))
        assert next(values) == pytest.approx(next(values))


@pytest.mark.parametrize(
    ("text", "place", "value"),
    [
        ("max(x, -2)", -1, -1),
        ("max(x, x/2 - 1)", -1, -1),
        ("max(-x, 0)", -3, 3),
        ("max(x, -x)", -3, 3),
        ("max(0, x)", -1, 0),
    ],
)
def test_the_larger_of_two_is_not_negative_only_where_that_is_known(text: str, place: int, value: int) -> None:
    piece = FormulaValues(one_side(read(text), Fraction(place)))
    assert piece.on_reals(arb(place)).contains(value)
    assert piece.on_reals(arb(place)).rad() < 1e-10
    assert float(piece.on_complex(acb(place), False).real) == value
