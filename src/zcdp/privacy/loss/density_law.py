"""The privacy loss of noise of any density: cells of the line, a law above and a law below on a lattice, and one use.

P has the density f and Q the same moved by a shift. On a cell the masses and the range of the loss are certified. The
law above moves the mass of each cell to the two ends of its range, and these to the multiples of one number next to
them; the law below is a coarser view of the output whose losses are such multiples. A single use is answered from the
set where f exceeds e^epsilon times the moved density. Theorem: docs/theorems/own-noise.md.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from flint import arb, ctx

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, lift
from zcdp.numeric.density import Density, Tail, between, dyadic, wider
from zcdp.numeric.functions import exp, expm1
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss.exponential_law import ExponentialSum, ExponentialSumFactor, MirroredSum, Terms
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.law import Ends, LossLaw, Outcomes
from zcdp.privacy.loss.profile_polygons import convex_heights
from zcdp.privacy.loss.tradeoff_hull import BALL_BITS, hull, rounded

__all__ = ["Cell", "DensityLaw", "ShiftedDensity", "Support", "coarser_law", "lattice_law_below"]

PROPOSED, MOST_DOUBLINGS = 600, 200  # places at which the loss is looked at in floats, on each side
NEGLIGIBLE_LOG = 76.5  # Tails of less than e^-76 of the height count as losses that have no end.
POINTS, FEWER_POINTS, MOST_POINTS = 256, 64, 512  # of the lattice above 0; fewer where outcomes are to be listed
SPREAD_POINTS = 40  # lattice points to a standard deviation of the loss, if that takes more than POINTS
CELL_BITS, CHECK_BITS, DEEPEST_RANGE, DEEPEST_ROOT = 128, 64, 12, 60
LEVEL_BITS = 40  # A range of the loss below 2^40 roundings is not divided.
RANGE_WORK = 8
NO_LOSS = 1e-9  # the largest loss of a lattice where no finite loss counts
LAST_CELL = 0.75  # of a lattice cell: so far below the largest loss the last test of the law below begins


class Support(NamedTuple):
    """Where noise of bounded support ends; None where it does not."""

    low: Fraction | None = None
    high: Fraction | None = None


NO_END = Support()


class Cell(NamedTuple):
    """A part of the line: masses under f and under the moved density, and the range of the loss on it."""

    p: arb
    q: arb
    low: arb
    high: arb
    ends: tuple[Fraction, Fraction] | None = None
    """The cell itself, if it is bounded."""


@dataclass(frozen=True, eq=False)
class ShiftedDensity:
    """The pair of a density and the same moved by `shift`, which may be negative; on request with all shifts nearby.

    `radius` is that of a cell of shifts around `shift`: masses and ranges are then those of all of them, on the safe
    side (docs/theorems/shift.md, 5).
    """

    density: Density
    shift: Fraction
    support: Support = NO_END
    radius: Fraction = Fraction(0)

    # The loss.

    def loss_in_floats(self, x: float) -> float:
        """L(x) = V(x - shift) - V(x), a proposal."""
        return self.density.v_in_floats(x - float(self.shift)) - self.density.v_in_floats(x)

    def loss(self, x: arb) -> arb:
        """L on a real ball."""
        return self.density.v(x - lift(self.shift)) - self.density.v(x)

    def loss_slope(self, x: arb) -> arb:
        """L' on a real ball."""
        return self.density.slope(x - lift(self.shift)) - self.density.slope(x)

    def loss_bend(self, x: arb) -> arb:
        """L'' on a real ball."""
        return self.density.bend(x - lift(self.shift)) - self.density.bend(x)

    def loss_range(self, low: arb, high: arb, narrow: float, depth: int = DEEPEST_RANGE) -> tuple[arb, arb]:
        """Numbers below and above L on a cell that no kink divides, closer than `narrow` to its range if possible."""
        count_functions(RANGE_WORK)
        cell, middle = between(low, high), ((low + high) / 2).mid()
        slope = self.loss_slope(cell)
        if not (slope >= 0 or slope <= 0):
            # V' at x and at x - shift are nearly the same where the shift is small: their difference is not seen on a
            # ball, but at its middle and in how it changes.
            near = self.loss_slope(middle) + self.loss_bend(cell) * (cell - middle)
            if near.is_finite():
                slope = near.intersection(slope) if slope.is_finite() and near.overlaps(slope) else near
        if slope >= 0 or slope <= 0:
            one, other = (low, high) if slope >= 0 else (high, low)
            return self.loss(one).lower(), self.loss(other).upper()
        found = self.loss(middle) + slope * (cell - middle) if slope.is_finite() else self.loss(cell)
        # L(x) is minus the integral of V' from x - shift to x, so also within these bounds
        shift = lift(self.shift)
        mean = -shift * self.density.slope(wider(between(low - shift, low).union(between(high - shift, high))))
        if mean.is_finite() and mean.overlaps(found):
            found = mean.intersection(found) if found.is_finite() else mean
        if depth and not float(found.rad()) < narrow:
            halves = [self.loss_range(a, b, narrow, depth - 1) for a, b in ((low, middle), (middle, high))]
            return halves[0][0].min(halves[1][0]), halves[0][1].max(halves[1][1])
        # what is not known is no number, and no order would find it: anything may be there
        return (found.lower(), found.upper()) if found.is_finite() else (arb.neg_inf(), arb.pos_inf())

    # Masses.

    def mass(self, low: Fraction, high: Fraction, *, moved: bool) -> arb:
        """The probability of an interval under f or under the moved density, within the support."""
        by = self.shift if moved else Fraction(0)
        low, high = low - by, high - by
        if self.support.low is not None:
            low, high = max(low, self.support.low), max(high, self.support.low)
        if self.support.high is not None:
            low, high = min(low, self.support.high), min(high, self.support.high)
        if low >= high:
            return arb(0)
        cuts = [low, *(kink for kink in self.density.kinks if low < kink < high), high]
        parts = (self.density.mass(lift(a), lift(b)) for a, b in itertools.pairwise(cuts))
        return sum(parts, arb(0)) / self.whole()

    def whole(self) -> arb:
        """The integral of f over its support."""
        low, high = self.support
        if low is None and high is None:
            return self.density.whole()
        kept: dict[int, arb] = self.__dict__.setdefault("_wholes", {})
        if ctx.prec not in kept:
            if low is not None and high is not None:
                cuts = [low, *(kink for kink in self.density.kinks if low < kink < high), high]
                parts = (self.density.mass(lift(a), lift(b)) for a, b in itertools.pairwise(cuts))
                kept[ctx.prec] = sum(parts, arb(0))
            elif low is not None:
                kept[ctx.prec] = self.density.mass_beyond(1, lift(low))
            else:
                assert high is not None
                kept[ctx.prec] = self.density.mass_beyond(-1, lift(high))
        return kept[ctx.prec]

    def given_away(self) -> arb:
        """The mass where the support of the moved density does not reach; 0 for a cell of shifts."""
        low, high = self.support
        if self.shift > 0 and low is not None:
            return self.mass(low, low + self.shift, moved=False)
        if self.shift < 0 and high is not None:
            return self.mass(high + self.shift, high, moved=False)
        return arb(0)

    def beyond(self, side: int, start: Fraction, *, moved: bool) -> arb:
        """The probability of all that lies beyond a place on one side."""
        if (self.support.high if side > 0 else self.support.low) is not None:
            return arb(0)
        place, first = start - self.shift if moved else start, self.support.low if side > 0 else self.support.high
        if first is not None and side * place < side * first:
            place = first
        return self.density.mass_beyond(side, lift(place)) / self.whole()

    def outside(self, side: int, place: Fraction) -> arb:
        """The probability under f of all that lies beyond a place on one side, as far as the noise goes."""
        end = self.support.high if side > 0 else self.support.low
        if end is None:
            return self.beyond(side, place, moved=False)
        low, high = (place, max(place, end)) if side > 0 else (min(place, end), place)
        return self.mass(low, high, moved=False)

    # Cells.

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Where the cells begin and end: both densities end there, or only tails with known slopes are beyond."""
        found = at_precision(CELL_BITS, lambda: (self._end(-1), self._end(1)))
        if not at_precision(CHECK_BITS, lambda: all(self._is_whole(*found, moved=moved) for moved in (False, True))):
            raise BadValue("the cells of a density leave some of its mass out, or count some twice")
        return found

    def _is_whole(self, low: Fraction, high: Fraction, *, moved: bool) -> bool:
        """Whether the masses of all that is cut into cells and of the tails may add up to 1: a check against slips."""
        parts = self.beyond(-1, low, moved=moved), self.mass(low, high, moved=moved), self.beyond(1, high, moved=moved)
        return all(part >= 0 or part.contains(0) for part in parts) and bool(sum(parts, arb(0)).contains(1))

    @property
    def top_near(self) -> float:
        """About the place within the support where the density is largest, of those with one mode."""
        low, high = (None if end is None else float(end) for end in self.support)
        found = self.density.mode_near if low is None else max(low, self.density.mode_near)
        return found if high is None else min(high, found)

    def _end(self, side: int) -> Fraction:
        first, last = self.support if side > 0 else self.support[::-1]
        if last is not None:
            return side * max(side * last, side * (last + self.shift))
        tail, density = self.density.tail(side), self.density
        size, base = abs(float(self.shift)), density.v_in_floats(self.top_near)

        def is_negligible(x: float) -> bool:
            return not density.v_in_floats(side * x) < base + NEGLIGIBLE_LOG

        nearest = max(above(tail.start), size)
        if first is not None:  # both densities must have begun there
            nearest = max(nearest, above(lift(side * first + max(Fraction(0), side * self.shift))))
        far = nearest
        for _ in range(MOST_DOUBLINGS):
            if is_negligible(far):
                break
            here = self.tail_at(side, arb(far))
            if here.power <= 0 and self._loss_beyond(here, arb(far)) < self._narrow:
                break
            far *= 2
        else:
            raise NotCertified("the tails of the density are too heavy for cells")
        if far > nearest and is_negligible(far):
            low, high = max(far / 2, nearest), far
            for _ in range(12):
                middle = (low + high) / 2
                low, high = (low, middle) if is_negligible(middle) else (middle, high)
            far = high
        return side * Fraction((far + size + float(self.radius)) * (1 + 2.0**-50))  # not below the sum

    def tail_at(self, side: int, start: arb) -> Tail:
        """The bound on the slope beyond `start`: mostly sharper than that beyond a nearer place, which holds too."""
        density = self.density
        known = density.tail(side)
        found = None if density.stated is not None else density.find_tail(side, start)
        if found is None or not found.is_bounded or found.power != known.power:
            return known
        return Tail(known.power, known.least.max(found.least), known.most.min(found.most), start)

    def _loss_beyond(self, tail: Tail, far: arb) -> float:
        """How far apart the losses beyond are, in floats."""
        least = tail.least if tail.power == 0 else arb(0)
        return float((tail.most * tail.growth(far) - least) * abs(float(self.shift)))

    @cached_property
    def _narrow(self) -> float:
        """A range of the loss that is small against the cells of the lattice: a proposal."""
        places = [self.top_near + k * self.density.width / 8 for k in range(-64, 65)]
        losses = [abs(loss) for x in places if math.isfinite(loss := self.loss_in_floats(x))]
        return max(losses, default=1.0) / (4 * POINTS) or 1e-30

    def borders(self, points: int, *, half: bool = False) -> list[Fraction]:
        """Places between cells: where the loss is a multiple of its largest one over `points`, and where it may bend.

        Only how good the laws are depends on them. With `half`, for one mode, of a symmetric pair only those on the
        side of its middle where the loss is not negative.
        """
        step = self.top / points
        return self.borders_at([k * step for k in range(-points, points + 1)], half=half)

    @property
    def top(self) -> float:
        """About the largest loss of the places that are looked at."""
        return max((abs(loss) for loss in self._proposed[1] if math.isfinite(loss)), default=0.0)

    @cached_property
    def spread(self) -> float:
        """About the standard deviation of the loss, at least a small part of its largest: in floats, a proposal."""
        places, losses = self._proposed
        heights = [self.density.v_in_floats(x) for x in places]
        least = min(filter(math.isfinite, heights), default=0.0)
        mass = mean = square = 0.0
        for n in range(1, len(places)):
            if math.isfinite(losses[n]) and math.isfinite(heights[n]):
                weight = math.exp(least - heights[n]) * (places[n] - places[n - 1])
                mass, mean, square = mass + weight, mean + weight * losses[n], square + weight * losses[n] ** 2
        variance = square / mass - (mean / mass) ** 2 if mass > 0 else 0.0
        return max(math.sqrt(max(variance, 0.0)), self.top / MOST_POINTS, 1e-300)

    @cached_property
    def _proposed(self) -> tuple[list[float], list[float]]:
        """Places where both densities are, densest around their modes, and the losses there."""
        low, high = (float(end) for end in self.ends)
        middle, width = self.top_near, self.density.width
        reach = math.asinh(max(high - middle, middle - low) / width * 64)
        places = [middle + width / 64 * math.sinh(reach * n / PROPOSED) for n in range(-PROPOSED, PROPOSED + 1)]
        centre = middle + float(self.shift) / 2
        places += [p + float(self.shift) for p in places[:: PROPOSED // 200]] + [centre]
        places = sorted({p for p in places if low < p < high} | {low, high})
        inside = [p for p in places if self._is_inside(p)]
        return inside, [self.loss_in_floats(p) for p in inside]

    def borders_at(self, levels: Sequence[float], *, half: bool = False) -> list[Fraction]:
        """Places between cells: where the loss has one of these values, which rise, and where it may bend."""
        if half and self.is_symmetric and self.density.symmetric_about is not None:
            fold = self.density.symmetric_about + self.shift / 2
            places = self.borders_at(levels)
            return [place for place in places if (place <= fold) == (self.shift > 0) or place == fold]
        low, high = (float(end) for end in self.ends)
        middle, width = self.top_near, self.density.width
        inside, losses = self._proposed
        exact = [Fraction(0), self.shift]
        special = {kink + by for kink in self.density.kinks for by in exact}
        special |= {end + by for end in self.support if end is not None for by in exact}
        if self.density.symmetric_about is not None:
            special.add(self.density.symmetric_about + self.shift / 2)
        found = {*self.ends, *(place for place in special if self.ends[0] < place < self.ends[1])}
        if not self.top > 0:
            return sorted(found)
        for n, (a, b) in enumerate(itertools.pairwise(inside)):
            one, other = losses[n], losses[n + 1]
            if not (math.isfinite(one) and math.isfinite(other)):
                continue
            first, last = bisect_left(levels, min(one, other)), bisect_right(levels, max(one, other))
            for level in levels[first:last]:
                found.add(Fraction(self._crossing(a, b, level, rising=other > one)))
            if n and (one - losses[n - 1]) * (other - one) < 0:
                found.add(Fraction(a))  # near a peak of the loss
        shell = width
        while shell < 2 * max(abs(low), abs(high)):
            found |= {Fraction(p) for p in (middle - shell, middle + shell) if low < p < high}
            shell *= 1.5
        return sorted(found)

    def _is_inside(self, x: float) -> bool:
        """Whether both densities have x in their support."""
        low, high = self.support
        moved = x - float(self.shift)
        return (low is None or min(x, moved) > low) and (high is None or max(x, moved) < high)

    def _crossing(self, low: float, high: float, level: float, *, rising: bool) -> float:
        for _ in range(24):
            middle = (low + high) / 2
            if (self.loss_in_floats(middle) < level) == rising:
                low = middle
            else:
                high = middle
        return high

    def cells(self, borders: Sequence[Fraction], *, positive: bool = False) -> list[Cell]:
        """All cells, tails included, at the working precision; with `positive` those where the loss may be above 0."""
        found = [
            *self._tails(),
            *(self.cell(a, b, positive=positive) for a, b in itertools.pairwise(borders)),
        ]
        return [cell for cell in found if not (positive and cell.high <= 0)]

    def cell(self, low: Fraction, high: Fraction, *, positive: bool = False) -> Cell:
        """One bounded cell; with `positive` without its masses if no loss there is above 0."""
        inside = self._has(low, high, moved=False), self._has(low, high, moved=True)
        if not all(inside):
            p, q = (self.mass(low, high, moved=moved) if inside[moved] else arb(0) for moved in (False, True))
            ends = (arb.pos_inf(), arb.pos_inf()) if inside[0] else (arb.neg_inf(), arb.neg_inf())
            return Cell(p, q, *ends, (low, high))
        cell = self._ranged(low, high)
        if positive and cell.high <= 0:
            return cell
        p, q = self.mass(low, high, moved=False), self.mass(low, high, moved=True)
        return cell._replace(p=p, q=cell.q * q)

    def _ranged(self, low: Fraction, high: Fraction) -> Cell:
        """A bounded cell with the range of the loss, and the Q-mass 1, or what a cell of shifts leaves of it; kept."""
        kept: dict[tuple[Fraction, Fraction], Cell] = self.__dict__.setdefault("_ranges", {})
        if (low, high) not in kept:

            def ranged() -> Cell:
                a, b = lift(low), lift(high)
                cell = Cell(arb(0), arb(1), *self.loss_range(a, b, self._narrow / 8), (low, high))
                return self._widened(cell, between(a, b) - lift(self.shift))

            kept[low, high] = at_precision(CELL_BITS, ranged)  # at every working precision it is sharp enough
        return kept[low, high]

    def _has(self, low: Fraction, high: Fraction, *, moved: bool) -> bool:
        """Whether the support reaches into an interval, which its ends do not divide."""
        by = self.shift if moved else Fraction(0)
        least, most = self.support
        return (least is None or high - by > least) and (most is None or low - by < most)

    def _widened(self, cell: Cell, moved: arb) -> Cell:
        """The cell for all shifts within the radius: less Q-mass, and a wider range."""
        if not self.radius:
            return cell
        near = arb(0, 1) * lift(self.radius)
        change = lift(self.radius) * abs(self.density.slope(wider(moved + near))).upper()
        if not change.is_finite():
            return Cell(cell.p, arb(0), arb.pos_inf(), arb.pos_inf(), cell.ends)
        return Cell(cell.p, cell.q * (-change).exp(), cell.low - change, cell.high + change, cell.ends)

    def _tails(self, *, positive: bool = False) -> list[Cell]:
        """The cells beyond both ends. On the left the loss is that of a density that falls outward, for shifts > 0."""
        found = []
        for side, start in ((-1, self.ends[0]), (1, self.ends[1])):
            outward = (self.shift < 0) == (side > 0)  # whether x - shift lies further out than x: the loss is positive
            if positive and not outward and not self.radius:
                continue
            p, q = (self.beyond(side, start, moved=moved) for moved in (False, True))
            if p.is_zero() and q.is_zero():
                continue
            size = abs(lift(self.shift))
            near = abs(lift(start)) - size - lift(self.radius)
            tail = self.tail_at(side, near.lower())
            # V rises outward: by size times a slope between the two, taken somewhere beyond `near`
            least, most = tail.least, tail.most
            if tail.power > 0:
                least, most = least * tail.growth(near), arb.pos_inf()
            elif tail.power < 0:
                least, most = arb(0).min(least), most * tail.growth(near)
            rise = size * least, size * most
            low, high = rise if outward else (-rise[1], -rise[0])
            cell = Cell(p, q, low.lower(), high.upper())
            if self.radius:
                change = lift(self.radius) * most
                cell = Cell(p, arb(0), arb.pos_inf(), arb.pos_inf())
                if change.is_finite():
                    cell = Cell(p, q * (-change).exp(), (low - change).lower(), (high + change).upper())
            found.append(cell)
        return found

    def reversed(self) -> ShiftedDensity:
        """The pair (Q, P), moved so that its P is f again."""
        return ShiftedDensity(self.density, -self.shift, self.support, self.radius)

    @property
    def is_symmetric(self) -> bool:
        """Whether both directions have the same law, as f is symmetric about a point, and so is its support."""
        centre = self.density.symmetric_about
        if centre is None or self.radius:
            return False
        low, high = self.support
        if low is None and high is None:
            return True
        return low is not None and high is not None and low + high == 2 * centre


# The law above: each cell on two ends, and these on the lattice.


class _Lattice:
    """Masses on the losses k step, 0 <= k <= points, and an infinite one; those below 0 are not needed."""

    def __init__(self, top: Fraction, points: int) -> None:
        self.step = lift(top) / points
        self.x = [exp(self.step * k) for k in range(points + 1)]
        self.q = [arb(0)] * (points + 1)
        self.infinite = arb(0)
        self.points = points

    def add(self, cell: Cell) -> None:
        """A cell: its mass on the ends of its range, each at a lattice point or spread over the two next to it."""
        if cell.high <= 0:
            return
        p, q = cell.p, cell.q
        if q.is_zero():
            self.infinite += p
            return
        low, high = cell.low.max(arb(0)) if cell.low >= 0 else cell.low, cell.high
        top = self.step * self.points
        if not high <= top:
            # Ratios from g on, without end: the most that Q can hide is g times its mass.
            if not low.is_finite():
                self.infinite += p
                return
            g = exp(low.min(top))
            self.infinite += (p - g * q).max(arb(0))
            self._spread(low.min(top), q)
            return
        if not low.is_finite() or low < 0:
            # Below 0 only the part above a ratio of 1 counts: (P - xQ)+ of a range that reaches below is largest on
            # its ends, and the lower end has nothing above 0.
            base = exp(low) if low.is_finite() else arb(0)
            ratio = exp(self._ceiling(high)[1])
            self._put(self._ceiling(high)[0], ((p - base * q) / (ratio - base)).max(arb(0)))
            return
        below, above_ = self._floor(low), self._ceiling(high)
        if below[0] is not None and above_[0] is not None and above_[0] == below[0]:
            self._put(below[0], q)
            return
        g, h = exp(below[1]), exp(above_[1])
        share = (p - g * q) / (h - g)
        share = share.max(arb(0))
        self._place(above_, share)
        self._place(below, (q - share).max(arb(0)))

    def _put(self, k: int | None, q: arb) -> None:
        assert k is not None
        self.q[k] += q

    def _place(self, where: tuple[int | None, arb], q: arb) -> None:
        if where[0] is not None:
            self.q[where[0]] += q
        else:
            self._spread(where[1], q)

    def _spread(self, loss: arb, q: arb) -> None:
        """Q-mass of one loss in [0, top], on two lattice points around it with the same P-mass."""
        k = min(max(int(float((loss / self.step).mid())), 0), self.points - 1)
        least, most = k, k + 1
        while least > 0 and not loss >= self.step * least:
            least -= 1
        while most < self.points and not loss <= self.step * most:
            most += 1
        share = (exp(loss) - self.x[least]) / (self.x[most] - self.x[least])
        share = share.max(arb(0)).min(arb(1))
        self.q[most] += q * share
        self.q[least] += q * (1 - share)

    def _floor(self, low: arb) -> tuple[int | None, arb]:
        """The lattice point k at or below a loss if one is near; else the loss itself."""
        k = round(float((low / self.step).mid()))
        if 0 <= k <= self.points and low >= self.step * k and low - self.step * k < self.step / 2:
            return k, self.step * k
        return None, low

    def _ceiling(self, high: arb) -> tuple[int | None, arb]:
        k = round(float((high / self.step).mid()))
        if 0 <= k <= self.points and high <= self.step * k and self.step * k - high < self.step / 2:
            return k, self.step * k
        if not high >= 0:
            return 0, arb(0)
        k = min(max(math.ceil(float((high / self.step).mid())), 0), self.points)
        while k < self.points and not high <= self.step * k:
            k += 1
        return (k, self.step * k) if high <= self.step * k else (None, high)

    def profile(self) -> list[arb]:
        """H at all lattice points: of the masses above each, times how far they are above it, and of infinite ones."""
        found, slope, value = [self.infinite] * (self.points + 1), arb(0), self.infinite
        for k in range(self.points - 1, -1, -1):
            slope += self.q[k + 1]
            value = value + slope * (self.x[k + 1] - self.x[k])
            found[k] = value
        return found


def _terms_of_profile(step: arb, heights: Sequence[arb]) -> Terms:
    """The symmetric law whose H is given at the lattice points from 0 on, as coefficients of an `ExponentialSum`."""
    points = len(heights) - 1
    x = [exp(step * k) for k in range(points + 1)]
    falls = [exp(-step * k / 2) for k in range(points + 1)]
    slopes = [(heights[k] - heights[k + 1]) / (x[k + 1] - x[k]) for k in range(points)]
    half = [slopes[-1] / falls[points]]
    half.extend((slopes[k - 1] - slopes[k]) / falls[k] for k in range(points - 1, 0, -1))
    # H at the first point below 0 is that of the reversed pair: 1 - e^-step + e^-step H(e^step).
    before = (-expm1(-step) + exp(-step) * heights[1] - heights[0]) / -expm1(-step)
    return [[mass] for mass in (*half, before - slopes[0], *reversed(half))]


@dataclass(frozen=True, eq=False)
class DensityLaw(ExponentialSum):
    """A symmetric law on a lattice that dominates the pairs of a density and its shifts, in both directions.

    A single use is answered from the first of the pairs and its reverse, if no other shift can be worse.
    """

    pairs: tuple[ShiftedDensity, ...] = field(kw_only=True)
    """All pairs that are dominated, both directions included unless they have the same law."""
    alone_is_exact: bool = field(kw_only=True)
    """Whether the profile of one use is the largest of those of the pairs."""

    @classmethod
    def of(cls, pairs: Sequence[ShiftedDensity], *, points: int = 0, exact: bool) -> DensityLaw:
        """The law with so many lattice points above 0, or with as many as the spread of the loss suggests."""
        count = points or min(
            max(*(math.ceil(SPREAD_POINTS * pair.top / pair.spread) for pair in pairs), POINTS), MOST_POINTS
        )
        tables = [(pair, pair.borders(count, half=exact)) for pair in pairs]

        def top() -> float:
            ranges = (
                pair._ranged(a, b).high
                for pair, borders in tables
                for a, b in itertools.pairwise(borders)
                if pair._has(a, b, moved=False) and pair._has(a, b, moved=True)
            )
            return max((above(most) for most in ranges if most.is_finite()), default=0.0)

        largest = at_precision(CELL_BITS, top)

        def made(largest: float) -> DensityLaw:
            law: DensityLaw

            def terms() -> Terms:
                return law._kept_terms()

            exactly = Fraction(largest * (1 + 2.0**-40))
            law = cls(exactly, terms, Fraction(1, count), pairs=tuple(pairs), alone_is_exact=exact)
            law.__dict__["_tables"] = tables
            return law

        found = made(largest if largest > 0 else NO_LOSS)
        if any(pair.support != NO_END for pair in pairs) and len(pairs) > 1:
            # In one direction outcomes are given away, in the other losses are finite: from some loss on, these are
            # less likely than those, and the law of both needs no such losses.
            level = at_precision(CELL_BITS, found.level)
            found = found if level >= count else made(max(largest * level / count, NO_LOSS))
        return found

    @property
    def points(self) -> int:
        """The number of lattice points above 0."""
        return int(1 / self.ratio)

    def _lattices(self) -> list[_Lattice]:
        found = []
        for pair, borders in self.__dict__["_tables"]:
            lattice = _Lattice(Fraction(self.loss), self.points)  # type: ignore[arg-type]
            for cell in self._cells(pair, borders):
                lattice.add(cell)
            found.append(lattice)
        return found

    def _cells(self, pair: ShiftedDensity, borders: Sequence[Fraction]) -> list[Cell]:
        kept: dict[tuple[int, int], list[Cell]] = self.__dict__.setdefault("_listed", {})
        key = ctx.prec, id(pair)  # each pair has one table of borders
        if key not in kept:
            kept[key] = pair.cells(borders, positive=True)
        return kept[key]

    def level(self) -> int:
        """The first lattice point at which H is what it is at the last one, but for what is negligible."""
        heights = self._heights()[1]
        most = heights[-1].upper() * (1 + arb(2) ** -LEVEL_BITS)
        return next(k for k, height in enumerate(heights) if k == len(heights) - 1 or height <= most)

    def _heights(self) -> tuple[arb, list[arb]]:
        """The step of the lattice, and the largest H of all pairs at its points."""
        lattices = self._lattices()
        heights = lattices[0].profile()
        for lattice in lattices[1:]:
            heights = [one.max(other) for one, other in zip(heights, lattice.profile(), strict=True)]
        return lattices[0].step, heights

    def _kept_terms(self) -> Terms:
        return self._made()[0]

    def _made(self) -> tuple[Terms, arb]:
        """The coefficients and the mass of infinite losses, at the working precision; kept for each."""
        kept: dict[int, tuple[Terms, arb]] = self.__dict__.setdefault("_by_bits", {})
        if ctx.prec not in kept:
            step, heights = self._heights()
            kept[ctx.prec] = _terms_of_profile(step, heights), heights[-1]
        return kept[ctx.prec]

    def ready(self) -> ExponentialSumFactor:
        """The transform of one use, with constants at the working precision."""
        terms, infinite = self._made()
        factor = ExponentialSumFactor(self.loss, self.ratio, terms)
        factor.revealed = infinite
        return factor

    def check(self, bits: int = 0) -> None:
        """Nothing here: a single use needs no lattice; what compositions use is checked when it is made."""

    def _looks_symmetric(self) -> bool:
        return True

    @property
    def few(self) -> bool:
        """False: the outcomes that are listed are those of a pair above or below this one."""
        return False

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """The outcomes of a law on fewer points that dominates this one, infinite losses included."""
        if inward:
            return None
        law = self.fewer
        return _outcomes(lift(law.loss) / law.points, *law._made())

    @cached_property
    def fewer(self) -> DensityLaw:
        """The same on few lattice points."""
        if self.points <= FEWER_POINTS:
            return self
        return DensityLaw.of(self.pairs, points=FEWER_POINTS, exact=self.alone_is_exact)

    def listed(self) -> Outcomes | None:
        """All outcomes of the pair whose transform `ready` returns are too many: none are listed."""
        return None

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """None: the outcomes of a law on fewer points are sampled."""
        del rate
        return None

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """None, likewise."""
        del rate
        return None

    def single_use(self) -> LossLaw:
        """For a single use the cells themselves, if no other shift can be worse, and not the lattice above them."""
        return OneUse(self) if self.alone_is_exact else self

    def bounds(self, epsilon: arb) -> tuple[arb, arb]:
        """Certified bounds on delta(epsilon) of one use, infinite losses included."""
        ends = [self._delta_of(pair, borders, epsilon) for pair, borders in self.__dict__["_tables"]]
        low, high = ends[0]
        for one, other in ends[1:]:
            low, high = low.max(one), high.max(other)
        return low, high

    def is_bounded(self) -> bool:
        """Whether no finite loss is above the largest one of the lattice."""
        most = lift(self.loss)
        listed = (self._cells(pair, borders) for pair, borders in self.__dict__["_tables"])
        return all(bool(cell.high <= most) for cells in listed for cell in cells if not cell.q.is_zero())

    def given_away(self) -> arb:
        """P(L = +inf): what lies where the moved density, of bounded support, has no mass."""
        found = [pair.given_away() for pair in self.pairs]
        return reduce(arb.max, found)

    def _delta_of(self, pair: ShiftedDensity, borders: Sequence[Fraction], epsilon: arb) -> tuple[arb, arb]:
        """Ends of the integral of (P - e^epsilon Q)+, cell by cell; a cell where the loss crosses is divided."""
        x, low, high = epsilon.exp(), arb(0), arb(0)
        pending = [(cell, 0) for cell in self._cells(pair, borders)]
        while pending:
            cell, depth = pending.pop()
            if cell.high <= epsilon:
                continue
            if cell.q.is_zero() or cell.low >= epsilon:
                value = cell.p - x * cell.q
                low, high = low + value, high + value
                continue
            level = cell.high - cell.low < arb(2) ** (LEVEL_BITS - CELL_BITS)  # the loss stays at epsilon: no root
            if cell.ends is None or depth >= DEEPEST_ROOT or level:
                low += (cell.p - x * cell.q).max(arb(0)).lower()
                high += _most(cell, x).upper()
                continue
            a, b = cell.ends
            found = _bracket(pair, a, b, epsilon)
            if found is None:
                middle = a + (b - a) / 2
                pending += [(pair.cell(a, middle), depth + 1), (pair.cell(middle, b), depth + 1)]
            else:  # the crossing lies in a last, tiny cell
                pending += [(pair.cell(*found), DEEPEST_ROOT)]
                pending += [
                    (pair.cell(*rest), depth + 8) for rest in ((a, found[0]), (found[1], b)) if rest[0] < rest[1]
                ]
        return low, high


@dataclass(frozen=True, eq=False)
class OneUse(LossLaw):
    """A single use of noise of a density, composed with nothing: delta is integrated, cell by cell.

    Infinite losses are those that there are. The law on a lattice, which serves for compositions and here for first
    guesses, counts large losses of little mass as infinite, and is above all others.
    """

    law: DensityLaw

    def ready(self) -> ExponentialSumFactor:
        """The transform of the lattice law, for guesses, and the mass of infinite losses that there are."""
        terms, _ = self.law._made()
        factor = _FactorOfGuesses(self.law.loss, self.law.ratio, terms)
        factor.revealed = self.law.given_away()
        return factor

    def largest(self) -> arb:
        """A bound on the finite losses; +inf if they have none."""
        return self.law.largest() if self.law.is_bounded() else arb.pos_inf()

    def check(self, bits: int = 0) -> None:
        """Nothing here: that cells leave no mass out is checked where they are cut."""

    def ends_alone(self) -> Ends:
        """Certified bounds on delta(epsilon), less infinite losses, which are added."""
        infinite = self.law.given_away()

        def both(epsilon: arb) -> tuple[arb, arb]:
            low, high = self.law.bounds(epsilon)
            return low - infinite, high - infinite

        return both


class _FactorOfGuesses(ExponentialSumFactor):
    """No atom of the lattice at its largest loss is one of the noise."""

    def near_top(self, s: arb) -> tuple[arb, arb]:
        """Nothing is known of losses near the largest one."""
        del s
        return arb(0), arb(0)


def _outcomes(step: arb, terms: Terms, infinite: arb) -> Outcomes:
    """The masses of a symmetric law on a lattice, infinite losses included."""
    points = len(terms) // 2
    halves = [exp(step * (points - k) / 2) for k in range(len(terms))]
    masses = [(row[0] * half, row[0] / half) for row, half in zip(terms, halves, strict=True)]
    return Outcomes([(infinite, arb(0)), *masses, (arb(0), infinite)])


def _bracket(pair: ShiftedDensity, a: Fraction, b: Fraction, epsilon: arb) -> tuple[Fraction, Fraction] | None:
    """A tiny interval around a place where the loss crosses epsilon; None if none is found. It is a proposal."""
    level = float(epsilon.mid())
    left, right = pair.loss_in_floats(float(a)), pair.loss_in_floats(float(b))
    if not (math.isfinite(left) and math.isfinite(right) and (left - level) * (right - level) < 0):
        return None
    x = arb(pair._crossing(float(a), float(b), level, rising=right > left))
    for _ in range(4):
        slope = pair.loss_slope(x)
        step = (pair.loss(x) - epsilon) / slope
        if not step.is_finite():
            return None
        x = (x - step).mid()
    size = (abs(x) + arb(float(b - a))) * arb(2) ** (30 - ctx.prec)
    ends = [dyadic((x - size).lower()), dyadic((x + size).upper())]
    low, high = max(ends[0], a), min(ends[1], b)
    return (low, high) if a <= low < high <= b else None


def _most(cell: Cell, x: arb) -> arb:
    """The largest integral of (P - xQ)+ over a cell of these masses with ratios in its range."""
    if not cell.high.is_finite():
        return (
            cell.p
            if not cell.low.is_finite()
            else (cell.p - exp(cell.low) * cell.q).max(arb(0)) + (exp(cell.low) - x).max(arb(0)) * cell.q
        )
    g, h = exp(cell.low) if cell.low.is_finite() else arb(0), exp(cell.high)
    share = ((cell.p - g * cell.q) / (h - g)).max(arb(0)).min(cell.q.max(arb(0))) if h > g else cell.q
    return share * (h - x).max(arb(0)) + (cell.q - share).max(arb(0)) * (g - x).max(arb(0))


# The law below, on the same lattice.


@dataclass(frozen=True, eq=False)
class DensityLawBelow(MirroredSum):
    """A symmetric law on a lattice that a symmetric pair dominates.

    Theorems: docs/theorems/own-noise.md, 3, docs/theorems/grid.md, 6.

    Each piece of its H, from one lattice point to the next, is the line P(S) - xQ(S) of a test S, that of all losses
    above the middle of the two: a tangent, which is as far below H at the points as a chord is above it in the middle.
    The largest loss is the mean one of the last test, the log of P(S)/Q(S).
    """

    pair: ShiftedDensity = field(kw_only=True)

    @classmethod
    def of(cls, pair: ShiftedDensity, points: int) -> DensityLawBelow | None:
        """The law with so many lattice points above 0; None if no outcomes with large losses are found."""
        last = cls._last(pair, points)
        borders = pair.borders_at([last], half=True)

        def mean() -> float:
            [(p, q)], infinite = _tests(pair.cells(borders, positive=True), [last])
            return below(((p - infinite) / q).log()) if q > 0 and p - infinite > 0 else 0.0

        largest = at_precision(CELL_BITS, mean)
        if not largest > 0:
            return None
        law: DensityLawBelow

        def terms() -> Terms:
            return law._made()[0]

        law = cls(Fraction(largest * (1 - 2.0**-40)), terms, Fraction(1, points), pair=pair)
        return law

    @staticmethod
    def _last(pair: ShiftedDensity, points: int) -> float:
        """The least loss of the last test."""
        return pair.top * (1 - LAST_CELL / points)

    @property
    def points(self) -> int:
        """The number of lattice points above 0."""
        return int(1 / self.ratio)

    @cached_property
    def _cut(self) -> tuple[list[float], list[Fraction]]:
        """The least losses of the tests, one for each cell of the lattice, and the borders there."""
        step = float(Fraction(self.loss) / self.points)  # type: ignore[arg-type]
        last = self._last(self.pair, self.points)
        levels = [min((k + 0.5) * step, last) for k in range(self.points - 1)] + [last]
        return levels, self.pair.borders_at(levels, half=True)

    def _made(self) -> tuple[Terms, arb]:
        """The coefficients and the mass of infinite losses, at the working precision; kept for each."""
        kept: dict[int, tuple[Terms, arb]] = self.__dict__.setdefault("_by_bits", {})
        if ctx.prec not in kept:
            step, (levels, borders) = lift(self.loss) / self.points, self._cut
            x = [exp(step * k) for k in range(self.points + 1)]
            tests, infinite = _tests(self.pair.cells(borders, positive=True), levels)
            infinite = infinite.lower()
            if not tests[-1][0] - x[-1] * tests[-1][1] >= infinite:
                raise Undecided
            # At a point the lower of the two lines that meet near it: so each piece is below the line of its test.
            lines = [[p - at * q for at in x[k : k + 2]] for k, (p, q) in enumerate(tests)]
            heights = [lines[0][0], *(one[1].min(other[0]) for one, other in itertools.pairwise(lines))]
            sure = next((k - 1 for k, height in enumerate(heights) if not height > infinite), self.points)
            heights = [height.lower() for height in heights[: max(sure, 0)]]
            heights = convex_heights(x, heights + [infinite] * (len(x) - len(heights)))
            # The mass at the loss 0 is what is left: 1 - H(1) less twice the fall per unit of x behind 1.
            width = x[1] - 1
            if not heights[0] <= (most := ((width + 2 * heights[1]) / (width + 2)).lower()):
                heights = convex_heights(x, [most, *heights[1:]])
            kept[ctx.prec] = _terms_of_profile(step, heights), infinite
        return kept[ctx.prec]

    def ready(self) -> ExponentialSumFactor:
        """The transform of one use, with constants at the working precision."""
        terms, infinite = self._made()
        factor = ExponentialSumFactor(self.loss, self.ratio, terms)
        factor.revealed = infinite
        return factor

    @property
    def few(self) -> bool:
        """False: the lattice has too many points to list them."""
        return False

    def outcomes(self, *, inward: bool = False) -> Outcomes | None:
        """The outcomes of such a law on fewer points."""
        law = self.fewer if inward else None
        return None if law is None else _outcomes(lift(law.loss) / law.points, *law._made())

    @cached_property
    def fewer(self) -> DensityLawBelow | None:
        """The same on few lattice points."""
        return self if self.points <= FEWER_POINTS else DensityLawBelow.of(self.pair, FEWER_POINTS)

    def sampled(self, rate: Fraction) -> LossLaw | None:
        """None: the outcomes of a law on fewer points are sampled."""
        del rate
        return None

    def replaced(self, rate: Fraction) -> LossLaw | None:
        """None, likewise."""
        del rate
        return None


def _tests(cells: Sequence[Cell], levels: Sequence[float]) -> tuple[list[tuple[arb, arb]], arb]:
    """P(S) and Q(S) of the cells whose loss is about above each of the levels, and the P-mass of infinite losses."""
    ordered = sorted(cells, key=_middle)
    found, p, q, infinite = [], arb(0), arb(0), arb(0)
    for level in reversed(levels):
        while ordered and _middle(ordered[-1]) > level:
            cell = ordered.pop()
            p, q = p + cell.p, q + cell.q
            if cell.q.is_zero():
                infinite += cell.p
        found.append((p, q))
    return found[::-1], infinite


def _middle(cell: Cell) -> float:
    """About the loss in the middle of a cell."""
    return float(((cell.low + cell.high) / 2 if cell.high.is_finite() else cell.low).mid())


def lattice_law_below(law: DensityLaw) -> LossLaw | None:
    """A symmetric law on a lattice that the pair dominates; None if its two directions differ."""
    if len(law.pairs) > 1 or not law.pairs[0].is_symmetric:
        return None
    return DensityLawBelow.of(law.pairs[0], law.points)


def coarser_law(pair: ShiftedDensity, points: int = FEWER_POINTS) -> LossLaw | None:
    """A law of finitely many rational outcomes that the pair dominates: its cells, each as one outcome."""
    borders = pair.borders(points)

    def inward() -> LossLaw:
        cells = [cell for cell in pair.cells(borders) if cell.p > 0 or cell.q > 0]

        def ratio(cell: Cell) -> float:
            if cell.q.is_zero():
                return math.inf
            return float((cell.p / cell.q).log().mid()) if cell.p > 0 else -math.inf

        ordered = sorted(cells, key=ratio, reverse=True)
        return finite_law(hull(rounded([(cell.p, cell.q) for cell in ordered], 1)))

    try:
        return at_precision(BALL_BITS, inward)
    except (Undecided, ValueError):
        return None
