"""delta and epsilon of a composition in one fixed order: the precision loop around an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf, log
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.certify import NotCertified, Undecided, failure
from zcdp.privacy.conversions.rdp_to_approx import tail_factor
from zcdp.privacy.loss.law import Ends, Parts
from zcdp.privacy.profile.choose import choose, second
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.effort import ROUGH
from zcdp.privacy.profile.ends import at_top, loss_that_occurs, near_one
from zcdp.privacy.profile.engine import Answer, Engine, NoAnswer
from zcdp.privacy.profile.integrand import Transform
from zcdp.privacy.profile.question import Question, line_for_epsilon, saddle_estimate
from zcdp.privacy.profile.solve import ends_of_epsilon
from zcdp.privacy.profile.trapezoid import TooManyNodes, quietly

__all__ = ["OneOrder"]

LAST_BITS = 1 << 12
CANCELLED = 1.8  # Where digits cancel, each e-fold of delta takes so many bits.
TINY = 5e-324  # What is below it is as good as known.
NEAR = 1e-3  # Two ends that differ by this part are close enough for a curve.
WIDE = 1e-4  # relative distance of two ends from which another engine is asked too
LOOSE, LAST_SHARE = 1e-10, 16  # Ends further apart are tried again with twice the bits, at most twice.

Attempt: TypeAlias = Callable[[int, list[Question]], Answer | None]
"""An answer at one precision, None where that is not enough; with a share of the effort, and what was asked so far."""


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

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Floats around delta(epsilon), for epsilon >= 0; `haste` divides the effort."""

        def attempt(share: int, asked: list[Question]) -> Answer | None:
            transform, point = Transform(self.parts), lift(epsilon)
            more = transform.revealed()
            if transform.largest <= point or more == 1:
                return Answer(max(below(more), 0.0), min(above(more), 1.0), "largest loss")
            if self._formula() is None and (lower := near_one(transform, point)) is not None:
                return Answer(below(lower), 1.0, "Chernoff bound")
            question = Question(transform, epsilon, share)
            asked.append(question)
            engine, cost = choose(question)
            lower, upper = engine.delta(epsilon)
            if not more.is_zero():  # A sum is rounded to the working precision, which an engine may exceed.
                lower, upper = lower + more, upper + more
            if not (upper < TINY or (upper.is_finite() and upper.rel_accuracy_bits() >= 50)):
                return None
            least = min(max(below(lower), 0.0), 1.0) if lower.is_finite() else 0.0
            return Answer(least, min(above(upper), 1.0), engine.name, question.order, engine.attained, cost)

        rough = self.propose_log_delta(epsilon, rough=True) if any(law.cancels for law, _ in self.parts) else 0.0
        return self._at_growing_precision(attempt, haste, self._bits_for(max(rough, -700.0)))

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        found: Answer | None = None

        def attempt(share: int, asked: list[Question]) -> Answer | None:
            nonlocal found
            transform = Transform(self.parts)
            target, top = lift(delta) - transform.revealed(), transform.largest
            if target < 0:
                return Answer(inf, inf, "largest loss")
            if not target > 0:
                raise Undecided
            if top <= 0:
                return Answer(0.0, 0.0, "largest loss")
            if (ends := at_top(transform, target)) is not None:
                return Answer(*ends, "largest loss")
            question = Question(transform, float(target.log()), share)
            asked.append(question)
            engine, cost = choose(question)
            if engine.least and not engine.delta(engine.least)[0] >= target:
                question = question.whole()
                asked.append(question)
                engine, cost = choose(question)
            ends = ends_of_epsilon(engine, question.order, target, top)
            if ends is None:
                return None
            wide = ends[1] - ends[0] > WIDE * ends[1] and not engine.only_rounding
            if wide and (other := second(question, engine)) is not None:
                more = ends_of_epsilon(other, question.order, target, top)
                ends = ends if more is None else (max(ends[0], more[0]), min(ends[1], more[1]))
            if found is not None and found.attained == engine.attained:  # Both hold for the same profile.
                ends = max(found.lower, ends[0]), min(found.upper, ends[1])
            found = Answer(ends[0], min(ends[1], above(top)), engine.name, question.order, engine.attained, cost)
            loose = found.upper - found.lower > LOOSE * found.upper and engine.only_rounding
            if loose and share < LAST_SHARE:
                return None  # It is sound, but more bits tell more.
            if top.is_finite() and found[:2] == (0.0, above(top)):
                raise NotCertified("nothing is known of epsilon but the largest loss")
            return found

        try:
            bits = self._bits_for(log(delta.numerator) - log(delta.denominator))
            return self._at_growing_precision(attempt, haste, bits)
        except NoAnswer:
            if found is None or found.lower == 0.0:
                raise
            return found

    def loss_that_occurs(self) -> float:
        """A float below which no epsilon has delta 0."""
        return at_precision(self.bits, lambda: max(below(loss_that_occurs(Transform(self.parts))), 0.0))

    def _formula(self) -> Ends | None:
        """Of one use with nothing beside it."""
        [(law, count), *others] = self.parts
        return law.ends_alone() if count == 1 and not others else None

    def surely_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether one Chernoff bound shows that delta(epsilon) is at most `delta`; False says nothing."""

        def shown() -> bool:
            transform, point = Transform(self.parts), lift(epsilon)
            revealed = transform.revealed()
            if transform.largest <= point:
                return bool(revealed <= lift(delta))
            if (ends := self._formula()) is not None:
                return bool(ends(point)[1] + revealed <= lift(delta))
            if not revealed.is_zero() or not delta > 0:
                return False
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
            transform, engine = Transform(self.parts), None
            more = transform.revealed()
            for epsilon in epsilons:
                if transform.largest <= lift(epsilon):
                    found.append(min(above(more), 1.0))
                    continue
                upper = None if engine is None else _close(engine, epsilon)
                if upper is None:
                    try:
                        engine, _ = choose(Question(transform, epsilon, haste))
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
            transform, point = Transform(self.parts), lift(epsilon)
            question = Question(transform, epsilon)
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

    def _at_growing_precision(self, attempt: Attempt, haste: int, bits: int) -> Answer:
        asked: list[Question] = []
        share = haste
        reason = f"no certified profile within {LAST_BITS} bits: the parameters are too extreme"
        while bits <= LAST_BITS:
            try:
                answer = at_precision(bits, partial(attempt, share, asked))
                if answer is not None:
                    return answer
            except Undecided:
                pass
            except (OverflowError, ZeroDivisionError):  # The floats that propose where to look are out of their range.
                reason = "the profile is out of the range of floats"
                break
            except NotCertified as error:
                reason = str(error)
                break
            except Exception as error:
                reason = str(failure("profile", error))
                break
            # Each time that the precision is raised, a smaller share of the whole effort is left.
            bits, share = 2 * bits, 4 * share
        raise NoAnswer(reason, asked[-1].order if asked else 1.0)


def _close(engine: Engine, epsilon: Fraction) -> arb | None:
    """What is above delta(epsilon), if what is below it is not far away."""
    if epsilon < engine.least:
        return None
    lower, upper = engine.near(epsilon)
    return upper if upper.is_finite() and lower > 0 and upper - lower <= upper * NEAR else None
