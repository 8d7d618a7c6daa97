"""Exact positions of real values on a grid of multiples of a rational step, and grid points back to floats.

`Quotients` divides floats by a step p/q exactly, in 64-bit arithmetic whose steps do not depend on the values: with
v = m 2^-k, m an integer of 53 bits, and m q = a p + b, v q/p is (a + b/p)/2^k. a has up to 88 bits, and is kept in two
parts of which the lower has 26. `Grid` uses it for arrays. See docs/theorems/grid-rounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ldexp
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadType, BadValue
from zcdp.samplers.run_samplers import add
from zcdp.samplers.source import blocks

__all__ = ["MOST_RATIO_BITS", "Grid", "Located", "Quotients"]


MOST_RATIO_BITS = 35
"""Most bits of p and q for which the arithmetic fits in 64 bits."""
LOW_BITS = 26  # of the lower part of a
LOW_MASK = (1 << LOW_BITS) - 1
MOST_SHIFT = 128  # more than the bits of b/p that are ever needed: 60, and 45 for floats beyond 2^53


class Quotients:
    """The exact quotients v q/p of an array of floats v, with p and q below 2^35 and |v q/p| below 2^61.

    >>> Quotients(np.array([0.3, -0.001]), 10, 3).floor(1)
    array([ 1, -1])
    """

    def __init__(self, values: NDArray[Any], q: int, p: int) -> None:
        mantissas, exponents = np.frexp(values)
        digits = (mantissas * 2.0**53).astype(np.int64)
        self._k = 53 - exponents.astype(np.int64)  # numpy 1 would keep the 32 bits of the exponents
        high, over = np.divmod((digits >> LOW_BITS) * q, p)
        low, self._b = np.divmod((over << LOW_BITS) + (digits & LOW_MASK) * q, p)
        self._high, self._low, self._p = high + (low >> LOW_BITS), low & LOW_MASK, p

    def floor(self, refine: int) -> NDArray[Any]:
        """floor(2^refine v q/p) modulo 2^64."""
        down = self._k - refine
        floor: NDArray[Any] = _scaled(self._high, LOW_BITS - down) + _scaled(self._low, -down)
        if self._p > 1:
            floor += self._below(np.clip(-down, 0, MOST_SHIFT))
        return floor

    def _below(self, up: NDArray[Any]) -> NDArray[Any]:
        """floor(2^up b/p) modulo 2^64, by long division with as many bits at a time as fit in 62."""
        total: NDArray[Any] = np.zeros_like(self._b)
        left = self._b
        chunk = 62 - self._p.bit_length()
        for done in range(0, MOST_SHIFT, chunk):
            step = np.clip(up - done, 0, chunk)
            digit, left = np.divmod(left << step, self._p)
            total = (total << step) + digit
        return total


def _scaled(numbers: NDArray[Any], up: NDArray[Any]) -> NDArray[Any]:
    """floor(2^up numbers) modulo 2^64. Shifts up by 64 or more give 0; shifts down by 63 or more leave the sign."""
    return np.where(up > 63, 0, numbers << np.clip(up, 0, 63) >> np.clip(-up, 0, 63))


# Real values on a grid: exact whole steps and exact remainders, and grid points back to floats.
#
# Rounding is to the nearest point, halves up: round(v) = step floor(v/step + 1/2). The fine grid has the step
# step/2^refine. As floor(floor(2^j x)/2^j) = floor(x), rounding down to the fine grid first changes nothing.
# See docs/theorems/grid-rounding.md.

MOST_STEPS = 1 << 61
"""Values must lie within this many steps of zero, so that whole steps and noise add up in 64 bits."""
MOST_FLOAT_STEPS = 2.0**60
"""Values of fewer fine steps are located in one piece: with noise of at most 2^62 they add up in 64 bits."""


MOST_FINE_BITS = 60
"""The largest `refine`, log2 of fine steps to a step, for which fine steps fit in 64 bits."""

Points: TypeAlias = Callable[[NDArray[Any], Callable[[int], Fraction]], NDArray[Any]]
"""(fine steps of each value, n -> exact remainder of value n in fine steps) -> a grid point for each value."""


class Located(NamedTuple):
    """Exact positions of values: value n is step (whole[n] + (fine[n] + rest(n))/2^refine), with rest(n) in [0, 1)."""

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
        # Beyond 2^1000 a float divided by the step may overflow or lose bits: then exact fractions are used.
        self._exponent = exponent if power and abs(exponent) <= 1000 else None

    def check(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values, all finite and within 2^61 steps of zero, as float64 if that is exact, else as fractions.

        Raises `BadType` or `BadValue` for others.
        """
        if values.dtype.kind not in "fiuO":
            raise BadType(f"values must be numbers, not {values.dtype}")
        if values.dtype.kind == "f" and not np.isfinite([values.min(initial=0), values.max(initial=0)]).all():
            raise BadValue("values must be finite")
        if values.dtype.kind != "O" and values.dtype.itemsize <= 8:
            size = max(-values.min(initial=0).item(), values.max(initial=0).item())
            if values.dtype.kind == "f" or size <= 1 << 53:
                exact = values.astype(np.float64, copy=False)
                if self._exponent is None or self._exponent <= 0 or not self._tiny(exact):
                    self._within(Fraction(size) / self.step)
                    return exact
        fractions = [Fraction(*v.as_integer_ratio()) for v in values.tolist()]  # also of floats beyond 64 bits
        self._within(max((abs(v) / self.step for v in fractions), default=Fraction(0)))
        return np.array([*fractions, None], dtype=object)[:-1]

    def _tiny(self, values: NDArray[Any]) -> bool:
        """Whether v/step may be subnormal for some v, which is possible for steps above 1 only."""
        assert self._exponent is not None
        size = np.abs(values)
        return bool(((size < 2.0 ** (self._exponent - 1020)) & (size > 0)).any())

    def _within(self, steps: Fraction) -> None:
        if not steps < MOST_STEPS:
            raise BadValue(f"values must lie within 2^61 steps of zero, and a step of the grid is {self.step}")

    def release(self, values: NDArray[Any], points: Points) -> NDArray[Any]:
        """Rounded noisy values, as floats, for values from `check`; `points` adds the noise and rounds to grid points.

        Whole grid steps may be split off first: then `points` gets the rest, and they are added to what it returns.
        """
        out = np.empty(values.size, dtype=np.float64)
        for block in blocks(values.size):
            out[block] = self._release(values[block], points)
        return out

    def _release(self, values: NDArray[Any], points: Points) -> NDArray[Any]:
        if self._exponent is not None and self.refine - self._exponent < 1000 and values.dtype != object:
            steps = values * 2.0 ** (self.refine - self._exponent)  # exact
            if max(-steps.min(initial=0), steps.max(initial=0)) < MOST_FLOAT_STEPS:
                below = np.floor(steps)
                return self.to_floats(
                    points(below.astype(np.int64), lambda n: Fraction(float(steps[n])) - int(below[n]))
                )
        whole, fine, rest = self.locate(values)
        return self.to_floats(add(whole, points(fine, rest), "raise"))

    def locate(self, values: NDArray[Any]) -> Located:
        """The exact position of each value from `check` on the grid; a float stands for its exact binary value."""
        if values.dtype == object:
            return self._locate_fractions(values.tolist())
        if self._exponent is None:
            return self._locate_ratios(values)
        steps = values * 2.0**-self._exponent
        whole = np.rint(steps)
        steps -= whole  # exact: the difference of a float and its nearest integer is a float
        fine = np.floor(steps * 2.0**self.refine)

        def rest(n: int) -> Fraction:
            return Fraction(float(steps[n])) * (1 << self.refine) - int(fine[n])

        return Located(whole.astype(np.int64), fine.astype(np.int64), rest)

    def _locate_ratios(self, values: NDArray[Any]) -> Located:
        """Positions for a step p/q, by a computation that depends on the step alone, so that time tells no value."""
        p, q = self.step.numerator, self.step.denominator
        if max(p, q).bit_length() > MOST_RATIO_BITS or self.refine > MOST_FINE_BITS:
            return self._locate_fractions([Fraction(value) for value in values.tolist()])
        steps = Quotients(values, q, p)
        whole, fine = steps.floor(0), steps.floor(self.refine) & ((1 << self.refine) - 1)

        def rest(n: int) -> Fraction:
            steps = Fraction(float(values[n])) / self.step - int(whole[n])
            return steps * (1 << self.refine) - int(fine[n])

        return Located(whole, fine, rest)

    def _locate_fractions(self, values: list[Fraction]) -> Located:
        parts = [divmod(value / self.step, 1) for value in values]
        scaled = [divmod(remainder * (1 << self.refine), 1) for _, remainder in parts]
        return Located(
            np.array([whole for whole, _ in parts], dtype=np.int64),
            np.array([fine for fine, _ in scaled], dtype=np.int64),
            lambda n: scaled[n][1],
        )

    def locate_one(self, value: float | Fraction) -> tuple[int, Callable[[], Fraction]]:
        """The fine step at or below a value, and a function for the remainder, in [0, 1) fine steps."""
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
        """The floats nearest to points * step, which are exact if the product has at most 53 bits."""
        if self._exponent is not None:
            return points * 2.0**self._exponent  # in the domains of grids and scales this is below 2^230
        p, q = self.step.numerator, self.step.denominator
        most = max(abs(int(points.min(initial=0))), abs(int(points.max(initial=0))))
        if max(most, 1) * p <= 1 << 53 and q <= 1 << 53:  # one rounding, of the quotient
            return points * p / q
        return np.array([self.point(point) for point in points.tolist()], dtype=np.float64)

    def point(self, number: int) -> float:
        """The float nearest to number * step."""
        return ldexp(number, self._exponent) if self._exponent is not None else float(number * self.step)

    def round_one(self, fine: int) -> float:
        """The float nearest to the grid point to which the fine step `fine` rounds, halves up."""
        return self.point((fine + (1 << (self.refine - 1))) >> self.refine)
