"""The profile of few uses by privacy loss distributions on a grid, rounded up (pessimistic) and down (optimistic).

The first part turns one law into two laws on the grid, one that dominates it and one that it dominates; the second
part composes them, which bounds the profile of the composition from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, log

from flint import arb, arb_poly

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, at_precision, lift, log_size
from zcdp.numeric.search import bisection
from zcdp.numeric.work import GRID_POINT
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.profile.engine import GRID, Engine, Offer, Question

__all__ = ["Grid", "GridLaw", "SampledProfile", "law_above", "law_below", "sampled_profile"]


@dataclass(frozen=True)
class SampledProfile:
    """The values H(x) = E_P (1 - x e^{-L})_+ of a profile at x = e^{jh}, j = first, first + 1, ..."""

    first: int
    x: list[arb]
    heights: list[arb]
    """H at each x."""


@dataclass(frozen=True)
class GridLaw:
    """P-masses of the losses jh, j = first, first + 1, ..., and of infinity. Theorem: docs/theorems/grid.md."""

    first: int
    masses: list[arb]
    revealed: arb
    """The mass of an infinite loss."""


def sampled_profile(law: LossLaw, step: arb, up: int, down: int) -> SampledProfile:
    """H at the points e^{jh}, h the step, -down <= j <= up.

    For j < 0 it comes from H' of the reversed pair, by H(x) = 1 - x + x H'(1/x).
    """
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
    """The law on the grid whose profile is made of the chords of H, so that it dominates.

    Left of the first point it is the chord from H(0) = 1, right of the last point it is constant. The value of H at the
    last point becomes the mass of an infinite loss, so that all masses add up to H(0) = 1.
    """
    x, heights = known.x, known.heights
    falls = [(1 - heights[0]) / x[0], *_falls(x, heights), arb(0)]
    law = GridLaw(known.first, _masses(x, falls), heights[-1])
    if any(mass < 0 for mass in (*law.masses, law.revealed)):
        raise BadValue("a law on a grid has a negative mass: what it was made from is no profile")
    return law


def law_below(known: SampledProfile) -> GridLaw:
    """A law on the grid that is dominated: its profile is a convex polygon below H.

    The points of H are lowered by a bound on the distance between H and its chords; the profile is the greatest convex
    polygon below the lowered points.
    """
    x, heights = known.x, known.heights
    falls = _falls(x, heights)
    steps = [arb(1), *falls, arb(0)]  # The slope of H lies between -1 and 0.
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
    own[0] = own[0].min(falls[0])  # This lowers the first point further; left of it H falls at least as fast.
    masses = [arb(0)] * len(x)
    for n, mass in zip(kept[1:], _masses([x[n] for n in kept[1:]], [*own, arb(0)]), strict=True):
        if not mass >= 0:
            return GridLaw(known.first, [arb(0)], arb(0))
        masses[n] = mass
    return GridLaw(known.first, masses, arb(0))


def _falls(x: list[arb], heights: list[arb]) -> list[arb]:
    """The negative slopes of the chords between neighbouring points."""
    return [(heights[n] - heights[n + 1]) / (x[n + 1] - x[n]) for n in range(len(x) - 1)]


def _masses(x: list[arb], falls: list[arb]) -> list[arb]:
    """The mass at each corner x of a polygon, from the negative slopes on its left and on its right."""
    return [place * (falls[n] - falls[n + 1]) for n, place in enumerate(x)]


def _convex(x: list[arb], heights: list[arb]) -> list[int]:
    """The indices of the corners of the greatest convex polygon below all points."""
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


# The engine: laws on one grid are composed as polynomials.

GRID_BITS = 160  # working precision
NEGLIGIBLE = 1e-13  # the part of delta that may lie beyond the last point of a grid
CHERNOFF_FACTORS = (1.2, 1.5, 2.0, 3.0, 5.0)  # values s of the Chernoff bounds, as multiples of c
# Steps of bisection for the range of one law, its relative tolerance, and the largest range.
HALVINGS, REACH_TOLERANCE, LARGEST_LOSS = 60, 0.02, 1e6


class Grid(Engine):
    """For each use one law above and one below it, with losses at the multiples of a step h, composed as polynomials.

    For a few rounds that sample a very small part of a population, as 8 at a rate of 1e-5: the transform of a loss that
    is so rare decays too slowly. The law above is that of Doroshenko et al. (2022), "Connect the dots".

    The profile of the law above consists of chords in x = e^epsilon between the points; that of the law below is a
    polygon under the extended neighbouring chords. Both errors are O(h^2). Theorem: docs/theorems/grid.md.
    """

    name = "grid of losses"
    only_rounding = False
    most_laws, most_uses = 4, 100

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For few uses of laws whose own profiles are known by formulas in both directions."""
        parts = question.parts
        if any(law.alone() is None or law.reverse().alone() is None for law, _ in parts):
            return None
        if not question.revealed.is_zero():
            return None  # The chords begin at H(0) = 1, which assumes that all losses are finite.
        cost = GRID / question.haste
        return Offer(cost, lambda: cls(question, int(cost / (GRID_POINT * len(parts)))))

    def __init__(self, question: Question, points: int) -> None:
        self.guess, log_delta = question.epsilon, question.log_delta
        if log_delta is None:
            log_delta = _proposed(question)
        self.above, self.below = at_precision(GRID_BITS, lambda: _composed(question, points, log_delta))

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        return at_precision(GRID_BITS, lambda: (self.below.delta(lift(epsilon)), self.above.delta(lift(epsilon))))

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon)."""
        return at_precision(GRID_BITS, lambda: self.above.delta(lift(epsilon)))

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        return log_size(self.upper(Fraction(epsilon)))


def _proposed(question: Question) -> float:
    """Heuristic log delta at the given epsilon: by the saddle point formula, or of a single use if that is impossible.

    A sum of n losses exceeds epsilon only if one of them exceeds epsilon/n. If rare large losses decide, the formula
    may be far above what that allows; then delta is about that of a single use.
    """
    formulas = [(formula, count) for law, count in question.parts if (formula := law.alone()) is not None]
    uses = sum(count for _, count in formulas)

    def most(epsilon: Fraction) -> float:
        return max(log_size(formula(lift(epsilon))) for formula, _ in formulas)

    found = question.line.log_delta
    return found if found <= most(question.epsilon / uses) + log(uses) else most(question.epsilon)


def _composed(question: Question, points: int, log_delta: float) -> tuple[_Sums, _Sums]:
    """The composition of the laws above, and that of the laws below."""
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
    """A loss beyond which the composition contributes a negligible part of delta, by Chernoff bounds; heuristic."""
    c = float(question.c)
    return min(
        (float(question.transform.log_moment(arb(c * more)).mid()) - log_delta - log(NEGLIGIBLE)) / (c * more)
        for more in CHERNOFF_FACTORS
    )


def _reach(law: LossLaw, room: float) -> float:
    """Heuristic epsilon from which on the profile of one use is below e^room, or the largest loss."""
    formula, top = law.alone(), float(law.largest().upper())
    assert formula is not None

    def is_low(loss: float) -> bool:
        return not log_size(formula(arb(loss))) > room

    low, high = 0.0, min(top, 1.0)
    while high < top and not is_low(high):
        low, high = high, min(2 * high, top)
        if high > LARGEST_LOSS:
            raise NotCertified("the losses of one use are too large for a grid")
    return bisection(is_low, low, high, relative=REACH_TOLERANCE, steps=HALVINGS)[1]


@dataclass(frozen=True)
class _Window:
    """The part of the grid to which compositions are restricted: losses jh, -low <= j <= high.

    Masses are stored times e^{cjh}, so that those near the saddle point are the largest and keep their digits.
    """

    step: arb
    c: arb
    high: int
    low: int

    def tilt(self, j: int) -> arb:
        """e^{cjh}."""
        return (self.c * self.step * j).exp()


@dataclass(frozen=True)
class _Composed:
    """A law on the grid: a polynomial of the tilted masses from the loss first * h on, and the mass at infinity."""

    window: _Window
    first: int
    tilted: arb_poly
    revealed: arb
    upward: bool
    """Whether it must dominate; else it must be dominated."""

    @classmethod
    def nothing(cls, window: _Window, *, upward: bool) -> _Composed:
        """The composition of no laws: all mass at the loss 0."""
        return cls(window, 0, arb_poly([1]), arb(0), upward)

    @classmethod
    def of(cls, window: _Window, law: GridLaw, *, upward: bool) -> _Composed:
        """A single law on the grid."""
        tilt, factor = window.tilt(law.first), window.tilt(1)
        tilted = []
        for mass in law.masses:
            tilted.append(mass * tilt)
            tilt *= factor
        return cls(window, law.first, arb_poly(tilted), law.revealed, upward)

    def __mul__(self, other: _Composed) -> _Composed:
        """The composition of both laws, restricted to the window.

        If it must dominate, losses above the window are moved to infinity and losses below it to its lower end;
        otherwise their mass is dropped.
        """
        window, first = self.window, self.first + other.first
        masses = (self.tilted * other.tilted).coeffs()
        revealed = self.revealed + other.revealed
        high, low = window.high + 1 - first, -window.low - first
        if high < len(masses):
            if self.upward:  # e^{-cjh} decreases in j, so the first factor bounds them all.
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
        """The composition of `count` uses, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        return half * half * self if count % 2 else half * half

    def sums(self) -> _Sums:
        """The tail sums of the masses under P and Q."""
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
    """For each point of the grid, the P-mass and the Q-mass of all losses from that point on."""

    step: arb
    first: int
    p: list[arb]
    q: list[arb]
    revealed: arb

    def delta(self, epsilon: arb) -> arb:
        """delta(epsilon): P-mass less e^epsilon times Q-mass of all losses above epsilon.

        This tail is the one that makes the difference largest, so the maximum over a few tails around it is taken.
        """
        place, x = ceil(float((epsilon / self.step).mid())) - self.first, epsilon.exp()
        best = arb(0)
        for n in (place - 1, place, place + 1):  # The place itself may be off by one, because the quotient is rounded.
            near = min(max(n, 0), len(self.p) - 1)
            best = best.max(self.p[near] - x * self.q[near])
        return self.revealed + best
