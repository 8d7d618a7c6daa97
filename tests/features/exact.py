"""What two neighbours tell, where outcomes are few and masses rational: all sums are exact, and nothing is of zcdp.

A pair is the laws of the output on a data set and on its neighbour. What is known of a mechanism is the list of pairs
that one use may meet. Neighbours that differ by a record meet all uses in one order, with it first or without it
first: two lists. Of replaced ones each use may face either way: one list, closed under turning.

An adversary picks the pair of the next use after all outputs before: V_0(g) = (1 - g)_+, V_n(g) = max over the pairs of
the sum of p V_{n-1}(g q/p), where an outcome that the neighbour never has counts in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import inf, lcm, log, prod
from random import Random

import mpmath
import numpy as np

Row = tuple[Fraction, ...]
Mechanism = Callable[[tuple[int, ...]], Row]
"""The law of the output on a data set, which is a tuple of records."""

DIGITS = 60
MOST_STEPS = 150_000  # outcomes that a game looks at
MOST_STRATEGIES = 1_500
GRID = np.geomspace(1e-3, 1e14, 110)  # orders less 1, where the peak of the divergence over the order is sought
FINER = 12
SMALL, LARGE = 1e-3, 600.0  # below, powers are series; above, sums are by their largest term


@dataclass(frozen=True, eq=False)
class Pair:
    """Masses of the same outcomes under a data set and its neighbour; outcomes of one ratio are made one."""

    masses: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, p: Iterable[Fraction], q: Iterable[Fraction]) -> Pair:
        return cls.joined(zip(p, q, strict=True))

    @classmethod
    def joined(cls, masses: Iterable[tuple[Fraction, Fraction]]) -> Pair:
        same: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in masses:
            if p or q:
                key = p / q if q else None
                one, other = same.get(key, (Fraction(0), Fraction(0)))
                same[key] = one + p, other + q
        found = tuple(same.values())
        assert sum(p for p, _ in found) == sum(q for _, q in found) == 1
        return cls(found)

    @cached_property
    def turned(self) -> Pair:
        return Pair(tuple((q, p) for p, q in self.masses))

    def drawn(self, rate: Fraction) -> Pair:
        """The record takes part with this probability, else the output is that without it."""
        return Pair.joined((rate * p + (1 - rate) * q, q) for p, q in self.masses)

    def allocated(self, batches: int) -> Pair:
        """The record is in one of so many batches, all alike, and the others are without it."""
        found = []
        for drawn in product(self.masses, repeat=batches):
            without = prod((q for _, q in drawn), start=Fraction(1))
            places = (
                prod((p if m == n else q for m, (p, q) in enumerate(drawn)), start=Fraction(1)) for n in range(batches)
            )
            found.append((sum(places, Fraction(0)) / batches, without))
        return Pair.joined(found)

    @cached_property
    def _whole(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """All masses over one denominator."""
        unit = lcm(*(mass.denominator for both in self.masses for mass in both))
        return unit, tuple((int(p * unit), int(q * unit)) for p, q in self.masses)

    def hockey_stick(self, g: Fraction) -> Fraction:
        """The sum of (p - g q)_+."""
        unit, masses = self._whole
        a, b = g.numerator, g.denominator
        return Fraction(sum(max(b * p - a * q, 0) for p, q in masses), b * unit)

    @cached_property
    def infinite(self) -> Fraction:
        """The mass of outcomes that the neighbour never has."""
        return sum((p for p, q in self.masses if not q), Fraction(0))

    @cached_property
    def ratio(self) -> Fraction:
        """The largest finite ratio of probabilities."""
        return max((p / q for p, q in self.masses if p and q), default=Fraction(1))

    @cached_property
    def _excess(self) -> tuple[np.ndarray, np.ndarray]:
        """q and p/q - 1, for outcomes that the neighbour has: of small losses too to full precision."""
        some = [(float(q), float(p / q - 1)) for p, q in self.masses if q]
        return np.array([q for q, _ in some]), np.array([x for _, x in some])

    def cumulants(self, s: np.ndarray) -> np.ndarray:
        """log of the sum of p (p/q)^s, which is 1 and the sum of q ((1 + x)^a - 1 - a x), a = 1 + s, x = p/q - 1."""
        if self.infinite:
            return np.full(len(s), np.inf)
        q, x = self._excess
        a = 1 + s[:, None]
        with np.errstate(all="ignore"):
            logs = np.where(x > -1, a * np.log1p(x), -np.inf)
            far = np.expm1(np.minimum(logs, LARGE)) - a * x
            near = a * s[:, None] / 2 * x**2 * (1 + (a - 2) / 3 * x * (1 + (a - 3) / 4 * x * (1 + (a - 4) / 5 * x)))
            more = np.where(np.abs(a * x) < SMALL, near, far)
            found: np.ndarray = np.log1p((q * more).sum(axis=1))
            top = logs.max(axis=1)
            whole = top + np.log((q * np.exp(logs - top[:, None])).sum(axis=1))
        return np.where(top > LARGE, whole, found)

    @cached_property
    def kl(self) -> float:
        if self.infinite:
            return inf
        q, x = self._excess
        with np.errstate(all="ignore"):
            far = np.where(x > -1, (1 + x) * np.log1p(x), 0.0) - x
        near = x**2 / 2 * (1 - x / 3 * (1 - x / 2 * (1 - x * 3 / 5)))
        return float((q * np.where(np.abs(x) < SMALL, near, far)).sum())


def _log(x: Fraction) -> float:
    """Near 1 too, where the logarithm of a rounded ratio would lose all digits."""
    return float(np.log1p(float(x - 1))) if abs(x - 1) < Fraction(1, 4) else log(x.numerator) - log(x.denominator)


def powers(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e^epsilon."""
    if epsilon == 0:
        return Fraction(1), Fraction(1)
    with mpmath.workdps(DIGITS):
        value = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        sign, mantissa, exponent, _ = value._mpf_
    assert not sign
    middle = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return middle * (1 - Fraction(1, 10 ** (DIGITS - 5))), middle * (1 + Fraction(1, 10 ** (DIGITS - 5)))


@dataclass(frozen=True, eq=False)
class Known:
    """The pairs that one use may meet."""

    ways: tuple[tuple[Pair, ...], ...]
    """One list, closed under turning; or two: with the record first, and without it first."""
    complete: bool = True
    """Whether no neighbours tell more at any epsilon than the pairs listed, each by itself."""

    def __post_init__(self) -> None:
        assert all(self.ways)

    @classmethod
    def either(cls, pairs: Iterable[Pair], *, complete: bool = True) -> Known:
        """Each use may face either way."""
        return cls((_different([side for pair in pairs for side in (pair, pair.turned)]),), complete)

    @classmethod
    def ordered(cls, pairs: Iterable[Pair], *, complete: bool = True) -> Known:
        """These are with the record, and then without it."""
        found = _different(pairs)
        return cls((found, tuple(pair.turned for pair in found)), complete)

    def poisson(self, rate: Fraction) -> Known:
        return Known.ordered((pair.drawn(rate) for pair in self.ways[0]), complete=self.complete)

    def allocated(self, batches: int) -> Known:
        """All batches meet one pair; that is all there is if there is only one."""
        complete = self.complete and len(self.ways[0]) == 1
        return Known.ordered((pair.allocated(batches) for pair in self.ways[0]), complete=complete)

    def fixed(self, rate: Fraction) -> Known:
        """All records but one are alike, and equal to the one that it is replaced by: some data sets are so."""
        assert len(self.ways) == 1
        return Known.either((pair.drawn(rate) for pair in self.ways[0]), complete=self.complete)


def _different(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple({tuple(sorted(pair.masses)): pair for pair in pairs}.values())


def joint(parts: Sequence[Known], rng: Random) -> Known:
    """All parts on one data set, in any order of them, each pair chosen by what came out before."""
    ways = range(max(len(part.ways) for part in parts))
    found, complete = [], all(part.complete for part in parts)
    for way in ways:
        lists = [part.ways[way % len(part.ways)] for part in parts]
        pairs: list[Pair] = []
        for order in {tuple(lists), tuple(reversed(lists))}:
            whole, chosen = order[0], True
            for after in order[1:]:
                whole, all_of_them = _then(whole, after, rng)
                chosen = chosen and all_of_them
            pairs += whole
            complete = complete and chosen
        found.append(_different(pairs))
    if len(found) == 1:
        return Known.either(found[0], complete=complete)
    return Known(tuple(found), complete)


def _answered(one: Pair, chosen: Sequence[Pair]) -> Iterable[tuple[Fraction, Fraction]]:
    for (p, q), second in zip(one.masses, chosen, strict=True):
        yield from ((p * a, q * b) for a, b in second.masses)


def _then(first: Sequence[Pair], after: Sequence[Pair], rng: Random) -> tuple[tuple[Pair, ...], bool]:
    """Every strategy, or some of them: for each outcome of the first a pair of the second."""
    count = sum(len(after) ** len(one.masses) for one in first)
    found = []
    for one in first:
        outcomes = len(one.masses)
        every: Iterable[Sequence[Pair]] = product(after, repeat=outcomes)
        if count > MOST_STRATEGIES:
            every = [[second] * outcomes for second in after[:40]]
            every += [[rng.choice(after) for _ in range(outcomes)] for _ in range(4)]
        found += [Pair.joined(_answered(one, chosen)) for chosen in every]
    return tuple(found), count <= MOST_STRATEGIES


class Truth:
    """What a composition tells: numbers that neighbours attain, and where all of them are known, numbers above them."""

    def __init__(self, parts: Sequence[tuple[Known, int]], rng: Random) -> None:
        steps = [known for known, count in parts for _ in range(count)]
        self.uses = len(steps)
        self.ways = [
            [step.ways[way % len(step.ways)] for step in steps] for way in range(max(len(step.ways) for step in steps))
        ]
        self.complete = all(step.complete for step in steps)
        """Whether the numbers of single pairs bound what any neighbours tell: divergences and largest losses."""
        work = prod(sum(len(pair.masses) for pair in step) for step in self.ways[0])
        while work > MOST_STEPS:  # fewer pairs are a bound from below still
            self.complete = False
            self.ways = [[_fewer(step, rng) for step in way] for way in self.ways]
            before, work = work, prod(sum(len(pair.masses) for pair in step) for step in self.ways[0])
            if work == before:
                break
        self.ways_played = self.ways if work <= 4 * MOST_STEPS else []
        self.complete = self.complete and bool(self.ways_played)

    def delta(self, g: Fraction, *ways: int) -> Fraction:
        """At g = e^epsilon; of these ways alone, if any are named."""
        played = [self.ways_played[way] for way in ways] if ways and self.ways_played else self.ways_played
        return max((_game(way, g) for way in played), default=Fraction(0))

    def around(self, epsilon: Fraction, *ways: int) -> tuple[Fraction, Fraction]:
        """Below and above what the pairs tell at epsilon."""
        low, high = powers(epsilon)
        return self.delta(high, *ways), self.delta(low, *ways)

    @cached_property
    def infinite(self) -> Fraction:
        """The chance of an outcome that the neighbour never has."""
        return max(1 - prod(1 - max(pair.infinite for pair in step) for step in way) for way in self.ways)

    @cached_property
    def top(self) -> float:
        """The largest sum of finite losses."""
        return max(sum(_log(max(pair.ratio for pair in step)) for step in way) for way in self.ways)

    @property
    def pure(self) -> float:
        return inf if self.infinite else self.top

    def cumulants(self, s: np.ndarray) -> np.ndarray:
        ways = []
        for way in self.ways:
            each = {id(step): np.max([pair.cumulants(s) for pair in step], axis=0) for step in way}
            ways.append(sum(each[id(step)] for step in way))
        found: np.ndarray = np.max(ways, axis=0)
        return found

    def divergence(self, order: float) -> float:
        if order == 1:
            return max(sum(max(pair.kl for pair in step) for step in way) for way in self.ways)
        return float(self.cumulants(np.array([order - 1]))[0]) / (order - 1)

    @cached_property
    def rho(self) -> float:
        """The largest divergence over its order, up to some 1e-10 of it."""
        if self.infinite:
            return inf
        grid, most = GRID, self.divergence(1)
        for _ in range(6):
            values = self.cumulants(grid) / (grid * (1 + grid))
            best = int(np.argmax(values))
            most = max(most, float(values[best]))
            grid = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], FINER)
        return most


def _fewer(step: tuple[Pair, ...], rng: Random) -> tuple[Pair, ...]:
    return step if len(step) <= 2 else (step[0], *rng.sample(step[1:], max(1, len(step) // 3)))


def _game(steps: Sequence[tuple[Pair, ...]], g: Fraction) -> Fraction:
    known: list[dict[Fraction, Fraction]] = [{} for _ in steps]

    def value(step: int, g: Fraction) -> Fraction:
        if (found := known[step].get(g)) is not None:
            return found
        if step == len(steps) - 1:
            most = max(pair.hockey_stick(g) for pair in steps[step])
        else:
            most = max(
                sum((p * value(step + 1, g * q / p) if q else p for p, q in pair.masses if p), Fraction(0))
                for pair in steps[step]
            )
        known[step][g] = most
        return most

    return value(0, g)


def poisson(mechanism: Mechanism, rate: Fraction) -> Mechanism:
    """The mean over all subsets of the records, each with its chance."""

    def law(records: tuple[int, ...]) -> Row:
        rows = []
        for size in range(len(records) + 1):
            chance = rate**size * (1 - rate) ** (len(records) - size)
            rows += [(chance, mechanism(chosen)) for chosen in combinations(records, size)]
        return _mean(rows)

    return law


def allocated(mechanism: Mechanism, batches: int) -> Mechanism:
    """The mean over all ways to put each record into one of so many batches: what comes out of all of these."""

    def law(records: tuple[int, ...]) -> Row:
        known: dict[tuple[int, ...], Row] = {}
        rows: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for places in product(range(batches), repeat=len(records)):
            parts = [tuple(one for one, at in zip(records, places, strict=True) if at == n) for n in range(batches)]
            rows[tuple(parts)] += 1
            for part in parts:
                if part not in known:
                    known[part] = mechanism(part)
        found = []
        for parts, times in rows.items():
            outputs = product(*(known[part] for part in parts))
            row = tuple(prod(masses, start=Fraction(1)) for masses in outputs)
            found.append((Fraction(times, batches ** len(records)), row))
        return _mean(found)

    return law


def truncated(mechanism: Mechanism, rate: Fraction, most: int) -> Mechanism:
    """The mean over all samples; of one that is too large over all ways to keep so many of its records."""
    return poisson(lambda records: fixed(mechanism, min(most, len(records)))(records), rate)


def fixed(mechanism: Mechanism, size: int) -> Mechanism:
    """The mean over all sets of so many of the records."""

    def law(records: tuple[int, ...]) -> Row:
        chosen = Counter(tuple(sorted(one)) for one in combinations(records, size))
        return _mean([(Fraction(times, chosen.total()), mechanism(one)) for one, times in chosen.items()])

    return law


def _mean(rows: Sequence[tuple[Fraction, Row]]) -> Row:
    return tuple(sum((chance * row[n] for chance, row in rows), Fraction(0)) for n in range(len(rows[0][1])))


def beside(*mechanisms: Mechanism) -> Mechanism:
    """All of them on the same records, each with randomness of its own."""

    def law(records: tuple[int, ...]) -> Row:
        rows = [mechanism(records) for mechanism in mechanisms]
        return tuple(prod(masses, start=Fraction(1)) for masses in product(*rows))

    return law


def counts(values: tuple[int, ...], randomizer: Sequence[Row]) -> Row:
    """The law of how often each report occurs, one report of each client, by all sequences of reports."""
    found: dict[tuple[int, ...], Fraction] = {}
    outcomes = range(len(randomizer[0]))
    for reports in product(outcomes, repeat=len(values)):
        seen = tuple(reports.count(one) for one in outcomes)
        chance = prod(
            (randomizer[value][report] for value, report in zip(values, reports, strict=True)), start=Fraction(1)
        )
        found[seen] = found.get(seen, Fraction(0)) + chance
    return tuple(found[key] for key in sorted(found))
