"""Shown numbers are on the safe side of the full ones, and close to them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zcdp.text.numbers import SUPERSCRIPTS, at_least, at_most, cost, exactly, lower, more, percent, shares

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
