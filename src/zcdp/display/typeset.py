"""Numbers for a page: powers of ten as they are written by hand, and the full value kept behind the six digits."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import inf, isinf

from zcdp.display.rounding import Given, number, rounded
from zcdp.display.rounding import percent as _percent

__all__ = ["SUPERSCRIPTS", "at_least", "at_most", "exactly", "more", "percent", "tagged"]

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
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    if share is None or number(share) == inf:
        return _shown(share, 1, rounding)
    return _percent(share, up=up) if number(share) < 10**7 else f"{_shown(share, 3, rounding)} times"


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
    if value is None:
        return text
    full = number(value)
    return f'<data value="{"inf" if isinf(full) else repr(full)}">{text}</data>'


def _shown(value: Given, digits: int, rounding: str) -> str:
    if value is None:
        return "–"  # noqa: RUF001 - the dash of an empty cell
    if isinf(number(value)):
        return "∞"
    if not (short := rounded(value, digits, rounding)):
        return "0"
    power = short.adjusted()
    if -5 < power < 7:
        return f"{short:f}"
    mantissa = f"{short.scaleb(-power):f}"
    exponent = "10" + str(power).translate(SUPERSCRIPTS)
    return exponent if mantissa == "1" else f"{mantissa} × {exponent}"  # noqa: RUF001 - a times sign is meant
