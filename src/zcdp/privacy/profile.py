"""The exact privacy profile delta(epsilon) of a composition: the cheapest rigorous method that is tight."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import frexp, inf
from typing import NamedTuple, Protocol

from flint import arb

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.certify import NotCertified, Undecided, failure
from zcdp.privacy.ends import at_top, near_one
from zcdp.privacy.finite_cut import Cut, cut_degree, finite_size, whole_degree
from zcdp.privacy.lattice import Lattice, common_lattice
from zcdp.privacy.line import Line
from zcdp.privacy.nodes import Effort, TooManyNodes, quietly
from zcdp.privacy.profile_contour import Contour
from zcdp.privacy.profile_lattice import LatticeContour
from zcdp.privacy.profile_terms import FiniteSum
from zcdp.privacy.saddle import line_for_delta, line_for_epsilon, saddle_estimate, solve
from zcdp.privacy.smoothed import Smoothed
from zcdp.privacy.transform import Parts, Transform

__all__ = ["Profile"]

FEW = 2_000  # numbers in a finite sum: a millisecond
MANY = 6_000  # where the contour needs too many nodes: half a second
MANY_OF_ONE = 250_000  # of a single pair, which needs no search among exponents
EFFORT, ROUGH, SMOOTH = Effort(), Effort(4_000), Effort(40_000, 200_000)
CHEAP = 2_000  # transforms, below which no other method is looked for
LAST_BITS = 1 << 12
SAME = -54  # the power of two that moves no float
TINY = 5e-324  # what is below it is as good as known
SMOOTHED = "smoothed contour"
LOOSE, LAST_SHARE = 1e-10, 16  # ends further apart are tried again, with twice the bits, at most twice


class Engine(Protocol):
    """A method, ready at the working precision."""

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""

    def upper(self, epsilon: Fraction) -> arb:
        """The second of these alone."""

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""


class Choice(NamedTuple):
    """The engine for a neighbourhood of epsilon."""

    engine: Engine
    epsilon: Fraction
    least: Fraction = Fraction(0)
    """Below this epsilon the engine has no answer."""


class Profile:
    """delta(epsilon) of the composition of symmetric pairs, and its inverse, enclosed by floats.

    Theorem: docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.bits = 128 + 2 * sum(count for _, count in parts).bit_length()
        self.lattice: Lattice | None = common_lattice(parts)
        self.method = ""
        """The method that gave the last answer."""
        self.line = 1.0
        """The order, less one, at which it looked: a guess for others."""
        self.haste = 1
        """What the effort is divided by, where many answers are wanted soon; they are as sound, and less tight."""
        self.share = 1
        """Each time that the precision is raised, a smaller share of the whole effort is left."""
        self._last: dict[str, tuple[Fraction, tuple[float, float], str, float]] = {}

    def _top(self) -> arb | None:
        """The largest loss of the composition; None where it is unbounded."""
        if any(pair.largest_loss is None for pair, _ in self.parts):
            return None
        return sum((lift(p.largest_loss) * n for p, n in self.parts if p.largest_loss is not None), arb(0))

    def delta_bounds(self, epsilon: Fraction) -> tuple[float, float]:
        """Floats (lower, upper) around delta(epsilon), for epsilon >= 0."""

        def attempt() -> tuple[float, float] | None:
            top = self._top()
            if top is not None and top <= lift(epsilon):
                self.method = "largest loss"
                return 0.0, 0.0
            if (lower := near_one(self.parts, lift(epsilon))) is not None:
                self.method = "Chernoff bound"
                return below(lower), 1.0
            choice = self._choose(epsilon)
            lower, upper = choice.engine.delta(epsilon)
            if not (upper < TINY or (upper.is_finite() and upper.rel_accuracy_bits() >= 50)):
                return None
            return min(max(below(lower), 0.0), 1.0) if lower.is_finite() else 0.0, min(above(upper), 1.0)

        return self._remembered("delta", epsilon, attempt)

    def epsilon_bounds(self, delta: Fraction) -> tuple[float, float]:
        """Floats (lower, upper) around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        found = (0.0, inf)

        def attempt() -> tuple[float, float] | None:
            nonlocal found
            target, top = lift(delta), self._top()
            if top is not None and (ends := at_top(self.parts, top, target)) is not None:
                self.method = "largest loss"
                return ends
            log_target = float(target.log())
            choice = self._choose(log_target)
            engine, least = choice.engine, choice.least
            if least and not engine.delta(least)[0] >= target:
                choice = self._choose(log_target, least=Fraction(0))
                engine, least = choice.engine, choice.least
            root = solve(
                engine.estimate, log_target, float(least), inf if top is None else above(top), float(choice.epsilon)
            )
            upper = _outward(root, lambda e: bool(engine.upper(e) <= target), least, up=True)
            if upper is None and top is not None and self.method == SMOOTHED:  # the Gaussian's own delta is in the way
                upper = above(top)
            first = self._apart(engine, root)
            lower = _outward(root, lambda e: bool(engine.delta(e)[0] >= target), least, up=False, first=first)
            if upper is None or lower is None:
                return None
            found = max(found[0], lower), min(found[1], upper, inf if top is None else above(top))
            loose = found[1] - found[0] > LOOSE * found[1] and self.method != SMOOTHED
            if loose and self.share < LAST_SHARE:
                return None  # it is sound, but more bits tell more
            if top is not None and found == (0.0, above(top)):
                raise NotCertified("nothing is known of epsilon but the largest loss")
            return found

        try:
            return self._remembered("epsilon", delta, attempt)
        except NotCertified:
            if found[0] == 0.0:
                raise
            return found

    def _apart(self, engine: Engine, root: float) -> int:
        """The power of two nearest to how far below the root, as a part of it, the lower end crosses the target."""
        lower, upper = engine.delta(Fraction(root))
        gap = above((upper - lower) / upper / (root * self.line)) if root and upper > 0 else 0.0
        return frexp(gap)[1] - 1 if 2.0**SAME < gap < 1 else SAME

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """log delta(epsilon) to a few digits (two where `rough`), in a few milliseconds: for proposals."""

        def estimate() -> float:
            transform, top = Transform(self.parts), self._top()
            if top is not None and top <= lift(epsilon):
                return -inf
            c = line_for_epsilon(transform, epsilon)
            if rough:
                return saddle_estimate(transform, c, lift(epsilon))
            try:
                with quietly():
                    contour = Contour(Line(transform, c, lift(epsilon)), ROUGH, rough=True)
                if (value := contour.delta(epsilon)[1]) > 0:
                    return float(value.log().mid())
            except TooManyNodes:
                pass
            return saddle_estimate(transform, c, lift(epsilon))

        return at_precision(self.bits, estimate)

    def _remembered(
        self, what: str, at: Fraction, attempt: Callable[[], tuple[float, float] | None]
    ) -> tuple[float, float]:
        """The answer; the last one of its kind is kept, as one question is often asked in several words."""
        last = self._last.get(what)  # read once: another thread may be asking something else
        if last is None or last[0] != at:
            answer = self._at_growing_precision(attempt)
            last = self._last[what] = at, answer, self.method, self.line
        _, answer, self.method, self.line = last
        return answer

    def _at_growing_precision(self, attempt: Callable[[], tuple[float, float] | None]) -> tuple[float, float]:
        bits, self.share = self.bits, self.haste
        while bits <= LAST_BITS:
            try:
                answer = at_precision(bits, attempt)
                if answer is not None:
                    return answer
            except Undecided:
                pass
            except NotCertified:
                raise
            except (OverflowError, ZeroDivisionError) as error:  # of the floats that propose where to look
                raise NotCertified("the profile is out of the range of floats") from error
            except Exception as error:
                raise failure("profile", error) from error
            bits, self.share = 2 * bits, 4 * self.share
        raise NotCertified(f"no certified profile within {LAST_BITS} bits: the parameters are too extreme")

    def _choose(self, given: Fraction | float, *, least: Fraction | None = None) -> Choice:
        """The engine for a given epsilon (a Fraction) or a given log delta (a float)."""
        if finite_size(self.parts) * (degree := whole_degree(self.parts) + 1) <= FEW:
            self.method = "finite sum"
            cut = Cut(Fraction(0), degree - 1, arb(1), arb("-inf"))
            return Choice(FiniteSum(self.parts, cut), given if isinstance(given, Fraction) else Fraction(0))
        transform = Transform(self.parts)
        if isinstance(given, Fraction):
            c, epsilon = line_for_epsilon(transform, given), given
        else:
            c, epsilon = line_for_delta(transform, given)
        self.line = float(c)
        with quietly():
            contour = self._contour(Line(transform, c, lift(epsilon)))
        if contour is not None:
            return Choice(contour, epsilon)
        if least is None:
            least = epsilon if isinstance(given, Fraction) else self._margin(epsilon, float(c))
        if finite_size(self.parts, float(least)) < (inf if len(self.parts) == 1 else MANY):
            log_delta = saddle_estimate(transform, c, lift(epsilon))
            cut = cut_degree(transform, c, lift(epsilon), log_delta, least)
            if finite_size(self.parts, float(least), cut.ceiling) * (cut.degree + 1) <= (
                (MANY_OF_ONE if len(self.parts) == 1 else MANY) / self.share
            ):
                self.method = "finite sum"
                return Choice(FiniteSum(self.parts, cut), epsilon, least)
        self.method = SMOOTHED
        with quietly():
            return Choice(Smoothed(self.parts, c, epsilon, SMOOTH.part(self.share)), epsilon)

    def _contour(self, line: Line) -> Contour | LatticeContour | None:
        """The cheaper one of the two contours, if there is one within the work allowed."""
        plain = None
        if not all(pair.atomic for pair, _ in self.parts):
            try:
                plain = Contour(line, EFFORT.part(self.share))
                self.method = "contour"
                if plain.cost <= CHEAP:
                    return plain
            except TooManyNodes:
                pass
        if self.lattice:
            try:
                whole = LatticeContour(line, self.lattice, EFFORT.part(self.share))
                if plain is None or whole.cost < plain.cost:
                    self.method = "lattice"
                    return whole
            except TooManyNodes:
                pass
        return plain

    def _margin(self, epsilon: Fraction, c: float) -> Fraction:
        """An epsilon that is hardly above the answer where the saddle point formula proposes `epsilon`."""
        top = self._top()
        room = 1 / c if top is None else min(1 / c, float(top - lift(epsilon)))
        return max(Fraction(float(epsilon - Fraction(room))), Fraction(0))  # a float, as the search wants


def _outward(
    root: float, holds: Callable[[Fraction], bool], least: Fraction, *, up: bool, first: int = SAME
) -> float | None:
    """The float nearest to `root`, on the given side, for which `holds` is certain; None if none is near."""
    if root <= least:
        return float(least) if not up or holds(least) else None
    for power in range(first, -2):
        move = 0.0 if power == SAME else 2.0**power  # 2^-53 goes to the next float, or stays
        moved = root * (1 + move if up else 1 - move)
        if moved < least:
            return None if least else 0.0
        if holds(Fraction(moved)):
            return moved
    return None if up else 0.0
