"""Digits on the safe side: rounded up where spent and down where saved, near the full number; shares add up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zcdp.text.numbers import (
    SUPERSCRIPTS,
    at_least,
    at_most,
    cost,
    exactly,
    gain,
    lower,
    more,
    percent,
    rounded_percent,
    shares,
    spent,
    tagged,
)
from zcdp.text.numbers import rounded_percent as typeset_percent

BACK = {value: chr(key) for key, value in SUPERSCRIPTS.items()}


def read(text: str) -> Decimal:
    """The number that a reader sees: 0.12, or 1.5 x 10^-7."""
    mantissa, times, power = text.rpartition(" × ") if " × " in text else ("1", "", text)  # noqa: RUF001
    if not times and not any(ord(sign) in BACK or sign in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻" for sign in text):
        return Decimal(text)
    plain = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
    exponent = "".join("0123456789-"[plain.index(sign)] for sign in power.removeprefix("10"))
    return Decimal(mantissa).scaleb(int(exponent))


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_the_shown_number_is_on_the_safe_side_and_close(value: float) -> None:
    """The last bit of the float is not shown: 11.000000000000002 is 11 to a reader."""
    truth, bit = Decimal(repr(value)), Decimal("4e-16")
    assert truth * (1 - bit) <= read(at_most(value)) <= truth * Decimal("1.00001")
    assert truth * Decimal("0.99999") <= read(at_least(value)) <= truth * (1 + bit)
    assert read(exactly(value)) == truth


@given(st.floats(min_value=1e-300, max_value=1e300), st.sampled_from([4, 6, 10]))
def test_terminal_and_page_show_the_same_number(value: float, digits: int) -> None:
    assert read(at_most(value, digits)) == Decimal(cost(value, digits))
    assert read(at_least(value, digits)) == Decimal(lower(value, digits))


@given(st.lists(st.floats(min_value=0, max_value=1e9), max_size=120))
def test_shares_add_up_to_a_hundred_and_are_near(parts: list[float]) -> None:
    shown = [Decimal(share.rstrip("%")) for share in shares(parts)]
    assert sum(shown) == (100 if parts else 0)
    if whole := sum(map(Fraction, parts)):
        for part, share in zip(parts, shown, strict=True):
            assert abs(Fraction(share) - 100 * Fraction(part) / whole) < Fraction(1, 10)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1, "0.1"),
        (9.9999999, "10.0000"),
        (0.99999999, "1.00000"),
        (1e-7, "10⁻⁷"),
        (0.0, "0"),
        ("inf", "∞"),
        (12.5, "12.5"),
    ],
)
def test_some_numbers_as_they_are_read(value: float | str, shown: str) -> None:
    assert at_most(value) == shown


def test_what_is_spent_is_rounded_up_and_what_is_saved_down() -> None:
    assert (percent(0.99951, up=True), percent(0.99959, up=False)) == ("100.0%", "99.9%")


def test_only_numbers_get_onto_the_page() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        at_most("<b>1</b>")


def test_shares_that_no_percentage_shows() -> None:
    assert percent(1e300, up=True) == "10³⁰⁰ times"
    assert percent(9999999.99, up=True) == "999999999.0%"
    assert more(1e300) == "10³⁰⁰"


# Digits on the safe side at their edges: a hair beyond a short number is the next one, but for float error alone.


SHORT = [("0.25", "0.250001", "0.249999"), ("3", "3.00001", "2.99999"), ("120", "120.001", "119.999")]


@pytest.mark.parametrize(("short", "above", "below"), SHORT)
@pytest.mark.parametrize("hair", [1e-14, 1e-12, 1e-9, 1e-7])
def test_a_hair_beyond_a_short_number_is_seen(short: str, above: str, below: str, hair: float) -> None:
    number = float(short)
    assert (cost(number), lower(number), at_most(number), at_least(number)) == (short, short, short, short)
    assert (cost(number * (1 + hair)), at_most(number * (1 + hair))) == (above, above)
    assert (lower(number * (1 - hair)), at_least(number * (1 - hair))) == (below, below)
    assert float(lower(number * (1 + hair))) == float(at_least(number * (1 + hair))) == number
    assert float(cost(number * (1 - hair))) == float(at_most(number * (1 - hair))) == number


@pytest.mark.parametrize(("short", "above", "below"), SHORT)
def test_the_last_bit_of_a_float_is_not_shown(short: str, above: str, below: str) -> None:
    for end in (0.0, inf):
        bit = nextafter(float(short), end)
        assert (cost(bit), lower(bit), at_most(bit), at_least(bit)) == (short, short, short, short)


@pytest.mark.parametrize(
    ("share", "up", "down"),
    [
        (0.12341, "12.4%", "12.3%"),
        (0.12349, "12.4%", "12.3%"),
        (0.123, "12.3%", "12.3%"),
        (0.1 + 1e-13, "10.1%", "10.0%"),
        (0.1 - 1e-13, "10.0%", "9.9%"),
        (0.0, "0.0%", "0.0%"),
        (1e-9, "0.1%", "0.0%"),
        (1.0001, "100.1%", "100.0%"),
        (-0.0001, "0.0%", "-0.1%"),
    ],
)
def test_shares_are_rounded_up_where_spent_and_down_where_saved(share: float, up: str, down: str) -> None:
    assert (rounded_percent(share, up=True), rounded_percent(share, up=False)) == (up, down)
    assert (typeset_percent(share, up=True), typeset_percent(share, up=False)) == (up, down)
    assert (spent(share), gain(share)) == (up, down)


def test_two_places_where_a_tenth_is_coarse() -> None:
    assert (rounded_percent(0.123412, up=True, places=2), rounded_percent(0.123419, up=False, places=2)) == (
        "12.35%",
        "12.34%",
    )
    assert shares([1] * 50) == ["2.0%"] * 50
    assert shares([1] * 64)[-1] == "1.56%"


def test_a_budget_that_is_exceeded_by_a_hair_is_not_shown_as_used_up() -> None:
    assert [spent(1.0), spent(1.0, exceeded=True), spent(1.01, exceeded=True)] == [
        "100.0%",
        "a little more than 100%",
        "101.0%",
    ]


def test_parts_without_end_are_the_whole() -> None:
    assert shares([inf, 3, 1]) == ["100.0%", "0.0%", "0.0%"]
    assert shares([inf, inf]) == ["50.0%", "50.0%"]
    assert shares([0, 0]) == ["50.0%", "50.0%"]
    assert shares([2, 1]) == ["66.7%", "33.3%"]


@pytest.mark.parametrize(
    ("value", "page", "terminal"),
    [
        (0.000123456789, "0.000123457", "0.000123457"),
        (0.0000123456789, "1.23457 × 10⁻⁵", "1.23457e-5"),  # noqa: RUF001
        (1234567.8, "1234570", "1.23457e6"),
        (12345678.0, "1.23457 × 10⁷", "1.23457e7"),  # noqa: RUF001
        (1e-12, "10⁻¹²", "1e-12"),
        (None, "–", "-"),  # noqa: RUF001
        ("inf", "∞", "infinite"),
        (0.0, "0", "0"),
    ],
)
def test_a_number_is_written_alike_on_a_page_and_a_terminal(
    value: float | str | None, page: str, terminal: str
) -> None:
    assert (at_most(value), cost(value)) == (page, terminal)


def test_factors_are_rounded_down_and_given_numbers_not_at_all() -> None:
    assert [more(1.359), more(2.0), more(0.999)] == ["1.35", "2.00", "0.99"]
    assert [exactly(0.1), exactly(1 / 3), exactly(12345.678)] == ["0.1", "0.3333333333333333", "12345.678"]
    assert tagged(1 / 3, "x") == '<data value="0.3333333333333333">x</data>'
    assert (tagged(None, "x"), tagged("inf", "x")) == ("x", '<data value="inf">x</data>')


def test_a_number_of_one_digit_more_than_are_shown_is_rounded_too() -> None:
    assert (cost(0.1234561), lower(0.1234569), at_most(1234.561), at_least(1234.569)) == (
        "0.123457",
        "0.123456",
        "1234.57",
        "1234.56",
    )
    assert (cost(0.12341, 4), lower(0.12349, 4), cost(0.1234, 4)) == ("0.1235", "0.1234", "0.1234")


NUMBERS = [0.36787944117144233, 1 / 3, 2 / 3, 1e-7 / 3, 123456.789, 1234567.89, 0.99999949, 5.505867, 1e300 / 7]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("digits", [4, 6])
def test_rounding(number: float, digits: int) -> None:
    up, down = Fraction(cost(number, digits)), Fraction(lower(number, digits))
    assert down < Fraction(number) < up
    assert up - down <= Fraction(number) * Fraction(11, 10**digits)
    assert Fraction(gain(min(number, 1)).rstrip("%")) <= 100 * Fraction(number)


def test_what_people_write_is_shown_so() -> None:
    assert [cost(0.1), cost(nextafter(11, 12)), lower(0.3), cost(None), cost("inf")] == [
        "0.1",
        "11",
        "0.3",
        "-",
        "infinite",
    ]
