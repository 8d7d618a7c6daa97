"""A law that is known by its privacy profile alone.

A single use is answered by the profile itself. For compositions the convex function delta of e^epsilon is replaced by
chords between some of its points: a law with finitely many losses that dominates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, ceiling, floor, lift
from zcdp.numeric.search import bisection
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import SECOND, count_work, within
from zcdp.privacy.loss.decay import Share
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.lattice_row_law import LatticeRow
from zcdp.privacy.loss.law import Ends, LossLaw, Outcomes
from zcdp.privacy.loss.tradeoff_hull import Point, both_directions, hull
from zcdp.privacy.loss.transform import Factor, Taylor, Tilted

__all__ = ["ProfileLaw", "profile_law"]

BALL_BITS, GRID_BITS = 1200, 1000  # of balls; and of the grid of 2^-1000 onto which points are rounded outward
NEAR_LOSSES, FAR_LOSSES = 64, 12  # chosen points up to where the profile is negligible, and beyond it
NEGLIGIBLE = 2.0**-100  # a delta that may be counted as if the losses beyond were infinite
LEAST_FALL_LOG2 = -900  # The chords fall with a slope of at least 2^-900, so that rounding takes no Q-mass away.
HEIGHT_BITS = 160  # bits that suffice for one value of the profile, and for its limit
STRAIGHT_RATIO = 1 + 2.0**-50  # If two slopes differ by a smaller ratio, the corner between them is not worth an atom.
HALVINGS = 12  # of the search for the loss at which the profile gets negligible
LAW_WORK, HEIGHT_WORK = 4 * SECOND, SECOND // 250  # the most work for a finite law, and the price of one height


@dataclass(frozen=True, eq=False)
class ProfileLaw(LossLaw):
    """The law of a certified profile; in compositions, that of chords between some points of the profile.

    Theorem: docs/theorems/grid.md.
    """

    late = True

    ends: Ends
    """Certified bounds on delta(epsilon) of one use, infinite losses included."""
    top: Callable[[], arb]
    """The largest finite loss, at the working precision; +inf if the losses are unbounded."""
    infinite: Callable[[], arb]
    """P(L = +inf), at the working precision."""
    finite: Callable[[], LossLaw]
    """A function that makes a law with finitely many losses that dominates this one."""
    other: Callable[[], LossLaw] | None = None
    """A function that makes the law of the reversed pair, if that is a different one."""
    at_top: Callable[[], arb] = arb
    """A lower bound on the probability of the largest loss in one use; the finite law's mass there is not one."""

    @property
    def symmetric(self) -> bool:
        """Whether the law is that of the reversed pair."""
        return self.other is None

    @property
    def dots(self) -> LossLaw:
        """The law with finitely many losses that dominates this one; `NotCertified` if it cannot be made."""
        made = self._made
        if isinstance(made, str):
            raise NotCertified(made)
        return made

    @cached_property
    def _made(self) -> LossLaw | str:
        """The finite law, or a message why there is none.

        It is made once, with a work limit of its own, so that the result does not depend on which question comes first.
        """
        try:
            made = within(LAW_WORK, self.finite, apart=True)
        except NotCertified as error:
            return str(error)
        most = at_precision(HEIGHT_BITS, self.revealed)
        if at_precision(BALL_BITS, lambda: made.ready().revealed > most):
            raise BadValue("the finite law of a profile has more mass at infinity than is counted there")
        return made

    def ready(self) -> Factor:
        """The transform of one use, with constants at the working precision."""
        return _LaterFactor(self)

    def largest(self) -> arb:
        """The supremum of the finite losses, at the working precision."""
        return self.top()

    def revealed(self) -> arb:
        """P(L = +inf) as compositions use it: a ball from its true value to an upper bound on the finite law's.

        The finite law may count finite losses beyond its last one as infinite. That raises upper bounds on delta, and
        leaves lower bounds as they are.
        """
        mass = self.infinite()
        return (
            mass if mass.is_zero() and self.top().is_finite() else mass.union((mass.upper() + NEGLIGIBLE).min(arb(1)))
        )

    def ends_alone(self) -> Ends:
        """Certified bounds on delta(epsilon) of a single use, without the mass `revealed` that callers add to both."""
        least, most = self.infinite().lower(), self.revealed()

        def less(epsilon: arb) -> tuple[arb, arb]:
            low, high = self._checked_ends(epsilon)
            return (low, high) if most.is_zero() else (low - most, (high - least).max(arb(0)))

        return less

    def _checked_ends(self, epsilon: arb) -> tuple[arb, arb]:
        """The bounds at epsilon; `BadValue` if the upper one is below the lower one or below P(L = +inf)."""
        low, high = self.ends(epsilon)
        if low > high or self.infinite() > high:
            raise BadValue("the profile of a law has a lower end, or mass at infinity, above its upper end")
        return low, high

    def check(self, bits: int = 0) -> None:
        """Nothing here: each value of the profile is checked when it is used, and the finite law when it is made."""

    def lattice(self) -> Lattice | None:
        """The lattice of the finite law that stands for this one in compositions."""
        return self.dots.lattice()

    def listed(self) -> Outcomes | None:
        """The outcomes of the finite law that stands for this one in compositions."""
        return self.dots.listed()

    def reverse(self) -> LossLaw:
        """The law of the pair (Q, P)."""
        return self if self.other is None else self.other()

    def sampled(self, rate: Fraction) -> LossLaw:
        """The law of ((1-q) Q + q P, Q), Poisson sampling at rate q; its reverse is made from this law's reverse."""
        reverse = self.reverse()
        assert isinstance(reverse, ProfileLaw)

        def ends(law: ProfileLaw, front: Callable[[arb, arb], arb]) -> Ends:
            def both(epsilon: arb) -> tuple[arb, arb]:
                more = epsilon.expm1()
                size = front(lift(rate), more)
                if not size > 0:
                    return arb(0), arb(0) if size <= 0 else size.upper()
                low, high = law._checked_ends((more / size).log1p())
                return low * size, high * size

            return both

        def top() -> arb:
            return (1 + lift(rate) * self.top().expm1()).log()

        def top_back() -> arb:
            least = arb(0) if not reverse.infinite().is_zero() else (-reverse.top()).exp()  # the least ratio P/Q
            return -(1 - lift(rate) * (1 - least)).log()

        def infinite() -> arb:
            return self.infinite() * lift(rate)

        one = ProfileLaw(
            ends(self, lambda q, _: q),
            top,
            infinite,
            lambda: _finite(self.dots.sampled(rate)),
        )
        back = replace(
            one,
            ends=ends(reverse, lambda q, more: q - (1 - q) * more),
            top=top_back,
            infinite=arb,  # (1-q) Q + q P is at least (1-q) Q: no outcome has Q-mass only.
            finite=lambda: _finite(forward.dots).reverse(),
            other=lambda: forward,
        )
        forward = replace(one, other=lambda: back)
        return forward

    def replaced(self, rate: Fraction) -> LossLaw:
        """The envelope of ((1-q) Q + q P, Q) in both directions, q the rate: samples of a fixed size."""
        one = self.sampled(rate)
        assert isinstance(one, ProfileLaw)
        return ProfileLaw(one.ends, one.top, one.infinite, lambda: _finite(self.dots.replaced(rate)))


def _finite(law: LossLaw | None) -> LossLaw:
    assert law is not None
    return law


class _LaterFactor(Factor):
    """The factor of the finite law, made when it is first used: a single use never needs it."""

    atomic = True
    weight = 1.0 + 4 * NEAR_LOSSES / 8

    def __init__(self, law: ProfileLaw) -> None:
        self.law = law
        self.revealed = law.revealed()

    @cached_property
    def factor(self) -> Factor:
        return self.law.dots.ready()

    def moment(self, z: Any) -> Any:
        """M(z) = E_P[e^{zL}; L finite], on real balls, complex balls and real series."""
        return self.factor.moment(z)

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """Certified bounds on the decay of |M| along Re z = c, for `count` uses."""
        return self.factor.share(count, c, taylor)

    def tilted(self, c: arb) -> Tilted | None:
        """The tilted law as finitely many terms, for the contour integral in doubles."""
        return self.factor.tilted(c)

    def near_top(self, s: arb) -> tuple[arb, arb]:  # noqa: ARG002
        """Lower bounds on P(L = largest) and, for laws without that atom, on P(L >= largest - s)."""
        return self.law.at_top(), self.law.at_top()


def profile_law(
    ends: Ends, top: Callable[[], arb], infinite: Callable[[], arb] = arb, at_top: Callable[[], arb] = arb
) -> ProfileLaw:
    """The symmetric law of a profile with certified bounds `ends`, largest finite loss `top` and limit `infinite`.

    The limit of the profile as epsilon grows is P(L = +inf); `at_top` is a lower bound on P(L = top).
    """

    def through() -> LossLaw:
        try:
            mass = at_precision(HEIGHT_BITS, infinite)
            return at_precision(BALL_BITS, lambda: _through_points(ends, top(), mass))
        except (ArithmeticError, ValueError):  # `Undecided`, or an error of the floats that choose the points
            raise NotCertified("the losses are too small or too large for a law through points of a profile") from None

    return ProfileLaw(ends, top, infinite, through, at_top=at_top)


def _through_points(ends: Ends, top: arb, infinite: arb) -> LossLaw:
    """The finite law of chords of the profile, as a function of x = e^epsilon, in both directions; rounded outward."""
    if top.is_finite() and not top < -LEAST_FALL_LOG2 * arb.const_log2():
        raise Undecided
    if top.is_finite() and infinite.is_zero() and (row := _lattice_row(ends, top)) is not None:
        return row
    places, beyond = _places(ends, top, infinite.upper()), infinite.upper()
    x = [place.exp() for place in places]
    heights = [_above(ends, place) if place < top else beyond for place in places]
    if top.is_finite():  # Slopes must not be so flat that rounding takes a Q-mass away.
        least = [beyond + (x[-1] - place) * arb(2) ** LEAST_FALL_LOG2 for place in x]
        heights = [height.max(more) for height, more in zip(heights, least, strict=True)]
        heights[-1] = beyond
    points: list[Point] = []
    for before, after in pairwise(_lowest(x, heights)):
        if after[0] > 1:  # Chords for x < 1 are those of the reversed pair.
            fall = _fall(before, after)
            points.append(_outward(fall, before[1] + before[0] * fall))
    if not heights[-1].is_zero():
        points.append(_outward(arb(0), heights[-1]))
    law = finite_law(hull(both_directions([points])))
    if law.ready().revealed > beyond + NEGLIGIBLE:
        raise Undecided
    return law


def _lattice_row(ends: Ends, top: arb) -> LatticeRow | None:
    """The law of chords between points whose losses are multiples of one number; None if rounding leaves too little.

    At each corner x = e^{kh} > 1 of the chords the slope falls by the Q-mass of the loss kh. Theorem:
    docs/theorems/grid.md.
    """
    high, last = _negligible_from(ends, top, arb(0)), Fraction(above(top))
    count = max(ceiling(lift(last) / high * NEAR_LOSSES), NEAR_LOSSES) if high > 0 else NEAR_LOSSES
    step = last / count
    far = {NEAR_LOSSES + (count - NEAR_LOSSES) * n // FAR_LOSSES for n in range(1, FAR_LOSSES)}
    places = [k for k in sorted({*range(NEAR_LOSSES + 1), *far}) if k < count]
    x = {k: (lift(step) * k).exp() for k in (*places, count)}
    heights = [_above(ends, lift(step) * k) if lift(step) * k < top else arb(0) for k in places]
    chain = _lowest(list(x.values()), [*heights, arb(0)])
    corner = {place.mid(): k for k, place in x.items()}
    masses = {}
    for before, here, after in zip(chain, chain[1:], [*chain[2:], None], strict=False):
        k = corner.get(here[0].mid(), 0)
        if k > 0:  # Corners below x = 1 are those of the reversed pair, that at 1 is what is left.
            fall = _fall(before, here) - (arb(0) if after is None else _fall(here, after))
            masses[k] = Fraction(max(ceiling(fall * 2**GRID_BITS), 0), 2**GRID_BITS)
    row = LatticeRow(step, masses)
    return row if count in masses and row.coefficients()[0] > 0 else None


def _above(ends: Ends, place: arb) -> arb:
    """A certified upper bound on the profile at a loss, at most 1."""
    count_work(HEIGHT_WORK)
    return at_precision(HEIGHT_BITS, lambda: ends(place)[1].upper().min(arb(1)))


def _lowest(x: list[arb], heights: list[arb]) -> list[tuple[arb, arb]]:
    """Those of the points and of their mirror images whose chords are lowest: a convex function is below all chords.

    Since a profile does not increase, a height is also an upper bound at all larger x.
    """
    points = list(zip(x, accumulate(heights, arb.min), strict=True))
    mirrored = [(1 / place, 1 - (1 - height) / place) for place, height in reversed(points[1:])]
    chain = [(arb(0), arb(1))]
    for point in mirrored + points:
        while len(chain) > 1 and not _fall(chain[-2], chain[-1]) > _fall(chain[-1], point) * STRAIGHT_RATIO:
            chain.pop()
        chain.append(point)
    return chain


def _fall(before: tuple[arb, arb], after: tuple[arb, arb]) -> arb:
    """The slope between two points, downwards."""
    return (before[1] - after[1]) / (after[0] - before[0])


def _outward(x: arb, y: arb) -> Point:
    """The point of the grid next to (x, y), up and to the left, within the unit square."""
    left, up = max(floor(x * 2**GRID_BITS), 0), min(ceiling(y * 2**GRID_BITS), 2**GRID_BITS)
    return Fraction(min(left, 2**GRID_BITS), 2**GRID_BITS), Fraction(max(up, 0), 2**GRID_BITS)


def _places(ends: Ends, top: arb, infinite: arb) -> list[arb]:
    """Losses at which the profile is used: equally spaced up to where it is close to its limit, and some beyond."""

    high = _negligible_from(ends, top, infinite)
    places = [arb(high * n / NEAR_LOSSES) for n in range(NEAR_LOSSES + 1)]
    if not top.is_finite():
        return places
    far = [arb(high) + (top - high) * n / FAR_LOSSES for n in range(1, FAR_LOSSES)]
    return [*places, *far, top] if top > high else [*places[:-1], top]


def _negligible_from(ends: Ends, top: arb, infinite: arb) -> float:
    """About the loss from which on the profile is as small as its limit."""

    def is_low(loss: float) -> bool:
        return bool(_above(ends, arb(loss)) < infinite + NEGLIGIBLE / 2)

    high = float(top.lower()) if top.is_finite() else 1.0
    while not top.is_finite() and not is_low(high):
        high *= 2
    return bisection(is_low, 0.0, high, steps=HALVINGS)[1]
