"""Amounts to be summed: values are rounded to a declared grid and clipped, so that 64-bit integers add them exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from zcdp.tables.domain import EXACT, Bins, DeclarationError, number

__all__ = ["LIMB", "Amount", "read_amount", "totals_in_bins"]

LIMB = 2**26
"""A number of 53 bits is split as high * LIMB + low; sums of up to 2^35 such parts stay within 64 bits."""
LARGEST_GRID_PART = 2**31  # limit on numerator and denominator of a grid


@dataclass(frozen=True)
class Amount:
    """The column to sum: values are rounded to multiples of `grid`, and a person's total in a cell is clipped.

    The clip is [low, high] in grid steps. Each row is first clipped to `reach` = max(|low|, |high|) steps of zero.
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
        """The largest size of a row's value, in grid steps."""
        return max(abs(self.low), abs(self.high))

    @property
    def middle(self) -> int:
        """The middle of the clip, in grid steps, which is subtracted before a mean is computed."""
        return (self.low + self.high) // 2

    @property
    def farthest(self) -> int:
        """How far an end of the clip is from its middle, in grid steps."""
        return self.high - self.middle

    @property
    def limbs(self) -> int:
        """The number of parts in which values are added up: 1, or 2 for values of more than 26 bits."""
        return 1 if self.reach <= LIMB else 2


def read_amount(column: str, data: Any) -> Amount:
    """The amount of a query, from its clip and grid; both are required, as they must not depend on the data."""
    if "clip" not in data:
        raise DeclarationError("", "clip is missing: what one person may add to a cell, clip = [least, most]")
    if "grid" not in data:
        raise DeclarationError("", "grid is missing: the unit that values are rounded to, grid = 1")
    clip = data["clip"]
    if not isinstance(clip, list) or len(clip) != 2:
        raise DeclarationError("clip", "must be [least, most]")
    grid = _grid(data["grid"])
    low, high = (number(end, "clip") / grid for end in clip)
    if low.denominator != 1 or high.denominator != 1:
        raise DeclarationError("clip", f"must lie on the grid, at multiples of {grid}")
    if not low < high:
        raise DeclarationError("clip", "must be [least, most] with least below most")
    if not min(low * grid, low) > -EXACT or not max(high * grid, high) < EXACT:
        raise DeclarationError("clip", "must lie within 2^53 grid steps, and 2^53, of zero")
    return Amount(column, grid, int(low), int(high))


def _grid(value: Any) -> Fraction:
    """The unit that values are rounded to, checked."""
    grid: Fraction = number(value, "grid")
    if grid <= 0 or max(grid.numerator, grid.denominator) >= LARGEST_GRID_PART:
        raise DeclarationError("grid", "must be positive, with at most nine digits above and below the fraction bar")
    return grid


def totals_in_bins(bins: Bins, grid: Any) -> Amount:
    """Totals of persons that are then put into bins: clipped one step below the first bin, and at the end of the last.

    The clip loses nothing that bins tell apart: what lies below them is one step below, and their end is in none of
    them. Unless given, the grid is 1, or the finer one on which the edges of the bins lie.

    >>> totals_in_bins(Bins("pay", "pay", Fraction(0), Fraction(1, 2), 10), None)
    Amount(column='pay', grid=Fraction(1, 2), low=-1, high=10)
    """
    step = Fraction(1, lcm(bins.start.denominator, bins.step.denominator)) if grid is None else _grid(grid)
    first, width = bins.start / step, bins.step / step
    if first.denominator != 1 or width.denominator != 1:
        raise DeclarationError("grid", f"the edges of {bins.name!r} must be multiples of it")
    low, high = int(first) - 1, int(first + bins.size * width)
    if max(abs(low), abs(high)) >= EXACT or max(step.numerator, step.denominator) >= LARGEST_GRID_PART:
        raise DeclarationError("grid", "the bins must lie within 2^53 grid steps of zero: take a larger grid")
    return Amount(bins.column, step, low, high)
