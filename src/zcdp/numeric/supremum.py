"""Certified supremum over s > 0 of K(s)/(s(1+s)) for cumulants K: this is rho, the tight zCDP parameter.

Golden-section search finds a peak heuristically; the bound is then proven on cells that cover all s, so that no
theorem about the location of the peak is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, below, growing_precision
from zcdp.numeric.search import golden_section
from zcdp.numeric.work import count_functions

__all__ = ["VALUE_WORK", "Convex", "Supremum", "nonnegative", "steepest_ratio"]

Taylor = Callable[[arb], tuple[arb, arb, arb]]

LAST_SEARCH_BITS = 1 << 13  # the highest working precision of a search; beyond it the cells take too long
SMALLEST_STEP = arb(2) ** -60  # Cells are no shorter than this part of 1 + s.
SMALLEST_START = arb(2) ** -24  # The search for the peak begins at this s.
FIRST_CELL_BITS = 2
"""The first cell has the length 1, or 2^-2/largest if that is more: K is nearly quadratic up to about 1/largest."""
FIRST_POINT_BITS = 40
"""No peak is sought below s = 2^-40/largest, where the ratio is at most 1 + 2^-40 times its limit at s = 0."""
GRID_POINTS = 48  # The search for the peak begins with so many points.
SAMPLED_PARTS = 64  # About so many parts represent a plan of more parts at these points.
MOST_CELLS = 100_000
GOLDEN_STEPS = 32  # Then golden section search goes on for so many steps.
VALUE_WORK, SERIES_WORK = 6, 30  # work for a cumulant, and for it with two derivatives, in elementary functions


@dataclass(frozen=True)
class Convex:
    """A cumulant K for the search: convex, with K(0) = 0, K(s) <= s largest, and slope kl at 0.

    `taylor` returns K, K' and K'' at a point; it is None if K is the maximum over several pairs, not the cumulant of
    one. `parts`, if given, are the summands of K with their multiplicities; each is then bounded separately.
    """

    value: Callable[[arb], arb]
    kl: arb
    largest: arb
    taylor: Taylor | None = None
    parts: Sequence[tuple[Convex, int]] = ()

    def ratio(self, s: arb) -> arb:
        """K(s)/(s(1+s))."""
        return self.value(s) / (s * (1 + s))


def nonnegative(g0: arb, g1: arb, m: arb, h: arb) -> bool:
    """Whether g0 + g1 d + m d^2/2 >= 0 for all d in [0, h]; True is certified, False may mean undecided."""
    if not (g0 >= 0 and g0 + g1 * h + m * h * h / 2 >= 0):
        return False
    if m <= 0 or g1 >= 0 or g1 + m * h <= 0:  # The minimum is at an end.
        return True
    return bool(m > 0 and 2 * m * g0 >= g1 * g1)


def _peak(curve: Convex, start: arb) -> arb:
    """Heuristic s >= start at which the ratio is near its maximum: a grid in log s, then golden section."""
    start = start.max(_reciprocal(curve.largest, FIRST_POINT_BITS))
    low, high = start.log(), ((curve.largest / curve.kl).max(2 * start)).log()

    def ratio(point: arb) -> arb:  # in balls, because the ratio of a tiny loss would underflow in floats
        return curve.ratio(point.mid().exp().mid()).mid()

    step = (high - low) / GRID_POINTS
    some = curve.parts[:: len(curve.parts) // SAMPLED_PARTS] if len(curve.parts) > SAMPLED_PARTS else ()

    def roughly(point: arb) -> arb:
        """The ratio of a sample of the parts, if there are many."""
        if not some:
            return ratio(point)
        s = point.mid().exp().mid()
        return (sum((part.value(s) * count for part, count in some), arb(0)) / (s * (1 + s))).mid()

    best, wide = max(range(GRID_POINTS + 1), key=lambda n: roughly(low + n * step)), 2 if some else 1
    left, right = low + max(best - wide, 0) * step, low + min(best + wide, GRID_POINTS) * step
    return golden_section(lambda point: -ratio(point), left, right, steps=GOLDEN_STEPS).mid().exp().mid()


def _reciprocal(largest: arb, bits: int) -> arb:
    """A power of two between 2^-bits/(2 largest) and 2^-bits/largest."""
    mantissa, exponent = largest.mid().man_exp()
    return arb(2) ** (-bits - int(mantissa).bit_length() - int(exponent))


class _Cell:
    """A cell that begins at s: K(s), and from each part of K what is needed to bound K(s + d) by a quadratic in d.

    Parts with `taylor` are bounded by their third cumulant, the others by their chord (docs/theorems/supremum.md).
    """

    def __init__(self, curve: Convex, s: arb) -> None:
        self.s, self.value, self.slope = s, arb(0), arb(0)
        self.chords: list[tuple[Convex, arb, int]] = []
        self.bends: list[tuple[arb, arb]] = []
        for part, count in curve.parts or ((curve, 1),):
            count_functions(VALUE_WORK if part.taylor is None else SERIES_WORK)
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
        count_functions(VALUE_WORK * len(self.chords))
        for part, k0, count in self.chords:
            slope += (part.value(self.s + step) - k0) / step * count
        return slope, sum((k2 * (room * step).exp() for k2, room in self.bends), arb(0))


def _exceeds(curve: Convex, bound: arb) -> arb | None:
    """None if K(s) <= bound s(1+s) is proven for all s > 0; else a point at which it is certainly false.

    Raises `Undecided` if neither can be shown at the working precision.
    """
    if not bound > 0:
        raise Undecided
    s, cells = arb(0), 0
    smooth = all(part.taylor is not None for part, _ in curve.parts or ((curve, 1),))
    step = arb(1).max(_reciprocal(curve.largest, FIRST_CELL_BITS)) if smooth else arb(1)
    while not (1 + s) * bound >= curve.largest:
        cells += 1
        if cells > MOST_CELLS:
            raise NotCertified(f"the supremum over orders needs more than {MOST_CELLS} cells: the loss is too small")
        cell = _Cell(curve, s)
        while True:
            slope, bend = cell.bound(step)
            if nonnegative(bound * s * (1 + s) - cell.value, bound * (1 + 2 * s) - slope, 2 * bound - bend, step):
                break
            step = step / 2  # Halving and doubling are exact, so cells leave no gap.
            if not step > (s + 1) * SMALLEST_STEP:  # The bound is false near s, or too tight to decide.
                peak = _peak(curve, s.max(SMALLEST_START))
                if bound < curve.ratio(peak):
                    return peak
                raise Undecided
        s, step = (s + step).lower(), 2 * step
    return None


class Supremum(NamedTuple):
    """Certified floats around the supremum, and the index of the curve and the s that attain the lower one."""

    lower: float
    upper: float
    curve: int
    point: float


def _enclose(curves: Sequence[Convex], tolerance: float, candidates: Sequence[int]) -> Supremum:
    """Propose the highest ratio among the candidates, then prove it times 1 + tolerance as a bound for all curves."""
    where = max(range(len(curves)), key=lambda n: curves[n].kl.mid())
    best, point = curves[where].kl.lower(), arb(0)
    for n in candidates:
        proposal = _peak(curves[n], SMALLEST_START)
        if curves[n].ratio(proposal) > best:
            where, best, point = n, curves[n].ratio(proposal).lower(), proposal
    factor = 1 + arb(tolerance)
    for n, curve in enumerate(curves):
        # A higher peak than the proposed one raises the bound; proofs for earlier curves stay valid.
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
    """Certified floats around the supremum of K(s)/(s(1+s)) over s > 0 and all curves; upper/lower = 1 + tolerance.

    `curves` is called at each working precision that is tried; `candidates` are the indices of the curves among which
    the steepest is expected (all, if not given). docs/theorems/supremum.md shows that a cell is proven by the sign of
    one quadratic. Raises `NotCertified` if too many cells would be needed, or if `most_tries` precisions at which the
    slopes at 0 are known did not suffice.
    """
    if not 0 < tolerance < inf:
        raise BadValue(f"tolerance ({tolerance}) must be positive and finite")

    tries, cause = 0, None
    for _ in growing_precision(last=LAST_SEARCH_BITS):
        if tries >= most_tries:
            break
        try:
            present = curves()
            if not all(curve.kl > 0 and curve.kl.rel_accuracy_bits() > 60 for curve in present):
                raise Undecided
            tries += 1
            return _enclose(present, tolerance, range(len(present)) if candidates is None else candidates)
        except NotCertified:
            raise
        except (ArithmeticError, ValueError) as error:  # This is `Undecided`, or an error of the heuristic search.
            cause = error
    raise NotCertified("the supremum over orders could not be enclosed: the parameters are too extreme") from cause
