"""Noisy comparisons: the laws of noisy max and of sparse vector by chi-square, streams that end, bits drawn late."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import ReportNoisyMax, SparseVector
from zcdp.samplers.lazy_laplace import AboveThreshold, LaplaceMax

SIGNIFICANT = 1e-6


def p_value(counts: Any, law: list[float]) -> float:
    """Pearson's chi-square."""
    expected = np.array(law) * counts.sum()
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(mp.gammainc(mpf(len(law) - 1) / 2, mpf(statistic) / 2, mp.inf, regularized=True))


def tail(x: mpf) -> mpf:
    return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2


def winner(scores: list[float], rate: float) -> list[float]:
    """P(i wins) = integral of the density of its noisy score times the others' distribution functions."""

    def density(t: mpf, i: int) -> mpf:
        value = mp.exp(-abs(t - rate * scores[i])) / 2
        for n, score in enumerate(scores):
            value *= 1 if n == i else 1 - tail(t - rate * score)
        return value

    cuts = [-mp.inf, *sorted({rate * score for score in scores}), mp.inf]
    return [float(mp.quad(lambda t, i=i: density(t, i), cuts)) for i in range(len(scores))]


SCORES = [0.0, 0.5, -1.25, 0.5]


@pytest.mark.parametrize(("forced", "count"), [(False, 500_000), (True, 2_000)])
def test_the_law_of_noisy_max(forced: bool, count: int) -> None:
    drawn = LaplaceMax(lambda: arb(3) / 4, forced=forced).draw(SCORES, count)
    assert p_value(np.bincount(drawn, minlength=4), winner(SCORES, 0.75)) > SIGNIFICANT


def test_one_per_cent_of_the_scale_of_noisy_max_is_seen() -> None:
    counts = np.bincount(LaplaceMax(lambda: arb(3) / 4).draw([0.0, 2.0], 4_000_000), minlength=2)
    assert p_value(counts, winner([0.0, 2.0], 0.75)) > SIGNIFICANT
    for factor in (1.01, 0.99):  # ten standard deviations
        assert p_value(counts, winner([0.0, 2.0], 0.75 * factor)) < SIGNIFICANT


def test_one_selection_at_a_time_has_the_same_law() -> None:
    m = ReportNoisyMax(epsilon="3/2")  # noise of scale 2/epsilon: rate 3/4
    counts = np.bincount([m.release(SCORES, sensitivity=1) for _ in range(6_000)], minlength=4)
    assert p_value(counts, winner(SCORES, 0.75)) > SIGNIFICANT
    m = ReportNoisyMax(epsilon="3/2", monotone=True)
    counts = np.bincount([m.release(SCORES, sensitivity=2) for _ in range(2_500)], minlength=4)
    assert p_value(counts, winner(SCORES, 0.75)) > SIGNIFICANT


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_the_other_noises_select_as_the_mechanisms_that_they_are(noise: str) -> None:
    m = ReportNoisyMax(epsilon=2, noise=noise)
    counts = np.bincount([m.release([0, 1], sensitivity=1) for _ in range(6_000)], minlength=2)
    law = {"gumbel": [1 / (1 + mp.e), mp.e / (1 + mp.e)], "exponential": [mp.exp(-1) / 2, 1 - mp.exp(-1) / 2]}[noise]
    assert p_value(counts, [float(p) for p in law]) > SIGNIFICANT


def test_scores_far_apart_or_equal_or_huge() -> None:
    sampler = LaplaceMax(lambda: arb(1))
    assert sampler.select([-1e300, 1e300, 0.0]) == 1
    assert sampler.select([2**62, 2**62 - 1000, 0]) == 0
    assert set(sampler.draw([7.0] * 3, 200).tolist()) == {0, 1, 2}
    assert sampler.select([5.0]) == 0
    with pytest.raises(ValueError, match="scores"):
        sampler.select([])
    with pytest.raises(ValueError, match="finite"):
        sampler.select([1.0, float("nan")])


def outcomes(levels: list[float], rate: float, query_rate: float, positives: int) -> dict[tuple[int, ...], float]:
    """All that a run can say, with its probability, by quadrature over the threshold."""
    told: set[tuple[int, ...]] = {()}
    for _ in levels:
        told = {(*past, answer) if sum(past) < positives else past for past in told for answer in (0, 1)}
    cuts = [-mp.inf, *sorted({0.0, *levels}), mp.inf]

    def probability(pattern: tuple[int, ...]) -> float:
        def density(t: mpf) -> mpf:
            value = mp.exp(-abs(t) * rate) * rate / 2
            for level, answer in zip(levels, pattern, strict=False):
                above = tail((t - level) * query_rate)
                value *= above if answer else 1 - above
            return value

        return float(mp.quad(density, cuts))

    return {pattern: probability(pattern) for pattern in sorted(told)}


LEVELS = [0.5, -1.0, 0.25]


def p_value_of_runs(rows: list[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    places = {pattern: n for n, pattern in enumerate(law)}
    return p_value(np.bincount([places[row] for row in rows], minlength=len(law)), list(law.values()))


def rows_of(drawn: Any) -> list[tuple[int, ...]]:
    return [tuple(answer for answer in row if answer >= 0) for row in drawn.tolist()]


@pytest.mark.parametrize("positives", [1, 2])
def test_the_law_of_sparse_vector(positives: int) -> None:
    rows = rows_of(AboveThreshold(Fraction(1, 2), Fraction(2, 3), positives).draw(LEVELS, 200_000))
    assert p_value_of_runs(rows, outcomes(LEVELS, 0.5, 2 / 3, positives)) > SIGNIFICANT


@pytest.mark.parametrize(("rate", "query_rate"), [(0.25, 2.5), (2.5, 0.25)])
def test_one_per_cent_of_either_scale_of_sparse_vector_is_seen(rate: float, query_rate: float) -> None:
    """One query at a level of one and a half times the wider noise, which is the one that is then wrong."""
    drawn = AboveThreshold(Fraction(rate), Fraction(query_rate), 1).draw([6.0], 4_000_000)
    counts = np.bincount(drawn[:, 0], minlength=2)
    for factor in (1.0, 1.01, 0.99):
        wrong = (rate * factor, query_rate) if rate < query_rate else (rate, query_rate * factor)
        law = list(outcomes([6.0], *wrong, 1).values())
        assert (p_value(counts, law) > SIGNIFICANT) == (factor == 1)


def test_runs_one_by_one_and_by_lazy_bits_have_the_same_law() -> None:
    law = outcomes(LEVELS, 0.5, 2 / 3, 1)
    sampler = AboveThreshold(Fraction(1, 2), Fraction(2, 3), 1)
    one_by_one = [tuple(map(int, sampler.run(LEVELS))) for _ in range(2_500)]
    assert p_value_of_runs(one_by_one, law) > SIGNIFICANT
    lazy = AboveThreshold(Fraction(1, 2), Fraction(2, 3), 1, forced=True).draw(LEVELS, 2_000)
    assert p_value_of_runs(rows_of(lazy), law) > SIGNIFICANT


def test_the_mechanism_runs_with_its_own_noise() -> None:
    """Sensitivity 2, threshold 3, two positives: threshold noise of scale 2/e1, query noise of scale 2*2*2/e2."""
    m = SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=2)
    queries = [3 + 2 * level for level in LEVELS]
    rows = [tuple(map(int, m.run(queries, sensitivity=2, threshold=3))) for _ in range(2_500)]
    assert p_value_of_runs(rows, outcomes(LEVELS, 1.0, 0.5, 2)) > SIGNIFICANT
    counts = SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=2, monotone=True)
    rows = [tuple(map(int, counts.run(queries, sensitivity=2, threshold=3))) for _ in range(2_500)]
    assert p_value_of_runs(rows, outcomes(LEVELS, 1.0, 1.0, 2)) > SIGNIFICANT


def test_a_run_ends_with_its_last_positive_and_asks_no_further() -> None:
    m, asked = SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=2), []

    def queries() -> Iterator[int]:
        for value in (-1000, 1000, -1000, 1000, 1000, 1000):
            asked.append(value)
            yield value

    run = m.run(queries(), sensitivity=1)
    assert list(run) == [False, True, False, True]
    assert asked == [-1000, 1000, -1000, 1000]
    with pytest.raises(StopIteration):
        next(run)
    assert list(m.run([], sensitivity=1)) == []


def test_the_next_query_may_depend_on_the_answers() -> None:
    m, answers = SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=1), list[bool]()

    def bisect() -> Iterator[int]:
        value = -100_000
        while True:
            yield value
            value = value // 2 if not answers[-1] else value
            if len(answers) > 6:
                value = 100_000

    for answer in m.run(bisect(), sensitivity=1):
        answers.append(answer)
    assert answers == [False] * 7 + [True]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"sensitivity": 0}, "sensitivity"), ({"sensitivity": 1, "threshold": "x"}, "threshold")],
)
def test_a_run_is_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseVector(epsilon_threshold=1, epsilon_queries=1).run([1], **options)


def test_a_query_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="query"):
        list(SparseVector(epsilon_threshold=1, epsilon_queries=1).run([float("nan")], sensitivity=1))


def test_the_same_bits_decide_the_same_whether_floats_look_first_or_not() -> None:
    """Floats may only shorten the way: with the same words the forced sampler gives the same answers."""
    levels = [0.1, -0.4, 0.0, 2.0]

    def source(seed: int) -> Any:
        return Random(seed).randbytes

    for seed in range(20):
        free = AboveThreshold(Fraction(1), Fraction(1, 3), 2).draw(levels, 20, source(seed))
        lazy = AboveThreshold(Fraction(1), Fraction(1, 3), 2, forced=True).draw(levels, 20, source(seed))
        assert free.tolist() == lazy.tolist()
        one = LaplaceMax(lambda: arb(1)).draw(levels, 20, source(seed))
        other = LaplaceMax(lambda: arb(1), forced=True).draw(levels, 20, source(seed))
        assert one.tolist() == other.tolist()
