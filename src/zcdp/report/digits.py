"""Numbers for people: six digits, rounded to the safe side, with the full value kept beside them."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import inf, isinf

__all__ = ["amount", "at_least", "at_most", "exactly", "more", "percent", "tagged"]

Given = float | str | None
"""A number as the account has it: infinite ones are the string "inf", absent ones None."""

SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def at_most(value: Given, digits: int = 6) -> str:
    """A guarantee, rounded up: the truth is at most this. What is rounded is the decimal number of the JSON.

    >>> at_most(0.36787944117144233), at_most(0.1), at_most(1e9), at_most("inf")
    ('0.367880', '0.1', '10⁹', '∞')
    """
    return _shown(value, digits, ROUND_CEILING)


def at_least(value: Given, digits: int = 6) -> str:
    """A lower bound, rounded down.

    >>> at_least(0.36787944117144233)
    '0.367879'
    """
    return _shown(value, digits, ROUND_FLOOR)


def exactly(value: Given) -> str:
    """A number that was given, with all its digits.

    >>> exactly(1e-06), exactly(0.25), exactly(3.0)
    ('10⁻⁶', '0.25', '3')
    """
    return _shown(value, 17, ROUND_HALF_EVEN)


def percent(share: Given, *, up: bool) -> str:
    """A share to a tenth of a percent: what is spent rounded up, what is saved rounded down.

    >>> percent(0.26424, up=False), percent(0.26424, up=True)
    ('26.4%', '26.5%')
    """
    if share is None or amount(share) == inf:
        return _shown(share, 1, ROUND_CEILING)
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    hundredths = 100 * Decimal(_number(share))
    if hundredths >= 10**9:
        return f"{_shown(share, 3, rounding)} times"
    return f"{hundredths.quantize(Decimal('0.1'), rounding)}%"


def amount(value: float | str) -> float:
    """The number to calculate with.

    >>> amount("inf"), amount(0.5)
    (inf, 0.5)
    """
    return float(value)


def more(times: float) -> str:
    """A factor rounded down to two digits after the point.

    >>> more(1.3591)
    '1.35'
    """
    return str(Decimal(repr(times)).quantize(Decimal("0.01"), ROUND_FLOOR)) if times < 10**9 else at_least(times, 3)


def tagged(value: Given, text: str) -> str:
    """The text with the full value behind it, for machines and for those who copy it.

    >>> tagged(0.36787944117144233, "0.367880")
    '<data value="0.36787944117144233">0.367880</data>'
    """
    return text if value is None else f'<data value="{_number(value)}">{text}</data>'


def _number(value: float | str) -> str:
    number = float(value)  # of a string too: nothing but a number gets onto the page this way
    return "inf" if isinf(number) else repr(number)


def _shown(value: Given, digits: int, rounding: str) -> str:
    if value is None:
        return "–"  # noqa: RUF001 - the dash of an empty cell
    text = _number(value)
    if text == "inf":
        return "∞"
    number = Decimal(text)
    if number == 0:
        return "0"
    if len(number.normalize().as_tuple().digits) <= digits:
        number = number.normalize()
    else:
        place = number.adjusted() - digits + 1
        carried = number.quantize(Decimal(1).scaleb(place), rounding)
        number = carried.quantize(
            Decimal(1).scaleb(carried.adjusted() - digits + 1)
        )  # 9.999999 is 10.0000 to six digits
    power = number.adjusted()
    if -5 < power < 7:
        return f"{number:f}"
    mantissa = f"{number.scaleb(-power):f}"
    exponent = "10" + str(power).translate(SUPERSCRIPTS)
    return exponent if mantissa == "1" else f"{mantissa} × {exponent}"  # noqa: RUF001 - a times sign is meant
