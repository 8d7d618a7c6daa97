"""Checks of collections under local DP: randomizers as matrices, estimates enumerated, coverage of intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from math import prod
from operator import mul

from zcdp.mechanisms import (
    Channel,
    HybridResponse,
    LinearHashing,
    MemoizedRAPPOR,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
)
from zcdp.samplers.source import Source
from zcdp.verification.checks import Check

__all__ = ["checks"]


TOLERANCE = 1e-9
"""Relative difference allowed between rho of a formula and rho of a matrix."""


def checks(*, deep: bool) -> Iterator[Check]:
    """One check for each theorem on collections."""
    yield Check("linear-hashing", "all hashes of four values over Z_3, as a bare matrix, have this rho", _hashes)
    yield Check("memoized-rappor", "all reports of two collections, as a bare matrix, have this rho", _memory)
    yield Check("estimator", "subset selection, enumerated: the mean estimate is the indicator, exactly", _unbiased)
    yield Check("numbers", "windows and hybrids on 4 grid points, as bare matrices, have this rho", _windows)
    yield Check("numbers", "the mean of three clients is covered, over all of their reports", _covers_mean)
    yield Check("client-coins", "every stream of two bytes: coins, numbers and sets have their laws exactly", _coins)
    yield Check("heavy-hitters", "all reports about two digits, levels included, have this rho as a matrix", _strings)
    most = 40 if deep else 12
    yield Check("intervals", f"coverage is at least 0.95 for every count up to n = {most}", lambda: _covers(most))


def _hashes() -> bool:
    """rho of linear hashing equals rho of its matrix of probabilities over all hashes (a, b) and reports z."""
    keep, other = Fraction(3, 5), Fraction(1, 5)  # e^epsilon = 3
    rows = [
        [(keep if (a * (v % 3) + b * (v // 3)) % 3 == z else other) / 9 for a, b, z in product(range(3), repeat=3)]
        for v in range(4)
    ]
    formula = LinearHashing(epsilon="log(3)", g=3, k=4).rho
    return abs(Channel(rows).rho - formula) <= TOLERANCE * formula


def _memory() -> bool:
    """rho of memoized RAPPOR with two values and two collections equals rho of its matrix of probabilities."""
    f, p, q = Fraction(1, 3), Fraction(1, 4), Fraction(3, 5)

    def mass(x: int, seen: tuple[int, ...]) -> Fraction:
        """The probability of the four reported bits, two in each collection, for the value x."""
        total = Fraction(0)
        for memory in product((0, 1), repeat=2):
            kept = prod(1 - f / 2 if bit == (place == x) else f / 2 for place, bit in enumerate(memory))
            chances = [q if bit else p for bit in memory] * 2
            total += kept * prod(chance if bit else 1 - chance for chance, bit in zip(chances, seen, strict=True))
        return total

    rows = [[mass(x, seen) for seen in product((0, 1), repeat=4)] for x in range(2)]
    formula = MemoizedRAPPOR(f=f, p=p, q=q, collections=2).rho
    return abs(Channel(rows).rho - formula) <= TOLERANCE * formula


def _unbiased() -> bool:
    """The mean estimate over all reports of subset selection is 1 for the true value and 0 for the others, exactly."""
    m = SubsetSelection(epsilon="log(3)", k=5, size=2)
    assert m.support.exact is not None
    p, q, _ = m.support.exact
    reports = list(combinations(range(5), 2))
    for x in range(5):
        weights = [3 if x in report else 1 for report in reports]
        for v in range(5):
            supported = Fraction(sum(w for w, one in zip(weights, reports, strict=True) if v in one), sum(weights))
            if (supported - q) / (p - q) != (v == x):
                return False
    return True


def _windows() -> bool:
    """rho of windows, narrower and wider than the grid, and of a hybrid equals rho of their matrices."""
    e, steps, share = Fraction(3), 3, Fraction(2, 3)
    found = []
    for width in (2, 5):
        rows = [[e if i <= y < i + width else Fraction(1) for y in range(steps + width)] for i in range(steps + 1)]
        matrix = [[one / sum(row) for one in row] for row in rows]
        found.append((Channel(matrix).rho, SquareWave(epsilon="log(3)", steps=steps, width=width).rho))
        if width <= steps:
            ups = [(1 + (e - 1) * Fraction(i, steps)) / (1 + e) for i in range(steps + 1)]
            mixed = [
                [*(share * one for one in row), (1 - share) * (1 - up), (1 - share) * up]
                for row, up in zip(matrix, ups, strict=True)
            ]
            own = HybridResponse(epsilon="log(3)", steps=steps, width=width, share=share)
            found.append((Channel(mixed).rho, own.rho))
    return all(abs(one - other) <= TOLERANCE * other for one, other in found)


def _covers_mean() -> bool:
    """At level 0.8 neither end misses the mean of three numbers with more than 0.1, over all sums of their reports."""
    import numpy as np

    from zcdp.estimation.number_estimates import mean_interval

    m = SquareWave(epsilon="log(9)", steps=2, width=1)
    rows = [np.array([9.0 if y == i else 1.0 for y in range(3)]) / 11 for i in range(3)]
    score = m._scores.score
    ends = [
        mean_interval(m._scores, float(score[0] * 3 + total * (score[1] - score[0])), 3, 0.2, of="clients")
        for total in range(7)
    ]
    for held in combinations_with_replacement(range(5), 3):  # in quarters of the range: halves are rounded
        law = np.ones(1)
        for x in held:
            up = (x % 2) / 2
            law = np.convolve(law, (1 - up) * rows[x // 2] + up * rows[min(x // 2 + 1, 2)])
        mean = sum(held) / 12
        if law[[low > mean for low, _ in ends]].sum() > 0.1 or law[[high < mean for _, high in ends]].sum() > 0.1:
            return False
    return True


def _coins() -> bool:
    """Over all streams of two bytes: heads as often as p says, up to one open stream; numbers and sets even."""
    from zcdp.collection.client_coins import Chance, Power, below, distinct_below
    from zcdp.numeric.exact import Log

    def over_all(draw: Callable[[Source], object]) -> Counter[object]:
        """How often each result comes, over all streams that are long enough to tell."""
        seen: Counter[object] = Counter()
        for stream in range(1 << 16):
            left = [stream & 255, stream >> 8]

            def source(count: int, left: list[int] = left) -> bytes:
                return bytes(left.pop() for _ in range(count))

            try:
                seen[draw(source)] += 1
            except IndexError:
                seen[None] += 1
        return seen

    # (1 + x)/(2 + 5 x) with x the root of 1/2, and with x = e^-1, to 16 binary digits by decimals from elsewhere
    chances = [(Chance(1, 3), 1 / 3)]
    for power, x in (
        (Power(Log(Fraction(2)), half=True), 0.7071067811865476),
        (Power(Fraction(1)), 0.36787944117144233),
    ):
        chances.append((Chance(1, 2, 1, 5, power), (1 + x) / (2 + 5 * x)))
    for chance, p in chances:
        if over_all(chance.flip) != {True: int(p * (1 << 16)), False: (1 << 16) - int(p * (1 << 16)) - 1, None: 1}:
            return False
    numbers, sets = (
        over_all(lambda source: below(5, source)),
        over_all(lambda source: tuple(distinct_below(4, 3, source))),
    )
    del numbers[None]
    return {*numbers} == {*range(5)} and len({*numbers.values()}) == 1 == len({*sets.values()}) and len(sets) == 4


def _strings() -> bool:
    """rho of one report about the first digit, or both digits, of a string in base 3 equals rho of its matrix."""
    from zcdp.collection.heavy_hitters import HeavyHitters

    design = HeavyHitters(epsilon="log(4)", alphabet="ab", length=2, g=3, levels=(1, 2, 2), weights=(2, 1, 1))
    rows = [
        [
            Fraction(weight, 4) / 3**depth * Fraction(4 if z == sum(map(mul, vector, digits)) % 3 else 1, 6)
            for depth, weight in ((1, 2), (2, 2))
            for vector in product(range(3), repeat=depth)
            for z in range(3)
        ]
        for digits in product(range(3), repeat=2)
    ]
    formula = design.plan.rho
    return abs(Channel(rows).rho - formula) <= TOLERANCE * formula


def _covers(most: int) -> bool:
    """Intervals at level 0.95 miss the number of holders with probability at most 0.05, for all n up to `most`."""
    import numpy as np

    from zcdp.estimation.frequency_intervals import clients_interval

    support = RandomizedResponse(epsilon=1, k=8).support
    for n in range(1, most + 1):
        low, high = clients_interval(np.arange(n + 1.0), n, support, 0.05)
        for holders in range(n + 1):
            law = np.ones(1)
            for client in range(n):
                chance = support.p if client < holders else support.q
                law = np.convolve(law, [1 - chance, chance])
            if law[(low > holders) | (high < holders)].sum() > 0.05 * (1 + 1e-9):
                return False
    return True
