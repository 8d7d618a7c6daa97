"""Text and JSON forms of plans: what is read is what was written, and hostile input gets an error with its place."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import EVERYDAY_ROWS

from zcdp import (
    L2,
    RAPPOR,
    Channel,
    ExponentialMechanism,
    L0LInf,
    Laplace,
    Mechanism,
    Plan,
    PlanError,
    PureDP,
    RandomizedResponse,
)
from zcdp.plans.plan_text import parse_written


@pytest.mark.parametrize("m", EVERYDAY_ROWS[::3], ids=repr)
def test_every_mechanism_reads_back(m: Mechanism) -> None:
    plan = 3 * m + PureDP(epsilon="log(3)")
    assert Plan.parse(repr(plan)) == plan
    assert Plan.from_json(plan.to_json()) == plan


def test_brackets_counts_and_spaces() -> None:
    written = " 2*( Laplace( epsilon = 0.1 )*3 +RAPPOR(epsilon='1/3',) )\n + RandomizedResponse(epsilon=1,k=4)"
    expected = 6 * Laplace(epsilon=0.1) + 2 * RAPPOR(epsilon="1/3") + RandomizedResponse(epsilon=1, k=4)
    assert Plan.parse(written) == expected


def test_a_bare_number_is_a_float_and_a_quoted_one_exact() -> None:
    assert Plan.parse("Laplace(epsilon=0.1)") == 1 * Laplace(epsilon=0.1)
    assert Plan.parse("Laplace(epsilon='0.1')") == 1 * Laplace(epsilon="0.1")
    assert Plan.parse("Laplace(epsilon='0.1')") != Plan.parse("Laplace(epsilon=0.1)")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a mechanism"),
        ("3 *", 3, "expected a mechanism"),
        ("Foo(epsilon=1)", 0, "no mechanism 'Foo'"),
        ("Laplace(epsilon=1", 17, "expected ','"),
        ("Laplace epsilon=1", 8, r"expected '\('"),
        ("RAPPOR(epsilon=1) + Laplace(epsilon=-1)", 20, r"epsilon \(-1\) must be positive"),
        ("2.5 * Laplace(epsilon=1)", 0, "whole number"),
        ("0 * Laplace(epsilon=1)", 0, "at least 1"),
        ("1000000000001 * Laplace(epsilon=1)", 0, "at most 10"),
        ("Laplace(epsilon=1) * RAPPOR(epsilon=1)", 21, "expected a count"),
        ("Gaussian(sigma=1, sensitivity=sqrt(2))", 30, r"needs quotes: 'sqrt\(2\)'"),
        ("PureDP(epsilon=log(3))", 15, r"needs quotes: 'log\(2\)'"),
        ("ExponentialMechanism(epsilon=1, monotone=true)", 41, "it is written True"),
        ("LInf(2)", 0, r"how many coordinates move must be known too: L0LInf\(m, c\)"),
        ("Laplace(epsilon=1) RAPPOR(epsilon=1)", 19, "expected '\\+' or the end"),
        ("Laplace(epsilon=1, epsilon=2)", 19, "given twice"),
        ("Laplace(sigma=1)", 0, "sigma"),
        ("Laplace(1)", 0, "by name"),
        ("Laplace(epsilon=Laplace)", 16, "expected a number"),
        ("Laplace(epsilon=" + "[" * 60, 67, "brackets"),
        ("Laplace(epsilon='1e99999')", 0, "exponent"),
        ("Laplace(epsilon=1e999)", 0, "finite"),
        ("__import__('os')", 0, "no mechanism"),
        ("Laplace(epsilon=1).rho", 18, "unexpected '.'"),
        ("Laplace(epsilon=1);", 18, "unexpected ';'"),
        ("Laplace(epsilon=1)\x00", 18, "unexpected"),
        ("(" * 60, 51, "brackets"),
        ("9" * 5000 + " * Laplace(epsilon=1)", 0, "more than 4300"),
    ],
)
def test_errors_have_a_position(text: str, position: int, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Plan.parse(text)
    assert caught.value.position == position
    assert f"at position {position}" in str(caught.value)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="0123456789.e+-*()=,'\" LaplceRAPOsion_/\n", max_size=60))
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    try:
        plan = Plan.parse(text)
    except PlanError as error:
        place = error.position
        assert 0 <= place <= len(text)
    else:
        assert Plan.parse(repr(plan)) == plan


def test_size_is_limited() -> None:
    with pytest.raises(PlanError, match="at most"):
        Plan.parse(" " * 1_000_001)
    with pytest.raises(TypeError, match="must be text"):
        Plan.parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        [1],
        [{"count": 1}],
        [{"count": 1, "mechanism": "os"}],
        [{"count": 1, "mechanism": ["Laplace(epsilon=1)"]}],
        [{"count": 0, "mechanism": "Laplace(epsilon=1)"}],
        [{"count": True, "mechanism": "Laplace(epsilon=1)"}],
        [{"count": 1, "mechanism": "Laplace(epsilon=1)", "more": 1}],
    ],
)
def test_bad_json_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"part|plan"):
        Plan.from_json(json.dumps(data))


def test_deep_json_is_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        Plan.from_json("[" * 100_000)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2),
        ("0x10", 16),
        ("0XfF", 255),
        (".5", 0.5),
        ("3.", 3.0),
        ("1e-3", 1e-3),
        ("2.5E+1", 25.0),
        ("'1/3'", "1/3"),
        ('"0.1"', "0.1"),
        ("'1e-3'", "1e-3"),
        ("Fraction(3, 7)", Fraction(3, 7)),
        ("Fraction('1/3', 2)", Fraction(1, 6)),
        ("Fraction(denominator=7, numerator=3)", Fraction(3, 7)),
        ("Fraction(2)", Fraction(2)),
        ("Fraction('0.1')", Fraction(1, 10)),
    ],
)
def test_a_number_is_the_one_that_is_written(written: str, value: object) -> None:
    [(part, count)] = Plan.parse(f"3 * Laplace(epsilon={written})").parts
    assert (part, count) == (Laplace(epsilon=value), 3)
    assert part.epsilon == Fraction(value)  # type: ignore[attr-defined, arg-type]


def test_constants_lists_and_sensitivities_are_what_they_are_called() -> None:
    [(one, _)] = Plan.parse("Laplace(epsilon=1, sensitivity=L0LInf(5, '1/2'))").parts
    assert one.sensitivity == L0LInf(5, "1/2")  # type: ignore[attr-defined]
    assert Plan.parse("Laplace(epsilon=1, sensitivity=L2(3))") == 1 * Laplace(epsilon=1, sensitivity=L2(3))
    for word, value in (("True", True), ("False", False)):
        read = Plan.parse(f"ExponentialMechanism(epsilon=1, monotone={word})")
        assert read == 1 * ExponentialMechanism(epsilon=1, monotone=value)
    assert Plan.parse("Channel([['3/4', '1/4'], ['1/4', '3/4']])") == 1 * Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert Plan.parse("Subsampled(2 * Gaussian(sigma=3), rate='0.1')") != Plan.parse(
        "Subsampled(Gaussian(sigma=3), rate='0.1')"
    )


def test_brackets_beside_one_another_are_not_inside_one_another() -> None:
    assert Plan.parse(" + ".join(["(Laplace(epsilon=1))"] * 60)) == 60 * Laplace(epsilon=1)
    cells = Channel([["1/2", "1/2"]] * 2)
    assert Plan.parse(" + ".join([repr(cells)] * 40)) == 40 * cells


def test_mechanisms_of_equal_cost_keep_their_own_words() -> None:
    _, written = parse_written("Laplace(scale=1) + Laplace(scale=10, sensitivity=10) + Laplace(epsilon=1)")
    assert sorted(written.values()) == ["Laplace(scale=1)", "Laplace(scale=10, sensitivity=10)"]


def test_a_fraction_has_a_denominator() -> None:
    with pytest.raises(PlanError, match=r"denominator .* must not be 0"):
        Plan.parse("Laplace(epsilon=Fraction(1, 0))")
