"""Rounding of displayed numbers: costs are rounded up, savings and lower bounds down, and percentages add up to 100.

The first functions give plain decimals, the second part formats for a terminal, the third for HTML pages, and the last
writes the figures of tables as people write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import floor, inf, isinf, log10

__all__ = [
    "SUPERSCRIPTS",
    "Given",
    "at_least",
    "at_most",
    "compact",
    "cost",
    "decimals",
    "edge",
    "exactly",
    "gain",
    "grouped",
    "in_percent",
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
"""A number as an account or its JSON holds it: infinity may be the text "inf", an absent number is None."""

FLOAT_ERROR = Decimal("4e-16")
"""Rounding ignores relative differences up to this, less than two units in the last place of a float.

As a float, 0.1 is above 0.1, and 110 of them, rounded up, are 11.000000000000002: that is shown as 11, not 11.0001."""
MOST_ROWS_IN_TENTHS = 50
"""Up to this many rows percentages have one digit after the point, beyond it two."""


def number(value: float | str) -> float:
    """The value as a float; text that is not a number raises ValueError.

    >>> number("inf"), number(0.5)
    (inf, 0.5)
    """
    return float(value)


def rounded(value: float | str, digits: int, rounding: str) -> Decimal:
    """A finite number to `digits` significant digits; one within float error of a shorter decimal becomes that one.

    >>> rounded(0.36787944117144233, 6, ROUND_CEILING), rounded(11.000000000000002, 6, ROUND_CEILING)
    (Decimal('0.367880'), Decimal('11'))
    """
    exact = Decimal(repr(number(value)))
    near = Context(digits).plus(exact)
    if abs(near - exact) <= FLOAT_ERROR * abs(exact):
        return near.normalize()
    return Context(digits, rounding).plus(exact)


def rounded_percent(share: float | str, *, up: bool, places: int = 1) -> str:
    """A share as a percentage, rounded up (for what is spent) or down (for what is saved).

    >>> percent(0.26424, up=False), percent(0.26424, up=True), percent(1, up=True)
    ('26.4%', '26.5%', '100.0%')
    """
    exact = 100 * Decimal(repr(number(share)))
    unit = Decimal(1).scaleb(-places)
    near = exact.quantize(unit)
    if abs(near - exact) > FLOAT_ERROR * abs(exact):
        near = exact.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR)
    return f"{near or abs(near)}%"


def in_percent(share: float, *, up: bool, digits: int = 3, over: float = 0.0) -> str:
    """A probability as a percentage to so many digits of its distance from `over`, or from 1 if that is nearer.

    >>> in_percent(0.00605064, up=True), in_percent(0.00605064, up=False), in_percent(0.5, up=True)
    ('0.606%', '0.605%', '50%')
    >>> in_percent(0.99999996, up=True), in_percent(0.9000035, up=True, over=0.9), in_percent(1.0, up=True)
    ('99.999996%', '90.00035%', '100%')
    """
    if share < 1e-9:
        return f"{cost(100 * share, digits) if up else lower(100 * share, digits)}%"
    near = min([gap for gap in (share - over, 1 - share) if gap > 1e-12], default=share)
    places = digits + max(floor(-log10(near / share)), 0)
    found = f"{rounded(share, places, ROUND_CEILING if up else ROUND_FLOOR) * 100:f}"
    return (found.rstrip("0").rstrip(".") if "." in found else found) + "%"


def shares(parts: Sequence[float]) -> list[str]:
    """Each part's share of the sum, as percentages that add up to exactly 100 by the largest remainder method.

    >>> shares([1, 1, 1]), shares([2, 0]), shares([])
    (['33.4%', '33.3%', '33.3%'], ['100.0%', '0.0%'], [])
    """
    if not parts:
        return []
    places = 1 if len(parts) <= MOST_ROWS_IN_TENTHS else 2
    units = 100 * 10**places
    finite = [Fraction(0) if isinf(part) else Fraction(part) for part in parts]
    if any(part == inf for part in parts):  # then the infinite parts share 100% and the finite ones get 0
        finite = [Fraction(part == inf) for part in parts]
    whole = sum(finite)
    exact = [part * units / whole if whole else Fraction(units, len(parts)) for part in finite]
    shown = [floor(one) for one in exact]
    by_remainder = sorted(range(len(parts)), key=lambda n: (shown[n] - exact[n], n))
    for n in by_remainder[: units - sum(shown)]:
        shown[n] += 1
    return [f"{Decimal(one).scaleb(-places):f}%" for one in shown]


# Numbers for a terminal: ASCII such as 1e-7, six digits by default, no trailing zeros.


def cost(value: Given, digits: int = 6) -> str:
    """A cost for a terminal, rounded up.

    >>> cost(0.36787944117144233), cost(1e-7), cost(2 / 3e5, 3), cost("inf")
    ('0.36788', '1e-7', '6.67e-6', 'infinite')
    """
    return _plainly_shown(value, digits, ROUND_CEILING)


def lower(value: Given, digits: int = 6) -> str:
    """A lower bound for a terminal, rounded down.

    >>> lower(0.36787944117144233)
    '0.367879'
    """
    return _plainly_shown(value, digits, ROUND_FLOOR)


def gain(saved: Given) -> str:
    """A saving as a percentage, rounded down so that it does not promise too much.

    >>> gain(0.93399), gain(None)
    ('93.3%', '-')
    """
    return "-" if saved is None else rounded_percent(saved, up=False)


def spent(share: float, *, exceeded: bool = False) -> str:
    """The spent share of a budget as a percentage, rounded up.

    >>> spent(0.1234), spent(1.0), spent(1.0, exceeded=True)
    ('12.4%', '100.0%', 'a little more than 100%')
    """
    text = rounded_percent(share, up=True)
    return "a little more than 100%" if exceeded and text == "100.0%" else text


def _plainly_shown(value: Given, digits: int, rounding: str) -> str:
    """The number in ASCII, with an exponent if it is very small or large; "-" for None."""
    if value is None:
        return "-"
    if isinf(number(value)):
        return "infinite"
    short = rounded(value, digits, rounding).normalize()
    if short == 0:
        return "0"
    return f"{short:f}" if 1e-4 <= abs(short) < 10**digits else f"{short:e}".replace("e+", "e")


# Numbers for an HTML page: powers of ten with superscripts, and the full value in an attribute behind the six digits.

SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def at_most(value: Given, digits: int = 6) -> str:
    """An upper bound for a page: the decimal number of the JSON, rounded up.

    >>> at_most(0.36787944117144233), at_most(0.1), at_most(1e9), at_most("inf")
    ('0.367880', '0.1', '10⁹', '∞')
    """
    return _shown(value, digits, ROUND_CEILING)


def at_least(value: Given, digits: int = 6) -> str:
    """A lower bound for a page, rounded down.

    >>> at_least(0.36787944117144233)
    '0.367879'
    """
    return _shown(value, digits, ROUND_FLOOR)


def exactly(value: Given) -> str:
    """A number that the user gave, with all its digits.

    >>> exactly(1e-06), exactly(0.25), exactly(3.0)
    ('10⁻⁶', '0.25', '3')
    """
    return _shown(value, 17, ROUND_HALF_EVEN)


def percent(share: Given, *, up: bool) -> str:
    """A share for a page, to a tenth of a percent: rounded up (spent) or down (saved).

    >>> percent(0.26424, up=False), percent(0.26424, up=True)
    ('26.4%', '26.5%')
    """
    rounding = ROUND_CEILING if up else ROUND_FLOOR
    if share is None or number(share) == inf:
        return _shown(share, 1, rounding)
    return rounded_percent(share, up=up) if number(share) < 10**7 else f"{_shown(share, 3, rounding)} times"


def more(times: float) -> str:
    """A factor, rounded down to two digits after the point.

    >>> more(1.3591)
    '1.35'
    """
    return str(Decimal(repr(times)).quantize(Decimal("0.01"), ROUND_FLOOR)) if times < 10**9 else at_least(times, 3)


def tagged(value: Given, text: str) -> str:
    """The text in an HTML `data` element that carries the full value, for programs and for copying.

    >>> tagged(0.36787944117144233, "0.367880")
    '<data value="0.36787944117144233">0.367880</data>'
    """
    if value is None:
        return text
    full = number(value)
    return f'<data value="{"inf" if isinf(full) else repr(full)}">{text}</data>'


def _shown(value: Given, digits: int, rounding: str) -> str:
    """The number for a page, with a power of ten if it is very small or large; a dash for None."""
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


# Figures of tables, as people write them: thousands set apart, no powers of ten, no more digits than mean something.

WIDE = Context(400)  # enough digits for every double
MOST_DECIMALS = 12


def grouped(value: float, places: int | None = None, rounding: str = ROUND_HALF_EVEN) -> str:
    """A figure with its thousands set apart and `places` digits after the point; six digits in all unless told.

    Whole numbers (of type int) keep all their digits.

    >>> grouped(6248590), grouped(6248590.4), grouped(0.123456789), grouped(34123.456, 1)
    ('6,248,590', '6,248,590', '0.123457', '34,123.5')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    exact = Decimal(repr(value))
    if places is None:
        places = min(max(0, 5 - exact.adjusted()), MOST_DECIMALS) if exact else 0
        exact = exact.quantize(Decimal(1).scaleb(-places), rounding, WIDE).normalize(WIDE)
        places = max(0, -int(exact.as_tuple().exponent))
    short = exact.quantize(Decimal(1).scaleb(-places), rounding, WIDE)
    return f"{short or abs(short):,f}"


def edge(value: float) -> str:
    """A number that may be a year or a code: thousands are set apart from 10,000 on.

    >>> edge(2026), edge(0.5), edge(100000)
    ('2026', '0.5', '100,000')
    """
    return grouped(value) if abs(value) >= 10_000 else grouped(value).replace(",", "")


def decimals(error: float) -> int:
    """How many digits after the point a figure with this standard deviation needs: two digits of the error.

    >>> decimals(200), decimals(3.2), decimals(0.05), decimals(0)
    (0, 1, 3, 0)
    """
    if not 0 < error < inf:
        return 0
    return min(max(0, 1 - Decimal(repr(float(error))).adjusted()), MOST_DECIMALS)


def compact(value: float) -> str:
    """A round number for the axis of a small picture, with k for thousands, M for millions and bn for billions.

    >>> compact(0), compact(0.25), compact(1500), compact(20000), compact(2.5e6), compact(-4e9)
    ('0', '0.25', '1,500', '20k', '2.5M', '-4bn')
    """
    for size, sign in ((1e9, "bn"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if sign == 'k' else size):,.6g}{sign}"
    return f"{value:,.6g}"
