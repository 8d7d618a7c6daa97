"""Geometric and discrete Laplace variables: high digits from a table, low digits by rejection."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from independent.bits import scripted
from mpmath import mp, mpf
from samplers.output_laws import discrete_laplace_cdf, exact, real
from samplers.scripted import Source, check, then

from zcdp.samplers.geometric import DiscreteLaplaceNoise, Geometric, LowBits, attach, attach_one


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(50), Fraction(1000), Fraction(2**40)], ids=str)
def test_discrete_laplace(scale: Fraction) -> None:
    noise = DiscreteLaplaceNoise(real(1 / scale))
    whole = discrete_laplace_cdf(scale)
    width = 1 << noise.low.length if noise.low else 1
    check(noise.high, lambda h: whole((h + 1) * width - 1, mpf(1)), 2 * 64 * 12)


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(10**6), Fraction(2**62)], ids=str)
def test_geometric(scale: Fraction) -> None:
    geometric = Geometric(real(1 / scale))
    width = 1 << geometric.low.length if geometric.low else 1
    check(geometric.high, lambda h: 1 - mp.exp(-(h + 1) * width / exact(scale)), 64 * 12)


@pytest.mark.parametrize("length", [1, 4, 8, 9, 24, 25, 44])
def test_low_bits_that_are_surely_kept(length: int) -> None:
    rate = Fraction(1, 2**length * 33)
    low = LowBits(real(rate), length)
    with mp.workdps(60):
        least = mp.exp(-mpf(1) / 33)
        assert least * 2**low._coin - max(1, 2 ** (low._coin - 16)) <= low._sure <= least * 2**low._coin
        assert least * 2**16 - 1 <= low._sure_one <= least * 2**16


PLACES = 200


def near(value: object, bits: int, ulps: int) -> int:
    """The numerator of value + ulps/2^bits over 2^bits."""
    with mp.workdps(PLACES):
        return int(mp.floor(value * mpf(2) ** bits)) + ulps


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


ENDS = {"zeros": b"\0", "ones": b"\xff"}


def end_of(cell: int, name: str, bits: int = 16) -> Any:
    """The real number that the bits of a cell and zeros or ones for ever spell, but for 2^-400."""
    return mpf(cell + (name == "ones")) / mpf(2) ** bits - (mpf(2) ** -400 if name == "ones" else 0)


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


def spelled(*numbers: tuple[int, int]) -> Source:
    """Answers of so many bits each, as `bits` reads them: in the highest bits of a little-endian number of bytes."""
    answers: Iterator[bytes] = iter([(n << (-size % 8)).to_bytes((size + 7) // 8, "little") for n, size in numbers])
    return lambda count: next(answers)


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
