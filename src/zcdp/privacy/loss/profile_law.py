"""A law known by its profile alone: one use as it is, and compositions by finitely many losses that dominate it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, at_precision, ceiling, floor, lift
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import SECOND, count_work, within
from zcdp.privacy.loss.decay import Share
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.hull import Point, both_directions, hull
from zcdp.privacy.loss.law import Ends, LossLaw
from zcdp.privacy.loss.transform import Factor, Taylor, Tilted
from zcdp.privacy.relation import Relation

__all__ = ["ProfileLaw", "profile_law"]

BITS, GRID = 1200, 1000  # balls, and the grid of 2^-1000 onto which points are rounded outward
NEAR, FAR = 64, 12  # losses up to where the profile is negligible, and from there on
NEGLIGIBLE, LEAST = 2.0**-100, -900  # and the power of two by which each falls at least
FEWER = 160  # bits that are enough for a height
STRAIGHT = 1 + 2.0**-50  # ratio of two falls between which a corner is not worth an atom
HALVINGS = 12
LAW, HEIGHT = 4 * SECOND, SECOND // 250  # the work that a law may take, and that a height takes


@dataclass(frozen=True, eq=False)
class ProfileLaw(LossLaw):
    """The pair of a certified profile; for compositions, the law of its chords between some points.

    Theorem: docs/theorems/grid.md.
    """

    ends: Ends
    """Below and above delta(epsilon) of one use, infinite losses included."""
    top: Callable[[], arb]
    """The largest finite loss, at the working precision; +inf where they are unbounded."""
    infinite: Callable[[], arb]
    """P(L = +inf), at the working precision."""
    finite: Callable[[], LossLaw]
    """A law of finitely many losses that dominates it."""
    other: Callable[[], LossLaw] | None = None
    """The other order, where it is another."""
    at_top: Callable[[], arb] = arb
    """Not above the probability of the largest loss of one use: what the finite law has there says nothing of it."""

    @property
    def dots(self) -> LossLaw:
        """The finite law."""
        made = self._made
        if isinstance(made, str):
            raise NotCertified(made)
        return made

    @cached_property
    def _made(self) -> LossLaw | str:
        """The finite law or why there is none, found out once: so it must not rest on who asks first."""
        try:
            made = within(LAW, self.finite, apart=True)
        except NotCertified as error:
            return str(error)
        if at_precision(BITS, lambda: made.ready().revealed > self.revealed()):
            raise BadValue("the finite law of a profile has more mass at infinity than is counted there")
        return made

    def ready(self) -> Factor:
        """See `LossLaw`."""
        return _LaterFactor(self)

    def largest(self) -> arb:
        """See `LossLaw`."""
        return self.top()

    def revealed(self) -> arb:
        """What compositions take for P(L = +inf): a ball from there to what the finite law has at infinity.

        That law may put finite losses there too, beyond its last one: these are above, and nothing of them is below.
        """
        mass = self.infinite()
        return (
            mass if mass.is_zero() and self.top().is_finite() else mass.union((mass.upper() + NEGLIGIBLE).min(arb(1)))
        )

    def ends_alone(self) -> Ends:
        """See `LossLaw`; what is taken for infinite, which is added to both ends, is part of them."""
        least, most = self.infinite().lower(), self.revealed()

        def less(epsilon: arb) -> tuple[arb, arb]:
            low, high = self._checked_ends(epsilon)
            return (low, high) if most.is_zero() else (low - most, (high - least).max(arb(0)))

        return less

    def _checked_ends(self, epsilon: arb) -> tuple[arb, arb]:
        """The ends, in order, and the upper one not below what is infinite."""
        low, high = self.ends(epsilon)
        if low > high or self.infinite() > high:
            raise BadValue("the profile of a law has a lower end, or mass at infinity, above its upper end")
        return low, high

    def check(self, bits: int = 0) -> None:
        """Each point of the profile is checked where it is asked for, and the finite law where it is made."""

    def reverse(self) -> LossLaw:
        """See `LossLaw`."""
        return self if self.other is None else self.other()

    def sampled(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`; each order of the sample is that of this law in the same order."""
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
            least = arb(0) if not reverse.infinite().is_zero() else (-reverse.top()).exp()  # of P/Q
            return -(1 - lift(rate) * (1 - least)).log()

        def infinite() -> arb:
            return self.infinite() * lift(rate)

        one = ProfileLaw(
            ends(self, lambda q, _: q),
            top,
            infinite,
            lambda: _finite(self.dots.sampled(rate)),
            symmetric=False,
            relation=Relation.ADD_REMOVE,
        )
        back = replace(
            one,
            ends=ends(reverse, lambda q, more: q - (1 - q) * more),
            top=top_back,
            infinite=arb,  # P is (1-q) Q at least: no outcome has Q-mass alone.
            finite=lambda: _finite(one.dots).reverse(),
            other=lambda: one,
        )
        return replace(one, other=lambda: back)

    def replaced(self, rate: Fraction) -> LossLaw:
        """See `LossLaw`."""
        one = self.sampled(rate)
        assert isinstance(one, ProfileLaw)
        return ProfileLaw(one.ends, one.top, one.infinite, lambda: _finite(self.dots.replaced(rate)))


def _finite(law: LossLaw | None) -> LossLaw:
    assert law is not None
    return law


class _LaterFactor(Factor):
    """The factor of the finite law, which is made where it is first needed: one use has no need of it."""

    atomic = True
    weight = 1.0 + 4 * NEAR / 8

    def __init__(self, law: ProfileLaw) -> None:
        self.law = law
        self.revealed = law.revealed()

    @cached_property
    def factor(self) -> Factor:
        return self.law.dots.ready()

    def moment(self, z: Any) -> Any:
        """See `Factor`."""
        return self.factor.moment(z)

    def share(self, count: int, c: arb, taylor: Taylor) -> Share:
        """See `Factor`."""
        return self.factor.share(count, c, taylor)

    def tilted(self, c: arb) -> Tilted | None:
        """See `Factor`."""
        return self.factor.tilted(c)

    def near_top(self, s: arb) -> tuple[arb, arb]:  # noqa: ARG002
        """See `Factor`."""
        return self.law.at_top(), self.law.at_top()


def profile_law(ends: Ends, top: Callable[[], arb], infinite: Callable[[], arb] = arb, **options: Any) -> ProfileLaw:
    """The symmetric law of a profile: `ends` gives numbers below and above it, `infinite` the limit at infinity.

    `options` are those of `LossLaw`.
    """

    def through() -> LossLaw:
        try:
            return at_precision(BITS, lambda: _through_points(ends, top(), infinite()))
        except (ArithmeticError, ValueError):  # `Undecided`, or of the floats that say where to look
            raise NotCertified("the losses are too small or too large for a law through points of a profile") from None

    return ProfileLaw(ends, top, infinite, through, **options)


def _through_points(ends: Ends, top: arb, infinite: arb) -> LossLaw:
    """Chords of the profile in x = e^epsilon between points, and their mirror image; rounded outward."""
    if top.is_finite() and not top < -LEAST * arb.const_log2():
        raise Undecided
    places, beyond = _places(ends, top, infinite.upper()), infinite.upper()
    x = [place.exp() for place in places]
    heights = [_above(ends, place) if place < top else beyond for place in places]
    if top.is_finite():  # never so flat that rounding takes a Q-mass away
        least = [beyond + (x[-1] - place) * arb(2) ** LEAST for place in x]
        heights = [height.max(more) for height, more in zip(heights, least, strict=True)]
        heights[-1] = beyond
    points: list[Point] = []
    for before, after in pairwise(_lowest(x, heights)):
        if after[0] > 1:  # The other order has what is before.
            fall = _fall(before, after)
            points.append(_outward(fall, before[1] + before[0] * fall))
    if not heights[-1].is_zero():
        points.append(_outward(arb(0), heights[-1]))
    law = finite_law(hull(both_directions([points])))
    if law.ready().revealed > beyond + NEGLIGIBLE:
        raise Undecided
    return law


def _above(ends: Ends, place: arb) -> arb:
    """Not below the profile at a loss, nor above 1."""
    count_work(HEIGHT)
    return at_precision(FEWER, lambda: ends(place)[1].upper().min(arb(1)))


def _lowest(x: list[arb], heights: list[arb]) -> list[tuple[arb, arb]]:
    """Of the points and their mirror images those whose chords are lowest: a convex function is below all chords.

    As a profile does not rise, a height is above it at all places beyond its own too.
    """
    points = list(zip(x, accumulate(heights, arb.min), strict=True))
    mirrored = [(1 / place, 1 - (1 - height) / place) for place, height in reversed(points[1:])]
    chain = [(arb(0), arb(1))]
    for point in mirrored + points:
        while len(chain) > 1 and not _fall(chain[-2], chain[-1]) > _fall(chain[-1], point) * STRAIGHT:
            chain.pop()
        chain.append(point)
    return chain


def _fall(before: tuple[arb, arb], after: tuple[arb, arb]) -> arb:
    return (before[1] - after[1]) / (after[0] - before[0])


def _outward(x: arb, y: arb) -> Point:
    """Up and to the left, on the grid."""
    left, up = max(floor(x * 2**GRID), 0), min(ceiling(y * 2**GRID), 2**GRID)
    return Fraction(min(left, 2**GRID), 2**GRID), Fraction(max(up, 0), 2**GRID)


def _places(ends: Ends, top: arb, infinite: arb) -> list[arb]:
    """Losses from 0 up: evenly to where the profile is next to its limit, and further ones up to the largest."""

    def is_low(loss: float) -> bool:
        return bool(_above(ends, arb(loss)) < infinite + NEGLIGIBLE / 2)

    high = float(top.lower()) if top.is_finite() else 1.0
    while not top.is_finite() and not is_low(high):
        high *= 2
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_low(middle) else (middle, high)
    places = [arb(high * n / NEAR) for n in range(NEAR + 1)]
    if not top.is_finite():
        return places
    far = [arb(high) + (top - high) * n / FAR for n in range(1, FAR)]
    return [*places, *far, top] if top > high else [*places[:-1], top]
