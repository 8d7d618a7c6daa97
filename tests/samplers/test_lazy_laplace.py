"""Lazy Laplace variables: what their bits say, and comparisons that come closer than floats can tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
from flint import arb
from mpmath import mp, mpf
from samplers.laws import exact, real

from zcdp.numeric.balls import at_precision
from zcdp.samplers.lazy_laplace import AboveThreshold, LaplaceMax, LazyLaplace, greatest

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
