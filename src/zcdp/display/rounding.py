"""The one rule for digits: costs are rounded up, savings and lower ends down, and shares add up to a hundred."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import floor, inf, isinf

__all__ = ["Given", "number", "percent", "rounded", "shares"]

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


def percent(share: float | str, *, up: bool, places: int = 1) -> str:
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
