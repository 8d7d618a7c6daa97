"""Real values on a grid: exact whole steps and exact remainders, and grid points back to floats.

Rounding is to the nearest point, halves up: round(v) = step floor(v/step + 1/2). The fine grid has step/2^refine, and
floor(floor(2^j x)/2^j) = floor(x), so rounding on the fine grid first changes nothing.
See docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Grid", "Located"]

LIMIT = 1 << 61
"""Values lie within this many steps of zero, so that whole steps and noise add up in 64 bits."""


class Located(NamedTuple):
    """value = step (whole + (fine + rest(n))/2^refine), with rest in [0, 1)."""

    whole: NDArray[Any]
    fine: NDArray[Any]
    rest: Callable[[int], Fraction]


class Grid:
    """The multiples of `step`, and a finer grid of step/2^refine.

    >>> grid = Grid(Fraction(1, 4), refine=1)
    >>> located = grid.locate(np.array([41.3]))
    >>> located.whole, located.fine, located.rest(0) == Fraction(41.3) * 8 - 330
    (array([165]), array([0]), True)
    """

    def __init__(self, step: Fraction, *, refine: int) -> None:
        self.step = step
        self.refine = refine
        top, bottom = step.numerator, step.denominator
        power = not (top & (top - 1) or bottom & (bottom - 1))
        exponent = top.bit_length() - bottom.bit_length()
        # beyond 2^1000 a float may overflow or lose bits on the way to the grid: exact fractions then
        self._exponent = exponent if power and abs(exponent) <= 1000 else None

    def check(self, values: NDArray[Any]) -> NDArray[Any]:
        """`values` as they are, if all are finite and within reach of the grid; floats if those hold them exactly."""
        if values.dtype.kind == "f":
            if not np.isfinite(values).all():
                raise ValueError(f"values ({values[~np.isfinite(values)][0]}) must be finite")
            if self._exponent is not None and values.dtype.itemsize <= 8:
                exact = values.astype(np.float64, copy=False)
                smallest = 2.0 ** (self._exponent - 1020)  # from here down to 0, v/step may be subnormal
                size = np.abs(exact)
                if not ((size < smallest) & (size > 0)).any():
                    self._within(float(size.max(initial=0)) / float(self.step))
                    return exact
        elif values.dtype.kind not in "iuO":
            raise TypeError(f"values must be numbers, not {values.dtype}")
        fractions = [Fraction(v) for v in values.tolist()]
        self._within(max((abs(v) / self.step for v in fractions), default=0))
        return np.array([*fractions, None], dtype=object)[:-1]

    def _within(self, steps: float | Fraction) -> None:
        if not steps < LIMIT:
            raise ValueError(f"values must lie within 2^61 steps of the grid: {float(steps):.3g} steps is too far")

    def locate(self, values: NDArray[Any]) -> Located:
        """Where each checked value lies on the grid, exactly: a float is its binary rational."""
        if values.dtype == object:
            return self._locate_fractions(values.tolist())
        assert self._exponent is not None
        steps = values * 2.0**-self._exponent
        whole = np.rint(steps)
        steps -= whole  # exact: a float and a nearest integer differ by a float
        fine = np.floor(steps * 2.0**self.refine)

        def rest(n: int) -> Fraction:
            return Fraction(float(steps[n])) * (1 << self.refine) - int(fine[n])

        return Located(whole.astype(np.int64), fine.astype(np.int64), rest)

    def _locate_fractions(self, values: list[Fraction]) -> Located:
        parts = [divmod(value / self.step, 1) for value in values]
        scaled = [divmod(remainder * (1 << self.refine), 1) for _, remainder in parts]
        return Located(
            np.array([whole for whole, _ in parts], dtype=np.int64),
            np.array([fine for fine, _ in scaled], dtype=np.int64),
            lambda n: scaled[n][1],
        )

    def locate_one(self, value: float | Fraction) -> tuple[int, Callable[[], Fraction]]:
        """The fine step at or below a value, and what is left, in [0, 1) fine steps."""
        top, bottom = value.as_integer_ratio()
        if self._exponent is not None and isinstance(value, float):
            shift = self.refine - self._exponent - (bottom.bit_length() - 1)
            if shift >= 0:
                return top << shift, lambda: Fraction(0)
            fine = top >> -shift
            return fine, lambda: Fraction(top, 1 << -shift) - fine
        steps = Fraction(value) / self.step * (1 << self.refine)
        fine = steps.numerator // steps.denominator
        return fine, lambda: steps - fine

    def to_floats(self, points: NDArray[Any]) -> NDArray[Any]:
        """The floats nearest to points * step: exact where the product has at most 53 bits."""
        if self._exponent is not None:
            return points * 2.0**self._exponent
        return np.array([float(point * self.step) for point in points.tolist()], dtype=np.float64)

    def point(self, number: int) -> float:
        """The float nearest to number * step."""
        return ldexp(number, self._exponent) if self._exponent is not None else float(number * self.step)

    def round_one(self, fine: int) -> float:
        """The float nearest to the grid point to which a fine step rounds."""
        return self.point((fine + (1 << (self.refine - 1))) >> self.refine)
