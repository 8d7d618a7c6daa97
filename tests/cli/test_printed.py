"""Numbers on the screen are on the safe side of those in the data."""

from __future__ import annotations

import re
from fractions import Fraction
from math import nextafter

import pytest

from zcdp import account
from zcdp.cli import main
from zcdp.text.numbers import cost, gain, lower

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


def test_an_upper_end_is_printed_where_the_ends_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Of sparse vector only bounds are known, far apart."""
    text = "SparseVector(epsilon_threshold=1, epsilon_queries=1) + ReportNoisyMax(epsilon=1)"
    total = account(text, curve=False).to_dict()["total"]
    low, high = total["epsilon_bounds"]
    assert low < 0.9 * high
    assert main(["account", text]) == 0
    out = capsys.readouterr().out
    rho, epsilon, least = (
        Fraction(re.search(pattern, out)[1])  # type: ignore[index]
        for pattern in (r"rho +([\d.]+)\n", r"epsilon +([\d.]+) at", r"at least ([\d.]+)")
    )
    assert Fraction(total["rho"]) <= rho <= Fraction(total["rho"]) * (1 + Fraction(1, 10**5))
    assert Fraction(high) <= epsilon <= Fraction(high) * (1 + Fraction(1, 10**5))
    assert least <= Fraction(low)
