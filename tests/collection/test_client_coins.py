"""Coins by digits and uniform numbers: their laws, exactly, and the digits against another way to compute them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from mpmath import mp, mpf

from zcdp.collection.client_coins import Chance, Power, below, distinct_below
from zcdp.numeric.exact import Log, positive

EPSILONS = ["1e-12", "0.1", "1/3", "1", "2.5", "17", "1000", "log(3)", "log(10)", "log(16/9)"]


def scripted(*given: int):
    stream = iter(given)
    return lambda count: bytes(next(stream) for _ in range(count))


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_digits_are_those_of_the_number(epsilon: str, half: bool) -> None:
    exact = positive(epsilon, "epsilon")
    with mp.workdps(600):
        size = mp.log(_mpf(exact.argument)) if isinstance(exact, Log) else _mpf(exact)
        x = mp.exp(-size / (2 if half else 1))
        for a, b, c, d in ((1, -1, 1, 3), (0, 1, 1, 1), (5, 0, 5, 7), (2, 3, 7, 1)):
            digits = bytes(one.digit(n) for one in [Chance(a, c, b, d, Power(exact, half=half))] for n in range(40))
            p = (a + b * x) / (c + d * x)
            below_ = mpf(int.from_bytes(digits, "big")) / mpf(256) ** 40
            room = mpf(10) ** -500  # of rounding, where p has few digits
            assert below_ <= p + room
            assert p < below_ + mpf(256) ** -40 + room


def _mpf(number: Fraction) -> mpf:
    return mpf(number.numerator) / number.denominator


def test_a_probability_next_to_a_digit_takes_as_many_bits_as_it_needs() -> None:
    """1/2 + e^-1 - m/2^80, where m is the floor of 2^80/e, is above 1/2 by less than 2^-80; with m + 1 it is below."""
    with mp.workdps(60):
        m = int(mp.floor(mp.exp(-1) * 2**80))
    x = Power(Fraction(1))
    assert Chance(2**79 - m, 2**80, 2**80, 0, x).digit(0) == 128
    assert Chance(2**79 - m - 1, 2**80, 2**80, 0, x).digit(0) == 127


@pytest.mark.parametrize("bits", [1, 7, 64, 500])
@pytest.mark.parametrize("epsilon", ["1e-12", "1/3", "1", "30", "1e9", "log(7)"])
def test_a_power_lies_strictly_between_its_ends(epsilon: str, bits: int) -> None:
    exact = positive(epsilon, "epsilon")
    low, high = Power(exact, half=True).around(bits)
    with mp.workdps(400):
        size = mp.log(_mpf(exact.argument)) if isinstance(exact, Log) else _mpf(exact)
        assert low < mp.exp(-size / 2) * mpf(2) ** bits < high
    assert high - low <= 4


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(201, 256), Fraction(1, 10**30)])
def test_a_coin_is_heads_with_its_probability(p: Fraction) -> None:
    """Over all streams of two bytes: heads, tails and what is open after them add up to p and 1 - p."""
    coin, heads, open_ = Chance.of(p), 0, 0
    for stream in product(range(256), repeat=2):
        try:
            heads += coin.flip(scripted(*stream))
        except (StopIteration, RuntimeError):
            open_ += 1
    assert Fraction(heads, 65536) <= p <= Fraction(heads + open_, 65536)
    assert open_ == 1


def test_a_coin_reads_no_further_than_it_must() -> None:
    half = Chance(1, 2)
    assert half.flip(scripted(127)) is True
    assert half.flip(scripted(129)) is False
    assert half.flip(scripted(128, 1)) is False
    assert half.flip(scripted(128, 0, 0, 3)) is False


@pytest.mark.parametrize("n", [1, 2, 3, 7, 200, 256])
def test_numbers_below_n_are_equally_likely(n: int) -> None:
    """Each is the answer to equally many first bytes; for the others a second is read."""
    answers = [0] * n
    for byte in range(256):
        try:
            answers[below(n, scripted(byte))] += 1
        except (StopIteration, RuntimeError):
            assert byte & ((1 << (n - 1).bit_length()) - 1) >= n
    assert len(set(answers)) == 1


def test_larger_numbers_take_bytes_with_the_first_one_leading() -> None:
    assert below(257, scripted(0xFF, 0xFF, 0xFE, 0x02)) == 2
    assert below(1 << 24, scripted(1, 2, 3)) == 0x010203


@pytest.mark.parametrize(("n", "count"), [(4, 2), (4, 3), (5, 4), (3, 3), (3, 1)])
def test_sets_of_different_numbers_are_equally_likely(n: int, count: int) -> None:
    """Each set is the answer to equally many streams of short length, whatever is drawn again."""
    size = 1 << (n - 1).bit_length()
    answers: dict[tuple[int, ...], int] = {}
    for stream in product(range(size), repeat=3):
        try:
            found = tuple(distinct_below(n, count, scripted(*stream)))
        except (StopIteration, RuntimeError):
            continue
        answers[found] = answers.get(found, 0) + 1
    assert len(answers) == comb(n, count)
    assert len(set(answers.values())) == 1
