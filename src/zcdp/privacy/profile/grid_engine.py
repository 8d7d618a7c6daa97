"""One use on a grid of losses: a law that dominates it, and one that it dominates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, log

from flint import arb, arb_poly

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, at_precision, lift, log_size
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.question import GRID, GRID_POINT, Question

__all__ = ["Grid", "GridLaw", "SampledProfile", "law_above", "law_below", "sampled_profile"]


@dataclass(frozen=True)
class SampledProfile:
    """H(x) = E_P (1 - x e^{-L})_+ at x = e^{jh}, from the first j on."""

    first: int
    x: list[arb]
    heights: list[arb]


@dataclass(frozen=True)
class GridLaw:
    """P-masses of the losses jh, from the first j on, and at infinity. Theorem: docs/theorems/grid.md."""

    first: int
    masses: list[arb]
    revealed: arb


def sampled_profile(law: LossLaw, step: arb, up: int, down: int) -> SampledProfile:
    """From the profiles of both orders: H(x) = 1 - x + x H'(1/x)."""
    right, left = law.alone(), law.reverse().alone()
    assert right is not None
    assert left is not None
    top, bottom = law.largest(), law.reverse().largest()
    x, heights = [], []
    for j in range(-down, up + 1):
        epsilon, place = step * abs(j), (step * j).exp()
        formula, end = (right, top) if j >= 0 else (left, bottom)
        height = formula(epsilon) if epsilon < end else arb(0)
        if not (epsilon < end or epsilon >= end):
            height = formula(epsilon * (1 - arb(2) ** -60)).union(arb(0))
        x.append(place)
        heights.append(height if j >= 0 else 1 - place + place * height)
    return SampledProfile(-down, x, heights)


def law_above(known: SampledProfile) -> GridLaw:
    """H is replaced by its chords; left of the points by one from H(0) = 1, and right of them it stays.

    What H has at the last point goes to infinity, so that all masses add up to H(0) = 1.
    """
    x, heights = known.x, known.heights
    falls = [(1 - heights[0]) / x[0], *_falls(x, heights), arb(0)]
    law = GridLaw(known.first, _masses(x, falls), heights[-1])
    if any(mass < 0 for mass in (*law.masses, law.revealed)):
        raise BadValue("a law on a grid has a negative mass: what it was made from is no profile")
    return law


def law_below(known: SampledProfile) -> GridLaw:
    """Points below H by as much as its chords are above it at most; then the greatest convex polygon below them."""
    x, heights = known.x, known.heights
    falls = _falls(x, heights)
    steps = [arb(1), *falls, arb(0)]  # H falls by at most 1, and never rises
    gaps = []
    for n, width in enumerate(b - a for a, b in pairwise(x)):
        left, right = steps[n] - steps[n + 1], steps[n + 1] - steps[n + 2]
        both = left + right
        gaps.append(width * left * right / both if both > 0 else width * left.max(right).max(arb(0)))
    deepest = [a.max(b) for a, b in zip([arb(0), *gaps], [*gaps, arb(0)], strict=True)]
    lowered = [height - gap for height, gap in zip(heights, deepest, strict=True)]
    zero = next((n for n, height in enumerate(lowered) if not height > 0), len(lowered) - 1)
    lowered = [height if n < zero - 1 else arb(0) for n, height in enumerate(lowered)]
    kept = _convex(x, lowered)
    own = _falls([x[n] for n in kept], [lowered[n] for n in kept])
    own[0] = own[0].min(falls[0])  # the first point is lowered further, and left of it H falls at least as much
    masses = [arb(0)] * len(x)
    for n, mass in zip(kept[1:], _masses([x[n] for n in kept[1:]], [*own, arb(0)]), strict=True):
        if not mass >= 0:
            return GridLaw(known.first, [arb(0)], arb(0))
        masses[n] = mass
    return GridLaw(known.first, masses, arb(0))


def _falls(x: list[arb], heights: list[arb]) -> list[arb]:
    return [(heights[n] - heights[n + 1]) / (x[n + 1] - x[n]) for n in range(len(x) - 1)]


def _masses(x: list[arb], falls: list[arb]) -> list[arb]:
    return [place * (falls[n] - falls[n + 1]) for n, place in enumerate(x)]


def _convex(x: list[arb], heights: list[arb]) -> list[int]:
    """The points of the greatest convex polygon below all of them."""
    chain: list[int] = []
    for n in range(len(x)):
        while len(chain) > 1:
            a, b = chain[-2:]
            before = (heights[a] - heights[b]) * (x[n] - x[b])
            after = (heights[b] - heights[n]) * (x[b] - x[a])
            if not before < after:
                break
            chain.pop()
        chain.append(n)
    return chain


# The profile of few uses: their losses put on one grid, and composed there as polynomials.

BITS = 160
NEGLIGIBLE = 1e-13  # of delta: what is beyond the last point of a grid
ORDERS = (1.2, 1.5, 2.0, 3.0, 5.0)  # of Chernoff bounds, over c
HALVINGS, CLOSE, LARGEST = 60, 0.02, 1e6


class Grid(Engine):
    """Laws of losses on the multiples of a step h, one above and one below each use, composed as polynomials.

    Above: the profile is replaced by chords in x = e^epsilon between the points. Below: by a polygon under the
    neighbouring chords. Both are off by the order of h^2. Theorem: docs/theorems/grid.md.
    """

    name = "grid of losses"
    only_rounding = False
    most_laws, most_uses = 4, 100

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For few uses of laws whose own profiles are formulas."""
        parts = question.parts
        if any(law.alone() is None or law.reverse().alone() is None for law, _ in parts):
            return None
        if not question.revealed.is_zero():
            return None  # The chords begin at H(0) = 1, which is so of finite losses alone.
        cost = GRID / question.share
        return Offer(cost, lambda: cls(question, int(cost / (GRID_POINT * len(parts)))))

    def __init__(self, question: Question, points: int) -> None:
        self.guess, log_delta = question.epsilon, question.log_delta
        if log_delta is None:
            log_delta = _proposed(question)
        self.above, self.below = at_precision(BITS, lambda: _composed(question, points, log_delta))

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """See `Engine`."""
        return at_precision(BITS, lambda: (self.below.delta(lift(epsilon)), self.above.delta(lift(epsilon))))

    def upper(self, epsilon: Fraction) -> arb:
        """See `Engine`."""
        return at_precision(BITS, lambda: self.above.delta(lift(epsilon)))

    def estimate(self, epsilon: float) -> float:
        """See `Engine`."""
        return log_size(self.upper(Fraction(epsilon)))


def _proposed(question: Question) -> float:
    """log delta at the given epsilon by the saddle point formula; where that is impossible, as of one use alone.

    A sum of n losses is above epsilon only if one of them is above epsilon/n. Where rare losses decide the formula may
    be far above what that leaves, and then one of them decides.
    """
    formulas = [(formula, count) for law, count in question.parts if (formula := law.alone()) is not None]
    uses = sum(count for _, count in formulas)

    def most(epsilon: Fraction) -> float:
        return max(log_size(formula(lift(epsilon))) for formula, _ in formulas)

    found = question.line.log_delta
    return found if found <= most(question.epsilon / uses) + log(uses) else most(question.epsilon)


def _composed(question: Question, points: int, log_delta: float) -> tuple[_Sums, _Sums]:
    """The compositions of the laws above and of those below."""
    parts = question.parts
    room = log_delta + log(NEGLIGIBLE / sum(count for _, count in parts))
    ends = [(_reach(law, room), _reach(law.reverse(), room)) for law, _ in parts]
    last, first = max(up for up, _ in ends), max(down for _, down in ends)
    size = (last + first) / points
    step = arb(size)
    high = min(_far(question, log_delta), sum(count * up for (_, count), (up, _) in zip(parts, ends, strict=True)))
    low = min(high, sum(count * down for (_, count), (_, down) in zip(parts, ends, strict=True)))
    window = _Window(step, question.c, ceil(high / size) + 2, ceil(low / size) + 2)
    above, below = _Composed.nothing(window, upward=True), _Composed.nothing(window, upward=False)
    for (law, count), (up, down) in zip(parts, ends, strict=True):
        known = sampled_profile(law, step, ceil(up / size) + 1, ceil(down / size) + 1)
        above = above * _Composed.of(window, law_above(known), upward=True).power(count)
        below = below * _Composed.of(window, law_below(known), upward=False).power(count)
    return above.sums(), below.sums()


def _far(question: Question, log_delta: float) -> float:
    """A loss beyond which the whole composition is negligible: by Chernoff bounds."""
    c = float(question.c)
    return min(
        (float(question.transform.log_moment(arb(c * more)).mid()) - log_delta - log(NEGLIGIBLE)) / (c * more)
        for more in ORDERS
    )


def _reach(law: LossLaw, room: float) -> float:
    """The loss from which on the profile of one use is below e^room, or the largest one."""
    formula, top = law.alone(), float(law.largest().upper())
    assert formula is not None
    low, high = 0.0, min(top, 1.0)
    while high < top and log_size(formula(arb(high))) > room:
        low, high = high, min(2 * high, top)
        if high > LARGEST:
            raise NotCertified("the losses of one use are too large for a grid")
    for _ in range(HALVINGS):
        if high - low < CLOSE * high:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if log_size(formula(arb(middle))) > room else (low, middle)
    return high


@dataclass(frozen=True)
class _Window:
    """The grid that compositions are kept on: losses jh, -low <= j <= high; masses are tilted by e^{cjh}."""

    step: arb
    c: arb
    high: int
    low: int

    def tilt(self, j: int) -> arb:
        return (self.c * self.step * j).exp()


@dataclass(frozen=True)
class _Composed:
    """A polynomial whose coefficients are the tilted masses, from the loss first * h on; and the mass at infinity."""

    window: _Window
    first: int
    tilted: arb_poly
    revealed: arb
    upward: bool

    @classmethod
    def nothing(cls, window: _Window, *, upward: bool) -> _Composed:
        return cls(window, 0, arb_poly([1]), arb(0), upward)

    @classmethod
    def of(cls, window: _Window, law: GridLaw, *, upward: bool) -> _Composed:
        tilt, factor = window.tilt(law.first), window.tilt(1)
        tilted = []
        for mass in law.masses:
            tilted.append(mass * tilt)
            tilt *= factor
        return cls(window, law.first, arb_poly(tilted), law.revealed, upward)

    def __mul__(self, other: _Composed) -> _Composed:
        """Losses beyond the window go to infinity or to its lower end; those of a law below are left out."""
        window, first = self.window, self.first + other.first
        masses = (self.tilted * other.tilted).coeffs()
        revealed = self.revealed + other.revealed
        high, low = window.high + 1 - first, -window.low - first
        if high < len(masses):
            if self.upward:  # e^{-cjh} falls with j
                revealed += sum(masses[high:], arb(0)) / window.tilt(window.high + 1)
            masses = masses[:high]
        if low > 0:
            if self.upward:
                rest, factor = arb(0), window.tilt(1)
                for mass in masses[:low]:
                    rest = (rest + mass) * factor
                masses[low] += rest
            masses, first = masses[low:], -window.low
        return _Composed(window, first, arb_poly(masses), revealed, self.upward)

    def power(self, count: int) -> _Composed:
        if count == 1:
            return self
        half = self.power(count // 2)
        return half * half * self if count % 2 else half * half

    def sums(self) -> _Sums:
        masses = self.tilted.coeffs()
        tilt, factor = 1 / self.window.tilt(self.first + len(masses) - 1), self.window.tilt(1)
        step = self.window.step
        fall, back = (-step * (self.first + len(masses) - 1)).exp(), step.exp()
        ps, qs, p, q = [arb(0)], [arb(0)], arb(0), arb(0)
        for mass in reversed(masses):
            plain = mass * tilt
            p, q = p + plain, q + plain * fall
            ps.append(p)
            qs.append(q)
            tilt, fall = tilt * factor, fall * back
        return _Sums(step, self.first, ps[::-1], qs[::-1], self.revealed)


@dataclass(frozen=True)
class _Sums:
    """P- and Q-masses of all losses from each point on."""

    step: arb
    first: int
    p: list[arb]
    q: list[arb]
    revealed: arb

    def delta(self, epsilon: arb) -> arb:
        """The sum of mass (1 - e^{epsilon - loss}) over the losses above epsilon: the largest of all such sums."""
        place, x = ceil(float((epsilon / self.step).mid())) - self.first, epsilon.exp()
        best = arb(0)
        for n in (place - 1, place, place + 1):  # the quotient is rounded
            near = min(max(n, 0), len(self.p) - 1)
            best = best.max(self.p[near] - x * self.q[near])
        return self.revealed + best
