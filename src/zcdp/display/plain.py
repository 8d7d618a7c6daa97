"""Numbers for a terminal: plain letters, 1e-7, six digits without trailing zeros."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from math import isinf

from zcdp.display.rounding import Given, number, rounded
from zcdp.display.rounding import percent as _percent

__all__ = ["cost", "gain", "lower", "spent"]


def cost(value: Given, digits: int = 6) -> str:
    """A cost, rounded up.

    >>> cost(0.36787944117144233), cost(1e-7), cost(2 / 3e5, 3), cost("inf")
    ('0.36788', '1e-7', '6.67e-6', 'infinite')
    """
    return _shown(value, digits, ROUND_CEILING)


def lower(value: Given, digits: int = 6) -> str:
    """A lower bound, rounded down.

    >>> lower(0.36787944117144233)
    '0.367879'
    """
    return _shown(value, digits, ROUND_FLOOR)


def gain(saved: Given) -> str:
    """A saving, rounded down so as not to promise more than there is.

    >>> gain(0.93399), gain(None)
    ('93.3%', '-')
    """
    return "-" if saved is None else _percent(saved, up=False)


def spent(share: float, *, exceeded: bool = False) -> str:
    """How much of a budget is gone, rounded up.

    >>> spent(0.1234), spent(1.0), spent(1.0, exceeded=True)
    ('12.4%', '100.0%', 'a little more than 100%')
    """
    text = _percent(share, up=True)
    return "a little more than 100%" if exceeded and text == "100.0%" else text


def _shown(value: Given, digits: int, rounding: str) -> str:
    if value is None:
        return "-"
    if isinf(number(value)):
        return "infinite"
    short = rounded(value, digits, rounding).normalize()
    if short == 0:
        return "0"
    return f"{short:f}" if 1e-4 <= abs(short) < 10**digits else f"{short:e}".replace("e+", "e")
