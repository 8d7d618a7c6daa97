"""Exact quotients v q/p of floats v, rounded down on binary grids: in 64 bits, and in the same steps for every float.

v = m 2^-k with an integer m of 53 bits, and m q = a p + b: v q/p is (a + b/p)/2^k. a has up to 88 bits, and is kept in
two parts of which the lower has 26. See docs/theorems/grid-rounding.md.
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

__all__ = ["NARROW", "Grid", "Located", "Quotients"]


NARROW = 35
"""Bits of p and q that 64 bits leave room for."""
LOW = 26
MASK = (1 << LOW) - 1
FURTHEST = 128  # bits below the point of m q/p that are ever asked for: 60, and 45 for floats beyond 2^53


class Quotients:
    """v q/p for floats v, with p and q below 2^35 and |v q/p| below 2^61.

    >>> Quotients(np.array([0.3, -0.001]), 10, 3).floor(1)
    array([ 1, -1])
    """

    def __init__(self, values: NDArray[Any], q: int, p: int) -> None:
        mantissas, exponents = np.frexp(values)
        digits = (mantissas * 2.0**53).astype(np.int64)
        self._k = 53 - exponents.astype(np.int64)  # numpy 1 would go on in the 32 bits of the exponents
        high, over = np.divmod((digits >> LOW) * q, p)
        low, self._b = np.divmod((over << LOW) + (digits & MASK) * q, p)
        self._high, self._low, self._p = high + (low >> LOW), low & MASK, p

    def floor(self, refine: int) -> NDArray[Any]:
        """floor(2^refine v q/p) modulo 2^64."""
        down = self._k - refine
        floor: NDArray[Any] = _scaled(self._high, LOW - down) + _scaled(self._low, -down)
        if self._p > 1:
            floor += self._below(np.clip(-down, 0, FURTHEST))
        return floor

    def _below(self, up: NDArray[Any]) -> NDArray[Any]:
        """floor(2^up b/p) modulo 2^64: long division, as many bits at a time as 62 leave room for."""
        total: NDArray[Any] = np.zeros_like(self._b)
        left = self._b
        chunk = 62 - self._p.bit_length()
        for done in range(0, FURTHEST, chunk):
            step = np.clip(up - done, 0, chunk)
            digit, left = np.divmod(left << step, self._p)
            total = (total << step) + digit
        return total


def _scaled(numbers: NDArray[Any], up: NDArray[Any]) -> NDArray[Any]:
    """floor(2^up numbers) modulo 2^64: what is shifted by 64 bits or more is gone, and 63 bits leave a sign."""
    return np.where(up > 63, 0, numbers << np.clip(up, 0, 63) >> np.clip(-up, 0, 63))


# Real values on a grid: exact whole steps and exact remainders, and grid points back to floats.
#
# Rounding is to the nearest point, halves up: round(v) = step floor(v/step + 1/2). The fine grid has step/2^refine, and
# floor(floor(2^j x)/2^j) = floor(x), so rounding on the fine grid first changes nothing.
# See docs/theorems/grid-rounding.md.

LIMIT = 1 << 61
"""Values lie within this many steps of zero, so that whole steps and noise add up in 64 bits."""
FITS = 2.0**60
"""Fine steps below it add up with noise of at most 2^62 in 64 bits."""


REFINED = 60
"""Fine steps to a step up to which 64 bits hold them, as a power of two."""

Points: TypeAlias = Callable[[NDArray[Any], Callable[[int], Fraction]], NDArray[Any]]


BEYOND = "a noisy value is beyond floats: give values and a scale in a larger unit"


def _finite(floats: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite([floats.min(initial=0), floats.max(initial=0)]).all():
        raise OverflowError(BEYOND)
    return floats


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
        """Whether some v/step may be subnormal: only for steps above 1."""
        assert self._exponent is not None
        size = np.abs(values)
        return bool(((size < 2.0 ** (self._exponent - 1020)) & (size > 0)).any())

    def _within(self, steps: Fraction) -> None:
        if not steps < LIMIT:
            raise BadValue(f"values must lie within 2^61 steps of zero, and a step of the grid is {self.step}")

    def release(self, values: NDArray[Any], points: Points) -> NDArray[Any]:
        """Floats for checked values; `points` gives a grid point for each fine step, told what is left of a value.

        It may be told the fine steps of a value less whole grid steps, which are then added to what it gives.
        """
        out = np.empty(values.size, dtype=np.float64)
        for block in blocks(values.size):
            out[block] = self._release(values[block], points)
        return out

    def _release(self, values: NDArray[Any], points: Points) -> NDArray[Any]:
        if self._exponent is not None and self.refine - self._exponent < 1000 and values.dtype != object:
            steps = values * 2.0 ** (self.refine - self._exponent)  # exact
            if max(-steps.min(initial=0), steps.max(initial=0)) < FITS:
                below = np.floor(steps)
                return self.to_floats(
                    points(below.astype(np.int64), lambda n: Fraction(float(steps[n])) - int(below[n]))
                )
        whole, fine, rest = self.locate(values)
        return self.to_floats(add(whole, points(fine, rest), "raise"))

    def locate(self, values: NDArray[Any]) -> Located:
        """Where each checked value lies on the grid, exactly: a float is its binary rational."""
        if values.dtype == object:
            return self._locate_fractions(values.tolist())
        if self._exponent is None:
            return self._locate_ratios(values)
        steps = values * 2.0**-self._exponent
        whole = np.rint(steps)
        steps -= whole  # exact: a float and a nearest integer differ by a float
        fine = np.floor(steps * 2.0**self.refine)

        def rest(n: int) -> Fraction:
            return Fraction(float(steps[n])) * (1 << self.refine) - int(fine[n])

        return Located(whole.astype(np.int64), fine.astype(np.int64), rest)

    def _locate_ratios(self, values: NDArray[Any]) -> Located:
        """For a step p/q: one way for all values, which depends on the step alone, so that none takes longer."""
        p, q = self.step.numerator, self.step.denominator
        if max(p, q).bit_length() > NARROW or self.refine > REFINED:
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
            with np.errstate(over="ignore"):
                return _finite(points * 2.0**self._exponent)
        p, q = self.step.numerator, self.step.denominator
        most = max(abs(int(points.min(initial=0))), abs(int(points.max(initial=0))))
        if max(most, 1) * p <= 1 << 53 and q <= 1 << 53:  # one rounding, of the quotient
            return points * p / q
        return np.array([self.point(point) for point in points.tolist()], dtype=np.float64)

    def point(self, number: int) -> float:
        """The float nearest to number * step."""
        try:
            return ldexp(number, self._exponent) if self._exponent is not None else float(number * self.step)
        except OverflowError:
            raise OverflowError(BEYOND) from None

    def round_one(self, fine: int) -> float:
        """The float nearest to the grid point to which a fine step rounds."""
        return self.point((fine + (1 << (self.refine - 1))) >> self.refine)
