"""Numbers beyond 2^32, 2^53 and 2^63: words by enumeration, laws by quantiles and by every digit, from seeded bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import erfc, exp, floor, sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest
from flint import arb
from independent.bits import seeded
from mpmath import mp, mpf
from samplers.chi_square import p_value
from samplers.laws import exact, real

from zcdp import Gaussian, Laplace, Logistic
from zcdp.samplers import source as uniform
from zcdp.samplers.coins import Rate
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise, LowBits, attach, attach_one
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_laplace import LEAST_FLOAT_V, AboveThreshold, LaplaceMax, near
from zcdp.samplers.reports import HadamardReports, LinearHashReports, SubsetSelection, distinct
from zcdp.samplers.selection_draws import Scores
from zcdp.samplers.source import BLOCK, bits
from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

DRAWS, CELLS = 2000, 20
Source = Callable[[int], bytes]


def spelled(*numbers: tuple[int, int]) -> Source:
    """Answers of so many bits each, as `bits` reads them: in the highest bits of a little-endian number of bytes."""
    answers: Iterator[bytes] = iter([(n << (-size % 8)).to_bytes((size + 7) // 8, "little") for n, size in numbers])
    return lambda count: next(answers)


def test_bits_are_read_as_they_are_spelled() -> None:
    for number, size in ((5, 3), (0, 9), (2**70 - 1, 70), (2**64, 65), (1, 64)):
        assert bits(size, spelled((number, size))) == number


@pytest.mark.parametrize("n", [2**32 + 1, 2**33, 2**63 + 5, 2**64, 2**64 + 1, 3 * 2**70 + 1, 10**30, 2**200 - 1])
def test_a_uniform_integer_of_any_size_is_the_first_word_below_its_bound(n: int) -> None:
    """Of all words of ceil(log2 n) bits one stands for each number, and those from n on are drawn again."""
    size = (n - 1).bit_length()
    for value in (0, 1, 2**32, 2**64 - 1, 2**64, n // 2, n - 2, n - 1):
        if value < n:
            assert uniform.one_below(n, spelled((value, size))) == value
    for beyond in {n, n + 1, 2**size - 1}:
        if n <= beyond < 2**size:
            assert uniform.one_below(n, spelled((beyond, size), (2**size - 1, size), (7, size))) == 7


@pytest.mark.parametrize("length", [45, 48, 49, 64, 100, 2000])
@pytest.mark.parametrize("shift", [-1, 0, 1])
@pytest.mark.parametrize("more", [0, 2**64 - 1])
def test_long_low_digits_are_kept_with_the_exact_probability(length: int, shift: int, more: int) -> None:
    """A proposal l is kept if U < exp(-rate l), U of 16 bits and then all zeros or all ones."""
    rate = Fraction(1, 40 << length)
    low, top = LowBits(real(rate), length), (1 << length) - 1
    for proposal in (0, 1, top // 3, 1 << (length - 1), top):
        with mp.workdps(60):
            edge = mp.exp(-exact(rate) * proposal) * 65536
            cell = min(int(edge) + shift, 65535)
            kept = cell + mpf(more) / 2**64 < edge
        asked = [] if cell < low._sure_one else [(more, 64)]
        again = proposal ^ 1
        source = spelled((proposal << 16 | cell, length + 16), *asked, (again << 16, length + 16))
        assert low.draw_one(source) == (proposal if kept else again)


@pytest.mark.parametrize("length", [8, 24, 44])
def test_digits_that_64_bits_do_not_hold_are_refused_and_never_cut(length: int) -> None:
    """One bit is left for the sum with a value: what is drawn lies within 2^62."""
    low = LowBits(real(Fraction(1, 2 ** (length + 6))), length)
    limit = 2**62 >> length
    for high in (-limit, -limit + 1, -1, 0, limit - 1):
        one, many = attach_one(high, low, bytes), attach(np.array([high]), low, bytes)
        assert many.tolist() == [one]
        assert -(2**62) <= one < 2**62
    for high in (-limit - 1, limit, 4 * limit, -4 * limit, 2**62):
        with pytest.raises(OverflowError, match="does not fit in 64 bits"):
            attach(np.array([high]), low, bytes)


def laplace(x: float) -> float:
    return exp(x) / 2 if x < 0 else 1 - exp(-x) / 2


def normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2


def logistic(x: float) -> float:
    return 1 / (1 + exp(-x))


def even_stairs(x: float) -> float:
    """Staircase noise at epsilon 1 whose outer parts have no width, in units of a stair."""
    if x < 0:
        return 1 - even_stairs(-x)
    stair, b = floor(x), exp(-1)
    return 1 - b**stair * (1 - (1 - b) * (x - stair)) / 2


def floored(draw: Callable[[Any, Source], Any]) -> Callable[[int, Source], Any]:
    return lambda count, source: draw(np.zeros(count), source).tolist()


def one_by_one(draw: Callable[[Source], Any]) -> Callable[[int, Source], Any]:
    return lambda count, source: [draw(source) for _ in range(count)]


class Wide(NamedTuple):
    """How to draw, a law on the line that noise so wide is as good as, its scale, and the digits that must be fair."""

    draw: Callable[[int, Source], Any]
    law: Callable[[float], float]
    scale: int
    digits: range


def _wide() -> Iterator[tuple[str, Wide]]:
    for power in (47, 50, 51, 52, 61, 64, 90):
        scale, digits = 2**power + 12345, range(power - 6)
        noise = DiscreteLaplaceNoise(real(Fraction(1, scale)))
        yield f"discrete laplace 2^{power}", Wide(noise.draw, laplace, scale, digits)
        yield f"one discrete laplace 2^{power}", Wide(one_by_one(noise.draw_one), laplace, scale, digits)
    for power in (39, 40, 41, 62, 100):
        sigma, digits = 2**power + 12345, range(power - 6)
        gaussian = DiscreteGaussianNoise(Fraction(sigma) ** 2)
        yield f"discrete gaussian 2^{power}", Wide(gaussian.draw, normal, sigma, digits)
        yield f"one discrete gaussian 2^{power}", Wide(one_by_one(gaussian.draw_one), normal, sigma, digits)
    for power in (40, 47, 52, 59):
        scale, digits = 2**power + 12345, range(max(0, power - 44), power - 6)  # of floats
        rate, one = real(Fraction(1, scale)), Fraction(1)
        yield f"laplace 2^{power}", Wide(floored(GridLaplace(rate, one).release), laplace, scale, digits)
        yield f"logistic 2^{power}", Wide(floored(logistic_on_grid(rate, one).release), logistic, scale, digits)
        square = Fraction(scale) ** 2
        yield f"gaussian 2^{power}", Wide(floored(gaussian_on_grid(square, one).release), normal, scale, digits)
    for power, r in ((39, 2**39 - 1), (42, 2**42), (58, 2**58 - 1), (80, 2**80)):
        stairs = DiscreteStaircaseNoise(real(Fraction(1)), 2**power, r)
        yield f"discrete staircase 2^{power}", Wide(stairs.draw, even_stairs, 2**power, range(power - 6))
    for power in (35, 45):
        on_grid = GridStaircase(real(Fraction(1)), Fraction(2**power), lambda: 1 - arb(2) ** -60, Fraction(1))
        yield f"staircase 2^{power}", Wide(floored(on_grid.release), even_stairs, 2**power, range(power - 6))


WIDE = dict(_wide())


def uniform_p_value(drawn: list[int], law: Callable[[float], float], scale: int) -> float:
    """That of F(X), which is uniform."""
    ranks = np.array([int(CELLS * law(float(Fraction(x, scale)))) for x in drawn])
    return p_value(ranks, list(range(CELLS - 1)), lambda k: mpf(k + 1) / CELLS)


@pytest.mark.parametrize("name", WIDE)
def test_the_law_and_every_digit_of_wide_noise(name: str) -> None:
    """F(X) is uniform; all draws differ; and each binary digit well below the scale is as often 0 as 1."""
    draw, law, scale, digits = WIDE[name]
    drawn = [int(x) for x in draw(DRAWS, seeded(len(name)))]
    assert len(set(drawn)) == DRAWS
    assert uniform_p_value(drawn, law, scale) > 1e-4
    for digit in digits:
        assert abs(sum(x >> digit & 1 for x in drawn) - DRAWS / 2) < 5 * sqrt(DRAWS / 4), digit


def test_another_scale_of_wide_noise_is_seen() -> None:
    """The test above can fail: a fifth more or less is rejected."""
    draw, law, scale, _ = WIDE["discrete laplace 2^61"]
    drawn = [int(x) for x in draw(DRAWS, seeded(3))]
    assert uniform_p_value(drawn, law, scale * 6 // 5) < 1e-6
    assert uniform_p_value(drawn, law, scale * 4 // 5) < 1e-6


@pytest.mark.parametrize("step", [Fraction(8), Fraction(1 << 20), Fraction(7), Fraction(1 << 12, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "uint64", "object"])
def test_integers_that_no_float_holds_are_rounded_once(step: Fraction, dtype: str) -> None:
    """Noise of 2^-60 steps: what is released is the grid point nearest to the integer, not to a float near it."""
    values = [
        n
        for start in (2**53, 2**54, 2**56, 3 * 2**59)
        for n in range(start - 9, start + 10)
        if (2 * n / step).denominator != 1 or (2 * n / step) % 2 == 0  # halves go either way
    ]
    values += [-n for n in values] if dtype != "uint64" else [2**63 + n for n in (3, 5, 11)] if step > 8 else []
    wanted = [float(floor(n / step + Fraction(1, 2)) * step) for n in values]
    array = np.array(values, dtype=dtype)
    scale = step / 2**60
    for noise in (
        GridLaplace(real(1 / scale), step),
        gaussian_on_grid(scale**2, step),
        logistic_on_grid(real(1 / scale), step),
        GridStaircase(real(Fraction(1)), scale, lambda: arb(1) / 2, step),
    ):
        assert noise.release(array, seeded(1)).tolist() == wanted
        if dtype == "object":
            assert [noise.release_one(Fraction(n), seeded(1)) for n in values] == wanted


@pytest.mark.parametrize(
    ("scores", "dtype"),
    [
        ([2**62, 2**62 + 3, 2**62 - 5], "int64"),
        ([2**63 - 1, -(2**63), 2**63 - 2], "int64"),
        ([2**64 - 1, 0, 2**64 - 2, 2**53 + 1], "uint64"),
        ([-(2**53) - 1, -(2**53), -(2**53) + 1], "int64"),
    ],
)
def test_scores_that_no_float_tells_apart_are_apart_by_their_difference(scores: list[int], dtype: str) -> None:
    rate = Rate(real(Fraction(1, 7)))
    candidates = Scores(np.array(scores, dtype=dtype), rate)
    gaps = [max(scores) - score for score in scores]
    assert [candidates.gap(n) for n in range(len(scores))] == gaps
    assert candidates.gaps(slice(None)).tolist() == [float(gap) for gap in gaps]
    for n, gap in enumerate(gaps):
        with mp.workdps(40):
            edge = int(mp.exp(-mpf(gap) / 7) * 65536)
        for cell in {max(edge - 1, 0), min(edge + 1, 65535)} - {edge}:
            assert candidates.flip(n, 0, cell, bytes) is (cell < edge or gap == 0)


def test_a_short_list_of_long_integers_is_no_list_of_machine_words() -> None:
    from zcdp.samplers.selection_draws import few

    assert few([2**63 - 1, -(2**63)]) is not None
    for beyond in (2**63, -(2**63) - 1, 2**2000):
        assert few([0, beyond]) is None


@pytest.mark.parametrize("k", [2**16 + 3, 2**20, 2**31])
@pytest.mark.parametrize("blocks", [1, 3])
def test_hadamard_reports_of_many_values_have_the_sign_of_their_row(k: int, blocks: int) -> None:
    reports = HadamardReports(lambda: arb(200), k, blocks)
    width = 1 << (-(-k // blocks)).bit_length()
    values = np.array([0, 1, 2**15, 2**16, 2**16 + 2, k // 2, k - 2, k - 1] * 20)
    for value, output in zip(values.tolist(), reports.report(values, seeded(2)).tolist(), strict=True):
        block, row = value // (width - 1), value % (width - 1) + 1
        assert output // width == block
        assert (row & output % width).bit_count() % 2 == 0


@pytest.mark.parametrize(("g", "k"), [(2**31 - 1, 2**31 - 1), (2, 2**60), (3, 3**38), (46337, 46337**3)])
def test_linear_hashes_of_up_to_62_bits_are_exact(g: int, k: int) -> None:
    digits = next(n for n in range(1, 70) if g**n >= k)
    assert g ** (digits + 1) <= 2**62
    values = [0, 1, g - 1, k // 2, k - 2, k - 1] * 30
    reports = LinearHashReports(lambda: arb(200), g, k).report(np.array(values), seeded(5)).tolist()
    vectors = set()
    for value, report in zip(values, reports, strict=True):
        vector, bucket = divmod(report, g)
        vectors.add(vector)
        assert 0 <= vector < g**digits
        assert sum(vector // g**n % g * (value // g**n % g) for n in range(digits)) % g == bucket
    assert len(vectors) > 0.9 * len(values) or g**digits < 10**6
    with pytest.raises(ValueError, match="at most 62 bits"):
        LinearHashReports(lambda: arb(1), g, k * g * 2 ** (62 - (g ** (digits + 1)).bit_length() + 1))


def test_subsets_of_nearly_2_to_63_values() -> None:
    k, w = 2**63, 4
    values = np.array([0, 1, 2**62, k - 2, k - 1] * 40)
    for epsilon, held in ((300, True), (0, None)):
        rows = SubsetSelection(lambda epsilon=epsilon: arb(epsilon) + arb(2) ** -40, k, w).report(values, seeded(4))
        assert (rows >= 0).all()
        assert (np.diff(rows.astype(object), axis=1) > 0).all()
        if held:
            assert (rows == values[:, None]).any(axis=1).all()
    # numbers beside the value go round it: those from the value on are one more than what was drawn
    drawn = distinct(k - 1, w, 2000, seeded(6))
    assert abs((drawn < 2**62).mean() - 0.5) < 0.03
    assert int(drawn.max()) > k - 2**54
    assert int(drawn.max()) <= k - 2


@pytest.mark.parametrize(("width", "r"), [(2**60, 2**59), (2**62, 1), (2**40, 2**40)])
def test_stairs_beyond_64_bits_are_exact_products(width: int, r: int) -> None:
    noise = DiscreteStaircaseNoise(real(Fraction(1)), width, r)

    class Told:
        low = None

        def draw(self, count: int, source: Source) -> Any:
            return np.resize(np.array([0, 1, 3, 2**20, 2**23]), count)

    noise._stair = Told()  # type: ignore[assignment]
    drawn = noise.draw(500, seeded(7))
    stairs = [(abs(int(x)) // width) for x in drawn if x]
    wanted = np.resize(np.array([0, 1, 3, 2**20, 2**23]), 500)[np.array([bool(x) for x in drawn])].tolist()
    assert stairs == wanted


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


FAR, NEAR, HALF = 2 << 1, (2**62) << 1, (2**62 + 5) << 1
"""Words of a positive variable: of V = 2^-62, so that Z is 42.97, and of V = 1/2."""


def told(*numbers: int) -> Source:
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
    assert run.draw([level], 1, told(*words)).tolist() == [[rare == "query"]]
    assert list(run.run([level], told(*words))) == [rare == "query"]


def test_two_variables_of_the_same_bits_are_told_apart_by_more_of_both() -> None:
    run = AboveThreshold(Fraction(1), Fraction(1), 1)
    first, second = 5, 2**64 - 9  # the bits of the query's variable, then of the threshold's: V smaller is Z larger
    assert list(run.run([0], told(NEAR, NEAR, first, second))) == [True]
    assert list(run.run([0], told(NEAR, NEAR, second, first))) == [False]
    assert LaplaceMax(lambda: arb(1)).draw([0.0, 0.0], 1, told(HALF, HALF, first, second)).tolist() == [0]
    assert LaplaceMax(lambda: arb(1)).draw([0.0, 0.0], 1, told(HALF, HALF, second, first)).tolist() == [1]


@pytest.mark.parametrize("behind", [0, 30, 41, 45])
def test_the_largest_of_rare_noise_is_found_by_its_bits(behind: int) -> None:
    """A score that is 30 behind with noise of 42.97 wins; one whose noise is -42.97 does not win against -30."""
    select = LaplaceMax(lambda: arb(1))
    assert select.draw([float(-behind), 0.0], 1, told(FAR, NEAR)).tolist() == [int(behind > 42)]
    assert select.draw([0.0, float(-behind)], 1, told(FAR | 1, NEAR)).tolist() == [int(behind < 43)]


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


@pytest.mark.parametrize("step", [Fraction(2**34 + 1), Fraction(2**35 - 1), Fraction(2**34 + 7, 3)], ids=str)
@pytest.mark.parametrize("refine", [1, 30, 60])
def test_floats_far_beyond_2_to_53_are_located_to_the_last_bit(step: Fraction, refine: int) -> None:
    """As many as 104 bits of a quotient are asked for: where a float is 2^43 times an integer, of 2^60 parts."""
    most = float(step * 2**61)
    values = np.array([most * part for part in (0.3, 0.7, 0.999, -0.61, -0.999)] + [2.0**70, 2.0**53 + 2, 1e20])
    located = Grid(step, refine=refine).locate(values)
    for n, value in enumerate(values.tolist()):
        steps = Fraction(value) / step
        whole, fine = floor(steps), floor((steps - floor(steps)) * 2**refine)
        assert (int(located.whole[n]), int(located.fine[n])) == (whole, fine)
        assert located.rest(n) == (steps - whole) * 2**refine - fine


@pytest.mark.parametrize("grid", ["1", "8", "1/10", "1000000007", "30000000000", "1/3000000007"])
def test_values_within_2_to_61_steps_are_released_and_no_others(grid: str) -> None:
    step, noise = Fraction(grid), Laplace(scale=Fraction(grid))
    inside = float(step * 2**61) * (1 - 2.0**-50)
    for value in (inside, -inside):
        assert abs(noise.release(np.array([value]), grid=step)[0] / value - 1) < 1e-14
    for beyond in (2 * inside, -2 * inside, 8 * inside):
        with pytest.raises(ValueError, match=r"within 2\^61 steps"):
            noise.release(np.array([beyond]), grid=step)


@pytest.mark.parametrize("power", [44, 46, 48, 50, 60])
def test_values_just_below_a_power_of_two_do_not_wrap_around(power: int) -> None:
    """Values and parts of a grid step together fill 63 bits at one of these powers; noise is a few steps."""
    value = 2.0**power * (1 - 2.0**-53)
    for one in (value, value / 2, -value):
        for noise in (Laplace(scale=1), Gaussian(sigma=1), Logistic(scale=1)):
            released = noise.release(np.full(40, one), grid=1)
            assert np.abs(released - one).max() <= 60 + 2.0 ** (power - 50)
