"""Certified supremum of K(s)/(s(1+s)) over cumulants: proves a bound cell by cell, needs no theorem on the peak."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below
from zcdp.numeric.work import count_functions

__all__ = ["VALUE", "Convex", "Supremum", "steepest_ratio"]

Taylor = Callable[[arb], tuple[arb, arb, arb]]

FIRST_BITS = 128
LAST_BITS = 1 << 13
SMALLEST_STEP = arb(2) ** -60
SMALLEST_START = arb(2) ** -24
FIRST_PRODUCT = 2
"""The first cell is 1, or 1/4 of 1/largest where that is more, and then halved: K bends nowhere before 1/largest."""
LEAST_PRODUCT = 40
"""From 0 to 2^-40/largest no ratio is above that of order 1 by more than this part of it."""
GRID, SAMPLE = 48, 64  # points at which the ratio is looked at first; about so many of very many parts will do there
MOST_CELLS = 100_000
GOLDEN = 0.6180339887498949
VALUE, SERIES = 6, 30  # elementary functions that a plain cumulant takes at a point, and with its derivatives


@dataclass(frozen=True)
class Convex:
    """A cumulant K as the search sees it: convex, K(0) = 0, K(s) <= s largest, slope kl at 0.

    `taylor` gives K, K' and K'' at a point; it is there if K belongs to one pair, not to an envelope of several.
    `parts` are what K is the sum of, with how often: each of them is then bounded in its own form.
    """

    value: Callable[[arb], arb]
    kl: arb
    largest: arb
    taylor: Taylor | None = None
    parts: Sequence[tuple[Convex, int]] = ()

    def ratio(self, s: arb) -> arb:
        """K(s)/(s(1+s))."""
        return self.value(s) / (s * (1 + s))


def _nonnegative(g0: arb, g1: arb, m: arb, h: arb) -> bool:
    """Whether g0 + g1 d + m d^2/2 >= 0 for all d in [0, h], for certain."""
    if not (g0 >= 0 and g0 + g1 * h + m * h * h / 2 >= 0):
        return False
    if m <= 0 or g1 >= 0 or g1 + m * h <= 0:  # the least value is at an end
        return True
    return bool(m > 0 and 2 * m * g0 >= g1 * g1)


def _search(curve: Convex, start: arb) -> arb:
    """A point where the ratio is near its greatest: a proposal, on which nothing rests but speed."""
    start = start.max(_reciprocal(curve.largest, LEAST_PRODUCT))
    low, high = start.log(), ((curve.largest / curve.kl).max(2 * start)).log()

    def ratio(point: arb) -> arb:  # floats have no room for what tiny losses cost
        return curve.ratio(point.mid().exp().mid()).mid()

    step, some = (high - low) / GRID, curve.parts[:: len(curve.parts) // SAMPLE] if len(curve.parts) > SAMPLE else ()

    def roughly(point: arb) -> arb:
        if not some:
            return ratio(point)
        s = point.mid().exp().mid()
        return (sum((part.value(s) * count for part, count in some), arb(0)) / (s * (1 + s))).mid()

    best, wide = max(range(GRID + 1), key=lambda n: roughly(low + n * step)), 2 if some else 1
    left, right = low + max(best - wide, 0) * step, low + min(best + wide, GRID) * step
    inner, outer = right - (right - left) * GOLDEN, left + (right - left) * GOLDEN
    at_inner, at_outer = ratio(inner), ratio(outer)
    for _ in range(32):
        if at_inner < at_outer:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + (right - left) * GOLDEN
            at_outer = ratio(outer)
        else:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - (right - left) * GOLDEN
            at_inner = ratio(inner)
    return ((left + right) / 2).mid().exp().mid()


def _reciprocal(largest: arb, bits: int) -> arb:
    """A power of two near 2^-bits/largest."""
    mantissa, exponent = largest.mid().man_exp()
    return arb(2) ** (-bits - int(mantissa).bit_length() - int(exponent))


class _Cell:
    """All parts of a curve from s on: K(s), and what bounds K up to s + step by a quadratic."""

    def __init__(self, curve: Convex, s: arb) -> None:
        self.s, self.value, self.slope = s, arb(0), arb(0)
        self.chords: list[tuple[Convex, arb, int]] = []
        self.bends: list[tuple[arb, arb]] = []
        for part, count in curve.parts or ((curve, 1),):
            count_functions(VALUE if part.taylor is None else SERIES)
            if part.taylor is None:
                k0 = part.value(s) if s > 0 else arb(0)
                self.chords.append((part, k0, count))
            else:
                k0, k1, k2 = part.taylor(s)
                if not s > 0:
                    k0, k1 = arb(0), part.kl
                self.slope += k1 * count
                self.bends.append((k2 * count, part.largest - k1))
            self.value += k0 * count

    def bound(self, step: arb) -> tuple[arb, arb]:
        """a and b with K(s + d) <= K(s) + a d + b d^2/2 for 0 <= d <= step."""
        slope = self.slope
        count_functions(VALUE * len(self.chords))
        for part, k0, count in self.chords:
            slope += (part.value(self.s + step) - k0) / step * count
        return slope, sum((k2 * (room * step).exp() for k2, room in self.bends), arb(0))


def _exceeds(curve: Convex, bound: arb) -> arb | None:
    """None if K(s) <= bound s(1+s) is proven for all s > 0; a point where it is false; or `Undecided`."""
    if not bound > 0:
        raise Undecided
    s, cells = arb(0), 0
    smooth = all(part.taylor is not None for part, _ in curve.parts or ((curve, 1),))
    step = arb(1).max(_reciprocal(curve.largest, FIRST_PRODUCT)) if smooth else arb(1)
    while not (1 + s) * bound >= curve.largest:
        cells += 1
        if cells > MOST_CELLS:
            raise NotCertified(f"the supremum over orders needs more than {MOST_CELLS} cells: the loss is too small")
        cell = _Cell(curve, s)
        while True:
            slope, bend = cell.bound(step)
            if _nonnegative(bound * s * (1 + s) - cell.value, bound * (1 + 2 * s) - slope, 2 * bound - bend, step):
                break
            step = step / 2  # halving and doubling are exact: cells leave no gap
            if not step > (s + 1) * SMALLEST_STEP:  # it is false from here on, or too close to tell
                peak = _search(curve, s.max(SMALLEST_START))
                if bound < curve.ratio(peak):
                    return peak
                raise Undecided
        s, step = (s + step).lower(), 2 * step
    return None


class Supremum(NamedTuple):
    """Floats around the supremum; the curve and the point that attain the lower one, for information."""

    lower: float
    upper: float
    curve: int
    point: float


def _enclose(curves: Sequence[Convex], tolerance: float, candidates: Sequence[int]) -> Supremum:
    where = max(range(len(curves)), key=lambda n: curves[n].kl.mid())
    best, point = curves[where].kl.lower(), arb(0)
    for n in candidates:
        proposal = _search(curves[n], SMALLEST_START)
        if curves[n].ratio(proposal) > best:
            where, best, point = n, curves[n].ratio(proposal).lower(), proposal
    factor = 1 + arb(tolerance)
    for n, curve in enumerate(curves):
        # a higher peak than was proposed raises the bound, and leaves what was proven before it proven
        while (higher := _exceeds(curve, (best * factor).upper())) is not None:
            where, best, point = n, curve.ratio(higher).lower(), higher
    return Supremum(below(best), above(best * factor), where, float(point))


def steepest_ratio(
    curves: Callable[[], Sequence[Convex]],
    tolerance: float = 1e-10,
    candidates: Sequence[int] | None = None,
    *,
    most_tries: float = inf,
) -> Supremum:
    """Floats around the supremum of K(s)/(s(1+s)) over s > 0 and all curves, upper/lower = 1 + tolerance.

    `curves` is called at each working precision that is tried; `candidates` are the curves among which the
    steepest is expected (all, if not given). See docs/theorems/supremum.md for why a cell is proven by the sign of
    one quadratic. `NotCertified` where very many of them would be needed, or more than `most_tries` precisions
    beyond the one at which the slopes at 0 are known.
    """
    if not 0 < tolerance < inf:
        raise BadValue(f"tolerance ({tolerance}) must be positive and finite")

    tries = 0

    def attempt() -> Supremum:
        nonlocal tries
        present = curves()
        if not all(curve.kl > 0 and curve.kl.rel_accuracy_bits() > 60 for curve in present):
            raise Undecided
        tries += 1
        return _enclose(present, tolerance, range(len(present)) if candidates is None else candidates)

    bits, cause = FIRST_BITS, None
    while bits <= LAST_BITS and tries < most_tries:
        try:
            return at_precision(bits, attempt)
        except NotCertified:
            raise
        except (ArithmeticError, ValueError) as error:  # `Undecided`, or of floats that propose where to look
            bits, cause = 2 * bits, error
    raise NotCertified("the supremum over orders could not be enclosed: the parameters are too extreme") from cause
