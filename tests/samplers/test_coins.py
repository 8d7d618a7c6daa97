"""Coins against scripted bits, cell by cell: U < p, U < exp(-x) and U < 2^k exp(-rate gap), exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import scripted, untouchable
from mpmath import mp, mpf
from samplers.output_laws import exact, real
from samplers.scripted import then

from zcdp.samplers.coins import Coin, Rate, _levels, coin, coins, flip_exp
from zcdp.samplers.lazy_inversion import rank
from zcdp.samplers.selection_draws import Scores


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


# Every cell that a table decides is right by 60-digit arithmetic, and it leaves open no more cells than it must.


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 10**9), 1 - Fraction(1, 10**9)], ids=str)
def test_coin(p: Fraction) -> None:
    coin = Coin(real(p))
    assert 0 <= coin._low <= p * 65536 <= coin._high <= 65536
    assert coin._high - coin._low <= 2


@pytest.mark.parametrize("first", [16, 2, 0])
def test_levels_of_the_exponential_coins(first: int) -> None:
    """What a cell of U says about -log2(U) holds by 60 digits, with a margin that is small but there."""
    surely, possibly = _levels(first)
    width = 1 << (16 - first)
    with mp.workdps(60):
        margin = mpf(2) ** -30
        edges = [16 - mp.log(n * width, 2) for n in range(1, (1 << first) + 1)]
        for n, (low, high) in enumerate(zip(surely.tolist(), possibly.tolist(), strict=True)):
            assert margin / 2 < edges[n // width] - low < 2 * margin
            assert high == mp.inf if n < width else margin / 2 < high - edges[n // width - 1] < 2 * margin


def halvings(scores: Scores) -> Any:
    return scores.halvings(scores.gaps(slice(None)))


@given(
    gap=st.one_of(st.floats(0, 12), st.floats(0, 2.0**-20), st.integers(0, 12)),
    rate=st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(5, 2), Fraction(1, 2**950), Fraction(2**950)]),
    numerator=st.integers(0, 2**144 - 1),
    near=st.booleans(),
    first=st.sampled_from([16, 3]),
)
def test_coins_compare_exactly(gap: float, rate: Fraction, numerator: int, *, near: bool, first: int) -> None:
    """U < 2^k exp(-rate gap), also where U agrees with it to 140 bits."""
    scores = Scores(np.array([gap, 0]), Rate(real(rate), first=first))
    k = int(min(halvings(scores)[1], 16))
    with mp.workdps(400):
        chance = mpf(2) ** k * mp.exp(-exact(Fraction(gap) * rate))
        assert chance <= 1
        if near:
            numerator = min(max(int(chance * mpf(2) ** 144) + numerator % 32 - 16, 0), 2**144 - 1)
        expected = mpf(2 * numerator + 1) / mpf(2) ** 145 < chance
    cell, rest = numerator >> 128, 2 * (numerator & (1 << 128) - 1) + 1
    assert scores.flip(1, k, cell, scripted(rest, 129)) == expected
    assert scores.flip(0, 0, cell, untouchable)
    y = halvings(scores)[1:]
    cells = np.array([cell], dtype=np.uint16)
    assert scores.flips(lambda n: 1, y, np.array([k]), cells, scripted(rest, 129)).tolist() == [expected]


@given(x=st.fractions(0, 14), numerator=st.integers(0, 2**144 - 1), near=st.booleans(), error=st.integers(-8, 8))
def test_coins_of_any_exponent_compare_exactly(x: Fraction, numerator: int, *, near: bool, error: int) -> None:
    """The float may be off by what is declared: it only sorts."""
    with mp.workdps(400):
        chance = mp.exp(-exact(x))
        if near:
            numerator = min(max(int(chance * mpf(2) ** 144) + numerator % 32 - 16, 0), 2**144 - 1)
        expected = mpf(2 * numerator + 1) / mpf(2) ** 145 < chance
    about = float(x) + error * 2.0**-39
    assert coin(about, lambda: x, scripted(2 * numerator + 1, 145)) == expected
    assert coins(np.array([about]), lambda n: x, scripted(2 * numerator + 1, 145)).tolist() == [expected]


CELLS = np.arange(65536, dtype=np.uint16).tobytes()
ENDS = {"zeros": b"\0", "ones": b"\xff"}


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
