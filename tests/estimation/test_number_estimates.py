"""Means of numbers: scores without bias in fractions, and coverage of intervals over all reports, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np
import pytest

from zcdp import HybridResponse, SquareWave
from zcdp.collection.choose_number import choose_number
from zcdp.errors import BadValue
from zcdp.estimation.frequency_estimates import Counts
from zcdp.estimation.number_estimates import (
    Scores,
    mean_interval,
    most_second_moment,
    share_deviation,
    share_weights,
    window_rows,
)
from zcdp.numeric.balls import NotCertified

PLACES = [Fraction(n, 8) for n in range(9)]  # numbers that clients hold; the grid has fewer points


def row(mechanism: Any, place: Fraction) -> np.ndarray:
    """How likely each cell is for a client who holds this number, written down from what is drawn."""
    e, m = np.exp(float(mechanism.epsilon)), mechanism.steps
    low = min(int(place * m), m - 1)
    up = float(place * m - low)

    def window(i: int, w: int, steps: int) -> np.ndarray:
        weights = np.where((np.arange(steps + w) >= i) & (np.arange(steps + w) < i + w), e, 1.0)
        return weights / weights.sum()

    mixed = (1 - up) * window(low, mechanism.width, m) + up * window(low + 1, mechanism.width, m)
    if isinstance(mechanism, SquareWave):
        return mixed
    end = (1 - float(place)) * window(0, 1, 1) + float(place) * window(1, 1, 1)
    share = float(mechanism.share)
    return np.concatenate([share * mixed, (1 - share) * end])


SHAPES = [
    SquareWave(epsilon=1, steps=4, width=2),
    SquareWave(epsilon=3, steps=4, width=1),
    SquareWave(epsilon="1/2", steps=2, width=5),
    SquareWave.one_bit(epsilon=2),
    HybridResponse(epsilon=2, steps=4, width=2, share="2/3"),
]


@pytest.mark.parametrize("mechanism", SHAPES, ids=repr)
def test_scores_have_the_number_as_their_mean(mechanism: Any) -> None:
    scores = mechanism._scores
    for place in PLACES:
        law = row(mechanism, place)
        assert law @ scores.score == pytest.approx(float(place), abs=1e-12)
        spread = law @ (scores.score - float(place)) ** 2
        assert scores.deviation(float(place)) ** 2 == pytest.approx(spread, rel=1e-12)
        assert scores.least_variance <= spread * (1 + 1e-12)
        assert spread <= scores.worst_deviation**2 * (1 + 1e-12)
        assert mechanism.standard_error(clients=4, mean=place) == pytest.approx(spread**0.5 / 2)
        assert np.abs(scores.score - float(place)).max() <= scores.reach
    for i in range(mechanism.k):
        exact = [float(one) for one in mechanism._row(i)]
        assert exact == pytest.approx(row(mechanism, Fraction(i, mechanism.steps)).tolist(), rel=1e-12)
    cells = np.cos(np.arange(scores.score.size))
    told = [row(mechanism, Fraction(i, mechanism.steps)) @ cells for i in range(mechanism.k)]
    assert np.allclose(scores.means(cells), told, rtol=1e-12)


@pytest.mark.parametrize("mechanism", SHAPES, ids=repr)
@pytest.mark.parametrize("clients", [1, 3])
def test_the_variance_of_any_clients_is_below_its_bound(mechanism: Any, clients: int) -> None:
    scores = mechanism._scores
    for held in combinations_with_replacement(PLACES, clients):
        mean = np.array([float(sum(held)) / clients])
        true = np.mean([row(mechanism, x) @ (scores.score - float(x)) ** 2 for x in held])
        assert true <= scores.most_variance(mean, mean, of="clients")[0]
        drawn = true + np.var([float(x) for x in held])
        assert drawn <= scores.most_variance(mean, mean, of="population")[0] * (1 + 1e-9)


def miss(scores: Scores, laws: list[np.ndarray], mean: float, risk: float, of: str) -> tuple[float, float]:
    """How often the interval is above the mean, and below it, over all reports of these clients."""
    total = {(0,) * scores.score.size: 1.0}
    for law in laws:
        grown: dict[tuple[int, ...], float] = {}
        for counts, mass in total.items():
            for y, chance in enumerate(law):
                after = (*counts[:y], counts[y] + 1, *counts[y + 1 :])
                grown[after] = grown.get(after, 0.0) + mass * chance
        total = grown
    above = below = 0.0
    for counts, mass in total.items():
        low, high = ends(id(scores), round(float(scores.score @ counts), 9), len(laws), risk, of)
        above, below = above + mass * (low > mean + 1e-12), below + mass * (high < mean - 1e-12)
    return above, below


KNOWN: dict[int, Scores] = {}


@cache
def ends(key: int, total: float, n: int, risk: float, of: str) -> tuple[float, float]:
    return mean_interval(KNOWN[key], total, n, risk, of=of)


@pytest.mark.parametrize(("mechanism", "clients"), [(SHAPES[0], 2), (SHAPES[1], 3), (SHAPES[3], 4), (SHAPES[4], 2)])
def test_intervals_cover_the_mean_of_all_few_clients(mechanism: Any, clients: int) -> None:
    """Every multiset of numbers, every multiset of reports: neither side misses more than half the risk."""
    risk, scores = 0.4, mechanism._scores
    KNOWN[id(scores)] = scores
    held = combinations_with_replacement(PLACES[::2] if clients > 2 else PLACES, clients)
    worst = 0.0
    for numbers in held:
        mean = float(sum(numbers)) / clients
        sides = miss(scores, [row(mechanism, x) for x in numbers], mean, risk, "clients")
        assert max(sides) <= risk / 2
        worst = max(worst, *sides)
    assert worst > 0  # there is something to miss


@pytest.mark.deep
@pytest.mark.parametrize("mechanism", SHAPES, ids=repr)
@pytest.mark.parametrize("of", ["clients", "population"])
def test_intervals_cover_the_mean_of_more_clients(mechanism: Any, of: str) -> None:
    """Five clients, at risks of 0.05 and 0.3; of a population, draws from mixtures of two numbers."""
    scores = mechanism._scores
    KNOWN[id(scores)] = scores
    for risk in (0.05, 0.3):
        for one, other in combinations_with_replacement(PLACES, 2):
            for share in (0.2, 0.5):
                if of == "population":
                    law = share * row(mechanism, one) + (1 - share) * row(mechanism, other)
                    laws, mean = [law] * 4, share * float(one) + (1 - share) * float(other)
                else:
                    numbers = [one] * round(4 * share) + [other] * (4 - round(4 * share))
                    laws, mean = [row(mechanism, x) for x in numbers], float(sum(numbers)) / 4
                assert max(miss(scores, laws, mean, risk, of)) <= risk / 2


def binomial(n: int, p: float) -> np.ndarray:
    """The masses of 0 .. n; those beyond 12 standard deviations are left out where n is large."""
    reach = 12 * (n * p * (1 - p)) ** 0.5 + 100
    masses = np.zeros(n + 1)
    for j in range(max(0, int(n * p - reach)), min(n, int(n * p + reach)) + 1):
        masses[j] = exp(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * log(p) + (n - j) * log1p(-p))
    return masses


def first_beyond(law: np.ndarray, beyond: Any) -> int:
    """The least count from which on counts are beyond, among those that the law has."""
    places = np.flatnonzero(law)
    low, high = int(places[0]) - 1, int(places[-1]) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def misses_of_bits(epsilon: float, n: int, place: float, risk: str, of: str) -> tuple[float, float]:
    """How often the interval from n bits is above the mean, and below it, if all clients hold the same number."""
    m = SquareWave.one_bit(epsilon=epsilon)
    law = binomial(n, (1 + place * np.expm1(epsilon)) / (np.exp(epsilon) + 1))

    @cache
    def told(ones: int) -> tuple[float, float]:
        return m.estimate(Counts(repr(m), n, [n - ones, ones])).interval(1 - Fraction(risk), of=of)

    first = first_beyond(law, lambda ones: told(ones)[0] > place)
    last = first_beyond(law, lambda ones: told(ones)[1] >= place)
    return float(law[first:].sum()), float(law[:last].sum())


@pytest.mark.parametrize(
    ("epsilon", "n", "place", "risk", "of"),
    [
        (8, 1000, 0.002, "0.05", "clients"),
        (1, 10**6, 0.5, "0.05", "population"),
        *(
            pytest.param(epsilon, 1000, place, risk, of, marks=pytest.mark.deep)
            for epsilon, risk in ((0.5, "0.3"), (3, "0.05"))
            for place in (0.03, 0.5, 0.9)
            for of in ("clients", "population")
        ),
    ],
)
def test_intervals_of_many_reports_cover_the_mean(epsilon: float, n: int, place: float, risk: str, of: str) -> None:
    """From a thousand on the normal law and the spread that came are used; bits have a binomial law."""
    sides = misses_of_bits(epsilon, n, place, risk, of)
    assert 0 < max(sides) <= Fraction(risk) / 2


@pytest.mark.parametrize("mechanism", [SHAPES[0], SHAPES[3], SHAPES[4]], ids=repr)
def test_the_spread_that_came_is_rarely_above_its_bound(mechanism: Any) -> None:
    """Of the mean of E s^2 over few clients: every multiset of their numbers, every sequence of reports."""
    scores, squares = mechanism._scores, mechanism._scores.score**2
    for held in combinations_with_replacement(PLACES[::4], 3):
        laws = [row(mechanism, x) for x in held]
        truth = sum(float(law @ squares) for law in laws) / 3
        for risk in (0.02, 0.2):
            wrong = 0.0
            for reports in product(range(squares.size), repeat=3):
                came = float(squares[[*reports]].sum())
                if most_second_moment(scores, came, 3, risk) < truth:
                    wrong += float(np.prod([law[y] for law, y in zip(laws, reports, strict=True)]))
            assert wrong <= risk


def test_of_many_reports_the_interval_is_hardly_wider_than_the_normal_one() -> None:
    """10^8 clients: 1.96 standard errors and the error of Berry and Esseen, which is small there."""
    m = SquareWave.piecewise(epsilon=2, steps=64)
    law = row(m, Fraction(1, 2))
    found = m.estimate(Counts(repr(m), int((law * 10**8).round().sum()), (law * 10**8).round().astype(int)))
    low, high = found.interval()
    assert found.mean == pytest.approx(0.5, abs=1e-6)
    assert high - low == pytest.approx(2 * 1.96 * found.standard_error, rel=0.03)
    assert low < 0.5 < high


def test_a_range_scales_all_that_is_told() -> None:
    m = SquareWave(epsilon=1, steps=4, width=2)
    counts = Counts(repr(m), 600, [100, 90, 80, 110, 120, 100])
    plain, scaled = m.estimate(counts), m.estimate(counts, low=-10, high=30)
    assert scaled.mean == pytest.approx(-10 + 40 * plain.mean)
    assert scaled.sum == pytest.approx(600 * scaled.mean)
    assert scaled.standard_error == pytest.approx(40 * plain.standard_error)
    assert scaled.interval() == pytest.approx(tuple(-10 + 40 * end for end in plain.interval()))
    with pytest.raises(ValueError, match="there are no reports"):
        m.estimate(Counts(repr(m), 0, [0] * 6))
    with pytest.raises(ValueError, match="counts must be of 6 cells, not 5"):
        m.estimate(Counts(repr(m), 1, [0] * 5))
    with pytest.raises(ValueError, match=r"low \(1\) must be below high \(1\)"):
        m.estimate(counts, low=1, high=1)


@pytest.mark.parametrize(
    ("mechanism", "clients", "of"),
    [
        (SquareWave(epsilon=2, steps=2, width=1), 2, "clients"),
        pytest.param(SquareWave(epsilon=2, steps=2, width=1), 3, "population", marks=pytest.mark.deep),
        pytest.param(SquareWave(epsilon=3, steps=3, width=2), 3, "clients", marks=pytest.mark.deep),
        pytest.param(SHAPES[4], 2, "clients", marks=pytest.mark.deep),
        pytest.param(SHAPES[4], 2, "population", marks=pytest.mark.deep),
    ],
)
def test_shares_and_quantiles_are_missed_as_rarely_as_stated(mechanism: Any, clients: int, of: str) -> None:
    """All shares, and all quantiles, together: over every multiset of grid points, and every multiset of reports."""
    risk, k, worst = 0.4, mechanism.k, 0.0
    rows = [row(mechanism, Fraction(i, mechanism.steps)) for i in range(k)]
    known: dict[tuple[int, ...], Any] = {}
    for held in combinations_with_replacement(range(k), clients):
        truth = np.array([sum(one <= j for one in held) / clients for j in range(k - 1)])
        laws = [rows[one] for one in held]
        if of == "population":
            laws = [np.mean(laws, axis=0)] * clients
        missed = 0.0
        for reports in product(range(len(rows[0])), repeat=clients):
            counts = tuple(np.bincount(reports, minlength=len(rows[0])).tolist())
            if counts not in known:
                found = mechanism.estimate(Counts(repr(mechanism), clients, list(counts)))
                quantiles = {"1/2": found.quantile("1/2", "0.6", of=of)}
                known[counts] = found.share_below("0.6", of=of), quantiles
            (low, high), quantiles = known[counts]
            wrong = bool((low > truth + 1e-12).any() or (high < truth - 1e-12).any())
            for share, ends in quantiles.items():
                true = next(j for j in range(k) if j == k - 1 or truth[j] >= Fraction(share) - Fraction(1, 10**9))
                wrong = wrong or not ends[0] <= true / mechanism.steps + 1e-12 <= ends[1] + 2e-12
            if wrong:
                missed += float(np.prod([law[y] for law, y in zip(laws, reports, strict=True)]))
        worst = max(worst, missed)
    assert 0 < worst <= risk


def test_weights_of_shares_have_the_share_as_their_mean_and_the_stated_spread() -> None:
    for mechanism in SHAPES:
        rows = np.array([row(mechanism, Fraction(i, mechanism.steps)) for i in range(mechanism.k)])
        weights = share_weights(rows)
        for j, weight in enumerate(weights):
            assert np.allclose(rows @ weight, np.arange(mechanism.k) <= j)
        spread = max(float(rows.mean(axis=0) @ (w - (j + 1) / mechanism.k) ** 2) for j, w in enumerate(weights))
        assert share_deviation(rows) ** 2 == pytest.approx(spread)
    for fall, steps, width in ((0.1, 5, 2), (0.3, 2, 4)):
        m = SquareWave(epsilon=-np.log(fall), steps=steps, width=width)
        assert np.allclose(window_rows(fall, steps, width), [row(m, Fraction(i, steps)) for i in range(steps + 1)])


def test_shares_and_quantiles_hold_the_truth_of_the_rounded_numbers() -> None:
    """Numbers on the grid, so that rounding moves none; exact expectations in the place of draws."""
    m = SquareWave(epsilon=4, steps=8, width=2)
    held = np.array([1, 2, 5, 9, 20, 30, 20, 10, 3]) / 100
    law = sum(share * row(m, Fraction(i, 8)) for i, share in enumerate(held))
    n = 200_000
    counts = (law * n).round().astype(int)
    found = m.estimate(Counts(repr(m), int(counts.sum()), counts), low=0, high=80)
    low, high = found.share_below()
    true = np.cumsum(held)[:-1]
    assert ((low <= true) & (true <= high)).all()
    assert (high - low).max() < 0.06
    assert found.quantile("1/2") == (50.0, 50.0)  # 37% are below 50, 67% up to it
    assert found.distribution() == pytest.approx(held, abs=0.02)
    wide = SquareWave(epsilon=4, steps=100, width=2)
    fine = wide.estimate(Counts(repr(wide), 102, [1] * 102))
    with pytest.raises(ValueError, match="at most 65 grid points, not 101"):
        fine.share_below()


def test_reports_that_no_clients_send_have_ends_in_order() -> None:
    """All in the first cell: no share below the first point fits them, nor do those of two points fit each other."""
    m = SquareWave(epsilon=9, steps=4, width=2)
    found = m.estimate(Counts(repr(m), 1000, [1000, 0, 0, 0, 0, 0]))
    low, high = found.share_below("0.9")
    assert (low <= high).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    for share in ("0.1", "1/2", "0.9"):
        first, last = found.quantile(share, "0.9")
        assert first <= last


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-9"])
def test_reports_that_tell_next_to_nothing_are_refused_or_told(epsilon: str) -> None:
    """Rows that are alike but for their last digits: no weights in floats have the shares as their means."""
    m = SquareWave(epsilon=epsilon, steps=32, width=20)
    found = m.estimate(Counts(repr(m), 520, [10] * 52))
    assert found.interval() == (0.0, 1.0)
    with pytest.raises(BadValue, match="do not tell shares apart: their epsilon is too small"):
        found.share_below()
    with pytest.raises(NotCertified, match="no design is certified"):
        choose_number(low=0, high=1, clients=100, epsilon=epsilon, quantiles=True)
