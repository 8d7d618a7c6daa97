"""Intervals hold at their level: coverage computed exactly over every number of holders, and a Wald interval fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from itertools import pairwise, product
from math import gcd, lcm
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpz_poly

import zcdp
from zcdp.estimation.frequency_estimates import Counts
from zcdp.estimation.frequency_intervals import clients_interval, population_interval, upper_tail
from zcdp.estimation.support import Support
from zcdp.numeric.balls import at_precision

LEVELS = (0.95, 0.999)
MECHANISMS = {
    "k-RR": zcdp.RandomizedResponse(epsilon=1, k=20),
    "k-RR at a large epsilon": zcdp.RandomizedResponse(epsilon=9, k=300),
    "RAPPOR": zcdp.RAPPOR(epsilon=2),
    "unary": zcdp.UnaryEncoding("0.999", "0.9"),
    "OUE": zcdp.OptimizedUnaryEncoding(epsilon=3),
    "subset": zcdp.SubsetSelection(epsilon="0.5", k=9, size=3),
    "Hadamard": zcdp.HadamardResponse(epsilon=2),
    "local hashing": zcdp.LocalHashing(epsilon=1, g=3, random_hash=True),
    "linear hashing": zcdp.LinearHashing(epsilon=3, g=7, k=40),
    "RAPPOR with memory": zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=9),
    "binary, the ones": zcdp.BinaryRandomizedResponse("0.9", "0.2"),
}
"""Of each the count of supports is Bin(N, p) + Bin(n-N, q), whatever the others hold: tests/estimation/channels.py."""


@cache
def law(n: int, holders: int, p: float, q: float) -> Any:
    """Of the count, by adding one client after the other."""
    masses = np.array([1.0])
    for client in range(n):
        chance = p if client < holders else q
        masses = np.convolve(masses, [1 - chance, chance])
    return masses


def worst_miss(ends: tuple[Any, Any], n: int, support: Support) -> float:
    """The largest probability, over how many of n clients hold the value, that the interval misses the share."""
    low, high = ends
    return max(
        float(law(n, holders, support.p, support.q)[(low > holders / n + 1e-12) | (high < holders / n - 1e-12)].sum())
        for holders in range(n + 1)
    )


def exact(n: int, support: Support, risk: float) -> tuple[Any, Any]:
    low, high = clients_interval(np.arange(n + 1.0), n, support, risk)
    return low / n, high / n


def wald(n: int, support: Support, risk: float) -> tuple[Any, Any]:
    share = np.arange(n + 1.0) / n
    half = NormalDist().inv_cdf(1 - risk / 2) * np.sqrt(share * (1 - share) / n) / support.gain
    middle = (share - support.q) / support.gain
    return middle - half, middle + half


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_share_among_the_clients_is_covered(name: str, level: float) -> None:
    the_share_is_covered(name, level, [*range(1, 15), 20, 29, 40])


@pytest.mark.deep
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_share_among_the_clients_is_covered_for_every_n_up_to_40(name: str, level: float) -> None:
    the_share_is_covered(name, level, range(1, 41))


def the_share_is_covered(name: str, level: float, sizes: Iterable[int]) -> None:
    support = MECHANISMS[name].support
    worst = max(worst_miss(exact(n, support, 1 - level), n, support) for n in sizes)
    assert worst <= (1 - level) * (1 + 1e-9)
    assert worst > 0 or support.p > 0.99  # and it is no wider than need be


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_wald_interval_is_caught(name: str, level: float) -> None:
    support = MECHANISMS[name].support
    assert max(worst_miss(wald(n, support, 1 - level), n, support) for n in (1, 5, 20, 40)) > 2 * (1 - level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_share_in_the_population_is_covered(name: str, level: float) -> None:
    support = MECHANISMS[name].support
    for n in (1, 2, 7, 19, 40):
        low, high = population_interval(np.arange(n + 1.0), n, support, 1 - level)
        # also at the ends themselves, where coverage is least: just inside and outside
        shares = np.unique(np.clip(np.concatenate((np.linspace(0, 1, 23), low - 1e-9, high + 1e-9)), 0, 1))
        for share in shares:
            chance = support.q + support.gain * share
            masses = law(n, n, chance, chance)
            assert float(masses[(low > share) | (high < share)].sum()) <= (1 - level) * (1 + 1e-9)


def test_tails_are_never_below_the_exact_ones() -> None:
    """In fractions, at every count; and hardly above."""
    for n, p, q in product((1, 2, 6, 40), (0.5, 0.9998), (1e-6, 0.25)):
        for holders in {0, 1, n // 2, n}:
            law = [Fraction(1)]
            for client in range(n):
                chance = Fraction(p if client < holders else q)
                law = [a * (1 - chance) + b * chance for a, b in zip([*law, 0], [0, *law], strict=True)]
            counts = np.arange(n + 2.0)
            got = upper_tail(counts, np.array(float(holders)), n, (p, 1 - p), (q, 1 - q))
            for c, tail in enumerate(got):
                exact_tail = sum(law[c:], Fraction(0))
                assert Fraction(float(tail)) >= exact_tail
                if c > sum(place * mass for place, mass in enumerate(law)):
                    assert float(tail) <= float(exact_tail) * (1 + 1e-9)
                else:
                    assert exact_tail >= Fraction(1, 2)  # never at most half a risk


def test_tails_agree_with_balls_at_every_size() -> None:
    def reference(n: int, c: int, q: float) -> float:
        """The sum of the masses from c on, one after the other, until they are nothing."""

        def add() -> float:
            chance = arb(q)
            log_mass = (
                arb(n + 1).lgamma()
                - arb(c + 1).lgamma()
                - arb(n - c + 1).lgamma()
                + c * chance.log()
                + (n - c) * (1 - chance).log()
            )
            mass, total, at = log_mass.exp(), arb(0), c
            first = mass
            while at <= n and mass > first * 1e-25:
                total += mass
                mass = mass * (n - at) / (at + 1) * (chance / (1 - chance))
                at += 1
            return float(total)

        return at_precision(200, add)

    for n, q in ((1000, 0.3), (10**6, 0.25), (10**6, 1e-5), (10**8, 1e-7), (10**9, 0.5)):
        spread = (n * q * (1 - q)) ** 0.5
        counts = np.ceil(n * q + spread * np.array([0.3, 2.0, 4.5])) if n < 10**9 else np.ceil([n * q + 5 * spread])
        got = upper_tail(counts, np.array(0.0), n, (0.5, 0.5), (q, 1 - q))
        if n == 10**9:
            assert 2.8e-7 < float(got[0]) < 2.9e-7  # the normal law: 2.867e-7
            continue
        for c, tail in zip(counts, got, strict=True):
            expected = reference(n, int(c), q)
            assert expected <= tail <= expected * (1 + 1e-8)


def test_simultaneous_intervals_hold_together() -> None:
    """Of 60 collections of 50 values at level 0.9: more than 20 misses would come once in 10^6 runs."""
    m, n, k = zcdp.OptimizedUnaryEncoding(epsilon=2), 300, 50
    values = np.minimum(np.arange(n) % 97, k - 1)
    truth = np.bincount(values, minlength=k) / n
    misses = 0
    for _ in range(60):
        low, high = m.estimate(m.count(m.release(values, d=k), k=k)).interval("0.9")
        misses += bool(((low > truth) | (high < truth)).any())
    assert misses <= 20


def test_ends_are_within_the_possible_and_ordered() -> None:
    m = zcdp.RandomizedResponse(epsilon=3, k=4)
    for supports in ([0, 0, 0, 1], [10, 0, 0, 0], [3, 3, 3, 1]):
        for of in ("clients", "population"):
            low, high = m.estimate(Counts(repr(m), sum(supports), supports)).interval(of=of)
            assert (low >= 0).all()
            assert (low <= high).all()
            assert (high <= 1).all()


def test_the_consistent_box_and_the_heavy_values() -> None:
    m = zcdp.RandomizedResponse(epsilon=3, k=4)
    h = m.estimate(Counts(repr(m), 1000, [800, 150, 25, 25]))
    c = h.consistent()
    assert c.possible
    assert c.frequencies.sum() == pytest.approx(1)
    assert (c.frequencies >= 0).all()
    low, high = h.interval()
    assert (c.lower >= low - 1e-12).all()
    assert (c.upper <= high + 1e-12).all()
    assert not hasattr(c, "standard_error")
    assert h.heavy().tolist() == [0, 1]
    assert h.heavy(above=0.5).tolist() == [0]
    impossible = zcdp.UnaryEncoding("0.99", "0.01")
    assert not impossible.estimate(Counts(repr(impossible), 1000, [900, 900])).consistent().possible


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda m: m.count([0, 4], k=4), "reports must lie in 0 .. 3: these are of another design"),
        (lambda m: m.count([-1]), "reports must lie in 0 .. 3: these are of another design"),
        (lambda m: m.count([0], k=5), "k (5) must be the 4 of the mechanism"),
        (lambda m: m.estimate(m.count([])), "there are no reports: nothing can be estimated"),
        (lambda m: m.tally([1, -1]), "a report cannot have come less than 0 times"),
        (lambda m: m.tally([1, 0, 0, 0, 1]), "reports must lie in 0 .. 3: these are of another design"),
        (lambda m: Counts(repr(m), -3, [0, 0, 0, 0]), "reports (-3) must not be negative"),
        (lambda m: Counts(repr(m), 3, [1, -1, 0, 3]), "supports must not be negative: value 1 has -1"),
        (lambda m: Counts(repr(m), 3, [4, 0, 0, 0]), "supports must be at most the number of reports (3), not 4"),
        (
            lambda m: m.count([1]) + zcdp.RandomizedResponse(epsilon=2, k=4).count([1]),
            "counts of different designs do not add up: RandomizedResponse(epsilon=1, k=4) of 4 values and "
            "RandomizedResponse(epsilon=2, k=4) of 4",
        ),
        (
            lambda m: m.estimate(zcdp.RandomizedResponse(epsilon=2, k=4).count([1])),
            "these are counts of RandomizedResponse(epsilon=2, k=4), not of RandomizedResponse(epsilon=1, k=4)",
        ),
        (lambda m: m.estimate(m.count([1])).interval(1), "level (1) must lie strictly between 0 and 1"),
        (lambda m: m.estimate(m.count([1])).interval(of="all"), "of ('all') must be 'clients' or 'population'"),
        (lambda m: m.standard_error(clients=10, frequency=2), "frequency (2) must lie between 0 and 1"),
        (
            lambda m: zcdp.RAPPOR(epsilon=1).count(np.array([[255]], np.uint8), k=5),
            "a report has bits beyond the 5 values: these are of another design",
        ),
        (
            lambda m: zcdp.RAPPOR(epsilon=1).count(np.array([[255]], np.uint8), k=9),
            "each report must be a row of 2, not of shape (1, 1)",
        ),
        (
            lambda m: zcdp.SubsetSelection(epsilon=1, k=4, size=2).count([[1, 1]]),
            "each report must be a row of increasing values: these are of another design",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused(make: Any, error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        make(zcdp.RandomizedResponse(epsilon=1, k=4))
    assert str(caught.value) == error


# Where reports add weights or signs, coverage in exact integers: every number of holders, whatever the others hold.


LEVELS_OF_SUMS = ("0.95", "0.999")


Law = dict[Fraction, Fraction]
"""What the report of one client adds to a sum, and with which probability."""


@dataclass(frozen=True)
class Sums:
    """A value's sum over all reports, told apart by what a client holds: the value itself first, then others."""

    name: str
    laws: Sequence[Law]
    ends: Callable[[Any, int, float], tuple[Any, Any]]
    """Of the interval, for each sum of n reports, at a risk."""
    estimate: Callable[[Any, int], tuple[Any, Any]]
    """Its point and its standard error there, likewise: for the interval that must fail."""

    @property
    def lattice(self) -> tuple[Fraction, Fraction]:
        """The least that a report adds, and the step: it adds the least and some steps."""
        places = sorted({place for law in self.laws for place in law})
        unit = lcm(*(place.denominator for place in places))
        return places[0], Fraction(gcd(*(int((b - a) * unit) for a, b in pairwise(places))), unit)

    def polynomials(self) -> tuple[list[Any], int]:
        """The laws as polynomials of whole numbers, the power of x for the steps; and what the numbers are parts of."""
        least, step = self.lattice
        unit = lcm(*(mass.denominator for law in self.laws for mass in law.values()))
        rows = []
        for law in self.laws:
            row = [0] * (1 + int((max(law) - least) / step))
            for place, mass in law.items():
                row[int((place - least) / step)] += int(mass * unit)
            rows.append(fmpz_poly(row))
        return rows, unit


def splits(n: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way in which n clients are of so many kinds."""
    if kinds == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in splits(n - first, kinds - 1):
            yield (first, *rest)


def worst_miss_of_sums(sums: Sums, n: int, risk: float) -> Fraction:
    """The largest probability, over all that n clients may hold, that the interval misses the share of holders."""
    laws, unit = sums.polynomials()
    least, step = sums.lattice
    powers = [[law**m for m in range(n + 1)] for law in laws]
    places = np.array([float(n * least + m * step) for m in range(n * max(law.degree() for law in laws) + 1)])
    low, high = sums.ends(places, n, risk)
    missed = [np.flatnonzero((low > N / n + 1e-12) | (high < N / n - 1e-12)).tolist() for N in range(n + 1)]
    worst = 0
    for held in splits(n, len(laws)):
        law = reduce(lambda a, b: a * b, (powers[kind][m] for kind, m in enumerate(held)))
        worst = max(worst, sum(int(law[place]) for place in missed[held[0]]))
    return Fraction(worst, unit**n)


def of_channel(name: str, rows: Sequence[Sequence[str]], values: Sequence[int]) -> Iterator[Sums]:
    channel = zcdp.Channel(rows)
    for v in values:
        weights = channel.weights[v]
        order = [v, *(x for x in range(channel.k) if x != v)]
        laws: list[Law] = []
        for x in order:
            law: Law = {}
            for weight, mass in zip(weights, channel.rows[x], strict=True):
                law[weight] = law.get(weight, Fraction(0)) + mass
            laws.append({place: mass for place, mass in law.items() if mass})

        def ends(places: Any, n: int, risk: float, v: int = v) -> tuple[Any, Any]:
            return channel._estimator.ends(v, places, n, risk, of="clients")

        def estimate(places: Any, n: int, v: int = v) -> tuple[Any, Any]:
            points = places / n
            errors = [
                channel._estimator.standard_error(np.full(channel.k, point), n, of="clients")[v]
                for point in np.clip(points, 0, 1)
            ]
            return points, np.array(errors)

        yield Sums(f"{name}, value {v}", laws, ends, estimate)


def of_blocks(e: int, blocks: int) -> Sums:
    """A report falls into the block of its value with probability (e + 1)/(e + 2B - 1), else it is of any other."""
    whole = e + 2 * blocks - 1
    own = {
        Fraction(1): Fraction(e, whole),
        Fraction(0): Fraction(2 * blocks - 2, whole),
        Fraction(-1): Fraction(1, whole),
    }
    same = {Fraction(s): Fraction(e + 1, 2 * whole) for s in (1, -1)} | {Fraction(0): Fraction(2 * blocks - 2, whole)}
    other = {Fraction(s): Fraction(1, whole) for s in (1, -1)} | {Fraction(0): Fraction(whole - 2, whole)}
    m = zcdp.HadamardResponse(epsilon=f"log({e})", blocks=blocks)

    def ends(places: Any, n: int, risk: float) -> tuple[Any, Any]:
        return m._estimator.interval(places, n, risk, of="clients")

    def estimate(places: Any, n: int) -> tuple[Any, Any]:
        points = m._estimator.frequencies(places, n)
        return points, m._estimator.standard_error(np.clip(points, 0, 1), n, of="clients")

    return Sums(f"Hadamard, e^epsilon = {e}, {blocks} blocks", [own, same, other], ends, estimate)


SUMS = [
    *of_channel("an output that tells nothing", [["1/2", "1/4", "1/4"], ["1/4", "1/4", "1/2"]], (0,)),
    *of_channel("mostly true", [["9/10", "1/20", "1/20"], ["1/20", "9/10", "1/20"], ["1/10", "1/10", "4/5"]], (0, 2)),
    *of_channel(
        "four outputs",
        [["1/8", "1/4", "3/8", "1/4"], ["3/8", "1/4", "1/8", "1/4"], ["3/8", "3/8", "1/8", "1/8"]],
        (0, 1, 2),
    ),
    of_blocks(3, 2),
    of_blocks(40, 3),
    of_blocks(400, 2),
]
"""The values that are left out stand to the others as one that is in."""


def wald_of_sums(sums: Sums) -> Sums:
    """The same sums with the interval of the textbook: the estimate and its standard error, as if it were normal."""

    def ends(places: Any, n: int, risk: float) -> tuple[Any, Any]:
        points, errors = sums.estimate(places, n)
        half = NormalDist().inv_cdf(1 - risk / 2) * errors
        return points - half, points + half

    return replace(sums, ends=ends)


def named(sums: Sums) -> str:
    return sums.name


def holds(sums: Sums, level: str, sizes: Sequence[int]) -> bool:
    risk = 1 - Fraction(level)
    return all(worst_miss_of_sums(sums, n, float(risk)) <= risk for n in sizes)


@pytest.mark.parametrize("level", LEVELS_OF_SUMS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_intervals_hold(sums: Sums, level: str) -> None:
    assert holds(sums, level, (3, 8))


@pytest.mark.parametrize("level", LEVELS_OF_SUMS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_a_wald_interval_is_caught_where_reports_add_weights(sums: Sums, level: str) -> None:
    assert not holds(wald_of_sums(sums), level, (8, 40))


@pytest.mark.deep
@pytest.mark.parametrize("level", LEVELS_OF_SUMS)
@pytest.mark.parametrize("sums", SUMS, ids=named)
def test_intervals_hold_for_every_n_up_to_40(sums: Sums, level: str) -> None:
    assert holds(sums, level, range(1, 41))
