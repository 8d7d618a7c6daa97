"""Cumulants of noise of any density by certified integration, and rho where the privacy loss has no largest value.

K(s) = log of the integral of f^{1+s} f_t^{-s}, f_t the density moved by t. Theorem: docs/theorems/own-noise.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from math import inf, isfinite

from flint import acb, arb, ctx

from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, lift
from zcdp.numeric.density import Tail
from zcdp.numeric.supremum import Convex, Supremum, nonnegative
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.loss.density_law import ShiftedDensity

__all__ = ["ShiftCumulant", "steepest"]

FARTHEST_SHELL = 400  # doublings of the distance in one integral
EVALUATION_WORK = 15  # of one value of an integrand, in elementary functions
LEAST_STEP, MOST_CELLS = arb(2) ** -30, 4_000
FIRST_STEP, LEAST_PEAK = arb(1), arb(2) ** -10  # A proposed peak below this s counts as the limit at 0.
LOSS_BITS, LOSS_STEPS = 128, 400
PEAK_GRID, NEWTON_STEPS = 400, 6
NOTHING = arb(0)
NARROW = 1e-12  # A ball of the loss so narrow needs no second one.
MOST_DOUBLINGS, FAR_DOUBLINGS, LEAST_SHARE = 60, 20, arb(2) ** -8


class ShiftCumulant:
    """The cumulant of the pair of a density and the same moved by a shift, in this direction."""

    def __init__(self, pair: ShiftedDensity) -> None:
        self.pair, self.density = pair, pair.density
        self._kept: dict[tuple[int, arb], tuple[arb, arb, arb]] = {}

    def _moment(self, s: arb, power: int) -> arb:
        """The integral of L^power e^{sL} f over the line, not divided by that of f."""
        shift, middle = lift(self.pair.shift), arb(self.density.mode_near)
        total = arb(0)
        for side in (-1, 1):
            here = middle
            for _ in range(FARTHEST_SHELL):
                step = arb(self.density.width).max(abs(here - middle)) + abs(shift)
                there = (here + side * step).mid()
                low, high = (here, there) if side > 0 else (there, here)
                total += self._between(low, high, s, power)
                here = there
                rest = self._rest(side, here, s, power)
                if rest is not None and rest.upper() <= abs(total).upper() * arb(2) ** -ctx.prec:
                    total += arb(0, 1) * rest.upper()
                    break
            else:
                raise NotCertified("the integral of a power of the density converges too slowly")
        return total

    def _between(self, low: arb, high: arb, s: arb, power: int) -> arb:
        kinks = sorted({kink + by for kink in self.density.kinks for by in (0, self.pair.shift)})
        inside = [lift(kink) for kink in kinks if low < lift(kink) < high]  # balls cannot be in a set
        places, shift = [low, *inside, high], lift(self.pair.shift)
        half = acb(shift / 2 + arb(0, 1) * shift / 2)  # from 0 to the shift
        total, evaluations = arb(0), 0
        for a, b in itertools.pairwise(places):
            if not a < b:
                continue
            centre = (a + b) / 2
            v = self.density.on_complex(centre, log=True)
            moved = self.density.on_complex(centre - shift, log=True)
            slope = self.density.slope_on_complex(centre, centre - shift)

            def integrand(
                z: acb,
                analytic: bool,
                v: Callable[[acb, bool], acb] = v,
                moved: Callable[[acb, bool], acb] = moved,
                slope: Callable[[acb, bool], acb] | None = slope,
            ) -> acb:
                nonlocal evaluations
                evaluations += 1
                here = v(z, analytic)
                loss = moved(z - shift, analytic) - here
                if slope is not None and not loss.real.rad() < NARROW:
                    # The loss is also the integral of -V' from z - shift to z: closer if the ball is wide.
                    mean = -shift * slope(z - half, analytic)
                    loss = mean if mean.is_finite() and mean.real.rad() < loss.real.rad() else loss
                value = (s * loss - here).exp()
                return value if not power else value * loss if power == 1 else value * loss * loss

            total += acb.integral(integrand, a, b).real
        count_functions(EVALUATION_WORK * evaluations)  # not within an integral, which nothing may leave by an error
        return total

    def _rest(self, side: int, place: arb, s: arb, power: int) -> arb | None:
        """A bound on what lies beyond a place; None if it is too near."""
        more = arb(0)
        if power:  # |L|^k <= k!/eta^k e^{eta |L|}, where the losses beyond have one sign
            more = (abs(s) + 1) / 16
        outward = (self.pair.shift < 0) == (side > 0)
        bounds = [self._rest_of(side, place, s + (more if outward else -more))]
        if bounds[0] is None:
            return None
        return bounds[0] * (1 if not power else power / more**power)

    def _rest_of(self, side: int, place: arb, s: arb) -> arb | None:
        far, size = side * place, abs(lift(self.pair.shift))
        known = self.density.tail(side)
        if not far > known.start + size:
            return None
        tail = self.pair.tail_at(side, (far - size).lower())
        least, most = tail.least, tail.most
        if not most.is_finite():
            return None
        outward = (self.pair.shift < 0) == (side > 0)
        if tail.power <= 0:  # losses beyond are bounded: at most so many times the mass beyond
            most_loss = size * most * tail.growth(far - size)
            try:
                return tail.rest(self.density.f(place), far) * (abs(s) * most_loss).exp()
            except Undecided:
                return None
        ratio = 1 + size / far if outward else 1 - size / far
        # the slope of V at the moved place is at most `most` times u^power times this
        grown = (lift(tail.power) * ratio.log()).exp()
        factor = grown.max(arb(1)) if (tail.power > 0) == outward else arb(1).max(grown)
        slope = (1 + s) * least - (s * most * factor if s > 0 else s * least * grown.min(arb(1)))
        exponent = s * self.pair.loss(place) - self.density.v(place)
        try:
            if not slope > 0:
                return None
            return Tail(tail.power, slope.lower(), most, far).rest(exponent.exp(), far)
        except Undecided:
            return None

    def value(self, s: arb) -> arb:
        """K(s)."""
        return (self._moment(s, 0) / self.density.whole()).log()

    def taylor(self, s: arb) -> tuple[arb, arb, arb]:
        """K, K' and K'' at s."""
        key = ctx.prec, s
        if key not in self._kept:
            zeroth, first, second = (self._moment(s, power) for power in range(3))
            mean = first / zeroth
            value = (zeroth / self.density.whole()).log() if s > 0 else arb(0)
            self._kept[key] = value, mean, second / zeroth - mean * mean
        return self._kept[key]

    def kl(self) -> arb:
        """K'(0), the divergence of order 1."""
        return self.taylor(arb(0))[1]

    @cached_property
    def largest(self) -> tuple[float, float]:
        """Certified floats around the supremum of the loss; inf if it has none."""
        return at_precision(LOSS_BITS, self._largest)

    def _largest(self) -> tuple[float, float]:
        pair = self.pair
        borders, low, high = pair.borders(16), -inf, -inf
        for side, start in ((-1, pair.ends[0]), (1, pair.ends[1])):
            outward = (pair.shift < 0) == (side > 0)
            if not outward:
                continue
            tail = pair.tail_at(side, abs(lift(start)))
            far = pair.tail_at(side, arb(2) ** 60 * abs(lift(start)))
            if tail.power > 0 or not tail.most.is_finite():
                return inf, inf
            size = abs(lift(pair.shift))
            near = abs(lift(start)) - size
            high = max(high, above(size * tail.most * tail.growth(near)))
            if not tail.power:
                low = max(low, below(size * far.least))
        cells = [(lift(a), lift(b)) for a, b in itertools.pairwise(borders)]
        pending = sorted(((above(pair.loss_range(a, b, inf)[1]), n) for n, (a, b) in enumerate(cells)))
        for _ in range(LOSS_STEPS):
            most, n = pending[-1]
            a, b = cells[n]
            for x in (a, b, ((a + b) / 2).mid()):
                low = max(low, below(pair.loss(x)))
            if most <= max(low, high) + 1e-15 * abs(low) or most <= high:
                break
            pending.pop()
            middle = ((a + b) / 2).mid()
            for part in ((a, middle), (middle, b)):
                cells.append(part)
                pending.append((above(pair.loss_range(*part, inf, 0)[1]), len(cells) - 1))
            pending.sort()
        return low, max(pending[-1][0], high)

    def proposed_peak(self) -> float:
        """Heuristic s at which K(s)/(s(1+s)) is largest, from cells in floats."""
        import numpy as np

        pair = self.pair
        cells = [[float(mass.log().mid()) for mass in (cell.p, cell.q)] for cell in pair.cells(pair.borders(32))]
        known = np.array([cell for cell in cells if isfinite(cell[0]) and isfinite(cell[1])])
        logs, loss = known[:, 0], known[:, 0] - known[:, 1]
        s = np.geomspace(1e-3, 1e3 * max(1.0, 1.0 / float(np.abs(loss).max())), PEAK_GRID)  # small losses peak late
        exponents = logs + np.multiply.outer(s, loss)
        top = exponents.max(axis=1)
        cumulants = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
        near = s * loss.max() < 1  # where the mean of e^{sL} is close to 1, digits cancel
        cumulants[near] = np.log1p(np.expm1(np.multiply.outer(s[near], loss)) @ np.exp(logs))
        ratio = cumulants / (s * (1 + s))
        best = int(ratio.argmax())
        return float(s[best]) if 0 < best < PEAK_GRID - 1 else 0.0

    def convex(self) -> Convex:
        """The cumulant as `zcdp.numeric.supremum` takes it; the largest loss may be infinite."""
        return Convex(self.value, self.kl(), arb(self.largest[1]), self.taylor)

    def proven_from(self, bound: arb) -> arb:
        """An s from which on K(s) <= bound s(1+s) is proven, for losses without end; `NotCertified` if there is none.

        Theorem: docs/theorems/own-noise.md, 6.
        """
        far, found = self.density.tail(self._endless).start, list[arb]()
        for _ in range(MOST_DOUBLINGS):
            s = self._proven_from(bound, far)
            if s is not None:
                if found and s >= found[-1]:
                    return found[-1]
                found.append(s)
            far = 2 * far
        if not found:
            raise NotCertified("the slope of log f changes too fast far out for a bound at all orders")
        return found[-1]

    @property
    def _endless(self) -> int:
        """The side on which the loss grows without end."""
        return 1 if self.pair.shift < 0 else -1

    def _proven_from(self, bound: arb, far: arb) -> arb | None:
        """That s by what is known beyond a distance of `far`; None if that is too little."""
        pair, density, side = self.pair, self.density, self._endless
        size, log2 = abs(lift(pair.shift)), arb.const_log2()
        m = density.bend_beyond(side, far).upper()
        if not m.is_finite():
            return None
        m = m.max(arb(2) ** -60)
        share = (1 - (size**2 * m / (2 * bound)).sqrt()).lower().min(arb(0.5))
        if not share > LEAST_SHARE:
            return None
        tail = pair.tail_at(side, far)
        if tail.power < 0 or not tail.least > 0:  # V' is to be at least what it is at `far`, all the way
            return None
        steep, place = tail.least * tail.growth(far), side * far
        rest = density.v(place) + (density.whole() * steep * share).log()
        a = (1 - share) * density.slope(place) ** 2 / (2 * m) - rest
        first = (self._loss_up_to(side, far) + log2) / bound
        second = ((log2 + a).max(arb(0)) / (share * bound)).sqrt()
        return first.max(second).max(arb(1)).upper()

    def limit(self) -> arb:
        """An upper bound on the limit of K(s)/(s(1+s)) at high orders, where losses have no end."""
        far = self.density.tail(self._endless).start * 2**FAR_DOUBLINGS
        return abs(lift(self.pair.shift)) ** 2 * self.density.bend_beyond(self._endless, far).upper() / 2

    def _loss_up_to(self, side: int, far: arb) -> arb:
        """An upper bound on the loss at all places but those beyond `far` on the side where it grows."""
        pair = self.pair
        most = arb(0)
        ends = pair.ends
        for a, b in zip(pair.borders(32), pair.borders(32)[1:], strict=False):
            low, high = lift(a), lift(b)
            low, high = (low.max(-far), high) if side < 0 else (low, high.min(far))
            if low < high:
                most = most.max(pair.loss_range(low, high, inf)[1])
        start = ends[0] if side < 0 else ends[1]
        if abs(lift(start)) < far:
            size = abs(lift(pair.shift))
            tail = pair.tail_at(side, abs(lift(start)) - size)
            most = most.max(size * tail.most * tail.growth(far + size))
        return most


def steepest(cumulants: Sequence[ShiftCumulant], tolerance: float, least: arb = NOTHING) -> Supremum:
    """Certified floats around the supremum over s > 0 of K(s)/(s(1+s)), and over several pairs; the upper is above
    `least`.

    A peak is proposed in floats. The bound is proven on cells of orders: between the ends of each, K'' is bounded from
    both (docs/theorems/own-noise.md, 5); beyond the last one the largest loss, or `proven_from`, bounds the ratio.
    """
    where, best, point = 0, arb(0), arb(0)
    for n, cumulant in enumerate(cumulants):
        kl, peak = cumulant.kl().lower(), _refined(cumulant, arb(cumulant.proposed_peak()))
        if kl > best:
            where, best, point = n, kl, arb(0)
        if peak > LEAST_PEAK and (ratio := (cumulant.value(peak) / (peak * (1 + peak))).lower()) > best:
            where, best, point = n, ratio, peak
    if not best > 0:
        raise Undecided
    bound = (best.max(least) * (1 + arb(tolerance))).upper()
    for cumulant in cumulants:
        _prove(cumulant, bound)
    return Supremum(below(best), above(bound), where, float(point))


def _refined(cumulant: ShiftCumulant, s: arb) -> arb:
    """A proposed peak, improved by Newton's method for the zero of the derivative of K(s)/(s(1+s))."""
    for _ in range(NEWTON_STEPS if s > LEAST_PEAK else 0):
        k0, k1, k2 = cumulant.taylor(s)
        step = ((k1 * s * (1 + s) - k0 * (1 + 2 * s)) / (k2 * s * (1 + s) - 2 * k0)).mid()
        if not (step.is_finite() and abs(step) < s / 2):
            return s
        s = (s - step).mid()
    return s


def _prove(cumulant: ShiftCumulant, bound: arb) -> None:
    """Return if K(s) <= bound s(1+s) is proven for all s > 0; else raise."""
    largest = arb(cumulant.largest[1])
    last = (largest / bound - 1).upper() if largest.is_finite() else cumulant.proven_from(bound)
    s, step = arb(0), FIRST_STEP
    here = cumulant.taylor(s)
    for _ in range(MOST_CELLS):
        if s >= last:
            return
        there = cumulant.taylor(s + step)
        bend = _bend(here, there, step)
        if nonnegative(bound * s * (1 + s) - here[0], bound * (1 + 2 * s) - here[1], 2 * bound - bend, step):
            s, here, step = s + step, there, 2 * step
            continue
        step = step / 2
        if not step > LEAST_STEP:
            raise NotCertified("the supremum over orders could not be enclosed")
    raise NotCertified(f"the supremum over orders needs more than {MOST_CELLS} cells")


def _bend(here: tuple[arb, arb, arb], there: tuple[arb, arb, arb], step: arb) -> arb:
    """An upper bound on K'' between two orders, from K, K' and K'' at both."""
    slope = (there[0] - here[0]) / step
    ends = [(0 * step, *here), (step, *there)]
    heights = [value - slope * place for place, value, _, _ in ends]
    second = [(height.exp() * (k2 + (k1 - slope) ** 2)) for height, (_, _, k1, k2) in zip(heights, ends, strict=True)]
    # K - slope s is convex: above its tangents at both ends, which meet at most so far below the chord
    left, right = here[1] - slope, there[1] - slope
    least = heights[0].min(heights[1]) - step * abs(left).max(abs(right))
    if left < 0 and right > 0:
        least = (heights[0] + left * right * step / (right - left)).min(heights[0])
    return second[0].max(second[1]) / least.exp()
