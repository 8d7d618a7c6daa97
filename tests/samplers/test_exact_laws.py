"""Laws by enumeration: every cell, word or stage of a sampler against the exact law, with no statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from samplers.laws import discrete_laplace_cdf, exact, laplace_cdf, real

from zcdp.samplers import reports as responses
from zcdp.samplers import reports as subset
from zcdp.samplers import source as uniform
from zcdp.samplers.coins import Coin, Rate
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise, Geometric, LowBits, attach, attach_one
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid
from zcdp.samplers.reports import Response, SubsetSelection, UnaryReports, distinct
from zcdp.samplers.run_samplers import add
from zcdp.samplers.selection_draws import PermuteAndFlip, Scores, _among_heads, _Weighted
from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

Source = Callable[[int], bytes]


def then(*given: bytes, rest: bytes = b"\0") -> Source:
    """These answers first, then one byte for ever: all zeros or all ones are the two ends of a cell."""
    answers = iter(given)
    return lambda count: next(answers, rest * count)


class Fixed:
    """A stage of a sampler that gives what it is told."""

    def __init__(self, one: Any = None, many: Any = None) -> None:
        self.one, self.many, self.low = one, many, None

    def draw_one(self, source: Source) -> Any:
        return self.one

    def flip(self, source: Source) -> Any:
        return self.one

    def draw(self, count: int, source: Source, *kind: Any) -> Any:
        return np.resize(self.many, count).copy()

    def flips(self, count: int, source: Source) -> Any:
        return np.resize(self.many, count).copy()


CELLS = np.arange(65536, dtype=np.uint16).tobytes()
ENDS = {"zeros": b"\0", "ones": b"\xff"}


def end_of(cell: int, name: str, bits: int = 16) -> Any:
    """The real number that the bits of a cell and zeros or ones for ever spell, but for 2^-400."""
    return mpf(cell + (name == "ones")) / mpf(2) ** bits - (mpf(2) ** -400 if name == "ones" else 0)


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("p", ["1/3", "1/2", "1/65536", "65535/65536", "1/1000000", "999999/1000000", "3/4"])
def test_both_ends_of_every_cell_of_a_coin(p: str, name: str) -> None:
    chance = Fraction(p)
    coin = Coin(real(chance))
    edge = chance * 65536  # U < p at the lower end of a cell, and everywhere in it
    heads = [cell < edge if name == "zeros" else cell + 1 <= edge for cell in range(65536)]
    assert coin.flips(65536, then(CELLS, rest=ENDS[name])).tolist() == heads
    near = {min(max(int(chance * 65536) + n, 0), 65535) for n in range(-3, 4)}
    for cell in near:
        assert coin.flip_from(cell, then(rest=ENDS[name])) == heads[cell]
        assert coin.flip(then(cell.to_bytes(2, "little"), rest=ENDS[name])) == heads[cell]


@pytest.mark.parametrize("name", ENDS)
def test_both_ends_of_every_cell_of_a_table(name: str) -> None:
    """The outcome is the least k with U < F(k)."""
    table, law = DiscreteLaplaceNoise(real(Fraction(1, 2))).high, discrete_laplace_cdf(Fraction(2))
    drawn = table.draw(65534, then(CELLS[2:-2], rest=ENDS[name])).tolist()  # U = 0 and U = 1 have no quantile
    with mp.workdps(60):  # the cell that holds F(k), which is irrational
        cuts = {k: int(law(k, mpf(1)) * 65536) for k in range(-60, 60)}
    for cell, k in enumerate(drawn, 1):
        assert cuts[k - 1] < cell <= cuts[k] if name == "zeros" else cuts[k - 1] <= cell < cuts[k]
    some = list(range(1, 65535, 251))
    assert [table.draw_from(cell, then(rest=ENDS[name])) for cell in some] == [drawn[cell - 1] for cell in some]
    assert table.draw_few(some, then(rest=ENDS[name])) == [drawn[cell - 1] for cell in some]


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("length", [1, 12, 20, 40])
@pytest.mark.parametrize("rate", [Fraction(1, 33), Fraction(1, 47), Fraction(1, 1000)])
def test_low_bits_at_both_ends_of_the_cells_around_the_threshold(length: int, rate: Fraction, name: str) -> None:
    """A proposal is kept if U < exp(-rate l), by each of the two ways of drawing."""
    low = LowBits(real(rate / 2**length), length)
    top = (1 << length) - 1
    for proposal, shift in product({0, 1, top // 2, top - 1, top}, range(-2, 3)):
        for width, sure in ((16, low._sure_one), (low._coin, low._sure)):
            cell = min(sure + shift, (1 << width) - 1)
            with mp.workdps(150):
                kept = end_of(cell, name, width) < mp.exp(-exact(proposal * rate / 2**length))
            again = 0 if proposal else 1  # what the next proposal is, if there is one: its coin is surely heads
            if width == 16:
                size = (length + 23) // 8
                pad = 8 * size - length - 16
                words = [((p << 16 | c) << pad).to_bytes(size, "little") for p, c in ((proposal, cell), (again, 0))]
                source = then(words[0], *([] if shift < 0 else [ENDS[name] * 8]), words[1])
                assert low.draw_one(source) == (proposal if kept or cell < sure else again)
            else:
                bytes_ = low._word().itemsize
                word = (cell << length | proposal).to_bytes(bytes_, "little")
                settled = low.draw(1, then(word, rest=ENDS[name]) if kept else _once(word, ENDS[name], again, bytes_))
                assert int(settled[0]) == (proposal if kept else again)


def _once(word: bytes, end: bytes, again: int, size: int) -> Source:
    """A word, the end of its cell for its coin (two bytes, and eight as often as asked), then the next word."""
    first = iter([word])
    return lambda count: next(first, None) or (end * count if count in (2, 8) and count != size else bytes(count))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 40), Fraction(300)], ids=str)
@pytest.mark.parametrize("value", [0.0, 0.3, -0.7, 2.0**-60, 41.9])
def test_the_rounded_laplace_law_adds_up(scale: Fraction, value: float) -> None:
    """The law of the signed part, moved as the sampler moves it, is that of floor(r + Z), for one value and many."""
    noise = GridLaplace(real(1 / scale), Fraction(1))
    refine, fine = noise._grid.refine, noise._grid.locate_one(value)[0]
    left = noise._grid.locate_one(value)[1]()
    moved: dict[str, dict[tuple[int, bool], int]] = {"one": {}, "many": {}}
    for signed, stays in product(range(-4, 4), (False, True)):
        noise._signed = Fixed(signed, np.array([signed]))
        noise._stays = lambda *_, stays=stays: stays  # type: ignore[method-assign]
        cell = b"\xff\xff" if stays else b"\0\0"
        places = []
        noise._grid.round_one = places.append  # type: ignore[method-assign]
        noise.release_one(value, then(cell))
        moved["one"][signed, stays] = places[0] - fine
        moved["many"][signed, stays] = int(noise._floors(1, lambda n: left, then(cell))[0])
    with mp.workdps(60):
        rate, r = 1 / (exact(scale) * 2**refine), exact(left)
        for where in moved.values():
            law: Counter[int] = Counter()
            for (signed, stays), place in where.items():
                size = signed if signed >= 0 else -1 - signed
                mass = (1 - mp.exp(-rate)) * mp.exp(-rate * size) / 2
                leaves = mp.exp(-rate * (r if signed < 0 else 1 - r))
                law[place] += mass * (1 - leaves if stays else leaves)
            for place in (-3, -2, -1, 1, 2, 3):
                truth = laplace_cdf((place + 1 - r) * rate) - laplace_cdf((place - r) * rate)
                assert abs(law[place] - truth) < mpf(10) ** -40
            listed = sum(law.values(), mpf(0)) - law[0]
            assert set(law) <= set(range(-4, 5))
            assert listed > 0


def test_only_the_last_cell_of_a_laplace_coin_looks_at_the_value() -> None:
    """All others are below exp(-rate), the least chance of leaving."""
    for scale, step in ((Fraction(1), Fraction(1)), (Fraction(5), Fraction(1, 100)), (Fraction(1, 1000), Fraction(3))):
        noise = GridLaplace(real(1 / scale), step)
        with mp.workdps(60):
            assert mp.exp(-exact(step / scale) / 2**noise._grid.refine) * 65536 >= noise._doubt


@given(
    values=st.lists(st.floats(-3, 3), min_size=1, max_size=3),
    near=st.integers(-3, 3),
    drawn=st.integers(-40, 40),
    step=st.sampled_from([Fraction(1, 1024), Fraction(1, 1000), Fraction(1)]),
)
def test_binned_noise_carries_what_lies_below_the_fine_grid(
    values: list[float], near: int, drawn: int, step: Fraction
) -> None:
    """The place in the bin brings the sum to the edge of a grid cell, to within a few of its last bits."""
    bins = gaussian_on_grid(Fraction(4), step)._coarse
    place, refine = bins._place, bins._grid.refine
    for value in values:
        position = Fraction(value) / step * 2**refine + 2 ** (refine - 1)
        start = position + (drawn << place)
        edge = (start // 2**refine + 1) * 2**refine
        word = int((edge - start) * 2**64 / 2**place) + near
        if not 0 <= word < 2**64:
            continue
        low = (start + Fraction(word << place, 2**64)) / 2**refine
        if (low + Fraction(2**place, 2**64 << refine)) // 1 != low // 1:
            continue  # more bits would be asked for
        bins._table = Fixed(drawn, np.array([drawn]))  # type: ignore[assignment]
        bins._table.draw_from = lambda cell, source: drawn  # type: ignore[method-assign, attr-defined]
        kept = then(word.to_bytes(8, "little"), b"\0\0")  # a coin that keeps any place
        assert bins.release(np.array([value]), kept)[0] == float(low // 1 * step)
        assert bins.release_one(value, then((word << 32).to_bytes(12, "little"))) == float(low // 1 * step)


@given(
    value=st.floats(-100, 100),
    stair=st.integers(0, 50),
    near=st.integers(-400, 400),
    which=st.tuples(st.booleans(), st.booleans()),
    gamma=st.sampled_from([Fraction(1, 3), Fraction(9, 10)]),
)
def test_staircase_floats_decide_as_exact_numbers_do(
    value: float, stair: int, near: int, which: tuple[bool, bool], gamma: Fraction
) -> None:
    inner, negative = which
    size, step = Fraction(7, 3), Fraction(1, 10)
    noise = GridStaircase(real(Fraction(1)), size, real(gamma), step)
    sign = -1 if negative else 1
    start, length = (stair, gamma) if inner else (stair + gamma, 1 - gamma)
    # the place in the stair that lies nearest to the edge of a grid cell
    at = Fraction(value) / step + Fraction(1, 2) + sign * (start + length / 2) * size / step
    needed = ((at // 1) - Fraction(value) / step - Fraction(1, 2)) * step / size * sign
    u = int((needed - start) / length * 2**53) + near
    if not 0 <= u < 2**53:
        return
    ends = [
        (Fraction(value) / step + Fraction(1, 2) + sign * (start + length * Fraction(v, 2**53)) * size / step) // 1
        for v in (u, u + 1)
    ]
    if ends[0] != ends[1]:
        return
    noise._stair, noise._inner = Fixed(stair, np.array([stair])), Fixed(inner, np.array([inner]))  # type: ignore[assignment]
    word = (u << 11 | negative).to_bytes(8, "little")
    # bits beyond the word in the middle of its cell: its ends may lie on the edge
    assert noise.release_one(value, then(word, rest=b"\x55")) == float(ends[0] * step)
    assert noise.release(np.array([value]), then(word, rest=b"\x55"))[0] == float(ends[0] * step)


def _noted(count: int, again: list[int]) -> bytes:
    again.append(count)
    return b"\x7f" * count


@pytest.mark.parametrize(("width", "r"), [(5, 2), (3, 3), (4, 1)])
def test_discrete_staircase_by_all_places_and_signs(width: int, r: int) -> None:
    """Given the stair and the part, places are uniform; zero has one sign."""
    noise = DiscreteStaircaseNoise(real(Fraction(1)), width, r)
    with mp.workdps(40):
        b = mp.exp(-1)
        chance = noise._inner._p() if noise._inner else arb(1)
        assert abs(mpf(chance.str(30, radius=False)) - r / (r + (width - r) * b)) < mpf(10) ** -15
    for stair, inner in product(range(3), (True, False) if r < width else (True,)):
        noise._stair = Fixed(stair, np.array([stair]))  # type: ignore[assignment]
        if noise._inner is not None:
            noise._inner = Fixed(inner, np.array([inner]))  # type: ignore[assignment]
        low, high = (0, r) if inner else (r, width)
        seen: Counter[int] = Counter()
        for place, negative in product(range(high - low), (0, 1)):
            # the middle of the words of this place; then the sign, in the highest bit of a byte
            word = ((2 * place + 1 << 64) // (2 * (high - low))).to_bytes(8, "little")
            first = [*([word] if high - low > 1 else []), bytes([128 * negative])]
            again: list[int] = []
            value = noise.draw_one(lambda n, first=first, again=again: first.pop(0) if first else _noted(n, again))
            size = stair * width + low + place
            assert bool(again) == (size == 0 and negative == 1)  # a negative zero is drawn again, and nothing else
            if size or not negative:
                assert value == (-size if negative else size)
                seen[value] += 1
        assert set(seen.values()) == {1}
        sizes = Counter(abs(v) for v in noise.draw(6000, np.random.default_rng(5).bytes).tolist())
        assert set(sizes) == {stair * width + place for place in range(low, high)}
        zero = sizes.pop(0, None)
        if zero is not None:  # it has one sign, all others have two
            assert abs(zero - 6000 / (2 * (high - low) - 1)) < 300


@pytest.mark.parametrize("variance", [Fraction(1100**2), Fraction(10**13, 7), Fraction(2**78)], ids=str)
def test_discrete_gaussian_by_rejection_is_the_product_of_its_stages(variance: Fraction) -> None:
    noise = DiscreteGaussianNoise(variance, tabled=False)
    width = noise._width
    assert (width - 1) ** 2 <= variance < width**2
    with mp.workdps(60):
        for y in (0, 1, -1, 5, width, -3 * width, 7 * width + 11):
            kept = mp.exp(-exact(Fraction(abs(y), width)) - exact(noise._exponent(y)) + exact(noise._exponent(0)))
            truth = mp.exp(-exact(Fraction(y * y) / (2 * variance)))
            assert abs(kept / truth - 1) < mpf(10) ** -50
            about = (abs(y) - noise._centre) ** 2 * noise._factor
            assert abs(about - exact(noise._exponent(y))) < mpf(2) ** -40
        rate = noise._laplace.high._law.cdf
        assert rate(0) > rate(-1)


def test_low_digits_are_attached_on_both_sides() -> None:
    """G = high 2^m + low, and -1 - G below zero."""
    low = LowBits(real(Fraction(1, 2**10)), 3)
    for high, drawn in product(range(-3, 4), range(8)):
        low.draw = lambda count, source, drawn=drawn: np.array([drawn], dtype=np.uint16)  # type: ignore[method-assign]
        low.draw_one = lambda source, drawn=drawn: drawn  # type: ignore[method-assign]
        wanted = high * 8 + drawn if high >= 0 else -1 - ((-1 - high) * 8 + drawn)
        assert attach(np.array([high]), low, then()).tolist() == [wanted]
        assert attach_one(high, low, then()) == wanted


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 1000), Fraction(1, 10**9)], ids=str)
def test_digits_of_a_geometric_variable_multiply_to_its_law(rate: Fraction) -> None:
    noise = Geometric(real(rate))
    length = noise.low.length if noise.low else 0
    with mp.workdps(50):
        q = mp.exp(-exact(rate))
        for g in (0, 1, 7, 1 << length, (3 << length) + 1):
            high, low = g >> length, g & ((1 << length) - 1)
            cdf = [mpf(noise.high._law.cdf(h).str(40, radius=False)) if h >= 0 else mpf(0) for h in (high - 1, high)]
            mass = (cdf[1] - cdf[0]) * q**low * (1 - q) / (1 - q ** (1 << length))
            assert abs(mass / ((1 - q) * q**g) - 1) < mpf(10) ** -6


@given(n=st.integers(2, 2**32), k=st.integers(0, 2**32), near=st.integers(-2, 2))
def test_words_at_the_edges_of_uniform_integers(n: int, k: int, near: int) -> None:
    """A word u is kept if u n mod 2^w is at least 2^w mod n, and stands for floor(u n/2^w)."""

    def expected(u: int, width: int) -> int | None:
        return u * n >> width if u * n % 2**width >= 2**width % n else None

    for width, draw in (
        (64, lambda source: uniform.one_below_from(int.from_bytes(source(8), "little"), n, source)),
        (64, lambda source: uniform.one_below(n, source)),
        (32, lambda source: int(uniform.each_below(np.array([n]), source)[0]) if n < 2**32 else None),
        (16 if n <= 2**16 else 32, lambda source: int(uniform.integers(n, 1, source)[0])),
    ):
        u = ((k % n << width) // n + near) % 2**width
        last = (2**width - 1).to_bytes(width // 8, "little")  # the last word is always kept
        found = draw(then(u.to_bytes(width // 8, "little"), rest=last[:1]))
        if found is not None and not (n & (n - 1) == 0 and width < 64):
            wanted = expected(u, width)
            assert found == (wanted if wanted is not None else n - 1)


@pytest.mark.parametrize("n", [2**32 + 1, 2**40 - 1, 2**62, 2**63 + 1, 2**64 - 1, 2**64])
def test_wide_uniform_integers_are_masked_words(n: int) -> None:
    shift = 64 - (n - 1).bit_length()
    for value in (0, 1, n - 2, n - 1, n, n + 1):
        if value << shift < 2**64:
            word = (value << shift).to_bytes(8, "little")
            assert int(uniform.integers(n, 1, then(word))[0]) == (value if value < n else 0)


def test_chances_of_randomized_response_and_subsets() -> None:
    with mp.workdps(40):
        for epsilon, k, w in product((Fraction(1, 3), Fraction(5)), (2, 7), (1, 2)):
            e = mp.exp(exact(epsilon))
            keep = mpf(Response(real(epsilon), k)._keep._p().str(30, radius=False))
            assert abs(keep + (1 - keep) / k - e / (e + k - 1)) < mpf(10) ** -14
            if w < k:
                held = mpf(SubsetSelection(real(epsilon), k, w)._held._p().str(30, radius=False))
                assert abs(held - w * e / (w * e + k - w)) < mpf(10) ** -14


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i8", "u8"])
def test_responses_are_the_value_or_the_fresh_one(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    response = Response(real(Fraction(1)), 100)
    values, fresh, kept = (
        np.array(column) for column in zip(*product((0, 5, 99), (0, 7, 99), (False, True)), strict=True)
    )
    response._keep = Fixed(many=kept)  # type: ignore[assignment]
    monkeypatch.setattr(responses, "integers", lambda n, count, source: fresh.astype(np.uint16))
    out = response.respond(values.astype(dtype))
    assert out.dtype == dtype
    assert out.tolist() == np.where(kept, values, fresh).tolist()
    for keep in (True, False):
        response._keep = Fixed(keep)  # type: ignore[assignment]
        monkeypatch.setattr(responses, "one_below", lambda n, source: n - 1)
        assert response.respond_one(3) == (3 if keep else 99)


@pytest.mark.parametrize(("n", "w"), [(4, 2), (4, 3), (3, 2), (4, 1)])
def test_distinct_numbers_by_all_words(n: int, w: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sequence of words once: each order of w distinct numbers comes from the same number of them."""
    if 2 * w > n:
        rows = np.array(list(product(range(n + 1), repeat=n)), dtype=np.uint64)  # with ties
        drawn, good = subset._first_places(n, w, len(rows), then(rows.tobytes()))
    elif w == 1:
        drawn = distinct(n, w, n, then((np.arange(n) << 14).astype(np.uint16).tobytes()))
        good = np.ones(n, dtype=bool)
    else:
        monkeypatch.setattr(subset, "_enough", lambda n, w: 6)
        rows = np.array(list(product(range(n), repeat=6)), dtype=np.uint16)
        drawn, good = subset._first_seen(n, w, len(rows), then((rows << 14).tobytes()))
        assert not good.all()
    assert len(drawn) == good.sum()
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == set(permutations(range(n), w))
    assert len(set(counts.values())) == 1


def test_the_first_distinct_numbers_of_long_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order in which they are first seen, also where a sort is no longer by insertion."""
    monkeypatch.setattr(subset, "_enough", lambda n, w: 400)
    rows = np.random.default_rng(3).integers(0, 64, (30, 400), dtype=np.uint16)
    drawn, good = subset._first_seen(64, 30, 30, then((rows << 10).tobytes()))
    assert good.all()
    assert drawn.tolist() == [list(dict.fromkeys(row))[:30] for row in rows.tolist()]


@pytest.mark.parametrize(("n", "w"), [(10, 3), (10, 7), (10, 10), (50_000, 700), (2**62, 5), (2**63 - 1, 40)])
def test_distinct_numbers_are_distinct_and_in_range(n: int, w: int) -> None:
    rows = distinct(n, w, 50, np.random.default_rng(n % 1000 + w).bytes)
    assert rows.shape == (50, w)
    assert rows.min() >= 0
    assert rows.max() < n
    assert all(len(set(row)) == w for row in rows.tolist())


@pytest.mark.parametrize(("k", "w"), [(4, 2), (5, 3), (5, 4), (3, 1)])
def test_subsets_by_all_orders_of_the_others(k: int, w: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held or not, every subset of its kind is equally likely, and increasing."""
    orders = np.array(list(permutations(range(k - 1), w)))
    monkeypatch.setattr(subset, "distinct", lambda n, w, count, source: orders.copy())
    for value, held in product(range(k), (True, False)):
        subsets = SubsetSelection(real(Fraction(1)), k, w)
        subsets._held = Fixed(many=np.array([held]))  # type: ignore[assignment]
        reports = subsets.report(np.full(len(orders), value)).tolist()
        counts = Counter(map(tuple, reports))
        assert set(counts) == {s for s in combinations(range(k), w) if (value in s) == held}
        assert len(set(counts.values())) == 1


@pytest.mark.parametrize("d", [2, 8, 9, 15, 16, 21])
def test_unary_reports_are_the_drawn_bits_but_for_the_true_one(d: int) -> None:
    reports, size = UnaryReports(real(Fraction(3, 4)), real(Fraction(1, 4))), (d + 7) // 8
    noise = np.array([0xA5, 0x3C, 0xFF][:size], dtype=np.uint8)
    for value, truth in product(range(d), (True, False)):
        bits = np.unpackbits(noise)
        bits[value], bits[d:] = truth, 0
        reports._bytes, reports._true = Fixed(many=noise), Fixed(truth, np.array([truth]))  # type: ignore[assignment]
        reports._bytes.draw_few = lambda cells, source: noise.tolist()  # type: ignore[method-assign, attr-defined]
        for kind in (np.int64, np.uint8, np.int8):
            assert np.array_equal(np.unpackbits(reports.report(np.array([value], dtype=kind), d)[0]), bits)
        assert np.array_equal(np.unpackbits(reports.report_one(value, d)), bits)


@pytest.mark.parametrize("first", [16, 3])
@pytest.mark.parametrize("name", ENDS)
def test_both_ends_of_every_cell_of_an_exponential_coin(name: str, first: int) -> None:
    """U < 2^k exp(-rate gap), for coins of all kinds and of arrays of scores."""
    gap, cells = 1.7, np.arange(65536, dtype=np.uint16)
    scores = Scores(np.array([gap, 0.0]), Rate(real(Fraction(1, 2)), first=first))
    for k in (0, 1):
        with mp.workdps(60):
            edge = int(2**k * mp.exp(-mpf(gap) / 2) * 65536)  # the cell that holds the chance, which is irrational
        heads = [cell <= edge if name == "zeros" else cell < edge for cell in range(65536)]
        some = slice(edge - 40, edge + 40) if first < 16 else slice(None)
        y = np.full(len(heads[some]), scores.halvings(scores.gaps(slice(None)))[1])
        flips = scores.flips(lambda n: 1, y, np.full(y.size, k), cells[some], then(rest=ENDS[name]))
        assert flips.tolist() == heads[some]
        for cell in range(65536)[some][:: 1 if first < 16 else 997]:
            assert scores.flip(1, k, cell, then(rest=ENDS[name])) == heads[cell]


@pytest.mark.parametrize("block", [2, 3, 64])
def test_weights_of_proposals_are_powers_of_two(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index n stands at 2^(16-k) places, k the whole halvings that it is behind, at most 16."""
    from zcdp.samplers import source

    monkeypatch.setattr(source, "BLOCK", block)
    values = np.array([3.0, 2.9, 0.0, -1.0, 2.0, -40.0, 3.0])
    weighted = _Weighted(Scores(values, Rate(real(Fraction(2)))))
    with mp.workdps(40):
        k = [min(16, int(mp.floor(2 * (mpf(3) - mpf(v)) / mp.log(2)))) for v in values.tolist()]
    ends = np.cumsum([1 << (16 - one) for one in k]).tolist()
    assert weighted.total == ends[-1]
    for n, end in enumerate(ends):
        for place in (end - (1 << (16 - k[n])), end - 1):
            assert weighted.at(place) == (n, k[n])


def test_permute_and_flip_chooses_among_the_heads_alone() -> None:
    """Cells decide which coins are heads; every word of the choice then falls on one of them, equally often."""
    scores = np.array([0.0, 2.0, 1.0, 2.0, 0.5] + [-500.0] * 70)
    candidates = Scores(scores, PermuteAndFlip(real(Fraction(1)))._rate)
    heads = [1, 2, 3]
    cells = np.full(75, 65535, dtype=np.uint16)
    cells[heads] = 0
    cells[[0, 4]] = 65000  # tails
    chosen = Counter(
        _among_heads(
            candidates, then(cells.tobytes() + ((2 * n + 1) * 2**64 // 60).to_bytes(8, "little"), rest=b"\xff")
        )
        for n in range(30)
    )
    assert chosen == dict.fromkeys(heads, 10)


@given(
    values=st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=4),
    noise=st.lists(st.integers(-(2**62), 2**62), min_size=4, max_size=4),
    dtype=st.sampled_from(["i1", "u1", "i2", "u4", "i8", "u8"]),
)
def test_sums_saturate_or_raise_and_never_wrap(values: list[int], noise: list[int], dtype: str) -> None:
    limits = np.iinfo(dtype)
    held = [min(max(v, limits.min), limits.max) for v in values]
    array, drawn = np.array(held, dtype=dtype), np.array(noise[: len(held)], dtype=np.int64)
    sums = [v + x for v, x in zip(held, drawn.tolist(), strict=True)]
    clipped = [min(max(s, limits.min), limits.max) for s in sums]
    assert add(array, drawn, "saturate").tolist() == clipped
    if clipped == sums:
        assert add(array, drawn, "raise").tolist() == sums
    else:
        with pytest.raises(OverflowError, match="does not fit"):
            add(array, drawn, "raise")
