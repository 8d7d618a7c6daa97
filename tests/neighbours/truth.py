"""The most that the neighbours of a composition tell, among those that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, isfinite, log
from random import Random
from typing import Protocol

import numpy as np

from neighbours.law import SLACK, Law, Pair, together
from neighbours.peak import peak

ORDERS = np.geomspace(0.02, 2000, 36)


class Known(Protocol):
    """Neighbours of one mechanism, and what they come near to."""

    @property
    def pairs(self) -> Sequence[Pair]: ...

    @property
    def limits(self) -> Sequence[Pair]: ...

    @property
    def family(self) -> Callable[[float], Pair] | None: ...


def _directions(pairs: Sequence[Pair]) -> list[Pair]:
    return [direction for pair in pairs for direction in pair.both()]


class Truth:
    """What a composition tells, from below: no guarantee may be less; and from above: no lower end may be more.

    Each part is a mechanism with its count. Cumulants add up, so that neighbours are chosen for each part and order
    apart; for hockey sticks whole compositions are listed: of the first neighbours, both ways, of random ones, where
    every run has a direction of its own, and for a single mechanism of each of the others.
    """

    def __init__(self, parts: Sequence[tuple[Known, int]], rng: Random, choices: int) -> None:
        counts = [count for _, count in parts]
        known = [_directions(case.pairs) for case, _ in parts]
        self.below = list(zip(known, counts, strict=True))
        self.above = [([*pairs, *_directions(case.limits)], n) for pairs, (case, n) in zip(known, parts, strict=True)]
        self.families = [case.family for case, _ in parts]
        self.whole = [together([pairs[way].power(n) for pairs, n in self.below]) for way in (0, 1)]
        for _ in range(choices):
            self.whole.append(together([rng.choice(pairs) for pairs, n in self.below for _ in range(n)]))
        if len(parts) == 1:
            self.whole += [pair.power(counts[0]) for pair in known[0][2 : 2 + 4 * choices : 2]]
        self.limits: list[Pair] = []
        if any(case.limits for case, _ in parts):
            nearest = [
                case.limits[0] if case.limits else pairs[0] for pairs, (case, _) in zip(known, parts, strict=True)
            ]
            self.limits = [together([pair.power(n) for pair, n in zip(nearest, counts, strict=True)])]

    def cumulant(self, s: float, *, above: bool) -> float:
        """At the order 1 + s."""
        if above:
            return sum(n * max(pair.high.cumulant(s) for pair in pairs) for pairs, n in self.above)
        return sum(n * max(pair.low.cumulant(s) for pair in pairs) for pairs, n in self.below)

    def kl(self, *, above: bool) -> float:
        """At order 1."""
        if above:
            return sum(n * max(pair.high.kl() for pair in pairs) for pairs, n in self.above)
        return sum(n * max(pair.low.kl() for pair in pairs) for pairs, n in self.below)

    def largest(self) -> float:
        """At order infinity."""
        return sum(n * max(pair.low.largest() for pair in pairs) for pairs, n in self.below)

    def rho(self, *, above: bool) -> float:
        """The largest ratio of divergence and order: on a grid; from above refined, as it is to reach the peak."""

        def ratio(s: float) -> float:
            return self.cumulant(s, above=above) / (s * (1 + s))

        if not above or not isfinite(self.kl(above=False)):
            return max(self.kl(above=above), *(ratio(s) for s in ORDERS))
        for _ in range(2):  # the worst member of a family depends on the order, and the order on the member
            s = exp(peak(lambda x: ratio(exp(x)), log(1e-3), log(ORDERS[-1]), 45, 30))
            self._join(lambda law: law.cumulant(s) / s)  # noqa: B023 - called at once
            self._join(Law.kl)
        return max(self.kl(above=True), ratio(s))

    def _join(self, measure: Callable[[Law], float]) -> None:
        """The members of families that are worst in some respect are neighbours too."""
        for family, (pairs, _) in zip(self.families, self.above, strict=True):
            if family is not None:
                pairs.extend(family(peak(lambda x: measure(family(x).high), 0, 1)).both())  # noqa: B023

    def points(self, rng: Random) -> tuple[float, float]:
        """Two epsilons: one where much is told, one anywhere up to the largest loss."""
        spread, typical = (x if isfinite(x) else 3.0 for x in (self.largest(), self.kl(above=False)))
        return rng.random() * min(spread, 3 * typical**0.5 + typical), rng.random() * min(spread, 40.0)

    def delta(self, epsilon: float) -> float:
        """From below."""
        return max(pair.low.delta(epsilon, -1) for pair in self.whole)

    def most(self, epsilon: float) -> float:
        """From above."""
        return max(pair.high.delta(epsilon, 1) for pair in (*self.whole, *self.limits))


def adaptive(known: Sequence[Sequence[Law]], epsilon: float) -> float:
    """delta of the adversary that picks the next pair of neighbours after each outcome, the best of those known.

    The loss so far is all that counts: the value of the last step is its hockey stick at what is left of epsilon.
    """

    def value(step: int, left: np.ndarray) -> np.ndarray:
        best = np.zeros_like(left)
        for law in known[step]:
            rest = left[:, None] - np.clip(law.loss, -1e4, 1e4)
            if step + 1 == len(known):
                gained = (law.p * -np.expm1(np.minimum(rest, 0))).sum(axis=1)
            else:
                gained = (law.p * value(step + 1, rest.ravel()).reshape(rest.shape)).sum(axis=1)
            best = np.maximum(best, gained)
        return best

    return max(float(value(0, np.array([epsilon]))[0]) - SLACK, 0.0)


def coarse(pairs: Sequence[Pair], most: int) -> list[Law]:
    """Fewer outcomes, for sums over all their combinations: bounds from below still."""
    return [direction.low.merged(above=False, most=most) for direction in _directions(pairs)]
