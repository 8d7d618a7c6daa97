"""The exact privacy profile of a composition: the larger of the two orders of the neighbours, where they differ."""

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

WELL = 1e-9  # An answer known so well is compared with the other order by a bound alone.
LAST_BITS = 1 << 12
OUT_OF_RANGE = "the profile is out of the range of floats"
CANCELLED = 1.8  # Where digits cancel, each e-fold of delta takes so many bits.

Attempt: TypeAlias = Callable[[int, list[Question]], Answer | None]
"""An answer at one precision, None where that is not enough; with a share of the effort, and what was asked so far."""


class Profile:
    """delta(epsilon) of a composition of laws, and its inverse, enclosed by floats.

    All laws face one way, or all of them the other; symmetric ones are the same in both. Theorem:
    docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.orders = [_OneOrder(parts)]
        for law, _ in parts:
            law.check(self.orders[0].bits)
        if not all(law.symmetric for law, _ in parts):
            self.orders.append(_OneOrder(tuple((law.reverse(), count) for law, count in parts)))
        self._last: dict[str, tuple[Fraction, int, Answer]] = {}

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Floats around delta(epsilon), for epsilon >= 0.

        `haste` divides the effort, where many answers are wanted soon: they are as sound, and less tight.
        """
        return self._remembered(
            "delta",
            epsilon,
            haste,
            lambda one: one.delta(epsilon, haste=haste),
            lambda one, found: one.surely_below(epsilon, found),
        )

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
        return self._remembered(
            "epsilon",
            delta,
            haste,
            lambda one: one.epsilon(delta, haste=haste),
            lambda one, found: one.surely_below(found, delta),
        )

    def deltas(self, epsilons: Sequence[Fraction], *, haste: int = 1) -> list[float]:
        """Floats above delta at each of many increasing epsilons, in less time than one by one."""
        orders = [one.deltas(epsilons, haste=haste) for one in self.orders]
        return [max(values) for values in zip(*orders, strict=True)]

    def loss_that_occurs(self) -> float:
        """A float below which no epsilon has delta 0: of the order that has the larger losses."""
        return max(one.loss_that_occurs() for one in self.orders)

    def delta_bounds(self, epsilon: Fraction) -> tuple[float, float]:
        """The two ends of `delta` alone."""
        return self.delta(epsilon)[:2]

    def epsilon_bounds(self, delta: Fraction) -> tuple[float, float]:
        """The two ends of `epsilon` alone."""
        return self.epsilon(delta)[:2]

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """log delta(epsilon) to a few digits (two where `rough`), in a few milliseconds: for proposals."""
        return max(one.propose_log_delta(epsilon, rough=rough) for one in self.orders)

    def _remembered(
        self,
        what: str,
        at: Fraction,
        haste: int,
        ask: Callable[[_OneOrder], Answer],
        below: Callable[[_OneOrder, Fraction], bool],
    ) -> Answer:
        """The answer; the last one of its kind is kept, as one question is often asked in several words.

        `below` tells whether the other order's answer is surely not above the first one's.
        """
        last = self._last.get(what)  # It is read once, as another thread may be asking something else.
        if last is None or last[:2] != (at, haste):
            answer = ask(self.orders[0])
            known = answer.upper - answer.lower <= WELL * answer.upper < inf
            for other in self.orders[1:]:
                sure = answer.upper if known else answer.lower  # both ends are then the first order's
                if not (0 < sure < inf and below(other, Fraction(sure))):
                    both = answer, ask(other)
                    worst = max(both, key=lambda one: one.upper)
                    answer = worst._replace(lower=max(one.lower for one in both))
            last = self._last[what] = at, haste, answer
        return last[2]


class _OneOrder:
    """The profile of the product of laws, each as it is given: the precision loop around the engines."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.bits = 128 + 2 * sum(count for _, count in parts).bit_length()

    def _bits_for(self, log_delta: float) -> int:
        """Where to begin: more than usual where the digits of a transform cancel."""
        return self.bits + int(CANCELLED * max(-log_delta, 0.0)) if self._cancels else self.bits

    @property
    def _cancels(self) -> bool:
        return any(law.cancels for law, _ in self.parts)

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        """Floats around delta(epsilon), for epsilon >= 0; `haste` divides the effort."""
        try:
            rough = self.propose_log_delta(epsilon, rough=True) if self._cancels else 0.0
        except OverflowError as error:
            raise NoAnswer(OUT_OF_RANGE, 1.0) from error
        attempt = partial(delta_by_engine, self.parts, epsilon)
        return self._at_growing_precision(attempt, haste, self._bits_for(rough if rough > -700.0 else -700.0))

    def epsilon(self, delta: Fraction, *, haste: int = 1) -> Answer:
        """Floats around the least epsilon >= 0 with delta(epsilon) <= delta, for 0 < delta < 1."""
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
        """Floats above delta at increasing epsilons."""
        return at_precision(self.bits, partial(deltas_by_engine, self.parts, epsilons, haste))

    def loss_that_occurs(self) -> float:
        """A float below which no epsilon has delta 0."""
        return at_precision(self.bits, lambda: max(below(Transform(self.parts).loss_that_occurs()), 0.0))

    def surely_below(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether the largest loss, a Chernoff bound or a coarse contour shows that delta(epsilon) <= `delta`.

        False says nothing. Theorem: docs/theorems/ends.md.
        """

        def shown() -> bool:
            question, point = Question(self.parts, epsilon=epsilon), lift(epsilon)
            if question.largest <= point:
                return bool(question.revealed <= lift(delta))
            if question.revealed - (point - question.largest).expm1() <= lift(delta):  # no loss counts for more
                return True
            if (ends := question.formula) is not None:
                return bool(ends(point)[1] + question.revealed <= lift(delta))
            if not question.revealed.is_zero() or not delta > 0:
                return False
            c = question.c
            if question.transform.log_moment(c) + tail_factor(c) - c * point <= lift(delta).log():
                return True
            if len(self.parts) == 1 or not question.transform.quick:
                return False  # The contour itself is hardly more work.
            upper = coarsely_above(question)
            return upper is not None and bool(upper <= lift(delta))

        try:
            return at_precision(self.bits, shown)
        except (Undecided, NotCertified, OverflowError, ZeroDivisionError):
            return False

    def propose_log_delta(self, epsilon: Fraction, *, rough: bool = False) -> float:
        """log delta(epsilon), near enough: for proposals."""
        return at_precision(self.bits, partial(propose_log_delta, self.parts, epsilon, rough=rough))

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
                reason = OUT_OF_RANGE
                break
            except NotCertified as error:
                reason = str(error)
                break
            except Exception as error:
                reason = str(failure("profile", error))
                break
            # Each time that the precision is raised, a smaller share of the whole effort is left.
            bits, share = 2 * bits, 4 * share
        raise NoAnswer(reason, asked[-1].s if asked else 1.0)
