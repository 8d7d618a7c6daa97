"""Numbers as people read them: costs rounded up, savings rounded down, six digits."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import floor, inf

__all__ = ["cost", "gain", "lower", "percent"]

HAIR = Decimal("1e-13")
"""0.1 as a float is above 0.1 by less than this: a sum of such is shown as people write it, 11 and not 11.0001."""


def _digits(number: float, digits: int, rounding: str) -> str:
    if abs(number) == inf:
        return "infinite"
    exact = Decimal(number)
    short = Context(digits).plus(exact)
    if abs(short - exact) > HAIR * abs(exact):
        short = Context(digits, rounding).plus(exact)
    if short == 0:
        return "0"
    if 1e-4 <= abs(short) < 10**digits:
        return f"{short.normalize():f}"
    return f"{short.normalize():e}".replace("e+", "e")


def cost(number: float | str | None, digits: int = 6) -> str:
    """A cost, rounded up.

    >>> cost(0.36787944117144233), cost(1e-7), cost(2 / 3e5, 3)
    ('0.36788', '1e-7', '6.67e-6')
    """
    return "-" if number is None else _digits(float(number), digits, ROUND_CEILING)


def lower(number: float, digits: int = 6) -> str:
    """A lower bound, rounded down."""
    return _digits(number, digits, ROUND_FLOOR)


def percent(share: float) -> str:
    """A share of the whole.

    >>> percent(0.1234), percent(1)
    ('12.3%', '100.0%')
    """
    return f"{100 * share:.1f}%"


def gain(saved: float | None) -> str:
    """A saving, rounded down so as not to promise more than there is.

    >>> gain(0.93399), gain(None)
    ('93.3%', '-')
    """
    return "-" if saved is None else f"{floor(Fraction(saved) * 1000) / 10:.1f}%"
