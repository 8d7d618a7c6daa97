"""Numbers as they come in, and as they go out: limits, signs, texts and floats, each at its edge."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, log, nextafter
from pickle import dumps, loads
from random import Random

import numpy as np
import pytest

from zcdp import Gaussian, Laplace, Plan, PureDP
from zcdp.errors import BadValue
from zcdp.numeric.exact import (
    Log,
    Readable,
    float_above,
    integer,
    literal,
    log_of,
    positive,
    positive_rational,
    probability,
    rational,
    readable,
    real,
    shown,
    times,
)
from zcdp.numeric.parameter_domains import unlimited

NUMBERS = [Fraction(n, d) for n in (-7, -3, -1, 0, 1, 2, 3, 10, 999) for d in (1, 3, 4, 7, 1000, 1024, 3333)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_read_back_as_what_was_written(number: Fraction) -> None:
    written = literal(number)
    assert rational(eval(written), "x") == number
    assert rational(str(number), "x") == number
    assert rational(repr(float(number)), "x") == Fraction(repr(float(number)))
    assert rational(float(number), "x") == Fraction(float(number))
    assert rational(Decimal(repr(float(number))), "x") == Fraction(Decimal(repr(float(number))))
    assert float(shown(number, 17)) == float(number)
    assert Readable(number) == number
    assert Fraction(eval(f"Fraction({str(number)!r})")) == readable(number)
    near = repr(Readable(number))
    assert float(Fraction(near)) == float(number)
    assert Fraction(near) == number or number.denominator >= 1000
    if number > 0:
        assert log_of(number) == pytest.approx(log(number), rel=1e-14, abs=1e-300)


def test_what_is_short_is_written_as_people_do() -> None:
    assert [literal(Fraction(x)) for x in ("3", "0.25", "0.1", "1/3", "1e19", "1e20")] == [
        "3", "0.25", "'0.1'", "'1/3'", str(10**19), "1e+20"]  # fmt: skip
    assert literal(Log(Fraction(3, 2))) == "'log(3/2)'"
    assert [repr(Readable(Fraction(x))) for x in ("4", "1/2", "1/3", "2/7", "1/1009", "1/1024")] == [
        "4", "0.5", "1/3", "2/7", repr(1 / 1009), repr(1 / 1024)]  # fmt: skip
    assert [shown(Fraction(x), 3) for x in ("2/3", "0", "1e-500", "123456")] == ["0.667", "0", "1e-500", "1.23e+05"]
    assert log_of(Fraction(10) ** -4000) == pytest.approx(-4000 * log(10))
    assert log_of(Fraction(10) ** 4000) == pytest.approx(4000 * log(10))
    assert log_of(Fraction(1, 10**310)) == pytest.approx(-310 * log(10))


@pytest.mark.parametrize("bad", ["0", "1", "-1/2", "3/2", 0, 1, 1.0, -0.1])
def test_a_probability_lies_strictly_between_zero_and_one(bad: str | float) -> None:
    with pytest.raises(BadValue, match="strictly between 0 and 1"):
        probability(bad, "p")


def test_signs_and_limits_are_kept() -> None:
    assert probability("1/2", "p") == Fraction(1, 2)
    assert probability(nextafter(1, 0), "p") < 1
    for bad in ("0", 0, -1, "-0.1", "log(1)", "log(1/2)", Log(Fraction(9, 10))):
        with pytest.raises(BadValue, match="positive"):
            positive(bad, "epsilon")
    for bad in (0, "0", -1):
        with pytest.raises(BadValue, match="positive"):
            positive_rational(bad, "sigma")
    assert positive("log(3/2)", "epsilon") == real("ln(3/2)", "epsilon") == Log(Fraction(3, 2))
    assert real("log(1)", "epsilon") == 0
    for bad in ("log(0)", "log(-1)"):
        with pytest.raises(BadValue, match="positive"):
            real(bad, "epsilon")
    for least in (0, 1, 5):
        assert integer(least, "k", least) == least
        with pytest.raises(BadValue, match=f"at least {least}"):
            integer(least - 1, "k", least)
    for bad in (1.5, "5/2"):
        with pytest.raises(BadValue, match="whole"):
            integer(bad, "k", 0)
    for bad in (
        "inf",
        "nan",
        float("inf"),
        float("nan"),
        Decimal("NaN"),
        "1e4001",
        "1e-4001",
        "1/0",
        "1_0",
        "0x10",
        "",
    ):
        with pytest.raises(BadValue):
            rational(bad, "x")
    assert rational("1e4000", "x") == 10**4000
    assert times(3, Fraction(1, 7)) == Fraction(3, 7)
    assert times(3, Log(Fraction(2, 5))) == Log(Fraction(8, 125))


LONG = "1" * 400_000


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ("1e99999999", "exponent of at most 4000"),
        ("1e-99999999", "exponent of at most 4000"),
        ("1e99999999999999999999", "exponent of at most 4000"),
        (Decimal("1e99999999"), "exponent of at most 4000"),
        (LONG, "at most 4300 digits"),
        (f"0.{LONG}", "at most 4300 digits"),
        (f"1/{LONG}", "at most 4300 digits"),
        (f"1/{LONG[:5000]}", "at most 4300 digits above and below the line"),
        (f"0.{'1' * 5000}", "at most 4300 digits"),
        (Decimal(f"0.{LONG}"), "at most 4300 digits"),
        (10**4300, "at most 4300 digits"),
        (Fraction(1, 10**4300), "at most 4300 digits"),
        (f"1.{'1' * 4000}e-4000", "at most 4300 digits"),
        ("1" * 400_000 + "x", "at most 4300 digits"),
        ("\u0663", "not a number"),
        ("\uff11", "not a number"),
        ("1/\u0663", "not a number"),
        ("1_000", "not a number"),
        ("\x1f1", "not a number"),
        ("\u00a01", "not a number"),
        ("1/0", "not a number"),
        ("infinity", "must be finite"),
        ("-nan", "must be finite"),
        (float("inf"), "must be finite"),
        (np.float64("nan"), "must be finite"),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int | Fraction) else "big",
)
def test_numbers(value: object, limit: str) -> None:
    for read in (rational, real):
        with pytest.raises(ValueError, match=limit) as caught:
            read(value, "epsilon")  # type: ignore[arg-type]
        assert str(caught.value).startswith("epsilon (")
        assert len(str(caught.value)) < 300


def test_numbers_within_the_limits_read_back() -> None:
    @unlimited  # as a ledger of an earlier version may hold them
    def read_back(number: Fraction | int) -> None:
        m = PureDP(epsilon=number)
        assert Plan.parse(repr(m)) == 1 * m
        assert Plan.from_json((1 * m).to_json()) == 1 * m

    for number in (
        Fraction(10**4299 + 1, 3),
        Fraction(3, 10**4299 + 1),
        Fraction("1e-4000"),
        Fraction(5e-324),
        10**4000,
    ):
        read_back(number)
    assert rational(" 1/3\n", "x") == Fraction(1, 3)
    assert rational("+.5e1", "x") == 5
    assert rational(" -7 / 2 ", "x") == Fraction(-7, 2)


def test_logarithms_keep_to_the_limit() -> None:
    near = Log(Fraction(10**2000 + 1, 10**2000 - 10**1990))
    with pytest.raises(ValueError, match="more than 4300 digits"):
        Laplace(epsilon=near).group(3)
    assert repr(Laplace(epsilon=near).group(2))
    with pytest.raises(ValueError, match="more than 4300 digits"):
        Laplace(epsilon="log(3)").group(10**5)


def test_a_scale_prints_as_a_person_writes_it() -> None:
    assert [repr(Laplace(scale=10).scale), repr(Laplace(epsilon=0.1).scale), repr(Gaussian(sigma=3).sigma)] == [
        "10",
        "10.0",
        "3",
    ]
    exact = Laplace(epsilon=0.1).scale
    assert exact == 1 / Fraction(0.1)
    assert exact != 10
    assert loads(dumps(exact)) == exact
    assert type(loads(dumps(exact))) is Readable


def test_floats_above_rationals_are_the_least() -> None:
    random = Random(6)
    for _ in range(300):
        value = Fraction(random.randint(-(10**20), 10**20), random.randint(1, 10**20))
        found = float_above(value)
        assert Fraction(found) >= value
        assert Fraction(nextafter(found, -inf)) < value
    largest = nextafter(inf, 0)
    assert float_above(Fraction(10) ** 400) == inf
    assert float_above(-(Fraction(10) ** 400)) == -largest
    assert float_above(Fraction(1, 10**400)) == 5e-324
    assert float_above(-Fraction(1, 10**400)) == 0
