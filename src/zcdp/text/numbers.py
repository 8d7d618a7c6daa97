"""The one rule for digits: costs are rounded up, savings and lower ends down, and shares add up to a hundred."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import floor, inf, isinf

__all__ = [
    "SUPERSCRIPTS",
    "Given",
    "at_least",
    "at_most",
    "cost",
    "exactly",
    "gain",
    "lower",
    "more",
    "number",
    "percent",
    "rounded",
    "rounded_percent",
    "shares",
    "spent",
    "tagged",
]


Given = float | str | None
"""A number as an account or its JSON has it: infinite ones may be the text "inf", absent ones None."""

HAIR = Decimal("4e-16")
"""Less than two units in the last place of a float: 0.1 as a float is above 0.1, and 110 of them, rounded up, are
11.000000000000002, which is shown as people write it: 11 and not 11.0001."""
FEW = 50
"""Beyond so many rows a tenth of a percent is coarse."""


def number(value: float | str) -> float:
    """The number to calculate with; nothing but a number passes.

    >>> number("inf"), number(0.5)
    (inf, 0.5)
    """
    return float(value)


def rounded(value: float | str, digits: int, rounding: str) -> Decimal:
    """So many digits of a finite number, on the safe side; what is within float error of fewer digits is those.

    >>> rounded(0.36787944117144233, 6, ROUND_CEILING), rounded(11.000000000000002, 6, ROUND_CEILING)
    (Decimal('0.367880'), Decimal('11'))
    """
    exact = Decimal(repr(number(value)))
    near = Context(digits).plus(exact)
    if abs(near - exact) <= HAIR * abs(exact):
        return near.normalize()
    return Context(digits, rounding).plus(exact)


def rounded_percent(share: float | str, *, up: bool, places: int = 1) -> str:
    """A share as a percentage: what is spent is rounded up, what is saved down.

    >>> percent(0.26424, up=False), percent(0.26424, up=True), percent(1, up=True)
    ('26.4%', '26.5%', '100.0%')
    """
    exact = 100 * Decimal(repr(number(share)))
    unit = Decimal(1).scaleb(-places)
    near = exact.quantize(unit)
    if abs(near - exact) > HAIR * abs(exact):
        near = exact.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR)
    return f"{near or abs(near)}%"


def shares(parts: Sequence[float]) -> list[str]:
    """Each part's share of the whole, as percentages that add up to exactly 100: the largest remainders gain.

    >>> shares([1, 1, 1]), shares([2, 0]), shares([])
    (['33.4%', '33.3%', '33.3%'], ['100.0%', '0.0%'], [])
    """
    if not parts:
        return []
    places = 1 if len(parts) <= FEW else 2
    units = 100 * 10**places
    finite = [Fraction(0) if isinf(part) else Fraction(part) for part in parts]
    if any(part == inf for part in parts):  # then these are the whole
        finite = [Fraction(part == inf) for part in parts]
    whole = sum(finite)
    exact = [part * units / whole if whole else Fraction(units, len(parts)) for part in finite]
    shown = [floor(one) for one in exact]
    order = sorted(range(len(parts)), key=lambda n: (shown[n] - exact[n], n))
    for n in order[: units - sum(shown)]:
        shown[n] += 1
    return [f"{Decimal(one).scaleb(-places):f}%" for one in shown]


# Numbers for a terminal: plain letters, 1e-7, six digits without trailing zeros.


def cost(value: Given, digits: int = 6) -> str:
    """A cost, rounded up.

    >>> cost(0.36787944117144233), cost(1e-7), cost(2 / 3e5, 3), cost("inf")
    ('0.36788', '1e-7', '6.67e-6', 'infinite')
    """
    return _plainly_shown(value, digits, ROUND_CEILING)


def lower(value: Given, digits: int = 6) -> str:
    """A lower bound, rounded down.

    >>> lower(0.36787944117144233)
    '0.367879'
    """
    return _plainly_shown(value, digits, ROUND_FLOOR)


def gain(saved: Given) -> str:
    """A saving, rounded down so as not to promise more than there is.

    >>> gain(0.93399), gain(None)
    ('93.3%', '-')
    """
    return "-" if saved is None else rounded_percent(saved, up=False)


def spent(share: float, *, exceeded: bool = False) -> str:
    """How much of a budget is gone, rounded up.

    >>> spent(0.1234), spent(1.0), spent(1.0, exceeded=True)
    ('12.4%', '100.0%', 'a little more than 100%')
    """
    text = rounded_percent(share, up=True)
    return "a little more than 100%" if exceeded and text == "100.0%" else text


def _plainly_shown(value: Given, digits: int, rounding: str) -> str:
    if value is None:
        return "-"
    if isinf(number(value)):
        return "infinite"
    short = rounded(value, digits, rounding).normalize()
    if short == 0:
        return "0"
    return f"{short:f}" if 1e-4 <= abs(short) < 10**digits else f"{short:e}".replace("e+", "e")


# Numbers for a page: powers of ten as they are written by hand, and the full value kept behind the six digits.

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
    return rounded_percent(share, up=up) if number(share) < 10**7 else f"{_shown(share, 3, rounding)} times"


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
