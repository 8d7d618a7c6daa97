"""`Profile`: the exact privacy profile of a composition, by the engine that is best for it, at growing precision.

The profile is the larger of the two directions of the neighbours. For each question the table `ENGINES` is asked for an
engine; from its balls come certified floats around delta or epsilon.
"""

from __future__ import annotations

from cmath import rect
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from math import exp, frexp, inf, isnan, log, pi
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, failure, growing_precision, lift
from zcdp.numeric.search import newton
from zcdp.numeric.work import TooManyNodes
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.adaptive import Adaptive
from zcdp.privacy.profile.binomial_sum import BinomialSum
from zcdp.privacy.profile.cells import Cells
from zcdp.privacy.profile.closed_form import ClosedForm
from zcdp.privacy.profile.contour import Contour, quietly
from zcdp.privacy.profile.engine import (
    CHEAP,
    CONTOUR,
    ROUGH,
    Answer,
    Engine,
    Line,
    NoAnswer,
    Offer,
    Question,
    saddle_estimate,
)
from zcdp.privacy.profile.finite_sum import CutSum, WholeSum
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.smoothed import Smoothed
from zcdp.privacy.profile.two_uses import TwoUses

__all__ = ["ENGINES", "Profile", "choose"]

ENGINES: list[tuple[type[Engine], ...]] = [
    (ClosedForm,),
    (Adaptive,),
    (WholeSum,),
    (BinomialSum,),
    (Contour, LatticeContour),
    (CutSum,),
    (TwoUses,),
    (Cells,),
    (Smoothed,),
]
"""Engines in the sequence in which they are tried. Those of one row compete by expected work; the next row is tried
if none of them applies, or if the chosen one fails."""

ACCURATE_ANSWER = (
    1e-9  # If the ends are this close, relatively, a bound for the other direction may replace its answer.
)
LAST_PROFILE_BITS = 1 << 12  # the highest working precision; beyond it an engine takes longer than it may
OUT_OF_RANGE = "the profile is out of the range of floats"
BITS_PER_E_FOLD = 1.8  # For laws whose transforms cancel: bits for each factor of e by which delta is below 1.

Attempt: TypeAlias = Callable[[int, list[Question]], Answer | None]
"""An answer at the working precision, or None if that is too low.

Its arguments are the divisor of the effort and the list to which questions are added."""


class Profile:
    """delta(epsilon) of a composition of laws, and its inverse epsilon(delta), as certified floats.

    All laws have the same direction (which neighbour is P), and the profile is the larger of the two directions;
    symmetric laws are the same in both. Theorem: docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts) -> None:
        if sum(count for _, count in parts) == 1:
            parts = tuple((law.single_use(), 1) for law, count in parts if count)
        self.parts = parts
        self.directions = [_OneDirection(parts)]
        for law, _ in parts:
            law.check(self.directions[0].bits)
        if not all(law.symmetric for law, _ in parts):
            self.directions.append(_OneDirection(tuple((law.reverse(), count) for law, count in parts)))
        self._last: dict[str, tuple[Fraction, int, Answer]] = {}

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Certified floats around delta(epsilon), for epsilon >= 0.

        `haste` divides the work, for callers that need many answers; these may be less tight.
        """
        return self._remembered(
            "delta",
            epsilon,
            haste,
            lambda one: one.delta(epsilon, haste=haste),
            lambda one, found: one.surely_below(epsilon, found),
        )

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Certified floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        return self._remembered(
            "epsilon",
            delta,
            haste,
            lambda one: one.epsilon(delta, haste=haste),
            lambda one, found: one.surely_below(found, delta),
        )

    def deltas(self, epsilons: Sequence[Fraction], *, haste: int = 1) -> list[float]:
        """Certified upper bounds on delta at increasing epsilons, in less time than one by one."""
        directions = [one.deltas(epsilons, haste=haste) for one in self.directions]
        return [max(values) for values in zip(*directions, strict=True)]

    def loss_that_occurs(self) -> float:
        """A certified float such that delta(epsilon) > 0 for every epsilon below it, in the worse direction."""
        return max(one.loss_that_occurs() for one in self.directions)

    def revealed_from_below(self) -> float:
        """A certified lower end of P(L = +inf), the limit of delta(epsilon), in the worse direction."""
        return max(one.revealed_from_below() for one in self.directions)

    def delta_bounds(self, epsilon: Fraction) -> tuple[float, float]:
        """The two ends of `delta`, without the other fields of the answer."""
        return self.delta(epsilon)[:2]

    def epsilon_bounds(self, delta: Fraction) -> tuple[float, float]:
        """The two ends of `epsilon`, without the other fields of the answer."""
        return self.epsilon(delta)[:2]

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """Heuristic log delta(epsilon) to a few digits (two if `rough`), in a few milliseconds."""
        return max(one.propose_log_delta(epsilon, rough=rough) for one in self.directions)

    def propose_in_floats(self, epsilon: Fraction) -> float | None:
        """Heuristic log delta(epsilon) to about eight digits, without balls; None if some law knows no such way.

        It is that of the direction that seems worse.
        """
        worse = max(self.directions, key=lambda one: one.propose_log_delta(epsilon, rough=True))
        return worse.propose_in_floats(epsilon)

    def _remembered(
        self,
        what: str,
        at: Fraction,
        haste: int,
        ask: Callable[[_OneDirection], Answer],
        below: Callable[[_OneDirection, Fraction], bool],
    ) -> Answer:
        """The answer for the worse direction; the last one of each kind is cached, as callers often repeat a question.

        `ask` computes the answer for one direction. `below` tells whether the answer for the other direction is
        certainly not above a given number.
        """
        last = self._last.get(what)  # Read once: another thread may replace it.
        if last is None or last[:2] != (at, haste):
            answer = ask(self.directions[0])
            known = answer.upper - answer.lower <= ACCURATE_ANSWER * answer.upper < inf
            for other in self.directions[1:] if answer.lower < inf else ():  # nothing is above an infinite epsilon
                sure = (
                    answer.upper if known else answer.lower
                )  # If it passes, both ends are those of the first direction.
                if not (0 < sure < inf and below(other, Fraction(sure))):
                    both = answer, ask(other)
                    worst = max(both, key=lambda one: one.upper)
                    answer = worst._replace(lower=max(one.lower for one in both))
            last = self._last[what] = at, haste, answer
        return last[2]


class _OneDirection:
    """The profile of the product of laws in the given direction, by engines at growing precision."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.bits = 128 + 2 * sum([count for _, count in parts]).bit_length()
        self._cancels = any(law.cancels for law, _ in parts)
        """Whether digits cancel in the transform of some law."""

    def _bits_for(self, log_delta: float) -> int:
        """The precision with which to begin; it is higher for a small delta if digits of some transform cancel."""
        return self.bits + int(BITS_PER_E_FOLD * max(-log_delta, 0.0)) if self._cancels else self.bits

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Certified floats around delta(epsilon), for epsilon >= 0; `haste` divides the work."""
        try:
            rough = self.propose_log_delta(epsilon, rough=True) if self._cancels else 0.0
        except OverflowError as error:
            raise NoAnswer(OUT_OF_RANGE, 1.0) from error
        found: Answer | None = None

        def attempt(haste: int, asked: list[Question]) -> Answer | None:
            nonlocal found
            found, enough = delta_by_engine(self.parts, epsilon, haste, asked, found)
            return found if enough else None

        try:
            return self._at_growing_precision(attempt, haste, self._bits_for(rough if rough > -700.0 else -700.0))
        except NoAnswer:
            if found is None or found.lower == 0.0:
                raise
            return found

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Certified floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        found: Answer | None = None

        def attempt(haste: int, asked: list[Question]) -> Answer | None:
            nonlocal found
            found, enough = epsilon_by_engine(self.parts, delta, haste, asked, found)
            return found if enough else None

        try:
            bits = self._bits_for(log(delta.numerator) - log(delta.denominator))
            return self._at_growing_precision(attempt, haste, bits)
        except NoAnswer:
            if found is None or found.lower == 0.0:
                raise
            return found

    def deltas(self, epsilons: Sequence[Fraction], *, haste: int = 1) -> list[float]:
        """Certified upper bounds on delta at increasing epsilons."""
        return at_precision(self.bits, partial(deltas_by_engine, self.parts, epsilons, haste))

    def loss_that_occurs(self) -> float:
        """A certified float such that delta(epsilon) > 0 for every epsilon below it."""
        return at_precision(self.bits, lambda: max(below(Transform(self.parts).loss_that_occurs()), 0.0))

    def revealed_from_below(self) -> float:
        """A certified lower end of P(L = +inf)."""
        return at_precision(self.bits, lambda: max(below(Transform(self.parts).revealed), 0.0))

    def surely_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the largest loss, a Chernoff bound or a coarse contour proves that delta(epsilon) <= `delta`.

        True is certified; False only means that there was no proof. Theorem: docs/theorems/ends.md.
        """

        try:
            for _ in growing_precision(self.bits, last=self.bits):
                return self._shown_below(epsilon, delta)
        except (Undecided, NotCertified, OverflowError, ZeroDivisionError):
            pass
        return False

    def _shown_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """`surely_below` at the working precision."""
        question, point = Question(self.parts, epsilon=epsilon), lift(epsilon)
        if question.largest <= point:
            return bool(question.revealed <= lift(delta))
        if question.revealed - (point - question.largest).expm1() <= lift(delta):  # by the largest loss
            return True
        if (ends := question.formula) is not None:
            return bool(ends(point)[1] + question.revealed <= lift(delta))
        if not question.revealed.is_zero() or not delta > 0:
            return False
        if question.log_chernoff() <= lift(delta).log():
            return True
        if len(self.parts) == 1 or not question.transform.quick:
            return False  # The exact answer takes hardly more work than a coarse contour.
        upper = coarsely_above(question)
        return upper is not None and bool(upper <= lift(delta))

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """Heuristic log delta(epsilon)."""
        return at_precision(self.bits, partial(propose_log_delta, self.parts, epsilon, rough=rough))

    def propose_in_floats(self, epsilon: Fraction) -> float | None:
        """Heuristic log delta(epsilon) to about eight digits; None if some law knows no such way."""
        return at_precision(self.bits, partial(propose_in_floats, self.parts, epsilon))

    def _at_growing_precision(self, attempt: Attempt, haste: int, bits: int) -> Answer:
        """The first answer at growing precision (Ziv's strategy); raises `NoAnswer`, with the reason."""
        asked: list[Question] = []
        reason = f"no certified profile within {LAST_PROFILE_BITS} bits: the parameters are too extreme"
        for _ in growing_precision(bits, last=LAST_PROFILE_BITS):
            try:
                if (answer := attempt(haste, asked)) is not None:
                    return answer
            except Undecided:
                pass
            except (OverflowError, ZeroDivisionError):  # Heuristic floats are out of range.
                reason = OUT_OF_RANGE
                break
            except NotCertified as error:
                reason = str(error)
                break
            except Exception as error:
                reason = str(failure("profile", error))
                break
            haste *= 4  # Operations take longer at a higher precision, so fewer of them are allowed.
        raise NoAnswer(reason, asked[-1].s if asked else 1.0)


# The choice of an engine, and its answers at the working precision.

SMALLEST_FLOAT = 5e-324  # An upper end below it is rounded to it, so more accuracy is useless.
CURVE_TOLERANCE = 1e-3  # relative gap between two ends at which an engine still serves for another point of a curve
# The saddle point formula ignores rare large losses: if it gives a log delta above this, they decide.
IMPOSSIBLE_LOG_DELTA = 1.0
WIDE_ANSWER = 1e-4  # relative gap between the ends of epsilon above which a second engine is tried
# If the relative gap is larger than the first number, the precision is doubled, at most twice (the haste grows by 4).
LOOSE_ANSWER, LAST_HASTE = 1e-10, 16
# The first step of the secant method, the longest step (both relative to epsilon), and the number of steps.
SECANT_STEP, LONGEST_SECANT, MOST_SECANTS = 1e-9, 0.1, 8
# `_outward` tries root * (1 +- 2^k) for growing k until the bound holds there.
NO_MOVE = -54  # This k stands for the root itself.
FIRST_MOVE = -9  # the largest k with which the search for a lower end begins, if the slope is not known
# If the k that succeeds is above the first number, these parts of the step 2^k are tried before it is returned.
SHORTENED_ABOVE, SHORTER_MOVES = -44, (0.625, 0.8)
COARSE_TOLERANCE = 0.02  # relative error of a contour that only compares the two directions
ROUNDINGS = 1000  # If the ends are so many rounding errors apart, a higher precision does not help.


def choose(question: Question) -> tuple[Engine, float]:
    """The engine for a question and its expected work in nanoseconds; raises `NotCertified` if none applies."""
    reason = NotCertified("no engine has an offer: the composition is too extreme")
    for row in ENGINES:
        best: Offer | None = None
        for engine in row:
            try:
                offer = engine.offer(question) if _fits(engine, question) else None
            except NotCertified as error:
                reason = error
                continue
            if offer is not None and (best is None or offer.cost < best.cost):
                best = offer
                if best.cost <= CHEAP:
                    break
        if best is not None:
            try:
                return best.build(), best.cost
            except NotCertified as error:
                reason = error
    raise reason


def _fits(engine: type[Engine], question: Question) -> bool:
    """Whether the composition satisfies the engine's limits: laws, uses, atoms, lattice."""
    return (
        len(question.parts) <= engine.most_laws
        and (engine.most_uses == inf or sum(count for _, count in question.parts) <= engine.most_uses)
        and not (engine.of_atoms and any(not factor.atomic for factor, _ in question.transform.factors))
        and not (engine.on_lattice and question.lattice is None)
    )


def _second(question: Question, first: Engine) -> Engine | None:
    """The cells engine, if the first engine's answer is wide; else None.

    It is built for the same laws, so the answers of both engines hold for the same profile.
    """
    offer = Cells.second(question) if not isinstance(first, Cells) and _fits(Cells, question) else None
    try:
        return None if offer is None else offer.build()
    except NotCertified:
        return None


def delta_by_engine(
    parts: Parts, epsilon: Fraction, haste: int, asked: list[Question], found: Answer | None
) -> tuple[Answer | None, bool]:
    """Certified floats around delta(epsilon), and whether they are sharp enough. The question is added to `asked`.

    If they are not, the caller tries again with a higher precision. `found` is the answer at the lower one: where delta
    is far below what the saddle point formula says, its few digits tell how many more are needed.
    """
    size = None if found is None or found.lower == 0.0 else log(found.upper)
    question = Question(parts, haste, epsilon=epsilon, size=size)
    if (known := question.known()) is not None:
        return known, True
    asked.append(question)
    engine, cost = choose(question)
    lower, upper = engine.delta(epsilon)
    hopeless = not lower > 0 and (not engine.only_rounding or question.line.log_delta > IMPOSSIBLE_LOG_DELTA)
    if hopeless and (other := _second(question, engine)) is not None:
        more = other.delta(epsilon)
        if not upper <= more[1]:
            engine, (lower, upper) = other, more
    if not question.revealed.is_zero():  # Adding 0 would round an engine's result to the working precision.
        lower, upper = lower + question.revealed, upper + question.revealed
    if not upper.is_finite():
        return found, False
    sharp = upper < SMALLEST_FLOAT or upper.rel_accuracy_bits() >= 50
    least = min(max(below(lower), 0.0), 1.0) if lower.is_finite() else 0.0
    ends = least, min(above(upper), 1.0)
    if found is not None and found.attained == engine.attained:  # Both hold for the same profile.
        ends = max(found.lower, ends[0]), min(found.upper, ends[1])
    name = engine.name if found is None or ends != found[:2] else found.method
    answer = Answer(*ends, name, question.s, engine.attained, cost)
    return answer, sharp or (not engine.only_rounding and bool(upper.rad() * ROUNDINGS <= upper - lower))


def epsilon_by_engine(
    parts: Parts, delta: Fraction, haste: int, asked: list[Question], found: Answer | None
) -> tuple[Answer | None, bool]:
    """Certified floats around the least epsilon with delta(epsilon) <= delta, and whether they are tight enough.

    If they are not, the caller tries again with a higher precision. `found` is the answer at the lower one.
    """
    question = Question(parts, haste, delta=delta)
    if (known := question.known()) is not None:
        return known, True
    target, top = question.target, question.largest
    asked.append(question)
    engine, cost = choose(question)
    if engine.least and not engine.delta(engine.least)[0] >= target:
        question = question.whole()
        asked.append(question)
        engine, cost = choose(question)
    ends = _ends_of_epsilon(engine, question.s, target, top)
    if ends is None:
        return found, False
    wide = ends[1] - ends[0] > WIDE_ANSWER * ends[1] and not engine.only_rounding
    if wide and (other := _second(question, engine)) is not None:
        more = _ends_of_epsilon(other, question.s, target, top)
        ends = ends if more is None else (max(ends[0], more[0]), min(ends[1], more[1]))
    if found is not None and found.attained == engine.attained:  # Both hold for the same profile.
        ends = max(found.lower, ends[0]), min(found.upper, ends[1])
    found = Answer(ends[0], min(ends[1], above(top)), engine.name, question.s, engine.attained, cost)
    loose = found.upper - found.lower > LOOSE_ANSWER * found.upper and engine.only_rounding
    if loose and haste < LAST_HASTE:
        return found, False  # It is certified, but a higher precision makes it tighter.
    if top.is_finite() and found[:2] == (0.0, above(top)):
        raise NotCertified("nothing is known of epsilon but the largest loss")
    return found, True


def _ends_of_epsilon(engine: Engine, s: float, target: arb, top: arb) -> tuple[float, float] | None:
    """Certified floats around the epsilon at which the engine's delta is the target; None if more bits are needed.

    A heuristic root comes first; then both ends are moved away from it until they are certified.
    """
    least = engine.least
    delta, upper_end = cache(engine.delta), cache(engine.upper)  # The search evaluates at its root several times.
    root = newton(engine.estimate, float(target.log()), float(least), above(top), float(engine.guess))
    root = _polished(upper_end, root, target, float(least), above(top))
    if isnan(root):
        raise OverflowError("no floats propose where to look")
    upper = _outward(root, lambda e: bool(upper_end(e) <= target), least, up=True)
    if upper is None and top.is_finite() and not engine.only_rounding:  # The engine's upper bound never falls so low.
        upper = above(top)
    near = delta(Fraction(root))
    if not (least or near[0] > 0 or delta(least)[0] >= target):
        return None if upper is None else (0.0, upper)  # The engine's lower bound is useless everywhere.
    first = _apart(near, root, s)
    lower = _outward(root, lambda e: bool(delta(e)[0] >= target), least, up=False, first=first)
    return None if upper is None or lower is None else (lower, upper)


def _polished(upper_end: Callable[[Fraction], arb], root: float, target: arb, least: float, top: float) -> float:
    """Heuristic root by the secant method in balls, from a root in floats.

    On a line far from the saddle point most digits of the float sum cancel, so the root in floats may be poor.
    """

    def excess(x: float) -> float:
        upper = upper_end(Fraction(x))
        return float((upper / target).log().mid()) if upper > 0 else -inf

    near = root * (1 + SECANT_STEP)
    if not least < root < near < top:
        return root
    x, y, values = root, near, (excess(root), excess(near))
    for _ in range(MOST_SECANTS):
        slope = (values[1] - values[0]) / (y - x)
        move = -values[0] / slope if -inf < slope < 0 else 0.0
        after = x + move
        if abs(move) <= 2e-16 * x or not (least < after < top and abs(move) < LONGEST_SECANT * x):
            break
        value = excess(after)
        if not abs(value) < abs(values[0]):
            break
        x, y, values = after, x, (value, values[0])
    return x


def _apart(near: tuple[arb, arb], root: float, s: float) -> int:
    """The exponent of two of the relative distance below the root at which the lower end should cross the target.

    It is heuristic: the gap between both ends at the root, divided by s, the slope of log delta.
    """
    lower, upper = near
    gap = above((upper - lower) / upper / (root * s)) if root and upper > 0 else 0.0
    return min(frexp(gap)[1] - 1, FIRST_MOVE) if 2.0**NO_MOVE < gap < 1 else NO_MOVE


def _outward(
    root: float, holds: Callable[[Fraction], bool], least: Fraction, *, up: bool, first: int = NO_MOVE
) -> float | None:
    """A float on the given side of `root`, as near as the search finds one, for which `holds` is true.

    If there is none near: None for an upper end; for a lower end 0.0, or None if `least` is positive.
    """
    if root <= least and (not up or holds(least)):
        return float(least)
    for power in range(first, -2) if root > least else ():
        move = 0.0 if power == NO_MOVE else 2.0**power  # A move by 2^-53 leads to the next float, or nowhere.
        moved = root * (1 + move if up else 1 - move)
        if moved < least:
            return None if least else 0.0
        if holds(Fraction(moved)):
            for part in SHORTER_MOVES if power > SHORTENED_ABOVE else ():
                nearer = root * (1 + part * move if up else 1 - part * move)
                if holds(Fraction(nearer)):
                    return nearer
            return moved
    if not up:
        return 0.0
    # A target that is delta at 0 itself, the total variation, is not told apart from it, but from delta next to 0.
    near = () if least or root > NEXT_TO_0[-1] else NEXT_TO_0
    return next((epsilon for epsilon in near if holds(Fraction(epsilon))), None)


def coarsely_above(question: Question) -> arb | None:
    """A certified upper bound on delta at the given epsilon, within a few percent; None if it needs too many nodes."""
    line = Line(question.transform, question.c, lift(question.epsilon), tolerance=COARSE_TOLERANCE)
    try:
        with quietly():
            return Contour(line, CONTOUR).upper(question.epsilon)
    except TooManyNodes:
        return None


def deltas_by_engine(parts: Parts, epsilons: Sequence[Fraction], haste: int) -> list[float]:
    """Certified upper bounds on delta at increasing epsilons; an engine serves for the next ones while it is tight."""
    found: list[float] = []
    transform, engine = Transform(parts), None
    more = transform.revealed
    for epsilon in epsilons:
        if transform.largest <= lift(epsilon):
            found.append(min(above(more), 1.0))
            continue
        upper = None if engine is None else _close(engine, epsilon)
        if upper is None:
            try:
                engine, _ = choose(Question(parts, haste, epsilon=epsilon, transform=transform))
                upper = engine.upper(epsilon)
            except (NotCertified, Undecided, OverflowError, ZeroDivisionError):
                engine = None
        upper = arb(1) if upper is None or not upper.is_finite() else upper + more
        found.append(min(above(upper), 1.0))
    return found


def _close(engine: Engine, epsilon: Fraction) -> arb | None:
    """The engine's upper bound on delta(epsilon), if its two bounds are close; else None."""
    if epsilon < engine.least:
        return None
    lower, upper = engine.near(epsilon)
    return upper if upper.is_finite() and lower > 0 and upper - lower <= upper * CURVE_TOLERANCE else None


def propose_log_delta(parts: Parts, epsilon: Fraction, *, rough: bool) -> float:
    """Heuristic log delta(epsilon) to a few digits (two if `rough`), in a few milliseconds."""
    question, point = Question(parts, epsilon=epsilon), lift(epsilon)
    if question.largest <= point:
        return -inf
    if rough:
        return saddle_estimate(question.transform, question.c, point)
    try:
        with quietly():
            contour = Contour(question.line, ROUGH, rough=True)
        if (value := contour.delta(epsilon)[1]) > 0:
            return float(value.log().mid())
    except TooManyNodes:
        pass
    return saddle_estimate(question.transform, question.c, point)


NEXT_TO_0 = [2.0**power for power in range(-80, -30, 10)]
FLOAT_FALL = 30.0  # -log of the terms that are left out
FLOAT_PART = 0.65  # of the saddle point, at which the aliases on both sides are small
MOST_FLOAT_NODES = 1_000


def propose_in_floats(parts: Parts, epsilon: Fraction) -> float | None:
    """The trapezoidal sum of `Contour` in floats, where all laws know their transforms so: without any certificate."""
    question, point = Question(parts, epsilon=epsilon), float(epsilon)
    if question.largest <= lift(epsilon):
        return -inf
    c = FLOAT_PART * float(question.c)
    rough = saddle_estimate(question.transform, question.c, lift(epsilon))
    step = 2 * pi / max((FLOAT_FALL - rough) / c, FLOAT_FALL / (float(question.c) - c))
    if (known := question.transform.turned(c, step)) is None:
        return None
    level, moments = known
    total = 0.0
    for k, moment in zip(range(MOST_FLOAT_NODES), moments, strict=False):
        z = complex(c, k * step)
        total += (moment * rect(1.0, -z.imag * point) / (z * (z + 1))).real * (1 if k else 0.5)
        if abs(moment) < exp(-FLOAT_FALL):
            break
    else:
        return None
    return level - c * point + log(total * step / pi) if total > 0 else None
