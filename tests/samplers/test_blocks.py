"""Blocks against scripted bits: the outcome is the exact quantile of the number that the bits spell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import scripted, seeded
from mpmath import mp, mpf
from samplers.laws import discrete_laplace_cdf, exact, laplace_cdf, real

from zcdp.numeric.balls import at_precision
from zcdp.samplers.coins import Coin, flip_exp, flip_rational
from zcdp.samplers.discrete_gaussian_noise import _tail_sums
from zcdp.samplers.geometric import DiscreteLaplaceNoise, LowBits
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.grid_rounding import Grid
from zcdp.samplers.lazy_inversion import invert, rank
from zcdp.samplers.source import integers
from zcdp.samplers.staircase_noise import GridStaircase

PLACES = 200
NOISE = DiscreteLaplaceNoise(real(Fraction(1, 2)))


def near(value: object, bits: int, ulps: int) -> int:
    """The numerator of value + ulps/2^bits over 2^bits."""
    with mp.workdps(PLACES):
        return int(mp.floor(value * mpf(2) ** bits)) + ulps


@given(k=st.integers(-40, 40), ulps=st.sampled_from([-2, -1, 1, 2]), bits=st.sampled_from([20, 64, 150, 400]))
def test_one_bit_on_either_side_of_a_step(k: int, ulps: int, bits: int) -> None:
    """U agrees with F(k) to up to 400 bits: below it the draw is k, above it k + 1."""
    with mp.workdps(PLACES):
        step = discrete_laplace_cdf(Fraction(2))(k, mpf(1))
    numerator = near(step, bits, ulps)
    low = NOISE.high._law
    if not 0 < numerator < 1 << bits:  # U = 0 is the one point where a law without a least outcome has no quantile
        return
    with mp.workdps(PLACES):
        u = mpf(numerator) / mpf(2) ** bits
        cdf = discrete_laplace_cdf(Fraction(2))
        expected = next(n for n in range(k - 60, k + 60) if u < cdf(n, mpf(1)))
    assert invert(low.cdf, scripted(numerator, bits)) == expected
    noise = NOISE
    if bits >= 64:  # the table's stages take 16, 46 and 64 bits: in whole bytes, 46 bits lose two
        assert noise.high._invert(
            numerator >> (bits - 62), 62, scripted(numerator & ((1 << bits - 62) - 1), bits - 62)
        ) == (expected)


GRID_NOISES = {
    "gaussian": (gaussian_on_grid(Fraction(4), Fraction(1, 1000)), lambda x: mp.exp(-(x**2) / 2)),
    "logistic": (logistic_on_grid(real(Fraction(1, 2)), Fraction(1, 1000)), lambda x: mp.sech(x / 2) ** 2),
}


@pytest.mark.parametrize("name", GRID_NOISES)
@given(
    drawn=st.integers(-4000, 4000),
    word=st.integers(0, 2**128 - 1),
    extra=st.sampled_from([0, 64]),
    where=st.integers(-3, 3),
)
def test_a_place_is_kept_with_the_ratio_of_densities(name: str, drawn: int, word: int, extra: int, where: int) -> None:
    """The coin is decided only where all of its cell and all of the place's cell agree, and then rightly."""
    noise, density = GRID_NOISES[name]
    bins, known = noise._fine, 64 + extra
    word >>= 64 - extra
    width = Fraction(2) ** (bins._place - bins._grid.refine) / 2000  # a bin in scales
    with mp.workdps(PLACES):
        inner = drawn if drawn >= 0 else drawn + 1
        ends = [Fraction(drawn) + Fraction(word + end, 1 << known) for end in (0, 1)]
        low, high = sorted(density(exact(width * end)) / density(exact(width * inner)) for end in ends)
        cell = min(max(int(low * 2 ** (known - 48)) + where, 0), 2 ** (known - 48) - 1)
        first, last = (mpf(cell + end) / 2 ** (known - 48) for end in (0, 1))
    kept = at_precision(known + 64, lambda: bins._keeps(drawn, word, known, cell))
    assert kept is (True if last <= low else False if first >= high else None)


@pytest.mark.parametrize("name", GRID_NOISES)
@given(raw=st.binary(min_size=12, max_size=12), value=st.floats(-1e6, 1e6))
def test_grid_noise_adds_the_place_in_its_bin_and_rounds(name: str, raw: bytes, value: float) -> None:
    noise, _ = GRID_NOISES[name]
    bins = noise._coarse
    raw = raw[:2] + b"\0\0" + raw[4:]  # a coin that keeps the place
    first = int.from_bytes(raw, "little")
    drawn = bins._table._list[first & 0xFFFF]
    if drawn == bins._table._law.window.stop:
        return  # an open cell of the table: it would ask for more
    point = noise.release_one(value, lambda count: raw if count == 12 else bytes(count))
    place = Fraction((drawn << 64) + (first >> 32), 1 << 64) * Fraction(2) ** (bins._place - bins._grid.refine)
    assert point == float(((Fraction(value) * 1000 + place + Fraction(1, 2)) // 1) * Fraction(1, 1000))


@pytest.mark.parametrize("bits", [64, 200, 1000])
@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 2)], ids=str)
def test_coins_at_the_edge(p: Fraction, bits: int) -> None:
    edge = p.numerator * (1 << bits) // p.denominator
    below, above = edge - 1, edge + 1
    assert rank(lambda: [real(p)()], scripted(below, bits)) == 0
    assert rank(lambda: [real(p)()], scripted(above, bits)) == 1
    cell = edge >> (bits - 16)
    if p != Fraction(1, 2):
        rest = (1 << (bits - 16)) - 1
        assert Coin(real(p)).flip_from(cell, scripted(below & rest, bits - 16))
        assert not Coin(real(p)).flip_from(cell, scripted(above & rest, bits - 16))


def test_a_cut_on_the_edge_of_a_cell_is_decided() -> None:
    assert rank(lambda: [arb(1) / 2], scripted(1, 1)) == 1
    assert not Coin(real(Fraction(1, 2))).flip_from(1 << 15, scripted(0, 8))


@given(numerator=st.integers(0, 2**64 - 1), x=st.fractions(0, 20))
def test_exponential_coin(numerator: int, x: Fraction) -> None:
    with mp.workdps(60):
        expected = (mpf(numerator) + mpf(1) / 2) / mpf(2) ** 64 < mp.exp(-exact(x))
    assert flip_exp(x, scripted(2 * numerator + 1, 65)) == expected


def test_rational_coin_counts_every_word() -> None:
    heads = sum(flip_rational(Fraction(3, 8), scripted(word << 5, 8)) for word in range(8))
    assert heads == 3


@pytest.mark.parametrize("value", [0.7, -0.3, 41.3, 2.0**-60, -(2.0**-60)])
@pytest.mark.parametrize("ulps", [-1, 1])
@pytest.mark.parametrize("noise", [-6, 5])
def test_the_grid_laplace_stays_with_the_exact_probability(value: float, ulps: int, noise: int) -> None:
    """P(floor(r + Z) < 0) = F(-r) and P(floor(r + Z) > 0) = 1 - F(1 - r), each half of what a fair sign gives."""
    laplace = GridLaplace(real(Fraction(1)), Fraction(1, 2**20))
    fine, rest = laplace._grid.locate_one(value)
    r, rate = rest(), exact(Fraction(1, 2**21))
    assert 0 <= r < 1
    assert (fine + r) / 2**21 == Fraction(value)
    with mp.workdps(PLACES):
        leaves = 2 * (laplace_cdf(-exact(r) * rate) if noise < 0 else 1 - laplace_cdf(exact(1 - r) * rate))
    if leaves == 1:
        return
    numerator = near(leaves, 300, ulps)
    assert numerator >> 284 == 0xFFFF
    rest_of_it = scripted(numerator & ((1 << 284) - 1), 284)
    assert laplace._stays(noise, r, 0xFFFF, rest_of_it) == (ulps > 0)


def test_staircase_goes_on_until_the_grid_point_is_known() -> None:
    """A place in the stair that hits a grid line to 64 bits asks for more."""
    asked: list[int] = []

    def zeros(count: int) -> bytes:
        asked.append(count)
        return (b"\0" if len(asked) < 6 else b"\1") * count

    noise = GridStaircase(real(Fraction(1)), Fraction(1), real(Fraction(1, 4)), Fraction(1, 2))
    assert noise.release_one(0.25, zeros) == 0.5


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 1000, 1024, 32769, 65535, 65536])
def test_every_word_of_a_uniform_integer(n: int) -> None:
    """Of all 65536 words, each outcome keeps the same number; the others are drawn again."""
    calls: list[int] = []

    def source(count: int) -> bytes:
        calls.append(count // 2)
        if len(calls) == 1:
            return np.arange(65536, dtype=np.uint16).tobytes()
        return np.full(count // 2, 65535, dtype=np.uint16).tobytes()  # the last word is always kept

    counts = np.bincount(integers(n, 65536, source), minlength=n)
    again = 65536 % n
    assert calls == ([65536, again] if again else [65536])
    counts[-1] -= again
    assert set(counts.tolist()) == {65536 // n}


@pytest.mark.parametrize(("ulps", "kept"), [(-1, True), (1, False)])
@pytest.mark.parametrize("length", [4, 20, 44, 60])
def test_low_bits_are_kept_with_the_exact_probability(length: int, ulps: int, kept: bool) -> None:
    rate = Fraction(1, 2 ** (length + 6))
    low = LowBits(real(rate), length)
    proposal = 2**length - 2
    with mp.workdps(PLACES):
        edge = mp.exp(-proposal * exact(rate))
    numerator = near(edge, 300, ulps)
    rest = scripted(numerator & ((1 << 284) - 1), 284)
    assert low._keeps(proposal, numerator >> 284, 16, rest) == kept
    assert low._sure_one <= numerator >> 284
    with pytest.raises(ValueError, match=rf"length \({length + 2}\)"):
        LowBits(real(rate), length + 2)


@pytest.mark.parametrize("length", [1, 4, 8, 9, 20, 24, 25, 44])
def test_low_bits_of_arrays_settle_each_coin_rightly(length: int) -> None:
    """Words whose coin lies just below and just above the edge, for every kind of proposal."""
    rate = Fraction(1, 2 ** (length + 5))
    low = LowBits(real(rate), length)
    rng = np.random.default_rng(3)
    proposals = np.unique(np.concatenate([rng.integers(0, 1 << length, 300), [0, 1, (1 << length) - 1]])).tolist()
    known = low._coin + 16
    for proposal in proposals:
        with mp.workdps(PLACES):
            edge = mp.exp(-proposal * exact(rate))
        numerator = min(int(edge * 2**known), 2**known - 1)
        for nudge, kept in ((-3, True), (3, False)):
            coin = numerator + nudge
            if not 0 <= coin < 1 << known or coin >> 16 < low._sure:
                continue
            first = iter([(coin & 0xFFFF).to_bytes(2, "little")])  # then zeros: the next proposal is 0, and kept
            settled = low._settle(
                np.array([proposal], dtype=low._word),
                np.array([coin >> 16], dtype=low._word),
                lambda count, first=first: next(first, bytes(count)),
            )
            assert (int(settled[0]) == proposal) == (kept or proposal == 0)


@pytest.mark.parametrize("length", [1, 4, 8, 9, 16, 20, 24])
def test_a_coin_in_the_cell_of_its_edge_asks_for_more_bits(length: int) -> None:
    """The bits that arrays look at do not tell it from e^-t: the next ones do, at both ends of the cell."""
    rate = Fraction(3, 2 ** (length + 7))
    low = LowBits(real(rate), length)
    known, seen = low._coin + 16, 0
    for proposal in range(1, 1 << length, max(1, (1 << length) // 40)):
        with mp.workdps(PLACES):
            coin = int(mp.exp(-proposal * exact(rate)) * 2**known)
        if coin >> 16 < low._sure:
            continue
        for end, kept in ((b"\0", True), (b"\xff", False)):
            first = iter([(coin & 0xFFFF).to_bytes(2, "little"), end * 8])  # then zeros: the next proposal is 0
            settled = low._settle(
                np.array([proposal], dtype=low._word),
                np.array([coin >> 16], dtype=low._word),
                lambda count, first=first: next(first, bytes(count)),
            )
            assert int(settled[0]) == (proposal if kept else 0)
            seen += 1
    assert seen


@pytest.mark.parametrize("length", [4, 8, 20, 40])
def test_a_proposal_in_place_of_another_needs_a_coin_of_its_own(length: int) -> None:
    """All ones is a coin that no proposal but 0 survives: the first two are drawn again, the third one is kept."""
    low = LowBits(real(Fraction(1, 2 ** (length + 5))), length)
    size = low._word().itemsize
    heads = ((1 << low._coin) - 1) << length
    proposals = (1 << length) - 1, (1 << length) - 2, (1 << length) - 3
    first, second = ((heads | proposal).to_bytes(size, "little") for proposal in proposals[:2])
    given = iter([first, b"\xff\xff", second, b"\xff\xff", proposals[2].to_bytes(size, "little")])
    assert low.draw(1, lambda count: next(given)).tolist() == [proposals[2]]
    assert next(given, None) is None


def test_a_seed_repeats_the_draws() -> None:
    one, two = (NOISE.draw(1000, seeded(7)) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("far", [1, 3, 5, 20])
def test_tail_of_the_discrete_gaussian_is_enclosed(far: int) -> None:
    sums = at_precision(100, lambda: _tail_sums(Fraction(9), far, 100))
    with mp.workdps(60):
        for n, ball in zip(range(far, -1, -1), sums, strict=True):
            true = sum(mp.exp(-(mpf(x) ** 2) / 18) for x in range(n + 1, 200))
            low, high = (mpf(str(end.str(40, radius=False))) for end in (ball.lower(), ball.upper()))
            assert low - mpf(10) ** -28 <= true <= high + mpf(10) ** -28


@given(
    values=st.lists(
        st.one_of(
            st.floats(-1e9, 1e9),
            st.floats(-1e-3, 1e-3),
            st.floats(-1e16, 1e16).map(round).map(float),
            st.integers(-(10**7), 10**7).map(lambda n: n / 10),  # next to the points of a decimal grid
            st.sampled_from([4194303.9, 4194304.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**52) - 0.5]),
        ),
        min_size=1,
        max_size=5,
    ),
    step=st.sampled_from(
        [
            *(Fraction(1, 2**20), Fraction(1, 2**30), Fraction(8), Fraction(1, 100), Fraction(7, 3), Fraction(3, 10)),
            *(
                Fraction(1, 10),
                Fraction(34359738337, 3),
                Fraction(5, 34359738337),
                Fraction(1, 10**11),
                Fraction(10**11),
            ),
        ]
    ),
    refine=st.sampled_from([1, 2, 17, 30, 40, 60]),
)
def test_values_are_located_exactly(values: list[float], step: Fraction, refine: int) -> None:
    grid = Grid(step, refine=refine)
    values = [value for value in values if abs(Fraction(value) / step) < 2**61]
    located = grid.locate(grid.check(np.array(values)))
    for n, value in enumerate(values):
        rest = located.rest(n)
        fine, one = grid.locate_one(value)
        assert 0 <= rest < 1
        assert 0 <= one() < 1
        assert (int(located.whole[n]) << refine) + int(located.fine[n]) == fine
        assert step * (fine + rest) / (1 << refine) == Fraction(value)
        assert rest == one()
