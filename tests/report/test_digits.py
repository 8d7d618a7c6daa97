"""Shown numbers are on the safe side of the full ones, and close to them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zcdp.report.digits import SUPERSCRIPTS, at_least, at_most, exactly, more, percent

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
    truth = Decimal(repr(value))
    assert truth <= read(at_most(value)) <= truth * Decimal("1.00001")
    assert truth * Decimal("0.99999") <= read(at_least(value)) <= truth
    assert read(exactly(value)) == truth


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
