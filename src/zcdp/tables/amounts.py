"""Amounts as integers: a declared grid, a clip, and how wide the sums are, by a proof from the plan alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from zcdp.tables.domain import EXACT, DeclarationError, number

__all__ = ["LIMB", "ROWS", "Amount", "read_amount"]

LIMB = 2**26
"""A number of 53 bits is high LIMB + low; sums of up to ROWS such parts stay within 64 bits."""
ROWS = 2**35
SHORT = 2**31


@dataclass(frozen=True)
class Amount:
    """Values rounded to multiples of `grid`, and what a person adds to a cell kept between low and high grid steps.

    A row is first brought within `reach` = max(|low|, |high|) steps of zero.
    Theorem: docs/theorems/table-sensitivity.md.

    >>> Amount("income", Fraction(1, 100), 0, 20_000_000).limbs
    1
    """

    column: str
    grid: Fraction
    low: int
    high: int

    @property
    def reach(self) -> int:
        """How many grid steps from zero a row may be."""
        return max(abs(self.low), abs(self.high))

    @property
    def middle(self) -> int:
        """The centre that a mean is taken about."""
        return (self.low + self.high) // 2

    @property
    def limbs(self) -> int:
        """In how many parts of 26 bits a value is added up."""
        return 1 if self.reach <= LIMB else 2


def read_amount(column: str, data: Any) -> Amount:
    """The clip and the grid of a query, both required: they cannot be chosen by looking at the data."""
    if "clip" not in data:
        raise DeclarationError("", "clip is missing: what one person may add to a cell, clip = [least, most]")
    if "grid" not in data:
        raise DeclarationError("", "grid is missing: the unit that values are rounded to, grid = 1")
    clip = data["clip"]
    if not isinstance(clip, list) or len(clip) != 2:
        raise DeclarationError("clip", "must be [least, most]")
    grid = number(data["grid"], "grid")
    if grid <= 0 or max(grid.numerator, grid.denominator) >= SHORT:
        raise DeclarationError("grid", "must be positive, with at most nine digits above and below the fraction bar")
    low, high = (number(end, "clip") / grid for end in clip)
    if low.denominator != 1 or high.denominator != 1:
        raise DeclarationError("clip", f"must lie on the grid, at multiples of {grid}")
    if not low < high:
        raise DeclarationError("clip", "must be [least, most] with least below most")
    if not min(low * grid, low) > -EXACT or not max(high * grid, high) < EXACT:
        raise DeclarationError("clip", "must lie within 2^53 grid steps, and 2^53, of zero")
    return Amount(column, grid, int(low), int(high))
