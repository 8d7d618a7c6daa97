"""delta and epsilon of a composition in one fixed order: the precision loop around an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import frexp, inf, log

from flint import arb

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.certify import NotCertified, Undecided, failure
from zcdp.privacy.conversions.rdp_to_approx import tail_factor
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile.choose import choose
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.effort import ROUGH
from zcdp.privacy.profile.ends import at_top, near_one
from zcdp.privacy.profile.engine import Answer, Engine, NoAnswer, Question
from zcdp.privacy.profile.nodes import TooManyNodes, quietly
from zcdp.privacy.profile.saddle import line_for_epsilon, saddle_estimate, solve
from zcdp.privacy.profile.transform import Transform

__all__ = ["OneOrder"]

LAST_BITS = 1 << 12
CANCELLED = 1.8  # bits for each e-fold of delta, where digits cancel
SAME = -54  # the power of two that moves no float
TINY = 5e-324  # what is below it is as good as known
NEAR = 1e-3  # relative distance of two ends that is close enough for a curve
LOOSE, LAST_SHARE = 1e-10, 16  # ends further apart are tried again, with twice the bits, at most twice


class OneOrder:
    """The profile of the product of laws, each as it is given. Theorem: docs/theorems/profile.md."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.bits = 128 + 2 * sum(count for _, count in parts).bit_length()

    def _bits_for(self, log_delta: float) -> int:
        """Where to begin: more than usual where the digits of a transform cancel."""
        if not any(law.cancels for law, _ in self.parts):
            return self.bits
        return self.bits + int(CANCELLED * max(-log_delta, 0.0))

    def _revealed(self) -> arb:
        """P(L = +inf) of the composition: that some part gives the input away."""
        masses = [(mass, count) for law, count in self.parts if not (mass := law.infinite_mass()).is_zero()]
        if not masses:
            return arb(0)
        if any(mass == 1 for mass, _ in masses):
            return arb(1)
        return -sum(((-mass).log1p() * count for mass, count in masses), arb(0)).expm1()

    def _top(self) -> arb:
        """The largest finite loss of the composition; +inf where it is unbounded."""
        return sum((law.largest() * count for law, count in self.parts), arb(0))

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Floats around delta(epsilon), for epsilon >= 0; `haste` divides the effort."""

        question = Question(self.parts, epsilon)

        def attempt(share: int) -> Answer | None:
            nonlocal question
            more, point = self._revealed(), lift(epsilon)
            if self._top() <= point or more == 1:
                return Answer(max(below(more), 0.0), min(above(more), 1.0), "largest loss")
            question = Question(self.parts, epsilon, share)
            if (lower := near_one(question.transform, point)) is not None:
                return Answer(below(lower), 1.0, "Chernoff bound")
            engine, cost = choose(question)
            lower, upper = engine.delta(epsilon)
            if not more.is_zero():  # a sum is rounded to the working precision, which an engine may exceed
                lower, upper = lower + more, upper + more
            if not (upper < TINY or (upper.is_finite() and upper.rel_accuracy_bits() >= 50)):
                return None
            least = min(max(below(lower), 0.0), 1.0) if lower.is_finite() else 0.0
            return Answer(least, min(above(upper), 1.0), engine.name, question.order, engine.attained, cost)

        rough = self.propose_log_delta(epsilon, rough=True) if any(law.cancels for law, _ in self.parts) else 0.0
        return self._at_growing_precision(attempt, haste, lambda: question.order, self._bits_for(max(rough, -700.0)))

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        found: Answer | None = None
        question = Question(self.parts, 0.0)

        def attempt(share: int) -> Answer | None:
            nonlocal found, question
            target, top = lift(delta) - self._revealed(), self._top()
            if target < 0:
                return Answer(inf, inf, "largest loss")
            if not target > 0:
                raise Undecided
            if top <= 0:
                return Answer(0.0, 0.0, "largest loss")
            if (ends := at_top(self.parts, top, target)) is not None:
                return Answer(*ends, "largest loss")
            question = Question(self.parts, float(target.log()), share)
            engine, cost = choose(question)
            if engine.least and not engine.delta(engine.least)[0] >= target:
                question = question.whole()
                engine, cost = choose(question)
            ends = _solve(engine, question.order, target, top)
            if ends is None:
                return None
            if found is not None and found.attained == engine.attained:  # of the same profile: both hold
                ends = max(found.lower, ends[0]), min(found.upper, ends[1])
            found = Answer(ends[0], min(ends[1], above(top)), engine.name, question.order, engine.attained, cost)
            loose = found.upper - found.lower > LOOSE * found.upper and engine.only_rounding
            if loose and share < LAST_SHARE:
                return None  # it is sound, but more bits tell more
            if top.is_finite() and found[:2] == (0.0, above(top)):
                raise NotCertified("nothing is known of epsilon but the largest loss")
            return found

        try:
            bits = self._bits_for(log(delta.numerator) - log(delta.denominator))
            return self._at_growing_precision(attempt, haste, lambda: question.order, bits)
        except NoAnswer:
            if found is None or found.lower == 0.0:
                raise
            return found

    def surely_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether one Chernoff bound shows that delta(epsilon) is at most `delta`; False says nothing."""

        def shown() -> bool:
            point, revealed = lift(epsilon), self._revealed()
            if self._top() <= point:
                return bool(revealed <= lift(delta))
            if not revealed.is_zero() or not delta > 0:
                return False
            transform = Transform(self.parts)
            c = line_for_epsilon(transform, epsilon)
            return bool(transform.log_moment(c) + tail_factor(c) - c * point <= lift(delta).log())

        try:
            return at_precision(self.bits, shown)
        except (Undecided, NotCertified, OverflowError, ZeroDivisionError):
            return False

    def deltas(self, epsilons: Sequence[Fraction], *, haste: int = 1) -> list[float]:
        """Floats above delta at increasing epsilons: an engine answers for others too, as far as it is close there."""

        def attempt() -> list[float]:
            found: list[float] = []
            more, top, engine = self._revealed(), self._top(), None
            for epsilon in epsilons:
                if top <= lift(epsilon):
                    found.append(min(above(more), 1.0))
                    continue
                upper = None if engine is None else _close(engine, epsilon)
                if upper is None:
                    try:
                        engine, _ = choose(Question(self.parts, epsilon, haste))
                        upper = engine.upper(epsilon)
                    except (NotCertified, Undecided, OverflowError, ZeroDivisionError):
                        engine = None
                upper = arb(1) if upper is None or not upper.is_finite() else upper + more
                found.append(min(above(upper), 1.0))
            return found

        return at_precision(self.bits, attempt)

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """log delta(epsilon) to a few digits (two where `rough`), in a few milliseconds: for proposals."""

        def estimate() -> float:
            question, point = Question(self.parts, epsilon), lift(epsilon)
            transform = question.transform
            if transform.largest <= point:
                return -inf
            if rough:
                return saddle_estimate(transform, question.c, point)
            try:
                with quietly():
                    contour = Contour(question.line, ROUGH, rough=True)
                if (value := contour.delta(epsilon)[1]) > 0:
                    return float(value.log().mid())
            except TooManyNodes:
                pass
            return saddle_estimate(transform, question.c, point)

        return at_precision(self.bits, estimate)

    def _at_growing_precision(
        self, attempt: Callable[[int], Answer | None], haste: int, order: Callable[[], float], bits: int
    ) -> Answer:
        share = haste
        reason = f"no certified profile within {LAST_BITS} bits: the parameters are too extreme"
        while bits <= LAST_BITS:
            try:
                answer = at_precision(bits, partial(attempt, share))
                if answer is not None:
                    return answer
            except Undecided:
                pass
            except (OverflowError, ZeroDivisionError):  # of the floats that propose where to look
                reason = "the profile is out of the range of floats"
                break
            except NotCertified as error:
                reason = str(error)
                break
            except Exception as error:
                reason = str(failure("profile", error))
                break
            # each time that the precision is raised, a smaller share of the whole effort is left
            bits, share = 2 * bits, 4 * share
        raise NoAnswer(reason, order())


def _solve(engine: Engine, order: float, target: arb, top: arb) -> tuple[float, float] | None:
    """Floats around the epsilon at which the engine's delta is the target; None where more bits are needed."""
    least = engine.least
    root = solve(engine.estimate, float(target.log()), float(least), above(top), float(engine.guess))
    upper = _outward(root, lambda e: bool(engine.upper(e) <= target), least, up=True)
    if upper is None and top.is_finite() and not engine.only_rounding:  # what was smoothed in is in the way
        upper = above(top)
    first = _apart(engine, root, order)
    lower = _outward(root, lambda e: bool(engine.delta(e)[0] >= target), least, up=False, first=first)
    return None if upper is None or lower is None else (lower, upper)


def _close(engine: Engine, epsilon: Fraction) -> arb | None:
    """What is above delta(epsilon), if what is below it is not far away."""
    if epsilon < engine.least:
        return None
    lower, upper = engine.near(epsilon)
    return upper if upper.is_finite() and lower > 0 and upper - lower <= upper * NEAR else None


def _apart(engine: Engine, root: float, order: float) -> int:
    """The power of two nearest to how far below the root, as a part of it, the lower end crosses the target."""
    lower, upper = engine.delta(Fraction(root))
    gap = above((upper - lower) / upper / (root * order)) if root and upper > 0 else 0.0
    return frexp(gap)[1] - 1 if 2.0**SAME < gap < 1 else SAME


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
