"""Densities on the line, up to a constant: certified masses, slopes of the logarithm, tails and modes.

V = -log f. On a cell everything comes from balls; far out from a bound x^a C on the slope of V, which is proven by the
form of the formula or stated by whoever wrote it. Theorem: docs/theorems/own-noise.md.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from typing import NamedTuple

from flint import acb, arb, ctx

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, at_precision, lift
from zcdp.numeric.formula import Formula, add, derivative, is_not_negative, kinks, minus_log, negative, one_side
from zcdp.numeric.formula_shape import falls_outward, is_convex
from zcdp.numeric.formula_values import FormulaValues, Integrand, on_reals, soft_least
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions

__all__ = ["Density", "FormulaDensity", "MixtureDensity", "Stated", "Tail", "between", "dyadic", "wider"]

FARTHEST_SHELL = 1 << 12  # doublings of the distance after which a tail counts as not integrable
CHECK_BITS = 128
# By so much a ball reaches beyond a kink at which it ends: relative to its place in floats, in its last bits, and
# relative to its radius, which balls keep to 30 bits only.
FLOAT_ERROR, SLACK_BITS, RADIUS_ERROR = 2.0**-40, 20, 2.0**-20
ENOUGH_DOUBLINGS = 12
TESTED = 120  # places at which what is stated is tried
DEEPEST_CELL = 40  # halvings of a cell whose sign cannot be told
INTEGRAL_WORK = 40  # of one certified integral over a cell, in elementary functions


class Tail(NamedTuple):
    """Between which multiples of u^power the slope of V outward lies, at all distances u >= start on one side.

    They are two numbers and no ball: a ball with one infinite end has two.

    >>> Tail(Fraction(0), arb(1), arb(2), arb(10)).power
    Fraction(0, 1)
    """

    power: Fraction
    least: arb
    """The slope is at least this times u^power,"""
    most: arb
    """and at most this times u^power; +inf where nothing bounds it."""
    start: arb

    @classmethod
    def within(cls, power: Fraction, slope: arb, start: arb) -> Tail:
        """The bound by a ball: of all numbers where that is not finite."""
        known = slope.is_finite()
        return cls(power, *(slope.lower(), slope.upper()) if known else (arb.neg_inf(), arb.pos_inf()), start)

    @property
    def is_bounded(self) -> bool:
        """Whether both numbers are finite."""
        return self.least.is_finite() and self.most.is_finite()

    def growth(self, u: arb) -> arb:
        """u^power."""
        return arb(1) if not self.power else (lift(self.power) * u.log()).exp()

    def rest(self, height: arb, u: arb) -> arb:
        """A ball around the integral of f beyond u >= start, from f(u) = height; `Undecided` if u is too small."""
        least = self.least
        if self.power >= 0:
            if not least > 0:
                raise Undecided
            bound = height / (least * self.growth(u))
        else:  # u V' is at least `steep` from u on: f falls at least like a power of that exponent
            steep = least * self.growth(u) * u
            if not steep > 1:
                raise Undecided
            bound = u * height / (steep - 1)
        if not bound.is_finite():
            raise Undecided
        return bound.upper().union(arb(0))


@dataclass(frozen=True)
class Stated:
    """What a person states of both tails, beyond `start`: slopes of V outward, or times u, between two numbers.

    `kind` is "power" (u V' lies between the two) or "exponential" (V' does). Without `most` nothing bounds the loss.
    """

    kind: str
    least: Fraction
    most: Fraction | None
    start: Fraction

    def tail(self) -> Tail:
        """The bound as a `Tail`."""
        most = arb.pos_inf() if self.most is None else lift(self.most).upper()
        return Tail(Fraction(-1 if self.kind == "power" else 0), lift(self.least).lower(), most, lift(self.start))

    def __str__(self) -> str:
        what = "|x| times the slope of log f" if self.kind == "power" else "the slope of log f"
        most = "" if self.most is None else f" and at most {float(self.most):g}"
        least = f"{what} is at least {float(self.least):g}{most} in size"
        return f"beyond |x| = {float(self.start):g} the density falls, and {least}"


def dyadic(x: arb) -> Fraction:
    """The middle of a ball as a rational."""
    mantissa, exponent = (int(one) for one in x.mid().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def wider(x: arb) -> arb:
    """A ball that is wider than the given one by more than what counts as rounding at a kink."""
    return x + (x - x.mid()) * arb(4 * RADIUS_ERROR)


def between(low: arb, high: arb) -> arb:
    """The ball from one number to another."""
    return low.union(high)


class Density(ABC):
    """f >= 0 on the line up to a constant, f = e^{-V}; what a subclass knows of V, and what follows from it."""

    # What a subclass says.

    @abstractmethod
    def v_in_floats(self, x: float) -> float:
        """V(x) in floats, a proposal."""

    @abstractmethod
    def v(self, x: arb) -> arb:
        """V on a real ball."""

    @abstractmethod
    def slope(self, x: arb) -> arb:
        """V' on a real ball; not finite where there is none."""

    @abstractmethod
    def on_complex(self, middle: arb, *, log: bool) -> Integrand:
        """V (log) or f on complex balls, for an integral over an interval with this middle that no kink divides."""

    def slope_on_complex(self, middle: arb, other: arb) -> Integrand | None:
        """V' on complex balls, if no kink is known to lie between two places, and if it has such values."""
        del middle, other
        return None

    @abstractmethod
    def find_tail(self, side: int, start: arb) -> Tail | None:
        """A bound on the slope of V beyond `start` on one side (-1 or 1); None if the form does not show one."""

    @abstractmethod
    def bend(self, x: arb) -> arb:
        """V'' on a real ball; not finite where there is none."""

    def most_bend(self, x: arb) -> arb:
        """An upper bound on V'' on a real ball; not finite if none is found."""
        return self.bend(x).upper()

    @abstractmethod
    def bend_beyond(self, side: int, start: arb) -> arb:
        """A ball whose upper end bounds V'' beyond `start`; not finite if the form does not show one."""

    @property
    @abstractmethod
    def kinks(self) -> Sequence[Fraction]:
        """Places where V has no derivative, as far as they are known: cells end there."""

    stated: Stated | None = None

    # What follows.

    def f(self, x: arb) -> arb:
        """f on a real ball."""
        return (-self.v(x)).exp()

    @cached_property
    def _place(self) -> tuple[float, float]:
        """A heuristic place of the mode, and a length over which f changes."""
        places = [0.0, *(float(kink) for kink in self.kinks)]
        places += [sign * 2.0**k for k in range(-60, 61) for sign in (1, -1)]

        def height(x: float) -> float:
            value = self.v_in_floats(x)
            return math.inf if math.isnan(value) else value

        places.sort()
        best = min(range(len(places)), key=lambda n: height(places[n]))
        low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
        found = places[best]
        for _ in range(80):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if height(a) <= height(b) else (a, high)
        middle = (low + high) / 2
        mode = middle if height(middle) < height(found) else found
        if self.symmetric_about is not None and height(float(self.symmetric_about)) < height(mode) + 1e-9:
            mode = float(self.symmetric_about)
        least = height(mode)
        if not math.isfinite(least):
            raise BadValue("density has no finite positive value at 0, at any power of two, or at a kink")
        width = max(abs(mode) * 2.0**-40, 2.0**-90)
        while width < 2.0**90 and max(height(mode - width), height(mode + width)) < least + 1:
            width *= 2
        return mode, width

    @property
    def mode_near(self) -> float:
        """A heuristic place of a mode."""
        return self._place[0]

    @property
    def width(self) -> float:
        """A heuristic length over which f falls by e: a power of two times the mode's own rounding, or so."""
        return self._place[1]

    def tail(self, side: int) -> Tail:
        """The bound on one side, kept; `BadValue` if the form shows none and none is stated, or if f does not fall."""
        kept: dict[int, Tail] = self.__dict__.setdefault("_tails", {})
        if side not in kept:
            kept[side] = at_precision(CHECK_BITS, lambda: self._tail(side))
        return kept[side]

    def known_tail(self, side: int, start: arb) -> Tail | None:
        """A bound beyond `start` by what is stated of the tails, or else by the form; None if there is neither."""
        if self.stated is None:
            return self.find_tail(side, start)
        told = self.stated.tail()
        return told._replace(start=start) if start >= told.start else None

    def _tail(self, side: int) -> Tail:
        if self.stated is not None:
            return self.stated.tail()
        base, seen = abs(self.mode_near) + self.width, None
        for doublings in range(2, 64):
            found = self.find_tail(side, arb(base) * arb(2) ** doublings)
            if found is None or not found.is_bounded:
                continue
            seen, steep, most = found, found.least, found.most
            far = doublings > ENOUGH_DOUBLINGS  # where the bound will not get much sharper any more
            if found.power > -1 and steep > 0 and (far or steep * 2 > most):
                return found
            if found.power == -1 and steep > 1 and (far or most - steep < 0.01 * (most + steep)):
                return found
        where = "right" if side > 0 else "left"
        flat = seen is not None and (seen.most <= 0 or seen.power < -1)
        if flat or (seen is not None and seen.power == -1 and seen.most < 1 + 1e-6):
            raise BadValue(f"density does not fall fast enough on the {where}: its integral diverges")
        raise BadValue(
            f"density: no tail bound found on the {where}, however far out: state tail=['power', a, b, x] or "
            "tail=['exponential', a, b, x], meaning that beyond |x| = x the slope of -log f, times |x| for a power, "
            "lies between a and b"
        )

    def mass(self, low: arb, high: arb) -> arb:
        """The integral of f from one exact place to another, both finite, by certified integration."""
        count_functions(INTEGRAL_WORK)
        function = self.on_complex((low + high) / 2, log=False)
        value = acb.integral(function, low, high, abs_tol=self._size(low, high) * arb(2) ** -ctx.prec)
        return value.real

    def _size(self, low: arb, high: arb) -> arb:
        """About the integral of f over an interval, or more: how accurate that is to be depends on it."""
        places = low, ((low + high) / 2).mid(), high
        heights = [height.upper() for x in places if (height := self.f(x)).is_finite()]
        return (reduce(arb.max, heights) * (high - low)).mid() if heights else arb(1)

    def mass_beyond(self, side: int, start: arb) -> arb:
        """The integral of f from an exact place outward on one side, as thin as the working precision allows."""
        middle = arb(self.mode_near)
        if side * (middle - start) > 0:
            low, high = (start, middle) if side > 0 else (middle, start)
            return self._mass_of_pieces(low, high) + self.mass_beyond(side, middle)
        tail, total, here = self.tail(side), arb(0), start
        for shell in range(FARTHEST_SHELL):
            there = self._shell_end(side, shell)
            if not side * (there - start) > 0:
                continue
            if here is start:
                low, high = (here, there) if side > 0 else (there, here)
                total = self._mass_of_pieces(low, high)
            else:
                total += self._mass_of_shell(side, shell)
            here, far = there, side * there
            if far >= tail.start and far > 0:
                with contextlib.suppress(Undecided):
                    rest = tail.rest(self.f(here), far)
                    if rest.upper() <= (total + rest.upper()) * arb(2) ** -ctx.prec:
                        return total + rest
        raise NotCertified("the density falls too slowly for its integral")

    def _shell_end(self, side: int, shell: int) -> arb:
        """Where a shell ends: they begin at the mode, and double in length."""
        return (arb(self.mode_near) + side * arb(self.width) * arb(2) ** shell).mid()

    def _mass_of_shell(self, side: int, shell: int) -> arb:
        """The integral of f between two ends of shells, kept: far out it is asked for from many places."""
        kept: dict[tuple[int, int, int], arb] = self.__dict__.setdefault("_shell_masses", {})
        key = ctx.prec, side, shell
        if key not in kept:
            near, far = self._shell_end(side, shell - 1), self._shell_end(side, shell)
            kept[key] = self._mass_of_pieces(near, far) if side > 0 else self._mass_of_pieces(far, near)
        return kept[key]

    def _mass_of_pieces(self, low: arb, high: arb) -> arb:
        return sum((self.mass(a, b) for a, b in self.cut(low, high)), arb(0))

    def cut(self, low: arb, high: arb) -> list[tuple[arb, arb]]:
        """The interval from one exact place to another, cut at the kinks inside."""
        inside = [lift(kink) for kink in self.kinks if low < lift(kink) < high]
        places = [low, *inside, high]
        return list(itertools.pairwise(places))

    def whole(self) -> arb:
        """The integral of f over the line, at the working precision; kept for each of them."""
        kept: dict[int, arb] = self.__dict__.setdefault("_wholes", {})
        if ctx.prec not in kept:
            middle = arb(self.mode_near)
            kept[ctx.prec] = self.mass_beyond(-1, middle) + self.mass_beyond(1, middle)
        return kept[ctx.prec]

    def mean_square(self, low: arb | None = None, high: arb | None = None) -> arb:
        """The integral of x^2 f between two exact places, or to the end of the line; +inf if it diverges."""
        middle = arb(self.mode_near) if low is None and high is None else None
        start = middle if middle is not None else low if low is not None else high
        assert start is not None
        total = arb(0)
        if low is not None and high is not None:
            return sum((self._square(a, b) for a, b in self.cut(low, high)), arb(0))
        for side in (-1, 1):
            if (side < 0 and low is not None) or (side > 0 and high is not None):
                continue
            tail, here = self.tail(side), start
            if tail.power == -1 and not tail.least > 3:
                return arb.pos_inf()
            for _ in range(FARTHEST_SHELL):
                far = side * here
                if far > tail.start:
                    # x^2 f falls outward with the slope of f less 2/u
                    slope = tail.least - 2 * (lift(-1 - tail.power) * far.log()).exp()
                    if slope * (lift(tail.power + 1) * far.log()).exp() > 1:
                        rest = Tail(tail.power, slope.lower(), tail.most, far).rest(far**2 * self.f(here), far)
                        if rest.upper() <= (total + rest.upper()) * arb(2) ** -(ctx.prec // 2):
                            total += rest
                            break
                there = (here + side * arb(self.width).max(abs(here - arb(self.mode_near)))).mid()
                a, b = (here, there) if side > 0 else (there, here)
                total += sum((self._square(x, y) for x, y in self.cut(a, b)), arb(0))
                here = there
            else:
                raise NotCertified("the density falls too slowly for its mean square")
        return total

    def _square(self, low: arb, high: arb) -> arb:
        function = self.on_complex((low + high) / 2, log=False)
        size = self._size(low, high) * (low**2).max(high**2).mid()
        return acb.integral(lambda z, a: z * z * function(z, a), low, high, abs_tol=size * arb(2) ** -ctx.prec).real

    # Modes.

    @cached_property
    def symmetric_about(self) -> Fraction | None:
        """A place about which the form of f is symmetric; None if it shows none."""
        return None

    @cached_property
    def is_unimodal(self) -> bool:
        """Whether it is proven that V falls up to one place and rises from there: cell by cell, and in the tails."""
        return at_precision(CHECK_BITS, self._rises_once)

    def _rises_once(self) -> bool:
        left, right = self.tail(-1), self.tail(1)
        if not (left.least >= 0 and right.least >= 0):
            return False
        ends = (-left.start).lower().floor(), right.start.upper().ceil()
        rises = False
        for cell in self._shells(*ends):
            pending = [(*cell, 0)]
            while pending:
                low, high, depth = pending.pop()
                count_functions(4)
                falls, rising, convex = self.signs(between(low, high))
                if falls and rising:
                    continue
                if falls:
                    if rises:
                        return False
                    continue
                if rising:
                    rises = True
                    continue
                if convex and not rises:  # V' rises through the cell: V falls, then rises, or does only one of them
                    rises = self._is_kink(high) or not self.slope(high) <= 0  # at a kink that may be the slope behind
                    continue
                if depth >= DEEPEST_CELL:
                    return False
                middle = ((low + high) / 2).mid()
                pending += [(middle, high, depth + 1), (low, middle, depth + 1)]
        return True

    def _is_kink(self, x: arb) -> bool:
        """Whether it may be a kink."""
        return any(x.overlaps(lift(kink)) for kink in self.kinks)

    def _shells(self, low: arb, high: arb) -> list[tuple[arb, arb]]:
        """The interval in cells that double in length away from the mode, cut at kinks."""
        middle, width = arb(self.mode_near), arb(self.width) / 4
        places = {low, high, middle}
        for side in (-1, 1):
            step = width
            while low < middle + side * step < high:
                places.add((middle + side * step).mid())
                step = step * 5 / 4
        ordered = sorted(places, key=float)
        return [cell for a, b in itertools.pairwise(ordered) if a < b for cell in self.cut(a, b)]

    def check(self) -> None:
        """`BadValue` unless f is positive and finite between the tails, which reach to where f has been checked."""

        def positive() -> None:
            ends = (-self.tail(-1).start).lower().floor(), self.tail(1).start.upper().ceil()
            for cell in self._shells(*ends):
                pending = [(*cell, 0)]
                while pending:
                    low, high, depth = pending.pop()
                    count_functions(2)
                    if self.v(between(low, high)).is_finite():
                        continue
                    middle = ((low + high) / 2).mid()
                    if depth >= DEEPEST_CELL or self._is_bad(middle):
                        self._refuse(middle)
                    pending += [(middle, high, depth + 1), (low, middle, depth + 1)]

        at_precision(CHECK_BITS, positive)

    def signs(self, x: arb) -> tuple[bool, bool, bool]:
        """Whether it is certain that V does not rise on a cell, that it does not fall, and that it is convex."""
        slope, bend = self.slope(x), self.bend(x)
        if not (slope <= 0 or slope >= 0) and bend.is_finite():  # near a zero of V' a ball says less than its middle
            middle = x.mid()
            near = self.slope(middle) + bend * (x - middle)
            slope = near.intersection(slope) if slope.is_finite() and near.overlaps(slope) else near
        return bool(slope <= 0), bool(slope >= 0), bool(bend >= 0)

    def test_tails(self) -> None:
        """`BadValue` if the slope is not within what is stated of the tails, at one of some places, with that place."""

        def refuted() -> None:
            for side, k in itertools.product((-1, 1), range(TESTED)):
                tail = self.tail(side)
                far = (tail.start * arb(2) ** (k / 8)).mid()
                slope, grown = side * self.slope(side * far), tail.growth(far)
                if slope < tail.least * grown or slope > tail.most * grown:
                    shown = float((slope / grown).mid())
                    what = "|x| times the slope of -log f" if tail.power else "the slope of -log f"
                    raise BadValue(
                        f"tail: near x = {side * float(far):.4g} {what} is {shown:.4g} in size, not as stated"
                    )

        at_precision(CHECK_BITS, refuted)

    def test_mode(self) -> None:
        """`BadValue` if f surely falls and then rises again, at two of some places, with the second of them."""

        def refuted() -> None:
            steps = [self.width * 2.0 ** (k / 4 - 8) for k in range(TESTED)]
            falls = False
            for place in sorted({self.mode_near + side * step for step in (0.0, *steps) for side in (-1, 1)}):
                slope = self.slope(arb(place))
                if falls and slope < 0:
                    raise BadValue(f"unimodal: the density rises again near x = {place:.4g}, and has several modes")
                falls = falls or bool(slope > 0)

        at_precision(CHECK_BITS, refuted)

    def probe(self) -> None:  # noqa: B027 - a mixture of what has been probed needs no more
        """`BadValue` if f is not positive at one of some places, with that place: before all else."""

    def _is_bad(self, x: arb) -> bool:
        return not self.v(x).is_finite()

    def _refuse(self, x: arb) -> None:
        raise BadValue(f"density is not positive and finite near x = {float(x):.4g}")

    def steepest_bend(self) -> arb | None:
        """A number that V'' does not exceed anywhere, so that log f + M x^2/2 is convex; None if none is found."""

        def found() -> arb | None:
            most = arb(0)
            for side in (-1, 1):
                beyond = self.bend_beyond(side, self.tail(side).start)
                if not beyond.is_finite():
                    return None
                most = most.max(beyond.upper())
            ends = (-self.tail(-1).start).lower().floor(), self.tail(1).start.upper().ceil()
            if self.kinks:
                return None
            for low, high in self._shells(*ends):
                size = (high - low) / 4
                for n in range(4):
                    here = self.most_bend(between(low + n * size, low + (n + 1) * size))
                    if not here.is_finite():
                        return None
                    most = most.max(here)
            return most

        return at_precision(CHECK_BITS, found)


class _Piece:
    """A density between two neighbouring kinks, where its formula has no abs, min or max of lines: with derivatives."""

    def __init__(self, formula: Formula) -> None:
        v = minus_log(formula)
        slope = derivative(v)
        bend = derivative(slope)
        self.f, self.v, self.slope, self.bend = map(FormulaValues, (formula, v, slope, bend))
        sums = v.of if v.kind == "soft" else (v,)
        self.bends = [FormulaValues(derivative(derivative(one))) for one in sums]
        """V'' of each of the densities that are added up: their sum has none that is larger than all of them."""
        self.rises, self.falls = is_not_negative(slope), is_not_negative(negative(slope))
        """Whether the form shows that V does not fall, or does not rise: also where a slope is 0 at a kink."""
        self.is_convex = is_not_negative(bend)


class FormulaDensity(Density):
    """A density written as a formula in x."""

    def __init__(self, formula: Formula, stated: Stated | None = None) -> None:
        self.formula, self.stated = formula, stated
        places = [*self.kinks]
        inside = [(a + b) / 2 for a, b in itertools.pairwise(places)]
        samples = [places[0] - 1, *inside, places[-1] + 1] if places else [Fraction(0)]
        self._pieces = [_Piece(one_side(formula, place)) for place in samples]
        self._borders = [float(place) for place in places]

    def _on(self, x: arb) -> list[_Piece]:
        """The pieces that a ball reaches into, by more than the rounding of its ends, as cells end at kinks.

        A ball that need not end at one is made `wider` by its owner.
        """
        if not self._borders:
            return self._pieces
        middle, reach = float(x.mid()), float(x.rad())
        near = abs(middle) * FLOAT_ERROR + 2 * reach * RADIUS_ERROR
        if all(abs(abs(border - middle) - reach) > near for border in self._borders):
            first = sum(border < middle - reach for border in self._borders)
            last = sum(border < middle + reach for border in self._borders)
            return self._pieces[first : last + 1]
        exact, radius = dyadic(x), dyadic(x.rad())
        slack = abs(exact) * Fraction(1, 1 << max(ctx.prec - SLACK_BITS, 0)) + radius * Fraction(RADIUS_ERROR)
        first = sum(kink <= exact - radius + slack for kink in self.kinks)
        last = sum(kink < exact + radius - slack for kink in self.kinks)
        return self._pieces[first : last + 1] if last > first else [self._pieces[self._index(exact)]]

    def _index(self, x: Fraction) -> int:
        return bisect_left(self.kinks, x)

    def v_in_floats(self, x: float) -> float:
        """V(x) in floats, a proposal."""
        try:
            return self._pieces[bisect_left(self._borders, x)].v.in_floats(x)
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    def v(self, x: arb) -> arb:
        """V on a real ball."""
        return _hull([piece.v.on_reals(x) for piece in self._on(x)])

    def slope(self, x: arb) -> arb:
        """V' on a real ball; not finite where there is none."""
        return _hull([piece.slope.on_reals(x) for piece in self._on(x)])

    def on_complex(self, middle: arb, *, log: bool) -> Integrand:
        """V (log) or f on complex balls, for an integral over an interval that no kink divides."""
        piece = self._pieces[self._index(dyadic(middle))]
        return (piece.v if log else piece.f).on_complex

    def slope_on_complex(self, middle: arb, other: arb) -> Integrand | None:
        """V' on complex balls, if no kink is known to lie between two places, and if it has such values."""
        index = self._index(dyadic(middle))
        slope = self._pieces[index].slope
        return slope.on_complex if index == self._index(dyadic(other)) and slope.has_complex_values else None

    def bend(self, x: arb) -> arb:
        """V'' on a real ball; not finite where two pieces meet, as V' may jump there."""
        pieces = self._on(x)
        return pieces[0].bend.on_reals(x) if len(pieces) == 1 else arb.nan()

    def most_bend(self, x: arb) -> arb:
        """An upper bound on V'': of a sum of densities the largest of them all, if that is less."""
        most, own = _greatest([one.on_reals(x) for piece in self._on(x) for one in piece.bends]), self.bend(x)
        return most.min(own.upper()) if own.is_finite() else most

    def _rises_once(self) -> bool:
        return falls_outward(self.formula) or is_convex(minus_log(self.formula)) or super()._rises_once()

    def signs(self, x: arb) -> tuple[bool, bool, bool]:
        """Whether V does not rise on a cell, does not fall, and is convex there; each only if that is certain."""
        pieces = self._on(x)
        if len(pieces) > 1:
            return False, False, False
        [piece] = pieces
        falls, rises, is_convex = super().signs(x)
        return piece.falls or falls, piece.rises or rises, piece.is_convex or is_convex

    @cached_property
    def kinks(self) -> Sequence[Fraction]:
        """Places where V has no derivative: cells end there."""
        return kinks(self.formula)

    def find_tail(self, side: int, start: arb) -> Tail | None:
        """A bound on the slope of V beyond `start` on one side; None if the form shows none."""
        found = self._beyond(side, start, lambda piece: piece.slope)
        return None if found is None else Tail.within(found[0], side * found[1], start)

    def _beyond(self, side: int, start: arb, part: Callable[[_Piece], FormulaValues]) -> Far | None:
        """A part of the outermost piece for all distances from `start` on; None if a kink is still to come."""
        if self.kinks and not side * lift(self.kinks[0 if side < 0 else -1]) <= start:
            return None
        return _far(part(self._pieces[0 if side < 0 else -1]).formula, side, start)

    def bend_beyond(self, side: int, start: arb) -> arb:
        """A ball whose upper end bounds V'' beyond `start`."""

        def bound(bend: FormulaValues) -> arb:
            found = self._beyond(side, start, lambda _: bend)
            if found is None or found[0] > 0:
                return arb.nan() if found is None or not found[1].upper() <= 0 else arb(0)
            return found[1] * _shrinks(found[0], start)

        piece = self._pieces[0 if side < 0 else -1]
        own = bound(piece.bend)
        return own if own.is_finite() else _greatest([bound(one) for one in piece.bends])

    @cached_property
    def symmetric_about(self) -> Fraction | None:
        """A place about which the form of f is symmetric; None if it shows none."""
        return Fraction(0) if _is_even(self.formula) else None

    def probe(self) -> None:
        """`BadValue` if f is not positive at one of some places, with that place."""
        places = [0.0, *(sign * 2.0 ** (k / 4) for k in range(-40, 60) for sign in (1, -1)), *self._borders]
        for place in sorted(places, key=abs):
            value = at_precision(CHECK_BITS, partial(on_reals, self.formula, arb(place)))
            if value.is_finite() and value <= 0:
                self._refuse(arb(place))

    def _is_bad(self, x: arb) -> bool:
        return not on_reals(self.formula, x) > 0

    def _refuse(self, x: arb) -> None:
        value = on_reals(self.formula, x)
        what = "negative" if value < 0 else "0" if value <= 0 else "not finite"
        hint = "; of noise that ends write a density without ends, and cut it with Truncated" if value <= 0 else ""
        raise BadValue(f"density is {what} near x = {float(x):.4g}{hint}")


def _greatest(balls: Sequence[arb]) -> arb:
    """An upper bound on all of them; not finite if one is not."""
    return (
        reduce(lambda a, b: a.max(b), (ball.upper() for ball in balls)) if all(map(arb.is_finite, balls)) else arb.nan()
    )


def _hull(balls: Sequence[arb]) -> arb:
    return reduce(lambda a, b: a.union(b), balls)


class MixtureDensity(Density):
    """The density that is drawn from several, each normalised, with the given probabilities."""

    def __init__(self, parts: Sequence[tuple[Fraction, Density]]) -> None:
        self.parts = tuple(parts)

    def _weights(self) -> list[arb]:
        kept: dict[int, list[arb]] = self.__dict__.setdefault("_kept", {})
        if ctx.prec not in kept:
            kept[ctx.prec] = [lift(weight) / part.whole() for weight, part in self.parts]
        return kept[ctx.prec]

    @cached_property
    def _logs(self) -> list[float]:
        return at_precision(CHECK_BITS, lambda: [float(weight.log().mid()) for weight in self._weights()])

    def v_in_floats(self, x: float) -> float:
        """V(x) in floats, a proposal."""
        logs = [log - part.v_in_floats(x) for log, (_, part) in zip(self._logs, self.parts, strict=True)]
        top = max(logs)
        return -top - math.log(sum(math.exp(one - top) for one in logs)) if math.isfinite(top) else math.inf

    def v(self, x: arb) -> arb:
        """V on a real ball: it rises with each of the V of the parts, so that its ends are those of theirs."""
        heights = [part.v(x) - weight.log() for weight, (_, part) in zip(self._weights(), self.parts, strict=True)]
        return soft_least(heights)

    def _relative(self, x: arb) -> list[arb]:
        """Shares relative to the largest one: on a wide ball each by itself would hardly be known."""
        heights = [weight.log() - part.v(x) for weight, (_, part) in zip(self._weights(), self.parts, strict=True)]
        first = max(range(len(heights)), key=lambda n: float(heights[n].mid()))
        return [arb(1) if n == first else (one - heights[first]).exp() for n, one in enumerate(heights)]

    def slope(self, x: arb) -> arb:
        """V' on a real ball; not finite where there is none."""
        values = [part.slope(x) for _, part in self.parts]
        hull = reduce(lambda a, b: a.union(b), values)
        if not hull.is_finite():
            return hull
        weights = self._relative(x)
        base = next(v for w, v in zip(weights, values, strict=True) if w == 1)
        mean = sum((w * (v - base) for w, v in zip(weights, values, strict=True)), arb(0)) / sum(weights, arb(0)) + base
        return mean.intersection(hull) if mean.is_finite() and mean.overlaps(hull) else hull

    def on_complex(self, middle: arb, *, log: bool) -> Integrand:
        """V (log) or f on complex balls, for an integral over an interval that no kink divides."""
        parts = [
            (acb(w), part.on_complex(middle, log=False))
            for w, (_, part) in zip(self._weights(), self.parts, strict=True)
        ]

        def density(z: acb, analytic: bool) -> acb:
            return sum((weight * part(z, analytic) for weight, part in parts), acb(0))

        return (lambda z, a: -density(z, a).log(analytic=a)) if log else density

    def bend(self, x: arb) -> arb:
        """V'' on a real ball: the mean of those of the parts, less the variance of their slopes."""
        bends, slopes = [part.bend(x) for _, part in self.parts], [part.slope(x) for _, part in self.parts]
        if not all(one.is_finite() for one in (*bends, *slopes)):
            return arb.nan()
        weights, mean = self._relative(x), self.slope(x)
        found = sum((w * (b - (s - mean) ** 2) for w, b, s in zip(weights, bends, slopes, strict=True)), arb(0))
        return found / sum(weights, arb(0))

    def most_bend(self, x: arb) -> arb:
        """The largest V'' of the parts, if that is less: the variance is not negative."""
        most, own = _greatest([part.most_bend(x) for _, part in self.parts]), self.bend(x)
        return most.min(own.upper()) if own.is_finite() else most

    def bend_beyond(self, side: int, start: arb) -> arb:
        """A ball whose upper end bounds V'' beyond `start`."""
        return _greatest([part.bend_beyond(side, start) for _, part in self.parts])

    @cached_property
    def kinks(self) -> Sequence[Fraction]:
        """Places where V has no derivative: cells end there."""
        return sorted({kink for _, part in self.parts for kink in part.kinks})

    def find_tail(self, side: int, start: arb) -> Tail | None:
        """The slope is a mean of those of the parts, weighed by their shares of f."""
        found = [part.known_tail(side, start) for _, part in self.parts]
        slopes = [(one.power, between(one.least, one.most)) for one in found if one is not None and one.is_bounded]
        if len(slopes) < len(found):
            return None
        place = side * start
        heights = [part.v(place) - w.log() for w, (_, part) in zip(self._weights(), self.parts, strict=True)]

        def most(i: int, j: int, delta: Fraction) -> arb | None:
            return _most_by_slopes(slopes[i], slopes[j], heights[i] - heights[j], delta, start)

        return Tail.within(*_mean_beyond(slopes, most, start), start)

    @cached_property
    def symmetric_about(self) -> Fraction | None:
        """A place about which the form of f is symmetric; None if it shows none."""
        places = {part.symmetric_about for _, part in self.parts}
        return places.pop() if len(places) == 1 else None


def _is_even(node: Formula) -> bool:
    """Whether the form shows that x and -x have the same value."""
    if node.is_constant or (node.kind == "abs" and (_is_even(node.of[0]) or _is_odd(node.of[0]))):
        return True
    if node.kind == "x":
        return False
    if node.kind == "power" and node.value.denominator == 1 and node.value.numerator % 2 == 0 and _is_odd(node.of[0]):
        return True
    if node.kind == "cosh" and _is_odd(node.of[0]):
        return True
    return all(map(_is_even, node.of))


def _is_odd(node: Formula) -> bool:
    """Whether the form shows that -x has the negative value of x."""
    if node.kind == "x":
        return True
    if node.kind in ("atan", "erf", "tanh"):
        return _is_odd(node.of[0])
    if node.kind == "product":
        odd = [one for one in node.of if not _is_even(one)]
        return len(odd) % 2 == 1 and all(map(_is_odd, odd))
    if node.kind == "quotient":
        return (_is_odd(node.of[0]) and _is_even(node.of[1])) or (_is_even(node.of[0]) and _is_odd(node.of[1]))
    if node.kind == "sum":
        return all(map(_is_odd, node.of))
    return node.kind == "power" and node.value.denominator == 1 and node.value % 2 == 1 and _is_odd(node.of[0])


# Far out: every formula as u^power times a number in a ball, for all u >= start, where x = u or x = -u.

Far = tuple[Fraction, arb]


def _shrinks(power: Fraction, start: arb) -> arb:
    """u^power for all u >= start, power <= 0: a ball from 0 to its value at the start."""
    return arb(1) if not power else (lift(power) * start.log()).exp().union(arb(0))


def _far(node: Formula, side: int, start: arb) -> Far | None:  # noqa: PLR0912 - one branch for each kind of node
    """(a, C) with the formula at x = side u in u^a C for all u >= start; None if the form does not show it."""
    kind = node.kind
    if node.is_constant:
        return Fraction(0), on_reals(node, arb(0))
    if kind == "x":
        return Fraction(1), arb(side)
    of = [_far(one, side, start) for one in node.of]
    if kind == "mean":
        return _far_mean(node, of[1::2], side, start)
    if kind == "choice":
        return _far_choice(of, start)
    known = [one for one in of if one is not None]
    if len(known) < len(of):
        return None
    if kind == "sum":
        top = max(power for power, _ in known)
        return top, sum((c * _shrinks(power - top, start) for power, c in known), arb(0))
    if kind == "product":
        return sum((power for power, _ in known), Fraction(0)), reduce(lambda a, b: a * b, (c for _, c in known))
    if kind == "quotient":
        (a, c), (b, d) = known
        return (a - b, c / d) if not d.contains(0) else None
    a, c = known[0]
    if kind == "power":
        if node.value.denominator == 1:
            n = node.value.numerator
            return (a * n, c**n) if n >= 0 or not c.contains(0) else None
        return (a * node.value, (lift(node.value) * c.log()).exp()) if c > 0 else None
    if kind in ("abs", "plus"):
        return a, abs(c) if kind == "abs" else c
    if kind in ("sign", "still"):
        value = arb(0) if kind == "still" else arb(1 if c > 0 else -1)
        return (Fraction(0), value) if not c.contains(0) else None
    if kind in ("min", "max"):
        b, d = known[1]
        if a == b:
            return a, c.min(d) if kind == "min" else c.max(d)
        return _far_choice([*known, *(known if kind == "min" else known[::-1])], start)
    return _far_function(kind, a, c, start)


def _far_mean(node: Formula, values: Sequence[Far | None], side: int, start: arb) -> Far | None:
    """A mean weighed by e^-V, of V that are known by their forms, and by their slopes."""
    known = [one for one in values if one is not None]
    if len(known) < len(values):
        return None
    logs = node.of[::2]
    slopes = [_far(derivative(v), side, start) for v in logs]
    outward = [None if one is None else (one[0], side * one[1]) for one in slopes]
    heights = [on_reals(v, side * start) for v in logs]

    def most(i: int, j: int, delta: Fraction) -> arb | None:
        gap = _far(add(logs[i], negative(logs[j])), side, start)
        if gap is not None and gap[0] > 0 and gap[1] > 0:
            apart = gap[1].lower() * _grown(gap[0], start)
            if lift(gap[0]) * apart >= lift(delta):
                return (-apart).exp() * _grown(delta, start)
        return _most_by_slopes(outward[i], outward[j], heights[i] - heights[j], delta, start)

    return _mean_beyond(known, most, start)


def _grown(power: Fraction, start: arb) -> arb:
    """start^power."""
    return arb(1) if not power else (lift(power) * start.log()).exp()


def _most_by_slopes(one: Far | None, other: Far | None, apart: arb, delta: Fraction, start: arb) -> arb | None:
    """The most that u^delta, delta >= 0, times a weight e^-V is beyond the start, relative to another; None if unknown.

    The slopes of both V outward are given, and how far apart the two are at the start. It is there where it is largest
    if from there on it falls: if u times the difference of the slopes is at least delta.
    """
    if one is None or other is None or not one[0] >= other[0] >= -1:
        return None
    steeper = one[1].lower() * _grown(one[0] - other[0], start) - other[1].upper()  # in units of u^other[0]
    if not (one[1] > 0 and steeper * _grown(other[0] + 1, start) >= lift(delta)):
        return None
    return (-apart).exp() * _grown(delta, start)


def _mean_beyond(values: Sequence[Far], most: Callable[[int, int, Fraction], arb | None], start: arb) -> Far:
    """A weighed mean: close to the value whose weight falls slowest, if there is one, else between all of them.

    `most(i, j, delta)` bounds u^delta times the weight i, relative to the weight j, for all u >= start. The weights
    add up to 1, so that none of them is more.
    """
    top = max(power for power, _ in values)
    hull = reduce(lambda a, b: a.union(b), (c * _shrinks(power - top, start) for power, c in values))
    for j, (power, c) in enumerate(values):
        found: arb | None = c
        for i, (other, d) in enumerate(values):
            if i == j or found is None:
                continue
            share, grown = most(i, j, Fraction(0)), most(i, j, max(other - power, Fraction(0)))
            if share is None or grown is None:
                found = None
                continue
            part = share.upper().min(arb(1)).union(arb(0))
            if other <= power:
                found += (d * _shrinks(other - power, start) - c) * part
            else:
                found += d * grown.upper().union(arb(0)) - c * part
        if found is not None and (power < top or not found.overlaps(hull)):
            return power, found
        if found is not None:
            return power, found.intersection(hull)
    return top, hull


def _far_choice(of: Sequence[Far | None], start: arb) -> Far | None:
    first, second, below, above = of
    if first is None or second is None:
        return None
    top = max(first[0], second[0])
    gap = first[1] * _shrinks(first[0] - top, start) - second[1] * _shrinks(second[0] - top, start)
    if gap < 0:
        return below
    return above if gap > 0 else None


def _far_function(kind: str, a: Fraction, c: arb, start: arb) -> Far | None:
    """exp, tanh, atan, erf of u^a C: where it is bounded."""
    least = start if a > 0 else arb(1)
    size = c * ((lift(a) * least.log()).exp() if a > 0 else _shrinks(a, start))
    if kind == "exp":
        if a > 0:
            return (Fraction(0), size.exp().upper().union(arb(0))) if c < 0 else None
        return Fraction(0), size.exp()
    if kind in ("tanh", "atan", "erf"):
        if a <= 0:
            return Fraction(0), getattr(size, kind)()
        limit = arb.pi() / 2 if kind == "atan" else arb(1)
        if c > 0:
            return Fraction(0), getattr(size.lower(), kind)().union(limit)
        return (Fraction(0), getattr(size.upper(), kind)().union(-limit)) if c < 0 else None
    return None
