"""RAPPOR with memory: its profile is that of all sequences of reports, enumerated; and beyond, between two others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from mpmath import mp, mpf

import zcdp
from zcdp import MemoizedRAPPOR

F, P, Q = Fraction(1, 3), Fraction(1, 4), Fraction(4, 5)


def sequences(collections: int) -> list[tuple[Fraction, Fraction]]:
    """The laws of the reports of one bit over all collections, if it is set and if it is not."""

    def law(bits: tuple[int, ...], memory: int) -> Fraction:
        chance, mass = (P, Q)[memory], Fraction(1)
        for bit in bits:
            mass *= chance if bit else 1 - chance
        return mass

    found = []
    for bits in product((0, 1), repeat=collections):
        one, zero = law(bits, 1), law(bits, 0)
        found.append(((1 - F / 2) * one + F / 2 * zero, F / 2 * one + (1 - F / 2) * zero))
    return found


@pytest.mark.parametrize("collections", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.9])
def test_the_profile_is_that_of_all_sequences(collections: int, epsilon: float) -> None:
    m = zcdp.MemoizedRAPPOR(f=F, p=P, q=Q, collections=collections)
    bits, e = sequences(collections), Fraction(exp(epsilon))
    delta = sum(max(a * d - e * b * c, Fraction(0)) for a, b in bits for c, d in bits)
    assert m.delta_at(epsilon=epsilon) == pytest.approx(float(delta), rel=1e-9, abs=1e-15)


def test_many_collections_lie_between_fewer_and_the_memory() -> None:
    few, many = (zcdp.MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=t) for t in (7, 60))
    memory = zcdp.UnaryEncoding("3/4", "1/4")
    for epsilon in (1.5,):
        low, high = many.delta_bounds(epsilon=epsilon)
        assert few.delta_at(epsilon=epsilon) <= low <= high <= memory.delta_at(epsilon=epsilon) * (1 + 1e-9)


def binomial(collections: int, chance: Fraction) -> list[mpf]:
    c = mpf(chance.numerator) / chance.denominator
    return [mp.binomial(collections, j) * c**j * (1 - c) ** (collections - j) for j in range(collections + 1)]


def bit(f: Fraction, p: Fraction, q: Fraction, collections: int) -> tuple[list[mpf], list[mpf]]:
    """The laws of how often one bit was reported as 1, if it is set and if it is not."""
    wrong = mpf(f.numerator) / f.denominator / 2
    yes, no = binomial(collections, q), binomial(collections, p)
    return (
        [(1 - wrong) * a + wrong * b for a, b in zip(yes, no, strict=True)],
        [wrong * a + (1 - wrong) * b for a, b in zip(yes, no, strict=True)],
    )


LONG = Fraction(10**80 // 4 + 1, 10**80)
"""A probability of so many digits that few collections are taken with all their atoms."""


@pytest.mark.parametrize(
    ("f", "p", "q", "collections"),
    [
        (F, P, Q, 32),
        (Fraction(1, 2), Fraction(1, 2), Fraction(3, 4), 45),
        (Fraction(1, 10), Fraction(1, 50), Fraction(1, 25), 32),
        (Fraction(1, 3), LONG, Fraction(1, 3), 15),
    ],
    ids=["1/3", "1/2", "rare", "long"],
)
def test_beyond_31_collections_the_truth_is_enclosed(f: Fraction, p: Fraction, q: Fraction, collections: int) -> None:
    """All counts of the two bits that differ; between the memory and fewer collections."""
    m = zcdp.MemoizedRAPPOR(f=f, p=p, q=q, collections=collections)
    with mp.workdps(50):
        one, zero = bit(f, p, q, collections)
        both = [(a * d, b * c) for a, b in zip(one, zero, strict=True) for c, d in zip(one, zero, strict=True)]
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(3, 2)):
            e = mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
            delta = mp.fsum(max(x - e * y, mpf(0)) for x, y in both)
            assert m.delta_at(epsilon=epsilon) >= delta
            if epsilon == Fraction(1, 3):
                assert delta * Fraction(1, 10) <= m.delta_bounds(epsilon=epsilon)[0] <= delta
            if delta > 0.001:
                assert m.epsilon_at(delta=Fraction(mp.nstr(delta, 30))) >= epsilon - Fraction(1, 10**9)
        s = 2
        ways = (one, zero), (zero, one)
        renyi = [mp.fsum(a ** (1 + s) * b**-s for a, b in zip(*pair, strict=True)) for pair in ways]
        assert m.rdp(1 + s) == pytest.approx(float(mp.log(renyi[0] * renyi[1]) / s), rel=1e-12)
        largest = mp.log(one[-1] / zero[-1] * (zero[0] / one[0]))
        assert float(largest) <= m.pure_epsilon * (1 + 1e-15)
        assert m.pure_epsilon == pytest.approx(float(largest), rel=1e-12)


# What memoized RAPPOR reports of a remembered 0 and a remembered 1 is set with p and q, each its own.


@pytest.mark.parametrize(("p", "q"), [("1/2", "3/4"), ("1/10", "1/4"), ("1/4", "1/2")])
def test_a_remembered_bit_is_reported_with_its_own_probability(p: str, q: str) -> None:
    m = MemoizedRAPPOR(f="1/2", p=p, q=q, collections=3)
    n, d = 4_000, 16
    for byte, share in ((0x00, p), (0xFF, q)):
        memory = np.full((n, d // 8), byte, dtype=np.uint8)
        ones = int(np.unpackbits(m.release(memory, d=d)).sum())
        top, bottom = map(int, share.split("/"))
        mean = n * d * top / bottom
        spread = (mean * (1 - top / bottom)) ** 0.5
        assert abs(ones - mean) < 7 * spread, (byte, ones, mean)  # by chance once in 10^11


def test_memory_of_another_length_is_refused() -> None:
    m = zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=3)
    memory = m.remember(np.arange(5), d=9)
    assert m.release(memory, d=9).shape == (5, 2)
    for wrong in (memory[:, :1], np.zeros((5, 3), np.uint8), memory.astype(np.int64), np.uint8(3)):
        with pytest.raises(ValueError, match="memory must be rows of 2 bytes"):
            m.release(wrong, d=9)


SIZE = 6000
Event = Callable[[Any], Any]


def bit_of(place: int) -> Event:
    return lambda outputs: np.unpackbits(outputs, axis=1)[:, place] == 1


@pytest.fixture(autouse=True)
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(29))


def check(found: Any, chance: float) -> None:
    assert float(np.mean(found)) == pytest.approx(chance, abs=5 * sqrt(chance * (1 - chance) / SIZE))


@pytest.mark.parametrize("collections", [1, 3])
def test_memoized_outputs_are_all_collections_of_one_memory(collections: int) -> None:
    """The chance that a bit is reported in every one of them: remembered right or wrong, and then each for itself."""
    m = zcdp.MemoizedRAPPOR(f="1/2", p="0.2", q="0.9", collections=collections)
    one, other = m.neighbouring_outputs(SIZE)
    true, false = (right * 0.9**collections + (1 - right) * 0.2**collections for right in (0.75, 0.25))
    for outputs, chances in ((one, (true, false)), (other, (false, true))):
        assert outputs.shape == (SIZE, collections)
        for place, chance in enumerate(chances):
            check(((outputs >> (7 - place)) & 1).all(axis=1), chance)
