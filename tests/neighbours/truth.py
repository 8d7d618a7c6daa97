"""The most that the neighbours of a composition tell, among those that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, isfinite, log
from random import Random
from typing import Protocol

import numpy as np

from neighbours.game import envelope, worst
from neighbours.law import SLACK, Array, Law, Pair, together
from neighbours.peak import peak, peak_of_many

ORDERS = np.geomspace(0.02, 2000, 36)
LAST_ORDER = 1e6  # where samples of rarely drawn records may cost most
MEMBERS = 24  # of each family, and finer at the best of them, where one alone is not the most there is
NEAR = 1e-7  # members of families are sought no further than that
CLOSE = 1e-10  # more than what a recursion over sums of losses makes of epsilon


class Known(Protocol):
    """Neighbours of one mechanism, and what they come near to."""

    @property
    def pairs(self) -> Sequence[Pair]: ...

    @property
    def limits(self) -> Sequence[Pair]: ...

    @property
    def family(self) -> Callable[[float], Pair] | None: ...

    @property
    def every(self) -> bool: ...

    @property
    def ordered(self) -> bool: ...

    @property
    def far_rho(self) -> float: ...


WAYS = (0, 1)


def facing(pairs: Sequence[Pair], way: int, *, ordered: bool) -> list[Pair]:
    """Each pair in this order; and then in the other, where neighbours may face either way."""
    return [pair.both()[side] for pair in pairs for side in ((way,) if ordered else (way, 1 - way))]


class Truth:
    """What a composition tells, from below: no guarantee may be less; and from above: no lower end may be more.

    Each part is a mechanism with its count. Cumulants add up, so that neighbours are chosen for each part and order
    apart; for hockey sticks whole compositions are listed: of the first neighbours, both ways, of random ones, where
    every run has a direction of its own, and for a single mechanism of each of the others. Where all pairs are known
    and may face either way, the worst that an adversary can do is computed; beside others their envelope is a bound.
    Parts that are ordered all face the same way.
    """

    def __init__(self, parts: Sequence[tuple[Known, int]], rng: Random, choices: int) -> None:
        cases, counts = zip(*parts, strict=True)
        known = [[facing(case.pairs, way, ordered=case.ordered) for case in cases] for way in WAYS]
        near = [[facing(case.limits, way, ordered=case.ordered) for case in cases] for way in WAYS]
        apart = WAYS if any(case.ordered for case in cases) else WAYS[:1]
        self.below = [list(zip(known[way], counts, strict=True)) for way in apart]
        self.above = [
            [([*pairs, *limits], n) for pairs, limits, n in zip(known[way], near[way], counts, strict=True)]
            for way in apart
        ]
        self.far_rho = sum(case.far_rho * n for case, n in parts)
        self.families = [case.family for case in cases]
        self.whole = [_composed([pairs[0] for pairs in known[way]], counts) for way in WAYS]
        for _ in range(choices):
            chosen = known[rng.choice(WAYS)]
            self.whole.append(
                together([rng.choice(pairs) for pairs, n in zip(chosen, counts, strict=True) for _ in range(n)])
            )
        self.game: tuple[list[Law], int] | None = None
        if len(parts) == 1:
            [case], [count] = cases, counts
            others = case.pairs[1 : 1 + 2 * choices]
            self.whole += [pair.power(count) for pair in facing(others, 0, ordered=not case.every)]
            if case.every:
                self.game = [pair.low for pair in known[0][0]], count
        self.counts = counts
        self.choices = [
            [[*pairs, *limits] for pairs, limits in zip(known[way], near[way], strict=True)] for way in WAYS
        ]
        self.nearest = [
            [
                envelope([pair.high for pair in pairs]) if case.every else (limits or pairs)[0]
                for case, pairs, limits in zip(cases, known[way], near[way], strict=True)
            ]
            for way in WAYS
        ]
        some = any(case.limits or case.every for case in cases)
        self.limits = [_composed(nearest, counts) for nearest in self.nearest] if some else []

    def cumulant(self, s: float, *, above: bool) -> float:
        """At the order 1 + s."""
        return float(self.cumulants(np.array([s]), above=above)[0])

    def cumulants(self, s: Array, *, above: bool) -> Array:
        """At the orders 1 + s."""

        def most(pairs: Sequence[Pair]) -> Array:
            found: Array = np.max([(pair.high if above else pair.low).cumulants(s) for pair in pairs], axis=0)
            return found

        ways = self.above if above else self.below
        found: Array = np.max([sum(n * most(pairs) for pairs, n in way) for way in ways], axis=0)
        return found

    def kl(self, *, above: bool) -> float:
        """At order 1."""
        if above:
            return max(sum(n * max(pair.high.kl() for pair in pairs) for pairs, n in way) for way in self.above)
        return max(sum(n * max(pair.low.kl() for pair in pairs) for pairs, n in way) for way in self.below)

    def largest(self) -> float:
        """At order infinity."""
        return max(sum(n * max(pair.low.largest() for pair in pairs) for pairs, n in way) for way in self.below)

    def rho(self, *, above: bool) -> float:
        """The largest ratio of divergence and order: on a grid; from above refined, as it is to reach the peak."""

        def ratios(s: Array) -> Array:
            return self.cumulants(s, above=above) / (s * (1 + s))

        if not above or not isfinite(self.kl(above=False)):
            return max(self.kl(above=above), self.far_rho, float(ratios(ORDERS).max()))
        last = 0.0
        for _ in range(6):  # the worst member of a family depends on the order, and the order on the member
            s = exp(peak_of_many(lambda x: ratios(np.exp(x)), log(1e-3), log(LAST_ORDER)))
            if (found := float(ratios(np.array([s]))[0])) <= last * (1 + NEAR):
                break
            last = found
            self._join(lambda law: law.cumulant(s) / s)  # noqa: B023 - called at once
            self._join(Law.kl)
        return max(self.kl(above=True), self.far_rho, float(ratios(np.array([s]))[0]))

    def _join(self, measure: Callable[[Law], float]) -> None:
        """The members of families that are worst in some respect are neighbours too."""
        for n, family in enumerate(self.families):
            if family is not None:
                worst_member = family(peak(lambda x: measure(family(x).high), 0, 1))  # noqa: B023
                for way in self.above:
                    way[n][0].extend(worst_member.both())

    def points(self, rng: Random) -> tuple[float, float]:
        """Two epsilons: one where much is told, one anywhere up to the largest loss."""
        spread, typical = (x if isfinite(x) else 3.0 for x in (self.largest(), self.kl(above=False)))
        return rng.random() * min(spread, 3 * typical**0.5 + typical), rng.random() * min(spread, 40.0)

    def delta(self, epsilon: float) -> float:
        """From below."""
        told = max(pair.low.delta(epsilon, -1) for pair in self.whole)
        played = None if self.game is None else worst(*self.game, epsilon + CLOSE)
        return told if played is None else max(told, played - SLACK)

    def finer(self, epsilon: float) -> float:
        """From above, with each pair and each family's worst member: beside others another one may be the worst."""
        told = self.most(epsilon)
        if self.game is not None:
            return told
        for nearest, choices in zip(self.nearest, self.choices, strict=True):
            for n, (pairs, family) in enumerate(zip(choices, self.families, strict=True)):

                def tells(one: Pair, n: int = n, nearest: Sequence[Pair] = nearest) -> float:
                    composed = _composed([*nearest[:n], one, *nearest[n + 1 :]], self.counts)
                    return max(pair.high.delta(epsilon, 1) for pair in composed.both())

                told = max(told, *map(tells, pairs))
                if family is not None:
                    place = peak(lambda x: tells(family(x)), 0, 1, cells=MEMBERS)  # noqa: B023 - called at once
                    told = max(told, tells(family(place)))
        return told

    def most(self, epsilon: float) -> float:
        """From above."""
        played = None if self.game is None else worst(*self.game, epsilon - CLOSE)
        if played is not None:
            return played + SLACK * played
        return max(pair.high.delta(epsilon, 1) for pair in (*self.whole, *self.limits))


def _composed(pairs: Sequence[Pair], counts: Sequence[int]) -> Pair:
    return together([pair.power(n) for pair, n in zip(pairs, counts, strict=True)])


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
    return [pair.low.merged(above=False, most=most) for pair in pairs]
