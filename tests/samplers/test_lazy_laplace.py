"""Lazy Laplace variables: what their bits say, and comparisons that come closer than floats can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import arb
from independent.bits import seeded
from mpmath import mp, mpf
from samplers.output_laws import exact, real

from zcdp import ReportNoisyMax, SparseVector
from zcdp.numeric.balls import at_precision
from zcdp.samplers.lazy_laplace import LEAST_FLOAT_V, AboveThreshold, LaplaceMax, LazyLaplace, greatest, near
from zcdp.samplers.source import BLOCK

Source = Callable[[int], bytes]
HALF = 2**62
"""V = 1/2, of 63 bits: Z = log 2."""


def told(*words: int) -> Source:
    """Words of 64 bits, in blocks of any length, and nothing after them."""
    left = b"".join(word.to_bytes(8, "little") for word in words)

    def source(count: int) -> bytes:
        nonlocal left
        assert count <= len(left), "more bits are asked for than a comparison needs"
        taken, left = left[:count], left[count:]
        return taken

    return source


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("v", [1, 2, 12345, HALF, 2**63 - 1])
@pytest.mark.parametrize("more", [(), (0,), (2**64 - 1,), (7, 2**63 + 5)])
def test_a_variable_is_known_to_lie_between_the_ends_of_its_bits(v: int, sign: int, more: tuple[int, ...]) -> None:
    """Z = -log V for V in [v, v+1)/2^known, or its negative: no less than that is told, and not much more."""
    variable, known = LazyLaplace(v << 1 | sign, told(*more)), 63
    for word in more:
        v, known = v << 64 | word, known + 64
        assert variable.refine() == known
    ball = at_precision(known + 64, variable.ball)
    with mp.workdps(120):
        ends = sorted((-1 if sign else 1) * -mp.log(mpf(v + n) / mpf(2) ** known) for n in (0, 1))
        middle, radius = (mpf(part.str(70, radius=False)) for part in (ball.mid(), ball.rad()))
        slack = (ends[1] - ends[0]) / 1000
        assert ends[0] - slack < middle - radius < ends[0] + slack
        assert ends[1] - slack < middle + radius < ends[1] + slack


def test_a_variable_without_a_bit_that_is_set_may_be_anything() -> None:
    for sign in (0, 1):
        variable = LazyLaplace(sign, told(0, 1))
        for _ in range(2):
            ball = at_precision(300, variable.ball)
            assert not ball.is_finite()
            assert ball.overlaps(arb(10**9))
            assert ball.overlaps(arb(-(10**9)))
            variable.refine()
        assert at_precision(300, variable.ball).is_finite()


def test_the_greatest_of_sums_is_told_by_as_many_bits_as_it_takes() -> None:
    """Three variables of the same first 63 bits, of which two share 64 more: the least V is the largest Z."""
    for order in permutations(range(3)):
        first, second = (2**40, 2**40, 2**60), (2**60, 2**50, 0)
        words = [first[n] for n in order] + [second[n] for n in order if n < 2]
        source = told(*words)
        sums = [(lambda: arb(0), LazyLaplace(HALF << 1, source)) for _ in order]
        assert order[greatest(sums)] == 1
    for order in permutations(range(3)):  # the negative of it: the largest V
        source = told(*((2**40, 2**60, 2**60)[n] for n in order), *((0, 2**50, 2**60)[n] for n in order if n > 0))
        sums = [(lambda: arb(0), LazyLaplace(HALF << 1 | 1, source)) for _ in order]
        assert order[greatest(sums)] == 2


def word_of(z: Any) -> int:
    """63 bits of V = exp(-z), and a positive sign."""
    return int(mp.exp(-z) * mpf(2) ** 63) << 1


@pytest.mark.parametrize("power", [-9, -11, -12, -13, -17])
@pytest.mark.parametrize("behind", ["1", "10/3", "5"])
@pytest.mark.parametrize("rate", ["1", "1/7", "5/2"])
def test_noisy_scores_closer_than_floats_can_tell_are_compared_exactly(rate: str, behind: str, power: int) -> None:
    """The one that is behind has noise that makes up for it, but for 10^power: on either side."""
    r, gap = Fraction(rate), Fraction(behind)
    select = LaplaceMax(real(r))
    for side in (-1, 1):
        with mp.workdps(60):
            z = mp.log(2) + exact(r * gap) + side * mpf(10) ** power
            if mp.exp(z) * mpf(2) ** -63 > mpf(10) ** power / 2:
                continue  # 63 bits of V do not place it so well
            word = word_of(z)
        for scores, words, wins in (
            ([gap, Fraction(0)], (HALF << 1, word), 1),
            ([Fraction(0), gap], (word, HALF << 1), 0),
        ):
            bits = told(*words, 2**63, 2**63)
            assert select.draw(scores, 1, bits).tolist() == [wins if side > 0 else 1 - wins]


@pytest.mark.parametrize("power", [-9, -14, -16])
@pytest.mark.parametrize(("rate", "query_rate"), [("1", "1"), ("1/2", "1/6"), ("1/10", "3")])
@pytest.mark.parametrize("level", ["1/3", "-7/10"])
def test_queries_closer_to_the_threshold_than_floats_can_tell(
    rate: str, query_rate: str, level: str, power: int
) -> None:
    """query + Z_n/b >= Z/e1 where the two differ by 10^power: by a run and by an array of runs."""
    e1, b, query = Fraction(rate), Fraction(query_rate), Fraction(level)
    run = AboveThreshold(e1, b, 1)
    for side in (-1, 1):
        with mp.workdps(60):
            word = word_of(mpf(3))
            noise = -mp.log(mpf(word >> 1) / 2**63)  # the threshold lies just beside the noisy query
            threshold = (exact(query * b) + noise - side * mpf(10) ** power) * exact(e1 / b)
            own = word_of(threshold)
            least, most = (-mp.log(mpf((own >> 1) + n) / 2**63) * exact(b / e1) for n in (1, 0))
            decided = exact(query * b) + noise - (most if side > 0 else least)
            if decided * side < 0:
                continue  # 63 bits of the threshold do not place it so well
        assert run.draw([query], 1, told(own, word, *[2**63] * 2)).tolist() == [[int(side > 0)]]
        assert list(run.run([query], told(own, word, *[2**63] * 2))) == [side > 0]


@pytest.mark.parametrize("ratio", [1, 20, 200])
def test_bits_of_a_threshold_count_as_often_as_it_is_wider_than_the_noise(ratio: int) -> None:
    """V of the threshold is 2^-29: 34 bits of it are known, and its next ones decide, the more so the wider it is."""
    run, v = AboveThreshold(Fraction(1, ratio), Fraction(1), 1), 2**34
    with mp.workdps(60):
        ends = [ratio * -mp.log(mpf(v + n) / 2**63) for n in (0, 1)]
        middle = (ends[0] + ends[1]) / 2 - mp.log(2)  # log 2 is the noise of the query
        level = Fraction(int(middle * mpf(2) ** 120), 2**120)
    for more, above in ((2**64 - 2**60, True), (2**60, False)):
        for answers in (
            run.draw([level], 1, told(v << 1, HALF << 1, 0, more)).tolist()[0],
            list(run.run([level], told(v << 1, HALF << 1, 0, more))),
        ):
            assert answers == [above]


def test_a_threshold_keeps_the_bits_that_it_got() -> None:
    """Two queries with the first bits of the threshold: the bits that the first query made it draw bind the second."""
    for low, high in ((2**20, 2**64 - 2**20), (2**60, 2**63)):
        for second, (first, last) in product((2**61, 2**62 + 2**61), ((low, high), (high, low))):
            # bits of the first query, of the threshold, of the second query, and again of the threshold
            words = [HALF << 1] * 3
            more = [2**62, first, second, last]
            run = AboveThreshold(Fraction(1), Fraction(1), 3)
            wanted = [more[0] < first, second < first]  # a smaller V is a larger Z
            assert run.draw([0, 0], 1, told(*words, *more)).tolist() == [[int(one) for one in wanted]]
            # one after another, a query's first bits come when it is asked
            words = [HALF << 1, HALF << 1, *more[:2], HALF << 1, *more[2:]]
            assert list(run.run([0, 0], told(*words))) == wanted


def test_levels_of_a_run_are_exact_numbers() -> None:
    """Two queries that are one float: the noise lies between them and the threshold."""
    run = AboveThreshold(Fraction(1), Fraction(1), 2)
    small = Fraction(1, 2**90)
    for query, above in ((1 + small, True), (1 - small, False)):
        with mp.workdps(60):
            v = int(mp.exp(mpf(1)) * (2**60 << 64 | 2**63))  # of the query: its Z is less by 1, to 127 bits
        words = [2**60 << 1, (v >> 64) << 1, v & (2**64 - 1), 2**63]
        assert list(run.run([query], told(*words))) == [above]
        assert run.draw([query], 1, told(*words)).tolist() == [[int(above)]]


@pytest.mark.parametrize("ahead", [0, 1])
def test_sums_whose_balls_overlap_are_not_told_apart_by_their_middles(ahead: int) -> None:
    """Equal to 127 bits, and one ahead by a quarter of what these leave open: the next bits turn it round, or not."""
    numbers = [lambda: arb(0), lambda: arb(0)]
    numbers[ahead] = lambda: arb(2) ** -128
    for turned in (True, False):
        last = [0, 2**64 - 1] if turned == (ahead == 1) else [2**64 - 1, 0]
        source = told(2**40, 2**40, *last)
        sums = [(number, LazyLaplace(HALF << 1, source)) for number in numbers]
        assert greatest(sums) == (1 - ahead if turned else ahead)


# Noisy comparisons: the laws of noisy max and of sparse vector by chi-square, streams that end, bits drawn late.


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


# Numbers beyond 2^32, 2^53 and 2^63: words by enumeration, laws by quantiles and by every digit, from seeded bits.


def test_a_variable_whose_digits_a_float_does_not_know_is_said_to_be_unknown() -> None:
    """Z = -log V: below 2^-30 the bits that are known leave V open by more than the margin."""
    for v, sign in product((0, 1, LEAST_FLOAT_V - 1, LEAST_FLOAT_V, 2**62), (0, 1)):
        (size,), (unknown,) = near(np.array([v << 1 | sign], dtype=np.uint64))
        with mp.workdps(30):
            ends = [float(-mp.log(mpf(max(v + more, 1)) / 2**63)) for more in (0, 1)]
        assert unknown == (v < LEAST_FLOAT_V)
        if not unknown:
            assert abs(abs(size) - ends[0]) <= 2.0**-29
            assert abs(ends[1] - ends[0]) <= 2.0**-29
        else:
            assert abs(size) <= ends[1] + 2.0**-29  # it is larger than that
        assert (size < 0) == bool(sign)


FAR, NEAR, HALF_WORD = 2 << 1, (2**62) << 1, (2**62 + 5) << 1
"""Words of a positive variable: of V = 2^-62, so that Z is 42.97, and of V = 1/2."""


def told_bits(*numbers: int) -> Source:
    """These words of 64 bits first, then seeded ones; not without end."""
    head, tail, left = b"".join(n.to_bytes(8, "little") for n in numbers), seeded(1), [50]

    def source(count: int) -> bytes:
        nonlocal head
        left[0] -= 1
        assert left[0], "it does not come to an end"
        taken, head = head[:count], head[count:]
        return taken + tail(count - len(taken))

    return source


@pytest.mark.parametrize("rare", ["threshold", "query"])
def test_a_comparison_with_rare_noise_is_made_by_its_bits(rare: str) -> None:
    """Floats take the noise for 20.8 where it is 42.97: 30 more or less are then on the wrong side."""
    run = AboveThreshold(Fraction(1), Fraction(1), 1)
    level, words = (30, (FAR, NEAR)) if rare == "threshold" else (-30, (NEAR, FAR))
    assert run.draw([level], 1, told_bits(*words)).tolist() == [[rare == "query"]]
    assert list(run.run([level], told_bits(*words))) == [rare == "query"]


def test_two_variables_of_the_same_bits_are_told_apart_by_more_of_both() -> None:
    run = AboveThreshold(Fraction(1), Fraction(1), 1)
    first, second = 5, 2**64 - 9  # the bits of the query's variable, then of the threshold's: V smaller is Z larger
    assert list(run.run([0], told_bits(NEAR, NEAR, first, second))) == [True]
    assert list(run.run([0], told_bits(NEAR, NEAR, second, first))) == [False]
    assert LaplaceMax(lambda: arb(1)).draw([0.0, 0.0], 1, told_bits(HALF_WORD, HALF_WORD, first, second)).tolist() == [
        0
    ]
    assert LaplaceMax(lambda: arb(1)).draw([0.0, 0.0], 1, told_bits(HALF_WORD, HALF_WORD, second, first)).tolist() == [
        1
    ]


@pytest.mark.parametrize("behind", [0, 30, 41, 45])
def test_the_largest_of_rare_noise_is_found_by_its_bits(behind: int) -> None:
    """A score that is 30 behind with noise of 42.97 wins; one whose noise is -42.97 does not win against -30."""
    select = LaplaceMax(lambda: arb(1))
    assert select.draw([float(-behind), 0.0], 1, told_bits(FAR, NEAR)).tolist() == [int(behind > 42)]
    assert select.draw([0.0, float(-behind)], 1, told_bits(FAR | 1, NEAR)).tolist() == [int(behind < 43)]


@pytest.mark.parametrize("power", [1000, -1000])
def test_the_largest_at_a_rate_that_no_float_holds(power: int) -> None:
    select = LaplaceMax(lambda: arb(2) ** power)
    drawn = select.draw([0.0, 1.0, 0.5], 60, seeded(8)).tolist()
    assert set(drawn) == ({1} if power > 0 else {0, 1, 2})


def test_the_largest_of_more_scores_than_a_block() -> None:
    scores = np.zeros(BLOCK + 11)
    drawn = LaplaceMax(lambda: arb(1)).draw(scores, 12, seeded(9)).tolist()
    assert len(set(drawn)) > 10
    assert max(drawn) > BLOCK // 2
    scores[BLOCK + 3] = 200.0
    assert LaplaceMax(lambda: arb(1)).draw(scores, 2, seeded(9)).tolist() == [BLOCK + 3] * 2
