"""Reports of local randomizers, all choices enumerated: Hadamard, linear hashing, subsets, unary encoding and so on."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp
from typing import Any

import numpy as np
import pytest
from flint import arb
from independent.bits import seeded
from mpmath import mp, mpf
from samplers.output_laws import exact, real
from samplers.scripted import Fixed, check, then

from zcdp.numeric.balls import at_precision
from zcdp.samplers import reports as hadamard
from zcdp.samplers import reports as responses
from zcdp.samplers import reports as subset
from zcdp.samplers import reports as unary
from zcdp.samplers.reports import (
    HadamardReports,
    LinearHashReports,
    Response,
    SubsetSelection,
    UnaryReports,
    digit_count,
    distinct,
    hadamard_width,
    hashed,
    noisy_bits,
)

SIZES = [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (8, 1), (5, 2), (6, 2), (7, 2), (9, 3), (10, 3), (2, 2), (20, 4)]


def rows(width: int) -> list[list[int]]:
    """Sylvester's matrix: H of twice the size is [[H, H], [H, -H]]."""
    matrix = [[1]]
    while len(matrix) < width:
        matrix = [[*row, *row] for row in matrix] + [[*row, *(-one for one in row)] for row in matrix]
    return matrix


@pytest.mark.parametrize(("k", "parts"), SIZES)
def test_blocks_are_the_smallest_with_a_row_for_every_value(k: int, parts: int) -> None:
    """A block of width w has w - 1 rows that are not constant."""
    width = hadamard_width(k, parts)
    assert width & (width - 1) == 0
    assert parts * (width - 1) >= k > parts * (width // 2 - 1)


class Always:
    """A coin that falls on one side."""

    def __init__(self, side: bool) -> None:
        self.side = side

    def flips(self, count: int, source: Any) -> Any:
        return np.full(count, self.side)


@pytest.mark.parametrize(("k", "parts"), SIZES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)], ids=str)
def test_each_output_has_its_weight(k: int, parts: int, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """e^epsilon for the outputs of sign +1 in the value's row and block, 1 for all others: told or not, enumerated."""
    reports, width = HadamardReports(real(epsilon), k, parts), hadamard_width(k, parts)
    with mp.workdps(30):
        told = mpf(reports._told._p().str(30, radius=False))
        e = mp.exp(exact(epsilon))
    monkeypatch.setattr(hadamard, "integers", lambda n, count, source: np.resize(np.arange(n), count).astype(np.uint16))
    matrix, every = rows(width), width * parts
    for value in range(k):
        values = np.full(every, value)
        laws = []
        for side in (True, False):
            reports._told = Always(side)  # type: ignore[assignment]
            laws.append(Counter(reports.report(values).tolist()))
        row, start = matrix[value % (width - 1) + 1], value // (width - 1) * width
        plus = [start + y for y in range(width) if row[y] > 0]
        whole = len(plus) * e + every - len(plus)
        assert set(laws[0]) == set(plus)
        for y in range(every):
            mass = told * laws[0][y] / every + (1 - told) * mpf(laws[1][y]) / every
            assert abs(mass - (e if y in plus else 1) / whole) < 1e-14


def test_more_values_than_rows_of_32_bits_are_refused() -> None:
    HadamardReports(real(Fraction(1)), 2**31, 1)
    with pytest.raises(ValueError, match=r"must be at most 2\^31"):
        HadamardReports(real(Fraction(1)), 2**31 + 1, 1)


# Linear hashing: the vector is uniform, and the product goes through randomized response on its g values.


@pytest.mark.parametrize("g", [2, 3, 10])
def test_as_many_digits_as_tell_the_values_apart(g: int) -> None:
    for k in range(2, 150):
        digits = digit_count(k, g)
        assert g**digits >= k
        assert digits == 1 or g ** (digits - 1) < k


@pytest.mark.parametrize(("g", "digits"), [(2, 3), (3, 2), (5, 2), (7, 1)])
def test_a_hash_is_the_product_of_digits(g: int, digits: int) -> None:
    """Over all vectors and values; two values that differ have equal hashes for one vector in g."""
    every = np.arange(g**digits)
    table = hashed(every[:, None], every[None, :], g, digits)
    for a, v in product(range(g**digits), repeat=2):
        assert table[a, v] == sum(a // g**n % g * (v // g**n % g) for n in range(digits)) % g
    for v in range(1, g**digits):
        assert (table[:, v] == table[:, 0]).sum() == g ** (digits - 1)


@pytest.mark.parametrize(("g", "k"), [(2, 8), (3, 9), (5, 20), (3, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_a_report_is_a_uniform_vector_and_a_response_to_the_hash(g: int, k: int, epsilon: Fraction) -> None:
    """z is the hash with probability e/(e + g - 1), and each of the others with 1/(e + g - 1), e = exp(epsilon)."""
    count, value, digits = 20_000, k - 2, digit_count(k, g)
    reports = LinearHashReports(real(epsilon), g, k).report(np.full(count, value), seeded(g + k))
    vector, z = np.divmod(reports, g)
    assert vector.min() >= 0
    assert vector.max() < g**digits
    seen = np.bincount(vector, minlength=g**digits)
    assert np.abs(seen - count / g**digits).max() < 5 * (count / g**digits) ** 0.5
    away = np.bincount((z - hashed(vector, np.full(count, value), g, digits)) % g, minlength=g)
    e = exp(epsilon)
    for distance in range(g):
        chance = (1 if distance else e) / (e + g - 1)
        assert abs(away[distance] - count * chance) < 5 * (count * chance * (1 - chance)) ** 0.5


# Bits drawn eight at a time: the law of a byte, and what becomes of bits that are reported again.


@pytest.mark.parametrize("d", [1, 3, 8, 13, 16, 17])
def test_each_bit_is_drawn_by_the_chance_of_what_it_was(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were 1 come from one table, those that were 0 from the other, and beyond the last all are 0."""
    width, bits = (d + 7) // 8, seeded(d)
    tables: dict[str, Any] = {}

    class Table:
        def __init__(self, law: Any, *, first: int, second: int) -> None:
            never = at_precision(80, lambda: law.cdf(0))  # (1 - q)^8: no bit is set
            self.drawn = np.frombuffer(bits(9 * width), dtype=np.uint8)
            tables["kept" if never < 0.5 else "risen"] = self.drawn

        def draw(self, count: int, source: Any, dtype: Any) -> Any:
            assert count == 9 * width
            return self.drawn

    monkeypatch.setattr(unary, "LazyTable", Table)
    rows = np.frombuffer(bits(9 * width), dtype=np.uint8).reshape(9, width).copy()
    rows[:, -1] &= 0xFF00 >> (d % 8 or 8) & 0xFF
    out = noisy_bits(rows, real(Fraction(99, 100)), real(Fraction(1, 100)), d)
    was, now, kept, risen = (
        np.unpackbits(x.reshape(9, width), axis=1)[:, :d] for x in (rows, out, tables["kept"], tables["risen"])
    )
    assert np.array_equal(now, np.where(was == 1, kept, risen))
    assert not np.unpackbits(out, axis=1)[:, d:].any()


def test_ones_and_zeros_are_reported_by_their_own_chances() -> None:
    """7/10 and 1/5, of bits in every place of a byte, and of one row as of many."""
    d, count = 11, 6000
    rows = np.packbits(np.tile([1, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1], (count, 1)), axis=1)
    out = np.unpackbits(noisy_bits(rows, real(Fraction(7, 10)), real(Fraction(1, 5)), d, seeded(4)), axis=1)
    for place, (was, share) in enumerate(zip(np.unpackbits(rows[0])[:d], out[:, :d].mean(axis=0), strict=True)):
        chance = 0.7 if was else 0.2
        assert abs(share - chance) < 5 * (chance * (1 - chance) / count) ** 0.5, place
    assert noisy_bits(rows[0], real(Fraction(7, 10)), real(Fraction(1, 5)), d, seeded(4)).shape == (2,)


@pytest.mark.parametrize("q", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1, 10**12)], ids=str)
def test_a_byte_is_eight_independent_bits(q: Fraction) -> None:
    law = unary._byte_law(real(q))
    total = Fraction(0)
    with mp.workdps(60):
        for byte in range(256):
            ones = bin(byte).count("1")
            total += q**ones * (1 - q) ** (8 - ones)
            ball = at_precision(150, lambda byte=byte: law.cdf(byte))
            assert abs(mpf(ball.str(50, radius=False)) - exact(total)) < mpf(10) ** -40
    assert (law.least, law.most, law.window) == (0, 255, range(256))


def test_bytes_of_unary_encoding() -> None:
    q = Fraction(1, 7)
    reports = UnaryReports(real(1 - q), real(q))
    total = [Fraction(0)]
    for byte in range(256):
        ones = bin(byte).count("1")
        total.append(total[-1] + q**ones * (1 - q) ** (8 - ones))
    check(reports._bytes, lambda k: exact(total[k + 1]), 255)


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
