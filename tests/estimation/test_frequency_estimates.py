"""What a histogram publishes, against its definition in exact fractions: ends, errors, what is consistent and heavy."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp import RAPPOR, HadamardResponse, RandomizedResponse, UnaryEncoding
from zcdp.estimation.frequency_estimates import Counts, Histogram, box_in_simplex, project

N = 24
Chances = tuple[Fraction, Fraction]
"""That a report supports the value if it is held, and if not."""


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]


def law(holders: int, chances: Chances) -> list[Fraction]:
    """Of the count of supports, of which so many clients of N hold the value."""
    found = [Fraction(0)] * (N + 1)
    for one, other in product(enumerate(binomial(holders, chances[0])), enumerate(binomial(N - holders, chances[1]))):
        found[one[0] + other[0]] += one[1] * other[1]
    return found


def client_ends(c: int, chances: Chances, risk: Fraction) -> tuple[float, float]:
    """The least number of holders whose upper tail at c is above half the risk, the greatest whose lower tail is."""
    laws = [law(holders, chances) for holders in range(N + 1)]
    low = next((m for m, one in enumerate(laws) if sum(one[c:]) > risk / 2), N)
    high = max((m for m, one in enumerate(laws) if sum(one[: c + 1]) > risk / 2), default=0)
    return low / N, high / N


def check_population(c: int, ends: tuple[float, float], chances: Chances, risk: Fraction) -> None:
    """Each end is where the tail of Bin(N, q + (p - q) f) is half the risk: a little outside less, inside more."""
    p, q = chances
    near = 3e-5 * sqrt(float(p * (1 - p) + q * (1 - q))) / sqrt(N) / float(p - q)

    def tail(share: float, *, above: bool) -> Fraction:
        masses = binomial(N, q + (p - q) * Fraction(share))
        return sum(masses[c:] if above else masses[: c + 1], Fraction(0))

    for end, inside, above in ((ends[0], near, True), (ends[1], -near, False)):
        assert 0 <= end <= 1
        if 1e-300 < end < 1:  # an upper end is rounded up, away from 0
            assert tail(end, above=above) <= risk / 2 * (1 + Fraction(1, 10**9))
            assert tail(end + inside, above=above) > risk / 2
        else:  # nothing is refused there, or nothing else is left
            assert (tail(end, above=above) > risk / 2) == (round(end) == (0 if above else 1))


UNARY = zcdp.UnaryEncoding("0.8", "0.3")
BINARY = zcdp.BinaryRandomizedResponse("0.9", "0.25")
MADE: list[tuple[Any, list[int], list[Chances]]] = [
    (UNARY, [5, 9, 14, 21], 4 * [(Fraction(4, 5), Fraction(3, 10))]),
    (UNARY, [0, 7, 24], 3 * [(Fraction(4, 5), Fraction(3, 10))]),
    (BINARY, [15, 9], [(Fraction(3, 4), Fraction(1, 10)), (Fraction(9, 10), Fraction(1, 4))]),
    (BINARY, [3, 21], [(Fraction(3, 4), Fraction(1, 10)), (Fraction(9, 10), Fraction(1, 4))]),
]


def histogram(mechanism: Any, supports: list[int]) -> Histogram:
    return mechanism.estimate(Counts(repr(mechanism), N, supports))


@pytest.mark.parametrize(("mechanism", "supports", "chances"), MADE)
@pytest.mark.parametrize("level", ["0.95", "0.8"])
def test_ends_are_those_of_the_exact_tails(
    mechanism: Any, supports: list[int], chances: list[Chances], level: str
) -> None:
    made = histogram(mechanism, supports)
    for together in (False, True):
        risk = (1 - Fraction(level)) / (len(supports) if together else 1)
        low, high = made.interval(level, simultaneous=together)
        assert list(zip(low, high, strict=True)) == [
            client_ends(c, one, risk) for c, one in zip(supports, chances, strict=True)
        ]
        ends = made.interval(level, simultaneous=together, of="population")
        for c, one, a, b in zip(supports, chances, *ends, strict=True):
            check_population(c, (float(a), float(b)), one, risk)
    default = made.interval(level)
    assert [one.tolist() for one in default] == [
        one.tolist() for one in made.interval(level, simultaneous=True, of="clients")
    ]


@pytest.mark.parametrize(("mechanism", "supports", "chances"), MADE)
def test_errors_are_the_deviations_at_the_estimate(mechanism: Any, supports: list[int], chances: list[Chances]) -> None:
    """Of clients the holders are given, of a population they are drawn; an estimate outside is taken as the end."""
    made = histogram(mechanism, supports)
    points, clients, drawn = made.frequencies, made.standard_error, made.standard_error_of("population")
    for v, (c, (p, q)) in enumerate(zip(supports, chances, strict=True)):
        f = (Fraction(c, N) - q) / (p - q)
        assert points[v] == pytest.approx(float(f), rel=1e-12, abs=1e-12)
        held = min(max(f, Fraction(0)), Fraction(1))
        spread = held * p * (1 - p) + (1 - held) * q * (1 - q)
        said = held * p + (1 - held) * q
        assert clients[v] == pytest.approx(sqrt(spread / N) / float(p - q), rel=1e-12)
        assert drawn[v] == pytest.approx(sqrt(said * (1 - said) / N) / float(p - q), rel=1e-12)
    assert made.standard_error_of("clients").tolist() == clients.tolist()
    assert made.reports == N


def test_what_is_consistent_is_of_the_simultaneous_ends_at_the_level_and_of_whom_is_asked() -> None:
    """The true frequencies sum to 1: an end is cut where the others leave no room for it."""
    made = histogram(UNARY, [5, 9, 14, 21])
    for level, of in product(("0.8", "0.99"), ("clients", "population")):
        low, high = made.interval(level, simultaneous=True, of=of)
        found = made.consistent(level, of=of)
        for v in range(4):
            others = [n for n in range(4) if n != v]
            assert found.lower[v] == pytest.approx(max(low[v], 1 - sum(high[n] for n in others)), abs=1e-9)
            assert found.upper[v] == pytest.approx(min(high[v], 1 - sum(low[n] for n in others)), abs=1e-9)
        assert (found.level, found.possible) == (float(level), True)
        assert found.frequencies.tolist() == project(made.frequencies).tolist()


def test_heavy_values_have_their_lower_end_above_and_come_by_frequency() -> None:
    made = histogram(zcdp.UnaryEncoding("0.9", "0.05"), [12, 23, 1, 15, 23, 2])
    for level, of in product(("0.5", "0.95"), ("clients", "population")):
        low, _ = made.interval(level, of=of)
        for above in (0.0, 0.3, float(low[0]), float(low[1])):
            found = made.heavy(level, above=above, of=of).tolist()
            assert sorted(found) == [v for v in range(6) if low[v] > above]
            assert found == sorted(found, key=lambda v: (-made.frequencies[v], v))
    assert made.heavy("0.5").tolist() == [1, 4, 3, 0]


def test_no_point_of_the_simplex_is_nearer_than_the_projection() -> None:
    """Against all points of a lattice, the corners and edges among them."""
    rng = np.random.default_rng(8)
    lattice = np.array([one for one in product(range(13), repeat=3) if sum(one) <= 12]) / 12
    lattice = np.column_stack([lattice, 1 - lattice.sum(axis=1)])
    for scale in (0.1, 0.5, 2.0):
        for _ in range(40):
            point = rng.normal(0.25, scale, 4)
            nearest = project(point)
            assert nearest.sum() == pytest.approx(1, abs=1e-12)
            assert (nearest >= 0).all()
            assert ((nearest - point) ** 2).sum() <= ((lattice - point) ** 2).sum(axis=1).min() + 1e-12
    for given in ([0.25] * 4, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]):
        assert project(np.array(given)) == pytest.approx(given, abs=1e-15)


def test_a_box_that_the_simplex_misses_is_told_on_either_side() -> None:
    for low, high, possible in (
        ([0.3, 0.3], [0.4, 0.5], False),  # even the upper ends are too few
        ([0.6, 0.5], [0.7, 0.9], False),
        ([0.3, 0.3], [0.5, 0.5], True),
        ([0.5, 0.5], [0.7, 0.9], True),
    ):
        lower, upper, found = box_in_simplex(np.array(low), np.array(high))
        assert found is possible
        if not possible:
            assert (lower.tolist(), upper.tolist()) == (low, high)


def test_nothing_is_estimated_from_no_reports() -> None:
    with pytest.raises(ValueError, match="there are no reports"):
        UNARY.estimate(Counts(repr(UNARY), 0, [0, 0]))


# What is left of a box in the simplex, by trying all points of a lattice. (bug E2)


UNITS = 10


def boxes() -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(5)
    made = []
    while len(made) < 60:
        ends = np.sort(rng.integers(0, UNITS + 1, size=(2, int(rng.integers(2, 4)))), axis=0)
        if ends[0].sum() <= UNITS <= ends[1].sum():
            made.append((ends[0].tolist(), ends[1].tolist()))
    return made


@pytest.mark.parametrize(("low", "high"), boxes())
def test_ends_are_those_of_the_points_inside(low: list[int], high: list[int]) -> None:
    ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    inside = np.array([one for one in product(*ranges) if sum(one) == UNITS])  # vertices lie on the lattice
    lower, upper, possible = box_in_simplex(np.array(low) / UNITS, np.array(high) / UNITS)
    assert possible
    assert lower == pytest.approx(inside.min(axis=0) / UNITS, abs=1e-9)
    assert upper == pytest.approx(inside.max(axis=0) / UNITS, abs=1e-9)


# Counts add up, are compared by all that they say, and are not changed by whoever made or holds them.


def test_sums_of_signs_add_up_below_zero() -> None:
    m = HadamardResponse(epsilon=1, blocks=2)
    parts = [m.count(np.array(some), k=5) for some in ([1, 3, 7], [2, 5], [0, 0, 6])]
    whole = m.count(np.array([1, 3, 7, 2, 5, 0, 0, 6]), k=5)
    assert min(whole.supports) < 0
    assert sum(parts) == whole
    assert (parts[0] + parts[1]).signed
    assert m.estimate(sum(parts)).frequencies.tolist() == m.estimate(whole).frequencies.tolist()


def test_counts_are_equal_if_all_that_they_say_is() -> None:
    one = Counts("a", 5, [1, 2])
    assert one == Counts("a", 5, [1, 2])
    for other in (Counts("b", 5, [1, 2]), Counts("a", 6, [1, 2]), Counts("a", 5, [2, 1]), Counts("a", 5, [1, 2, 0]), 3):
        assert one != other
    assert Counts("a", 5, [1, 2]) + Counts("a", 4, [3, 0]) == Counts("a", 9, [4, 2])


def test_what_was_counted_cannot_be_changed_afterwards() -> None:
    given = np.array([1, 2])
    counts = Counts("a", 5, given)
    given[0] = 4
    assert counts.supports.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        counts.supports[0] = 3


@pytest.mark.parametrize("supports", [[3], [[1, 2], [3, 4]], [0.5, 1.0], ["a", "b"]])
def test_supports_are_whole_numbers_of_two_values_or_more(supports: list[object]) -> None:
    with pytest.raises(ValueError, match="supports must be one whole number for each of at least 2 values"):
        Counts("a", 9, supports)


def test_bounds_of_supports_are_the_number_of_reports_on_both_sides() -> None:
    assert Counts("a", 3, [3, 0]).supports.tolist() == [3, 0]
    assert Counts("a", 3, [-3, 3], signed=True).supports.tolist() == [-3, 3]
    with pytest.raises(ValueError, match=r"at most the number of reports \(3\), not 4"):
        Counts("a", 3, [-4, 3], signed=True)
    with pytest.raises(ValueError, match="counts of different designs do not add up"):
        Counts("a", 3, [1, 1]) + Counts("a", 3, [1, 1, 1])
    with pytest.raises(TypeError):
        Counts("a", 3, [1, 1]) + 3  # type: ignore[operator]


def test_counts_of_another_number_of_values_are_not_estimated() -> None:
    m = RandomizedResponse(epsilon=1, k=3)
    with pytest.raises(ValueError, match=r"k \(4\) must be the 3 of the mechanism"):
        m.estimate(Counts(repr(m), 3, [1, 1, 1, 0]))
    with pytest.raises(TypeError, match="say how many values there are: k"):
        RAPPOR(epsilon=1).count(np.zeros((2, 1), np.uint8))


def test_a_tally_is_the_count_of_the_reports_that_it_tells_of() -> None:
    """Also where trailing reports never came, and those that are not numbers of times are refused."""
    for m, k, outputs in ((RandomizedResponse(epsilon=1, k=5), 5, 5), (HadamardResponse(epsilon=1), 5, 8)):
        often = [3, 0, 2, 1]
        reports = np.repeat(np.arange(4), often)
        assert m.tally(often, k=k) == m.count(reports, k=k)
        assert m.tally([*often, *[0] * (outputs - 4)], k=k) == m.count(reports, k=k)
        with pytest.raises(ValueError, match="of another design"):
            m.tally([*often, *[0] * (outputs - 3)], k=k)
    with pytest.raises(TypeError, match="reports must be integers"):
        RandomizedResponse(epsilon=1, k=3).tally([0.5, 1.0, 1.0])


# A value is called heavy only where chance does so to any of k with at most the risk: exact binomial tails. (bug E5)


N_HEAVY_VALUES, K, Q = 100, 20, Fraction(1, 4)


def tail(c: int) -> Fraction:
    return sum(
        (comb(N_HEAVY_VALUES, m) * Q**m * (1 - Q) ** (N_HEAVY_VALUES - m) for m in range(c, N_HEAVY_VALUES + 1)),
        Fraction(0),
    )


def test_heavy_is_where_the_tail_is_below_its_share_of_the_risk() -> None:
    mechanism = UnaryEncoding("3/4", "1/4")
    share = Fraction(1, 20) / (2 * K)
    for c in range(25, 60):
        found = mechanism.estimate(Counts(repr(mechanism), N_HEAVY_VALUES, [c] + [25] * (K - 1))).heavy("0.95")
        assert found.tolist() == ([0] if tail(c) <= share else []), c


def test_a_histogram_draws_its_most_frequent_values() -> None:
    """Dots at the estimates and lines over the intervals, the most frequent on top, by their names."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    m = UnaryEncoding("3/4", "1/4")
    h = m.estimate(Counts(repr(m), 1000, [300, 700, 500]))
    axes = h.plot(names=["a", "b", "c"], top=2, level="0.9")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "c"]
    (dots,) = axes.get_lines()
    assert dots.get_xdata() == pytest.approx(h.frequencies[[1, 2]])
    (lines,) = axes.collections
    low, high = h.interval("0.9")
    assert [segment[:, 0].tolist() for segment in lines.get_segments()] == [[low[n], high[n]] for n in (1, 2)]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    plt.close(axes.figure)
