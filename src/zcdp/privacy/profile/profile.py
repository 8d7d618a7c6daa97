"""The exact privacy profile of a composition: the larger of the two orders of the neighbours, where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf

from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile.engine import Answer
from zcdp.privacy.profile.search import OneOrder

__all__ = ["Profile"]

WELL = 1e-9  # An answer known so well is compared with the other order by a bound alone.


class Profile:
    """delta(epsilon) of a composition of laws, and its inverse, enclosed by floats.

    All laws face one way, or all of them the other; symmetric ones are the same in both. Theorem:
    docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts) -> None:
        for law in {id(law): law for law, _ in parts}.values():
            law.check()
        self.parts = parts
        self.orders = [OneOrder(parts)]
        if not all(law.symmetric for law, _ in parts):
            self.orders.append(OneOrder(tuple((law.reverse(), count) for law, count in parts)))
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
        ask: Callable[[OneOrder], Answer],
        below: Callable[[OneOrder, Fraction], bool],
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
