"""`Profile`: the exact privacy profile of a composition, the larger of its two directions; and the precision loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf, log
from typing import TypeAlias

from zcdp.numeric.balls import NotCertified, Undecided, at_precision, below, failure, lift
from zcdp.numeric.functions import tail_factor
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.engines import (
    coarsely_above,
    delta_by_engine,
    deltas_by_engine,
    epsilon_by_engine,
    propose_log_delta,
)
from zcdp.privacy.profile.question import Answer, NoAnswer, Question

__all__ = ["Profile"]

ACCURATE_ANSWER = (
    1e-9  # If the ends are this close, relatively, a bound for the other direction may replace its answer.
)
LAST_BITS = 1 << 12  # the highest working precision
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

    def delta_bounds(self, epsilon: Fraction) -> tuple[float, float]:
        """The two ends of `delta`, without the other fields of the answer."""
        return self.delta(epsilon)[:2]

    def epsilon_bounds(self, delta: Fraction) -> tuple[float, float]:
        """The two ends of `epsilon`, without the other fields of the answer."""
        return self.epsilon(delta)[:2]

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """Heuristic log delta(epsilon) to a few digits (two if `rough`), in a few milliseconds."""
        return max(one.propose_log_delta(epsilon, rough=rough) for one in self.directions)

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
            for other in self.directions[1:]:
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
        attempt = partial(delta_by_engine, self.parts, epsilon)
        return self._at_growing_precision(attempt, haste, self._bits_for(rough if rough > -700.0 else -700.0))

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Certified floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        found: Answer | None = None

        def attempt(share: int, asked: list[Question]) -> Answer | None:
            nonlocal found
            found, enough = epsilon_by_engine(self.parts, delta, share, asked, found)
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

    def surely_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the largest loss, a Chernoff bound or a coarse contour proves that delta(epsilon) <= `delta`.

        True is certified; False only means that there was no proof. Theorem: docs/theorems/ends.md.
        """

        def shown() -> bool:
            question, point = Question(self.parts, epsilon=epsilon), lift(epsilon)
            if question.largest <= point:
                return bool(question.revealed <= lift(delta))
            if question.revealed - (point - question.largest).expm1() <= lift(delta):  # by the largest loss
                return True
            if (ends := question.formula) is not None:
                return bool(ends(point)[1] + question.revealed <= lift(delta))
            if not question.revealed.is_zero() or not delta > 0:
                return False
            c = question.c
            if question.transform.log_moment(c) + tail_factor(c) - c * point <= lift(delta).log():
                return True
            if len(self.parts) == 1 or not question.transform.quick:
                return False  # The exact answer takes hardly more work than a coarse contour.
            upper = coarsely_above(question)
            return upper is not None and bool(upper <= lift(delta))

        try:
            return at_precision(self.bits, shown)
        except (Undecided, NotCertified, OverflowError, ZeroDivisionError):
            return False

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """Heuristic log delta(epsilon)."""
        return at_precision(self.bits, partial(propose_log_delta, self.parts, epsilon, rough=rough))

    def _at_growing_precision(self, attempt: Attempt, haste: int, bits: int) -> Answer:
        """The first answer at growing precision (Ziv's strategy); raises `NoAnswer`, with the reason."""
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
            except (OverflowError, ZeroDivisionError):  # Heuristic floats are out of range.
                reason = OUT_OF_RANGE
                break
            except NotCertified as error:
                reason = str(error)
                break
            except Exception as error:
                reason = str(failure("profile", error))
                break
            # Operations take longer at a higher precision, so fewer of them are allowed.
            bits, share = 2 * bits, 4 * share
        raise NoAnswer(reason, asked[-1].s if asked else 1.0)
